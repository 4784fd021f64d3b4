//! Other requests during a slow call: they are answered before it is.

use super::finding::CallEvidence;
use super::slow_call::{MeasuredCalls, QuickCall, SlowCall, TIMES_QUICK};
use super::{SlowCallAspect, TimeoutSettings};
use crate::check::{CheckEnd, CheckSession};
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
    let Some(quick) = &measured.quick else {
        let why = format!(
            "no other tool that only reads is {TIMES_QUICK} times as quick as `{}`, which takes {}; give it `args` with \
             which it takes longer",
            slow.tool,
            duration_text(slow.time)
        );
        return CheckResult::not_applicable(why);
    };
    let during = DuringSlowCall { client, slow, quick };
    let mut evidence = CallEvidence::new();
    match during.run(settings, &mut evidence).await {
        Ok(result) => result.unwrap_or_else(|| evidence.result(String::new())),
        Err(end) => end.into_result(),
    }
}

struct DuringSlowCall<'a> {
    client: &'a CheckSession<'a>,
    slow: &'a SlowCall,
    quick: &'a QuickCall,
}

/// The answers of one round.
struct RoundAnswers {
    slow: SessionReply,
    quick: SessionReply,
    sign_of_life: SessionReply,
}

impl RoundAnswers {
    fn is_quick_late(&self) -> bool {
        self.quick.answer_frame > self.slow.answer_frame
    }

    fn is_sign_of_life_late(&self) -> bool {
        self.sign_of_life.answer_frame > self.slow.answer_frame
    }
}

impl DuringSlowCall<'_> {
    /// The result, unless it is that of the evidence.
    async fn run(
        &self,
        settings: &TimeoutSettings,
        evidence: &mut CallEvidence,
    ) -> Result<Option<CheckResult>, CheckEnd> {
        let Self { client, slow, quick } = self;
        let alone = self.quick_alone().await?;
        let (mut rounds, mut waiting_pings) = (Vec::new(), 0);
        for _ in 0..ROUNDS {
            let round = self.round().await?;
            if !round.slow.is_served() || !round.quick.is_served() {
                let why = format!("a call of `{}` or `{}` was refused while both ran", slow.tool, quick.tool);
                return Ok(Some(CheckResult::inconclusive(why)));
            }
            let is_late = round.is_quick_late();
            waiting_pings += usize::from(round.is_sign_of_life_late());
            rounds.push(round);
            if !is_late {
                break;
            }
        }
        let Some(last) = rounds.last() else { return Ok(None) };
        evidence.answered(&slow.tool, &last.slow);
        evidence.answered(&quick.tool, &last.quick);
        if !last.is_quick_late() {
            let note = format!(
                "`{}` was answered after {} while a call of `{}` took {}",
                quick.tool,
                duration_text(last.quick.elapsed),
                slow.tool,
                duration_text(last.slow.elapsed)
            );
            return Ok(Some(std::mem::replace(evidence, CallEvidence::new()).result(note)));
        }
        let message = format!("`{}` waits until `{}` is done", quick.tool, slow.tool);
        let help = "serve other requests while a call waits or works: do not block the loop that reads them";
        let found = Finding {
            level: settings.level(SlowCallAspect::OtherCalls),
            severity: Some(Severity::Medium),
            help: Some(help.to_owned()),
            ..Finding::new("slow-call-blocks", message)
        };
        let times: Vec<String> = rounds.iter().map(|round| duration_text(round.quick.elapsed)).collect();
        let found = found
            .with_evidence("alone", format!("`{}` takes {}", quick.tool, duration_text(alone)))
            .with_evidence("meanwhile", format!("{}; in each round its answer came last", times.join(", ")))
            .with_evidence("also late", if waiting_pings == ROUNDS { client.sign_of_life() } else { "" });
        evidence.find(found);
        Ok(None)
    }

    /// The median time of the quick call alone.
    async fn quick_alone(&self) -> Result<std::time::Duration, CheckEnd> {
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
