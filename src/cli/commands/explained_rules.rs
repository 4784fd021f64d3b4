//! `mcprove compliance --explain` and `--list`: explains the rules of the specification.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use crate::block::compliance::rules_of;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::source::file::{WRITTEN, read_text};
use crate::source::{Diagnostic, Sources, did_you_mean};
use crate::suite::{Carrier, Rule, RuleLevel, Test, TestNeed};
use crate::wire::Revision;

/// The rules to explain or to list.
pub(crate) struct ExplainRequest<'a> {
    /// The rule; `None` for a list of all.
    pub(crate) id: Option<&'a str>,
    /// The revisions of interest; empty for all.
    pub(crate) revisions: &'a [String],
    /// Rule books to use instead of the built-in ones.
    pub(crate) rules: &'a [PathBuf],
}

/// The ids of the built-in rules.
pub(crate) fn rule_ids(console: &Console) -> Result<Vec<String>, Exit> {
    let mut sources = Sources::default();
    let asked = ExplainRequest { id: None, revisions: &[], rules: &[] };
    let tests = rules(&asked, &mut sources).map_err(|mistakes| console.refuse(&mistakes, &sources))?;
    Ok(tests.iter().filter_map(|test| Some(test.extras.rule.as_deref()?.id.clone())).collect())
}

/// The text about a rule, or the list of all.
pub(crate) fn explain(asked: &ExplainRequest<'_>, console: &Console) -> Result<String, Exit> {
    if let Some(word) = asked.revisions.iter().find(|word| *word != "all" && Revision::parse(word).is_none()) {
        let help = did_you_mean(word, Revision::ALL.map(Revision::as_str));
        return Err(console.fail(Exit::Usage, format!("there is no revision `{word}`"), help.as_deref()));
    }
    let mut sources = Sources::default();
    let tests = rules(asked, &mut sources).map_err(|mistakes| console.refuse(&mistakes, &sources))?;
    let is_meant = |rule: &Rule| {
        let holds_in = |word: &String| word == "all" || rule.revisions.iter().any(|known| word == known.as_str());
        asked.revisions.is_empty() || asked.revisions.iter().any(holds_in)
    };
    let ruled = tests.iter().filter_map(|test| Some((test.as_ref(), test.extras.rule.as_deref()?)));
    let ruled: Vec<(&Test, &Rule)> = ruled.filter(|(_, rule)| is_meant(rule)).collect();
    let Some(id) = asked.id else { return Ok(list(&ruled)) };
    let found = ruled.iter().filter(|(_, rule)| rule.is_named(id));
    let found: Vec<String> = found.map(|(check, rule)| explanation(check, rule, &sources)).collect();
    if found.is_empty() {
        let help = did_you_mean(id, ruled.iter().map(|(_, rule)| rule.id.as_str()));
        let help = help.unwrap_or_else(|| "`mcprove compliance --list` lists all of them".to_owned());
        return Err(console.fail(Exit::Usage, format!("there is no rule `{id}`"), Some(&help)));
    }
    Ok(found.join("\n"))
}

/// The tests of the rule books.
fn rules(asked: &ExplainRequest<'_>, sources: &mut Sources) -> Result<Vec<Arc<Test>>, Vec<Diagnostic>> {
    let mut compliance = json!({});
    if !asked.rules.is_empty() {
        compliance["rules"] = asked.rules.iter().map(|path| path.display().to_string()).collect();
    }
    let text = json!({"suite": "rules", "server": {"builtin": "demo"}, "compliance": compliance}).to_string();
    let name = Path::new("rules");
    let files = |path: &Path| if path == name { Ok(text.clone()) } else { read_text(path, WRITTEN) };
    rules_of(name, &files, sources)
}

fn list(ruled: &[(&Test, &Rule)]) -> String {
    let mut text = String::new();
    let width = ruled.iter().map(|(_, rule)| rule.id.len()).max().unwrap_or_default();
    let mut page = String::new();
    for (test, rule) in ruled {
        let newest = rule.revisions.last().map_or("", |revision| revision.as_str());
        let own = format!("{newest} {}", rule.section.split('#').next().unwrap_or_default());
        if own != page {
            let _ = writeln!(text, "{}{own}", if page.is_empty() { "" } else { "\n" });
            page = own;
        }
        let level = if rule.level == RuleLevel::Must { "must  " } else { "should" };
        let _ = writeln!(text, "  {:<width$}  {level}  {}", rule.id, test.name.value);
    }
    text
}

fn explanation(check: &Test, rule: &Rule, sources: &Sources) -> String {
    let newest = rule.revisions.last().map_or("draft", |revision| revision.as_str());
    let revisions: Vec<&str> = rule.revisions.iter().map(|revision| revision.as_str()).collect();
    let over = match rule.over {
        None => "stdio and HTTP",
        Some(Carrier::Http) => "HTTP",
        Some(Carrier::Stdio) => "stdio",
    };
    let level = if rule.level == RuleLevel::Must { "MUST" } else { "SHOULD" };
    let mut text = format!("{} {}\n\n", rule.id, check.name.value);
    let _ = writeln!(text, "  {level}, {} over {over}", revisions.join(", "));
    let _ = writeln!(text, "  {}\n", rule.link());
    let quote = format!("“{}”", rule.quote);
    let advice = rule.advice.iter().map(|reason| ("but", reason));
    for (title, words) in
        [("quote", &quote)].into_iter().chain(advice).chain([("why", &rule.why), ("good", &rule.good)])
    {
        let _ = writeln!(text, "  {title:<5} {}", words.trim());
    }
    let hints = check.extras.needs.iter().filter_map(|need| match need {
        TestNeed::Hint(name) => Some(format!("the hint `{name}`, as in `--hint {name}=…`")),
        TestNeed::Capability(path) => Some(format!("a server that declares `{path}`")),
        TestNeed::NoCapability(path) => Some(format!("a server that does not declare `{path}`")),
        TestNeed::Over(_) | TestNeed::Assert { .. } => None,
    });
    for hint in hints {
        let _ = writeln!(text, "  needs {hint}");
    }
    if rule.broken.is_some() {
        let _ = writeln!(
            text,
            "  see   `mcprove serve faulty --rule {newest}/{}` breaks it; check it with `--revision {newest}`",
            rule.id
        );
    }
    let _ = writeln!(text, "\n  how it is checked:\n");
    let (file, line, _) = sources.place(check.span);
    let lines = sources.file(check.span.source).text[check.span.start as usize..check.span.end as usize].trim_end();
    for one in lines.lines() {
        let _ = writeln!(text, "    {one}");
    }
    let _ = writeln!(text, "\n  from {file}:{line}");
    text
}
