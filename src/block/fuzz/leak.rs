//! Texts of one call in the answer to another, among tools that say that they change nothing: in another session they
//! reach another client; within one session they are worth a look.

use std::collections::BTreeMap;

use super::calls::{Calls, Made};
use super::problem::Problem;
use super::replay::{Speaker, end, exchange, last_answer};
use crate::event::{Finding, FindingKind, ReproductionCheck, Severity};
use crate::plan::CheckContext;
use crate::session::SessionReply;

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

/// A leak that showed again.
struct Shown {
    reply: SessionReply,
    /// Whether the earlier call was one of another session.
    is_across_sessions: bool,
}

/// Looks into a suspicion. A text that reaches another session of the same server reaches another client, which fails.
/// Within one session the client sees only what it sent itself, which is a warning: a history is there to show it.
pub(super) async fn confirmed(on: (&CheckContext<'_>, &Calls), suspicion: &Suspicion) -> Option<Problem> {
    let Suspicion { earlier, later, token, .. } = suspicion;
    let Shown { reply, is_across_sessions } = shown(on, suspicion).await?;
    let (first, second) = (&on.1.callees[earlier.tool].name, &on.1.callees[later.tool].name);
    let (whose, help) = if is_across_sessions {
        ("in another session", "keep what one client sends out of what others are shown")
    } else {
        (
            "in the same session",
            "if it is there to show earlier calls, this is right; otherwise keep what belongs to one call out of what is shared",
        )
    };
    let message = format!(
        "the answer of `{second}` shows `{token}`, which only an earlier call of `{first}` {whose} was sent with; both \
         say that they change nothing"
    );
    let exchange = Some(exchange(on.1, later, Ok(&reply)));
    let found = Finding { help: Some(help.to_owned()), ..Finding::new("state-leak", message) };
    let problem = Problem {
        kind: FindingKind::StateLeak,
        signature: format!("{first} {second}"),
        detail: String::new(),
        check: ReproductionCheck::Holds(token.clone()),
        found,
        exchange,
    };
    if is_across_sessions {
        return Some(problem);
    }
    let mut problem = problem.advised();
    problem.found.severity = Some(Severity::Low);
    Some(problem)
}

/// Makes the earlier call, and the later one in another session of the same server, where it has several, and in the same
/// session.
async fn shown(on: (&CheckContext<'_>, &Calls), suspicion: &Suspicion) -> Option<Shown> {
    let Suspicion { earlier, later, token, .. } = suspicion;
    let (context, calls) = on;
    let wait = context.request_timeout;
    let shows = |reply: &SessionReply| reply.message.to_string().contains(token.as_str());
    let session = context.servers.open().await.ok()?;
    let speaker = Speaker::new(context, &session, wait);
    let _ = speaker.call(calls, earlier).await;
    let across = match context.servers.beside(&session).await {
        Some(other) => {
            let reply = Speaker::new(context, &other, wait).call(calls, later).await;
            end(context, other).await;
            reply.ok().filter(shows)
        }
        None => None,
    };
    let within = if across.is_some() { None } else { speaker.call(calls, later).await.ok().filter(shows) };
    end(context, session).await;
    if let Some(reply) = across {
        return Some(Shown { reply, is_across_sessions: true });
    }
    // What a fresh server shows by itself did not come from the earlier call.
    let reply = within?;
    let alone = last_answer(on, &[later], wait).await?;
    (!shows(&alone)).then_some(Shown { reply, is_across_sessions: false })
}
