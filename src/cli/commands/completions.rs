//! `mcprove completions`: what a shell needs to complete the command line.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::CliArguments;
use crate::cli::exit::Exit;
use crate::cli::output::Output;

/// Prints completions for a shell.
#[derive(Debug, Args)]
pub(in crate::cli) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(in crate::cli) fn completions(args: &CompletionsArgs, output: &Output) -> Exit {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut CliArguments::command(), "mcprove", &mut text);
    output.data(&String::from_utf8_lossy(&text))
}
