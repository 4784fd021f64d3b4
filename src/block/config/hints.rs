//! Tools that declare to change nothing, or nothing more the second time: the state before and after a call.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::HintSettings;
use super::watched_files::WatchedFiles;
use crate::check::evidence::{beginning_of_list, finding_with_help, valid_call_refused};
use crate::check::shown_state::{CLOCK, ShownChange, StateView};
use crate::check::visit::{ShownText, VisitRound};
use crate::check::{CheckEnd, CheckLimits, Confirmation, SeenOnce};
use crate::event::{CheckResult, Outcome, Reason};
use crate::plan::arguments::{ConfigSource, valid_arguments};
use crate::plan::{BoxFuture, Check, CheckContext, OpenServer};
use crate::session::Session;
use crate::wire::Tool;

/// A hint that can be seen to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hint {
    ReadOnly,
    Idempotent,
}

impl Hint {
    pub(crate) const ALL: [Self; 2] = [Self::ReadOnly, Self::Idempotent];

    /// The hint of a tool; one that changes nothing is idempotent, too.
    pub(crate) fn of(tool: &Tool) -> Option<Self> {
        let declares = |hint: &str| tool.raw["annotations"][hint] == true;
        if declares("readOnlyHint") {
            Some(Self::ReadOnly)
        } else {
            declares("idempotentHint").then_some(Self::Idempotent)
        }
    }

    /// The words behind the name of the tool in the name of its case.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "changes nothing",
            Self::Idempotent => "changes once",
        }
    }

    pub(crate) fn judges(self) -> &'static str {
        match self {
            Self::ReadOnly => "CONFIG-READONLY-HINT",
            Self::Idempotent => "CONFIG-IDEMPOTENT-HINT",
        }
    }
}

/// Checks a hint of a tool.
#[derive(Debug)]
pub(crate) struct HintCheck {
    pub(crate) settings: Arc<HintSettings>,
    pub(crate) tool: String,
    pub(crate) hint: Hint,
}

impl Check for HintCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { judge(self, &context).await })
    }
}

/// A change that a call made.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HintedChange {
    Shown(ShownChange),
    Files(Vec<PathBuf>),
}

impl HintedChange {
    /// The change in words.
    fn text(&self) -> String {
        match self {
            Self::Shown(change) => format!("{} has changed", change.place),
            Self::Files(paths) => format!("`{}` has changed", paths[0].display()),
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            Self::Shown(_) => "name tools whose answers may differ after any call under `ignore`",
            Self::Files(_) => "leave files that change by themselves out of `watch`",
        }
    }
}

/// The observations at one call.
struct ObservedCall {
    change: Option<HintedChange>,
    /// The places where nothing changed.
    compared: Vec<String>,
    /// The messages, without a verdict.
    result: CheckResult,
}

async fn judge(check: &HintCheck, context: &CheckContext<'_>) -> CheckResult {
    let limits = CheckLimits::new(check.settings.time, "raise `time`, or select `tools`");
    let first = match observe_call(check, context, &limits, Duration::ZERO).await {
        Ok(first) => first,
        Err(result) => return *result,
    };
    let Some(first_change) = first.change else {
        return attach(verdict_without_change(&first.compared), first.result);
    };
    match observe_call(check, context, &limits, CLOCK).await {
        Ok(again) => {
            let verdict = verdict_on_change(check.hint, &check.tool, &first_change, again.change.as_ref());
            attach(verdict, again.result)
        }
        Err(result) => *result,
    }
}

/// The verdict with the messages that show it; findings are about the last one.
fn attach(verdict: Result<CheckResult, CheckEnd>, messages: CheckResult) -> CheckResult {
    let mut result = verdict.unwrap_or_else(CheckEnd::into_result);
    let last = messages.exchanges.len().checked_sub(1);
    for found in &mut result.findings {
        found.exchange = last;
        found.frame = last.and_then(|at| messages.exchanges[at].answer_frame);
    }
    CheckResult { outcome: result.outcome, reason: result.reason, findings: result.findings, ..messages }
}

/// The verdict where nothing has changed.
fn verdict_without_change(compared: &[String]) -> Result<CheckResult, CheckEnd> {
    if compared.is_empty() {
        return Err(CheckEnd::not_applicable(
            "nothing that the server shows can be compared: no other tool that only reads, no resource, no list, and no \
             folder under `watch`",
        ));
    }
    let note = format!("the same before and after: {}", beginning_of_list(compared, compared.len()));
    Ok(CheckResult::because(Outcome::Passed, Reason::Measured(note)))
}

