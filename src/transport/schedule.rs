//! A queue of scheduled messages, soonest first; those due at the same time keep their order.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
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

#[derive(Default)]
pub(super) struct Schedule {
    waiting: BinaryHeap<Reverse<Due>>,
    counted: u64,
}

struct Due {
    at: Instant,
    number: u64,
    incoming: Incoming,
}

impl Schedule {
    pub(super) fn add(&mut self, played: Vec<Scheduled>) {
        let now = Instant::now();
        for Scheduled { after, incoming } in played {
            self.counted += 1;
            self.waiting.push(Reverse(Due { at: now + after, number: self.counted, incoming }));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Waits until an item is due; never returns where none is scheduled.
    pub(super) async fn due(&self) {
        match self.waiting.peek() {
            Some(Reverse(due)) => sleep_until(due.at).await,
            None => std::future::pending().await,
        }
    }

    /// Removes the item that is due next.
    pub(super) fn next(&mut self) -> Option<Incoming> {
        self.waiting.pop().map(|Reverse(due)| due.incoming)
    }
}

impl Due {
    fn rank(&self) -> (Instant, u64) {
        (self.at, self.number)
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}
