//! What a server's card and its entry in the registry say, beside what the server itself says.
//!
//! The card is a draft (SEP-2127, of the working group "Server Card"): a server over HTTP may have one at
//! `/server-card` behind its own path. Whatever is served there and is no card is left alone. `server.json` is the file of
//! the MCP registry. Both name the server, its version and its addresses, and neither lists tools.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::Value;
use tokio::time::timeout;

use super::Examination;
use super::authorization::read_json;
use crate::session::ServerIdentity;
use crate::source::{shorten, visible_line};
use crate::transport::http::{HttpAddress, bare_client};

/// The media type of cards.
const MEDIA_TYPE: &str = "application/mcp-server-card+json";

/// The time for a card.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Where a card stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CardPlace {
    /// The server serves it.
    Served,
    /// The `server.json` that describes the server.
    File,
}

impl CardPlace {
    fn name(self) -> &'static str {
        match self {
            Self::Served => "server card",
            Self::File => "server.json",
        }
    }
}

/// The card that a server serves, if it serves one; credentials are not sent.
pub(crate) async fn find_card(address: &HttpAddress) -> Option<Value> {
    let mut url: Url = address.url.parse().ok()?;
    let path = format!("{}/server-card", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url.set_query(None);
    let client = bare_client(&address.tls, url.scheme()).ok()?;
    let asked = async {
        let response = client.get(url).header(ACCEPT, MEDIA_TYPE).send().await.ok()?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_named = kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(MEDIA_TYPE));
        let card = read_json(response).await.ok()?;
        let is_card = is_named || card["$schema"].as_str().is_some_and(|schema| schema.contains("server-card"));
        is_card.then_some(card)
    };
    timeout(TIMEOUT, asked).await.ok()?
}

/// Judges a card by its form, and by what the server says of itself.
pub(crate) fn judge_card(place: CardPlace, card: &Value, server: &ServerIdentity, url: Option<&str>) -> Examination {
    let name = place.name();
    let complaints = complaints(card);
    if let [first, ..] = complaints.as_slice() {
        let cure = "write it as its schema says: clients and registries refuse or hide what they cannot read";
        return Examination::doubtful(name, first.clone(), cure).with_evidence(complaints[1..].to_vec());
    }
    let differences = differences(card, server, url);
    if let [first, ..] = differences.as_slice() {
        let cure = "change it with each release: people and clients read it before they connect";
        return Examination::doubtful(name, first.clone(), cure).with_evidence(differences[1..].to_vec());
    }
    let sentence = format!("{} {} agrees with the server", shown(&card["name"]), shown(&card["version"]));
    Examination::fine(name, sentence)
}

/// A value of the card or the server as a sentence may quote it.
fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("`{}`", shorten(&visible_line(&text), 80))
}

/// What the form of a card forbids.
fn complaints(card: &Value) -> Vec<String> {
    if !card.is_object() {
        return vec!["it is no JSON object".to_owned()];
    }
    let mut found = Vec::new();
    let name = card["name"].as_str();
    if !name.is_some_and(is_name) {
        let said =
            name.map_or_else(|| "it has no `name`".to_owned(), |_| format!("its `name` is {}", shown(&card["name"])));
        found.push(format!("{said}, and not a domain and a name such as `com.example/weather`"));
    }
    match card["version"].as_str() {
        None | Some("") => found.push("it has no `version`".to_owned()),
        Some(version) if is_range(version) => {
            found.push(format!("its `version` is {}, a range, and not one version", shown(&card["version"])));
        }
        Some(_) => {}
    }
    match card["description"].as_str().map(|text| text.chars().count()) {
        None | Some(0) => found.push("it has no `description`".to_owned()),
        Some(length) if length > MOST_DESCRIPTION => {
            found.push(format!("its `description` has {length} characters, and {MOST_DESCRIPTION} are allowed"));
        }
        Some(_) => {}
    }
    for remote in card["remotes"].as_array().into_iter().flatten() {
        if !matches!(remote["type"].as_str(), Some("streamable-http" | "sse")) {
            found.push(format!("a remote has the type {}, and not `streamable-http` or `sse`", shown(&remote["type"])));
        }
        if !remote["url"].is_string() {
            found.push("a remote has no `url`".to_owned());
        }
    }
    found
}

/// The longest description, in characters.
const MOST_DESCRIPTION: usize = 100;

/// A domain in reverse and a name, with one slash between them.
fn is_name(name: &str) -> bool {
    let is_part = |part: &str, further: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || further.contains(c))
    };
    name.split_once('/').is_some_and(|(domain, name)| is_part(domain, ".-") && is_part(name, "._-"))
}

/// Several versions in one text, as package managers write them.
fn is_range(version: &str) -> bool {
    version.starts_with(['^', '~', '<', '>', '='])
        || version.contains(['*', '|'])
        || version.rsplit('.').next() == Some("x")
}

