//! `mcprove compliance`: checks a server against the specification, without a suite.
//!
//! It is the run of a suite with one server and a `compliance:` block, which is made from the command line.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value};

use super::adhoc::{AT_A_TIME, AdHocSettings, CallingArgs, flag_key, key};
use super::explained_rules::{ExplainRequest, explain};
use super::serving::ServingRequirement;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::{TO_FILL_IN, Verb, to_fill_in};
use crate::suite::AdHocCommand;

const VERB: Verb = Verb { command: AdHocCommand::Compliance, does: "check" };

/// Checks a server against the rules of the specification; needs no suite.
#[derive(Debug, Args)]
pub(crate) struct ComplianceArgs {
    /// The level that a rule must have to be checked: `must` leaves out the rules that only advise.
    #[arg(long, value_name = "LEVEL", value_parser = ["must", "should"])]
    level: Option<String>,
    /// Checks only the rule with this id; may be given several times.
    #[arg(long, value_name = "ID")]
    rule: Vec<String>,
    #[command(flatten)]
    hints: HintArgs,
    /// A rule that the server is known to break; it fails once the server keeps it.
    #[arg(long, value_name = "ID")]
    known: Vec<String>,
    /// A rule book to use instead of the built-in ones; may be given several times.
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,
    /// Explains a rule: its meaning, its reason, and a correct answer; needs no server.
    #[arg(long, value_name = "ID")]
    explain: Option<String>,
    /// Lists all rules; needs no server.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    on: CallingArgs,
}

/// What rules of the specification need to know of a server.
#[derive(Debug, Args)]
pub(crate) struct HintArgs {
    /// Names a tool or another value that rules need: `slow_tool=export`, `safe_tools=add,echo`, or JSON after the `=`.
    #[arg(long, value_name = "NAME=VALUE")]
    hint: Vec<String>,
}

impl HintArgs {
    /// The hints as a block has them.
    pub(crate) fn members(&self, console: &Console) -> Result<Map<String, Value>, Exit> {
        let mut hints = Map::new();
        for text in &self.hint {
            let (name, value) = text.split_once('=').ok_or_else(|| {
                let help = "write for example `--hint slow_tool=export`";
                console.fail(Exit::Usage, format!("invalid hint `{text}`"), Some(help))
            })?;
            if value == TO_FILL_IN {
                return Err(to_fill_in(&format!("--hint {text}"), console));
            }
            hints.insert(name.to_owned(), hint(name, value));
        }
        Ok(hints)
    }

    /// The flags that ask for the same again, without secrets.
    pub(crate) fn flags(&self) -> impl Iterator<Item = String> {
        self.hint.iter().flat_map(|text| ["--hint".to_owned(), public(text)])
    }
}

pub(crate) fn compliance(args: ComplianceArgs, console: &Console) -> Result<Exit, Exit> {
    if args.explain.is_some() || args.list {
        let asked =
            ExplainRequest { id: args.explain.as_deref(), revisions: &args.on.server.revision, rules: &args.rules };
        return Ok(console.data(&explain(&asked, console)?));
    }
    let hints = args.hints.members(console)?;
    let mut own = AdHocSettings::default();
    if args.rule.is_empty() {
        own.serving = ServingRequirement::Served;
    }
    own.flags.extend(args.hints.flags());
    own.block("run_options", [key("parallel", AT_A_TIME)]);
    let rules: Vec<String> = args.rules.iter().map(|path| path.display().to_string()).collect();
    own.block(
        "compliance",
        [
            key("level", args.level.as_deref().unwrap_or("should")),
            key("hints", hints),
            key("only", args.rule),
            key("baseline", args.known),
            flag_key("rules", "--rules", rules),
        ],
    );
    args.on.run_with(VERB, own, console)
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

/// A hint as it may be printed.
fn public(hint: &str) -> String {
    match hint.split_once('=') {
        Some((name, value)) if name.contains("token") && !value.contains("{{") => format!("{name}={TO_FILL_IN}"),
        Some(_) | None => hint.to_owned(),
    }
}
