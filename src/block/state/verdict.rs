//! The verdict on the rounds of a check.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::caller::{Callers, CanaryCaller, LeftAlone};
use super::finding::{Claim, findings, foreign_session, shared_session_id};
use super::seen::{Seen, SentCanary};
use crate::check::evidence::{list_of_names, valid_call_refused};
use crate::check::{CheckEnd, Confirmation};
use crate::event::{CheckResult, Outcome, Reason};
use crate::plan::CheckContext;
use crate::plan::arguments::ConfigSource;
use crate::suite::ServerKind;

/// The place of a second round.
const NEW_SESSIONS: &str = "in new sessions";

/// The knowledge with which rounds of a check are judged.
pub(crate) struct IsolationJudge<'a> {
    pub(crate) claim: Claim,
    pub(crate) config_source: ConfigSource,
    pub(crate) callers: &'a Callers,
}

impl IsolationJudge<'_> {
    /// The result of a check; `again` is the second round, or the reason for which there was none.
    pub(crate) fn judge(&self, seen: &Seen, again: &Result<&Seen, CheckEnd>) -> CheckResult {
        let mut exchanges = Vec::new();
        let mut found = findings(self.claim, &self.callers.called, seen, again, &mut exchanges);
        // What does not show a second time was chance.
        let twice = |shows: fn(&Seen) -> bool| {
            let shows = again.as_ref().map(|again| shows(again)).map_err(Clone::clone);
            Some(Confirmation::of_try(shows)).filter(Confirmation::is_seen_again)
        };
        if let (Some(served), Some(twice)) = (&seen.foreign, twice(|again| again.foreign.is_some())) {
            found.push(twice.weigh(foreign_session(served, &mut exchanges), NEW_SESSIONS));
        }
        if let (Some(id), Some(twice)) = (&seen.shared_id, twice(|again| again.shared_id.is_some())) {
            found.push(twice.weigh(shared_session_id(id), NEW_SESSIONS));
        }
        let result = match &seen.exit {
            _ if !found.is_empty() => CheckEnd::Failed(found).into_result(),
            Some(exit) => CheckEnd::failed(exit.clone()).into_result(),
            None if seen.hang.is_some() => CheckEnd::Failed(seen.hang.iter().cloned().collect()).into_result(),
            None => match self.end_without_leak(seen) {
                Some(end) => end.into_result(),
                None => CheckResult::because(Outcome::Passed, self.note(seen)),
            },
        };
        let protocol_revision = seen.protocol_revision.clone();
        CheckResult { protocol_revision, frames: seen.frames.clone(), exchanges, ..result }
    }

    /// The end of a check without a leak, if nothing follows from that: it takes a canary that can be seen by looking, and
    /// looks that are served.
    fn end_without_leak(&self, seen: &Seen) -> Option<CheckEnd> {
        let inconclusive = |why: String| Some(CheckEnd::inconclusive(why));
        let skipped = |why: &str| Some(CheckEnd::not_applicable(why));
        if seen.spent.is_some() {
            return seen.spent.clone();
        }
        if let (false, Some(why)) = (seen.leaks.is_empty(), &seen.without_sessions) {
            return skipped(why);
        }
        if let (None, Some(left)) = (self.callers.writers().next(), self.left_alone()) {
            return Some(CheckEnd::Skipped(left.reason.skip_reason(&left.tool, self.config_source)));
        }
        if seen.read_back.is_empty() && !seen.silent.is_empty() {
            return inconclusive(format!("no answer came in time from {}", list_of_names(&seen.silent)));
        }
        if let (true, Some(failure)) = (seen.read_back.is_empty(), &seen.failure) {
            return inconclusive(format!("a request got no answer, and no text could be read back: {failure}"));
        }
        if seen.written.is_empty() {
            return skipped("no tool takes a text that can be looked for");
        }
        if let Some(refused) = self.refused_call(seen) {
            return Some(CheckEnd::Inconclusive(refused));
        }
        if let Some(place) = seen.unserved.first() {
            let why = seen.failure.as_ref().map(|failure| format!(": {failure}")).unwrap_or_default();
            return inconclusive(format!("nothing was served {place}, so nothing could be looked for there{why}"));
        }
        if seen.read_back.is_empty() {
            return skipped(
                "no text that was written could be read back where it was written: the server keeps none, or no tool, \
                 resource or list that was looked at shows any",
            );
        }
        None
    }

    /// The call that was refused, where no tool that may store a text served one.
    fn refused_call(&self, seen: &Seen) -> Option<Reason> {
        let writers: BTreeSet<&str> = self.callers.writers().map(|caller| caller.name.as_str()).collect();
        let is_meant =
            |written: &&SentCanary| writers.is_empty() || writers.contains(self.tool_of(written).name.as_str());
        let mut meant = seen.written.iter().filter(is_meant);
        let first = meant.next()?;
        if first.shown.is_served || meant.any(|written| written.shown.is_served) {
            return None;
        }
        let tool = &self.tool_of(first).name;
        let answer = first.shown.exchange.received.clone();
        Some(valid_call_refused(tool, answer, self.config_source.help_to_give_arguments(tool)))
    }

    /// The texts that could have been seen, and the tools that say nothing.
    fn note(&self, seen: &Seen) -> Reason {
        let of_visible = |written: &&SentCanary| seen.read_back.contains(&written.canary);
        let visible: BTreeSet<&str> =
            seen.written.iter().filter(of_visible).map(|written| self.tool_of(written).name.as_str()).collect();
        let hidden: Vec<&str> =
            self.callers.writers().map(|caller| caller.name.as_str()).filter(|name| !visible.contains(name)).collect();
        let visible: Vec<&str> = visible.into_iter().collect();
        let mut note =
            format!("read back where they were written, and nowhere else: texts of {}", list_of_names(&visible));
        if !hidden.is_empty() {
            let _ = write!(note, "; not read back: texts of {}", list_of_names(&hidden));
        }
        if let Some(left) = self.left_alone() {
            let _ = write!(note, "; not called: {}", left.sentence(self.config_source));
        }
        Reason::Measured(note)
    }

    /// A tool that may store a text and was left alone.
    fn left_alone(&self) -> Option<&LeftAlone> {
        self.callers.left_alone.iter().find(|left| !left.only_reads)
    }

    fn tool_of(&self, written: &SentCanary) -> &CanaryCaller {
        &self.callers.called[written.tool]
    }
}