/// Where the card says something else than the server.
fn differences(card: &Value, server: &ServerIdentity, url: Option<&str>) -> Vec<String> {
    let info = info_of(&server.result);
    let mut found = Vec::new();
    let differ = |member: &str| {
        let (said, own) = (card[member].as_str()?, info[member].as_str()?);
        (said != own)
            .then(|| format!("its {member} is {}, and the server's is {}", shown(&card[member]), shown(&info[member])))
    };
    // Most servers have a short name of their own beside the registered one.
    if info["name"].as_str().is_some_and(is_name) {
        found.extend(differ("name"));
    }
    found.extend(differ("version"));
    found.extend(differ("title"));
    for remote in card["remotes"].as_array().into_iter().flatten() {
        let is_this = url.is_some_and(|url| remote["url"].as_str().is_some_and(|said| is_same_url(said, url)));
        let Some(versions) = remote["supportedProtocolVersions"].as_array().filter(|_| is_this) else { continue };
        let spoken = server.revision.as_str();
        // A run may ask for an older revision than clients do that take the newest.
        let is_newer =
            !versions.is_empty() && versions.iter().all(|version| version.as_str().is_some_and(|one| one < spoken));
        if is_newer {
            let listed: Vec<String> = versions.iter().take(5).map(shown).collect();
            found.push(format!("it lists only {}, and the server speaks {spoken}", listed.join(", ")));
        }
    }
    found
}

fn is_same_url(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// What a server says of itself, in either era.
fn info_of(result: &Value) -> &Value {
    let stateless = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    if stateless.is_object() { stateless } else { &result["serverInfo"] }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "cases read better with `json!(…)` than with `&json!(…)`")]

    use std::sync::Arc;

    use serde_json::json;

    use super::super::ExaminationVerdict;
    use super::*;
    use crate::transport::TransportKind;
    use crate::wire::Revision;

    const URL: &str = "https://a.example/mcp";

    fn check(change: Value, result: Value, expected: &[&str]) {
        let mut card = json!({
            "name": "com.example/weather", "version": "1.2.0", "description": "Weather",
            "remotes": [{"type": "streamable-http", "url": URL, "supportedProtocolVersions": ["2025-11-25"]}],
        });
        for (key, value) in change.as_object().unwrap() {
            card[key] = value.clone();
        }
        let server = ServerIdentity {
            revision: Revision::V2025_11_25,
            implementation: None,
            capabilities: json!({}),
            result: Arc::new(result),
            ready: Duration::ZERO,
            transport: TransportKind::Http,
        };
        let judged = judge_card(CardPlace::Served, &card, &server, Some(URL));
        let verdict = if expected.is_empty() { ExaminationVerdict::Fine } else { ExaminationVerdict::Doubtful };
        assert_eq!(judged.verdict, verdict, "{judged:?}");
        if !expected.is_empty() {
            let said: Vec<&str> =
                std::iter::once(&judged.sentence).chain(&judged.evidence).map(String::as_str).collect();
            assert_eq!(said, expected);
        }
    }

    #[test]
    fn cards_and_servers() {
        let own = |name: &str, version: &str| json!({"serverInfo": {"name": name, "version": version}});
        check(json!({}), own("weather", "1.2.0"), &[]);
        check(json!({"title": "Weather"}), own("weather", "1.2.0"), &[]);
        check(
            json!({}),
            json!({"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "w", "version": "1.2.0"}}}),
            &[],
        );
        check(json!({}), json!({}), &[]);
        check(json!({}), own("weather", "1.1.9"), &["its version is `1.2.0`, and the server's is `1.1.9`"]);
        check(
            json!({}),
            own("com.example/rain", "1.2.0"),
            &["its name is `com.example/weather`, and the server's is `com.example/rain`"],
        );
        let remote = |url: &str, versions: &[&str]| json!({"remotes": [{"type": "sse", "url": url, "supportedProtocolVersions": versions}]});
        check(
            remote("https://a.example/mcp/", &["2025-03-26"]),
            own("weather", "1.2.0"),
            &["it lists only `2025-03-26`, and the server speaks 2025-11-25"],
        );
        check(remote("https://b.example/mcp", &["2025-03-26"]), own("weather", "1.2.0"), &[]);
        check(remote("https://a.example/mcp", &[]), own("weather", "1.2.0"), &[]);
        check(remote("https://a.example/mcp", &["2026-07-28"]), own("weather", "1.2.0"), &[]);
    }

    #[test]
    fn forms_of_cards() {
        let check = |change: Value, expected: &[&str]| check(change, json!({}), expected);
        check(
            json!({"name": "weather"}),
            &["its `name` is `weather`, and not a domain and a name such as `com.example/weather`"],
        );
        check(json!({"version": null}), &["it has no `version`"]);
        check(json!({"version": "^1.2"}), &["its `version` is `^1.2`, a range, and not one version"]);
        check(json!({"description": "x".repeat(101)}), &["its `description` has 101 characters, and 100 are allowed"]);
        check(
            json!({"description": "", "remotes": [{"type": "stdio"}]}),
            &[
                "it has no `description`",
                "a remote has the type `stdio`, and not `streamable-http` or `sse`",
                "a remote has no `url`",
            ],
        );
    }
}
