//! Which tools of a server have served a call: all of its sessions take note, and who is about to wait for one asks.
//!
//! To wait for a tool that serves nothing is worth it twice, not in every case that nobody wrote for this server. What
//! waited behind another call of its session tells nothing of its own tool.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::transport::Owner;

/// The waits in vain, or the ends of the server, after which a tool is called no more.
const ENOUGH: usize = 2;

/// Why a call of a tool would show nothing new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InVain {
    /// It has served nothing, and others waited for it in vain.
    Silent,
    /// It has answered nothing, and the server ended when others called it.
    EndsServer,
}

/// The tools of a server that were called, as far as they decide whether it is worth waiting for another answer.
#[derive(Debug, Default)]
pub struct AnsweredTools {
    tools: Mutex<BTreeMap<String, ToolCalls>>,
    times: Mutex<BTreeMap<String, ServedTimes>>,
    plain: Mutex<BTreeMap<PlainRequest, PlainWaits>>,
}

/// Requests that any server answers at once, if only with an error, whatever it offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PlainRequest {
    SignOfLife,
    /// Those of which the server has not said that it knows them.
    Undeclared,
}

/// What became of requests of one kind.
#[derive(Debug, Default)]
struct PlainWaits {
    is_any_answered: bool,
    /// The owners that waited for one in vain.
    waits: BTreeSet<Owner>,
}

/// The time from which on a call costs a run much.
const SLOW: Duration = Duration::from_millis(500);

/// The slow calls from which on a tool is slow: a machine may be busy for the length of one.
const TELLING_CALLS: u32 = 2;

/// The times that served calls of a tool took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct ServedTimes {
    quick: u32,
    slow: u32,
    /// Of the slow ones together.
    spent: Duration,
}

impl ServedTimes {
    fn with(self, elapsed: Duration) -> Self {
        if elapsed < SLOW {
            return Self { quick: self.quick.saturating_add(1), ..self };
        }
        Self { slow: self.slow.saturating_add(1), spent: self.spent.saturating_add(elapsed), ..self }
    }

    /// The time that a slow call takes, of a tool of which most calls are slow.
    fn slow_call(self) -> Option<Duration> {
        (self.slow >= TELLING_CALLS && self.slow >= self.quick).then(|| self.spent / self.slow)
    }
}

/// The calls of a tool so far.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ToolCalls {
    /// One of them was served, so each is worth a wait.
    Served,
    /// Each of them was refused, or waited in vain.
    Unserved {
        has_refused: bool,
        /// One of them got no answer in the time that somebody gave it, however short.
        is_late: bool,
        /// By owner.
        waits: BTreeMap<Owner, Wait>,
        /// The owners at whose call the server ended, while it did nothing else.
        ends: BTreeSet<Owner>,
    },
}

/// An answer to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallAnswer {
    /// A result.
    Served,
    /// An error of either kind.
    Refused,
}

/// A wait for an answer that did not come in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// Calls of other tools were under way in the same session, or had got no answer either.
    InCompany,
    /// No other tool was called in that session meanwhile.
    Alone,
}

impl ToolCalls {
    fn new() -> Self {
        Self::Unserved { has_refused: false, is_late: false, waits: BTreeMap::new(), ends: BTreeSet::new() }
    }
}

impl AnsweredTools {
    /// Takes note of an answer.
    pub fn note_answer(&self, tool: &str, answer: CallAnswer) {
        let mut tools = self.tools.lock();
        match (tools.get_mut(tool), answer) {
            (Some(ToolCalls::Served), _) => {}
            (Some(calls), CallAnswer::Served) => *calls = ToolCalls::Served,
            (Some(ToolCalls::Unserved { has_refused, .. }), CallAnswer::Refused) => *has_refused = true,
            (None, CallAnswer::Served) => drop(tools.insert(tool.to_owned(), ToolCalls::Served)),
            (None, CallAnswer::Refused) => {
                let (waits, ends) = (BTreeMap::new(), BTreeSet::new());
                let refused = ToolCalls::Unserved { has_refused: true, is_late: false, waits, ends };
                tools.insert(tool.to_owned(), refused);
            }
        }
    }

