//! `mcprove explain`: whatever stands in brackets, in a table or in a report, in words.

use std::fmt::Write as _;

use clap::Args;

use super::explained_codes;
use super::explained_rules::{ExplainRequest, explain as explain_rule, rule_ids};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::lint::{Lint, explain as explain_lint, lints};
use crate::matching::EXPECTATION;
use crate::source::nearest;
use crate::taxonomy::{Family, Leaf, Registry, Variant};
use crate::wire::{Revision, SCANS, Scan};

/// Explains a code of an output: of a mistake, a failure, a rule, a lint or a fault.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The code, such as `bad-template`, `is-error`, `K2`, `TOOL-ERROR-AS-SUCCESS` or `STATE`.
    #[arg(value_name = "CODE", required = true)]
    codes: Vec<String>,
}

pub(crate) fn explain(args: &ExplainArgs, console: &Console) -> Result<Exit, Exit> {
    let rules = rule_ids(console)?;
    let mut texts = Vec::new();
    for typed in &args.codes {
        // As it stands in an output, brackets around it included.
        let code = typed.trim().trim_start_matches('[').trim_end_matches(']');
        let found = explanations(code, &rules, console)?;
        if found.is_empty() {
            let help = resembling(code, &rules);
            return Err(console.fail(Exit::Usage, format!("nothing is called `{code}`"), Some(&help)));
        }
        texts.extend(found);
    }
    Ok(console.data(&texts.join("\n")))
}

/// Everything of that name: a code can be that of a mistake and of a lint.
fn explanations(code: &str, rules: &[String], console: &Console) -> Result<Vec<String>, Exit> {
    let registry = Registry::builtin();
    let upper = code.to_uppercase();
    let leaf = if upper.starts_with("FAULT-") { upper.clone() } else { format!("FAULT-{upper}") };
    let rule = rules.iter().any(|id| id == code);
    let rule = rule.then(|| explain_rule(&ExplainRequest { id: Some(code), revisions: &[], rules: &[] }, console));
    Ok([
        explained_codes::explanation(code),
        matcher_text(code),
        Scan::of(code).map(scan_text),
        Lint::of(code).map(explain_lint),
        rule.transpose()?,
        registry.families.iter().find(|family| family.id == upper).map(family_text),
        registry.leaf(&leaf).map(leaf_text),
        registry.variant(&upper).map(variant_text),
    ]
    .into_iter()
    .flatten()
    .collect())
}

/// The names that resemble one, and where all of them are.
fn resembling(code: &str, rules: &[String]) -> String {
    let registry = Registry::builtin();
    let mut names: Vec<&str> = rules.iter().map(String::as_str).collect();
    names.extend(explained_codes::codes().map(|code: &str| code));
    names.extend(lints().map(|lint| lint.id));
    names.extend(SCANS.iter().map(|scan| scan.code));
    names.extend(registry.families.iter().map(|family| &*family.id));
    names.extend(registry.leaves().map(|leaf| &*leaf.id));
    names.extend(registry.variants().map(|variant| &*variant.id));
    names.extend(EXPECTATION.all_keys().map(|key| key.name));
    let near = nearest(code, names).map(|name| format!("did you mean `{name}`?"));
    let lists = "`mcprove compliance --list` has all rules, `mcprove lint --list` all lints, and `mcprove fault-coverage` the faults";
    near.unwrap_or_else(|| lists.to_owned())
}

/// The code of a failed expectation is the name of its matcher, with dashes.
fn matcher_text(code: &str) -> Option<String> {
    let key = EXPECTATION.all_keys().find(|key| key.name.replace('_', "-") == code.replace('_', "-"))?;
    Some(format!("{code}: the matcher `{}` of an expectation\n\n  {}\n", key.name, key.doc))
}

fn scan_text(scan: &Scan) -> String {
    let mut text = format!("{}: a rule for every message of a server\n\n", scan.code);
    let _ = writeln!(text, "  a server must not {}", scan.forbids);
    if scan.is_advice {
        text += "  breaking it is a warning\n";
    }
    for revision in Revision::ALL {
        if let Some(section) = scan.section(revision) {
            let _ = writeln!(text, "  {}  {section}", revision.as_str());
        }
    }
    let _ = writeln!(text, "  fault       {}", scan.variant);
    text
}

fn family_text(family: &Family) -> String {
    let mut text = format!("{}: a family of faults, {}\n\n", family.id, family.name);
    for leaf in &family.leaves {
        let _ = writeln!(text, "  {}\n    {}", leaf.id, leaf.meaning);
    }
    text
}

fn leaf_text(leaf: &Leaf) -> String {
    let mut text = format!("{}: {}\n\n", leaf.id, leaf.meaning);
    let _ = writeln!(text, "  exercised by  {}", leaf.probes.join(", "));
    if let Some(example) = &leaf.example {
        let _ = writeln!(text, "  example       {example}");
    }
    text += "\n  it shows as\n";
    for variant in &leaf.variants {
        let _ = writeln!(text, "    {}\n      {}", variant.id, variant.meaning);
    }
    text
}

fn variant_text(variant: &Variant) -> String {
    let mut text = format!("{}: {}\n\n", variant.id, variant.meaning);
    let severity = variant.severity.as_str();
    let rows = [
        ("severity", severity),
        ("provoke", &variant.provoke),
        ("healthy", &variant.oracle),
        ("imitated", variant.imitation.as_deref().unwrap_or_default()),
        ("not imitated", variant.unplanted.as_deref().unwrap_or_default()),
    ];
    for (title, words) in rows.into_iter().filter(|(_, words)| !words.is_empty()) {
        let _ = writeln!(text, "  {title:<12}  {}", words.trim());
    }
    let _ = writeln!(text, "  see it        mcprove serve faulty --fault {}", variant.id);
    text
}
