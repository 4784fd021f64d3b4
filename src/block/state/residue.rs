//! Calls that end without effect, refused or cancelled: everything that reading shows must be as it was before.
//!
//! Answers are compared only if two reads in a row are alike, and a tool is judged only if a valid call of it changes an
//! answer: otherwise nothing that it leaves behind could be seen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::StateSettings;
use super::caller::{Callers, CanaryCaller};
use super::finding::around;
use crate::check::canary::Canaries;
use crate::check::evidence::{finding_with_help, list_of_names};
use crate::check::shown_state::{CLOCK, ShownAnswer, ShownState, ShownStateReader, StateView};
use crate::check::visit::{ShownText, VisitRound};
use crate::check::{CheckEnd, Confirmation};
use crate::event::{CheckResult, Exchange, Finding, Outcome, Reason, RequirementLevel, Severity};
use crate::plan::arguments::ConfigSource;
use crate::plan::{BoxFuture, Check, CheckContext, OpenServer};
use crate::session::{CancelSignal, CancelTrigger, Cancellation, Session, SessionRequest};
use crate::source::beginning;

/// The least time of a valid call that can be cancelled before it has its effect.
const SLOW: Duration = Duration::from_millis(200);

/// The number of characters of an answer that are shown.
const SHOWN: usize = 200;

/// The end of a call that has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnding {
    /// The server refuses its arguments.
    Refused,
    /// The client takes it back.
    Cancelled,
}

impl CallEnding {
    pub(crate) const ALL: [Self; 2] = [Self::Refused, Self::Cancelled];

    /// The word in names of cases and in messages.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
        }
    }

    /// The variant that its case judges.
    pub(crate) fn judges(self) -> &'static str {
        match self {
            Self::Refused => "STATE-LOST-UPDATE",
            Self::Cancelled => "TIMEOUT-CANCEL-IGNORED",
        }
    }
}

/// Makes calls that end without effect, and looks for one.
#[derive(Debug)]
pub(crate) struct ResidueCheck {
    pub(crate) settings: Arc<StateSettings>,
    pub(crate) ending: CallEnding,
}

impl Check for ResidueCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

async fn run(check: &ResidueCheck, context: &CheckContext<'_>) -> CheckResult {
    let callers = Callers::of(context, &check.settings);
    if callers.writers().next().is_none() {
        return callers.end_without_writers(ConfigSource::of(context.suite)).into_result();
    }
    let session = match context.servers.open(OpenServer::FRESH).await {
        Ok(session) => session,
        Err(found) => return CheckResult::unavailable(found),
    };
    let readers = callers.called.iter().filter(|caller| caller.only_reads);
    let readers = readers.map(|caller| ShownStateReader::new(&caller.name, caller.arguments.base().clone()));
    let round = VisitRound::new(context, check.settings.limits());
    let mut study = ResidueStudy {
        ending: check.ending,
        settings: &check.settings,
        view: StateView::new(context, round.limits.clone(), readers.collect()),
        round,
        canaries: Canaries::random(),
        judged: Vec::new(),
        unjudged: BTreeMap::new(),
        findings: Vec::new(),
        exchanges: Vec::new(),
    };
    for writer in callers.writers() {
        if let Err(why) = study.judge(&session, writer).await {
            study.unjudged.entry(why).or_default().push(writer.name.clone());
        }
    }
    let protocol_revision = session.server.revision.to_string();
    study.round.close(session).await;
    let hang = if study.findings.is_empty() { study.round.find_silence().await } else { None };
    CheckResult { protocol_revision, ..study.result(hang) }
}

/// An answer that differs from the one before.
#[derive(Debug)]
struct ResidueChange {
    place: String,
    before: ShownAnswer,
    after: ShownAnswer,
}

impl ResidueChange {
    fn between(before: &ShownState, after: &ShownState) -> Option<Self> {
        let place = before.first_change(after)?.place;
        let answer = |state: &ShownState| state.answer(&place).cloned();
        Some(Self { before: answer(before)?, after: answer(after)?, place })
    }

    /// What has changed stays as it is while nothing is called: it is no clock, and no change of the server's own.
    fn is_steady(&self, then: &ShownState) -> bool {
        then.places().any(|place| place == self.place)
    }
}

/// The reason for which a tool is not judged.
type UnjudgedCall = &'static str;

/// The facts found out about the tools of a server.
struct ResidueStudy<'a> {
    ending: CallEnding,
    settings: &'a StateSettings,
    view: StateView<'a>,
    round: VisitRound<'a>,
    canaries: Canaries,
    /// Tools whose calls left nothing.
    judged: Vec<String>,
    unjudged: BTreeMap<UnjudgedCall, Vec<String>>,
    findings: Vec<Finding>,
    exchanges: Vec<Exchange>,
}

