//! Arguments that are addresses, and lead to this machine: a listener with addresses of its own notices who follows them.
//!
//! A tool may be meant to fetch any address, so a visit is a warning, and a failure where the suite says that this machine
//! is forbidden. A server that refuses the plain address and follows a disguised one breaks its own rule, and fails.

use std::sync::Arc;

use serde_json::json;

use super::SecuritySettings;
use super::listener::LoopbackListener;
use super::probed_tool::{ProbeHalt, ProbedTool};
use crate::block::canary::RandomCanaries;
use crate::event::{CheckResult, Finding, RequirementLevel};
use crate::plan::put::Parameter;
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::session::SessionReply;
use crate::source::words;

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

/// The plain address first, then disguises of it.
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

/// A tool, and addresses of this machine.
#[derive(Debug)]
pub(super) struct FetchCheck {
    pub(super) settings: Arc<SecuritySettings>,
    pub(super) tool: String,
}

impl Check for FetchCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

/// Whether a parameter takes addresses, by its name, its format or its valid value.
pub(super) fn is_address(parameter: &Parameter<'_>) -> bool {
    let is_named = words(parameter.name()).iter().any(|word| ADDRESS_WORDS.contains(&word.as_str()));
    let format = parameter.schema()["format"].as_str().unwrap_or_default();
    is_named || ["uri", "url", "uri-reference", "hostname"].contains(&format) || {
        parameter.text().is_some_and(|text| text.starts_with("http://") || text.starts_with("https://"))
    }
}

async fn run(check: &FetchCheck, context: &CheckContext<'_>) -> CheckResult {
    let listener = match LoopbackListener::start().await {
        Ok(listener) => listener,
        Err(error) => return CheckResult::inconclusive(format!("no listener could be started: {error}")),
    };
    let mut probed = match ProbedTool::begin(context, &check.settings, &check.tool).await {
        Ok(probed) => probed,
        Err(result) => return *result,
    };
    let forbids = check.settings.forbids_loopback;
    let halt = fetch(&mut probed, &listener, forbids).await;
    probed.end(halt.err(), "none led to this machine").await
}

/// A visit of the listener.
struct ListenerVisit {
    disguise: &'static str,
    url: String,
    reply: Option<SessionReply>,
}

async fn fetch(probed: &mut ProbedTool<'_>, listener: &LoopbackListener, forbids: bool) -> Result<(), ProbeHalt> {
    let mut canaries = RandomCanaries::new();
    let base = probed.base.clone();
    probed.call_validly(base).await?;
    for parameter in probed.parameters(is_address) {
        let mut visits: Vec<ListenerVisit> = Vec::new();
        for (disguise, pattern) in DISGUISES {
            let token = canaries.make();
            let url = pattern.replace("PORT", &listener.port.to_string()).replace("TOKEN", &token);
            let Some(arguments) = parameter.with(&json!(url)) else { continue };
            let reply = probed.call(&arguments).await;
            if listener.is_visited(&token) {
                visits.push(ListenerVisit { disguise, url, reply: reply.as_ref().ok().cloned().flatten() });
            }
            if let Err(halt) = reply {
                report(probed, parameter.name(), visits, forbids);
                return Err(halt);
            }
        }
        report(probed, parameter.name(), visits, forbids);
    }
    Ok(())
}

fn report(probed: &mut ProbedTool<'_>, parameter: &str, visits: Vec<ListenerVisit>, forbids: bool) {
    let ways: Vec<&str> = visits.iter().map(|visit| visit.disguise).collect();
    let Some(first) = visits.first() else { return };
    let is_bypass = first.disguise != DISGUISES[0].0 && first.disguise != DISGUISES[1].0;
    let subject = probed.subject();
    let message = if is_bypass {
        format!("`{subject}` follows a disguised address of this machine in `{parameter}`, and not the plain one")
    } else {
        format!("`{subject}` fetches an address of this machine in `{parameter}`")
    };
    let mut found = Finding::new("fetched-loopback", message)
        .with_evidence("address", first.url.clone())
        .with_evidence("effect", "the listener at this address was asked for the path, which nobody else knows")
        .with_evidence("ways", ways.join(", "));
    found.help = Some(if is_bypass || forbids {
        "resolve the name, and refuse addresses of this machine and of private networks before every request, also after \
         a redirect"
            .to_owned()
    } else {
        format!(
            "if it is meant to fetch anything, say `fetches: [{subject}]`; if not, have this fail with \
             `forbid_loopback: true`"
        )
    });
    if !is_bypass && !forbids {
        found.level = RequirementLevel::Should;
    }
    let reply = visits.into_iter().next().and_then(|visit| visit.reply);
    probed.note(found, reply);
}
