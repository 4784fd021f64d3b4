//! Results and errors as a whole: their types and codes, and what handshakes and discoveries teach.

use serde_json::Value;

use super::super::super::{Era, Revision};
use super::super::look::MessageCheck;
use super::super::memory::{SentRequest, ServerCapabilities, SessionMemory};
use super::super::table::ScanRule;
use super::{AnsweredRequest, caching, elicitation, input, meta, progress, shown};
use crate::wire::Members;

/// The extension that adds a type of results.
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Whether a message is the answer of a server of the newest era to `server/discover`.
pub(in super::super) fn is_discovery(json: &Value) -> bool {
    let versions =
        json.member("result").and_then(|result| result.member("supportedVersions")).and_then(Value::as_array);
    let is_newest = |version: &Value| version.as_str().is_some_and(|version| version == Revision::NEWEST.as_str());
    versions.is_some_and(|versions| versions.iter().any(is_newest))
}

/// Judges a result by its type, and learns from those that tell about the server.
pub(super) fn judge(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, exchange: AnsweredRequest<'_>) {
    let AnsweredRequest { asked, result } = exchange;
    learn(look, memory, exchange);
    let kind = result.member("resultType");
    let is_final = kind.is_none_or(|kind| kind == "complete" || kind == "input_required");
    if is_final {
        progress::end(memory, asked, look.stream);
    }
    // Whoever did not say that it speaks the newest revision may get an answer of an older one.
    if asked.is_raw || !asked.is_stateless || memory.is_mixed {
        return;
    }
    look.require(ScanRule::ResultWithoutType, kind.is_some(), || "the result has no `resultType`".to_owned());
    let Some(kind) = kind else { return };
    if let Some(is_known) = is_known(kind, memory.promised.as_ref()) {
        look.require(ScanRule::UnknownResultType, is_known, || {
            format!("the result has the `resultType` {}, which is not defined", shown(Some(kind)))
        });
    }
    match kind.as_str() {
        Some("complete") => caching::judge(look, memory, exchange),
        Some("input_required") => input::judge(look, exchange),
        _ => {}
    }
}

/// Whether a type exists; `None` where an extension may define it.
fn is_known(kind: &Value, promised: Option<&ServerCapabilities>) -> Option<bool> {
    let Some(kind) = kind.as_str() else { return Some(false) };
    if matches!(kind, "complete" | "input_required") {
        return Some(true);
    }
    match promised?.extensions {
        (_, true) => None,
        (has_tasks, false) => Some(has_tasks && kind == "task"),
    }
}

fn learn(
    look: &mut MessageCheck<'_>,
    memory: &mut SessionMemory,
    AnsweredRequest { asked, result }: AnsweredRequest<'_>,
) {
    match asked.method {
        "initialize" if look.revision == Revision::V2026_07_28 => memory.is_mixed = true,
        "initialize" => {
            let version = result["protocolVersion"].as_str().and_then(Revision::parse);
            let version = version.filter(|version| version.era() == Era::Session);
            if memory.agreed.is_none() {
                memory.agreed = version;
                look.revision = version.unwrap_or(look.revision);
                memory.promised = Some(promised(&result["capabilities"]));
                meta::judge(look, result);
            }
        }
        "server/discover" if look.revision == Revision::V2026_07_28 => {
            memory.promised = Some(promised(&result["capabilities"]));
            meta::extensions(look, &result["capabilities"]);
        }
        _ => {}
    }
}

fn promised(capabilities: &Value) -> ServerCapabilities {
    let extensions = capabilities["extensions"].as_object();
    let named = |is_such: fn(&String) -> bool| extensions.is_some_and(|all| all.keys().any(is_such));
    ServerCapabilities {
        logging: capabilities.member("logging").is_some(),
        extensions: (named(|id| id == TASKS), named(|id| id != TASKS)),
    }
}

/// Judges an error by its code.
pub(super) fn refused(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, asked: &SentRequest, error: &Value) {
    progress::end(memory, asked, look.stream);
    let Some(code) = error.member("code").and_then(Value::as_i64) else { return };
    if code == elicitation::URL_REQUIRED && !asked.is_raw {
        elicitation::required(look, memory, error);
    }
    if !asked.is_stateless || memory.is_mixed {
        return;
    }
    let is_reserved = (-32099..=-32020).contains(&code);
    look.require(ScanRule::RetiredErrorCode, !matches!(code, -32002 | -32042), || {
        format!("the server answered with the error {code}, which was removed in 2026-07-28")
    });
    look.require(ScanRule::UndefinedErrorCode, !is_reserved || code >= -32022 || code == -32042, || {
        format!("the server answered with the error {code}, which is reserved and not defined")
    });
}