/// The verdict on a change: it breaks the hint if the same call in another session makes one, too.
fn verdict_on_change(
    hint: Hint,
    tool: &str,
    first: &HintedChange,
    again: Option<&HintedChange>,
) -> Result<CheckResult, CheckEnd> {
    let confirmation = Confirmation::of_try(Ok(again.is_some()));
    let shown = again.unwrap_or(first);
    let text = shown.text();
    let found = match hint {
        Hint::ReadOnly => finding_with_help(
            "read-only-tool-writes",
            format!("`{tool}` declares `readOnlyHint: true`, but after a call of it {text}"),
            "say `readOnlyHint: false`, or change nothing: clients call read-only tools without asking their user",
        ),
        Hint::Idempotent => finding_with_help(
            "idempotent-tool-repeats",
            format!("`{tool}` declares `idempotentHint: true`, but after the same call once more {text} again"),
            "say `idempotentHint: false`, or let a repeated call change nothing: clients repeat calls after a lost answer",
        ),
    };
    let found = match shown {
        HintedChange::Shown(change) => {
            found.with_evidence("before", change.before.clone()).with_evidence("after", change.after.clone())
        }
        HintedChange::Files(paths) => {
            let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            found.with_evidence("changed files", paths.join("\n"))
        }
    };
    let nothing = SeenOnce::ProvesNothing(format!(
        "after a call of `{tool}` {text}, but not after the same call in a new session, so nothing follows; {}",
        first.advice()
    ));
    Err(confirmation.conclude(found, "in a new session", nothing))
}

/// Calls the tool in a new session, and compares the state before and after; `pause` is between the two readings that tell
/// what changes by itself.
async fn observe_call(
    check: &HintCheck,
    context: &CheckContext<'_>,
    limits: &CheckLimits,
    pause: Duration,
) -> Result<ObservedCall, Box<CheckResult>> {
    let early = |end: CheckEnd| Box::new(end.into_result());
    let Some(tool) = context.catalog.tool(&check.tool) else {
        return Err(early(CheckEnd::not_applicable(format!("the server lists no tool `{}`", check.tool))));
    };
    let arguments = arguments_of(context, tool).map_err(early)?;
    let is_ignored = |name: &str| check.settings.ignore.as_ref().is_some_and(|ignore| ignore.selects(name));
    let is_read = |name: &str| name != tool.name && !is_ignored(name);
    let view = StateView::of_tools(context, limits.clone(), &is_read);
    let session = context.servers.open(OpenServer::FRESH).await.map_err(|found| early(CheckEnd::unavailable(found)))?;
    let round = VisitRound::new(context, limits.clone());
    let mut call = HintedCall { check, context, session: &session, tool, arguments, view, round, calls: Vec::new() };
    let observed = call.observe(pause).await;
    let HintedCall { mut round, calls, .. } = call;
    let messages = CheckResult {
        exchanges: calls.into_iter().map(|shown| shown.exchange).collect(),
        frames: round.take_frames(),
        protocol_revision: session.server.revision.to_string(),
        ..CheckResult::new(Outcome::Passed)
    };
    round.close(session).await;
    let hang = if observed.is_err() { round.find_silence().await } else { None };
    if let Some(exit) = round.exit().or(hang) {
        return Err(Box::new(CheckResult { outcome: Outcome::Failed, findings: vec![exit], ..messages }));
    }
    match limits.end_if_over().map_or(observed, Err) {
        Ok(observed) => Ok(ObservedCall { result: messages, ..observed }),
        Err(end) => Err(Box::new(attach(Err(end), messages))),
    }
}

/// Valid arguments of the tool.
fn arguments_of(context: &CheckContext<'_>, tool: &Tool) -> Result<Value, CheckEnd> {
    let arguments = valid_arguments(context.suite, context.server_name, tool)
        .map_err(|why| CheckEnd::Skipped(why.skip_reason(&tool.name, ConfigSource::of(context.suite))))?;
    context.fill(&arguments).ok_or_else(|| {
        CheckEnd::not_applicable(format!("the arguments of `{}` use a name that only a step captures", tool.name))
    })
}

