//! Ids of sessions over HTTP that others can guess: given twice, counted, or so few that all can be tried.
//!
//! Here are as many ids as show a pattern; anything that could be random is no finding. Two of the sessions show what becomes
//! of their ids once they have ended: see [`super::wrong_ids`].

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;

use super::places::without_sessions;
use super::wrong_ids::{IdProbe, WrongIdAnswers};
use super::{IsolationKind, StateSettings};
use crate::check::CheckEnd;
use crate::check::evidence::finding_with_help;
use crate::check::raw_http::{HttpProbe, SESSION_ID, session_id_of};
use crate::event::{CheckResult, Finding, Outcome, Reason, RequirementLevel, Severity};
use crate::plan::{BoxFuture, Check, CheckContext, CloseServer, OpenServer};
use crate::session::Session;
use crate::transport::http::ReadUntil;

/// The number of sessions that are opened.
const SESSIONS: usize = 20;

/// The number of ids that show a pattern at least.
const FEWEST_IDS: usize = 8;

/// The numbers that can be tried in no time.
const CLOSE_NUMBERS: u128 = 1 << 16;

/// As many bits as can be tried over a network; the specification wants about 128.
const GUESSABLE_BITS: f64 = 32.0;

/// Opens many sessions and looks at their ids.
#[derive(Debug)]
pub(crate) struct SessionIdsCheck {
    pub(crate) settings: Arc<StateSettings>,
}

impl Check for SessionIdsCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(&self.settings, &context).await })
    }
}

async fn run(settings: &StateSettings, context: &CheckContext<'_>) -> CheckResult {
    let host = match context.servers.open(OpenServer::FRESH).await {
        Ok(host) => host,
        Err(found) => return CheckResult::unavailable(found),
    };
    let has_id = host.endpoint().is_some_and(|endpoint| endpoint.session_id().is_some());
    let protocol_revision = host.server.revision.to_string();
    let given = match without_sessions(host.server.revision, has_id) {
        Some(why) => Err(Reason::NotApplicable(why)),
        None => Ok(collect(settings, context, &host).await),
    };
    let exit = context.servers.close(&host, CloseServer::AfterTeardown).await.exit;
    match given {
        Ok(given) => {
            let is_promised = settings.promises(IsolationKind::Sessions);
            let result = exit.map_or_else(|| given.judge(is_promised), |exit| CheckEnd::failed(exit).into_result());
            CheckResult { protocol_revision, frames: given.frames, ..result }
        }
        Err(reason) => CheckResult::because(Outcome::Skipped, reason),
    }
}

/// The ids of sessions that were opened one after another.
#[derive(Default)]
struct GivenIds {
    ids: Vec<String>,
    /// The answers under wrong ids, and what is wrong with them.
    answers: WrongIdAnswers,
    wrong_ids: Vec<Finding>,
    frames: Vec<u32>,
}

impl GivenIds {
    /// The verdict; `is_promised` says that the suite has sessions kept apart.
    fn judge(&self, is_promised: bool) -> CheckResult {
        let count = self.ids.len();
        let pattern = pattern(&self.ids).map(|found| finding(&found, is_promised, &self.ids));
        let findings: Vec<Finding> = pattern.into_iter().chain(self.wrong_ids.iter().cloned()).collect();
        if !findings.is_empty() {
            return CheckEnd::Failed(findings).into_result();
        }
        if count < FEWEST_IDS {
            return CheckResult::inconclusive(format!(
                "the server opened {count} of {SESSIONS} sessions, too few to see a pattern in their ids"
            ));
        }
        let note =
            format!("the ids of {count} sessions are all different, and show no pattern; {}", self.answers.note());
        CheckResult::because(Outcome::Passed, Reason::Measured(note))
    }
}