impl ResidueStudy<'_> {
    async fn judge(&mut self, session: &Session, writer: &CanaryCaller) -> Result<(), UnjudgedCall> {
        let before = self.stable(session, Duration::ZERO).await;
        let arguments = writer.arguments_with_canary(&mut self.canaries);
        let begun = Instant::now();
        let served = self.round.call(session, &writer.name, &arguments).await.ok_or("no valid call was answered")?;
        let elapsed = begun.elapsed();
        if !served.is_served {
            return Err("the server refused a valid call");
        }
        let after = self.stable(session, Duration::ZERO).await;
        if before.first_change(&after).is_none() {
            return Err("nothing that reading shows changes with a valid call");
        }
        match self.ending {
            CallEnding::Refused => self.judge_refused_calls(session, writer, after).await,
            CallEnding::Cancelled => self.judge_cancelled_call(session, writer, after, elapsed).await,
        }
    }

    /// Makes every invalid call of a tool, and those that leave a change once more.
    async fn judge_refused_calls(
        &mut self,
        session: &Session,
        writer: &CanaryCaller,
        mut before: ShownState,
    ) -> Result<(), UnjudgedCall> {
        let mut is_refused = false;
        for index in 0..writer.invalid_calls(&mut self.canaries).len() {
            let Some((call, after)) = self.refused_call(session, writer, index).await else { continue };
            is_refused = true;
            if let Some(change) = ResidueChange::between(&before, &after) {
                let then = self.stable(session, CLOCK).await;
                if change.is_steady(&then) {
                    let again = self.refused_call(session, writer, index).await;
                    let shows = again.is_some_and(|(_, again)| then.first_change(&again).is_some());
                    self.add_finding(writer, &call, &change, &Confirmation::of_try(Ok(shows)));
                    return Ok(());
                }
            }
            before = self.stable(session, Duration::ZERO).await;
        }
        if !is_refused {
            return Err("no call with invalid arguments was refused");
        }
        self.judged.push(writer.name.clone());
        Ok(())
    }

    /// A call with invalid arguments, and what reading shows after it; `None` where it was not refused.
    async fn refused_call(
        &mut self,
        session: &Session,
        writer: &CanaryCaller,
        index: usize,
    ) -> Option<(ShownText, ShownState)> {
        let arguments = writer.invalid_calls(&mut self.canaries).into_iter().nth(index)?;
        let call = self.round.call(session, &writer.name, &arguments).await.filter(|call| !call.is_served)?;
        Some((call, self.snapshot(session).await))
    }

    /// Cancels a call of a tool long before it would be done, and once more if that leaves a change.
    async fn judge_cancelled_call(
        &mut self,
        session: &Session,
        writer: &CanaryCaller,
        before: ShownState,
        elapsed: Duration,
    ) -> Result<(), UnjudgedCall> {
        if elapsed < SLOW {
            return Err("a call is done too soon to be cancelled");
        }
        let (call, after) = self.cancelled_call(session, writer, elapsed).await?;
        if let Some(change) = ResidueChange::between(&before, &after) {
            let then = self.stable(session, CLOCK).await;
            if !change.is_steady(&then) {
                return Err("what it changes goes on by itself");
            }
            let again = self.cancelled_call(session, writer, elapsed).await;
            let shows = again.map(|(_, again)| then.first_change(&again).is_some()).map_err(CheckEnd::inconclusive);
            self.add_finding(writer, &call, &change, &Confirmation::of_try(shows));
        } else {
            self.judged.push(writer.name.clone());
        }
        Ok(())
    }

    /// A call that was cancelled, and what reading shows when it would have been done.
    async fn cancelled_call(
        &mut self,
        session: &Session,
        writer: &CanaryCaller,
        elapsed: Duration,
    ) -> Result<(ShownText, ShownState), UnjudgedCall> {
        let arguments = writer.arguments_with_canary(&mut self.canaries);
        let left = self.round.limits.remaining();
        let request = SessionRequest {
            owner: self.round.context.owner,
            method: "tools/call",
            params: Some(json!({"name": writer.name, "arguments": arguments})),
            timeout: Some(self.round.context.request_timeout.min(left)),
            progress: false,
        };
        let cancellation = Cancellation {
            request,
            trigger: CancelTrigger::After(elapsed / 4),
            signal: CancelSignal::Standard,
            reason: Some("the client does not need it any more".to_owned()),
            watch: (elapsed * 2).min(left),
        };
        let cancelled = session.cancel(cancellation).await.map_err(|_| "a cancelled call ended the session")?;
        if !cancelled.is_cancelled || !cancelled.late.is_empty() {
            return Err("a call was answered although it was cancelled");
        }
        let call = ShownText::of_cancelled_call(&writer.name, &arguments, &cancelled);
        Ok((call, self.snapshot(session).await))
    }

    /// The answers to reads, as far as they are the same twice, with a pause between.
    async fn stable(&mut self, session: &Session, pause: Duration) -> ShownState {
        let first = self.snapshot(session).await;
        self.round.limits.wait(pause).await;
        self.snapshot(session).await.common_with(&first)
    }

    async fn snapshot(&mut self, session: &Session) -> ShownState {
        let state = self.view.observe_in(&mut self.round, session).await;
        state.filter(|answer| !self.settings.shares(&answer.shown))
    }

    fn add_finding(
        &mut self,
        writer: &CanaryCaller,
        call: &ShownText,
        change: &ResidueChange,
        confirmation: &Confirmation,
    ) {
        let excerpt = |answer: &ShownAnswer| excerpt(answer, &call.exchange.sent, &self.canaries);
        let (before, after) = (excerpt(&change.before), excerpt(&change.after));
        let shown = &change.after.shown.exchange;
        self.exchanges.extend([call.exchange.clone(), shown.clone()]);
        let ending = self.ending.as_str();
        let message = format!(
            "a call of `{}` that was {ending} left a change: {} differs from the one before",
            writer.name, change.place
        );
        let found = Finding {
            exchange: Some(self.exchanges.len() - 1),
            frame: shown.answer_frame,
            ..residue_finding(self.ending, message, confirmation)
        };
        let found = found
            .with_evidence(ending, format!("{} {}", call.exchange.title, call.exchange.sent))
            .with_evidence("before", before)
            .with_evidence("after", after);
        self.findings.push(confirmation.weigh(found, "by a second call"));
    }

    /// The result; `hang` is the finding about a call after which the server answers nothing.
    fn result(mut self, hang: Option<Finding>) -> CheckResult {
        let frames = self.round.take_frames();
        let end = self.round.exit().or(hang);
        let seen = SeenResidue {
            ending: self.ending,
            judged: self.judged,
            unjudged: self.unjudged,
            spent: self.round.limits.end_if_over(),
        };
        let result = match end {
            _ if !self.findings.is_empty() => {
                let result = CheckEnd::Failed(self.findings).into_result();
                CheckResult { exchanges: self.exchanges, ..result }
            }
            Some(end) => CheckEnd::failed(end).into_result(),
            None => seen.judge().unwrap_or_else(CheckEnd::into_result),
        };
        CheckResult { frames, ..result }
    }
}

