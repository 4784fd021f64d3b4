//! `mcprove serve faulty`: the demo server with one fault or with a flaw, and the list of all such servers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::serve::{StartArgs, start};
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::demo::faulty::{self as servers, Fault, Surroundings};
use crate::demo::flaw::Flaw;
use crate::source::{SourceFile, Sources, did_you_mean};
use crate::suite::why_unreadable;
use crate::taxonomy::{Registry, Transport};

/// The variable whose value no answer should contain, and what stands in for it.
const SECRET: (&str, &str) = ("DEMO_TOKEN", "demo-token-5f3759df");

#[derive(Debug, Args)]
pub(super) struct FaultyArgs {
    /// The variant of the fault taxonomy that the server has.
    #[arg(long, value_name = "VARIANT", required_unless_present_any = ["list", "flaw"])]
    fault: Option<String>,
    /// A YAML file that says what the server does wrong, as in docs/flaws.md.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fault", "list"])]
    flaw: Option<PathBuf>,
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
            Ok(flaw) => start(&args.start, Fault::flawed(flaw), environment, output),
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
    let fault = Fault::of(entry, Surroundings { folder: args.state.clone(), secret });
    start(&args.start, fault, environment, output)
}

/// Reads a flaw; what is wrong with the file is shown.
fn read(file: &Path, output: &Output) -> Result<Flaw, Exit> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        output.error(&format!("cannot read the flaw `{}`: {}", file.display(), why_unreadable(&error)), None);
        Exit::Usage
    })?;
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new(file.display().to_string(), text));
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
