//! Other requests during a slow call: they are answered before it is.

use std::time::Duration;

use serde_json::Value;

use super::finding::CallEvidence;
use super::slow_call::{LIST_OF_TOOLS, MeasuredCalls, QuickCall, SlowCall, TIMES_QUICK};
use super::{SlowCallAspect, TimeoutSettings};
use crate::check::{CheckEnd, CheckRequest, CheckSession};
use crate::event::{CheckResult, Finding, Severity};
use crate::session::SessionReply;
use crate::source::duration_text;

/// In how many rounds the other requests must wait.
const ROUNDS: usize = 3;

pub(crate) async fn compare(
    client: &CheckSession<'_>,
    settings: &TimeoutSettings,
    slow: &SlowCall,
    measured: &MeasuredCalls,
) -> CheckResult {
    let quick = measured.quick.as_ref().map_or(QuickRequest::List, QuickRequest::Call);
    let during = DuringSlowCall { client, slow, quick };
    during.run(settings).await.unwrap_or_else(CheckEnd::into_result)
}

struct DuringSlowCall<'a> {
    client: &'a CheckSession<'a>,
    slow: &'a SlowCall,
    quick: QuickRequest<'a>,
}

/// A request that takes little time.
#[derive(Debug, Clone, Copy)]
enum QuickRequest<'a> {
    Call(&'a QuickCall),
    /// The list of tools, where no tool is quick.
    List,
}

impl<'a> QuickRequest<'a> {
    fn request(self) -> CheckRequest<'static> {
        match self {
            Self::Call(call) => call.request(),
            Self::List => CheckRequest::new(LIST_OF_TOOLS, Value::Null),
        }
    }

    /// The tool or the request in messages.
    fn name(self) -> &'a str {
        match self {
            Self::Call(call) => &call.tool,
            Self::List => LIST_OF_TOOLS,
        }
    }

    fn title(self) -> String {
        match self {
            Self::Call(call) => format!("tools/call {}", call.tool),
            Self::List => LIST_OF_TOOLS.to_owned(),
        }
    }
}

/// The answers of one round.
struct RoundAnswers {
    slow: SessionReply,
    quick: SessionReply,
    sign_of_life: SessionReply,
}

/// The order of the answers of a round, by their frames.
#[derive(Debug, Clone, Copy)]
struct AnswerOrder {
    slow: u32,
    quick: u32,
    sign_of_life: u32,
    /// The slow call took so long that a quick one that does not wait is answered before it.
    is_slow: bool,
}

/// The verdict on rounds in which other requests were made during a slow call.
#[derive(Debug, PartialEq, Eq)]
enum OtherCallsVerdict {
    /// A quick call was answered before the slow one once.
    Served,
    /// Every round answered the slow call first.
    Blocked {
        /// Even the sign of life waited, each time.
        is_sign_of_life_late: bool,
    },
    /// More rounds have to tell: one may be a coincidence.
    Open,
    /// The quick call takes about as long as the slow one by now, as on a busy machine, so that their order says nothing.
    Unclear,
}

/// Judges rounds, of which only the last may have answered the quick call in time.
fn judge(rounds: &[AnswerOrder]) -> OtherCallsVerdict {
    if rounds.iter().any(|round| round.quick <= round.slow) {
        return OtherCallsVerdict::Served;
    }
    if rounds.len() < ROUNDS {
        return OtherCallsVerdict::Open;
    }
    if !rounds.iter().all(|round| round.is_slow) {
        return OtherCallsVerdict::Unclear;
    }
    let is_sign_of_life_late = rounds.iter().all(|round| round.sign_of_life > round.slow);
    OtherCallsVerdict::Blocked { is_sign_of_life_late }
}

/// Returns true if a call that takes this long alone, and is sent when a slow one has run for `before`, is answered before
/// the slow one unless it waits for it.
fn tells(slow: Duration, before: Duration, alone: Duration) -> bool {
    slow > before + alone * 2
}