/// Opens sessions beside one that is open, and ends them all.
async fn collect(settings: &StateSettings, context: &CheckContext<'_>, host: &Session) -> GivenIds {
    let mut given = GivenIds::default();
    let until = Instant::now() + settings.time;
    let deadline = || until.min(Instant::now() + context.request_timeout);
    let hello = json!({
        "jsonrpc": "2.0",
        "id": "mcprove-session",
        "method": "initialize",
        "params": {
            "protocolVersion": host.server.revision.as_str(),
            "capabilities": {},
            "clientInfo": { "name": "mcprove", "version": env!("CARGO_PKG_VERSION") },
        },
    });
    for _ in 0..SESSIONS {
        let probe = HttpProbe {
            method: "POST",
            body: Some(&hello),
            headers: &[],
            until: ReadUntil::Answer,
            deadline: deadline(),
        };
        let Some(exchange) = probe.send(host, context.owner).await else { break };
        given.frames.extend([exchange.frame].into_iter().chain(exchange.answer_frame));
        let Some(id) = session_id_of(&exchange) else { break };
        given.ids.push(id);
    }
    if let [first, second, ..] = given.ids.as_slice()
        && first != second
    {
        let (owner, request_timeout) = (context.owner, context.request_timeout);
        let mut probe = IdProbe { host, owner, until, request_timeout, frames: Vec::new() };
        given.answers = probe.ask_with_wrong_ids(first).await;
        let again = probe.ask_with_wrong_ids(second).await;
        given.wrong_ids = given.answers.findings(&again, host.server.revision);
        given.frames.append(&mut probe.frames);
    }
    for id in BTreeSet::from_iter(&given.ids) {
        let headers = [(SESSION_ID, id.as_str())];
        let probe =
            HttpProbe { method: "DELETE", body: None, headers: &headers, until: ReadUntil::Head, deadline: deadline() };
        // A server may refuse to let clients end sessions.
        let _ = probe.send(host, context.owner).await;
    }
    given
}

/// The reason for which ids can be guessed.
#[derive(Debug, PartialEq)]
enum IdPattern {
    /// The same id came more than once.
    Repeated(String),
    /// They differ in a number alone, and the numbers are near one another.
    Counted { first: u128, last: u128 },
    /// They differ in so few characters.
    Short { characters: usize, bits: u32 },
}

/// The pattern that ids show beyond doubt.
fn pattern(ids: &[String]) -> Option<IdPattern> {
    let distinct = BTreeSet::from_iter(ids);
    if let Some(twice) = ids.iter().find(|id| ids.iter().filter(|other| other == id).count() > 1) {
        return Some(IdPattern::Repeated(twice.clone()));
    }
    if distinct.len() < FEWEST_IDS {
        return None;
    }
    let varying = varying_parts(ids);
    let numbers =
        |radix: u32| varying.iter().map(|part| u128::from_str_radix(part, radix).ok()).collect::<Option<Vec<_>>>();
    if let Some(numbers) = numbers(10).or_else(|| numbers(16))
        && let (Some(first), Some(last)) = (numbers.iter().min(), numbers.iter().max())
        && last - first < CLOSE_NUMBERS
    {
        return Some(IdPattern::Counted { first: *first, last: *last });
    }
    let characters = varying.iter().map(String::len).max().unwrap_or_default();
    let bits = bits_of(&varying.concat()) * f64::from(u32::try_from(characters).unwrap_or(u32::MAX));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few bits, and no fractions of them")]
    (bits < GUESSABLE_BITS).then_some(IdPattern::Short { characters, bits: bits as u32 })
}

/// The ids without what they begin and end with alike.
fn varying_parts(ids: &[String]) -> Vec<String> {
    let characters: Vec<Vec<char>> = ids.iter().map(|id| id.chars().collect()).collect();
    let shortest = characters.iter().map(Vec::len).min().unwrap_or_default();
    let is_alike = |at: &dyn Fn(&Vec<char>) -> char| characters.windows(2).all(|two| at(&two[0]) == at(&two[1]));
    let prefix = (0..shortest).take_while(|index| is_alike(&|id| id[*index])).count();
    let suffix = (0..shortest - prefix).take_while(|index| is_alike(&|id| id[id.len() - 1 - index])).count();
    characters.iter().map(|id| id[prefix..id.len() - suffix].iter().collect()).collect()
}

