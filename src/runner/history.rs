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
    /// True if a tool was called that may have changed what others answer.
    has_written: AtomicBool,
    /// By tool, the first valid call that was answered with an internal error.
    internal_errors: Mutex<BTreeMap<String, Exchange>>,
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

    /// The finding about tools that answer calls, which their schemas allow, with an internal error.
    pub(crate) fn judge_internal_errors(&self) -> Option<Finding> {
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
