//! `mcprove completions`: what a shell offers for the next word of the command line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, Args, Command, CommandFactory, ValueHint};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};

use super::explain;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::{CliArguments, kept_arguments};
use crate::report::FORMATS;

/// The variable in which a shell that asks gives its name.
const VARIABLE: &str = "MCPROVE_COMPLETE";

/// Prints the script with which a shell completes commands, flags, files, and the names of tools that runs in this folder saw.
///
/// For bash, `source <(mcprove completions bash)` in ~/.bashrc; zsh the same; for fish, `mcprove completions fish | source`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn completions(args: &CompletionsArgs, console: &Console) -> Result<Exit, Exit> {
    let (shell, mut text) = (args.shell.to_string(), Vec::new());
    let known = Shells::builtins();
    let written = known
        .completer(&shell)
        .is_some_and(|shell| shell.write_registration(VARIABLE, "mcprove", "mcprove", "mcprove", &mut text).is_ok());
    if !written {
        return Err(console.fail(Exit::Internal, format!("there is no script for {shell}"), None));
    }
    Ok(console.data(&String::from_utf8_lossy(&text)))
}

/// Answers a shell that asks for the next word; `None` if none does.
pub(crate) fn answer_shell() -> Option<ExitCode> {
    let here = std::env::current_dir().ok();
    let command = || with_values(CliArguments::command());
    match CompleteEnv::with_factory(command).var(VARIABLE).try_complete(std::env::args_os(), here.as_deref()) {
        Ok(false) => None,
        Ok(true) => Some(Exit::Passed.into()),
        Err(error) => {
            let _ = error.print();
            Some(Exit::Usage.into())
        }
    }
}

/// The command with what is known of the values of its arguments, told by their names.
fn with_values(command: Command) -> Command {
    command.mut_args(with_values_of_argument).mut_subcommands(with_values)
}

fn with_values_of_argument(argument: Arg) -> Arg {
    let name = argument.get_value_names().and_then(<[_]>::first).map(ToString::to_string);
    match name.unwrap_or_else(|| argument.get_id().as_str().to_uppercase()).as_str() {
        "TOOL" => argument.add(ArgValueCandidates::new(|| known_tools(""))),
        "TOOL=JSON" => argument.add(ArgValueCandidates::new(|| known_tools("="))),
        "CODE" => argument.add(ArgValueCandidates::new(|| explain::names().map(CompletionCandidate::new).collect())),
        "FORMAT=FILE" => argument.add(ArgValueCandidates::new(|| {
            FORMATS.iter().map(|format| CompletionCandidate::new(format!("{}=", format.name))).collect()
        })),
        "FOLDER" | "DIR" => argument.value_hint(ValueHint::DirPath),
        "COMMAND" | "FILE" | "PATH" | "RECORDING" | "SERVER" | "SUITE" => argument.value_hint(ValueHint::AnyPath),
        _ => argument,
    }
}

/// The tools of the servers that were tested last where the command line points to, each with `end`.
fn known_tools(end: &str) -> Vec<CompletionCandidate> {
    let words: Vec<String> = std::env::args_os().filter_map(|word| word.into_string().ok()).collect();
    let mut tools = BTreeSet::new();
    for folder in state_folders(&words) {
        let kept = kept_arguments::read(&folder);
        tools.extend(kept.tools().into_iter().filter(|tool| is_plain(tool)).map(|tool| format!("{tool}{end}")));
    }
    tools.into_iter().map(CompletionCandidate::new).collect()
}

/// The folders that may hold the state of what the words name.
fn state_folders(words: &[String]) -> Vec<PathBuf> {
    let pairs = words.iter().zip(words.iter().skip(1));
    let named = pairs.filter(|(flag, _)| *flag == "--state-dir").map(|(_, folder)| folder.as_str());
    let joined = words.iter().filter_map(|word| word.strip_prefix("--state-dir="));
    let named: Vec<PathBuf> = named.chain(joined).map(PathBuf::from).collect();
    if !named.is_empty() {
        return named;
    }
    let beside = words.iter().map(Path::new).filter(|path| path.exists()).map(|path| {
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
        folder.join(".mcprove")
    });
    std::iter::once(PathBuf::from(".mcprove")).chain(beside).collect()
}

/// Returns true if a shell takes the name as it is: servers choose the names of their tools.
fn is_plain(tool: &str) -> bool {
    !tool.is_empty() && tool.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c)) && !tool.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_looked_for_where_the_words_point() {
        let here = env!("CARGO_MANIFEST_DIR");
        let check = |words: &[&str], expected: &[String]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let folders: Vec<String> = state_folders(&words).iter().map(|path| path.display().to_string()).collect();
            assert_eq!(folders, expected, "{words:?}");
        };
        check(&["mcprove", "call", ""], &[".mcprove".to_owned()]);
        check(&["run", "--state-dir", "a", here], &["a".to_owned()]);
        check(&["run", "--state-dir=b"], &["b".to_owned()]);
        check(&["run", &format!("{here}/Cargo.toml")], &[".mcprove".to_owned(), format!("{here}/.mcprove")]);
        check(
            &["run", &format!("{here}/src"), "nowhere.yml"],
            &[".mcprove".to_owned(), format!("{here}/src/.mcprove")],
        );
    }

    #[test]
    fn names_that_a_shell_would_read_otherwise_are_left_out() {
        for (tool, expected) in
            [("get_user", true), ("a.b/c-1", true), ("$(rm x)", false), ("a b", false), ("", false), ("-x", false)]
        {
            assert_eq!(is_plain(tool), expected, "{tool}");
        }
    }
}
