//! Pages of MCP Apps: whether a content is a page, and what it loads from elsewhere beside what its server declares.
//!
//! After the specification of MCP Apps of 2026-01-26, section "UI Resource Format". Scripts are not run and styles are not
//! read, so only the tags that a page is written with count.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::html::{Piece, pieces};

/// The page in one item of `contents`; an error is why there is none, without a final period.
pub fn page_of(content: &Value) -> Result<String, &'static str> {
    let page = match (content["text"].as_str(), content["blob"].as_str()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(blob)) => {
            let bytes = STANDARD.decode(blob).map_err(|_| "its `blob` is not base64")?;
            String::from_utf8(bytes).map_err(|_| "its `blob` is not UTF-8")?
        }
        (None, None) => return Err("it has neither `text` nor `blob`"),
    };
    if page.trim().is_empty() {
        return Err("it is empty");
    }
    if begins_with_tag(&page) { Ok(page) } else { Err("it begins with no tag") }
}

/// The first thing of a page that is no comment is a tag; a page in a frame needs no `<!DOCTYPE html>`.
fn begins_with_tag(page: &str) -> bool {
    let mut found = pieces(page.trim_start_matches('\u{feff}')).into_iter();
    let first = found.find(|piece| !matches!(piece, Piece::Text(text) if text.trim().is_empty()));
    matches!(first, Some(Piece::Open(..)))
}

/// A thing that a page loads from another origin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutsideLoad {
    /// The member of `csp` that has to name the origin.
    pub member: &'static str,
    /// The element that loads it, such as `script`.
    pub element: &'static str,
    /// The scheme; empty for that of the page.
    scheme: String,
    /// Host and port, in small letters.
    host: String,
}

impl OutsideLoad {
    /// The origin as `csp` may name it.
    pub fn origin(&self) -> String {
        let scheme = if self.scheme.is_empty() { "https" } else { &self.scheme };
        format!("{scheme}://{}", self.host)
    }

    fn of(member: &'static str, element: &'static str, address: &str) -> Option<Self> {
        let (scheme, host) = split_address(address.trim())?;
        is_host(host.trim_start_matches('[')).then(|| Self {
            member,
            element,
            scheme: scheme.to_ascii_lowercase(),
            host: host.to_ascii_lowercase(),
        })
    }

    /// What `csp` says allows it. A source that is none of the usual forms is taken to allow it.
    fn is_allowed_by(&self, source: &str) -> bool {
        let source = source.trim().to_ascii_lowercase();
        let is_upgrade = |scheme: &str| scheme == "http" && self.scheme == "https";
        let fits_scheme = |scheme: &str| scheme == self.scheme || self.scheme.is_empty() || is_upgrade(scheme);
        if let Some(scheme) = source.strip_suffix(':') {
            return fits_scheme(scheme);
        }
        let (scheme, rest) =
            source.split_once("://").map_or((None, source.as_str()), |(scheme, rest)| (Some(scheme), rest));
        if !scheme.is_none_or(fits_scheme) {
            return false;
        }
        let named = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (named, named_port) = split_port(named);
        let (host, port) = split_port(&self.host);
        let fits_port = named_port.is_empty() || named_port == "*" || port == named_port || port.is_empty();
        let fits_host = match named.strip_prefix("*.") {
            Some(parent) if is_host(parent) => host.strip_suffix(parent).is_some_and(|start| start.ends_with('.')),
            None if is_host(named) => host == named,
            _ => true,
        };
        fits_host && fits_port
    }
}

/// The tags that load something, with the attribute that says from where, and the member of `csp` about it.
const LOADING: [(&str, &str, &str); 9] = [
    ("script", "src", "resourceDomains"),
    ("link", "href", "resourceDomains"),
    ("img", "src", "resourceDomains"),
    ("audio", "src", "resourceDomains"),
    ("video", "src", "resourceDomains"),
    ("source", "src", "resourceDomains"),
    ("track", "src", "resourceDomains"),
    ("iframe", "src", "frameDomains"),
    ("base", "href", "baseUriDomains"),
];

/// Elements in which tags are no tags to a browser that runs scripts.
const PLAIN: [&str; 6] = ["textarea", "noscript", "iframe", "noembed", "noframes", "xmp"];

