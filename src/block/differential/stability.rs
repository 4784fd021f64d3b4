//! Calls that are made twice, each time on another server, so that what differs from server to server is known.
//!
//! Tools that only read share two servers, one for each time: a server that starts slowly is started twice, and not
//! twice for each call. The second time the order is another one, so that what depends on earlier calls, such as a
//! number that counts them, differs as well. Any other call has two fresh servers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::compare::ask;
use crate::drift::{RecordedAnswer, RecordedOutcome as Came, mask_differences};
use crate::plan::{CheckContext, CloseServer, OpenServer};
use crate::session::Session;
use crate::wire::Tool;

/// A call that is to be made.
pub(crate) struct PlannedCall<'a> {
    pub(crate) tool: &'a Tool,
    pub(crate) arguments: Value,
}

/// The answer to a call, or a sentence that says why there is none.
type CallOutcome = Result<(Came, Value), String>;

/// The same, by the number of the call.
type Outcomes = BTreeMap<usize, CallOutcome>;

/// Makes the calls and keeps what was the same both times; `Err` says why that is nothing. `calling` is told which tool
/// is called next.
pub(crate) async fn call_twice(
    context: &CheckContext<'_>,
    calls: &[PlannedCall<'_>],
    calling: &(dyn Fn(&str) + Sync),
) -> Vec<Result<RecordedAnswer, String>> {
    let (mut first, mut second) = (Outcomes::new(), Outcomes::new());
    let (reading, writing): (Vec<usize>, Vec<usize>) = (0..calls.len()).partition(|at| calls[*at].tool.only_reads());
    let runner = CallRunner { context, calls, calling };
    runner.on_one_server(&reading, &mut first).await;
    runner.on_one_server(&reversed(&reading), &mut second).await;
    for at in writing {
        first.insert(at, runner.on_fresh_server(at).await);
        second.insert(at, runner.on_fresh_server(at).await);
    }
    let both = first.into_values().zip(second.into_values());
    calls.iter().zip(both).map(|(call, (first, second))| recorded_answer(call, first?, &second?)).collect()
}

fn recorded_answer(
    call: &PlannedCall<'_>,
    first: (Came, Value),
    second: &(Came, Value),
) -> Result<RecordedAnswer, String> {
    mask_differences((&call.tool.name, &call.arguments), first, second)
        .ok_or_else(|| "it was served once and failed once".to_owned())
}

/// The other order: backwards, so that of any two calls the other one comes first. The call in the middle of an odd
/// number has another place only where one is made before.
fn reversed(order: &[usize]) -> Vec<usize> {
    let extra = order.last().filter(|_| order.len() % 2 == 1 && order.len() > 1);
    extra.into_iter().chain(order.iter().rev()).copied().collect()
}

struct CallRunner<'a> {
    context: &'a CheckContext<'a>,
    calls: &'a [PlannedCall<'a>],
    calling: &'a (dyn Fn(&str) + Sync),
}

impl CallRunner<'_> {
    /// Makes calls one after another on one server; one that goes wrong where others were made before is made again on
    /// a fresh server, and only that counts.
    async fn on_one_server(&self, order: &[usize], outcomes: &mut Outcomes) {
        let mut used = None;
        for at in order {
            (self.calling)(&self.calls[*at].tool.name);
            let opened = match used.take() {
                Some(session) => Ok((session, true)),
                None => self.context.servers.open(OpenServer::FRESH).await.map(|session| (session, false)),
            };
            let (session, is_used) = match opened {
                Ok(opened) => opened,
                Err(found) => {
                    outcomes.insert(*at, Err(found.message));
                    continue;
                }
            };
            let outcome = match self.call(*at, &session).await {
                Ok(outcome) if session.is_open() => {
                    used = Some(session);
                    Ok(outcome)
                }
                outcome => {
                    let closed = self.close(session, outcome).await;
                    if is_used { self.on_fresh_server(*at).await } else { closed }
                }
            };
            outcomes.insert(*at, outcome);
        }
        if let (Some(session), Some(last)) = (used, order.last())
            && let Some(found) = self.context.servers.close(&session, CloseServer::AfterTeardown).await.exit
        {
            outcomes.insert(*last, Err(found.message));
        }
    }

    async fn on_fresh_server(&self, at: usize) -> CallOutcome {
        (self.calling)(&self.calls[at].tool.name);
        let session = self.context.servers.open(OpenServer::FRESH).await.map_err(|found| found.message)?;
        let outcome = self.call(at, &session).await;
        self.close(session, outcome).await
    }

    async fn call(&self, at: usize, session: &Session) -> CallOutcome {
        let PlannedCall { tool, arguments } = &self.calls[at];
        ask(self.context, session, &tool.name, arguments, &mut Vec::new()).await.map_err(|found| found.message)
    }

    /// Ends a server after a call; one that had ended by itself has served nothing.
    async fn close(&self, session: Session, outcome: CallOutcome) -> CallOutcome {
        let ended = self.context.servers.close(&session, CloseServer::AfterTeardown).await.exit;
        let outcome = outcome?;
        ended.map_or(Ok(outcome), |found| Err(found.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_another_place_and_other_calls_before_it() {
        for (order, expected) in [
            (&[][..], &[][..]),
            (&[4], &[4]),
            (&[0, 1], &[1, 0]),
            (&[0, 1, 2], &[2, 2, 1, 0]),
            (&[0, 1, 2, 3], &[3, 2, 1, 0]),
        ] {
            assert_eq!(reversed(order), expected);
        }
    }
}
