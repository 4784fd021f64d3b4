//! Which valid calls a server has served, so that it can be told when it refuses one of them later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::event::{Exchange, Finding, Reason, RequirementLevel, Severity};
use crate::wire::{Catalog, Tool};

/// The calls of a target, as far as they decide what a refusal means.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Tools with arguments.
    served: Mutex<BTreeSet<String>>,
    /// Why nothing follows from valid calls that got no answer, by the titles of their exchanges.
    hanging: Mutex<BTreeMap<String, Reason>>,
    /// Why nothing follows from valid calls that were refused for what the machine lacks, by the calls.
    lacking: Mutex<BTreeMap<String, Reason>>,
    /// The tools of which all rounds of a property were refused for that.
    lacking_tools: Mutex<BTreeSet<String>>,
    /// True if a tool was called that may have changed what others answer.
    has_written: AtomicBool,
    /// By tool, the first valid call that was answered with an internal error.
    internal_errors: Mutex<BTreeMap<String, Exchange>>,
    /// Listed tools that the server does not know when they are called, by their messages.
    denied: Mutex<BTreeMap<String, Finding>>,
}

impl History {
    /// Takes note of what is about to be sent.
    pub(crate) fn note_request(&self, exchange: &Exchange, catalog: &Catalog) {
        if self.has_written.load(Ordering::Relaxed) {
            return;
        }
        let only_reads = exchange.tool.as_deref().is_none_or(|tool| {
            // A tool that the server does not have changes nothing.
            catalog.tool(tool).is_none_or(Tool::only_reads)
        });
        if !only_reads {
            self.has_written.store(true, Ordering::Relaxed);
        }
    }

    /// Takes note that generated calls may change what others answer.
    pub(crate) fn expect_writes(&self) {
        self.has_written.store(true, Ordering::Relaxed);
    }

    /// Takes note of a valid call that was served.
    pub(crate) fn record(&self, exchange: &Exchange) {
        let key = key(exchange);
        self.served.lock().insert(key);
    }

    /// Takes note of a valid call that got no answer; returns true if none such was known.
    pub(crate) fn record_hang(&self, call: &str, why: Reason) -> bool {
        self.hanging.lock().insert(call.to_owned(), why).is_none()
    }

    /// Why nothing follows from a call, if it got no answer before.
    pub(crate) fn known_hang(&self, call: &str) -> Option<Reason> {
        self.hanging.lock().get(call).cloned()
    }

    /// Takes note of a valid call that was refused for what the machine lacks.
    pub(crate) fn record_lack(&self, exchange: &Exchange, why: Reason) {
        self.lacking.lock().insert(key(exchange), why);
    }

    /// Why nothing follows from a call, if it was refused before for what the machine lacks.
    pub(crate) fn known_lack(&self, exchange: &Exchange) -> Option<Reason> {
        self.lacking.lock().get(&key(exchange)).cloned()
    }

    /// Takes note of a tool that refused all rounds of a property for what the machine lacks.
    pub(crate) fn record_lacking_tool(&self, tool: &str) {
        self.lacking_tools.lock().insert(tool.to_owned());
    }

    /// Returns true for such a tool: what it refuses for a lack once more need not be asked again and again.
    pub(crate) fn is_lacking_tool(&self, tool: &str) -> bool {
        self.lacking_tools.lock().contains(tool)
    }

    /// Returns true if the same call was served before, and nothing that was sent since the beginning can explain that
    /// it is refused.
    pub(crate) fn has_served(&self, exchange: &Exchange) -> bool {
        let served = self.served.lock();
        !self.has_written.load(Ordering::Relaxed) && served.contains(&key(exchange))
    }
}

impl History {
    /// Takes note of a valid call that was answered with an internal error.
    pub(crate) fn record_internal_error(&self, tool: &str, exchange: &Exchange) {
        self.internal_errors.lock().entry(tool.to_owned()).or_insert_with(|| exchange.clone());
    }

    /// Takes note of a listed tool whose call was answered as if there were no such tool.
    pub(crate) fn record_denied(&self, found: Finding) {
        self.denied.lock().entry(found.message.clone()).or_insert(found);
    }

    /// The findings about the whole server.
    pub(crate) fn judge(&self) -> Vec<Finding> {
        let denied = std::mem::take(&mut *self.denied.lock());
        self.judge_internal_errors().into_iter().chain(denied.into_values()).collect()
    }

