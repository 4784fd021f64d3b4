//! Writes of one tool at a time: what it confirms must be there afterwards, once, and under an identifier of its own.
//!
//! It is a finding although nobody knows what the tool means: writes one after another before, and as many as are concurrent
//! afterwards, must be right in the same way, and a second round of concurrent writes must show the same again.

use std::sync::Arc;

use super::Torture;
use super::clients::{Delivery, begin};
use super::faults::SeenFault;
use super::fields::{LostField, find_lost_field};
use super::finding::pass;
use super::template::ArgumentTemplate;
use super::texts::find_changed_text;
use super::writes::{POLLING, RoundKind, RoundPlan, WriteBaseline, WriteStudy, WritingArguments};
use crate::check::canary::Canaries;
use crate::check::{CheckEnd, Confirmation, FaultSearch};
use crate::event::{CheckResult, Outcome, Reason};
use crate::plan::{BoxFuture, Check, CheckContext};

/// The number of further rounds of concurrent writes that may show a fault again.
const MOST_REPETITIONS: usize = 3;

/// The number of times that so many concurrent writes are tried before more are needed.
const TRIES_TO_MINIMISE: usize = 2;

/// The number of writes that are made one after another first. Where the server has room for so many and not for all, the writes after
/// the concurrent ones tell.
const MOST_FIRST: usize = 256;

/// The number of calls that are repeated one after another, and of those that are posted twice at once.
const MOST_REPEATED_ALONE: usize = 16;
const MOST_POSTED_TWICE: usize = 16;

/// The number of writes that are read by their own session at once.
const MOST_READ_AT_ONCE: usize = 32;

/// Writes of one tool.
#[derive(Debug)]
pub(crate) struct UpdatesCheck {
    pub(crate) settings: Arc<Torture>,
    pub(crate) tool: String,
}

impl Check for UpdatesCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }

    fn may_damage_store(&self) -> bool {
        true
    }
}

async fn run(check: &UpdatesCheck, context: &CheckContext<'_>) -> CheckResult {
    let UpdatesCheck { settings, tool } = check;
    let (templates, clients) = match begin(context, settings, tool).await {
        Ok(begun) => begun,
        Err(result) => return *result,
    };
    let canaries = Canaries::of_tool(settings.seed, tool);
    let study = WriteStudy { context, settings, tool, clients: &clients, canaries };
    let mut trial = UpdateTrial { study, lost_field: None };
    let result = trial.judge(&templates).await.unwrap_or_else(CheckEnd::into_result);
    let result = match trial.lost_field {
        Some(lost) => lost.add_to(result),
        None => result,
    };
    clients.close(result).await
}

/// Concurrent writes of a tool.
struct UpdateTrial<'a> {
    study: WriteStudy<'a>,
    lost_field: Option<LostField>,
}

