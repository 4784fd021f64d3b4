//! Everything that is known of all targets: their states, and the figures for metrics.

use std::collections::BTreeMap;
use std::time::Duration;

use super::fold::RunObservation;
use super::metrics::Histogram;
use super::state::{KeptStates, StatusChange, TargetState, count_changes, verdict_of_drift};
use super::status::{TargetStatus, TargetVerdict};
use crate::drift::ChangeLevel;
use crate::event::Outcome;

/// The tools of a target whose times are counted one by one: servers choose the names, and how many there are.
const MOST_TOOLS: usize = 50;

/// The name of all other tools; no tool has such a name.
const OTHER_TOOLS: &str = "(other tools)";

const SECONDS_OF_DAY: u64 = 86_400;

/// The rules by which states change.
#[derive(Debug, Clone, Copy)]
pub struct StateRules {
    /// The number of failed runs in a row after which a target counts as down.
    pub failures: u32,
    /// The least severe change of what a server offers that counts as drift.
    pub drift: ChangeLevel,
}

impl Default for StateRules {
    fn default() -> Self {
        Self { failures: 1, drift: ChangeLevel::Compatible }
    }
}

/// The names of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetName {
    /// The suite's file.
    pub suite: String,
    /// The server's name in the suite.
    pub server: String,
    /// The revision that the suite asks for: a date, or `auto`.
    pub revision: String,
}

/// What is known of one target.
#[derive(Debug, Clone, Default)]
pub struct TargetFigures {
    /// The suite's file.
    pub suite: String,
    /// The server's name in the suite.
    pub server: String,
    /// The revision that the suite asks for.
    pub revision: String,
    /// Its state, which outlives the program.
    pub state: TargetState,
    /// The number of runs by result.
    pub runs: BTreeMap<TargetStatus, u64>,
    /// The last run.
    pub last: Option<LatestRun>,
    /// The changes of what the server offers, by level, when it was asked last.
    pub drift: Option<BTreeMap<ChangeLevel, usize>>,
    /// The days until its certificate ends, when it was seen last.
    pub certificate_days: Option<i64>,
    /// The times of calls by tool.
    pub tools: BTreeMap<String, Histogram>,
    /// The number of runs that were left out because the one before was not over.
    pub skipped: u64,
    /// The number of runs in a row in which a target that is down could not be reached.
    pub unreachable: u32,
}

/// The last run of a target.
#[derive(Debug, Clone, PartialEq)]
pub struct LatestRun {
    /// The time that it took.
    pub took: Duration,
    /// When it ended, in seconds since 1970.
    pub at: u64,
    /// The number of cases by outcome.
    pub cases: BTreeMap<Outcome, usize>,
    /// Its verdict, which need not be the state of the target yet.
    pub verdict: TargetVerdict,
}

/// Something that is counted by how it ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResultCounts {
    /// It went well.
    pub ok: u64,
    /// It did not.
    pub failed: u64,
}

impl ResultCounts {
    /// Counts one.
    pub fn add(&mut self, is_ok: bool) {
        *(if is_ok { &mut self.ok } else { &mut self.failed }) += 1;
    }
}

/// A run that is over.
#[derive(Debug, Clone)]
pub struct RunRecord {
    /// The run itself.
    pub observation: RunObservation,
    /// The time by which it began later than planned.
    pub lateness: Duration,
    /// The number of runs before it that were left out.
    pub skipped: u64,
    /// When it ended, in seconds since 1970.
    pub now: u64,
}

/// The states and figures of all targets.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The rules by which states change.
    pub rules: StateRules,
    /// By `file@server/revision`.
    pub targets: BTreeMap<String, TargetFigures>,
    /// The states of targets that are not watched at present, and may be again.
    pub kept: KeptStates,
    /// The times by which runs began later than planned.
    pub lateness: Histogram,
    /// Messages of webhooks.
    pub webhooks: ResultCounts,
    /// Times that the suites were read again.
    pub reloads: ResultCounts,
    /// Times that the state was written.
    pub state_writes: ResultCounts,
    /// Requests to the endpoint of OpenTelemetry.
    pub otlp_exports: ResultCounts,
    /// Spans that this endpoint did not get.
    pub spans_dropped: u64,
}

impl Ledger {
    /// Watches a target from now on, with the state that was kept of it.
    pub fn watch(&mut self, id: &str, name: &TargetName) {
        let TargetName { suite, server, revision } = name.clone();
        let state = self.kept.targets.remove(id).unwrap_or_default();
        self.targets
            .insert(id.to_owned(), TargetFigures { suite, server, revision, state, ..TargetFigures::default() });
    }

    /// Watches a target no more, and keeps its state.
    pub fn forget(&mut self, id: &str) {
        if let Some(figures) = self.targets.remove(id) {
            self.kept.targets.insert(id.to_owned(), figures.state);
        }
    }

