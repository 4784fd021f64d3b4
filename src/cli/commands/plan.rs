//! `mcprove plan`: lists the cases of a run, without running them.

use std::collections::BTreeSet;
use std::fmt::Write;

use clap::Args;
use serde_json::{Value, json};

use super::other_server::OtherServerArgs;
use crate::cli::console::{Console, ListFormat};
use crate::cli::exit::Exit;
use crate::cli::shard::ShardArgs;
use crate::cli::suites::{AllowedCalls, ChosenRegistry, SuiteArgs, require_cases};
use crate::plan::{Body, Case, Plan, SessionNeed, SuitePlan};
use crate::source::visible_line;
use crate::taxonomy::Registry;

/// Lists the cases that would run, without starting a server.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    suites: SuiteArgs,
    #[command(flatten)]
    shard: ShardArgs,
    /// Shows the session of each case, and the faults that it checks.
    #[arg(long, short)]
    verbose: bool,
    /// The format of the list.
    #[arg(long, value_enum, default_value = "text")]
    format: ListFormat,
    #[command(flatten)]
    other: OtherServerArgs,
}

pub(crate) fn plan(mut args: PlanArgs, console: &Console) -> Result<Exit, Exit> {
    args.other.put_into(&mut args.suites, false, console)?;
    args.suites.shard = args.shard.shard(console)?;
    let plan = args.suites.plan(ChosenRegistry::BUILTIN, AllowedCalls::AsSuitesSay, console)?;
    require_cases(&plan, console)?;
    let registry = Registry::builtin();
    Ok(console.data(&match args.format {
        ListFormat::Text => text(&plan, args.verbose.then_some(registry)),
        ListFormat::Json => format!("{:#}\n", as_json(&plan, registry)),
    }))
}

/// A line for each case; with the registry, also the faults that it checks.
fn text(plan: &Plan, registry: Option<&Registry>) -> String {
    let mut text = String::new();
    for planned in &plan.suites {
        let _ = writeln!(text, "{}  {}", planned.suite.file, visible_line(&planned.suite.name.value));
        for case in &planned.cases {
            text += &case_line(planned, case);
            if let Some(registry) = registry {
                text += &details(case, registry);
            }
        }
        text.push('\n');
    }
    let count = plan.cases().count();
    let grows = plan.cases().any(|case| matches!(case.body, Body::Template(_)));
    let _ = write!(text, "{count} {}", if count == 1 { "case" } else { "cases" });
    text += if grows { "; those marked `…` become one or more once the server lists what it offers\n" } else { "\n" };
    text
}

fn case_line(planned: &SuitePlan, case: &Case) -> String {
    let row = case.row.as_ref().map(|row| format!(" [{}]", visible_line(row))).unwrap_or_default();
    let mark = if matches!(case.body, Body::Template(_)) { " …" } else { "" };
    let mut text = format!("  {:>4}  {}{row}{mark}", case.place.line, visible_line(&case.name));
    let target = &planned.targets[case.target];
    if planned.targets.len() > 1 {
        let _ = write!(text, "  @{}/{}", target.server, target.protocol.as_str());
    }
    if let Body::Skipped(reason) = &case.body {
        let _ = write!(text, "  - skipped: {}", visible_line(&reason.to_string()));
    }
    text + "\n"
}

fn details(case: &Case, registry: &Registry) -> String {
    let mut text = format!("      {}\n", session_words(case));
    let told = [
        ("probes", join(&case.probes)),
        ("leaves", join(&leaves(case, registry))),
        ("judges", join(&case.variants)),
        ("claims", join(&case.claims)),
    ];
    for (name, words) in told {
        if !words.is_empty() {
            let _ = writeln!(text, "      {name}: {words}");
        }
    }
    text
}

fn session_words(case: &Case) -> &'static str {
    if matches!(&case.body, Body::Check(check) if check.sends()) {
        return "servers of its own";
    }
    match case.session {
        SessionNeed::Shared => "shared session",
        SessionNeed::InTurn => "a session to itself",
        SessionNeed::Own => "a session of its own",
    }
}

fn join(words: &BTreeSet<String>) -> String {
    words.iter().cloned().collect::<Vec<_>>().join(", ")
}

/// The leaves that a case exercises: those of its probes and those of its variants.
fn leaves(case: &Case, registry: &Registry) -> BTreeSet<String> {
    let mut leaves = BTreeSet::new();
    for leaf in registry.leaves() {
        let by_probe = leaf.probes.iter().any(|probe| case.probes.contains(probe));
        let by_variant = leaf.variants.iter().any(|variant| case.variants.contains(&variant.id));
        if by_probe || by_variant {
            leaves.insert(leaf.id.clone());
        }
    }
    leaves
}

fn as_json(plan: &Plan, registry: &Registry) -> Value {
    let cases = plan.suites.iter().flat_map(|planned| {
        planned.cases.iter().map(|case| {
            let skipped = match &case.body {
                Body::Skipped(reason) => Value::from(reason.to_string()),
                Body::Script(_) | Body::Check(_) | Body::Scan(_) | Body::Template(_) | Body::Failed(_) => Value::Null,
            };
            json!({
                "id": case.id,
                "suite": planned.suite.name.value,
                "file": case.place.file,
                "line": case.place.line,
                "column": case.place.column,
                "name": case.name,
                "row": case.row,
                "server": planned.targets[case.target].server,
                "revision": planned.targets[case.target].protocol.as_str(),
                "session": match case.session {
                    SessionNeed::Shared => "shared",
                    SessionNeed::InTurn => "in-turn",
                    SessionNeed::Own => "own",
                },
                "tags": case.tags,
                "probes": *case.probes,
                "leaves": leaves(case, registry),
                "variants": *case.variants,
                "claims": *case.claims,
                "expands": matches!(case.body, Body::Template(_)),
                "skipped": skipped,
            })
        })
    });
    json!({"format": 1, "cases": cases.collect::<Vec<_>>()})
}