/// The bits of one character, as far as the characters of a text show of how many it is drawn.
fn bits_of(text: &str) -> f64 {
    let has = |is_of: fn(&char) -> bool| text.chars().any(|character| is_of(&character));
    let lower = if has(|c| ('g'..='z').contains(c)) { 26 } else { 6 };
    let upper = if has(|c| ('G'..='Z').contains(c)) { 26 } else { 6 };
    let kinds = [
        (has(char::is_ascii_digit), 10),
        (has(char::is_ascii_lowercase), lower),
        (has(char::is_ascii_uppercase), upper),
        (has(|c| !c.is_ascii_alphanumeric()), 2),
    ];
    f64::from(kinds.iter().filter(|(is_there, _)| *is_there).map(|(_, count)| count).sum::<u32>().max(2)).log2()
}

fn finding(pattern: &IdPattern, is_promised: bool, ids: &[String]) -> Finding {
    let count = ids.len();
    let message = match pattern {
        IdPattern::Repeated(id) => {
            let times = ids.iter().filter(|other| *other == id).count();
            format!("the server gave {times} of {count} sessions the same id")
        }
        IdPattern::Counted { first, last } => {
            format!("the ids of {count} sessions can be guessed: they differ in a number alone, from {first} to {last}")
        }
        IdPattern::Short { characters, bits } => format!(
            "the ids of {count} sessions can be guessed: they differ in {characters} characters, about {bits} bits"
        ),
    };
    let is_certain = matches!(pattern, IdPattern::Repeated(_)) || is_promised;
    let level = if is_certain { RequirementLevel::Must } else { RequirementLevel::Should };
    let help = "give every session an id of its own that is drawn at random, such as a UUID of version 4";
    let seen: Vec<String> = ids.iter().take(5).map(|id| format!("`{id}`")).collect();
    Finding {
        level,
        severity: Some(if level == RequirementLevel::Must { Severity::High } else { Severity::Low }),
        ..finding_with_help("session-id", message, help)
    }
    .with_evidence("ids", format!("{}, …", seen.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: impl Fn(u32) -> String, expected: Option<&IdPattern>) {
        assert_eq!(pattern(&(0..20).map(id).collect::<Vec<_>>()).as_ref(), expected);
    }

    #[test]
    fn counted_repeated_and_short_ids_are_seen() {
        check(|n| format!("session-{}", n + 95), Some(&IdPattern::Counted { first: 95, last: 114 }));
        check(|n| format!("{:x}-end", 250 + n), Some(&IdPattern::Counted { first: 250, last: 269 }));
        check(|n| format!("1764031234{:03}", n * 17), Some(&IdPattern::Counted { first: 0, last: 323 }));
        check(|n| format!("s{}", n % 7), Some(&IdPattern::Repeated("s0".to_owned())));
        let letters =
            |n: u32| ["k", "q", "x", "m", "z"][n as usize % 5].to_owned() + ["r", "t", "y", "w"][n as usize / 5];
        check(letters, Some(&IdPattern::Short { characters: 2, bits: 9 }));
    }

    #[test]
    fn ids_are_judged_by_their_pattern_and_by_promises() {
        let given =
            |count: u32, id: fn(u32) -> String| GivenIds { ids: (0..count).map(id).collect(), ..GivenIds::default() };
        let counted = |n: u32| format!("session-{n}");
        let drawn = |n: u32| format!("{:032x}", u128::from(2 * n + 3).wrapping_pow(97));
        for (given, is_promised, outcome) in [
            (given(20, counted), true, Outcome::Failed),
            (given(20, counted), false, Outcome::Warned),
            (given(20, |_| "same".to_owned()), false, Outcome::Failed),
            (given(20, drawn), true, Outcome::Passed),
            (given(3, drawn), true, Outcome::Inconclusive),
            (
                GivenIds { wrong_ids: vec![Finding::new("stale-session", "served")], ..given(20, drawn) },
                false,
                Outcome::Failed,
            ),
        ] {
            assert_eq!(given.judge(is_promised).outcome, outcome, "{:?}", given.ids);
        }
    }

    #[test]
    fn ids_that_may_be_random_are_not() {
        let drawn = |n: u32| format!("{:032x}", u128::from(2 * n + 3).wrapping_pow(97));
        check(drawn, None);
        check(|n| format!("{n}.{}", drawn(n)), None);
        check(|n| format!("0193a5b0-7c1f-{}", drawn(n)), None);
        assert_eq!(pattern(&["a".to_owned(), "b".to_owned()]), None);
        assert_eq!(pattern(&[]), None);
    }

    #[test]
    fn ids_of_real_servers_are_told_apart() {
        let drawn = |n: u32| u128::from(2 * n + 3).wrapping_pow(97);
        let letters = |n: u32, count: usize| {
            let alphabet: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect();
            let digit = |at: usize| alphabet[usize::try_from((drawn(n) >> (6 * at)) % 62).unwrap()];
            (0..count).map(digit).collect::<String>()
        };
        let uuid = |n: u32| {
            let hex = format!("{:032x}", drawn(n));
            format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
        };
        let ids = |id: &dyn Fn(u32) -> String| (0..20).map(id).collect::<Vec<_>>();
        for (kind, ids, is_guessable) in [
            ("a UUID of version 4", ids(&uuid), false),
            ("a UUID with a prefix", ids(&|n| format!("mcp-session-{}", uuid(n))), false),
            ("a time, then a UUID", ids(&|n| format!("17640312345{n:02}-{}", uuid(n))), false),
            ("a counter, then 16 letters", ids(&|n| format!("{n}-{}", letters(n, 16))), false),
            ("8 letters and digits", ids(&|n| letters(n, 8)), false),
            ("6 letters and digits", ids(&|n| letters(n, 6)), false),
            ("4 letters and digits", ids(&|n| letters(n, 4)), true),
            ("32 random bits", ids(&|n| format!("{:08x}", drawn(n) % (1 << 32))), false),
            ("30 random bits", ids(&|n| format!("{:09}", drawn(n) % 1_000_000_000)), true),
            ("a counter", ids(&|n| n.to_string()), true),
            ("a counter in hexadecimal digits", ids(&|n| format!("{:08x}", 0xff00 + n)), true),
            ("a counter between words", ids(&|n| format!("user-{n}-session")), true),
            ("a time in milliseconds", ids(&|n| format!("{}", 1_764_031_234_567_u64 + u64::from(3 * n))), true),
            (
                "a time in nanoseconds",
                ids(&|n| format!("{}", 1_764_031_234_567_891_234_u64 + u64::from(1_234_567 * n))),
                true,
            ),
            ("an address in memory", ids(&|n| format!("0x7f3c5a{:04x}", 0x1000 + 0x140 * n)), true),
            // The counter is the only part that is drawn anew.
            ("a UUID of the process, then a counter", ids(&|n| format!("{}-{n}", uuid(7))), true),
        ] {
            assert_eq!(pattern(&ids).is_some(), is_guessable, "{kind}: {} {}", ids[0], ids[1]);
        }
    }

    #[test]
    fn a_few_ids_show_no_pattern_but_a_repetition() {
        let ids = |count: u32, id: fn(u32) -> String| (0..count).map(id).collect::<Vec<_>>();
        assert_eq!(pattern(&ids(7, |n| n.to_string())), None);
        assert_eq!(pattern(&ids(8, |n| n.to_string())), Some(IdPattern::Counted { first: 0, last: 7 }));
        assert_eq!(pattern(&ids(2, |_| "s".to_owned())), Some(IdPattern::Repeated("s".to_owned())));
    }

    #[test]
    fn findings_say_how_ids_can_be_guessed() {
        let ids: Vec<String> = ["s1", "s1", "s2"].map(str::to_owned).into();
        for (pattern, is_promised, level, says) in [
            (IdPattern::Repeated("s1".to_owned()), false, RequirementLevel::Must, "gave 2 of 3 sessions the same id"),
            (IdPattern::Counted { first: 1, last: 2 }, false, RequirementLevel::Should, "a number alone, from 1 to 2"),
            (IdPattern::Counted { first: 1, last: 2 }, true, RequirementLevel::Must, "a number alone, from 1 to 2"),
            (
                IdPattern::Short { characters: 4, bits: 23 },
                false,
                RequirementLevel::Should,
                "4 characters, about 23 bits",
            ),
        ] {
            let found = finding(&pattern, is_promised, &ids);
            assert!(found.level == level && found.message.contains(says), "{:?} {}", found.level, found.message);
        }
    }
}
