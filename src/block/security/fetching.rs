//! Arguments that are addresses, and lead to this machine: a listener with addresses of its own notices who follows them.
//!
//! A tool may be meant to fetch any address, so a visit is a warning, and a failure where the suite says that this machine
//! is forbidden. A server that refuses the plain address and follows a disguised one breaks its own rule, and fails.

use std::sync::Arc;

use serde_json::{Value, json};

use super::SecuritySettings;
use super::listener::LoopbackListener;
use super::probed_tool::ProbedTool;
use crate::check::CheckEnd;
use crate::check::canary::Canaries;
use crate::check::evidence::shown_call;
use crate::event::{CheckResult, Exchange, Finding, RequirementLevel};
use crate::matching::words_of;
use crate::plan::put::Parameter;
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::redact::percent_encode;
use crate::session::SessionReply;
use crate::source::words;
use crate::wire::call_limit;

/// Words of the names of parameters that take addresses or names of machines.
const ADDRESS_WORDS: [&str; 22] = [
    "url",
    "urls",
    "uri",
    "uris",
    "link",
    "links",
    "href",
    "endpoint",
    "endpoints",
    "host",
    "hostname",
    "domain",
    "site",
    "website",
    "webhook",
    "callback",
    "address",
    "origin",
    "proxy",
    "feed",
    "page",
    "image",
];

/// The plain address and its name first, then disguises of them.
const DISGUISES: [(&str, &str); 8] = [
    ("the plain address", "http://127.0.0.1:PORT/TOKEN"),
    ("the name `localhost`", "http://localhost:PORT/TOKEN"),
    ("another address of this machine", "http://127.0.0.2:PORT/TOKEN"),
    ("a shortened address", "http://127.1:PORT/TOKEN"),
    ("the address as one number", "http://2130706433:PORT/TOKEN"),
    ("the address in hexadecimal digits", "http://0x7f000001:PORT/TOKEN"),
    ("the address 0.0.0.0", "http://0.0.0.0:PORT/TOKEN"),
    ("a redirect", "http://localhost:PORT/redirect/TOKEN"),
];

/// The number of addresses that are not disguised.
const PLAIN: usize = 2;

/// The most templates of resources that are tried.
const MOST_TEMPLATES: usize = 8;

/// The most listed resources that are read until one is served.
const MOST_LISTED: usize = 8;

/// A tool, or the resources of a server, and addresses of this machine.
#[derive(Debug)]
pub(crate) struct FetchCheck {
    pub(crate) settings: Arc<SecuritySettings>,
    /// `None` for resources.
    pub(crate) tool: Option<String>,
}

impl Check for FetchCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

/// A name of addresses or machines.
fn names_address(name: &str) -> bool {
    words(name).iter().any(|word| ADDRESS_WORDS.contains(&word.as_str()))
}

/// A parameter takes addresses if its name, its format or its valid value says so.
pub(crate) fn is_address(parameter: &Parameter<'_>) -> bool {
    let is_named = names_address(parameter.name());
    let format = parameter.schema()["format"].as_str().unwrap_or_default();
    is_named || ["uri", "url", "uri-reference", "hostname"].contains(&format) || {
        parameter.text().is_some_and(|text| text.starts_with("http://") || text.starts_with("https://"))
    }
}

async fn run(check: &FetchCheck, context: &CheckContext<'_>) -> CheckResult {
    if context.is_replayed {
        return CheckResult::inconclusive(
            "only a server that runs can visit an address, and a recording does not".to_owned(),
        );
    }
    let listener = match LoopbackListener::start().await {
        Ok(listener) => listener,
        Err(error) => return CheckResult::inconclusive(format!("no listener could be started: {error}")),
    };
    let subject = check.tool.as_deref().unwrap_or("resources/read");
    let mut probed = match ProbedTool::begin(context, &check.settings, subject).await {
        Ok(probed) => probed,
        Err(result) => return *result,
    };
    let forbids = check.settings.forbid_loopback;
    let mut search = FetchSearch { probed: &mut probed, listener: &listener, forbids, canaries: Canaries::random() };
    let halt = match check.tool {
        Some(_) => search.in_tool().await,
        None => search.in_resources().await,
    };
    probed.end(halt.err(), "none led to this machine").await
}

/// An address of the listener that was sent.
struct SentAddress {
    disguise: &'static str,
    url: String,
    /// The part of it that nothing else has.
    token: String,
    /// The request with the server's answer, if there is one that can be read.
    call: Option<Exchange>,
    is_refused: bool,
    /// Somebody asked the listener for it.
    is_visited: bool,
}