    /// Takes note of the time that a served call took.
    pub fn note_time(&self, tool: &str, elapsed: Duration) {
        let mut times = self.times.lock();
        if let Some(known) = times.get_mut(tool) {
            *known = known.with(elapsed);
        } else {
            times.insert(tool.to_owned(), ServedTimes::default().with(elapsed));
        }
    }

    /// The time that calls of a tool take, if most of them are slow.
    pub fn slow_tool(&self, tool: &str) -> Option<Duration> {
        self.times.lock().get(tool).copied().and_then(ServedTimes::slow_call)
    }

    /// Takes note of a call that got no answer in time; one that belongs to no case tells no case of the tool.
    pub fn note_wait(&self, tool: &str, owner: &Owner, wait: Wait) {
        if *owner == Owner::Session {
            return;
        }
        let mut tools = self.tools.lock();
        if let ToolCalls::Unserved { waits, .. } = tools.entry(tool.to_owned()).or_insert_with(ToolCalls::new) {
            let known = waits.entry(owner.clone()).or_insert(wait);
            *known = (*known).max(wait);
        }
    }

    /// Takes note of a call that got no answer in the time that somebody gave it, however short.
    pub fn note_late(&self, tool: &str) {
        let mut tools = self.tools.lock();
        if let ToolCalls::Unserved { is_late, .. } = tools.entry(tool.to_owned()).or_insert_with(ToolCalls::new) {
            *is_late = true;
        }
    }

    /// Returns true if nobody need wait for a tool longer than for any other: it has served nothing and was late, or no tool
    /// has served anything and several were late.
    pub fn is_late(&self, tool: &str) -> bool {
        let tools = self.tools.lock();
        let is_late = |calls: &ToolCalls| matches!(calls, ToolCalls::Unserved { is_late: true, .. });
        let serves = tools.values().any(|calls| *calls == ToolCalls::Served);
        tools.get(tool).is_some_and(is_late)
            || !serves && tools.values().filter(|calls| is_late(calls)).count() >= ENOUGH
    }

    /// Takes note of an answer to a plain request.
    pub(crate) fn note_plain_answer(&self, kind: PlainRequest) {
        self.plain.lock().entry(kind).or_default().is_any_answered = true;
    }

    /// Takes note of a plain request that got no answer in time.
    pub(crate) fn note_plain_wait(&self, kind: PlainRequest, owner: &Owner) {
        self.plain.lock().entry(kind).or_default().waits.insert(owner.clone());
    }

    /// Returns true if the server has answered no such request, and several cases waited for one in vain.
    pub(crate) fn leaves_unanswered(&self, kind: PlainRequest) -> bool {
        let plain = self.plain.lock();
        plain.get(&kind).is_some_and(|known| !known.is_any_answered && known.waits.len() >= ENOUGH)
    }

    /// Takes note that the server ended at a call, while it did nothing else.
    pub fn note_end(&self, tool: &str, owner: &Owner) {
        let mut tools = self.tools.lock();
        if let ToolCalls::Unserved { ends, .. } = tools.entry(tool.to_owned()).or_insert_with(ToolCalls::new) {
            ends.insert(owner.clone());
        }
    }

    /// Returns true if a tool has served nothing and the server ended when another owner called it: who looks for
    /// something else leaves it alone.
    pub fn ends_server(&self, tool: &str, owner: &Owner) -> bool {
        let tools = self.tools.lock();
        let Some(ToolCalls::Unserved { ends, .. }) = tools.get(tool) else { return false };
        ends.iter().any(|other| other != owner)
    }

    /// Why `owner` need not call a tool, if it need not; `is_valid` says that the tool may serve the call.
    pub fn in_vain(&self, tool: &str, owner: &Owner, is_valid: impl FnOnce() -> bool) -> Option<InVain> {
        if self.ends_server_always(tool, owner) {
            return Some(InVain::EndsServer);
        }
        self.is_silent(tool, owner, is_valid).then_some(InVain::Silent)
    }

