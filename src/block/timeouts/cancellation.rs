//! A slow call is cancelled: while it is under way, twice, at once, after its answer, with an id that nobody used, and
//! before its request.

use std::time::Duration;

use serde_json::{Value, json};

use super::finding::{CallEvidence, list_late_messages};
use super::late::{LateMessage, LateMessageKind, late_messages};
use super::slow_call::{MeasuredCalls, QuickCall, SlowCall};
use super::state::{StateReader, StateReading};
use super::{SlowCallAspect, TimeoutSettings};
use crate::check::shown_state::ShownChange;
use crate::check::{CheckEnd, CheckSession, Confirmation};
use crate::event::{CheckResult, Finding, RequirementLevel, Severity};
use crate::session::{CancelSignal, CancelTrigger, Cancellation, SessionReply, SessionRequest};
use crate::source::duration_text;

/// How much longer than alone a call may take that nobody waits for.
const SLACK: Duration = Duration::from_millis(500);

/// An id that no request has.
const UNUSED_ID: &str = "mcprove-never-asked";

pub(crate) async fn cancel_slow_call(
    client: &CheckSession<'_>,
    settings: &TimeoutSettings,
    slow: &SlowCall,
    measured: &MeasuredCalls,
) -> CheckResult {
    let state = match StateReader::of(client, settings, slow).await {
        Ok(state) => state,
        Err(result) => return *result,
    };
    let rounds = CancelRounds {
        client,
        slow,
        quick: measured.quick.as_ref(),
        state: state.as_ref().filter(|state| state.shows_end),
    };
    let mut evidence = CallEvidence::new();
    match rounds.run(settings.level(SlowCallAspect::Cancellation), &mut evidence).await {
        Ok(CancelVerdict::Judged(note)) => evidence.result(note),
        Ok(CancelVerdict::Clean { note, cancelled, alive }) => {
            for call in cancelled {
                evidence.given_up(slow, call.frame, call.elapsed, &[]);
            }
            evidence.saw(alive);
            evidence.result(note)
        }
        Ok(CancelVerdict::AnsweredFirst) => CheckResult::inconclusive(format!(
            "`{}` answered before it was cancelled, though it took {} alone; give it `args` with which it always takes as \
             long",
            slow.tool,
            duration_text(slow.time)
        )),
        Err(CheckEnd::Unanswered(failure)) => {
            let cause = Finding::from(&*failure);
            // The failure of a cancelled request says so itself.
            let is_said = failure.method == "notifications/cancelled";
            let message = if is_said {
                cause.message.clone()
            } else {
                format!("{} after `{}` was cancelled", cause.message, slow.tool)
            };
            evidence.find(harm(Finding { message, ..cause }));
            evidence.result(String::new())
        }
        Err(end) => end.into_result(),
    }
}

/// A finding about a server that does not go on after a cancellation.
fn harm(found: Finding) -> Finding {
    let help = "a cancellation ends one request at most: ignore one that is late, repeated or unknown";
    Finding { severity: Some(Severity::Critical), help: Some(help.to_owned()), ..found }
}

/// The conclusion from all rounds.
enum CancelVerdict {
    /// Findings, or a note where there are none.
    Judged(String),
    /// Nothing found, and the calls that show it.
    Clean { note: String, cancelled: Vec<CancelledCall>, alive: Vec<u32> },
    /// No call was under way when it was cancelled.
    AnsweredFirst,
}

/// A cancellation of a request that is not under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StrayCancellation {
    Answered,
    Unknown,
    /// Of the next request.
    Early,
}

impl StrayCancellation {
    const ALL: [Self; 3] = [Self::Answered, Self::Unknown, Self::Early];

    fn text(self) -> &'static str {
        match self {
            Self::Answered => "after its answer",
            Self::Unknown => "with an unknown id",
            Self::Early => "before its request",
        }
    }
}

/// The ways of cancelling after which the server went on, and the answers that show it.
#[derive(Debug, Default)]
struct SurvivedWays {
    ways: Vec<&'static str>,
    answers: Vec<u32>,
}

/// The rounds, each with a call that is cancelled in another way.
struct CancelRounds<'a> {
    client: &'a CheckSession<'a>,
    slow: &'a SlowCall,
    quick: Option<&'a QuickCall>,
    state: Option<&'a StateReader>,
}

