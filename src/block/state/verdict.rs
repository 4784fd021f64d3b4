//! The verdict on what was seen.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::caller::{Callers, CanaryCaller, LeftAlone};
use super::check::{IsolationCheck, Seen, SentCanary};
use super::finding::{Claim, findings, foreign_session, shared_session_id};
use crate::event::{CallPurpose, CheckResult, Outcome, Reason, RefusedCall, RequirementLevel};
use crate::plan::CheckContext;
use crate::plan::arguments::ConfigSource;
use crate::source::duration_text;
use crate::suite::Target;

/// The result of a check; `again` is the second round, where the first one found something.
pub(crate) fn verdict(
    check: &IsolationCheck,
    context: &CheckContext<'_>,
    callers: &Callers,
    seen: &Seen,
    again: Option<&Seen>,
) -> CheckResult {
    let mut result = CheckResult {
        protocol_revision: seen.protocol_revision.clone(),
        frames: seen.frames.clone(),
        ..CheckResult::new(Outcome::Passed)
    };
    let claim = Claim {
        isolation: check.isolation,
        is_promised: check.settings.promises(check.isolation),
        is_http: seen.is_http,
        has_credentials: has_credentials(context),
    };
    let mut found = findings(claim, &callers.called, seen, again, &mut result.exchanges);
    // One that was not served a second time was served by chance.
    let foreign = seen.foreign.as_ref().filter(|_| again.is_some_and(|again| again.foreign.is_some()));
    found.extend(foreign.map(|served| foreign_session(served, &mut result.exchanges)));
    let shared_id = seen.shared_id.as_ref().filter(|_| again.is_some_and(|again| again.shared_id.is_some()));
    found.extend(shared_id.map(|id| shared_session_id(id)));
    if !found.is_empty() {
        let is_failure = found.iter().any(|found| found.level == RequirementLevel::Must);
        result.outcome = if is_failure { Outcome::Failed } else { Outcome::Warned };
        result.findings = found;
        return result;
    }
    if let Some(exit) = &seen.exit {
        return CheckResult { outcome: Outcome::Failed, findings: vec![exit.clone()], ..result };
    }
    let nothing = NothingSeen { check, callers, seen, config_source: ConfigSource::of(context.suite) };
    let (outcome, reason) = nothing.not_judged().unwrap_or_else(|| (Outcome::Passed, nothing.note()));
    CheckResult { outcome, reason: Some(reason), ..result }
}

/// A round in which no canary was seen where it must not be.
struct NothingSeen<'a> {
    check: &'a IsolationCheck,
    callers: &'a Callers,
    seen: &'a Seen,
    config_source: ConfigSource,
}

impl NothingSeen<'_> {
    /// Why nothing follows from it: it takes a canary that can be seen by looking, and looks that are served.
    fn not_judged(&self) -> Option<(Outcome, Reason)> {
        let Self { seen, check, .. } = self;
        let inconclusive = |why: String| Some((Outcome::Inconclusive, Reason::NotEvaluated(why)));
        let skipped = |why: &str| Some((Outcome::Skipped, Reason::NotApplicable(why.to_owned())));
        if seen.is_out_of_time {
            let limit = duration_text(check.settings.time);
            return inconclusive(format!(
                "the time of {limit} ended before all tools were called; raise `time` or select `tools`"
            ));
        }
        if let (None, Some(left)) = (self.writers().next(), self.left_alone()) {
            return Some((Outcome::Skipped, left.reason.skip_reason(&left.tool, self.config_source)));
        }
        if seen.read_back.is_empty() && !seen.silent.is_empty() {
            return inconclusive(format!("no answer came in time from {}", names(&seen.silent)));
        }
        if let (true, Some(failure)) = (seen.read_back.is_empty(), &seen.failure) {
            return inconclusive(format!("a request got no answer, and no text could be read back: {failure}"));
        }
        if seen.written.is_empty() {
            return skipped("no tool takes a text that can be looked for");
        }
        if let Some(refused) = self.refused() {
            return Some((Outcome::Inconclusive, Reason::ValidCallRefused(refused)));
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
    fn refused(&self) -> Option<RefusedCall> {
        let writers: BTreeSet<&str> = self.writers().map(|caller| caller.name.as_str()).collect();
        let is_meant =
            |written: &&SentCanary| writers.is_empty() || writers.contains(self.tool_of(written).name.as_str());
        let mut meant = self.seen.written.iter().filter(is_meant);
        let first = meant.next()?;
        if first.shown.is_served || meant.any(|written| written.shown.is_served) {
            return None;
        }
        Some(RefusedCall {
            call: first.shown.exchange.title.clone(),
            answer: first.shown.exchange.received.clone(),
            help: self.config_source.help_to_give_arguments(&self.tool_of(first).name),
            purpose: CallPurpose::Check,
        })
    }

    /// Which texts could have been seen, and which tools say nothing.
    fn note(&self) -> Reason {
        let of_visible = |written: &&SentCanary| self.seen.read_back.contains(&written.canary);
        let visible: BTreeSet<&str> =
            self.seen.written.iter().filter(of_visible).map(|written| self.tool_of(written).name.as_str()).collect();
        let hidden: Vec<&str> =
            self.writers().map(|caller| caller.name.as_str()).filter(|name| !visible.contains(name)).collect();
        let visible: Vec<&str> = visible.into_iter().collect();
        let mut note = format!("read back where they were written, and nowhere else: texts of {}", names(&visible));
        if !hidden.is_empty() {
            let _ = write!(note, "; not read back: texts of {}", names(&hidden));
        }
        if let Some(left) = self.left_alone() {
            let _ = write!(note, "; not called: {}", left.sentence(self.config_source));
        }
        Reason::Measured(note)
    }

    /// Tools that may store a text of their own.
    fn writers(&self) -> impl Iterator<Item = &CanaryCaller> {
        self.callers.called.iter().filter(|caller| !caller.only_reads && !caller.is_shared)
    }

    /// A tool that may store a text and was left alone.
    fn left_alone(&self) -> Option<&LeftAlone> {
        self.callers.left_alone.iter().find(|left| !left.only_reads)
    }

    fn tool_of(&self, written: &SentCanary) -> &CanaryCaller {
        &self.callers.called[written.tool]
    }
}

/// The first names of a list, in backticks.
pub(crate) fn names<T: AsRef<str>>(names: &[T]) -> String {
    const MOST: usize = 5;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{}`", name.as_ref())).collect();
    let more = if names.len() > MOST { format!(" and {} more", names.len() - MOST) } else { String::new() };
    shown.join(", ") + &more
}

/// Whether the client says who it is, so that its sessions may be those of one user.
fn has_credentials(context: &CheckContext<'_>) -> bool {
    let server = context.suite.servers.get(context.server_name);
    server.is_none_or(|server| match &server.target {
        Target::Url(http) => !http.credentials.is_empty() || http.default_user().is_some(),
        Target::Command(_) | Target::Builtin(_) => false,
    })
}