    /// Returns true if a tool has answered nothing, and the server ended whenever others called it. Where no tool has served
    /// anything, the ends at the others count, too, and those at calls that belong to no case.
    fn ends_server_always(&self, tool: &str, owner: &Owner) -> bool {
        let tools = self.tools.lock();
        let Some(ToolCalls::Unserved { has_refused: false, ends, .. }) = tools.get(tool) else { return false };
        // What its owner says again, as a smaller value is looked for, goes on.
        let of_others =
            if ends.contains(owner) { 0 } else { ends.iter().filter(|end| **end != Owner::Session).count() };
        of_others >= ENOUGH || of_others > 0 && ends_of_unserving(&tools) >= ENOUGH
    }

    /// The tool at whose call for `owner` the server ended, and that has answered nobody.
    pub fn ending_tool_of(&self, owner: &Owner) -> Option<String> {
        let tools = self.tools.lock();
        let ended = |calls: &ToolCalls| matches!(calls, ToolCalls::Unserved { has_refused: false, ends, .. } if ends.contains(owner));
        tools.iter().find(|(_, calls)| ended(calls)).map(|(tool, _)| tool.clone())
    }

    /// Returns true if `owner` need not wait for a tool: it has served nothing, and others waited for it in vain. Where no
    /// tool has served anything, the waits for the others count, too. A tool that refuses is still worth a wait for a call
    /// that it must refuse; `is_valid` says that this call is none.
    pub fn is_silent(&self, tool: &str, owner: &Owner, is_valid: impl FnOnce() -> bool) -> bool {
        let tools = self.tools.lock();
        let Some(ToolCalls::Unserved { has_refused, waits, .. }) = tools.get(tool) else { return false };
        // What its owner says again, as a smaller value is looked for, goes on.
        let of_others = if waits.contains_key(owner) { 0 } else { waits_alone(waits) };
        let is_known = of_others >= ENOUGH || of_others > 0 && waits_of_unserving(&tools) >= ENOUGH;
        is_known && (!has_refused || is_valid())
    }

    /// Returns true if no tool has answered anything, and it was waited for in vain often enough.
    pub fn is_silent_server(&self) -> bool {
        let tools = self.tools.lock();
        let is_silent = |calls: &ToolCalls| matches!(calls, ToolCalls::Unserved { has_refused: false, .. });
        tools.values().all(is_silent) && waits_of_unserving(&tools) >= ENOUGH
    }

    /// Returns true if a tool has served a call.
    pub fn has_served(&self) -> bool {
        self.tools.lock().values().any(|calls| *calls == ToolCalls::Served)
    }

    /// A tool for which `owner` waited in vain, and that has served nobody.
    pub fn silent_tool_of(&self, owner: &Owner) -> Option<String> {
        let tools = self.tools.lock();
        let waited =
            |calls: &ToolCalls| matches!(calls, ToolCalls::Unserved { waits, .. } if waits.contains_key(owner));
        tools.iter().find(|(_, calls)| waited(calls)).map(|(tool, _)| tool.clone())
    }
}

fn waits_alone(waits: &BTreeMap<Owner, Wait>) -> usize {
    waits.values().filter(|wait| **wait == Wait::Alone).count()
}

/// The waits for all tools of a server; none where one of them has served a call.
fn waits_of_unserving(tools: &BTreeMap<String, ToolCalls>) -> usize {
    let waits = tools.values().map(|calls| match calls {
        ToolCalls::Served => None,
        ToolCalls::Unserved { waits, .. } => Some(waits_alone(waits)),
    });
    waits.sum::<Option<usize>>().unwrap_or(0)
}

/// The ends of the server at calls of all of its tools; none where one of them has served a call.
fn ends_of_unserving(tools: &BTreeMap<String, ToolCalls>) -> usize {
    let ends = tools.values().map(|calls| match calls {
        ToolCalls::Served => None,
        ToolCalls::Unserved { ends, .. } => Some(ends.len()),
    });
    ends.sum::<Option<usize>>().unwrap_or(0)
}