/// The part of an answer that has the canary of a call, or its beginning.
fn excerpt(answer: &ShownAnswer, sent: &str, canaries: &Canaries) -> String {
    match canaries.find(&answer.shown.text).last() {
        Some(canary) if sent.contains(canary.as_str()) => around(&answer.shown.text, canary),
        _ => beginning(&answer.result.to_string(), SHOWN),
    }
}

/// A finding about a call that left a change.
fn residue_finding(ending: CallEnding, message: String, confirmation: &Confirmation) -> Finding {
    // The specification does not ask that work is undone which was done before the cancellation came.
    let level = if ending == CallEnding::Refused { RequirementLevel::Must } else { RequirementLevel::Should };
    let is_certain = confirmation.level(level) == RequirementLevel::Must;
    let help = match ending {
        CallEnding::Refused => {
            "check all arguments before anything is changed, or undo what was changed; if it is a log of calls, say \
             `shared: [NAME]`"
        }
        CallEnding::Cancelled => "stop the work when a cancellation comes, and undo what it has changed",
    };
    Finding {
        level,
        severity: Some(if is_certain { Severity::High } else { Severity::Low }),
        ..finding_with_help("residue", message, help)
    }
}

/// The observations where no call left a change.
struct SeenResidue {
    ending: CallEnding,
    judged: Vec<String>,
    unjudged: BTreeMap<UnjudgedCall, Vec<String>>,
    /// The end of a check that ran out of time.
    spent: Option<CheckEnd>,
}

