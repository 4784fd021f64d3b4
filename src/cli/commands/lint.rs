//! `mcprove lint`: looks at the tools that a server lists, without a suite and without calling any.
//!
//! It is the run of a suite with one server and a `schema_lint:` block, which is made from what was typed.

use clap::Args;
use serde_json::{Map, Value, json};

use super::run::RunArgs;
use super::run_given::run_given;
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::server::{Mistake, ServerArgs, Verb, flags};
use crate::cli::suites::Given;
use crate::lint::{Lint, LintLevel, Provider, explained, lints, listed};
use crate::source::did_you_mean;
use crate::suite::AdHocCommand;

const VERB: Verb = Verb { command: AdHocCommand::Lint, does: "look at", block: "schema_lint: {}" };

/// Looks for tools whose schemas, names and descriptions are wrong, too loose or too long; no suite is needed.
#[derive(Debug, Args)]
pub(in crate::cli) struct LintArgs {
    /// A model provider that must take the tools; may be given several times.
    #[arg(long, value_name = "PROVIDER", value_parser = words(Provider::NAMES))]
    provider: Vec<String>,
    /// The least that is told one by one; `warning` by default, so that advice only appears in the summary.
    #[arg(long, value_name = "LEVEL", value_parser = words(LintLevel::NAMES))]
    level: Option<String>,
    /// A lint that may find something; may be given several times.
    #[arg(long, value_name = "ID[=REASON]")]
    allow: Vec<String>,
    /// The most tokens that the list of tools may cost, by estimate.
    #[arg(long, value_name = "N")]
    max_tokens: Option<usize>,
    /// Says what a lint means, why it matters, and what to change; needs no server.
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

pub(in crate::cli) fn lint(mut args: LintArgs, environment: &Environment, output: &Output) -> Exit {
    if let Some(id) = &args.explain {
        return explain(id, output);
    }
    if args.list {
        return output.data(&listed());
    }
    let words = std::mem::take(&mut args.run.suites.paths);
    let given = given(&words, &args);
    run_given(given, &mut args.run, environment, output)
}

fn explain(id: &str, output: &Output) -> Exit {
    let Some(lint) = Lint::of(id) else {
        let (message, help) = unknown(id);
        output.error(&message, Some(&help));
        return Exit::Usage;
    };
    output.data(&explained(lint))
}

fn unknown(id: &str) -> Mistake {
    let help = did_you_mean(id, lints().map(|lint| lint.id));
    (format!("there is no lint `{id}`"), help.unwrap_or_else(|| "`mcprove lint --list` shows all of them".to_owned()))
}

/// The suite that the words and flags stand for.
fn given(words: &[String], args: &LintArgs) -> Result<Given, Mistake> {
    let target = args.server.target(VERB, words)?;
    let mut settings = Map::new();
    if !args.provider.is_empty() {
        settings.insert("providers".to_owned(), json!(args.provider));
    }
    if let Some(level) = &args.level {
        settings.insert("level".to_owned(), json!(level));
    }
    if let Some(most) = args.max_tokens {
        settings.insert("max_tokens".to_owned(), json!(most));
    }
    let mut allow = Map::new();
    for text in &args.allow {
        let (id, reason) = text.split_once('=').unwrap_or((text, "so it was asked"));
        Lint::of(id).ok_or_else(|| unknown(id))?;
        allow.insert(id.to_owned(), reason.into());
    }
    if !allow.is_empty() {
        settings.insert("allow".to_owned(), allow.into());
    }
    let members = json!({"schema_lint": Value::Object(settings)});
    let own = flags([
        ("--provider", args.provider.clone()),
        ("--level", args.level.iter().cloned().collect()),
        ("--allow", args.allow.clone()),
        ("--max-tokens", args.max_tokens.iter().map(ToString::to_string).collect()),
    ]);
    Ok(target.given(members, &own))
}