/// The calls of one session, as far as one of them may be the reason why another waits.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    open: AtomicUsize,
    /// The tool that got no answer in time; empty where there are several.
    late: Mutex<Option<String>>,
    /// We end the server, so that its end tells nothing of a call.
    is_ending: AtomicBool,
}

/// A call under way, until it is dropped.
pub(crate) struct OpenCall<'a> {
    calls: &'a OpenCalls,
    others: usize,
}

impl OpenCalls {
    /// Takes note that we are about to end the server.
    pub(crate) fn expect_end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    pub(crate) fn begin(&self) -> OpenCall<'_> {
        OpenCall { calls: self, others: self.open.fetch_add(1, Ordering::Relaxed) }
    }

    /// Takes note of a call that got no answer, beside so many others.
    pub(crate) fn wait_of(&self, tool: &str, others: usize) -> Wait {
        let mut late = self.late.lock();
        let is_first = late.as_deref().is_none_or(|late| late == tool);
        *late = Some(if is_first { tool.to_owned() } else { String::new() });
        if is_first && others == 0 { Wait::Alone } else { Wait::InCompany }
    }

    /// The calls under way.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl OpenCall<'_> {
    /// Returns true if nothing but it can be the reason why the server ended: no other call is under way, nor was when it
    /// began, and nobody ends the server.
    pub(crate) fn is_only_reason(&self) -> bool {
        self.others == 0 && self.calls.open() == 1 && !self.calls.is_ending.load(Ordering::Relaxed)
    }

    /// Takes note that it got no answer.
    pub(crate) fn wait(&self, tool: &str) -> Wait {
        self.calls.wait_of(tool, self.others)
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.calls.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known after calls of tools for owners: `a+` was served, `a-` refused, `a` waited alone, `a*` in company.
    fn after(calls: &[(&str, &str)]) -> AnsweredTools {
        let answered = AnsweredTools::default();
        for (call, owner) in calls {
            let owner = &Owner::of_case(owner);
            match call.split_at(1) {
                (tool, "+") => answered.note_answer(tool, CallAnswer::Served),
                (tool, "-") => answered.note_answer(tool, CallAnswer::Refused),
                (tool, "*") => answered.note_wait(tool, owner, Wait::InCompany),
                (tool, _) => answered.note_wait(tool, owner, Wait::Alone),
            }
        }
        answered
    }

    #[test]
    fn a_tool_is_slow_if_most_of_its_calls_are() {
        for (took, expected) in [
            (&[][..], None),
            // The machine may have been busy.
            (&[1_000], None),
            (&[1_000, 1_200], Some(1_100)),
            (&[1_000, 1_200, 20], Some(1_100)),
            (&[1_000, 1_200, 20, 20, 20], None),
            (&[499, 3_000], None),
            (&[500, 500], Some(500)),
        ] {
            let answered = AnsweredTools::default();
            for took in took {
                answered.note_time("a", Duration::from_millis(*took));
            }
            assert_eq!(answered.slow_tool("a"), expected.map(Duration::from_millis), "{took:?}");
            assert_eq!(answered.slow_tool("b"), None);
        }
    }

    #[test]
    fn an_end_tells_of_a_call_only_where_nothing_else_explains_it() {
        let calls = OpenCalls::default();
        let first = calls.begin();
        assert!(first.is_only_reason());
        let second = calls.begin();
        assert!(!first.is_only_reason() && !second.is_only_reason(), "two calls are under way");
        drop(first);
        assert!(!second.is_only_reason(), "another one was when it began");
        drop(second);
        let third = calls.begin();
        calls.expect_end();
        assert!(!third.is_only_reason(), "the server is ended by us");
    }

    #[test]
    fn a_tool_that_ends_the_server_is_left_to_its_own_cases() {
        for (calls, ends, tool, owner, expected) in [
            (&[][..], &[][..], "a", "2", false),
            (&[], &[("a", "1")], "a", "2", true),
            (&[], &[("a", "1")], "b", "2", false),
            // Its own case goes on, as a smaller value is looked for.
            (&[], &[("a", "1")], "a", "1", false),
            (&[("a-", "1")], &[("a", "1")], "a", "2", true),
            // With other arguments it serves.
            (&[("a+", "1")], &[("a", "1")], "a", "2", false),
        ] {
            let answered = after(calls);
            for (tool, owner) in ends {
                answered.note_end(tool, &Owner::of_case(owner));
            }
            assert_eq!(
                answered.ends_server(tool, &Owner::of_case(owner)),
                expected,
                "{calls:?} {ends:?} {tool} {owner}"
            );
        }
    }

    #[test]
    fn a_tool_that_always_ends_the_server_is_called_by_two_owners_and_no_third_one() {
        for (calls, ends, tool, owner, expected) in [
            (&[][..], &[][..], "a", "3", false),
            (&[], &[("a", "1")], "a", "3", false),
            (&[], &[("a", "1"), ("a", "2")], "a", "3", true),
            // Its own calls go on, as a smaller value is looked for, or the case is tried again.
            (&[], &[("a", "1"), ("a", "2")], "a", "2", false),
            // With other arguments it serves, or refuses.
            (&[("a+", "1")], &[("a", "1"), ("a", "2")], "a", "3", false),
            (&[("a-", "1")], &[("a", "1"), ("a", "2")], "a", "3", false),
            // Each tool has a call of its own to answer, also where the server serves none.
            (&[], &[("a", "1"), ("a", "2")], "b", "3", false),
            (&[], &[("a", "1"), ("b", "2")], "b", "3", true),
            (&[("c+", "2")], &[("a", "1"), ("b", "2")], "b", "3", false),
            // Of a call that belongs to no case, nobody tells.
            (&[], &[("a", ""), ("b", "")], "b", "3", false),
            (&[], &[("a", ""), ("b", "2")], "b", "3", true),
        ] {
            let answered = after(calls);
            let owner_of = |owner: &str| if owner.is_empty() { Owner::Session } else { Owner::of_case(owner) };
            for (tool, owner) in ends {
                answered.note_end(tool, &owner_of(owner));
            }
            let why = answered.in_vain(tool, &owner_of(owner), || true);
            assert_eq!(why, expected.then_some(InVain::EndsServer), "{calls:?} {ends:?} {tool} {owner}");
        }
        let ended = after(&[("b-", "1")]);
        ended.note_end("b", &Owner::of_case("1"));
        assert_eq!(ended.ending_tool_of(&Owner::of_case("1")), None, "it refuses other calls");
        ended.note_end("c", &Owner::of_case("1"));
        assert_eq!(ended.ending_tool_of(&Owner::of_case("1")).as_deref(), Some("c"));
        assert_eq!(ended.ending_tool_of(&Owner::of_case("2")), None);
    }

    #[test]
    fn two_owners_wait_in_vain_and_no_third_one() {
        for (calls, tool, owner, expected) in [
            (&[][..], "a", "3", false),
            (&[("a", "1")], "a", "3", false),
            (&[("a", "1"), ("a", "1")], "a", "3", false),
            (&[("a", "1"), ("a", "2")], "a", "3", true),
            // Its own calls go on, as a smaller value is looked for, or the case is tried again.
            (&[("a", "1"), ("a", "2")], "a", "2", false),
            // A tool that serves now and then may be slow.
            (&[("a+", "1"), ("a", "1"), ("a", "2")], "a", "3", false),
            (&[("a", "1"), ("a", "2"), ("a+", "2")], "a", "3", false),
            // Another call of the session may have held it up, until it waits alone.
            (&[("a*", "1"), ("a*", "2")], "a", "3", false),
            (&[("a*", "1"), ("a*", "2"), ("a", "1"), ("a", "2")], "a", "3", true),
            // Each tool has a call of its own to answer, also where the server serves none.
            (&[("a", "1"), ("a", "2")], "b", "3", false),
            (&[("a", "1"), ("b", "2")], "b", "3", true),
            (&[("a", "1"), ("b", "2"), ("c-", "2")], "b", "3", true),
            (&[("a", "1"), ("b", "2"), ("c+", "2")], "b", "3", false),
        ] {
            assert_eq!(
                after(calls).is_silent(tool, &Owner::of_case(owner), || false),
                expected,
                "{calls:?} {tool} {owner}"
            );
        }
        let nobody = after(&[("a", "2")]);
        nobody.note_wait("a", &Owner::Session, Wait::Alone);
        assert!(!nobody.is_silent("a", &Owner::of_case("3"), || false), "a call of no case tells no case of the tool");
        let refuses = after(&[("a", "1"), ("a-", "1"), ("a", "2")]);
        let asked = [true, false].map(|is_valid| refuses.is_silent("a", &Owner::of_case("3"), || is_valid));
        assert_eq!(asked, [true, false], "it still refuses what it must");
    }

    #[test]
    fn a_tool_is_late_if_it_was_late_before_or_most_are() {
        for (calls, late, tool, expected) in [
            (&[][..], &[][..], "a", false),
            (&[], &["a"], "a", true),
            (&[], &["a"], "b", false),
            (&[], &["a", "b"], "c", true),
            // Slow calls are served, so each is worth its time.
            (&[("a+", "1")], &["a"], "a", false),
            (&[("d+", "1")], &["a", "b"], "c", false),
            (&[("a-", "1")], &["a"], "a", true),
        ] {
            let answered = after(calls);
            for tool in late {
                answered.note_late(tool);
            }
            assert_eq!(answered.is_late(tool), expected, "{calls:?} {late:?} {tool}");
        }
    }

    #[test]
    fn plain_requests_are_waited_for_in_vain_twice() {
        for (waits, is_answered, expected) in [
            (&[][..], false, false),
            (&["1"], false, false),
            (&["1", "1"], false, false),
            (&["1", "2"], false, true),
            (&["1", "2"], true, false),
        ] {
            let answered = AnsweredTools::default();
            for owner in waits {
                answered.note_plain_wait(PlainRequest::Undeclared, &Owner::of_case(owner));
            }
            if is_answered {
                answered.note_plain_answer(PlainRequest::Undeclared);
            }
            assert_eq!(answered.leaves_unanswered(PlainRequest::Undeclared), expected, "{waits:?} {is_answered}");
            assert!(!answered.leaves_unanswered(PlainRequest::SignOfLife), "another kind");
        }
    }

    #[test]
    fn a_server_is_silent_if_no_tool_answers() {
        for (calls, is_silent, has_served, of_first) in [
            (&[][..], false, false, None),
            (&[("a", "1")], false, false, Some("a")),
            (&[("a", "1"), ("b", "1")], true, false, Some("a")),
            (&[("a*", "1"), ("b*", "1")], false, false, Some("a")),
            (&[("a", "1"), ("b", "1"), ("a-", "2")], false, false, Some("a")),
            (&[("a", "1"), ("b", "1"), ("a+", "2")], false, true, Some("b")),
            (&[("a", "2"), ("a", "3")], true, false, None),
        ] {
            let known = after(calls);
            assert_eq!((known.is_silent_server(), known.has_served()), (is_silent, has_served), "{calls:?}");
            assert_eq!(known.silent_tool_of(&Owner::of_case("1")).as_deref(), of_first, "{calls:?}");
        }
    }

    #[test]
    fn a_wait_is_alone_if_no_other_tool_holds_it_up() {
        let calls = OpenCalls::default();
        let first = calls.begin();
        let beside = calls.begin();
        assert_eq!((first.wait("a"), beside.wait("a")), (Wait::Alone, Wait::InCompany));
        drop((first, beside));
        assert_eq!(calls.begin().wait("a"), Wait::Alone, "its own call before it may have held it up");
        assert_eq!(calls.begin().wait("b"), Wait::InCompany);
        assert_eq!(calls.begin().wait("a"), Wait::InCompany);
        assert_eq!(calls.open(), 0);
    }
}