/// The client says who it is, so that its sessions may be those of one user.
pub(crate) fn has_credentials(context: &CheckContext<'_>) -> bool {
    let server = context.suite.servers.get(context.server_name);
    server.is_none_or(|server| match &server.kind {
        ServerKind::Url(http) => !http.credentials.is_empty() || http.default_user().is_some(),
        ServerKind::Command(_) | ServerKind::Builtin(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::IsolationKind;
    use super::super::finding::ClientKind;
    use super::super::seen::{ForeignRequest, Leak};
    use super::*;
    use crate::check::CheckLimits;
    use crate::check::visit::ShownText;
    use crate::event::Finding;

    const CANARY: &str = "kw1q001";

    fn sent(tool: usize, is_served: bool) -> SentCanary {
        SentCanary { tool, canary: CANARY.to_owned(), shown: ShownText::of_test("add", "{}", is_served) }
    }

    fn seen(written: Vec<SentCanary>, read_back: &[&str]) -> Seen {
        Seen { written, read_back: read_back.iter().map(|canary| (*canary).to_owned()).collect(), ..Seen::default() }
    }

    fn leaked() -> Seen {
        let (shown, place) = (ShownText::of_test("get", CANARY, true), "in another session".to_owned());
        let leak = Leak { written: 0, canary: CANARY.to_owned(), shown, place };
        Seen { leaks: vec![leak], ..seen(vec![sent(0, true)], &[CANARY]) }
    }

    fn judge(is_promised: bool, seen: &Seen, again: Option<&Seen>) -> CheckResult {
        let called = vec![CanaryCaller::of_test("add", false), CanaryCaller::of_test("get", true)];
        let callers = Callers { called, left_alone: Vec::new() };
        let isolation = IsolationKind::Sessions;
        let clients = if seen.without_sessions.is_some() { ClientKind::Anonymous } else { ClientKind::Processes };
        let claim = Claim { isolation, is_promised, clients, has_credentials: false };
        let again = again.ok_or_else(|| CheckEnd::inconclusive("the time ended"));
        IsolationJudge { claim, config_source: ConfigSource::Suite, callers: &callers }.judge(seen, &again)
    }

    #[test]
    fn a_leak_fails_if_it_is_promised_and_shows_twice() {
        let clear = seen(vec![sent(0, true)], &[CANARY]);
        for (is_promised, again, outcome) in [
            (true, Some(leaked()), Outcome::Failed),
            (false, Some(leaked()), Outcome::Warned),
            (true, Some(clear), Outcome::Warned),
            (true, None, Outcome::Warned),
        ] {
            let result = judge(is_promised, &leaked(), again.as_ref());
            assert_eq!(result.outcome, outcome, "{is_promised}");
            assert!(result.findings[0].message.contains(CANARY) && !result.exchanges.is_empty());
        }
    }

    #[test]
    fn clients_without_sessions_share_what_is_stored_unless_the_suite_promises_otherwise() {
        let by = |tool: usize| {
            let why = Some("the server gives no session ids".to_owned());
            Seen { written: vec![sent(tool, true)], without_sessions: why, ..leaked() }
        };
        for (is_promised, writer, outcome) in
            [(true, 0, Outcome::Failed), (false, 0, Outcome::Skipped), (false, 1, Outcome::Failed)]
        {
            let result = judge(is_promised, &by(writer), Some(&by(writer)));
            assert_eq!(result.outcome, outcome, "{is_promised} {writer}");
        }
        let clear = Seen { leaks: Vec::new(), ..by(0) };
        assert_eq!(judge(false, &clear, None).outcome, Outcome::Passed);
    }

    #[test]
    fn ids_and_sessions_of_others_count_only_twice() {
        let clear = || seen(vec![sent(0, true)], &[CANARY]);
        let shared = || Seen { shared_id: Some("7".to_owned()), ..clear() };
        let foreign = || {
            let (sender, owner) = ("ann".to_owned(), "bob".to_owned());
            let exchange = ShownText::of_test("ping", "{}", true).exchange;
            Seen { foreign: Some(ForeignRequest { exchange, sender, owner }), ..clear() }
        };
        for (first, again, code) in [
            (shared(), shared(), Some("session-id")),
            (foreign(), foreign(), Some("foreign-session")),
            (shared(), clear(), None),
            (foreign(), shared(), None),
        ] {
            let result = judge(true, &first, Some(&again));
            assert_eq!(result.findings.first().map(|found| found.code.as_str()), code);
        }
    }

    #[test]
    fn without_a_leak_a_canary_must_have_been_visible() {
        let visible = || seen(vec![sent(0, true)], &[CANARY]);
        let hidden = || seen(vec![sent(0, true)], &[]);
        let word = |word: &str| Some(word.to_owned());
        let spent = || Some(CheckLimits::new(Duration::from_secs(60), "").out_of_time());
        for (seen, outcome, says) in [
            (visible(), Outcome::Passed, "read back where they were written, and nowhere else: texts of `add`"),
            (Seen { spent: spent(), ..visible() }, Outcome::Inconclusive, "the time of 1 min 0 s ended"),
            (Seen { silent: vec!["add".to_owned()], ..hidden() }, Outcome::Inconclusive, "no answer came in time"),
            (Seen { failure: word("bad JSON"), ..hidden() }, Outcome::Inconclusive, "could be read back: bad JSON"),
            (seen(Vec::new(), &[]), Outcome::Skipped, "no tool takes a text"),
            (seen(vec![sent(0, false)], &[]), Outcome::Inconclusive, "ValidCallRefused"),
            (Seen { unserved: vec!["there".to_owned()], ..visible() }, Outcome::Inconclusive, "was served there"),
            (hidden(), Outcome::Skipped, "the server keeps none"),
            (Seen { exit: Some(Finding::new("exit", "it ended")), ..visible() }, Outcome::Failed, "it ended"),
        ] {
            let result = judge(true, &seen, None);
            assert_eq!(result.outcome, outcome, "{says}");
            assert!(format!("{:?} {:?}", result.reason, result.findings).contains(says), "{says}: {result:?}");
        }
    }
}