impl SentAddress {
    fn of(disguise: &'static str, url: String, token: String, reply: Option<&SessionReply>) -> Self {
        // A limit of calls keeps nobody from this machine.
        let is_limit = |reply: &SessionReply| call_limit(&words_of(&reply.message)).is_some();
        let is_refused = reply.is_some_and(|reply| !reply.is_served() && !is_limit(reply));
        Self { disguise, url, token, call: reply.map(shown_call), is_refused, is_visited: false }
    }

    fn is_plain(&self) -> bool {
        DISGUISES[..PLAIN].iter().any(|(name, _)| *name == self.disguise)
    }
}

/// Sends addresses, and looks at who comes.
struct FetchSearch<'a, 'b> {
    probed: &'a mut ProbedTool<'b>,
    listener: &'a LoopbackListener,
    forbids: bool,
    canaries: Canaries,
}

impl FetchSearch<'_, '_> {
    async fn in_tool(&mut self) -> Result<(), CheckEnd> {
        let base = self.probed.base.clone();
        self.probed.call_validly(base).await?;
        for parameter in self.probed.parameters(is_address) {
            let tool = self.probed.subject();
            let params =
                |url: &str| parameter.with(&json!(url)).map(|arguments| json!({"name": tool, "arguments": arguments}));
            self.send_all("tools/call", params, &format!("in `{}`", parameter.name())).await?;
        }
        Ok(())
    }

    /// Reads the addresses themselves, and those of templates whose variables are addresses.
    async fn in_resources(&mut self) -> Result<(), CheckEnd> {
        let catalog = self.probed.context.catalog;
        for listed in catalog.resources.iter().filter_map(|resource| resource["uri"].as_str()).take(MOST_LISTED) {
            let reply = self.probed.request("resources/read", json!({"uri": listed})).await?;
            let is_served = reply.as_ref().is_some_and(SessionReply::is_served);
            self.probed.note_valid(reply.as_ref(), is_served);
            if is_served {
                break;
            }
        }
        self.send_all("resources/read", |url| Some(json!({"uri": url})), "as the address of a resource").await?;
        let templates = catalog.resource_templates.iter().filter_map(|template| template["uriTemplate"].as_str());
        let with_address = templates.filter(|template| fill(template, "").is_some());
        for template in with_address.take(MOST_TEMPLATES) {
            let params = |url: &str| fill(template, url).map(|uri| json!({"uri": uri}));
            self.send_all("resources/read", params, &format!("in the template `{template}`")).await?;
        }
        Ok(())
    }

    /// Sends every disguise, and reports the visits.
    async fn send_all(
        &mut self,
        method: &str,
        params: impl Fn(&str) -> Option<Value>,
        place: &str,
    ) -> Result<(), CheckEnd> {
        let (mut sent, mut ended) = (Vec::new(), Ok(()));
        for (disguise, pattern) in DISGUISES {
            let token = self.canaries.make();
            let url = pattern.replace("PORT", &self.listener.port.to_string()).replace("TOKEN", &token);
            let Some(params) = params(&url) else { continue };
            let reply = self.probed.request(method, params).await;
            ended = reply.as_ref().map(|_| ()).map_err(Clone::clone);
            sent.push(SentAddress::of(disguise, url, token, reply.unwrap_or_default().as_ref()));
            if ended.is_err() {
                break;
            }
        }
        // A server may fetch after its answer.
        for address in &mut sent {
            address.is_visited = self.listener.is_visited(&address.token);
        }
        let subject = self.probed.subject();
        let is_tool = self.probed.context.catalog.tool(&subject).is_some();
        let found = finding(&FetchSubject { subject: &subject, is_tool, place, forbids: self.forbids }, &sent);
        if let Some(found) = found {
            let first = sent.into_iter().find(|address| address.is_visited);
            self.probed.note(found, first.and_then(|address| address.call));
        }
        ended
    }
}

/// The tool or the resources to which addresses were sent.
struct FetchSubject<'a> {
    subject: &'a str,
    is_tool: bool,
    /// The place of the addresses in a request.
    place: &'a str,
    /// The suite forbids this machine.
    forbids: bool,
}

