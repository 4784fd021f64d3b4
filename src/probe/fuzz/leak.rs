//! Texts of one call in the answer to another: among tools that say that they change nothing, nobody's text belongs into
//! anybody else's answer.

use std::collections::BTreeMap;

use super::super::Ground;
use super::calls::{Calls, Made};
use super::problem::Problem;
use super::replay::{exchange, last_answer};
use crate::event::{Check, Finding, Kind};
use crate::session::Reply;

/// How many suspicions about the same two tools are looked into.
const MOST_TRIED: u32 = 3;

/// A text of an earlier call in the answer to a later one.
#[derive(Debug, Clone)]
pub(super) struct Suspicion {
    /// The call that carried the text.
    pub(super) earlier: Made,
    /// The call whose answer has it.
    pub(super) later: Made,
    pub(super) later_number: u64,
    pub(super) token: String,
}

/// The suspicions that are worth a look.
#[derive(Debug, Default)]
pub(super) struct Suspicions {
    tried: BTreeMap<(usize, usize), u32>,
    pub(super) open: Vec<Suspicion>,
}

impl Suspicions {
    /// Looks for texts of other calls in an answer; `remade` makes the call of a number again.
    pub(super) fn look(
        &mut self,
        calls: &Calls,
        (number, made, line): (u64, &Made, &[u8]),
        remade: impl Fn(u64) -> Option<Made>,
    ) {
        if !calls.callees[made.tool].is_read_only {
            return;
        }
        let Ok(text) = std::str::from_utf8(line) else { return };
        if !calls.tokens.is_in(text) {
            return;
        }
        for earlier_number in calls.tokens.calls_in(text).into_iter().filter(|earlier| *earlier != number) {
            let token = calls.tokens.of(earlier_number);
            let Some(earlier) = remade(earlier_number) else { continue };
            let is_sent = |made: &Made| made.arguments.to_string().contains(&token);
            if !calls.callees[earlier.tool].is_read_only || is_sent(made) || !is_sent(&earlier) {
                continue;
            }
            let tried = self.tried.entry((earlier.tool, made.tool)).or_default();
            *tried += 1;
            if *tried <= MOST_TRIED {
                let later = made.clone();
                self.open.push(Suspicion { earlier, later, later_number: number, token });
            }
        }
    }
}

/// Looks into a suspicion: the later call alone must not show the text, and after the earlier one it must.
pub(super) async fn confirmed(on: (&Ground<'_>, &Calls), suspicion: &Suspicion) -> Option<Problem> {
    let Suspicion { earlier, later, token, .. } = suspicion;
    let wait = on.0.request_timeout;
    let shows = |reply: &Reply| reply.message.to_string().contains(token.as_str());
    if shows(&last_answer(on, &[later], wait).await?) {
        return None;
    }
    let reply = last_answer(on, &[earlier, later], wait).await.filter(shows)?;
    let (first, second) = (&on.1.callees[earlier.tool].name, &on.1.callees[later.tool].name);
    let message = format!(
        "the answer of `{second}` shows `{token}`, which only an earlier call of `{first}` was sent with; both say that \
         they change nothing"
    );
    let help = "keep what belongs to one call out of what is shared, or do not say `readOnlyHint: true`".to_owned();
    let exchange = Some(exchange(on.1, later, Ok(&reply)));
    let found = Finding { help: Some(help), ..Finding::new("state-leak", message) };
    let signature = format!("{first} {second}");
    Some(Problem {
        kind: Kind::StateLeak,
        signature,
        detail: String::new(),
        check: Check::Holds(token.clone()),
        found,
        exchange,
    })
}
