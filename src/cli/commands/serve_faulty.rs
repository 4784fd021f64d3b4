//! `mcprove serve faulty`: the demo server with one fault, built in or written in YAML, and the list of all such servers.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use super::serve::{StartArgs, start};
use crate::block::compliance::built_in_rules;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::demo::Settings;
use crate::demo::faulty::{self as servers, DemoFault, FaultEnvironment};
use crate::demo::reference::Reference;
use crate::fault;
use crate::source::file::WRITTEN;
use crate::source::{Sources, did_you_mean};
use crate::suite::Rule;
use crate::taxonomy::{Registry, Transport};

/// The variable with the secret that no answer should contain, and its default.
const SECRET_VARIABLE: &str = "DEMO_TOKEN";
const SECRET: &str = "demo-token-5f3759df";

#[derive(Debug, Args)]
pub(crate) struct FaultyArgs {
    /// The variant of the fault taxonomy that the server shows.
    #[arg(long, value_name = "VARIANT", required_unless_present_any = ["list", "plan", "rule"])]
    fault: Option<String>,
    /// A YAML file with the faults of the server; see docs/reference/fault-language.md.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fault", "list"])]
    plan: Option<PathBuf>,
    /// The rule of the specification that the server breaks, such as `2025-11-25/H3`; `mcprove compliance --list` lists them.
    #[arg(long, value_name = "REVISION/ID", conflicts_with_all = ["fault", "list", "plan"])]
    rule: Option<String>,
    /// The folder in which the server keeps files; the current one by default.
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    state: PathBuf,
    /// Lists the variants that a built-in server has, and why no server has the others.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    start: StartArgs,
}

pub(crate) fn faulty(args: &FaultyArgs, console: &Console) -> Result<Exit, Exit> {
    if let Some(file) = &args.plan {
        let (sources, source) = console.read("plan", file, WRITTEN, None)?;
        let faults = fault::load(&sources, source).map_err(|mistakes| console.refuse(&mistakes, &sources))?;
        return start(&args.start, Settings::default(), DemoFault::at_edge(faults), console);
    }
    if let Some(rule) = &args.rule {
        let Reference { settings, faults, .. } = breaking(rule, console)?;
        return start(&args.start, settings, faults.map_or_else(DemoFault::none, DemoFault::at_edge), console);
    }
    let Some(variant) = args.fault.as_deref().filter(|_| !args.list) else {
        return Ok(console.data(&list()));
    };
    let Some(entry) = servers::find(variant) else {
        let (message, help) = refusal(variant);
        return Err(console.fail(Exit::Usage, message, Some(&help)));
    };
    let transport = if args.start.http.is_some() { Transport::Http } else { Transport::Stdio };
    if !servers::transports(entry).contains(&transport) {
        let (home, help) = match transport {
            Transport::Stdio => ("HTTP", "add `--http 127.0.0.1:0`"),
            Transport::Http => ("standard input and output", "remove `--http`"),
        };
        return Err(console.fail(Exit::Usage, format!("`{variant}` is a fault of servers over {home}"), Some(help)));
    }
    let secret = console.environment.get(SECRET_VARIABLE).unwrap_or(SECRET).to_owned();
    let fault = DemoFault::of(entry, FaultEnvironment { folder: args.state.clone(), secret });
    start(&args.start, Settings::default(), fault, console)
}

/// The server that breaks a rule, `REVISION/ID`.
fn breaking(named: &str, console: &Console) -> Result<Reference, Exit> {
    let mut sources = Sources::default();
    let tests = built_in_rules(&mut sources).map_err(|mistakes| console.refuse(&mistakes, &sources))?;
    let rules: Vec<_> = tests.iter().filter_map(|test| test.extras.rule.as_deref()).collect();
    let name = |rule: &Rule| format!("{}/{}", rule.revisions.last().map_or("", |newest| newest.as_str()), rule.id);
    let Some(rule) = rules.iter().find(|rule| name(rule).eq_ignore_ascii_case(named)) else {
        let known: Vec<String> = rules.iter().map(|rule| name(rule)).collect();
        let help = did_you_mean(named, known.iter().map(String::as_str));
        return Err(console.fail(Exit::Usage, format!("there is no rule `{named}`"), help.as_deref()));
    };
    let mut found = Vec::new();
    let reference = Reference::of(rule, &mut found);
    if !found.is_empty() {
        return Err(console.refuse(&found, &sources));
    }
    if reference.faults.is_none() {
        let message = format!("mcprove has no server that breaks only the rule `{named}`");
        return Err(console.fail(Exit::Usage, message, None));
    }
    Ok(reference)
}

/// Every variant with what its server does wrong, then those without a server.
fn list() -> String {
    let variants = servers::all().map(|entry| entry.variant).chain(servers::ABSENT.iter().map(|(variant, _)| *variant));
    let width = variants.map(str::len).max().unwrap_or_default();
    let what = "what `mcprove serve faulty --fault VARIANT` does wrong";
    let mut text = format!("{:<width$}  {:<11}  {what}\n", "variant", "over");
    for entry in servers::all() {
        let over = servers::transports(entry).iter().map(|one| one.as_str()).collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "{:<width$}  {over:<11}  {}", entry.variant, entry.wrong);
    }
    let _ = writeln!(text, "\n{:<width$}  why no server has it", "without a server");
    for (variant, reason) in servers::ABSENT {
        let _ = writeln!(text, "{variant:<width$}  {reason}");
    }
    text
}

fn refusal(variant: &str) -> (String, String) {
    let all = "`mcprove serve faulty --list` lists all of them".to_owned();
    if let Some((_, reason)) = servers::ABSENT.iter().find(|(absent, _)| *absent == variant) {
        return (format!("no server has the fault `{variant}`: {reason}"), all);
    }
    let message = match Registry::builtin().leaf(variant) {
        Some(_) => format!("`{variant}` is a leaf; name one of its variants"),
        None => format!("there is no variant `{variant}`"),
    };
    let nearest = did_you_mean(variant, servers::all().map(|entry| entry.variant));
    (message, nearest.filter(|help| help.starts_with("did you mean")).unwrap_or(all))
}
