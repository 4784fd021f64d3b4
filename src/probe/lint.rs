//! One lint on the tools as the server listed them; nothing is said to the server.

use std::collections::BTreeSet;

use super::{Ground, Probed};
use crate::event::{self, Finding, Outcome};
use crate::lint::{Found, Level, Lint};
use crate::suite::SchemaLint;

/// How many of the places are listed.
const LISTED: usize = 9;

pub(super) fn run(lint: &Lint, level: Level, settings: &SchemaLint, ground: &Ground<'_>) -> Probed {
    let tools = settings.of(&ground.catalog.tools);
    let (allowed, found): (Vec<Found>, Vec<Found>) =
        lint.judge(&tools, settings.limits).into_iter().partition(|one| settings.excuse(lint, &one.tool).is_some());
    let binding = if level == Level::Error { event::Level::Must } else { event::Level::Should };
    let mut findings: Vec<Finding> = finding(lint, &found).into_iter().collect();
    findings.extend(needless(lint, settings, &allowed));
    findings.iter_mut().for_each(|finding| finding.level = binding);
    let outcome = match (findings.is_empty(), level) {
        (true, _) => Outcome::Passed,
        (false, Level::Error) => Outcome::Failed,
        (false, Level::Warning | Level::Advice) => Outcome::Warned,
    };
    let excused = allowed.first().and_then(|one| settings.excuse(lint, &one.tool));
    let reason = excused.map(|excuse| format!("allowed: {}", excuse.reason));
    Probed { reason, findings, ..Probed::because(outcome, "") }
}

/// One finding for all places, so that a report shows what is wrong once and where it is below.
fn finding(lint: &Lint, found: &[Found]) -> Option<Finding> {
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

fn line(found: &Found) -> String {
    format!("{}: {}", place(found), found.says)
}

fn place(found: &Found) -> String {
    [found.tool.as_str(), found.at.as_str()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What is allowed and is not there hides what may come.
fn needless(lint: &Lint, settings: &SchemaLint, allowed: &[Found]) -> Vec<Finding> {
    let own = settings.allow.iter().filter(|entry| entry.lint.value == lint.id);
    let idle =
        own.filter(|entry| !allowed.iter().any(|one| entry.tool.as_ref().is_none_or(|tool| tool.value == one.tool)));
    idle.map(|entry| {
        let of = entry.tool.as_ref().map(|tool| format!(" in the tool `{}`", tool.value)).unwrap_or_default();
        let help = Some("take it out of `allow`".to_owned());
        Finding { help, ..Finding::new("needless-allow", format!("`{}` is allowed and finds nothing{of}", lint.id)) }
    })
    .collect()
}