/// A tool that is called in a session.
struct HintedCall<'a, 's> {
    check: &'a HintCheck,
    context: &'a CheckContext<'a>,
    session: &'s Session,
    tool: &'a Tool,
    arguments: Value,
    view: StateView<'a>,
    round: VisitRound<'a>,
    calls: Vec<ShownText>,
}

impl HintedCall<'_, '_> {
    async fn observe(&mut self, pause: Duration) -> Result<ObservedCall, CheckEnd> {
        let is_repeated = self.check.hint == Hint::Idempotent;
        if is_repeated {
            self.call().await?;
        }
        let files_before = self.files().await?;
        let before = self.view.observe_stable(self.session, pause).await;
        let files_read = self.files().await?;
        if is_repeated {
            // Refusing what is done already changes nothing.
            self.calls.extend(self.round.call(self.session, &self.tool.name, &self.arguments).await);
        } else {
            self.call().await?;
        }
        let after = self.view.observe(self.session).await;
        let files_after = self.files().await?;
        let changed = changed_by_call(&files_before, &files_read, &files_after);
        let change = if changed.is_empty() {
            before.first_change(&after).map(HintedChange::Shown)
        } else {
            Some(HintedChange::Files(changed))
        };
        if let Some(path) = self.missing_path().filter(|_| change.is_none()) {
            return Err(CheckEnd::inconclusive(format!(
                "there is nothing at `{path}`, which `watch` names, before the call or after it; write a path that is \
                 relative to the suite's file"
            )));
        }
        let mut compared: Vec<String> = before.places().map(str::to_owned).collect();
        if files_after.count() > 0 {
            compared.push(format!("{} watched files", files_after.count()));
        }
        Ok(ObservedCall { change, compared, result: CheckResult::new(Outcome::Passed) })
    }

    /// Calls the tool, which must serve the call.
    async fn call(&mut self) -> Result<(), CheckEnd> {
        let tool = &self.tool.name;
        let Some(shown) = self.round.call(self.session, tool, &self.arguments).await else {
            return Err(CheckEnd::inconclusive(match self.round.failure() {
                Some(failure) => format!("the call of `{tool}` got no answer: {}", failure.message),
                None => format!("no answer came in time from `{tool}`"),
            }));
        };
        let help = ConfigSource::of(self.context.suite).help_to_give_arguments(tool);
        let refusal = valid_call_refused(tool, shown.exchange.received.clone(), help);
        let is_served = shown.is_served;
        self.calls.push(shown);
        if is_served { Ok(()) } else { Err(CheckEnd::Inconclusive(refusal)) }
    }

    /// A watched path at which there is nothing.
    fn missing_path(&self) -> Option<&str> {
        let mut paths = self.check.settings.watch.iter().map(|path| path.value.as_str());
        paths.find(|path| !self.context.suite.folder.join(path).exists())
    }

    /// The watched files; reading many of them must not hold up the session.
    async fn files(&self) -> Result<WatchedFiles, CheckEnd> {
        let watch: Vec<String> = self.check.settings.watch.iter().map(|path| path.value.clone()).collect();
        if watch.is_empty() {
            return Ok(WatchedFiles::default());
        }
        let folder = self.context.suite.folder.clone();
        let read = tokio::task::spawn_blocking(move || WatchedFiles::read(&folder, &watch)).await;
        let read = read.unwrap_or_else(|error| Err(format!("the watched files could not be read: {error}")));
        read.map_err(CheckEnd::inconclusive)
    }
}

