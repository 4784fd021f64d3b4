//! Canary texts of one call in the answer to another call, among tools that declare to change nothing: a canary that
//! reaches another session reaches another client, and within one session it is a warning.

use std::collections::BTreeMap;

use super::calls::{CallGenerator, GeneratedCall};
use super::problem::FuzzProblem;
use super::replay::{FuzzTarget, close, exchange, player};
use crate::event::{Finding, FindingKind, ReproductionCheck, Severity};
use crate::session::SessionReply;

/// The number of suspicions about the same two tools that are looked into.
const MOST_TRIED: u32 = 3;

/// A text of an earlier call in the answer to a later one.
#[derive(Debug, Clone)]
pub(crate) struct Suspicion {
    /// The call that carried the text.
    pub(crate) earlier: GeneratedCall,
    /// The call whose answer has it.
    pub(crate) later: GeneratedCall,
    pub(crate) later_number: u64,
    pub(crate) token: String,
}

/// A call with the line that answers it.
#[derive(Clone, Copy)]
pub(crate) struct AnsweredCall<'a> {
    pub(crate) number: u64,
    pub(crate) made: &'a GeneratedCall,
    pub(crate) line: &'a [u8],
}

/// The suspicions that are tried again.
#[derive(Debug, Default)]
pub(crate) struct Suspicions {
    tried: BTreeMap<(usize, usize), u32>,
    pub(crate) open: Vec<Suspicion>,
}

impl Suspicions {
    /// Looks for canaries of other calls in an answer; `remade` makes the call of a number again.
    pub(crate) fn look(
        &mut self,
        calls: &CallGenerator,
        answered: &AnsweredCall<'_>,
        remade: impl Fn(u64) -> Option<GeneratedCall>,
    ) {
        let AnsweredCall { number, made, line } = *answered;
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
            let is_sent = |made: &GeneratedCall| made.arguments.to_string().contains(&token);
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
struct ShownLeak {
    reply: SessionReply,
    /// True if the earlier call was one of another session.
    is_across_sessions: bool,
}

/// Looks into a suspicion. A text that reaches another session of the same server reaches another client, which fails.
/// Within one session the client sees only what it sent itself, which is a warning: a history is there to show it.
pub(crate) async fn confirm(target: FuzzTarget<'_>, suspicion: &Suspicion) -> Option<FuzzProblem> {
    let Suspicion { earlier, later, token, .. } = suspicion;
    let ShownLeak { reply, is_across_sessions } = repeat_leak(target, suspicion).await?;
    let (first, second) = (&target.calls.callees[earlier.tool].name, &target.calls.callees[later.tool].name);
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
    let found = Finding { help: Some(help.to_owned()), ..Finding::new("state-leak", message) };
    let check = ReproductionCheck::Holds(token.clone());
    let mut problem = FuzzProblem::new(FindingKind::StateLeak, format!("{first} {second}"), check, found);
    problem.exchange = Some(exchange(target.calls, later, Ok(&reply)));
    if is_across_sessions {
        return Some(problem);
    }
    problem = problem.into_advice();
    problem.found.severity = Some(Severity::Low);
    Some(problem)
}

/// Makes the earlier call, and the later one in another session of the same server, where it has several, and in the same
/// session.
async fn repeat_leak(target: FuzzTarget<'_>, suspicion: &Suspicion) -> Option<ShownLeak> {
    let Suspicion { earlier, later, token, .. } = suspicion;
    let timeout = target.context.request_timeout;
    let shows = |reply: &SessionReply| reply.message.to_string().contains(token.as_str());
    let session = target.open().await.ok()?;
    let own = player(&session, timeout);
    let _ = target.call(own, earlier).await;
    let across = match session.open_beside().await {
        Some(other) => {
            let reply = target.call(player(&other, timeout), later).await;
            close(other).await;
            reply.ok().filter(shows)
        }
        None => None,
    };
    let within = if across.is_some() { None } else { target.call(own, later).await.ok().filter(shows) };
    close(session).await;
    if let Some(reply) = across {
        return Some(ShownLeak { reply, is_across_sessions: true });
    }
    // A value that a fresh server shows by itself did not come from the earlier call.
    let reply = within?;
    let fresh = target.open().await.ok()?;
    let alone = target.call(player(&fresh, timeout), later).await.ok();
    close(fresh).await;
    (!shows(&alone?)).then_some(ShownLeak { reply, is_across_sessions: false })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Tools of which one declares to change nothing, and takes a text.
    fn calls() -> CallGenerator {
        let entry = |name: &str, is_read_only: bool| {
            json!({
                "name": name,
                "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
                "annotations": {"readOnlyHint": is_read_only},
            })
        };
        CallGenerator::of_test("{ seed: 7 }", &[entry("search", true), entry("add", false), entry("find", true)], &[])
    }

    fn made(tool: usize, text: &str) -> GeneratedCall {
        GeneratedCall { tool, arguments: json!({"text": text}), breach: None }
    }

    #[test]
    fn a_text_of_another_call_is_suspicious_among_tools_that_only_read() {
        let calls = calls();
        let [own, earlier, unknown] = [9, 4, 5].map(|number| calls.tokens.of(number));
        for (answer, tool, sent, earlier_tool, shown, expected) in [
            ("the text of an earlier call", 0, &own, 0, format!("hits: {earlier}"), true),
            ("the text of another tool's call", 0, &own, 2, format!("hits: {earlier}"), true),
            ("its own text", 0, &own, 0, format!("hits: {own}"), false),
            ("no text", 0, &own, 0, "no hits".to_owned(), false),
            // It was sent with that text itself, as a value of an answer.
            ("a text that it was asked for", 0, &earlier, 0, format!("hits: {earlier}"), false),
            ("what another tool stored", 0, &own, 1, format!("hits: {earlier}"), false),
            ("as a tool that may store", 1, &own, 0, format!("added beside {earlier}"), false),
            ("a text that no call was sent with", 0, &own, 0, format!("hits: {unknown}"), false),
        ] {
            let mut suspicions = Suspicions::default();
            let later = made(tool, sent);
            let line = json!({"result": {"content": [{"type": "text", "text": shown}]}}).to_string();
            let answered = AnsweredCall { number: 9, made: &later, line: line.as_bytes() };
            suspicions.look(&calls, &answered, |number| (number == 4).then(|| made(earlier_tool, &earlier)));
            assert_eq!(suspicions.open.len(), usize::from(expected), "an answer with {answer}");
            assert!(suspicions.open.iter().all(|open| open.token == earlier && open.later_number == 9), "{answer}");
        }
    }

    #[test]
    fn two_tools_are_suspected_three_times() {
        let calls = calls();
        let mut suspicions = Suspicions::default();
        for number in 10..20 {
            let earlier = calls.tokens.of(number - 8);
            let later = made(0, &calls.tokens.of(number));
            let answered = AnsweredCall { number, made: &later, line: earlier.as_bytes() };
            suspicions.look(&calls, &answered, |_| Some(made(0, &earlier)));
        }
        assert_eq!(suspicions.open.len(), 3);
        let bytes = [0xff, 0xfe];
        let later = made(0, "");
        suspicions.look(&calls, &AnsweredCall { number: 30, made: &later, line: &bytes }, |_| None);
        assert_eq!(suspicions.open.len(), 3, "what is no text shows none");
    }
}
