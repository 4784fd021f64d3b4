//! Other processes of the same server: some servers work only while they are alone, since they lock a file or a port.
//!
//! A case that fails may fail for the company of another process, and that is no fault of what it looks at. The control is
//! the same case with every other process ended, and then beside one again. A target that is in its own way is used by one
//! case at a time from there on.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::time::{Instant, sleep};

use super::ending::{SessionEndReason, end};
use super::opening::{self, SessionOpening};
use super::resolve::Starts;
use super::running::other_processes;
use super::sessions::TargetSessions;
use crate::event::{CheckResult, Code, Finding, Outcome, RequirementLevel};
use crate::plan::{BoxFuture, Case, SessionNeed};
use crate::suite::{Handshake, RestartPolicy};

/// The most controls in a target that show no difference; who fails for so many other reasons fails for those.
const MOST_IN_VAIN: u32 = 4;

/// Words with which servers and operating systems say that something is in use already.
const WORDS: [&str; 12] = [
    "lock",
    "locked",
    "locking",
    "lockfile",
    "busy",
    "ebusy",
    "eaddrinuse",
    "ewouldblock",
    "in use",
    "another process",
    "another instance",
    "already running",
];

/// The time in which processes that were told to end are gone, and the time between two looks at them.
const LATEST_END: Duration = Duration::from_secs(5);
const END_POLLING: Duration = Duration::from_millis(10);

/// Whose turn it is to use the server of a target.
#[derive(Default)]
pub(crate) struct Turns {
    lock: RwLock<()>,
    /// Somebody's turn is over.
    over: Notify,
    /// Two processes of the server are in each other's way.
    is_exclusive: AtomicBool,
    in_vain: AtomicU32,
}

/// The turn of a case; it ends when this is dropped.
pub(crate) struct CaseTurn<'a> {
    guard: Option<TurnGuard<'a>>,
    over: &'a Notify,
}

enum TurnGuard<'a> {
    /// Others may use the server meanwhile.
    Shared { _guard: RwLockReadGuard<'a, ()> },
    /// Nobody else uses it, and no other process of it is alive.
    Alone { _guard: RwLockWriteGuard<'a, ()> },
}

impl Drop for CaseTurn<'_> {
    fn drop(&mut self) {
        self.guard = None;
        self.over.notify_waiters();
    }
}

impl Turns {
    async fn wait_shared(&self) -> CaseTurn<'_> {
        let guard = TurnGuard::Shared { _guard: self.lock.read().await };
        CaseTurn { guard: Some(guard), over: &self.over }
    }

    /// Waits for a moment at which nobody uses the server. Who comes meanwhile goes first: one case that hangs would keep
    /// all others waiting behind this one.
    async fn wait_alone(&self) -> CaseTurn<'_> {
        loop {
            let mut over = pin!(self.over.notified());
            over.as_mut().enable();
            if let Ok(guard) = self.lock.try_write() {
                return CaseTurn { guard: Some(TurnGuard::Alone { _guard: guard }), over: &self.over };
            }
            over.await;
        }
    }
}

/// What a case that failed beside another process shows, given how it ended otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompanyVerdict {
    /// It fails beside another process, and only there.
    Company,
    /// It fails in the same way alone.
    Unrelated,
    /// It failed once, and neither alone nor beside another process again.
    Unsteady,
}

impl TargetSessions {
    /// The turn of a case; alone with its process where two are in each other's way.
    async fn turn(&self, case: &Case) -> CaseTurn<'_> {
        let turn = self.turns.wait_shared().await;
        // It may have turned out while the case waited.
        if case.session == SessionNeed::Shared || !self.turns.is_exclusive.load(Ordering::Relaxed) {
            return turn;
        }
        drop(turn);
        self.turn_alone().await
    }

    /// Waits until no case uses the server, and ends every process of it.
    async fn turn_alone(&self) -> CaseTurn<'_> {
        let turn = self.turns.wait_alone().await;
        self.finish().await;
        self.shared.allow_again().await;
        turn
    }

    /// The suite keeps nothing in the session that its cases share, so that it may end between them.
    fn may_be_alone(&self) -> bool {
        let (target, suite) = (&self.target, self.target.suite());
        let is_bare = target.sets_up_every_session() || suite.setup.is_empty() && suite.teardown.is_empty();
        let is_real = target.starts() != Starts::Nothing && target.tamper.is_none() && !target.is_replayed;
        is_bare && is_real && suite.options.restart_policy != RestartPolicy::Never
    }
}

