//! Answers: which request they answer, their types and codes, and what handshakes and discoveries teach.

use serde_json::Value;

use super::super::look::MessageCheck;
use super::super::memory::{MAX_NAMES, SentRequest, ServerCapabilities, SessionMemory};
use super::super::table::ScanRule;
use super::{AnsweredRequest, names, notifications, quote, requests};
use crate::wire::{Era, Id, Members, Revision};

/// Judges whose answer it is; returns the request, where this is the answer that it was to get.
pub(crate) fn match_request(
    look: &mut MessageCheck<'_>,
    memory: &mut SessionMemory,
    json: &Value,
    id: Option<Id>,
) -> Option<SentRequest> {
    // A response that refuses with its status says by itself what it refuses.
    let refuses = look.frame.http.as_ref().is_some_and(|http| !http.is_success());
    // Unreadable input is rightly answered with no id; whether it was unreadable is for raw steps to judge.
    let may_be_nameless = memory.is_raw || json.member("error").is_some() && refuses;
    look.require(ScanRule::AnswerWithoutId, id.is_some() || may_be_nameless, || {
        "an answer has no usable `id`, so it matches no request".to_owned()
    });
    let id = id?;
    if !memory.asked.contains_key(&id) {
        let twin = memory.open_request_of_other_id_type(&id);
        let message = || match &twin {
            Some(twin) => {
                format!(
                    "the type of the id changed: the request has {}, the answer has {}",
                    twin.to_json(),
                    id.to_json()
                )
            }
            None => format!("the server answered with id {}, which matches no request", id.to_json()),
        };
        look.request.clone_from(&twin);
        look.require(ScanRule::WrongId, false, message);
        return None;
    }
    look.require(ScanRule::WrongId, true, String::new);
    let asked = memory.asked.get_mut(&id)?;
    look.require(ScanRule::AnsweredTwice, asked.is_raw || !asked.is_answered, || {
        format!("the server answered the request with id {} twice", id.to_json())
    });
    if asked.is_answered && !asked.is_raw {
        return None;
    }
    let subject = if asked.is_raw { asked.subject.clone() } else { asked.subject.take() };
    asked.is_answered = true;
    Some(SentRequest { subject, ..asked.clone() })
}

/// The handshake of earlier revisions.
const INITIALIZE: &str = "initialize";

/// The extension that adds a type of results.
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Extensions that add no type of results: tools with pages, and skills.
const WITHOUT_TYPES: [&str; 2] = ["io.modelcontextprotocol/ui", "io.modelcontextprotocol/skills"];

/// A message is the answer of a server of the newest era to `server/discover`.
pub(crate) fn is_discovery(json: &Value) -> bool {
    let versions =
        json.member("result").and_then(|result| result.member("supportedVersions")).and_then(Value::as_array);
    let is_newest = |version: &Value| version.as_str().is_some_and(|version| version == Revision::NEWEST.as_str());
    versions.is_some_and(|versions| versions.iter().any(is_newest))
}

/// Judges a result by its type, and learns from those that tell about the server.
pub(crate) fn judge(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, exchange: AnsweredRequest<'_>) {
    let AnsweredRequest { asked, result } = exchange;
    learn(look, memory, exchange);
    judge_declared_list(look, memory, asked, false);
    let kind = result.member("resultType");
    let is_final = kind.is_none_or(|kind| kind == "complete" || kind == "input_required");
    if is_final {
        notifications::end_progress(memory, asked, look.stream);
    }
    // Whoever did not say that it speaks the newest revision may get an answer of an older one.
    if asked.is_raw || !asked.is_stateless || memory.is_mixed {
        return;
    }
    let Some(kind) = kind.filter(|kind| kind.is_string()) else { return };
    if let Some(is_known) = is_known(kind, memory.promised.as_ref()) {
        look.require(ScanRule::UnknownResultType, is_known, || {
            format!("the result has the `resultType` {}, which is not defined", quote(Some(kind)))
        });
    }
    match kind.as_str() {
        Some("complete") => judge_caching(look, memory, exchange),
        Some("input_required") => judge_input_required(look, exchange),
        _ => {}
    }
}

/// A type exists; `None` where an extension may define it.
fn is_known(kind: &Value, promised: Option<&ServerCapabilities>) -> Option<bool> {
    let kind = kind.as_str()?;
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
        INITIALIZE if look.revision == Revision::V2026_07_28 => memory.is_mixed = true,
        INITIALIZE => {
            let version = result["protocolVersion"].as_str().and_then(Revision::parse);
            let version = version.filter(|version| version.era() == Era::Session);
            if memory.agreed.is_none() {
                memory.agreed = version;
                look.revision = version.unwrap_or(look.revision);
                memory.promised = Some(read_capabilities(&result["capabilities"]));
                names::judge_meta(look, result);
            }
        }
        "server/discover" if look.revision == Revision::V2026_07_28 => {
            memory.promised = Some(read_capabilities(&result["capabilities"]));
            names::judge_extensions(look, &result["capabilities"]);
        }
        _ => {}
    }
}