    /// Takes in a run; returns the change of the target's status, if there is one.
    pub fn record(&mut self, id: &str, run: RunRecord) -> Option<StatusChange> {
        let rules = self.rules;
        self.lateness.count(run.lateness);
        // A target that was removed while it ran is no target any more.
        let figures = self.targets.get_mut(id)?;
        let RunRecord { observation, skipped, now, .. } = run;
        let mut verdict = observation.verdict;
        if let Some(offered) = &observation.offered {
            let changes = figures.state.drift(offered);
            figures.drift = Some(count_changes(&changes));
            verdict = verdict.or_worse(verdict_of_drift(&changes, rules.drift));
        }
        *figures.runs.entry(verdict.status).or_default() += 1;
        figures.last =
            Some(LatestRun { took: observation.took, at: now, cases: observation.cases, verdict: verdict.clone() });
        let today = i64::try_from(now / SECONDS_OF_DAY).unwrap_or(i64::MAX);
        figures.certificate_days = observation.certificate_end.map(|end| end - today);
        figures.skipped += skipped;
        for call in observation.calls {
            let is_kept = figures.tools.len() < MOST_TOOLS || figures.tools.contains_key(&call.tool);
            let name = if is_kept { call.tool } else { OTHER_TOOLS.to_owned() };
            figures.tools.entry(name).or_default().count(call.took);
        }
        let is_unreachable = verdict.status.is_unreachable();
        let change = figures.state.observe(verdict, rules.failures, now);
        // Until it counts as down, it is asked as often as ever, so that this is soon known.
        let is_down = figures.state.status.is_some_and(|status| !status.is_serving());
        figures.unreachable = if is_unreachable && is_down { figures.unreachable.saturating_add(1) } else { 0 };
        change
    }

    /// The number of runs in a row in which a target could not be reached.
    pub fn unreachable(&self, id: &str) -> u32 {
        self.targets.get(id).map_or(0, |figures| figures.unreachable)
    }

    /// The states of all targets, and of others that were kept.
    pub fn states(&self) -> KeptStates {
        let mut states = self.kept.targets.clone();
        states.extend(self.targets.iter().map(|(id, figures)| (id.clone(), figures.state.clone())));
        KeptStates::new(states)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(failures: u32) -> Ledger {
        let mut ledger = Ledger { rules: StateRules { failures, ..StateRules::default() }, ..Ledger::default() };
        let name = TargetName { suite: "s.yml".into(), server: "server".into(), revision: "auto".into() };
        ledger.watch("id", &name);
        ledger
    }

    fn record(ledger: &mut Ledger, status: TargetStatus) -> Option<TargetStatus> {
        let observation = RunObservation { verdict: TargetVerdict::new(status, ""), ..RunObservation::default() };
        let change = ledger.record("id", RunRecord { observation, lateness: Duration::ZERO, skipped: 0, now: 9 });
        change.map(|change| change.to)
    }

    #[test]
    fn a_target_is_asked_less_often_once_it_is_down_and_cannot_be_reached() {
        use TargetStatus::{ConnectionRefused as Refused, Failed, Timeout, Up};
        for (failures, statuses, expected) in [
            (1, &[Up][..], 0),
            (1, &[Refused, Timeout, Refused], 3),
            (1, &[Refused, Refused, Up], 0),
            (1, &[Refused, Failed], 0),
            // Two more runs must say so before it counts.
            (3, &[Up, Refused, Refused], 0),
            (3, &[Up, Refused, Refused, Refused], 1),
        ] {
            let mut ledger = ledger(failures);
            for status in statuses {
                record(&mut ledger, *status);
            }
            assert_eq!(ledger.unreachable("id"), expected, "{failures} {statuses:?}");
        }
    }

    #[test]
    fn states_of_targets_that_are_not_watched_are_kept() {
        let mut ledger = ledger(1);
        record(&mut ledger, TargetStatus::Up);
        let other = TargetState { since: 3, ..TargetState::default() };
        ledger.kept = KeptStates::new([("other".to_owned(), other.clone())].into());
        let states = ledger.states().targets;
        assert_eq!(states["other"], other);
        assert_eq!(states["id"].status, Some(TargetStatus::Up));
    }

    #[test]
    fn a_target_that_comes_back_has_the_state_that_it_had() {
        let mut ledger = ledger(1);
        record(&mut ledger, TargetStatus::Timeout);
        let name = TargetName { suite: "s.yml".into(), server: "server".into(), revision: "auto".into() };
        ledger.forget("id");
        assert!(ledger.targets.is_empty());
        ledger.watch("id", &name);
        assert_eq!(record(&mut ledger, TargetStatus::Timeout), None, "it was down before");
        assert_eq!(record(&mut ledger, TargetStatus::Up), Some(TargetStatus::Up));
    }

    #[test]
    fn a_target_that_is_gone_is_recorded_nowhere() {
        let mut ledger = Ledger::default();
        assert_eq!(record(&mut ledger, TargetStatus::Failed), None);
        assert!(ledger.targets.is_empty());
    }
}