impl DuringSlowCall<'_> {
    async fn run(&self, settings: &TimeoutSettings) -> Result<CheckResult, CheckEnd> {
        let Self { client, slow, quick } = self;
        let mut evidence = CallEvidence::new();
        let alone = self.quick_alone().await?;
        let (mut times, mut orders) = (Vec::new(), Vec::new());
        let is_sign_of_life_late = loop {
            let RoundAnswers { slow: slow_reply, quick: quick_reply, sign_of_life } = self.round().await?;
            if !slow_reply.is_served() || !quick_reply.is_served() {
                let why = format!("a call of `{}` or `{}` was refused while both ran", slow.tool, quick.name());
                return Ok(CheckResult::inconclusive(why));
            }
            let [slow_frame, quick_frame] = [&slow_reply, &quick_reply].map(|reply| reply.answer_frame);
            let is_slow = tells(slow_reply.elapsed, slow.time / TIMES_QUICK, alone);
            let sign_of_life = sign_of_life.answer_frame;
            orders.push(AnswerOrder { slow: slow_frame, quick: quick_frame, sign_of_life, is_slow });
            times.push(duration_text(quick_reply.elapsed));
            let verdict = judge(&orders);
            if verdict == OtherCallsVerdict::Open {
                continue;
            }
            if verdict == OtherCallsVerdict::Unclear {
                let (quick_time, slow_time) = (duration_text(alone), duration_text(slow_reply.elapsed));
                let why = format!(
                    "`{}` takes {quick_time} alone by now, and `{}` {slow_time}, so the order of their answers says nothing",
                    quick.name(),
                    slow.tool
                );
                return Ok(CheckResult::inconclusive(why));
            }
            evidence.add_answered(&format!("tools/call {}", slow.tool), &slow_reply);
            evidence.add_answered(&quick.title(), &quick_reply);
            if let OtherCallsVerdict::Blocked { is_sign_of_life_late } = verdict {
                break is_sign_of_life_late;
            }
            return Ok(evidence.result(format!(
                "`{}` was answered after {} while a call of `{}` took {}",
                quick.name(),
                duration_text(quick_reply.elapsed),
                slow.tool,
                duration_text(slow_reply.elapsed)
            )));
        };
        let message = format!("`{}` waits until `{}` is done", quick.name(), slow.tool);
        let help = "serve other requests while a call waits or works: do not block the loop that reads them";
        let found = Finding {
            level: settings.level(SlowCallAspect::OtherCalls),
            severity: Some(Severity::Medium),
            help: Some(help.to_owned()),
            ..Finding::new("slow-call-blocks", message)
        };
        let found = found
            .with_evidence("alone", format!("`{}` takes {}", quick.name(), duration_text(alone)))
            .with_evidence("meanwhile", format!("{}; in each round its answer came last", times.join(", ")))
            .with_evidence("also late", if is_sign_of_life_late { client.sign_of_life() } else { "" });
        evidence.find(found);
        Ok(evidence.result(String::new()))
    }

    /// The median time of the quick call alone.
    async fn quick_alone(&self) -> Result<Duration, CheckEnd> {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let limit = self.client.context.request_timeout;
            times.push(self.client.request(self.quick.request().within(limit)).await?.elapsed);
        }
        times.sort_unstable();
        Ok(times[times.len() / 2])
    }

    async fn round(&self) -> Result<RoundAnswers, CheckEnd> {
        let Self { client, slow, quick } = self;
        // A server that works on one request at a time answers the others when the slow one is done.
        let limit = slow.time * 4 + client.context.request_timeout;
        let running = client.request(slow.request().within(limit));
        let others = async {
            client.wait(slow.time / TIMES_QUICK).await;
            tokio::join!(client.request(quick.request().within(limit)), client.ping(limit))
        };
        let (slow, (quick, sign_of_life)) = tokio::join!(running, others);
        Ok(RoundAnswers { slow: slow?, quick: quick?, sign_of_life: sign_of_life? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_calls_are_blocked_if_they_wait_in_every_round() {
        let round = |slow, quick, sign_of_life| AnswerOrder { slow, quick, sign_of_life, is_slow: true };
        let blocked = |is_sign_of_life_late| OtherCallsVerdict::Blocked { is_sign_of_life_late };
        let (late, alive) = (round(7, 8, 9), round(7, 8, 6));
        let quick_by_now = AnswerOrder { is_slow: false, ..late };
        for (rounds, expected) in [
            (&[round(7, 5, 6)][..], OtherCallsVerdict::Served),
            (&[round(7, 6, 9)], OtherCallsVerdict::Served),
            (&[late], OtherCallsVerdict::Open),
            (&[late, late], OtherCallsVerdict::Open),
            (&[late, late, round(7, 5, 6)], OtherCallsVerdict::Served),
            (&[late, late, late], blocked(true)),
            (&[alive, alive, alive], blocked(false)),
            (&[late, alive, late], blocked(false)),
            (&[late, quick_by_now, late], OtherCallsVerdict::Unclear),
            (&[late, quick_by_now, round(7, 5, 6)], OtherCallsVerdict::Served),
            (&[], OtherCallsVerdict::Open),
        ] {
            assert_eq!(judge(rounds), expected, "{rounds:?}");
        }
    }

    #[test]
    fn a_slow_call_that_is_quick_by_now_tells_nothing() {
        let ms = Duration::from_millis;
        for (slow, before, alone, expected) in [
            (ms(1000), ms(100), ms(5), true),
            (ms(1000), ms(100), ms(400), true),
            (ms(266), ms(30), ms(240), false),
            (ms(1000), ms(100), ms(500), false),
        ] {
            assert_eq!(tells(slow, before, alone), expected, "{slow:?} {alone:?}");
        }
    }
}