/// The finding about the addresses that were visited.
fn finding(of: &FetchSubject<'_>, sent: &[SentAddress]) -> Option<Finding> {
    let FetchSubject { subject, is_tool, place, forbids } = *of;
    let first = sent.iter().find(|address| address.is_visited)?;
    let ways: Vec<&str> = sent.iter().filter(|address| address.is_visited).map(|address| address.disguise).collect();
    // A server that served the plain address without a visit may follow it later, or fetch only some.
    let mut plain = sent.iter().filter(|address| address.is_plain()).peekable();
    let is_bypass = !first.is_plain() && plain.peek().is_some() && plain.all(|address| address.is_refused);
    let message = if is_bypass {
        format!("`{subject}` follows a disguised address of this machine {place}, and not the plain one")
    } else {
        format!("`{subject}` fetches an address of this machine {place}")
    };
    let effect = "the listener received a request for a path that only this call contained";
    let found = Finding::new("fetched-loopback", message)
        .with_evidence("address", first.url.clone())
        .with_evidence("effect", effect)
        .with_evidence("ways", ways.join(", "));
    let is_must = is_bypass || forbids;
    let help = if is_must {
        "resolve the name, and refuse addresses of this machine and of private networks before every request, also after \
         a redirect"
            .to_owned()
    } else if is_tool {
        format!(
            "if it is meant to fetch anything, say `fetches: [{subject}]`; if not, have this fail with \
             `forbid_loopback: true`"
        )
    } else {
        "have this fail with `forbid_loopback: true`, unless resources are meant to be any page".to_owned()
    };
    let level = if is_must { RequirementLevel::Must } else { RequirementLevel::Should };
    Some(Finding { help: Some(help), level, ..found })
}