/// The events after a call was cancelled while it was under way.
struct CancelledCall {
    frame: u32,
    /// From the request to its cancellation.
    elapsed: Duration,
    /// Messages that cannot have crossed the cancellation.
    late: Vec<LateMessage>,
    /// A change of the state between a while after the cancellation and the end.
    change: Option<StateChange>,
}

struct StateChange {
    change: ShownChange,
    /// The frames that show the state before and after.
    frames: [u32; 2],
}

impl CancelledCall {
    fn effects(&self) -> SeenAfterCancellation<'_> {
        SeenAfterCancellation { late: &self.late, has_changed: self.change.is_some() }
    }
}

/// The signs of work on a call after its cancellation.
#[derive(Debug, Clone, Copy)]
struct SeenAfterCancellation<'a> {
    late: &'a [LateMessage],
    /// The state has changed late.
    has_changed: bool,
}

/// Work on a cancelled call.
#[derive(Debug)]
struct LateWork {
    kind: LateWorkKind,
    /// The outcome of a second call.
    confirmation: Confirmation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LateWorkKind {
    /// The work goes on.
    Continues,
    /// It stops, and the cancellation itself has an answer.
    AnswersWithError,
}

impl SeenAfterCancellation<'_> {
    fn shows(self, kind: LateWorkKind) -> bool {
        let is_error = |message: &LateMessage| message.kind == LateMessageKind::Error;
        match kind {
            LateWorkKind::Continues => self.has_changed || !self.late.iter().all(is_error),
            LateWorkKind::AnswersWithError => self.late.iter().any(is_error),
        }
    }
}

/// The worst that a cancelled call shows; `again` is a second one.
fn judge_late_work(first: SeenAfterCancellation<'_>, again: Option<SeenAfterCancellation<'_>>) -> Option<LateWork> {
    let kinds = [LateWorkKind::Continues, LateWorkKind::AnswersWithError];
    let kind = kinds.into_iter().find(|kind| first.shows(*kind))?;
    let unjudged = || CheckEnd::inconclusive("the second call was answered before its cancellation");
    let shows_again = again.map(|again| again.shows(kind)).ok_or_else(unjudged);
    Some(LateWork { kind, confirmation: Confirmation::of_try(shows_again) })
}

/// True if a message cannot have crossed the cancellation on its way, or belong to a step that was begun. The error of a call
/// that is served otherwise answers the cancellation, however soon it comes.
fn is_late(message: &LateMessage, quarter: Duration) -> bool {
    message.after >= quarter * 2 || message.kind == LateMessageKind::Error
}

