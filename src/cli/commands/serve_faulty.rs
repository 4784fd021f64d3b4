//! `mcprove serve faulty`: the demo server with one fault, and the list of all such servers.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use super::serve::{SettingArgs, until_the_end};
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::demo::faulty::{self as servers, Fault, Surroundings};
use crate::demo::serve_with;
use crate::source::did_you_mean;
use crate::taxonomy::Registry;

/// The variable whose value no answer should contain, and what stands in for it.
const SECRET: (&str, &str) = ("DEMO_TOKEN", "demo-token-5f3759df");

#[derive(Debug, Args)]
pub(super) struct FaultyArgs {
    /// The variant of the fault taxonomy that the server has.
    #[arg(long, value_name = "VARIANT", required_unless_present = "list")]
    fault: Option<String>,
    /// The folder in which the server keeps files; by default the one it starts in.
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    state: PathBuf,
    /// Lists the variants that a server here has, and the others with the reason.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    settings: SettingArgs,
}

pub(super) fn faulty(args: &FaultyArgs, environment: &Environment, output: &Output) -> Exit {
    let Some(variant) = args.fault.as_deref().filter(|_| !args.list) else {
        return output.data(&list());
    };
    let Some(entry) = servers::find(variant) else {
        let (message, help) = refusal(variant);
        output.error(&message, help.as_deref());
        return Exit::Usage;
    };
    let secret = environment.get(SECRET.0).unwrap_or(SECRET.1).to_owned();
    let fault = Fault::of(entry, Surroundings { folder: args.state.clone(), secret });
    let (input, answers) = (tokio::io::stdin(), tokio::io::stdout());
    until_the_end(serve_with(args.settings.settings(), fault.into(), input, answers), output)
}

/// Every variant with what its server does wrong, then those without a server.
fn list() -> String {
    let rows = || servers::all().map(|entry| (entry.variant, entry.wrong)).chain(servers::ABSENT.iter().copied());
    let width = rows().map(|(variant, _)| variant.len()).max().unwrap_or_default();
    let mut text = format!("{:<width$}  what `mcprove serve faulty --fault VARIANT` does wrong\n", "variant");
    for entry in servers::all() {
        let _ = writeln!(text, "{:<width$}  {}", entry.variant, entry.wrong);
    }
    let _ = writeln!(text, "\n{:<width$}  why no server has it", "without a server");
    for (variant, reason) in servers::ABSENT {
        let _ = writeln!(text, "{variant:<width$}  {reason}");
    }
    text
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
