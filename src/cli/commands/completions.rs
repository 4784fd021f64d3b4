//! `mcprove completions`: shell completions of the command line.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::CliArguments;
use crate::cli::console::Console;
use crate::cli::exit::Exit;

/// Prints the script that completes commands and flags in a shell.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn completions(args: &CompletionsArgs, console: &Console) -> Exit {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut CliArguments::command(), "mcprove", &mut text);
    console.data(&String::from_utf8_lossy(&text))
}
