//! The verdict on a run in one sentence, for documents that begin with it.

use crate::event::{Outcome, Proof};

use super::fold::{Report, SuiteReport};
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
    /// Something failed.
    Bad,
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
    let is_unfinished = verdict == RunVerdict::Good && !cut.is_empty();
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
        (0, 0) => (RunVerdict::Good, format!("{} of {cases} passed", totals.passed + totals.flaky + totals.warned)),
        (0, _) => (RunVerdict::Bad, format!("{} broke the protocol", terminal::plural(broken, "server"))),
        (_, _) => (RunVerdict::Bad, format!("{bad} of {cases} did not pass")),
    }
}

/// The verdict on a proof that has no run around it.
fn of_proof(proof: &Proof) -> (RunVerdict, String) {
    let verdict = match proof.all_gates().all(|gate| gate.met) {
        _ if proof.all_gates().next().is_none() => RunVerdict::Open,
        true => RunVerdict::Good,
        false => RunVerdict::Bad,
    };
    (verdict, proven::sentence(proof))
}

/// The number of servers that broke the protocol beside all cases.
pub(crate) fn broken_servers(suite: &SuiteReport<'_>) -> usize {
    suite.sessions.iter().filter(|case| case.outcome == Outcome::Failed && !case.is_known()).count()
}