impl SeenResidue {
    fn judge(self) -> Result<CheckResult, CheckEnd> {
        if let Some(spent) = self.spent {
            return Err(spent);
        }
        let ending = self.ending.as_str();
        let unjudged = self.unjudged.iter().map(|(why, tools)| format!("{} ({why})", list_of_names(tools)));
        let unjudged = unjudged.collect::<Vec<_>>().join(", ");
        if self.judged.is_empty() {
            return Err(CheckEnd::not_applicable(format!("no {ending} call could be judged: {unjudged}")));
        }
        let mut note = format!("{ending} calls left nothing behind: {}", list_of_names(&self.judged));
        if !unjudged.is_empty() {
            note.push_str("; not judged: ");
            note.push_str(&unjudged);
        }
        Ok(CheckResult::because(Outcome::Passed, Reason::Measured(note)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckLimits;

    #[test]
    fn only_a_refused_call_that_leaves_a_change_twice_fails() {
        for (ending, is_confirmed, outcome) in [
            (CallEnding::Refused, true, Outcome::Failed),
            (CallEnding::Refused, false, Outcome::Warned),
            (CallEnding::Cancelled, true, Outcome::Warned),
            (CallEnding::Cancelled, false, Outcome::Warned),
        ] {
            let confirmation = Confirmation::of_try(Ok(is_confirmed));
            let found = residue_finding(ending, "a change".to_owned(), &confirmation);
            let found = confirmation.weigh(found, "by a second call");
            assert_eq!(CheckEnd::failed(found).into_result().outcome, outcome, "{ending:?} {is_confirmed}");
        }
    }

    #[test]
    fn calls_without_residue_pass_only_if_one_was_judged() {
        let judge = |judged: &[&str], unjudged: &[&'static str], is_out_of_time| {
            let tool = |name: &&str| (*name).to_owned();
            let unjudged = unjudged.iter().map(|why| (*why, vec!["add".to_owned()])).collect();
            let judged = judged.iter().map(tool).collect();
            let spent = Some(CheckLimits::new(Duration::from_secs(60), "").out_of_time()).filter(|_| is_out_of_time);
            let seen = SeenResidue { ending: CallEnding::Refused, judged, unjudged, spent };
            let result = seen.judge().unwrap_or_else(CheckEnd::into_result);
            (result.outcome, format!("{:?}", result.reason))
        };
        let check = |judged: &[&str], unjudged: &[&'static str], is_out_of_time, outcome, says: &str| {
            let (actual, reason) = judge(judged, unjudged, is_out_of_time);
            assert!(actual == outcome && reason.contains(says), "{actual:?} {reason}");
        };
        check(&["set"], &[], false, Outcome::Passed, "refused calls left nothing behind: `set`\"");
        check(&["set"], &["too soon"], false, Outcome::Passed, "`set`; not judged: `add` (too soon)");
        check(&[], &["too soon"], false, Outcome::Skipped, "no refused call could be judged: `add` (too soon)");
        check(&["set"], &[], true, Outcome::Inconclusive, "the time of 1 min 0 s ended");
    }

    /// The state where each of some tools answers with a text.
    fn state(answers: &[(&str, &str)]) -> ShownState {
        let message = |text: &str| json!({"result": {"content": [{"type": "text", "text": text}]}}).to_string();
        let shown = answers.iter().map(|(tool, text)| ShownText::of_test(tool, &message(text), true));
        ShownState::of(shown.collect(), None)
    }

    #[test]
    fn a_change_is_no_residue_if_it_goes_on_by_itself() {
        let before = state(&[("list", "a"), ("uptime", "12 seconds")]);
        for (after, then, place, is_steady) in [
            (state(&[("list", "a"), ("uptime", "12 seconds")]), state(&[]), None, false),
            // The list is the same while nothing is called; the clock is in no steady state.
            (state(&[("list", "b"), ("uptime", "12 seconds")]), state(&[("list", "b")]), Some("list"), true),
            (state(&[("list", "a"), ("uptime", "13 seconds")]), state(&[("list", "a")]), Some("uptime"), false),
            // An answer that is missing afterwards says nothing.
            (state(&[("uptime", "12 seconds")]), state(&[]), None, false),
        ] {
            let change = ResidueChange::between(&before, &after);
            let found = change.as_ref().map(|change| change.place.as_str());
            assert_eq!(found, place.map(|tool| format!("the call of `{tool}`")).as_deref());
            assert_eq!(change.is_some_and(|change| change.is_steady(&then)), is_steady, "{place:?}");
        }
    }

    #[test]
    fn an_excerpt_shows_what_the_call_left() {
        let mut canaries = Canaries::random();
        let (earlier, own) = (canaries.make(), canaries.make());
        let long = |text: &str| format!("{}{text}{}", "a".repeat(300), "b".repeat(300));
        for (shows, text, starts) in [
            ("its own text", long(&own), format!("…{}{own}", "a".repeat(20))),
            (
                "a text of a call before it",
                long(&earlier),
                format!("{{\"content\":[{{\"type\":\"text\",\"text\":\"{}", "a".repeat(100)),
            ),
            ("none", "[]".to_owned(), "{\"content\":[{\"type\":\"text\",\"text\":\"[]\"".to_owned()),
        ] {
            let state = state(&[("list", &text)]);
            let answer = state.answer("the call of `list`").unwrap();
            let shown = excerpt(answer, &format!("{{\"name\": \"{own}\"}}"), &canaries);
            assert!(shown.starts_with(&starts), "{shows}: {shown}");
        }
    }
}
