//! Which valid calls a server has served, so that it can be told when it refuses one of them later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::event::{Exchange, Reason};
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
