//! A queue of scheduled messages, soonest first; those due at the same time keep their order.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Incoming;

/// An item to deliver later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduled {
    /// The delay from now.
    pub after: Duration,
    /// The item.
    pub incoming: Incoming,
}

impl Scheduled {
    /// An item that is due at once.
    pub fn at_once(incoming: Incoming) -> Self {
        Self { after: Duration::ZERO, incoming }
    }
}

#[derive(Default)]
pub(crate) struct Schedule {
    /// By the time when they are due, and by their number.
    waiting: BTreeMap<(Instant, u64), Incoming>,
    counted: u64,
}

impl Schedule {
    pub(crate) fn add(&mut self, played: Vec<Scheduled>) {
        let now = Instant::now();
        for Scheduled { after, incoming } in played {
            self.counted += 1;
            self.waiting.insert((now + after, self.counted), incoming);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Waits until an item is due; never returns where none is scheduled.
    pub(crate) async fn due(&self) {
        match self.waiting.first_key_value() {
            Some(((at, _), _)) => sleep_until(*at).await,
            None => std::future::pending().await,
        }
    }

    /// Removes the item that is due next.
    pub(crate) fn next(&mut self) -> Option<Incoming> {
        self.waiting.pop_first().map(|(_, incoming)| incoming)
    }
}