/// Runs a case, with the control where it may have failed for another process.
///
/// The control is kept on the heap, since hardly a case needs it.
pub(crate) async fn run_with_control<'a>(
    sessions: &TargetSessions,
    case: &Case,
    run: &(dyn Fn() -> BoxFuture<'a, CheckResult> + Sync),
) -> CheckResult {
    let beside = {
        let _turn = sessions.turn(case).await;
        run().await
    };
    if is_suspected(case, &beside) && sessions.may_be_alone() {
        return Box::pin(control(sessions, beside, run)).await;
    }
    beside
}

/// Runs a case that failed once more with every other process ended, and, where it does not fail then, beside one again.
async fn control<'a>(
    sessions: &TargetSessions,
    beside: CheckResult,
    run: &(dyn Fn() -> BoxFuture<'a, CheckResult> + Sync),
) -> CheckResult {
    let (target, turns) = (&sessions.target, &sessions.turns);
    let others = other_processes(&target.emitter.running.list(), target.server_name());
    if others.is_empty() || turns.in_vain.load(Ordering::Relaxed) >= MOST_IN_VAIN || target.stop.is_set() {
        return beside;
    }
    let _turn = sessions.turn_alone().await;
    let until = Instant::now() + LATEST_END;
    let is_alive = || !other_processes(&target.emitter.running.list(), target.server_name()).is_empty();
    while is_alive() && Instant::now() < until {
        sleep(END_POLLING).await;
    }
    let alone = run().await;
    if turns.is_exclusive.load(Ordering::Relaxed) {
        // Another case has shown it meanwhile.
        return alone;
    }
    let again = if fails_alike(&beside, &alone) { None } else { run_beside_another(sessions, run).await };
    let judgement = judge(&beside, &alone, again.as_ref());
    if judgement == CompanyVerdict::Company {
        turns.is_exclusive.store(true, Ordering::Relaxed);
        return with_company(alone, beside, others);
    }
    turns.in_vain.fetch_add(1, Ordering::Relaxed);
    if judgement == CompanyVerdict::Unsteady { with_evidence(beside) } else { beside }
}

/// Runs a case beside a process that does nothing else; `None` where that does not start.
async fn run_beside_another<'a>(
    sessions: &TargetSessions,
    run: &(dyn Fn() -> BoxFuture<'a, CheckResult> + Sync),
) -> Option<CheckResult> {
    let answers = &sessions.target.suite().answers;
    sessions.finish().await;
    let company = opening::open(&sessions.target, SessionOpening::with(answers)).await.ok()?;
    let result = run().await;
    end(&sessions.target, &company, SessionEndReason::Unused).await;
    sessions.finish().await;
    sessions.shared.allow_again().await;
    Some(result)
}

/// Returns true if a case may have failed for the company of another process.
fn is_suspected(case: &Case, result: &CheckResult) -> bool {
    let has_failed = matches!(result.outcome, Outcome::Failed | Outcome::Errored);
    let says = |found: &Finding| {
        let evidence = found.evidence.iter().map(|(_, text)| text.as_str());
        found.code == Code::VALID_CALL_REFUSED
            || [found.message.as_str()].into_iter().chain(evidence).any(speaks_of_company)
    };
    has_failed && case.inject.is_empty() && (case.handshake == Handshake::Skip || result.findings.iter().any(says))
}

/// Returns true if a text may say that something is in use already, or that another process of the server is alive.
fn speaks_of_company(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_whole = |(at, word): (usize, &str)| {
        let is_inside = |near: Option<char>| near.is_some_and(char::is_alphanumeric);
        !is_inside(lower[..at].chars().next_back()) && !is_inside(lower[at + word.len()..].chars().next())
    };
    let says = |word: &&str| lower.match_indices(*word).any(is_whole);
    lower.contains("other process") || WORDS.iter().any(says)
}

fn failing_codes(result: &CheckResult) -> BTreeSet<&Code> {
    let has_failed = matches!(result.outcome, Outcome::Failed | Outcome::Errored);
    let failing = result.findings.iter().filter(|found| has_failed && found.level == RequirementLevel::Must);
    failing.map(|found| &found.code).collect()
}

/// Returns true if two runs of a case failed for one reason at least that they share.
fn fails_alike(one: &CheckResult, other: &CheckResult) -> bool {
    !failing_codes(one).is_disjoint(&failing_codes(other))
}

