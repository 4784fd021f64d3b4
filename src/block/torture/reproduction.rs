//! The reproduction of a kept finding: this block with one tool, and few calls.

use serde_json::{Map, Value, json};

use super::clients::Clients;
use super::{Torture, TortureCheck};
use crate::event::{BlockReproduction, Code, FindingKind, Reproduction, ReproductionCheck};
use crate::plan::CheckContext;

/// The number of times the smallest number of calls a replay makes: what happened once with so few need not happen again.
const MARGIN: usize = 4;

/// The most that a suite may say.
const MOST_CALLS: usize = 1_000;

/// The calls at a time that a finding takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReproducedLoad {
    pub(crate) sessions: usize,
    /// The number of calls each session has under way.
    pub(crate) in_flight: usize,
    /// The number of calls in all.
    pub(crate) calls: usize,
}

impl ReproducedLoad {
    /// That of a round with the smallest number of calls that shows it, as far as it was looked for.
    pub(crate) fn of(clients: &Clients<'_>, settings: &Torture, smallest: usize) -> Self {
        let most = settings.sessions * settings.calls;
        Self { sessions: clients.sessions(), in_flight: clients.in_flight(), calls: most }.reduced_to(smallest)
    }

    /// A load, with all calls under way at a time in `in_flight`, reduced to some more calls than show it.
    fn reduced_to(self, smallest: usize) -> Self {
        let calls = (smallest * MARGIN).min(self.calls).max(2);
        let in_flight = (self.in_flight / self.sessions.max(1)).clamp(1, calls.min(64));
        Self { sessions: self.sessions.min(calls), in_flight, calls }
    }

    /// One call after another.
    pub(crate) const ALONE: Self = Self { sessions: 1, in_flight: 1, calls: 2 };

    /// A check that sets the number of its calls itself.
    pub(crate) fn of_its_own(calls: usize) -> Self {
        Self { sessions: 2, in_flight: 1, calls }
    }
}

/// The way in which a finding about a tool, or about none, is found again by a check.
pub(crate) fn reproduction(
    context: &CheckContext<'_>,
    settings: &Torture,
    tool: Option<&str>,
    code: impl Into<Code>,
    check: TortureCheck,
    load: ReproducedLoad,
) -> Reproduction {
    let ReproducedLoad { sessions, in_flight, calls } = load;
    let mut block = json!({
        "checks": [check.as_str()],
        "sessions": sessions,
        "calls": calls.div_ceil(sessions).min(MOST_CALLS),
        "in_flight": in_flight,
        "seed": settings.seed,
        "max_time": format!("{}ms", settings.max_time.as_millis()),
    });
    if let Some(tool) = tool {
        block["tools"] = json!([tool]);
    }
    if let Some(pair) = tool.and_then(|tool| settings.pair(tool)) {
        let reads: Vec<&str> = pair.read.iter().map(|read| read.value.as_str()).collect();
        block["pairs"] = json!([{"write": tool, "read": reads}]);
    }
    let arguments: Map<String, Value> =
        context.suite.arguments.iter().map(|(name, node)| (name.clone(), node.to_json())).collect();
    let mut suite = Map::from_iter([("torture".to_owned(), block)]);
    if !arguments.is_empty() {
        suite.insert("arguments".to_owned(), arguments.into());
    }
    if let Some(tool) = tool.filter(|tool| context.suite.allow.has(tool)) {
        suite.insert("allow".to_owned(), json!([tool]));
    }
    Reproduction {
        kind: FindingKind::PropertyFailure,
        tool: tool.map(str::to_owned),
        sessions: Vec::new(),
        check: ReproductionCheck::Block(BlockReproduction { code: code.into(), suite: suite.into(), calls }),
        doubt: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_makes_some_more_calls_than_are_needed() {
        let load = |sessions, in_flight, calls| ReproducedLoad { sessions, in_flight, calls };
        for (found, smallest, expected) in [
            (load(4, 16, 32), 2, load(4, 4, 8)),
            (load(4, 16, 32), 32, load(4, 4, 32)),
            (load(1, 16, 32), 2, load(1, 8, 8)),
            (load(16, 256, 400), 1, load(4, 4, 4)),
            (load(1, 512, 1_000), 500, load(1, 64, 1_000)),
            (load(4, 4, 1), 1, load(2, 1, 2)),
        ] {
            assert_eq!(found.reduced_to(smallest), expected, "{found:?} {smallest}");
        }
    }
}
