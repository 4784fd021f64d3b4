//! `mcprove compliance`: holds a server against the specification, without a suite.
//!
//! It is the run of a suite with one server and a `compliance:` block, which is made from what was typed.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use super::explain;
use super::run::{self, RunArgs};
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::suites::Given;
use crate::redact::query_secrets;

/// How many cases run at a time: most of them wait for silence, or for a server that starts.
const AT_A_TIME: usize = 8;

/// Checks a server against the specification, rule by rule; no suite is needed.
#[derive(Debug, Args)]
pub(in crate::cli) struct ComplianceArgs {
    /// Which revisions to check: a date, or `all`; by default the newest one that the server speaks.
    #[arg(long, value_name = "REVISION")]
    revision: Vec<String>,
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
    /// A header of every request: `Authorization: Bearer {{ env.TOKEN }}`.
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// A variable for the server: `NAME` passes one on, `NAME=VALUE` sets one.
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
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
    run: RunArgs,
}

pub(in crate::cli) fn compliance(mut args: ComplianceArgs, environment: &Environment, output: &Output) -> Exit {
    let words = std::mem::take(&mut args.run.suites.paths);
    let asked = explain::Asked { id: args.explain.as_deref(), revisions: &args.revision, rules: &args.rules };
    if args.explain.is_some() || args.list {
        return explain::explain(&asked, output);
    }
    let given = server(&words, &args).and_then(|server| Ok(given(&server, (&words, &args), &settings(&args)?)));
    match given {
        Ok(given) => {
            args.run.suites.given = Some(given);
            run::run(&args.run, environment, output)
        }
        Err((message, help)) => {
            output.error(&message, Some(&help));
            Exit::Usage
        }
    }
}

/// The server, where other commands have suites.
pub(in crate::cli) fn target(arg: clap::Arg) -> clap::Arg {
    arg.value_name("SERVER").help(
        "The server: an address, or after `--` the command that starts it; `demo` is the one that is part of mcprove",
    )
}

/// A mistake on the command line, and what to do.
type Mistake = (String, String);

/// The server that the words name.
fn server(words: &[String], args: &ComplianceArgs) -> Result<Value, Mistake> {
    let help = "write `mcprove compliance http://127.0.0.1:3000/mcp`, or `mcprove compliance -- node server.js`";
    let mut server = match words {
        [] => return Err(("there is no server to check".to_owned(), help.to_owned())),
        [word] if word.starts_with("http://") || word.starts_with("https://") => json!({"url": word}),
        [word] if word == "demo" => json!({"builtin": "demo"}),
        [word] if [".yml", ".yaml"].iter().any(|end| word.ends_with(end)) => {
            let help = format!("add the line `compliance: {{}}` to it, and write `mcprove run {word}`");
            return Err((format!("`{word}` is a suite, and `compliance` takes a server"), help));
        }
        [word] if word.contains(' ') => json!({"command": word}),
        words => json!({"command": words}),
    };
    let pair = |text: &String, mark: char| {
        text.split_once(mark).map(|(name, value)| (name.trim().to_owned(), Value::from(value.trim())))
    };
    if !args.header.is_empty() {
        let read = args.header.iter().map(|text| {
            let help = "write `--header 'Authorization: Bearer {{ env.TOKEN }}'`".to_owned();
            pair(text, ':').ok_or_else(|| (format!("`{text}` is no header"), help))
        });
        server["headers"] = Value::Object(read.collect::<Result<Map<_, _>, _>>()?);
    }
    if !args.env.is_empty() {
        let passed = |name: &String| (name.clone(), Value::from(format!("{{{{ env.{name} }}}}")));
        let set = args.env.iter().map(|text| pair(text, '=').unwrap_or_else(|| passed(text)));
        server["env"] = Value::Object(set.collect());
    }
    server["protocol"] = match args.revision.as_slice() {
        [] => "auto".into(),
        [word] if word == "all" => {
            json!(crate::wire::Revision::ALL.map(crate::wire::Revision::as_str).into_iter().rev().collect::<Vec<_>>())
        }
        revisions => json!(revisions),
    };
    Ok(server)
}

/// The `compliance:` block.
fn settings(args: &ComplianceArgs) -> Result<Value, Mistake> {
    let mut settings = json!({"level": args.level.as_deref().unwrap_or("should")});
    let mut hints = Map::new();
    for text in &args.hint {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            (format!("`{text}` is no hint"), "write for example `--hint slow_tool=export`".to_owned())
        })?;
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

/// The flags without which the same server would be asked something else; values that may be secret are left out.
fn flags(args: &ComplianceArgs) -> Vec<String> {
    let public = |text: &&String| text.contains("{{");
    let name_only = |text: &String| text.split('=').next().unwrap_or_default().to_owned();
    let is_open = |text: &&String| text.contains("{{") || !text.split('=').next().unwrap_or_default().contains("token");
    let hints = args.hint.iter().filter(is_open).cloned().collect();
    let named = [("--revision", args.revision.clone()), ("--hint", hints)];
    let secret = [
        ("--header", args.header.iter().filter(public).cloned().collect()),
        ("--env", args.env.iter().map(name_only).collect::<Vec<_>>()),
        ("--rules", args.rules.iter().map(|path| path.display().to_string()).collect()),
    ];
    let all = named.into_iter().chain(secret);
    all.flat_map(|(flag, values)| values.into_iter().flat_map(move |value| [flag.to_owned(), value])).collect()
}

/// The suite, as somebody might have written it.
fn given(server: &Value, (words, args): (&[String], &ComplianceArgs), compliance: &Value) -> Given {
    // What is printed is not what is sent.
    let shown =
        words.iter().map(|word| query_secrets(word).fold(word.clone(), |text, secret| text.replace(secret, "…")));
    let target = shell_words::join(shown);
    let suite = json!({
        "suite": format!("compliance of {target}"),
        "server": server,
        "run_options": {"parallel": AT_A_TIME},
        "compliance": compliance,
    });
    let mut flags = shell_words::join(flags(args));
    if !flags.is_empty() {
        flags.push(' ');
    }
    let dashes = if server.get("command").is_some() { "-- " } else { "" };
    let asked = format!("mcprove compliance {flags}{dashes}{target}");
    // JSON is YAML, and a member a line can be quoted.
    let text = serde_json::to_string_pretty(&suite).unwrap_or_default();
    Given { name: PathBuf::from("compliance"), text, asked }
}
