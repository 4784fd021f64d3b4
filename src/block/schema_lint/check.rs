//! One lint on the tools as the server listed them; nothing is said to the server.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::SchemaLint;
use crate::event::{self, CheckResult, Finding, Outcome, Reason};
use crate::lint::{Lint, LintFinding, LintLevel};
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::source::Located;
use crate::wire::Catalog;

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
        let of = LintedTools { catalog: context.catalog, is_only_server: context.suite.servers.len() == 1 };
        Box::pin(async move { run(self.lint, self.level, &self.settings, &of) })
    }

    fn sends(&self) -> bool {
        false
    }
}

/// The tools that a lint looks at, and the rest of the server and the suite.
struct LintedTools<'a> {
    catalog: &'a Catalog,
    /// The suite has no other server.
    is_only_server: bool,
}

fn run(lint: &Lint, level: LintLevel, settings: &SchemaLint, of: &LintedTools<'_>) -> CheckResult {
    let tools = settings.of(&of.catalog.tools);
    let (allowed, found): (Vec<LintFinding>, Vec<LintFinding>) =
        lint.judge(&tools, settings.limits()).into_iter().partition(|one| settings.excuse(lint, &one.tool).is_some());
    let is_binding = settings.is_binding(lint, level);
    let binding = if is_binding { event::RequirementLevel::Must } else { event::RequirementLevel::Should };
    let told = finding(lint, &found).map(|finding| Finding { level: binding, ..finding });
    let mut findings: Vec<Finding> = told.into_iter().collect();
    findings.extend(needless(lint, settings, &allowed, of));
    let outcome = match (findings.is_empty(), is_binding && !found.is_empty()) {
        (true, _) => Outcome::Passed,
        (false, true) => Outcome::Failed,
        (false, false) => Outcome::Warned,
    };
    let excused = allowed.first().and_then(|one| settings.excuse(lint, &one.tool));
    let reason = excused.map(|excuse| Reason::Allowed(excuse.reason.clone()));
    // The frame of the listing shows what was judged.
    let frames = of.catalog.tools_frame.into_iter().collect();
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
fn needless(lint: &Lint, settings: &SchemaLint, allowed: &[LintFinding], of: &LintedTools<'_>) -> Vec<Finding> {
    let is_meant = |tool: &Located<String>| of.catalog.tool(&tool.value).is_some();
    let own = settings.allow.0.iter().filter(|entry| entry.lint.value == lint.id);
    let own = own.filter(|entry| of.is_only_server || entry.tool.as_ref().is_some_and(is_meant));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Tool;
    use serde_json::json;

    /// What a lint says of tools without a description, with these settings.
    fn outcome_with(settings: &str, names: &[&str], level: LintLevel, is_only_server: bool) -> String {
        let tools = names.iter().map(|name| Tool::new(json!({"name": name, "inputSchema": {"type": "object"}})));
        let catalog = Catalog { tools: tools.collect(), ..Catalog::default() };
        let settings: SchemaLint = crate::check::tests::settings(settings);
        let lint = Lint::of("no-description").unwrap();
        let result = run(lint, level, &settings, &LintedTools { catalog: &catalog, is_only_server });
        let reason = result.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let messages: Vec<&str> = result.findings.iter().map(|found| found.message.as_str()).collect();
        format!("{}{reason}: {}", result.outcome.as_str(), messages.join("; "))
    }

    fn outcome(allow: &str, names: &[&str], level: LintLevel, is_only_server: bool) -> String {
        outcome_with(&format!("{{ level: advice, allow: {allow} }}"), names, level, is_only_server)
    }

    #[test]
    fn the_suite_says_which_findings_fail() {
        use LintLevel::{Advice, Error, Warning};
        for (settings, level, expected) in [
            ("{}", Warning, "warned"),
            ("{ fail_on: warning }", Warning, "failed"),
            ("{ fail_on: warning }", Error, "failed"),
            ("{ fail_on: warning }", Advice, "warned"),
            ("{ fail_on: warning, warn: [no-description] }", Warning, "warned"),
            ("{ fail_on: warning, warn: [no-hints] }", Warning, "failed"),
            ("{ warn: [no-description] }", Error, "warned"),
        ] {
            let seen = outcome_with(settings, &["get"], level, true);
            assert!(seen.starts_with(&format!("{expected}: ")), "{settings} {level:?}: {seen}");
        }
    }

    #[test]
    fn a_lint_fails_or_warns_unless_its_finding_is_allowed() {
        for (allow, names, level, expected) in [
            ("{}", &["get"][..], LintLevel::Error, "failed: the tool `get`: "),
            ("{}", &["get"], LintLevel::Warning, "warned: the tool `get`: "),
            ("{}", &["get", "set"], LintLevel::Error, "failed: "),
            ("{ no-description: later }", &["get"], LintLevel::Error, "passed (allowed: later): "),
            (
                "{ no-description: { get: later } }",
                &["get", "set"],
                LintLevel::Error,
                "failed (allowed: later): the tool `set`: ",
            ),
            // An entry that finds nothing would hide what comes.
            ("{ no-description: { set: later } }", &["get"], LintLevel::Error, "failed: the tool `get`: "),
            (
                "{ no-description: later }",
                &[],
                LintLevel::Error,
                "warned: `no-description` is allowed and finds nothing",
            ),
            ("{ no-name: later }", &[], LintLevel::Error, "passed: "),
        ] {
            let seen = outcome(allow, names, level, true);
            assert!(seen.starts_with(expected), "{allow} {names:?}: {seen}");
        }
    }

    #[test]
    fn an_entry_may_be_for_another_server() {
        let allow = "{ no-description: { get: later } }";
        assert!(outcome(allow, &[], LintLevel::Error, true).starts_with("warned: "));
        assert!(outcome(allow, &[], LintLevel::Error, false).starts_with("passed: "));
    }

    #[test]
    fn several_places_are_one_finding() {
        let lint = Lint::of("no-description").unwrap();
        let found = |places: &[(&str, &str)]| {
            let place = |(tool, at): &(&str, &str)| LintFinding {
                tool: (*tool).to_owned(),
                at: (*at).to_owned(),
                says: "x".to_owned(),
            };
            let places: Vec<LintFinding> = places.iter().map(place).collect();
            finding(lint, &places).map(|found| found.message.rsplit(": ").next().unwrap_or_default().to_owned())
        };
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("a", "x"), ("a", "y")]).as_deref(), Some("2 times in the tool `a`"));
        assert_eq!(found(&[("a", "x"), ("b", "x")]).as_deref(), Some("2 tools"));
        assert_eq!(found(&[("a", "x"), ("a", "y"), ("b", "x")]).as_deref(), Some("3 times in 2 tools"));
    }
}
