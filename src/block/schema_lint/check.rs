//! One lint on the tools as the server listed them; nothing is said to the server.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::SchemaLint;
use crate::event::{self, CheckResult, Finding, Outcome, Reason};
use crate::lint::{Lint, LintFinding, LintLevel};
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::source::Located;

/// The most places that are listed.
const LISTED: usize = 9;

/// Looks for one thing in the tools as they are listed.
#[derive(Debug)]
pub(crate) struct LintCheck {
    pub(crate) lint: &'static Lint,
    pub(crate) level: LintLevel,
    pub(crate) settings: Arc<SchemaLint>,
}

impl Check for LintCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self.lint, self.level, &self.settings, &context) })
    }

    fn sends(&self) -> bool {
        false
    }
}

fn run(lint: &Lint, level: LintLevel, settings: &SchemaLint, context: &CheckContext<'_>) -> CheckResult {
    let tools = settings.of(&context.catalog.tools);
    let (allowed, found): (Vec<LintFinding>, Vec<LintFinding>) =
        lint.judge(&tools, settings.limits).into_iter().partition(|one| settings.excuse(lint, &one.tool).is_some());
    let binding =
        if level == LintLevel::Error { event::RequirementLevel::Must } else { event::RequirementLevel::Should };
    let told = finding(lint, &found).map(|finding| Finding { level: binding, ..finding });
    let mut findings: Vec<Finding> = told.into_iter().collect();
    findings.extend(needless(lint, settings, &allowed, context));
    let outcome = match (findings.is_empty(), level) {
        (true, _) => Outcome::Passed,
        (false, LintLevel::Error) if !found.is_empty() => Outcome::Failed,
        (false, LintLevel::Error | LintLevel::Warning | LintLevel::Advice) => Outcome::Warned,
    };
    let excused = allowed.first().and_then(|one| settings.excuse(lint, &one.tool));
    let reason = excused.map(|excuse| Reason::Allowed(excuse.reason.clone()));
    // The frame of the listing shows what was judged.
    let frames = context.catalog.tools_frame.into_iter().collect();
    CheckResult { reason, findings, frames, ..CheckResult::new(outcome) }
}

/// One finding for all places, so that a report shows what is wrong once and where it is below.
fn finding(lint: &Lint, found: &[LintFinding]) -> Option<Finding> {
    let first = found.first()?;
    let help = Some(format!("{}; {}", lint.cure, lint.link));
    if found.len() == 1 {
        let of = if first.tool.is_empty() { String::new() } else { format!("the tool `{}`: ", first.tool) };
        let path = Some(place(first)).filter(|path| !path.is_empty());
        return Some(Finding { path, help, ..Finding::new(lint.id, format!("{of}{}", first.says)) });
    }
    let tools: BTreeSet<&str> = found.iter().map(|one| one.tool.as_str()).collect();
    let where_ = match tools.len() {
        1 => format!("{} times in the tool `{}`", found.len(), first.tool),
        tools if tools == found.len() => format!("{tools} tools"),
        tools => format!("{} times in {tools} tools", found.len()),
    };
    let mut lines: Vec<String> = found.iter().take(LISTED).map(line).collect();
    if found.len() > LISTED {
        lines.push(format!("and {} more", found.len() - LISTED));
    }
    let finding = Finding::new(lint.id, format!("{}: {where_}", lint.says));
    Some(Finding { help, ..finding }.with_evidence("found", lines.join("\n")))
}

fn line(found: &LintFinding) -> String {
    format!("{}: {}", place(found), found.says)
}

fn place(found: &LintFinding) -> String {
    [found.tool.as_str(), found.at.as_str()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// An entry that matches nothing would hide later findings; with several servers it may match on another.
fn needless(lint: &Lint, settings: &SchemaLint, allowed: &[LintFinding], context: &CheckContext<'_>) -> Vec<Finding> {
    let is_only_server = context.suite.servers.len() == 1;
    let is_meant = |tool: &Located<String>| context.catalog.tool(&tool.value).is_some();
    let own = settings.allow.iter().filter(|entry| entry.lint.value == lint.id);
    let own = own.filter(|entry| is_only_server || entry.tool.as_ref().is_some_and(is_meant));
    let idle =
        own.filter(|entry| !allowed.iter().any(|one| entry.tool.as_ref().is_none_or(|tool| tool.value == one.tool)));
    idle.map(|entry| {
        let of = entry.tool.as_ref().map(|tool| format!(" in the tool `{}`", tool.value)).unwrap_or_default();
        let help = Some("take it out of `allow`".to_owned());
        let says = format!("`{}` is allowed and finds nothing{of}", lint.id);
        Finding { help, level: event::RequirementLevel::Should, ..Finding::new("needless-allow", says) }
    })
    .collect()
}