/// Everything that a page loads from other origins by its tags, each origin once for an element.
///
/// Relative addresses are left out, because the host says where they lead. Reading ends at a script after which only a
/// parser of HTML would know where it ends.
pub fn outside_loads(page: &str) -> Vec<OutsideLoad> {
    let mut found = Vec::new();
    let mut plain: Option<String> = None;
    for piece in pieces(page) {
        match piece {
            Piece::Close(name) if plain.as_ref() == Some(&name) => plain = None,
            Piece::Raw(script) if has_nested_script(script) => break,
            Piece::Open(name, attributes) if plain.is_none() => {
                found.extend(load_of(&name, &attributes));
                plain = PLAIN.contains(&name.as_str()).then_some(name);
            }
            Piece::Close(_) | Piece::Raw(_) | Piece::Open(..) | Piece::Text(_) => {}
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Inside `<!--`, a `<script` moves the end of the script that holds it (HTML, "script data double escaped state").
fn has_nested_script(script: &str) -> bool {
    script.split_once("<!--").is_some_and(|(_, rest)| rest.to_ascii_lowercase().contains("<script"))
}

fn load_of(name: &str, attributes: &[(String, String)]) -> Option<OutsideLoad> {
    let attribute = |wanted: &str| attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let (element, source, member) = LOADING.into_iter().find(|(element, _, _)| *element == name)?;
    let is_loaded = match element {
        // Scripts of other types are data, and those for browsers without modules are not loaded.
        "script" if attribute("nomodule").is_some() => false,
        "script" => {
            let kind = attribute("type").unwrap_or_default().trim().to_ascii_lowercase();
            kind.is_empty() || kind == "module" || kind.ends_with("javascript")
        }
        "link" => {
            let words = attribute("rel").unwrap_or_default().to_ascii_lowercase();
            words.split_ascii_whitespace().any(|word| word == "stylesheet") && attribute("disabled").is_none()
        }
        _ => true,
    };
    if is_loaded { OutsideLoad::of(member, element, attribute(source)?) } else { None }
}

/// Scheme and host of an address of HTTP with a host; the scheme is empty where the page's own counts.
fn split_address(address: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = match address.split_once("//") {
        Some(("", rest)) => ("", rest),
        Some((scheme, rest)) => (scheme.strip_suffix(':')?, rest),
        None => return None,
    };
    let is_http = ["", "http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let host = rest.split(['/', '?', '#', '\\']).next().filter(|host| !host.contains('@'))?;
    is_http.then_some((scheme, host))
}

/// The host without its port, and the port without its colon.
fn split_port(host: &str) -> (&str, &str) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host, ""),
    }
}

fn is_host(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']'))
}