/// The files that changed with the call, and not already while the state was read.
fn changed_by_call(before: &WatchedFiles, read: &WatchedFiles, after: &WatchedFiles) -> Vec<PathBuf> {
    let by_itself: BTreeSet<PathBuf> = before.changes(read).into_iter().collect();
    read.changes(after).into_iter().filter(|path| !by_itself.contains(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(place: &str) -> HintedChange {
        let (before, after) = ("1".to_owned(), "2".to_owned());
        HintedChange::Shown(ShownChange { place: place.to_owned(), before, after })
    }

    #[test]
    fn a_change_breaks_a_hint_if_it_shows_twice() {
        let files = HintedChange::Files(vec!["log.txt".into(), "state.json".into()]);
        for (hint, first, again, outcome, says) in [
            (
                Hint::ReadOnly,
                shown("`list`"),
                Some(shown("`list`")),
                Outcome::Failed,
                "a call of it `list` has changed",
            ),
            (Hint::ReadOnly, files.clone(), Some(files.clone()), Outcome::Failed, "a call of it `log.txt` has changed"),
            (Hint::Idempotent, shown("`a`"), Some(shown("`b`")), Outcome::Failed, "once more `b` has changed again"),
            (Hint::ReadOnly, shown("`list`"), None, Outcome::Inconclusive, "under `ignore`"),
            (Hint::Idempotent, files, None, Outcome::Inconclusive, "out of `watch`"),
        ] {
            let result = verdict_on_change(hint, "get", &first, again.as_ref()).unwrap_or_else(CheckEnd::into_result);
            let message = result.findings.first().map_or_else(|| format!("{:?}", result.reason), |f| f.message.clone());
            assert!(result.outcome == outcome && message.contains(says), "{:?} {message}", result.outcome);
        }
    }

    #[test]
    fn nothing_follows_where_nothing_was_compared() {
        for (compared, outcome) in
            [(Vec::new(), Outcome::Skipped), (vec!["the answer of `list`".to_owned()], Outcome::Passed)]
        {
            let result = verdict_without_change(&compared).unwrap_or_else(CheckEnd::into_result);
            assert_eq!(result.outcome, outcome, "{compared:?}");
        }
    }

    #[test]
    fn files_that_change_while_the_state_is_read_are_not_the_calls() {
        let files = |contents: &[(&str, u64)]| WatchedFiles::of_test(contents);
        for (before, read, after, expected) in [
            (&[("a", 1)][..], &[("a", 1)][..], &[("a", 2)][..], &["a"][..]),
            (&[("a", 1)], &[("a", 1)], &[("a", 1), ("b", 1)], &["b"]),
            (&[("a", 1)], &[("a", 1)], &[], &["a"]),
            (&[("log", 1)], &[("log", 2)], &[("log", 3)], &[]),
            (&[("log", 1)], &[("log", 2)], &[("log", 2)], &[]),
        ] {
            let changed = changed_by_call(&files(before), &files(read), &files(after));
            assert_eq!(changed, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{after:?}");
        }
    }

    #[test]
    fn only_hints_that_are_true_are_promises() {
        for (annotations, expected) in [
            (serde_json::json!({"readOnlyHint": true}), Some(Hint::ReadOnly)),
            (serde_json::json!({"idempotentHint": true}), Some(Hint::Idempotent)),
            // What changes nothing changes nothing the second time either.
            (serde_json::json!({"readOnlyHint": true, "idempotentHint": true}), Some(Hint::ReadOnly)),
            (serde_json::json!({"readOnlyHint": false, "idempotentHint": true}), Some(Hint::Idempotent)),
            (serde_json::json!({"readOnlyHint": false, "destructiveHint": true}), None),
            (serde_json::json!({"readOnlyHint": "true"}), None),
            (Value::Null, None),
        ] {
            let tool = Tool::new(serde_json::json!({"name": "get", "annotations": annotations}));
            assert_eq!(Hint::of(&tool), expected, "{annotations}");
        }
    }

    #[test]
    fn a_verdict_is_shown_by_the_last_message() {
        let exchange = |frame| crate::event::Exchange {
            answer_frame: Some(frame),
            ..ShownText::of_test("get", "", true).exchange
        };
        let messages = |frames: &[u32]| CheckResult {
            exchanges: frames.iter().copied().map(exchange).collect(),
            ..CheckResult::new(Outcome::Passed)
        };
        let wrong = || verdict_on_change(Hint::ReadOnly, "get", &shown("`a`"), Some(&shown("`a`")));
        for (frames, exchange, frame) in [(&[4, 9][..], Some(1), Some(9)), (&[4], Some(0), Some(4)), (&[], None, None)]
        {
            let result = attach(wrong(), messages(frames));
            assert_eq!((result.outcome, result.exchanges.len()), (Outcome::Failed, frames.len()));
            assert_eq!((result.findings[0].exchange, result.findings[0].frame), (exchange, frame));
        }
        let passed = attach(verdict_without_change(&["the list".to_owned()]), messages(&[4]));
        assert_eq!((passed.outcome, passed.exchanges.len()), (Outcome::Passed, 1));
    }
}
