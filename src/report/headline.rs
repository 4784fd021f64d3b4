//! The verdict on a run in one sentence, for documents that begin with it.

use crate::event::{Gate, GateVerdict, Outcome, Proof, UnjudgedTools};

use super::fold::{Report, SuiteReport, Totals};
use super::{proven, terminal};

/// The verdict on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Headline {
    pub(crate) verdict: RunVerdict,
    /// One sentence without a final period.
    pub(crate) said: String,
}

/// Good or bad news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunVerdict {
    /// Everything that was judged is in order.
    Good,
    /// The same, and the run did not come to its end.
    Unfinished,
    /// Something failed, or a threshold was missed.
    Bad,
    /// Nothing failed, and some cases have no verdict, or some tools or a threshold were not judged.
    Doubtful,
    /// Nothing was judged.
    Open,
}

/// The verdict, and how far the run came.
pub(crate) fn headline(report: &Report, suites: &[SuiteReport<'_>]) -> Headline {
    let (verdict, said) = judge(report, suites);
    let cut = match report.run_finished() {
        None => ", and the recording ends before the run does",
        Some(run) if run.interrupted && report.is_out_of_time() => ", and the time of `--budget` was over",
        Some(run) if run.interrupted => ", and the run was interrupted",
        Some(_) => "",
    };
    // A mutant that was not reached may have failed.
    let is_unfinished = matches!(verdict, RunVerdict::Good | RunVerdict::Doubtful) && !cut.is_empty();
    Headline { verdict: if is_unfinished { RunVerdict::Unfinished } else { verdict }, said: said + cut }
}

fn judge(report: &Report, suites: &[SuiteReport<'_>]) -> (RunVerdict, String) {
    let totals = report.totals();
    let cases = terminal::plural(totals.cases(), "case");
    let broken: usize = suites.iter().map(broken_servers).sum();
    let bad = totals.failed + totals.errored;
    let proof = report.run_finished().and_then(|run| run.proof.as_deref());
    match (bad, broken) {
        (0, 0) if totals.cases() == 0 && proof.is_some() => proof.map_or((RunVerdict::Open, String::new()), of_proof),
        (0, 0) if totals.cases() == 0 => (RunVerdict::Open, "no case ran".to_owned()),
        (0, 0) if totals.passed + totals.flaky + totals.warned + totals.known == 0 => {
            (RunVerdict::Open, "nothing was judged".to_owned())
        }
        (0, 0) if counts_flaky(report) => {
            let flaky = totals.flaky;
            let said =
                format!("{flaky} of {cases} passed only after a retry, which `--fail-on-flaky` counts as a failure");
            (RunVerdict::Bad, said)
        }
        (0, 0) => {
            let (verdict, said) = of_passed(&totals, report.unjudged());
            let passed = match proof {
                Some(proof) if proof.proves_nothing() => (RunVerdict::Doubtful, format!("{said}; nothing was proven")),
                Some(_) | None => (verdict, said),
            };
            with_gates(passed, &gates(report), is_undecided(report))
        }
        (0, _) => (RunVerdict::Bad, format!("{} broke the protocol", terminal::plural(broken, "server"))),
        (_, _) => (RunVerdict::Bad, format!("{bad} of {cases} did not pass")),
    }
}

/// The verdict on a run in which nothing failed, and something was judged.
fn of_passed(totals: &Totals, tools: &[UnjudgedTools]) -> (RunVerdict, String) {
    let Totals { passed, flaky, warned, known, inconclusive, .. } = *totals;
    let cases = terminal::plural(totals.cases(), "case");
    let warnings = match warned {
        0 => String::new(),
        1 => ", 1 more with a warning".to_owned(),
        more => format!(", {more} more with warnings"),
    };
    let known = if known > 0 { format!(", {known} failed as known") } else { String::new() };
    let unjudged = match inconclusive {
        0 => String::new(),
        1 => "; 1 has no verdict".to_owned(),
        more => format!("; {more} have no verdict"),
    };
    let tools = match tools.iter().map(|one| one.tools.len()).sum() {
        _ if tools.is_empty() => String::new(),
        0 => "; no tool was judged".to_owned(),
        1 => "; 1 tool was not judged".to_owned(),
        more => format!("; {more} tools were not judged"),
    };
    let is_doubtful = inconclusive > 0 || !tools.is_empty();
    let verdict = if is_doubtful { RunVerdict::Doubtful } else { RunVerdict::Good };
    (verdict, format!("{} of {cases} passed{warnings}{known}{unjudged}{tools}", passed + flaky))
}

/// The verdict on a proof that has no run around it.
fn of_proof(proof: &Proof) -> (RunVerdict, String) {
    let gates: Vec<&Gate> = proof.all_gates().collect();
    let verdict = match worst_gate(&gates).map(Gate::verdict) {
        _ if proof.proves_nothing() => RunVerdict::Open,
        Some(GateVerdict::Missed) => RunVerdict::Bad,
        Some(GateVerdict::NotJudged) | None => RunVerdict::Open,
        Some(GateVerdict::Met) => RunVerdict::Good,
    };
    (verdict, proven::sentence(proof))
}

/// The thresholds of a run: those of its proof, if it has one.
fn gates(report: &Report) -> Vec<&Gate> {
    let Some(run) = report.run_finished() else { return Vec::new() };
    match (&run.proof, &run.coverage) {
        (Some(proof), _) => proof.all_gates().collect(),
        (None, Some(found)) => found.gates.iter().chain(found.suites.iter().flat_map(|suite| &suite.gates)).collect(),
        (None, None) => Vec::new(),
    }
}

/// Cases passed only after a retry, and that fails the run.
fn counts_flaky(report: &Report) -> bool {
    report.totals().flaky > 0 && report.run_finished().is_some_and(|run| run.fails_on_flaky)
}

/// What fails a run in which no case failed and something was judged.
pub(crate) fn failure_beyond_cases(report: &Report) -> Option<String> {
    if counts_flaky(report) {
        return Some("flaky cases count as failures".to_owned());
    }
    if is_undecided(report) {
        return None;
    }
    let gates = gates(report);
    let missed = gates.iter().find(|gate| gate.verdict() == GateVerdict::Missed);
    missed.map(|gate| below_threshold(gate))
}

/// Nothing failed, and the run has no verdict, whatever threshold was missed: tools or a threshold were not judged, or
/// nothing was proven.
pub(crate) fn is_undecided(report: &Report) -> bool {
    let proof = report.run_finished().and_then(|run| run.proof.as_deref());
    let is_unproven = proof.is_some_and(Proof::proves_nothing);
    let is_open = |gate: &&Gate| gate.verdict() == GateVerdict::NotJudged;
    is_unproven || !report.unjudged().is_empty() || gates(report).iter().any(is_open)
}

fn below_threshold(gate: &Gate) -> String {
    format!("coverage is below the threshold of {}%", gate.threshold)
}

/// A threshold of the run was missed.
pub(crate) fn misses_a_threshold(report: &Report) -> bool {
    gates(report).iter().any(|gate| gate.verdict() == GateVerdict::Missed)
}

/// The threshold that weighs most, as in exit codes.
fn worst_gate<'a>(gates: &[&'a Gate]) -> Option<&'a Gate> {
    let of = |verdict| gates.iter().copied().find(|gate| gate.verdict() == verdict);
    of(GateVerdict::NotJudged).or_else(|| of(GateVerdict::Missed)).or_else(|| of(GateVerdict::Met))
}

