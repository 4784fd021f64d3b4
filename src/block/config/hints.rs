//! Tools that declare to change nothing, or nothing more the second time: the state before and after a call.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::HintSettings;
use super::watched_files::WatchedFiles;
use crate::check::shown_state::{CLOCK, ShownChange, ShownState, readers};
use crate::check::visit::{ShownText, VisitRound};
use crate::event::{CallPurpose, CheckResult, Finding, Outcome, Reason, RefusedCall};
use crate::plan::arguments::{ConfigSource, valid_arguments};
use crate::plan::{BoxFuture, Check, CheckContext, CloseServer, OpenServer};
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
}

/// The observations at one call.
struct Look {
    result: CheckResult,
    change: Option<HintedChange>,
    /// Where nothing changed.
    compared: Vec<String>,
}

async fn judge(check: &HintCheck, context: &CheckContext<'_>) -> CheckResult {
    let deadline = Instant::now() + check.settings.time;
    let first = match look(check, context, deadline, Duration::ZERO).await {
        Ok(look) => look,
        Err(result) => return *result,
    };
    let Some(first_change) = &first.change else { return first.unchanged() };
    let again = match look(check, context, deadline, CLOCK).await {
        Ok(again) => again,
        Err(result) => return *result,
    };
    if let Some(change) = &again.change {
        let found = finding(check, change, &again.result);
        return CheckResult { outcome: Outcome::Failed, findings: vec![found], ..again.result };
    }
    let advice = match first_change {
        HintedChange::Shown(_) => "name tools whose answers may differ after any call under `ignore`",
        HintedChange::Files(_) => "leave files that change by themselves out of `watch`",
    };
    let why = format!(
        "after a call of `{}` {}, but not after the same call in a new session, so nothing follows; {advice}",
        check.tool,
        first_change.text()
    );
    CheckResult { reason: Some(Reason::NotEvaluated(why)), outcome: Outcome::Inconclusive, ..again.result }
}

/// Calls the tool in a new session, and compares the state before and after; `time` is between the two readings that tell
/// what changes by itself.
async fn look(
    check: &HintCheck,
    context: &CheckContext<'_>,
    deadline: Instant,
    time: Duration,
) -> Result<Look, Box<CheckResult>> {
    let because = |outcome, reason| Box::new(CheckResult::because(outcome, reason));
    let config_source = ConfigSource::of(context.suite);
    let Some(tool) = context.catalog.tool(&check.tool) else {
        return Err(because(
            Outcome::Skipped,
            Reason::NotApplicable(format!("the server lists no tool `{}`", check.tool)),
        ));
    };
    let arguments = valid_arguments(context.suite, context.server_name, tool)
        .map_err(|why| because(Outcome::Skipped, why.skip_reason(&tool.name, config_source)))?;
    let Some(arguments) = (context.filled)(&arguments) else {
        let why = format!("the arguments of `{}` use a name that only a step captures", tool.name);
        return Err(because(Outcome::Skipped, Reason::NotApplicable(why)));
    };
    let ignored = |name: &str| check.settings.ignore.as_ref().is_some_and(|ignore| ignore.selects(name));
    let readers = readers(context, &|name| name != tool.name && !ignored(name));
    let opened = context.servers.open(OpenServer::FRESH).await;
    let session = opened.map_err(|found| Box::new(CheckResult::unavailable(found)))?;
    let mut seen = HintSearch {
        context,
        session: &session,
        round: VisitRound::new(context, check.settings.time),
        calls: Vec::new(),
    };
    let looked = async {
        if check.hint == Hint::Idempotent {
            seen.call(tool, &arguments).await?;
        }
        let files_before = files(check, context).await?;
        let before = ShownState::stable_over(context, deadline, &session, &readers, time).await;
        let files_read = files(check, context).await?;
        if check.hint == Hint::Idempotent {
            // Refusing what is done already changes nothing.
            seen.call_again(tool, &arguments).await;
        } else {
            seen.call(tool, &arguments).await?;
        }
        let after = ShownState::read(context, deadline, &session, &readers).await;
        let files_after = files(check, context).await?;
        let by_itself: BTreeSet<PathBuf> = files_before.changes(&files_read).into_iter().collect();
        let changed: Vec<PathBuf> =
            files_read.changes(&files_after).into_iter().filter(|path| !by_itself.contains(path)).collect();
        let change = if changed.is_empty() {
            before.first_change(&after).map(HintedChange::Shown)
        } else {
            Some(HintedChange::Files(changed))
        };
        if let Some(path) = missing(check, context).filter(|_| change.is_none()) {
            let why = format!(
                "there is nothing at `{path}`, which `watch` names, before the call or after it; write a path that is \
                 relative to the suite's file"
            );
            return Err(Unseen(Outcome::Inconclusive, Reason::NotEvaluated(why)));
        }
        let mut compared: Vec<String> = before.places().map(str::to_owned).collect();
        if files_after.count() > 0 {
            compared.push(format!("{} watched files", files_after.count()));
        }
        Ok((change, compared))
    };
    let looked = looked.await;
    let mut result = seen.result();
    if !result.findings.is_empty() {
        session.mark_exit_reported();
    }
    result.findings.extend(context.servers.close(&session, CloseServer::AfterTeardown).await.exit);
    if !result.findings.is_empty() {
        return Err(Box::new(CheckResult { outcome: Outcome::Failed, ..result }));
    }
    let is_late = Instant::now() >= deadline;
    let (change, compared) = match looked {
        Ok(looked) if !is_late => looked,
        Err(Unseen(outcome, reason)) if !is_late => {
            return Err(Box::new(CheckResult { outcome, reason: Some(reason), ..result }));
        }
        Ok(_) | Err(_) => {
            let why = "the time ended before everything was compared; raise `time`, or select `tools`".to_owned();
            let reason = Some(Reason::NotEvaluated(why));
            return Err(Box::new(CheckResult { outcome: Outcome::Inconclusive, reason, ..result }));
        }
    };
    Ok(Look { result, change, compared })
}

