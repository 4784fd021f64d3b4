//! `mcprove serve faulty`: the demo server with one fault or with a flaw, and the list of all such servers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::serve::{StartArgs, start, start_with};
use crate::block::compliance::built_in_rules;
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::demo::faulty::{self as servers, ServerFault, Surroundings};
use crate::demo::flaw::Flaw;
use crate::demo::reference::Reference;
use crate::source::{Diagnostic, SourceFile, Sources, did_you_mean, file};
use crate::suite::{Rule, why_unreadable};
use crate::taxonomy::{Registry, Transport};

/// The variable whose value no answer should contain, and what stands in for it.
const SECRET: (&str, &str) = ("DEMO_TOKEN", "demo-token-5f3759df");

#[derive(Debug, Args)]
pub(super) struct FaultyArgs {
    /// The variant of the fault taxonomy that the server has.
    #[arg(long, value_name = "VARIANT", required_unless_present_any = ["list", "flaw", "rule"])]
    fault: Option<String>,
    /// A YAML file that says what the server does wrong, as in docs/reference/flaws.md.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fault", "list"])]
    flaw: Option<PathBuf>,
    /// The rule of the specification that the server breaks, such as `2025-11-25/H3`; `mcprove compliance --list` shows them.
    #[arg(long, value_name = "REVISION/ID", conflicts_with_all = ["fault", "list", "flaw"])]
    rule: Option<String>,
    /// The folder in which the server keeps files; by default the one it starts in.
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    state: PathBuf,
    /// Lists the variants that a server here has, and the others with the reason.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    start: StartArgs,
}

pub(super) fn faulty(args: &FaultyArgs, environment: &Environment, output: &Output) -> Exit {
    if let Some(file) = &args.flaw {
        return match read(file, output) {
            Ok(flaw) => start(&args.start, ServerFault::flawed(flaw), environment, output),
            Err(exit) => exit,
        };
    }
    if let Some(rule) = &args.rule {
        return match breaking(rule, output) {
            Ok(reference) => {
                let fault = reference.flaw.map_or_else(ServerFault::none, ServerFault::flawed);
                start_with(&args.start, reference.settings, fault, environment, output)
            }
            Err(exit) => exit,
        };
    }
    let Some(variant) = args.fault.as_deref().filter(|_| !args.list) else {
        return output.data(&list());
    };
    let Some(entry) = servers::find(variant) else {
        let (message, help) = refusal(variant);
        output.error(&message, help.as_deref());
        return Exit::Usage;
    };
    let transport = if args.start.http.is_some() { Transport::Http } else { Transport::Stdio };
    if !servers::transports(entry).contains(&transport) {
        let (message, help) = elsewhere(variant, transport);
        output.error(&message, Some(help));
        return Exit::Usage;
    }
    let secret = environment.get(SECRET.0).unwrap_or(SECRET.1).to_owned();
    let fault = ServerFault::of(entry, Surroundings { folder: args.state.clone(), secret });
    start(&args.start, fault, environment, output)
}

/// The server that breaks a rule, `REVISION/ID`.
fn breaking(named: &str, output: &Output) -> Result<Reference, Exit> {
    let mut sources = Sources::default();
    let refuse = |mistakes: Vec<Diagnostic>, sources: &Sources| {
        output.diagnostics(&mistakes, sources);
        Exit::Usage
    };
    let tests = built_in_rules(&mut sources).map_err(|mistakes| refuse(mistakes, &sources))?;
    let rules: Vec<_> = tests.iter().filter_map(|test| test.rule.as_deref()).collect();
    let name = |rule: &Rule| format!("{}/{}", rule.revisions.last().map_or("", |newest| newest.as_str()), rule.id);
    let Some(rule) = rules.iter().find(|rule| name(rule).eq_ignore_ascii_case(named)) else {
        let known: Vec<String> = rules.iter().map(|rule| name(rule)).collect();
        let help = did_you_mean(named, known.iter().map(String::as_str));
        output.error(&format!("there is no rule `{named}`"), help.as_deref());
        return Err(Exit::Usage);
    };
    let mut found = Vec::new();
    let reference = Reference::of(rule, &mut found);
    if !found.is_empty() {
        return Err(refuse(found, &sources));
    }
    if reference.flaw.is_none() {
        output.error(&format!("no server is known that breaks `{named}` and nothing else"), None);
        return Err(Exit::Usage);
    }
    Ok(reference)
}

/// Reads a flaw; what is wrong with the file is shown.
fn read(path: &Path, output: &Output) -> Result<Flaw, Exit> {
    let text = file::read_text(path, file::WRITTEN).map_err(|error| {
        output.error(&format!("cannot read the flaw `{}`: {}", path.display(), why_unreadable(&error)), None);
        Exit::Usage
    })?;
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new(path.display().to_string(), text));
    Flaw::load(&sources, source).map_err(|mistakes| {
        output.diagnostics(&mistakes, &sources);
        Exit::Usage
    })
}

/// Every variant with what its server does wrong, then those without a server.
fn list() -> String {
    let variants = servers::all().map(|entry| entry.variant).chain(servers::ABSENT.iter().map(|(variant, _)| *variant));
    let width = variants.map(str::len).max().unwrap_or_default();
    let what = "what `mcprove serve faulty --fault VARIANT` does wrong";
    let mut text = format!("{:<width$}  {:<11}  {what}\n", "variant", "over");
    for entry in servers::all() {
        let over = servers::transports(entry).iter().map(|one| one.word()).collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "{:<width$}  {over:<11}  {}", entry.variant, entry.wrong);
    }
    let _ = writeln!(text, "\n{:<width$}  why no server has it", "without a server");
    for (variant, reason) in servers::ABSENT {
        let _ = writeln!(text, "{variant:<width$}  {reason}");
    }
    text
}

/// The sentence about a fault that the other transport has.
fn elsewhere(variant: &str, asked: Transport) -> (String, &'static str) {
    let (home, help) = match asked {
        Transport::Stdio => ("HTTP", "add `--http 127.0.0.1:0`"),
        Transport::Http => ("standard input and output", "leave `--http` out"),
    };
    (format!("`{variant}` is a fault of servers over {home}"), help)
}

fn refusal(variant: &str) -> (String, Option<String>) {
    if let Some((_, reason)) = servers::ABSENT.iter().find(|(absent, _)| *absent == variant) {
        return (format!("no server has the fault `{variant}`: {reason}"), Some(all_of_them()));
    }
    let message = match Registry::builtin().leaf(variant) {
        Some(_) => format!("`{variant}` is a leaf; a server has the fault of one of its variants"),
        None => format!("there is no variant `{variant}`"),
    };
    let nearest = did_you_mean(variant, servers::all().map(|entry| entry.variant));
    (message, nearest.filter(|help| help.starts_with("did you mean")).or_else(|| Some(all_of_them())))
}

fn all_of_them() -> String {
    "`mcprove serve faulty --list` shows all of them".to_owned()
}
