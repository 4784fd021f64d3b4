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

/// Explains a code or word of an output: a mistake, a failure, a rule, a lint, a fault, an outcome, a verdict, an exit code.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The word, such as `bad-template`, `is-error`, `K2`, `TOOL-ERROR-AS-SUCCESS`, `text-cut`, `inconclusive` or `4`.
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
        mutant_text(code, registry),
        word_text(code, &OUTCOMES, "how a case ended"),
        word_text(code, &VERDICTS, "what a proof says of a mutant"),
        exit_text(code),
    ]
    .into_iter()
    .flatten()
    .collect())
}

/// The names that resemble one, and where all of them are.
fn resembling(code: &str, rules: &[String]) -> String {
    let known: Vec<String> = names().map(str::to_owned).chain(rules.iter().cloned()).collect();
    let near = nearest(code, known.iter().map(String::as_str)).map(|name| format!("did you mean `{name}`?"));
    let lists = "`mcprove compliance --list` has all rules, `mcprove lint --list` all lints, and `mcprove fault-coverage` the faults";
    near.unwrap_or_else(|| lists.to_owned())
}

/// Everything that has an explanation, but for the rules of the protocol and numbers.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let registry = Registry::builtin();
    explained_codes::codes()
        .chain(lints().map(|lint| lint.id))
        .chain(SCANS.iter().map(|scan| scan.code))
        .chain(registry.families.iter().map(|family| &*family.id))
        .chain(registry.leaves().map(|leaf| &*leaf.id))
        .chain(registry.variants().map(|variant| &*variant.id))
        .chain(registry.variants().flat_map(Variant::mutants).map(|mutant| &*mutant.id))
        .chain(OUTCOMES.iter().chain(&VERDICTS).map(|(name, _)| *name))
        .chain(EXPECTATION.all_keys().map(|key| key.name))
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

/// A word of one of the tables below, as totals have it.
fn word_text(word: &str, table: &[(&str, &str)], about: &str) -> Option<String> {
    let (name, meaning) = table.iter().find(|(name, _)| *name == word.replace(' ', "-"))?;
    Some(format!("{name}: {about}\n\n  {meaning}\n"))
}

/// The ways in which a case ends.
const OUTCOMES: [(&str, &str); 8] = [
    ("passed", "every expectation held"),
    ("failed", "an expectation did not hold, or the server broke a rule that it must keep"),
    ("warned", "the server broke a rule that it should keep; `--fail-on` says what fails a run"),
    ("flaky", "it failed, and passed when it was tried again; `--fail-on-flaky` fails such a run"),
    ("errored", "it could not be tried: the server did not start, or something that the case needs is missing"),
    (
        "inconclusive",
        "it ran, and nothing follows from it, such as a call that was refused before the fault could show",
    ),
    ("skipped", "it did not run; `--details skips` says why"),
    ("known", "it failed as the baseline says, so it fails no run"),
];

/// The verdicts of a proof on a mutant.
const VERDICTS: [(&str, &str); 9] = [
    ("killed", "a case that passed fails because of the mutant, so the suite would catch this fault"),
    ("survived", "it changed what the server sent, and every case still passed, so the suite would miss this fault"),
    ("undecided", "the cases asked for something that is not in the recording; `--live` tries it on the real server"),
    ("not-called", "no case calls the tool, gets the prompt or reads the resource that it would change"),
    ("unreached", "the suite says nothing to the server that it could change"),
    ("redundant", "the healthy server does the same already, so nothing would differ"),
    ("cannot-occur", "what the tool declares leaves no room for it"),
    ("live-only", "it needs the real server, such as its start; `--live` tries it there"),
    ("untried", "the time of `--budget` was over before it was tried, so it counts for nothing"),
];

/// The meaning of an exit code.
fn exit_text(code: &str) -> Option<String> {
    let number: u8 = code.parse().ok()?;
    let (_, meaning) = Exit::TABLE.iter().find(|(exit, _)| *exit as u8 == number)?;
    Some(format!("{number}: an exit code of mcprove\n\n  {meaning}\n"))
}

fn mutant_text(code: &str, registry: &Registry) -> Option<String> {
    let of = |variant: &Variant| {
        let mutant = variant.mutants().iter().find(|mutant| mutant.id == code)?;
        Some(format!(
            "{code}: a mutant, which imitates a fault in the recorded answers\n\n  {}\n  fault       {}: {}\n  try it      \
             mcprove prove SUITE --mutant {code}\n",
            mutant.meaning, variant.id, variant.meaning
        ))
    };
    let texts: Vec<String> = registry.variants().filter_map(of).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Outcome, Verdict};

    #[test]
    fn words_of_outputs_are_those_of_events() {
        let is_outcome = |name: &str| serde_json::from_value::<Outcome>(name.into()).is_ok();
        let is_verdict = |name: &str| serde_json::from_value::<Verdict>(name.into()).is_ok();
        // Totals count these two apart.
        assert!(OUTCOMES.iter().all(|(name, _)| is_outcome(name) || ["flaky", "known"].contains(name)));
        assert!(VERDICTS.iter().all(|(name, _)| is_verdict(name)));
    }
}
