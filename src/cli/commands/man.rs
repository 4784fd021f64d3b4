//! `mcprove man`: manual pages of the command line.

use clap::{Args, CommandFactory};
use clap_mangen::Man;

use crate::cli::CliArguments;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::source::visible_line;

/// Prints the manual page of mcprove or of one of its commands, for `man -l -`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The command, with the one below it where there is one; mcprove itself by default.
    command: Vec<String>,
}

pub(crate) fn man(args: &ManArgs, console: &Console) -> Result<Exit, Exit> {
    let mut root = CliArguments::command();
    root.build();
    let mut page = root;
    for name in &args.command {
        let found = page.find_subcommand(name).cloned();
        page = found.ok_or_else(|| {
            let message = format!("there is no command `{}`", visible_line(&args.command.join(" ")));
            console.fail(Exit::Usage, message, Some(HELP))
        })?;
    }
    // Pages of commands are named as their files are: `mcprove-run(1)`.
    let title = page.get_bin_name().unwrap_or("mcprove").replace(' ', "-");
    let mut text = Vec::new();
    let man = Man::new(page).title(title).source(concat!("mcprove ", env!("CARGO_PKG_VERSION")));
    man.render(&mut text).map_err(|error| console.fail(Exit::Internal, error, None))?;
    Ok(console.data(&String::from_utf8_lossy(&text)))
}

const HELP: &str = "`mcprove --help` lists the commands";