    /// The finding about tools that answer calls, which their schemas allow, with an internal error.
    fn judge_internal_errors(&self) -> Option<Finding> {
        let errors = self.internal_errors.lock();
        let (tool, exchange) = errors.first_key_value()?;
        let others = match errors.len() - 1 {
            0 => String::new(),
            1 => ", and so does another tool".to_owned(),
            more => format!(", and so do {more} other tools"),
        };
        let message = format!(
            "`{tool}` answers a call that its schema allows with the error -32603, which blames the server{others}"
        );
        let help = "answer with a result and `isError: true` where the tool failed, or with -32602 where the arguments are at \
                    fault, so that the caller knows what to change";
        let found = Finding {
            level: RequirementLevel::Should,
            severity: Some(Severity::Low),
            help: Some(help.to_owned()),
            frame: exchange.answer_frame,
            ..Finding::new("internal-error", message)
        };
        let found = found
            .with_evidence("the call", format!("{tool} {}", exchange.sent))
            .with_evidence("answered", exchange.received.clone());
        let names: Vec<&str> = errors.keys().skip(1).map(String::as_str).collect();
        Some(if names.is_empty() { found } else { found.with_evidence("also", names.join(", ")) })
    }
}

fn key(exchange: &Exchange) -> String {
    format!("{} {}", exchange.title, exchange.sent)
}

/// Returns true if a refusal says that calls come too often, which a sound server may say at any time.
pub(crate) fn is_limit(words: &str) -> bool {
    let words = words.to_lowercase();
    ["rate limit", "ratelimit", "too many", "quota", "throttl", "try again later", "429"]
        .iter()
        .any(|mark| words.contains(mark))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::exchange::blank;
    use super::*;
    use crate::event::Phase;

    fn call(tool: &str) -> Exchange {
        let received = format!("{tool} broke");
        Exchange { tool: Some(tool.to_owned()), received, ..blank(Phase::Steps, format!("tools/call {tool}")) }
    }

    fn catalog() -> Catalog {
        let tool = |(name, reads)| Tool::new(json!({ "name": name, "annotations": { "readOnlyHint": reads } }));
        Catalog { tools: [("find", true), ("save", false)].map(tool).into(), ..Catalog::default() }
    }

    #[test]
    fn a_call_that_was_served_must_be_served_again_until_something_is_written() {
        for (what, made, asked, expected) in [
            ("the same call", &["find"][..], "find", true),
            ("another call", &["find"], "list", false),
            ("nothing before", &[], "find", false),
            ("a write in between", &["find", "save"], "find", false),
            ("the write itself", &["save"], "save", false),
            ("a call of a tool that the server lacks in between", &["find", "gone"], "find", true),
        ] {
            let history = History::default();
            for tool in made {
                history.note_request(&call(tool), &catalog());
                history.record(&call(tool));
            }
            assert_eq!(history.has_served(&call(asked)), expected, "{what}");
            history.expect_writes();
            assert!(!history.has_served(&call(asked)), "{what}, and other cases write");
        }
    }

    #[test]
    fn only_the_first_call_that_hangs_is_reported() {
        let history = History::default();
        let why = || Reason::NotApplicable("it hangs".to_owned());
        assert_eq!(history.known_hang("tools/call find"), None);
        assert!(history.record_hang("tools/call find", why()));
        assert!(!history.record_hang("tools/call find", why()));
        assert!(history.known_hang("tools/call find").is_some());
        assert_eq!(history.known_hang("tools/call save"), None);
    }

    #[test]
    fn a_call_that_failed_for_what_the_machine_lacks_is_not_made_again() {
        let history = History::default();
        let why = || Reason::SurroundingsLack("fetch failed".to_owned());
        assert_eq!(history.known_lack(&call("find")), None);
        history.record_lack(&call("find"), why());
        assert_eq!(history.known_lack(&call("find")), Some(why()));
        assert_eq!(history.known_lack(&call("save")), None);
        let other = Exchange { sent: r#"{"id":7}"#.to_owned(), ..call("find") };
        assert_eq!(history.known_lack(&other), None, "other arguments may need nothing");
    }

    #[test]
    fn internal_errors_of_a_server_are_one_warning() {
        for (tools, ends, also) in [
            (&["save"][..], "which blames the server", None),
            (&["save", "find"], "and so does another tool", Some("save")),
            (&["save", "find", "list"], "and so do 2 other tools", Some("list, save")),
        ] {
            let history = History::default();
            assert_eq!(history.judge_internal_errors(), None);
            for tool in tools {
                history.record_internal_error(tool, &call(tool));
                history.record_internal_error(tool, &call("later"));
            }
            let found = history.judge_internal_errors().unwrap();
            let evidence = |name: &str| found.evidence.iter().find(|(known, _)| known == name).map(|(_, text)| &**text);
            assert!(found.message.ends_with(ends), "{}", found.message);
            assert_eq!((found.level, evidence("also")), (RequirementLevel::Should, also));
            assert!(evidence("answered").is_some_and(|text| text != "later broke"), "{tools:?}");
        }
    }

    #[test]
    fn a_limit_of_calls_is_no_refusal_of_one() {
        for (words, expected) in [
            ("Rate limit exceeded", true),
            ("HTTP 429", true),
            ("Too many requests, try again later", true),
            ("request was throttled", true),
            ("no user `u1`", false),
            ("the limit must be positive", false),
        ] {
            assert_eq!(is_limit(words), expected, "{words}");
        }
    }
}