impl UpdateTrial<'_> {
    async fn judge(&mut self, templates: &[ArgumentTemplate]) -> Result<CheckResult, CheckEnd> {
        let learned = match self.study.learn(templates).await? {
            Ok(learned) => learned,
            Err(result) => return Ok(result),
        };
        self.lost_field = match find_lost_field(&mut self.study, &learned).await? {
            Some(lost) => Some(lost),
            None => find_changed_text(&mut self.study, &learned).await?,
        };
        let count = self.study.settings.sessions * self.study.settings.calls;
        let baseline = match self.study.baseline(&learned, count.min(MOST_FIRST), Delivery::Once).await? {
            Ok(baseline) => baseline,
            Err(result) => return Ok(result),
        };
        let patience = baseline.patience(count);
        // The reads of own writes come first, while a list of all is short.
        let own_count = count.min(MOST_READ_AT_ONCE);
        let once = Delivery::Once;
        let own_plan = RoundPlan { kind: RoundKind::ReadsOwnWrites, delivery: once, count: own_count, patience };
        let mut own = None;
        if baseline.shows_at_once() {
            own = Some(self.study.round(&learned, &baseline, own_plan).await?);
        }
        let plan = RoundPlan { kind: RoundKind::WritesOnly, delivery: once, count, patience };
        let round = self.study.round(&learned, &baseline, plan).await?;
        if round.confirmed < 2 && round.faults.is_empty() {
            let tool = self.study.tool;
            return Ok(CheckResult::inconclusive(format!(
                "`{tool}` confirmed fewer than two concurrent writes as it confirms single ones, so none can be missed"
            )));
        }
        if !round.faults.is_empty() {
            return Ok(self.confirm(&learned, &baseline, plan, &round.faults).await);
        }
        if let Some(own) = own.filter(|own| !own.faults.is_empty()) {
            return Ok(self.confirm(&learned, &baseline, own_plan, &own.faults).await);
        }
        let repeated = match self.judge_repeated(&learned, &baseline).await? {
            Ok(repeated) => repeated,
            Err(result) => return Ok(result),
        };
        let names: Vec<String> = baseline.reads.iter().map(|read| format!("`{}`", read.name())).collect();
        let shown = format!("{} concurrent writes, all shown by {}{repeated}", round.confirmed, names.join(", "));
        Ok(pass(Reason::Measured(shown), round.calls))
    }

    /// Sends each call twice at once, where the tool declares that it changes nothing more the second time; the words about
    /// it, or the result where it is wrong.
    async fn judge_repeated(
        &mut self,
        learned: &WritingArguments,
        single: &WriteBaseline,
    ) -> Result<Result<String, CheckResult>, CheckEnd> {
        let tool = self.study.context.catalog.tool(self.study.tool);
        if !tool.is_some_and(|tool| tool.raw["annotations"]["idempotentHint"] == true) {
            return Ok(Ok(String::new()));
        }
        let same = WritingArguments { reads: single.reads.clone(), ..learned.clone() };
        let mut words = Vec::new();
        for delivery in self.study.clients.repeated_deliveries() {
            let most = if *delivery == Delivery::PostedTwice { MOST_POSTED_TWICE } else { MOST_FIRST };
            let count = (self.study.settings.sessions * self.study.settings.calls).min(most);
            let baseline = self.study.baseline(&same, count.min(MOST_REPEATED_ALONE), *delivery).await?;
            let Some(baseline) = baseline.ok().and_then(|baseline| baseline.agreeing_with(single)) else {
                // That it is not idempotent at all is for the check of hints to say.
                return Ok(Ok("; the same call once more shows twice, which `hints` judges".to_owned()));
            };
            let patience = baseline.patience(count);
            let plan = RoundPlan { kind: RoundKind::WritesOnly, delivery: *delivery, count, patience };
            let round = self.study.round(learned, &baseline, plan).await?;
            if !round.faults.is_empty() {
                return Ok(Err(self.confirm(learned, &baseline, plan, &round.faults).await));
            }
            words.push(repeated_text(*delivery, round.confirmed));
        }
        Ok(Ok(words.concat()))
    }

    /// The result of faults, the worst of which is looked for again. What was seen counts, also if the check ends then.
    async fn confirm(
        &mut self,
        learned: &WritingArguments,
        baseline: &WriteBaseline,
        plan: RoundPlan,
        faults: &[SeenFault],
    ) -> CheckResult {
        let Some((worst, others)) = faults.split_first() else { return CheckResult::new(Outcome::Passed) };
        let (confirmation, smallest) = self.look_again(learned, baseline, plan, worst).await;
        worst.result(&self.study, others, confirmation, smallest)
    }

    /// Finds out if it is the concurrency that does it, if it does again, and with how few writes.
    async fn look_again(
        &mut self,
        learned: &WritingArguments,
        baseline: &WriteBaseline,
        plan: RoundPlan,
        worst: &SeenFault,
    ) -> (Confirmation, usize) {
        let same = WritingArguments { reads: baseline.reads.clone(), ..learned.clone() };
        match self.study.baseline(&same, plan.count, plan.delivery).await {
            Ok(Ok(control)) if baseline.is_like(&control) => {}
            Ok(_) => {
                let why = format!(
                    "writes of `{}` are missing or wrong after concurrent calls, and as many writes one after another are \
                     not all right any more: the server may be full",
                    self.study.tool
                );
                return (Confirmation::ControlFailed(why), plan.count);
            }
            Err(end) => return (Confirmation::NotJudged(end), plan.count),
        }
        let least = if plan.delivery == Delivery::Once { 2 } else { 1 };
        let mut search = FaultSearch::new(self.study.clients.limits(), MOST_REPETITIONS, plan.count);
        search = search.down_to(least, TRIES_TO_MINIMISE);
        while let Some(count) = search.next() {
            let patience = if count == plan.count { plan.patience } else { POLLING };
            let round = self.study.round(learned, baseline, RoundPlan { count, patience, ..plan }).await;
            search.note(round.map(|round| round.shows(worst.fault)));
        }
        search.finish()
    }
}

/// The note about calls that came twice at once, of which so many were confirmed.
fn repeated_text(delivery: Delivery, confirmed: usize) -> String {
    let how = if delivery == Delivery::PostedTwice { "posted" } else { "sent" };
    match confirmed {
        0 => format!("; calls {how} twice at once are not confirmed"),
        confirmed => format!("; {confirmed} calls {how} twice at once, applied once each"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_how_calls_came_twice() {
        for (delivery, confirmed, expected) in [
            (Delivery::Twice, 8, "; 8 calls sent twice at once, applied once each"),
            (Delivery::PostedTwice, 3, "; 3 calls posted twice at once, applied once each"),
            (Delivery::PostedTwice, 0, "; calls posted twice at once are not confirmed"),
        ] {
            assert_eq!(repeated_text(delivery, confirmed), expected);
        }
    }
}