fn read_capabilities(capabilities: &Value) -> ServerCapabilities {
    let extensions = capabilities["extensions"].as_object();
    let named = |is_such: fn(&String) -> bool| extensions.is_some_and(|all| all.keys().any(is_such));
    ServerCapabilities {
        logging: capabilities.member("logging").is_some(),
        prompts: capabilities.member("prompts").is_some(),
        resources: capabilities.member("resources").is_some(),
        extensions: (named(|id| id == TASKS), named(|id| id != TASKS && !WITHOUT_TYPES.contains(&id.as_str()))),
    }
}

/// Judges an error by its code.
pub(crate) fn judge_error(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, asked: &SentRequest, error: &Value) {
    notifications::end_progress(memory, asked, look.stream);
    let Some(code) = error.member("code").and_then(Value::as_i64) else { return };
    if code == requests::URL_REQUIRED && !asked.is_raw {
        requests::url_required(look, memory, error);
    }
    judge_declared_list(look, memory, asked, code == METHOD_NOT_FOUND);
    if !asked.is_stateless || memory.is_mixed {
        return;
    }
    let is_reserved = (-32099..=-32020).contains(&code);
    look.require(ScanRule::RetiredErrorCode, !matches!(code, -32002 | -32042), || {
        format!("the server answered with the error {code}, which was removed in 2026-07-28")
    });
    let demands = error["message"].as_str().is_some_and(demands_handshake);
    look.require(ScanRule::HandshakeDemanded, asked.is_raw || !demands, || {
        let message = quote(error.member("message"));
        format!(
            "the server demands `initialize` for a request of 2026-07-28, which has no handshake: error {code}, {message}; \
             serve each request by its own `_meta`, or leave 2026-07-28 out of `supportedVersions`"
        )
    });
    look.require(ScanRule::UndefinedErrorCode, !is_reserved || code >= -32022 || code == -32042, || {
        format!("the server answered with the error {code}, which is reserved and not defined")
    });
}

/// The words of an error demand the handshake of earlier revisions, or the session that it begins. Something else that is
/// not initialized, such as a database, is none of the protocol's business.
fn demands_handshake(message: &str) -> bool {
    const PREFIXES: [&str; 3] = ["bad request: ", "invalid request: ", "error: "];
    const WHOLE: [&str; 4] =
        ["initialization required", "initialization is required", "missing session id", "session id is required"];
    const NOT: [&str; 3] = ["not initialized", "not been initialized", "not yet initialized"];
    const PARTIES: [&str; 7] = ["", "server", "the server", "mcp server", "session", "the session", "mcp session"];
    let message = message.to_lowercase();
    let message = PREFIXES.iter().find_map(|prefix| message.strip_prefix(prefix)).unwrap_or(&message);
    let message = message.trim_matches(|end: char| !end.is_alphanumeric());
    let sentence = message.strip_suffix(" yet").unwrap_or(message);
    let is_of_party =
        |rest: &str| PARTIES.contains(&rest.trim_end_matches(" is ").trim_end_matches(" has ").trim_end());
    let requests_early = message.split_once("before initialization").is_some_and(|(what, _)| what.contains("request"));
    let lacks_session =
        message.contains("mcp-session-id") && ["required", "missing"].iter().any(|word| message.contains(word));
    WHOLE.contains(&message)
        || NOT.iter().filter_map(|end| sentence.strip_suffix(end)).any(is_of_party)
        || requests_early
        || lacks_session
        || message.contains("invalid during session initialization")
        || message.match_indices(INITIALIZE).any(|(at, word)| is_method(&message[..at], &message[at + word.len()..]))
}

/// What stands around the word `initialize` shows that the method is meant, and wanted.
fn is_method(before: &str, after: &str) -> bool {
    const WANTS: [&str; 7] = ["call", "send", "expected", "expect", "requires", "require", "must"];
    const NEEDED: [&str; 6] = [" is required", " first", " before", " must be", " has not been", " was not"];
    let quotes = ['`', '\'', '"'];
    let before = before.trim_end_matches(quotes).trim_end();
    let before = ["an", "the"].iter().find_map(|word| before.strip_suffix(word)).unwrap_or(before).trim_end();
    let is_wanted = WANTS.iter().any(|word| before.ends_with(word));
    let after = after.trim_start_matches(quotes);
    let begins = |words: &str| after.starts_with(words);
    let is_needed = NEEDED.iter().any(|words| begins(words));
    is_wanted && (after.is_empty() || is_needed || begins(" request") || begins(" handshake"))
        || before.is_empty() && is_needed
}

/// The error of JSON-RPC for a method that does not exist.
const METHOD_NOT_FOUND: i64 = -32601;

