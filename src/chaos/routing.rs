//! Deadline-aware routing: a call goes to another server while the recent latency of the first would miss the deadline.

use super::{DEADLINE_MS, SERVERS, TOOLS};

/// The latency of each tool at each server, as a client remembers it.
#[derive(Debug, Default)]
pub(crate) struct Router {
    seen: [[Option<Observation>; SERVERS.len()]; TOOLS.len()],
}

#[derive(Debug, Clone, Copy)]
struct Observation {
    latency_ms: f64,
    task: usize,
}

/// The number of tasks for which an observation is recent; afterwards the server is tried again.
const RECENT_TASKS: usize = 10;

impl Router {
    /// The server for a call on which `elapsed_ms` were already spent; the primary one if none would meet the deadline.
    pub(crate) fn choose(&self, tool: usize, task: usize, elapsed_ms: f64) -> usize {
        let would_miss =
            |seen: &Observation| task - seen.task < RECENT_TASKS && elapsed_ms + seen.latency_ms > DEADLINE_MS;
        self.seen[tool].iter().position(|seen| !seen.as_ref().is_some_and(would_miss)).unwrap_or_default()
    }

    /// Remembers the latest latency of a tool at a server.
    pub(crate) fn note(&mut self, tool: usize, server: usize, task: usize, latency_ms: f64) {
        self.seen[tool][server] = Some(Observation { latency_ms, task });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_server_is_left_and_tried_again() {
        let mut router = Router::default();
        assert_eq!(router.choose(0, 0, 0.0), 0);
        router.note(0, 0, 0, 1500.0);
        assert_eq!(router.choose(0, 1, 0.0), 1);
        assert_eq!(router.choose(1, 1, 0.0), 0, "other tools stay where they are");
        assert_eq!(router.choose(0, RECENT_TASKS, 0.0), 0);
        router.note(0, 1, 0, 1500.0);
        assert_eq!(router.choose(0, 1, 0.0), 0, "none of them would do");
    }

    #[test]
    fn time_that_is_spent_counts() {
        let mut router = Router::default();
        router.note(0, 0, 0, 600.0);
        assert_eq!(router.choose(0, 0, 300.0), 0);
        assert_eq!(router.choose(0, 0, 500.0), 1);
    }
}