impl Look {
    fn unchanged(self) -> CheckResult {
        let (outcome, reason) = if self.compared.is_empty() {
            let why = "nothing that the server shows can be compared: no other tool that only reads, no resource, no list, \
                       and no folder under `watch`";
            (Outcome::Skipped, Reason::NotApplicable(why.to_owned()))
        } else {
            (Outcome::Passed, Reason::Measured(format!("the same before and after: {}", listed(&self.compared))))
        };
        CheckResult { outcome, reason: Some(reason), ..self.result }
    }
}

/// Why a call could not be looked at.
struct Unseen(Outcome, Reason);

/// The calls of the tool in a session.
struct HintSearch<'a> {
    context: &'a CheckContext<'a>,
    session: &'a Session,
    round: VisitRound<'a>,
    calls: Vec<ShownText>,
}

impl HintSearch<'_> {
    /// Calls the tool, which must serve the call.
    async fn call(&mut self, tool: &Tool, arguments: &serde_json::Value) -> Result<(), Unseen> {
        let Some(shown) = self.round.call(self.session, &tool.name, arguments).await else {
            let why = match self.round.failed() {
                Some(failed) => format!("the call of `{}` got no answer: {}", tool.name, failed.message),
                None => format!("no answer came in time from `{}`", tool.name),
            };
            return Err(Unseen(Outcome::Inconclusive, Reason::NotEvaluated(why)));
        };
        let is_served = shown.is_served;
        let refused = RefusedCall {
            call: shown.exchange.title.clone(),
            answer: shown.exchange.received.clone(),
            help: ConfigSource::of(self.context.suite).help_to_give_arguments(&tool.name),
            purpose: CallPurpose::Check,
        };
        self.calls.push(shown);
        if is_served { Ok(()) } else { Err(Unseen(Outcome::Inconclusive, Reason::ValidCallRefused(refused))) }
    }

    /// Calls the tool once more, whatever it answers.
    async fn call_again(&mut self, tool: &Tool, arguments: &serde_json::Value) {
        self.calls.extend(self.round.call(self.session, &tool.name, arguments).await);
    }

    fn result(mut self) -> CheckResult {
        CheckResult {
            findings: self.round.exit().into_iter().collect(),
            exchanges: self.calls.into_iter().map(|shown| shown.exchange).collect(),
            frames: self.round.take_frames(),
            protocol_revision: self.session.server.revision.to_string(),
            ..CheckResult::new(Outcome::Passed)
        }
    }
}

/// A watched path at which there is nothing.
fn missing<'a>(check: &'a HintCheck, context: &CheckContext<'_>) -> Option<&'a str> {
    let mut paths = check.settings.watch.iter().map(|path| path.value.as_str());
    paths.find(|path| !context.suite.folder.join(path).exists())
}

/// The watched files; reading many of them must not hold up the session.
async fn files(check: &HintCheck, context: &CheckContext<'_>) -> Result<WatchedFiles, Unseen> {
    if check.settings.watch.is_empty() {
        return Ok(WatchedFiles::default());
    }
    let folder = context.suite.folder.clone();
    let watch: Vec<String> = check.settings.watch.iter().map(|path| path.value.clone()).collect();
    let read = tokio::task::spawn_blocking(move || WatchedFiles::read(&folder, &watch)).await;
    let read = read.unwrap_or_else(|error| Err(format!("the watched files could not be read: {error}")));
    read.map_err(|why| Unseen(Outcome::Inconclusive, Reason::NotEvaluated(why)))
}

fn finding(check: &HintCheck, change: &HintedChange, result: &CheckResult) -> Finding {
    let (tool, exchange) = (&check.tool, result.exchanges.len().checked_sub(1));
    let what = change.text();
    let (code, message, help) = match check.hint {
        Hint::ReadOnly => (
            "read-only-tool-writes",
            format!("`{tool}` declares `readOnlyHint: true`, but after a call of it {what}"),
            "say `readOnlyHint: false`, or change nothing: clients call read-only tools without asking their user",
        ),
        Hint::Idempotent => (
            "idempotent-tool-repeats",
            format!("`{tool}` declares `idempotentHint: true`, but after the same call once more {what} again"),
            "say `idempotentHint: false`, or let a repeated call change nothing: clients repeat calls after a lost answer",
        ),
    };
    let found = Finding { help: Some(help.to_owned()), exchange, ..Finding::new(code, message) };
    let frame = exchange.and_then(|at| result.exchanges[at].answer_frame);
    let found = Finding { frame, ..found }.with_evidence("reproduced", "once more, in a new session");
    match change {
        HintedChange::Shown(change) => {
            found.with_evidence("before", change.before.clone()).with_evidence("after", change.after.clone())
        }
        HintedChange::Files(paths) => {
            let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            found.with_evidence("changed files", paths.join("\n"))
        }
    }
}

/// The first items of a list.
fn listed(items: &[String]) -> String {
    const MOST: usize = 5;
    let more = if items.len() > MOST { format!(" and {} more", items.len() - MOST) } else { String::new() };
    items.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ") + &more
}