/// Judges the answer to a list that the server declares. Tools that are declared and not listed fail the whole listing.
fn judge_declared_list(look: &mut MessageCheck<'_>, memory: &SessionMemory, asked: &SentRequest, is_unknown: bool) {
    let Some(promised) = memory.promised.as_ref().filter(|_| !asked.is_raw && !memory.is_mixed) else { return };
    let (is_declared, name) = match asked.method {
        "prompts/list" => (promised.prompts, "prompts"),
        "resources/list" => (promised.resources, "resources"),
        _ => return,
    };
    if is_declared {
        look.require(ScanRule::UnservedCapability, !is_unknown, || {
            format!("the server declares `{name}` and answers `{}` with -32601, as an unknown method", asked.method)
        });
    }
}

/// The methods whose complete results can be cached.
const CACHEABLE: [&str; 6] =
    ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"];

/// Judges the hints of a complete result.
fn judge_caching(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, exchange: AnsweredRequest<'_>) {
    let AnsweredRequest { asked, result } = exchange;
    if !CACHEABLE.contains(&asked.method) {
        return;
    }
    if let Some(scope) = result.member("cacheScope").and_then(Value::as_str) {
        judge_pages(look, memory, exchange, scope);
    }
}

fn judge_pages(
    look: &mut MessageCheck<'_>,
    memory: &mut SessionMemory,
    AnsweredRequest { asked, result }: AnsweredRequest<'_>,
    scope: &str,
) {
    let method = asked.method;
    if let Some(cursor) = &asked.subject
        && let Some(before) = memory.pages.get(&(method, cursor.clone()))
    {
        look.require(ScanRule::CacheScopeChanges, **before == *scope, || {
            format!("the `cacheScope` of `{method}` goes from `{before}` to `{scope}` between its pages")
        });
    }
    if let Some(next) = result["nextCursor"].as_str().filter(|_| memory.pages.len() < MAX_NAMES) {
        memory.pages.insert((method, next.into()), scope.into());
    }
}

/// Judges a result that is not complete yet.
fn judge_input_required(look: &mut MessageCheck<'_>, AnsweredRequest { asked, result }: AnsweredRequest<'_>) {
    if !asked.method.is_empty() {
        let is_allowed = matches!(asked.method, "tools/call" | "prompts/get" | "resources/read");
        look.require(ScanRule::InputRequiredElsewhere, is_allowed, || {
            format!("`{}` was answered with `input_required`, which it does not allow", asked.method)
        });
    }
    let asks = result.member("inputRequests");
    look.require(ScanRule::InputRequiredEmpty, asks.is_some() || result.member("requestState").is_some(), || {
        "a result of the type `input_required` has neither `inputRequests` nor `requestState`".to_owned()
    });
    for request in asks.and_then(Value::as_object).into_iter().flat_map(|asks| asks.values()) {
        let method = request["method"].as_str().unwrap_or_default();
        let params = request.member("params").unwrap_or(&Value::Null);
        let need = requests::needed_capability(asked.offers, method, params, look.revision);
        if let Some(need) = need {
            need.judge(look, method, ScanRule::UndeclaredInput, || {
                format!("the server asks for the input `{method}`{}, which the client did not declare", need.manner)
            });
        }
        match method {
            "elicitation/create" => requests::judge_elicitation(look, None, params),
            "sampling/createMessage" => requests::judge_sampling(look, params),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::demands_handshake;

    #[test]
    fn only_the_handshake_is_demanded() {
        for (message, expected) in [
            ("initialize is required", true),
            ("Server not initialized", true),
            ("Server not initialized yet", true),
            ("Bad Request: Server not initialized", true),
            ("The session has not been initialized.", true),
            ("MCP session not initialized", true),
            ("Not initialized", true),
            ("Received request before initialization was complete", true),
            ("method \"tools/call\" is invalid during session initialization", true),
            ("Initialization required", true),
            ("Bad Request: Missing session ID", true),
            ("Bad Request: Mcp-Session-Id header is required", true),
            ("Send `initialize` first", true),
            ("Unexpected message, expected initialize request", true),
            ("you must call initialize", true),
            ("database not initialized", false),
            ("Client not initialized", false),
            ("Connection not initialized", false),
            ("rust-analyzer: server not initialized", false),
            ("the index has not been initialized", false),
            ("you must initialize the database first", false),
            ("call initialize_index first", false),
            ("the project is being initialized", false),
            ("Cannot access 'config' before initialization", false),
            ("Browser failed to initialize.", false),
            ("Timed out waiting for the language server to initialize", false),
            ("LSP initialize request timed out", false),
            ("Missing required argument: initialize", false),
            ("Internal error", false),
            ("", false),
        ] {
            assert_eq!(demands_handshake(message), expected, "{message}");
        }
    }
}
