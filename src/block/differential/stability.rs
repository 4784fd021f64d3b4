//! Calls that are made twice, each time on another server, so that what differs from server to server is known.
//!
//! Tools that only read share two servers, one for each time: a server that starts slowly is started twice, and not
//! twice for each call. The second time the order is another one, so that what depends on earlier calls, such as a
//! number that counts them, differs as well. Any other call has two fresh servers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::compare::ask;
use crate::check::{CheckEnd, CheckLimits, CheckSession};
use crate::drift::{RecordedAnswer, RecordedOutcome as Came, mask_differences};
use crate::plan::CheckContext;
use crate::wire::Tool;

/// A call that is to be made.
pub(crate) struct PlannedCall<'a> {
    pub(crate) tool: &'a Tool,
    pub(crate) arguments: Value,
}

/// The answer to a call, or the end of its server.
type RepeatedAnswer = Result<(Came, Value), CheckEnd>;

/// The same, by the number of the call.
type Outcomes = BTreeMap<usize, RepeatedAnswer>;

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
    runner.on_one_server(&reverse_order(&reading), &mut second).await;
    for at in writing {
        first.insert(at, runner.on_fresh_server(at).await);
        second.insert(at, runner.on_fresh_server(at).await);
    }
    let both = first.into_values().zip(second.into_values());
    let each = calls.iter().zip(both);
    each.map(|(call, (first, second))| recorded_answer((&call.tool.name, &call.arguments), first, second)).collect()
}

fn recorded_answer(
    call: (&str, &Value),
    first: RepeatedAnswer,
    second: RepeatedAnswer,
) -> Result<RecordedAnswer, String> {
    match (first, second) {
        (Ok(first), Ok(second)) => {
            mask_differences(call, first, &second).ok_or_else(|| "it was served once and failed once".to_owned())
        }
        (Err(end), _) | (Ok(_), Err(end)) => Err(end.sentence()),
    }
}

/// The other order: backwards, so that of any two calls the other one comes first. The call in the middle of an odd
/// number has another place only where one is made before.
fn reverse_order(order: &[usize]) -> Vec<usize> {
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
            let is_used = used.is_some();
            let opened = match used.take() {
                Some(session) => Ok(session),
                None => self.open().await,
            };
            let outcome = match opened {
                Ok(session) => match self.call(*at, &session).await {
                    Ok(answer) if session.session().is_open() => {
                        used = Some(session);
                        Ok(answer)
                    }
                    outcome => {
                        let closed = close(session, outcome).await;
                        if is_used { self.on_fresh_server(*at).await } else { closed }
                    }
                },
                Err(end) => Err(end),
            };
            outcomes.insert(*at, outcome);
        }
        if let (Some(session), Some(last)) = (used, order.last())
            && let Some(found) = session.close().await
        {
            outcomes.insert(*last, Err(CheckEnd::failed(found)));
        }
    }

    async fn on_fresh_server(&self, at: usize) -> RepeatedAnswer {
        (self.calling)(&self.calls[at].tool.name);
        let session = self.open().await?;
        let outcome = self.call(at, &session).await;
        close(session, outcome).await
    }

    async fn open(&self) -> Result<CheckSession<'_>, CheckEnd> {
        CheckSession::open(self.context, CheckLimits::none()).await
    }

    async fn call(&self, at: usize, session: &CheckSession<'_>) -> RepeatedAnswer {
        let PlannedCall { tool, arguments } = &self.calls[at];
        ask(session, &tool.name, arguments, &mut Vec::new()).await
    }
}

/// Ends a server after a call; one that had ended by itself has served nothing.
async fn close(session: CheckSession<'_>, outcome: RepeatedAnswer) -> RepeatedAnswer {
    let exit = session.close().await;
    let answer = outcome?;
    exit.map_or(Ok(answer), |found| Err(CheckEnd::failed(found)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::Finding;

    #[test]
    fn an_answer_is_recorded_as_far_as_two_servers_give_it() {
        let served = |told: Value| Ok((Came::Served, told));
        let exited = || Err(CheckEnd::failed(Finding::new("exit", "the server exited")));
        for (first, second, expected) in [
            (served(json!({"n": 1})), served(json!({"n": 1})), Ok((json!({"n": 1}), 0))),
            (served(json!({"n": 1, "at": 1})), served(json!({"n": 1, "at": 2})), Ok((json!({"n": 1, "at": 0}), 1))),
            (served(json!({})), Ok((Came::ToolError, json!({}))), Err("it was served once and failed once")),
            (exited(), served(json!({})), Err("the server exited")),
            (served(json!({})), exited(), Err("the server exited")),
        ] {
            let recorded = recorded_answer(("add", &json!({"a": 1})), first, second);
            let recorded = recorded.map(|answer| (answer.told, answer.volatile.len()));
            assert_eq!(recorded, expected.map_err(str::to_owned));
        }
    }

    #[test]
    fn every_call_has_another_place_and_other_calls_before_it() {
        for (order, expected) in [
            (&[][..], &[][..]),
            (&[4], &[4]),
            (&[0, 1], &[1, 0]),
            (&[0, 1, 2], &[2, 2, 1, 0]),
            (&[0, 1, 2, 3], &[3, 2, 1, 0]),
        ] {
            assert_eq!(reverse_order(order), expected);
        }
    }
}