/// A template whose variables of addresses are filled with one, and all others with a letter; `None` if it has none.
fn fill(template: &str, url: &str) -> Option<String> {
    let mut filled = String::new();
    let mut rest = template;
    let mut has_address = false;
    while let Some((before, after)) = rest.split_once('{') {
        let (expression, after) = after.split_once('}')?;
        let names = expression.trim_start_matches(['+', '#', '/', '.', ';', '?', '&']);
        let operator = &expression[..expression.len() - names.len()];
        filled += before;
        for (number, name) in names.split(',').map(|name| name.trim_end_matches('*')).enumerate() {
            let is_address = names_address(name);
            has_address |= is_address;
            let value = match (is_address, operator) {
                (false, _) => "x".to_owned(),
                (true, "+" | "#") => url.to_owned(),
                (true, _) => percent_encode(url),
            };
            let expanded = match operator {
                "?" | "&" => format!("{}{name}={value}", if number == 0 { operator } else { "&" }),
                ";" => format!(";{name}={value}"),
                "/" | "." => format!("{operator}{value}"),
                "#" if number == 0 => format!("#{value}"),
                _ if number > 0 => format!(",{value}"),
                _ => value,
            };
            filled += &expanded;
        }
        rest = after;
    }
    has_address.then(|| filled + rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests;
    use crate::plan::put::parameters;

    #[test]
    fn templates_with_addresses_are_filled() {
        let url = "http://a/b";
        for (template, expected) in [
            ("page://{+url}", Some("page://http://a/b")),
            ("page://{url}/text", Some("page://http%3A%2F%2Fa%2Fb/text")),
            ("page://get{?size,page_url}", Some("page://get?size=x&page_url=http%3A%2F%2Fa%2Fb")),
            ("page://get;v=1{;size,url*}", Some("page://get;v=1;size=x;url=http%3A%2F%2Fa%2Fb")),
            ("page://get{#size,url}", Some("page://get#x,http://a/b")),
            ("page://get{/size,url}", Some("page://get/x/http%3A%2F%2Fa%2Fb")),
            ("page://get?v=1{&url}", Some("page://get?v=1&url=http%3A%2F%2Fa%2Fb")),
            ("page://{size,url}", Some("page://x,http%3A%2F%2Fa%2Fb")),
            ("users://{id}", None),
            ("page://{url", None),
        ] {
            assert_eq!(fill(template, url).as_deref(), expected, "{template}");
        }
    }

    #[test]
    fn a_visit_is_a_warning_and_a_way_around_a_refusal_a_failure() {
        // Answers and visits of the plain address, of `localhost` and of a disguise.
        let (served, refused) = (|| Some(tests::served("page")), || Some(tests::refused()));
        for (answers, visits, forbids, expected) in [
            ([refused(), refused(), refused()], [false, false, false], false, None),
            ([served(), served(), served()], [false, false, false], true, None),
            ([served(), served(), served()], [true, true, true], false, Some(("fetches", RequirementLevel::Should))),
            ([served(), served(), served()], [true, false, false], true, Some(("fetches", RequirementLevel::Must))),
            ([refused(), served(), served()], [false, true, true], false, Some(("fetches", RequirementLevel::Should))),
            ([refused(), refused(), served()], [false, false, true], false, Some(("follows", RequirementLevel::Must))),
            // An error does not show whether the server followed the address.
            ([refused(), refused(), refused()], [false, false, true], false, Some(("follows", RequirementLevel::Must))),
            // The plain address was not refused: nothing shows that the server means to keep away from it.
            ([served(), served(), served()], [false, false, true], false, Some(("fetches", RequirementLevel::Should))),
            ([None, None, served()], [false, false, true], false, Some(("fetches", RequirementLevel::Should))),
        ] {
            let sent = DISGUISES.iter().zip(answers).zip(visits).map(|(((disguise, _), reply), is_visited)| {
                let sent = SentAddress::of(disguise, "http://x".to_owned(), "t".to_owned(), reply.as_ref());
                SentAddress { is_visited, ..sent }
            });
            let sent: Vec<SentAddress> = sent.collect();
            let of = FetchSubject { subject: "get", is_tool: true, place: "in `url`", forbids };
            let found = finding(&of, &sent);
            let seen = found.as_ref().map(|found| (found.message.split(' ').nth(1).unwrap_or_default(), found.level));
            assert_eq!(seen, expected, "{visits:?} {forbids}");
        }
    }

    #[test]
    fn addresses_are_known_by_name_format_or_value() {
        for (name, schema, valid, expected) in [
            ("page_url", json!({}), Value::Null, true),
            ("webhook", json!({}), Value::Null, true),
            ("target", json!({"format": "uri"}), Value::Null, true),
            ("target", json!({}), json!("https://example.com"), true),
            ("target", json!({}), json!("west"), false),
            ("curl_options", json!({}), Value::Null, false),
        ] {
            let mut schema = schema;
            schema["type"] = "string".into();
            let (schema, base) = (json!({"type": "object", "properties": {name: schema}}), json!({name: valid}));
            let base = if valid.is_null() { json!({}) } else { base };
            let parameters = parameters(&schema, &base);
            assert_eq!(is_address(&parameters[0]), expected, "{name} {schema}");
        }
    }

    #[test]
    fn a_disguise_is_no_way_around_a_refusal_that_was_never_asked_for() {
        let (plain, disguise) = (DISGUISES[0].0, DISGUISES[3].0);
        let sent = |disguise, reply: Option<SessionReply>, is_visited| SentAddress {
            is_visited,
            ..SentAddress::of(disguise, "http://x".to_owned(), "t".to_owned(), reply.as_ref())
        };
        let (served, refused) = (|| Some(tests::served("page")), || Some(tests::refused()));
        for (what, sent, expected) in [
            (
                "the plain address is refused",
                vec![sent(plain, refused(), false), sent(disguise, served(), true)],
                RequirementLevel::Must,
            ),
            // The schema takes short texts only, so the server has refused nothing.
            ("the schema takes no plain address", vec![sent(disguise, served(), true)], RequirementLevel::Should),
            (
                "the plain address got no answer",
                vec![sent(plain, None, false), sent(disguise, served(), true)],
                RequirementLevel::Should,
            ),
        ] {
            let of = FetchSubject { subject: "get", is_tool: true, place: "in `url`", forbids: false };
            assert_eq!(finding(&of, &sent).map(|found| found.level), Some(expected), "{what}");
        }
    }

    #[test]
    fn the_cure_follows_from_what_is_forbidden() {
        for (is_tool, forbids, says) in [
            (true, false, "say `fetches: [get]`"),
            (false, false, "unless resources are meant to be any page"),
            (true, true, "refuse addresses of this machine"),
            (false, true, "refuse addresses of this machine"),
        ] {
            let reply = tests::served("page");
            let sent = SentAddress::of(DISGUISES[0].0, "http://x".to_owned(), "t".to_owned(), Some(&reply));
            let of = FetchSubject { subject: "get", is_tool, place: "in `url`", forbids };
            let found = finding(&of, &[SentAddress { is_visited: true, ..sent }]);
            let help = found.and_then(|found| found.help).unwrap_or_default();
            assert!(help.contains(says), "{is_tool} {forbids}: {help}");
        }
    }
}
