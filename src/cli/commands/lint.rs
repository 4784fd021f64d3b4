//! `mcprove lint`: checks the tools that a server lists, without a suite and without calling any.
//!
//! It is the run of a suite with one server and a `schema_lint:` block, which is made from the command line.

use clap::Args;
use serde_json::{Map, Value};

use super::adhoc::{AdHocSettings, flag_key, key};
use super::run::{RunArgs, run};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::{ServerArgs, Verb};
use crate::lint::{Lint, LintLevel, Provider, explain, lints, list};
use crate::source::did_you_mean;
use crate::suite::AdHocCommand;

const VERB: Verb = Verb { command: AdHocCommand::Lint, does: "check" };

/// Finds tools whose schema, name or description is wrong, too loose or too long; needs no suite.
#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// A model provider that must accept the tools; may be given several times.
    #[arg(long, value_name = "PROVIDER", value_parser = words(Provider::WORDS))]
    provider: Vec<String>,
    /// The least level that is listed one by one; `warning` by default, so that advice is only counted.
    #[arg(long, value_name = "LEVEL", value_parser = words(LintLevel::WORDS))]
    level: Option<String>,
    /// A lint whose findings are accepted; may be given several times.
    #[arg(long, value_name = "ID[=REASON]")]
    allow: Vec<String>,
    /// The most tokens that the list of tools may cost, by estimate.
    #[arg(long, value_name = "N")]
    max_tokens: Option<usize>,
    /// Explains a lint: its meaning, its reason, and the fix; needs no server.
    #[arg(long, value_name = "ID")]
    explain: Option<String>,
    /// Lists all lints; needs no server.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    run: RunArgs,
}

fn words(names: &'static [&'static str]) -> clap::builder::PossibleValuesParser {
    names.to_vec().into()
}

pub(crate) fn lint(mut args: LintArgs, console: &Console) -> Result<Exit, Exit> {
    if let Some(id) = &args.explain {
        return Ok(console.data(&explain(find_lint(id, console)?)));
    }
    if args.list {
        return Ok(console.data(&list()));
    }
    let words = std::mem::take(&mut args.run.suites.paths);
    let target = args.server.target(VERB, &words, console)?;
    let mut allow = Map::new();
    for text in &args.allow {
        let (id, reason) = text.split_once('=').unwrap_or((text, "allowed on the command line"));
        find_lint(id, console)?;
        allow.insert(id.to_owned(), reason.into());
    }
    let mut own = AdHocSettings::default();
    own.block(
        "schema_lint",
        [flag_key("providers", "--provider", args.provider), flag_key("level", "--level", args.level)],
    );
    own.flags.extend(args.allow.into_iter().flat_map(|text| ["--allow".to_owned(), text]));
    let allow = if allow.is_empty() { Value::Null } else { allow.into() };
    own.block("schema_lint", [key("allow", allow), flag_key("max_tokens", "--max-tokens", args.max_tokens)]);
    args.run.suites.adhoc = Some(target.suite(own.members, &own.flags));
    run(&args.run.into(), console)
}

fn find_lint(id: &str, console: &Console) -> Result<&'static Lint, Exit> {
    Lint::of(id).ok_or_else(|| {
        let help = did_you_mean(id, lints().map(|lint| lint.id));
        let help = help.unwrap_or_else(|| "`mcprove lint --list` lists all of them".to_owned());
        console.fail(Exit::Usage, format!("there is no lint `{id}`"), Some(&help))
    })
}
