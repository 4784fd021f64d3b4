//! `mcprove compliance`: holds a server against the specification, without a suite.
//!
//! It is the run of a suite with one server and a `compliance:` block, which is made from what was typed.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use super::explain;
use super::run_given::{AdHocSettings, CallingArgs};
use super::run_serving::Serving;
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::server::{Mistake, TO_FILL_IN, Verb, flags, to_fill_in};
use crate::suite::AdHocCommand;

/// How many cases run at a time: most of them wait for silence, or for a server that starts.
const AT_A_TIME: usize = 8;

const VERB: Verb = Verb { command: AdHocCommand::Compliance, does: "check", block: "compliance: {}" };

/// Checks a server against the specification, rule by rule; no suite is needed.
#[derive(Debug, Args)]
pub(in crate::cli) struct ComplianceArgs {
    /// How binding a rule must be to be checked: `must` leaves out what only advises.
    #[arg(long, value_name = "LEVEL", value_parser = ["must", "should"])]
    level: Option<String>,
    /// Checks only the rule with this id; may be given several times.
    #[arg(long, value_name = "ID")]
    rule: Vec<String>,
    /// What rules are tested with: `slow_tool=export`, `safe_tools=add,echo`, or JSON after the `=`.
    #[arg(long, value_name = "NAME=VALUE")]
    hint: Vec<String>,
    /// A rule that is known to be broken; it fails if it holds after all.
    #[arg(long, value_name = "ID")]
    known: Vec<String>,
    /// A rule book to use instead of those that are part of mcprove; may be given several times.
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,
    /// Says what a rule means, why it matters, and how a good server answers; needs no server.
    #[arg(long, value_name = "ID")]
    explain: Option<String>,
    /// Lists all rules; needs no server.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    on: CallingArgs,
}

pub(in crate::cli) fn compliance(mut args: ComplianceArgs, environment: &Environment, output: &Output) -> Exit {
    let asked = explain::ExplainRequest {
        id: args.explain.as_deref(),
        revisions: &args.on.server.revision,
        rules: &args.rules,
    };
    if args.explain.is_some() || args.list {
        return explain::explain(&asked, output);
    }
    if args.rule.is_empty() {
        args.on.run.serving = Serving::Served;
    }
    let own = own(&args);
    args.on.run_with(VERB, own, environment, output)
}

fn own(args: &ComplianceArgs) -> Result<AdHocSettings, Mistake> {
    let members = [("run_options", json!({"parallel": AT_A_TIME})), ("compliance", settings(args)?)];
    Ok(AdHocSettings::new(members, own_flags(args)))
}

/// The `compliance:` block.
fn settings(args: &ComplianceArgs) -> Result<Value, Mistake> {
    let mut settings = json!({"level": args.level.as_deref().unwrap_or("should")});
    let mut hints = Map::new();
    for text in &args.hint {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            (format!("`{text}` is no hint"), "write for example `--hint slow_tool=export`".to_owned())
        })?;
        if value == TO_FILL_IN {
            return Err(to_fill_in(&format!("--hint {text}")));
        }
        hints.insert(name.to_owned(), hint(name, value));
    }
    settings["hints"] = hints.into();
    for (key, words) in [("only", &args.rule), ("baseline", &args.known)] {
        if !words.is_empty() {
            settings[key] = json!(words);
        }
    }
    if !args.rules.is_empty() {
        settings["rules"] = args.rules.iter().map(|path| path.display().to_string()).collect();
    }
    Ok(settings)
}

fn hint(name: &str, value: &str) -> Value {
    match serde_json::from_str(value) {
        Ok(json @ (Value::Object(_) | Value::Array(_))) => json,
        Ok(_) | Err(_) if name.ends_with('s') && name.contains("tool") => {
            value.split(',').map(str::trim).map(Value::from).collect()
        }
        Ok(_) | Err(_) => value.into(),
    }
}

/// The flags without which the same rules would be asked something else; values that may be secret are to be filled in.
fn own_flags(args: &ComplianceArgs) -> Vec<String> {
    let public = |text: &String| match text.split_once('=') {
        Some((name, value)) if name.contains("token") && !value.contains("{{") => format!("{name}={TO_FILL_IN}"),
        Some(_) | None => text.clone(),
    };
    let rules = args.rules.iter().map(|path| path.display().to_string());
    flags([("--hint", args.hint.iter().map(public).collect()), ("--rules", rules.collect())])
}