/// Whether one of several `csp` names the origin of what is loaded; one of another shape is taken to name it.
pub fn is_declared(load: &OutsideLoad, declared: &[&Value]) -> bool {
    declared.iter().any(|csp| match csp {
        Value::Null => false,
        Value::Object(members) => match members.get(load.member) {
            None | Some(Value::Null) => false,
            Some(Value::Array(sources)) => {
                sources.iter().any(|source| source.as_str().is_none_or(|source| load.is_allowed_by(source)))
            }
            Some(_) => true,
        },
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => true,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pages_and_other_contents() {
        let check = |content: Value, expected: Option<&str>| {
            assert_eq!(page_of(&content).err(), expected, "{content}");
        };
        check(json!({"text": "<!DOCTYPE html><html></html>"}), None);
        check(json!({"text": "\u{feff}\n<!-- made -->\n<div>a part is enough in a frame</div>"}), None);
        check(json!({"blob": STANDARD.encode("<html></html>")}), None);
        check(json!({"blob": "<html>"}), Some("its `blob` is not base64"));
        check(json!({"blob": STANDARD.encode([0xff])}), Some("its `blob` is not UTF-8"));
        check(json!({"text": " \n"}), Some("it is empty"));
        check(json!({"text": "{\"a\": \"<p>\"}"}), Some("it begins with no tag"));
        check(json!({"text": "https://example.com/app"}), Some("it begins with no tag"));
        check(json!({}), Some("it has neither `text` nor `blob`"));
    }

    #[test]
    fn what_pages_load() {
        let check = |page: &str, expected: &[&str]| {
            let loads = outside_loads(page);
            let loads: Vec<String> =
                loads.iter().map(|load| format!("{} {} {}", load.member, load.element, load.origin())).collect();
            assert_eq!(loads, expected, "{page}");
        };
        check("<script src='https://CDN.example/a.js'></script>", &["resourceDomains script https://cdn.example"]);
        check("<script src=//cdn.example:8443/a.js></script>", &["resourceDomains script https://cdn.example:8443"]);
        check("<script type=module src=http://a.example></script>", &["resourceDomains script http://a.example"]);
        check(
            "<link rel='preload stylesheet' href=https://a.example/x><link rel=icon href=https://b.example/i>",
            &["resourceDomains link https://a.example"],
        );
        check(
            "<img src=https://a.example/1><img src=https://a.example/2><iframe src=https://b.example></iframe>",
            &["frameDomains iframe https://b.example", "resourceDomains img https://a.example"],
        );
        check("<base href=https://a.example/>", &["baseUriDomains base https://a.example"]);
        for page in [
            "<script src=app.js></script><img src=/a.png><img src=data:image/png;base64,AA//AA>",
            "<script type=text/template src=https://a.example></script>",
            "<script nomodule src=https://a.example/old.js></script>",
            "<template><template></template><img src=https://a.example></template>",
            "<script>document.write('<img src=https://a.example>')</script>",
            "<style>p { background: url(https://a.example) }</style><!-- <img src=https://a.example> -->",
            "<template><img src=https://a.example></template><textarea><img src=https://a.example></textarea>",
            "<noscript><img src=https://a.example></noscript><a href=https://a.example>x</a>",
            "<script>x = '<!--'; y = '<script>'; </script> z = '<img src=https://a.example>'</script>",
            "<img src=https://user@a.example><img src='https://{host}/a'><img src=https:///a><img src=\"${url}\">",
            "<img src=ftp://a.example/a><img>",
        ] {
            check(page, &[]);
        }
    }

    #[test]
    fn declared_origins() {
        let check = |source: &str, address: &str, expected: bool| {
            let load = OutsideLoad::of("resourceDomains", "script", address).unwrap();
            assert_eq!(load.is_allowed_by(source), expected, "{source} and {address}");
        };
        check("https://cdn.example", "https://cdn.example/a.js", true);
        check("https://CDN.example/", "https://cdn.example/a.js", true);
        check("https://cdn.example/npm/", "https://cdn.example/npm/a.js", true);
        check("cdn.example", "https://cdn.example/a.js", true);
        check("http://cdn.example", "https://cdn.example/a.js", true);
        check("https://cdn.example", "//cdn.example/a.js", true);
        check("https://cdn.example", "http://cdn.example/a.js", false);
        check("https://example", "https://cdn.example/a.js", false);
        check("https://*.example", "https://a.cdn.example/a.js", true);
        check("https://*.example", "https://example/a.js", false);
        check("https://*.example", "https://badexample/a.js", false);
        check("http://localhost:3000", "http://localhost:3000/a.js", true);
        check("http://localhost:3000", "http://localhost:4000/a.js", false);
        check("http://localhost", "http://localhost:4000/a.js", true);
        check("http://localhost:*", "http://localhost:4000/a.js", true);
        check("https:", "https://cdn.example/a.js", true);
        check("*", "https://cdn.example/a.js", true);
        check("{cdn}", "https://cdn.example/a.js", true);
        check("'self'", "https://cdn.example/a.js", true);
    }

    #[test]
    fn members_of_csp() {
        let load = OutsideLoad::of("resourceDomains", "script", "https://cdn.example/a.js").unwrap();
        let check = |declared: &[Value], expected: bool| {
            assert_eq!(is_declared(&load, &declared.iter().collect::<Vec<_>>()), expected, "{declared:?}");
        };
        check(&[], false);
        check(&[Value::Null, json!({})], false);
        check(&[json!({"connectDomains": ["https://cdn.example"]})], false);
        check(&[json!({"resourceDomains": ["https://other.example"]})], false);
        check(
            &[
                json!({"resourceDomains": ["https://other.example"]}),
                json!({"resourceDomains": ["https://cdn.example"]}),
            ],
            true,
        );
        check(&[json!({"resourceDomains": "https://cdn.example"})], true);
        check(&[json!(["https://cdn.example"])], true);
    }
}
