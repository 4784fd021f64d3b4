//! The verdict on a run that is over: its exit code, and the sentence that explains it.

use super::fault_coverage::ThresholdArgs;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::event::Proof;
use crate::redact::Redactor;
use crate::runner::Summary;
use crate::source::visible_line;

/// The most flaky cases that a sentence names.
const MOST_NAMES: usize = 5;

/// A run that is over and needs a verdict.
pub(crate) struct EndedRun<'a> {
    pub(crate) summary: &'a Summary,
    pub(crate) hidden: &'a Redactor,
    /// True if the time of `--budget` was over before the run was.
    pub(crate) is_out_of_time: bool,
    /// True if it is a part of a run: what no case of it shows, one of another part may.
    pub(crate) is_part: bool,
    pub(crate) fails_on_flaky: bool,
    pub(crate) thresholds: &'a ThresholdArgs,
    pub(crate) console: &'a Console,
}

/// The verdict of a summary, before proof and coverage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SummaryVerdict {
    Interrupted,
    Internal,
    Failed,
    /// Cases passed only after they had failed, which counts as a failure.
    Flaky,
    Errored,
    OutOfTime,
    NothingJudged,
    /// Nothing speaks against the run.
    Judged,
}

/// Judges a summary by its most pressing trait.
fn judge(summary: &Summary, is_out_of_time: bool, fails_on_flaky: bool) -> SummaryVerdict {
    let verdicts = [
        (summary.interrupted && !is_out_of_time, SummaryVerdict::Interrupted),
        (summary.internal > 0, SummaryVerdict::Internal),
        (summary.failed > 0, SummaryVerdict::Failed),
        (fails_on_flaky && !summary.flaky.is_empty(), SummaryVerdict::Flaky),
        (summary.errored > 0, SummaryVerdict::Errored),
        (is_out_of_time, SummaryVerdict::OutOfTime),
        (summary.judged == 0, SummaryVerdict::NothingJudged),
    ];
    verdicts.into_iter().find(|(holds, _)| *holds).map_or(SummaryVerdict::Judged, |(_, verdict)| verdict)
}

/// The exit code of a run with that summary, before coverage and proof.
pub(crate) fn exit_alone(summary: &Summary, is_out_of_time: bool, fails_on_flaky: bool) -> Exit {
    match judge(summary, is_out_of_time, fails_on_flaky) {
        SummaryVerdict::Interrupted => Exit::Interrupted,
        SummaryVerdict::Internal => Exit::Internal,
        SummaryVerdict::Failed | SummaryVerdict::Flaky => Exit::Findings,
        SummaryVerdict::Errored => Exit::Environment,
        SummaryVerdict::OutOfTime | SummaryVerdict::NothingJudged => Exit::Nothing,
        SummaryVerdict::Judged => Exit::Passed,
    }
}

impl EndedRun<'_> {
    /// The exit code, most pressing reason first (docs/semantics.md).
    pub(crate) fn verdict(&self, proof: Option<&Proof>) -> Exit {
        let Self { thresholds, console, summary, .. } = self;
        let nothing = |message: &str| console.fail(Exit::Nothing, message, None);
        match judge(summary, self.is_out_of_time, self.fails_on_flaky) {
            SummaryVerdict::Interrupted => return Exit::Interrupted,
            SummaryVerdict::Internal => return Exit::Internal,
            SummaryVerdict::Failed => return Exit::Findings,
            SummaryVerdict::Flaky => return self.report_flaky(),
            SummaryVerdict::Errored => return Exit::Environment,
            SummaryVerdict::OutOfTime => {
                return nothing("the time of `--budget` was over before every case was judged");
            }
            SummaryVerdict::NothingJudged if self.is_part => return Exit::Passed,
            SummaryVerdict::NothingJudged if summary.decided.is_empty() => {
                return nothing("no case ran: of what was planned, nothing is selected");
            }
            SummaryVerdict::NothingJudged => {
                return nothing("no case reached a verdict: every case was skipped or inconclusive");
            }
            SummaryVerdict::Judged => {}
        }
        match (proof, &summary.coverage) {
            (Some(proof), _) if !proof.has_green_case() => {
                let message = "nothing can be proven: no case passes both in the run and from its recording";
                let help = "`--live` also asks the real servers, with cases that no recording plays back";
                console.fail(Exit::Nothing, message, proof.live.is_none().then_some(help))
            }
            (Some(proof), _) => thresholds.gate_proof(proof, console),
            (None, Some(coverage)) => thresholds.gate_each(coverage, console),
            (None, None) => Exit::Passed,
        }
    }

    fn report_flaky(&self) -> Exit {
        let ids = &self.summary.flaky;
        let named = ids.iter().take(MOST_NAMES).map(|id| format!("`{}`", visible_line(&self.hidden.text(id))));
        let named = named.collect::<Vec<_>>().join(", ");
        let more = ids.len().saturating_sub(MOST_NAMES);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let cases = if ids.len() == 1 { "1 case is" } else { &format!("{} cases are", ids.len()) };
        let message = format!("{cases} flaky, passed only after a retry: {named}{more}");
        let help = "`--repeat 10` without `--fail-on-flaky` shows how often they pass";
        self.console.fail(Exit::Findings, message, Some(help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_judged_by_its_most_pressing_trait() {
        let judged = || Summary { judged: 3, ..Summary::default() };
        let cut_off = || Summary { interrupted: true, ..Summary::default() };
        let flaky = || Summary { flaky: vec!["a".to_owned()], ..judged() };
        for (summary, is_out_of_time, fails_on_flaky, expected) in [
            (judged(), false, false, SummaryVerdict::Judged),
            (Summary::default(), false, false, SummaryVerdict::NothingJudged),
            (Summary { failed: 1, errored: 1, ..judged() }, false, false, SummaryVerdict::Failed),
            (Summary { failed: 1, internal: 1, ..judged() }, false, false, SummaryVerdict::Internal),
            (Summary { errored: 1, ..judged() }, false, false, SummaryVerdict::Errored),
            (flaky(), false, true, SummaryVerdict::Flaky),
            (flaky(), false, false, SummaryVerdict::Judged),
            (Summary { failed: 1, ..cut_off() }, false, false, SummaryVerdict::Interrupted),
            // The time is over: what was found counts, and cases that passed are not all that were asked for.
            (judged(), true, false, SummaryVerdict::OutOfTime),
            (cut_off(), true, false, SummaryVerdict::OutOfTime),
            (Summary { failed: 1, ..cut_off() }, true, false, SummaryVerdict::Failed),
            (Summary { errored: 1, ..cut_off() }, true, false, SummaryVerdict::Errored),
        ] {
            let verdict = judge(&summary, is_out_of_time, fails_on_flaky);
            assert_eq!(verdict, expected, "{summary:?} {is_out_of_time} {fails_on_flaky}");
        }
    }
}