impl CancelRounds<'_> {
    async fn run(&self, level: RequirementLevel, evidence: &mut CallEvidence) -> Result<CancelVerdict, CheckEnd> {
        let Some(first) = self.in_flight(CancelSignal::Standard, true).await? else {
            return Ok(CancelVerdict::AnsweredFirst);
        };
        let mut survived = SurvivedWays::default();
        if !self.still_works("in flight", &mut survived, evidence).await? {
            return Ok(CancelVerdict::Judged(String::new()));
        }
        // A server that goes on is asked a second time.
        let is_suspect = !first.late.is_empty() || first.change.is_some();
        let second = self.in_flight(CancelSignal::Twice, is_suspect).await?;
        if !self.still_works("twice", &mut survived, evidence).await? {
            return Ok(CancelVerdict::Judged(String::new()));
        }
        self.judge(&first, second.as_ref(), level, evidence);
        self.cancel(CancelTrigger::After(Duration::ZERO), CancelSignal::Standard, self.slow.time / 4).await?;
        if !self.still_works("at once", &mut survived, evidence).await? {
            return Ok(CancelVerdict::Judged(String::new()));
        }
        if !self.client.session().cancels_by_closing() {
            for way in StrayCancellation::ALL {
                self.cancel_stray(way).await?;
                if !self.still_works(way.text(), &mut survived, evidence).await? {
                    return Ok(CancelVerdict::Judged(String::new()));
                }
            }
        }
        let note = self.note(&survived.ways);
        if !evidence.is_clean() {
            return Ok(CancelVerdict::Judged(note));
        }
        let cancelled = std::iter::once(first).chain(second).collect();
        Ok(CancelVerdict::Clean { note, cancelled, alive: survived.answers })
    }

    /// Sends a cancellation of a request that is not under way. One that comes before its request should be ignored; a
    /// server that keeps it and leaves the request unanswered harms nobody, so only its life is looked at.
    async fn cancel_stray(&self, way: StrayCancellation) -> Result<(), CheckEnd> {
        let client = self.client;
        let id = match way {
            StrayCancellation::Answered => self.answered_id().await?,
            StrayCancellation::Unknown => UNUSED_ID.into(),
            // Ids are counted.
            StrayCancellation::Early => {
                self.answered_id().await?.as_u64().map_or(UNUSED_ID.into(), |id| (id + 1).into())
            }
        };
        let params = json!({"requestId": id, "reason": "mcprove"});
        client.session().notify(client.context.owner, "notifications/cancelled", Some(&params));
        if way == StrayCancellation::Early {
            let limit = client.context.request_timeout.min(self.slow.time * 2);
            match client.ping(limit).await {
                Err(CheckEnd::Unanswered(failure)) if failure.is_timeout() => {}
                answered => drop(answered?),
            }
        }
        Ok(())
    }

    /// Cancels a call at a quarter of its time; `None` where its answer came first. Whoever only wants to know whether the
    /// server goes on does not wait for what comes late.
    async fn in_flight(&self, signal: CancelSignal, waits: bool) -> Result<Option<CancelledCall>, CheckEnd> {
        let (quarter, time) = (self.slow.time / 4, self.slow.time);
        let watch = if waits { time + SLACK } else { quarter };
        let cancelling = self.cancel(CancelTrigger::After(quarter), signal, watch);
        let reading = async {
            let Some(state) = self.state.filter(|_| waits) else { return Ok(None) };
            self.client.wait(quarter * 3).await;
            state.read(self.client).await.map(Some)
        };
        let (cancelled, halfway) = tokio::join!(cancelling, reading);
        let (Some(cancelled), halfway) = (cancelled?, halfway?) else { return Ok(None) };
        let change = match (self.state, halfway) {
            (Some(state), Some(before)) => self.change_since(state, before).await?,
            _ => None,
        };
        let messages = late_messages(self.client.session(), cancelled.frame, cancelled.elapsed);
        let late = messages.into_iter().filter(|message| is_late(message, quarter)).collect();
        Ok(Some(CancelledCall { frame: cancelled.frame, elapsed: cancelled.elapsed, late, change }))
    }

    /// A call that is cancelled; `None` where its answer came first.
    async fn cancel(
        &self,
        trigger: CancelTrigger,
        signal: CancelSignal,
        watch: Duration,
    ) -> Result<Option<crate::session::Cancelled>, CheckEnd> {
        let client = self.client;
        if client.remaining() < watch + self.slow.time {
            return Err(client.limits().out_of_time());
        }
        let request = SessionRequest {
            owner: client.context.owner,
            method: "tools/call",
            params: Some(self.slow.params.clone()),
            timeout: Some(client.remaining()),
            progress: true,
        };
        let reason = Some("mcprove".to_owned());
        let cancelled = client.session().cancel(Cancellation { request, trigger, reason, signal, watch }).await;
        let cancelled = cancelled.map_err(|failure| client.end_of(failure))?;
        Ok(cancelled.is_cancelled.then_some(cancelled))
    }

    /// The change of the state since a reading, which does not go on by itself.
    async fn change_since(&self, state: &StateReader, before: StateReading) -> Result<Option<StateChange>, CheckEnd> {
        let after = state.read(self.client).await?;
        if before.state.first_change(&after.state).is_none() {
            return Ok(None);
        }
        self.client.wait(self.slow.time / 2).await;
        let later = state.read(self.client).await?;
        let change = before.state.first_change(&later.state.common_with(&after.state));
        Ok(change.map(|change| StateChange { change, frames: [before.frame, after.frame] }))
    }

    /// The server serves calls after a cancellation; a finding says that it does not.
    async fn still_works(
        &self,
        way: &'static str,
        survived: &mut SurvivedWays,
        evidence: &mut CallEvidence,
    ) -> Result<bool, CheckEnd> {
        // A server that works on one call at a time answers when the slow one is done.
        let limit = self.slow.time * 2 + self.client.context.request_timeout;
        let found = match recover(self.client, self.quick, limit).await {
            Ok(AnswerAfterCancellation::Served(answer)) => {
                survived.ways.push(way);
                survived.answers.push(answer);
                return Ok(true);
            }
            Ok(AnswerAfterCancellation::Refused(reply)) => {
                let tool = self.quick.map(|quick| quick.tool.clone()).unwrap_or_default();
                evidence.add_answered(&tool, &reply);
                let message = format!("the server refuses `{tool}` after `{}` was cancelled {way}", self.slow.tool);
                Finding::new("cancellation-harms", message)
                    .with_evidence("control", format!("the same call of `{tool}` was served before"))
            }
            Err(CheckEnd::Unanswered(failure)) => {
                let cause = Finding::from(&*failure);
                let message = format!("{} after `{}` was cancelled {way}", cause.message, self.slow.tool);
                Finding { message, ..cause }
            }
            Err(end) => return Err(end),
        };
        evidence.find(harm(found));
        Ok(false)
    }

    /// The id of a request that was answered.
    async fn answered_id(&self) -> Result<Value, CheckEnd> {
        let client = self.client;
        let reply = match self.quick {
            Some(quick) => client.request(quick.request().within(client.context.request_timeout)).await?,
            None => client.ping(client.context.request_timeout).await?,
        };
        Ok(reply.message["id"].clone())
    }

    /// Judges what came after a cancellation; `again` is the second time.
    fn judge(
        &self,
        first: &CancelledCall,
        again: Option<&CancelledCall>,
        level: RequirementLevel,
        evidence: &mut CallEvidence,
    ) {
        let tool = &self.slow.tool;
        let late = judge_late_work(first.effects(), again.map(CancelledCall::effects));
        let Some(LateWork { kind, confirmation }) = late else { return };
        let alone = format!("`{tool}` takes {}", duration_text(self.slow.time));
        evidence.given_up(self.slow, first.frame, first.elapsed, &first.late);
        let mut found = match kind {
            LateWorkKind::Continues => Finding {
                severity: Some(Severity::Medium),
                help: Some("stop the work when its cancellation arrives, and send nothing more for it".to_owned()),
                ..Finding::new("cancelled-call-continues", format!("`{tool}` goes on after its cancellation"))
            },
            LateWorkKind::AnswersWithError => Finding {
                severity: Some(Severity::Low),
                help: Some("a cancelled request gets no answer".to_owned()),
                ..Finding::new(
                    "cancelled-call-answered",
                    format!("the server answers the cancellation of `{tool}` with an error"),
                )
            },
        };
        found.level = level;
        found = found.with_evidence("came late", list_late_messages(&first.late));
        if let Some(StateChange { change, frames: [before, after] }) = &first.change {
            let texts = format!("{before}: {}\nframe {after}: {}", change.before, change.after);
            let changed = format!("`{}`, frame {texts}", change.place);
            found = found.with_evidence("changed late", changed);
        }
        evidence.find(confirmation.weigh(found.with_evidence("alone", alone), "in a second call"));
    }

    fn note(&self, ways: &[&str]) -> String {
        let state = self.state.map(|state| state.tool.as_str());
        let seen = stop_text(state, self.client.session().cancels_by_closing());
        format!(
            "`{}` ({} alone) was cancelled {}; {seen}",
            self.slow.tool,
            duration_text(self.slow.time),
            ways.join(", ")
        )
    }
}