/// The verdict on a run that would be good, with its thresholds; one that is undecided misses none.
fn with_gates((verdict, said): (RunVerdict, String), gates: &[&Gate], is_undecided: bool) -> (RunVerdict, String) {
    let Some(gate) = worst_gate(gates) else { return (verdict, said) };
    match gate.verdict() {
        GateVerdict::Missed if !is_undecided => (RunVerdict::Bad, format!("{said}; {}", below_threshold(gate))),
        GateVerdict::NotJudged => {
            (RunVerdict::Doubtful, format!("{said}; the threshold of {}% was not judged", gate.threshold))
        }
        GateVerdict::Missed | GateVerdict::Met => (verdict, said),
    }
}

/// The number of servers that broke the protocol beside all cases.
pub(crate) fn broken_servers(suite: &SuiteReport<'_>) -> usize {
    suite.sessions.iter().filter(|case| case.outcome == Outcome::Failed && !case.is_known()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Figure;
    use crate::report::tests::fixture;

    #[test]
    fn a_run_without_failures_is_good_where_every_case_was_judged() {
        let totals = |passed, warned, known, inconclusive| Totals {
            passed,
            warned,
            known,
            inconclusive,
            skipped: 1,
            ..Totals::default()
        };
        for (totals, verdict, said) in [
            (totals(2, 0, 0, 0), RunVerdict::Good, "2 of 3 cases passed"),
            (totals(2, 1, 0, 0), RunVerdict::Good, "2 of 4 cases passed, 1 more with a warning"),
            (totals(2, 0, 3, 0), RunVerdict::Good, "2 of 6 cases passed, 3 failed as known"),
            (totals(2, 0, 0, 1), RunVerdict::Doubtful, "2 of 4 cases passed; 1 has no verdict"),
            (
                totals(2, 6, 0, 73),
                RunVerdict::Doubtful,
                "2 of 82 cases passed, 6 more with warnings; 73 have no verdict",
            ),
        ] {
            assert_eq!(of_passed(&totals, &[]), (verdict, said.to_owned()));
        }
        let met = Gate { figure: Figure::Plain, threshold: 60.0, met: true, not_judged: false };
        let missed = Gate { met: false, ..met.clone() };
        let open = missed.clone().with_more_to_come();
        for (gates, is_undecided, verdict, said) in [
            (vec![], false, RunVerdict::Good, "2 of 3 cases passed"),
            (vec![&met], false, RunVerdict::Good, "2 of 3 cases passed"),
            (vec![&met, &open], true, RunVerdict::Doubtful, "2 of 3 cases passed; the threshold of 60% was not judged"),
            (
                vec![&missed, &open],
                true,
                RunVerdict::Doubtful,
                "2 of 3 cases passed; the threshold of 60% was not judged",
            ),
            (
                vec![&met, &missed],
                false,
                RunVerdict::Bad,
                "2 of 3 cases passed; coverage is below the threshold of 60%",
            ),
            // Tools were not judged, which the sentence says already.
            (vec![&missed], true, RunVerdict::Good, "2 of 3 cases passed"),
        ] {
            let passed = of_passed(&totals(2, 0, 0, 0), &[]);
            assert_eq!(with_gates(passed, &gates, is_undecided), (verdict, said.to_owned()));
        }
        let (verdict, said) = of_passed(&totals(2, 0, 0, 0), &[fixture::unjudged()]);
        assert_eq!(verdict, RunVerdict::Doubtful);
        assert_eq!(said, "2 of 3 cases passed; 2 tools were not judged");
    }
}