fn judge(beside: &CheckResult, alone: &CheckResult, beside_again: Option<&CheckResult>) -> CompanyVerdict {
    match beside_again {
        _ if fails_alike(beside, alone) => CompanyVerdict::Unrelated,
        Some(again) if fails_alike(beside, again) => CompanyVerdict::Company,
        Some(_) | None => CompanyVerdict::Unsteady,
    }
}

/// The result of a case alone, with the warning that it fails beside another process.
fn with_company(alone: CheckResult, beside: CheckResult, others: String) -> CheckResult {
    let first = beside.findings.into_iter().find(|found| found.level == RequirementLevel::Must);
    let said = first.as_ref().map(|found| found.message.clone()).unwrap_or_default();
    let message =
        format!("while another process of the server is alive, this case fails, and alone it does not: {said}");
    let help = "where two clients use the server at once, each starts a process of it; \
                this run keeps to one process at a time from here on";
    let found = Finding {
        level: RequirementLevel::Should,
        help: Some(help.to_owned()),
        ..Finding::new("one-process-only", message)
    };
    let mut result = alone;
    if result.outcome == Outcome::Passed {
        result.outcome = Outcome::Warned;
    }
    let shown = first.into_iter().flat_map(|found| found.evidence).filter(|(name, _)| name != OTHERS);
    let evidence = shown.chain([(OTHERS.to_owned(), others)]);
    result.findings.push(Finding { evidence: evidence.collect(), ..found });
    result
}

/// The name of the evidence that counts the other processes.
const OTHERS: &str = "other processes";

/// The result of a case that did not fail again.
fn with_evidence(mut beside: CheckResult) -> CheckResult {
    if let Some(found) = beside.findings.first_mut() {
        let text = "twice, once with no other process of the server alive: it did not fail in this way";
        found.evidence.push(("tried again".to_owned(), text.to_owned()));
    }
    beside
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::Pin;
    use std::task::Poll;

    use super::*;

    fn result(outcome: Outcome, codes: &[&'static str]) -> CheckResult {
        CheckResult::with_findings(outcome, codes.iter().map(|code| Finding::new(*code, "it went wrong")).collect())
    }

    async fn is_waiting(mut future: Pin<&mut impl Future>) -> bool {
        poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
    }

    #[tokio::test]
    async fn a_case_that_wants_to_be_alone_keeps_nobody_waiting() {
        let turns = Turns::default();
        let hanging = turns.wait_shared().await;
        let mut alone = pin!(turns.wait_alone());
        assert!(is_waiting(alone.as_mut()).await, "one uses the server");
        let other = turns.wait_shared().await;
        drop(hanging);
        assert!(is_waiting(alone.as_mut()).await, "another one, who came later, does");
        drop(other);
        let alone = alone.await;
        let mut shared = pin!(turns.wait_shared());
        assert!(is_waiting(shared.as_mut()).await, "nobody else does meanwhile");
        drop(alone);
        drop(shared.await);
    }

    #[test]
    fn failures_beside_another_process() {
        use CompanyVerdict::{Company, Unrelated, Unsteady};
        use Outcome::{Errored, Failed, Passed};
        let rows = [
            ("it locks a file", (Errored, "process-exited"), (Passed, ""), Some((Errored, "process-exited")), Company),
            (
                "a bug hides behind the lock",
                (Errored, "process-exited"),
                (Failed, "equals"),
                Some((Failed, "process-exited")),
                Company,
            ),
            ("it is a bug", (Failed, "equals"), (Failed, "equals"), None, Unrelated),
            ("it comes and goes", (Failed, "equals"), (Passed, ""), Some((Passed, "")), Unsteady),
            ("it fails otherwise each time", (Failed, "equals"), (Failed, "timeout"), Some((Failed, "text")), Unsteady),
        ];
        for (what, beside, alone, again, expected) in rows {
            let of = |(outcome, code): (Outcome, &'static str)| {
                result(outcome, if code.is_empty() { &[] } else { std::slice::from_ref(&code) })
            };
            let again = again.map(of);
            assert_eq!(judge(&result(beside.0, &[beside.1]), &of(alone), again.as_ref()), expected, "{what}");
        }
    }

    #[test]
    fn texts_that_speak_of_others() {
        let rows = [
            ("store.lock: held", true),
            ("database is locked", true),
            ("listen EADDRINUSE: address already in use :::3000", true),
            ("1 other process of `server` is running (pid 3)", true),
            ("Device or resource busy", true),
            ("the block has no clock", false),
            ("unlocked", false),
            ("business as usual", false),
        ];
        for (text, expected) in rows {
            assert_eq!(speaks_of_company(text), expected, "{text}");
        }
    }
}