/// The sign that a cancelled call has stopped, if `state` names a tool that shows it.
fn stop_text(state: Option<&str>, cancels_by_closing: bool) -> String {
    match (state, cancels_by_closing) {
        (Some(state), _) => format!("`{state}` shows that it stops"),
        (None, true) => {
            "its closed response shows nothing more, so name a tool in `state` to see that it stops".to_owned()
        }
        (None, false) => "nothing came afterwards".to_owned(),
    }
}

/// A server's answer to a call after a cancellation.
enum AnswerAfterCancellation {
    /// The last answer shows that it goes on.
    Served(u32),
    /// It no longer serves what it served before.
    Refused(Box<SessionReply>),
}

/// Shows within that time that the server goes on: it answers a sign of life, and serves a quick call.
async fn recover(
    client: &CheckSession<'_>,
    quick: Option<&QuickCall>,
    limit: Duration,
) -> Result<AnswerAfterCancellation, CheckEnd> {
    let alive = client.ping(limit).await?;
    let Some(quick) = quick else { return Ok(AnswerAfterCancellation::Served(alive.answer_frame)) };
    let reply = client.request(quick.request().within(limit)).await?;
    if reply.is_served() {
        return Ok(AnswerAfterCancellation::Served(reply.answer_frame));
    }
    // A tool may fail once.
    let again = client.request(quick.request().within(limit)).await?;
    Ok(if again.is_served() {
        AnswerAfterCancellation::Served(again.answer_frame)
    } else {
        AnswerAfterCancellation::Refused(Box::new(again))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: LateMessageKind, millis: u64) -> LateMessage {
        LateMessage { frame: 9, after: Duration::from_millis(millis), kind }
    }

    #[test]
    fn work_goes_on_where_anything_but_an_error_follows_a_cancellation() {
        use LateMessageKind::{Error, Progress, Result};
        use LateWorkKind::{AnswersWithError, Continues};
        let late = |kind, is_repeated| Some((kind, is_repeated));
        for (first, has_changed, again, expected) in [
            (&[Result][..], false, Some((&[Result][..], false)), late(Continues, true)),
            (&[Result], false, Some((&[], false)), late(Continues, false)),
            (&[Progress], false, Some((&[Result], false)), late(Continues, true)),
            (&[Progress], false, Some((&[], true)), late(Continues, true)),
            (&[], true, Some((&[], true)), late(Continues, true)),
            (&[], true, Some((&[Error], false)), late(Continues, false)),
            (&[Error, Progress], false, Some((&[Error], false)), late(Continues, false)),
            (&[Error], false, Some((&[Error], false)), late(AnswersWithError, true)),
            (&[Error], false, Some((&[], false)), late(AnswersWithError, false)),
            (&[Error], false, None, late(AnswersWithError, false)),
            (&[], false, Some((&[Result], true)), None),
            (&[], false, None, None),
        ] {
            let messages = |kinds: &[LateMessageKind]| -> Vec<LateMessage> {
                kinds.iter().map(|kind| message(*kind, 900)).collect()
            };
            let seen = |late: &'static [LateMessageKind]| messages(late);
            let first = seen(first);
            let again = again.map(|(late, has_changed)| (seen(late), has_changed));
            let judged = judge_late_work(
                SeenAfterCancellation { late: &first, has_changed },
                again.as_ref().map(|(late, has_changed)| SeenAfterCancellation { late, has_changed: *has_changed }),
            );
            let judged = judged.map(|late| (late.kind, late.confirmation.is_seen_again()));
            assert_eq!(judged, expected, "{first:?} {has_changed} {again:?}");
        }
    }

    #[test]
    fn a_message_that_may_have_crossed_the_cancellation_is_not_late() {
        use LateMessageKind::{Error, Progress, Result};
        let quarter = Duration::from_millis(500);
        for (kind, millis, expected) in [
            (Result, 0, false),
            (Result, 999, false),
            (Result, 1_000, true),
            (Progress, 400, false),
            (Progress, 1_400, true),
            (Error, 0, true),
        ] {
            assert_eq!(is_late(&message(kind, millis), quarter), expected, "{kind:?} {millis}");
        }
    }

    #[test]
    fn a_pass_says_what_shows_that_the_call_has_stopped() {
        for (state, cancels_by_closing, expected) in [
            (Some("count"), false, "`count` shows that it stops"),
            (Some("count"), true, "`count` shows that it stops"),
            (None, false, "nothing came afterwards"),
            (None, true, "its closed response shows nothing more, so name a tool in `state` to see that it stops"),
        ] {
            assert_eq!(stop_text(state, cancels_by_closing), expected);
        }
    }

    #[test]
    fn a_server_that_a_cancellation_harms_is_a_critical_finding() {
        let found = harm(Finding::new("process-exited", "it ended"));
        assert_eq!((found.severity, found.help.is_some()), (Some(Severity::Critical), true));
    }
}
