//! The server that commands about suites take in the place of the one that the suites name.

use std::path::Path;

use clap::Args;
use serde_json::{Map, json};

use crate::cli::calls::CallArgs;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::{ServerArgs, Verb, is_server};
use crate::cli::suites::{AdHocSuite, GivenServers, SuiteArgs};
use crate::suite::AdHocCommand;

const VERB: Verb = Verb { command: AdHocCommand::Run, does: "run the suites on" };

/// A server in the place of the one that suites name.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for a server in the place of the one that the suites name")]
pub(crate) struct OtherServerArgs {
    #[command(flatten)]
    pub(crate) calls: CallArgs,
    #[command(flatten)]
    server: ServerArgs,
    /// The command that starts the server on which the suites run, in the place of their own.
    #[arg(last = true, value_name = "COMMAND", help_heading = None)]
    command: Vec<String>,
}

impl OtherServerArgs {
    /// True if it is named behind `--` or by a flag.
    pub(crate) fn is_named(&self) -> bool {
        !self.command.is_empty() || self.server.names_server()
    }

    /// Takes the suites from the words before and after `--`, and gives them the server that is named among these words or
    /// by flags, if any is.
    pub(crate) fn put_into(&mut self, suites: &mut SuiteArgs, read_only: bool, console: &Console) -> Result<(), Exit> {
        let Self { calls, server, command } = self;
        if suites.paths.is_empty() && is_command(command, &|word| Path::new(word).exists()) {
            let typed = shell_words::join(&*command);
            let message = format!("`{typed}` is no suite; a suite comes before the command of its server");
            let help = format!(
                "run the suites of this folder with `mcprove run . -- {typed}`; `mcprove ci -- {typed}` checks a server \
                 without a suite, and `mcprove audit -- {typed}` proves what that would catch"
            );
            return Err(console.fail(Exit::Usage, message, Some(&help)));
        }
        let words = parse_words(std::mem::take(&mut suites.paths), std::mem::take(command));
        suites.paths = words.suites;
        if words.server.is_empty() && !server.names_server() {
            let Some(flag) = calls.flags().into_iter().chain(server.flags()).next() else { return Ok(()) };
            let message = format!("`{flag}` is about a server of the command line, and none is named");
            let help = "name it behind the suites, as in `mcprove run suite.yml -- node server.js`, or write into the suite \
                        what the flag says";
            return Err(console.fail(Exit::Usage, message, Some(help)));
        }
        let target = server.target(VERB, &words.server, console)?;
        let read_only = read_only.then(|| "--read-only".to_owned()).into_iter().collect();
        // A suite without any block is refused; of this one only the servers are used.
        let members = Map::from_iter([("schema_lint".to_owned(), json!({}))]);
        let suite = target.suite(members, &[calls.flags(), read_only].concat());
        let suite = AdHocSuite { tools: calls.named_tools(), ..suite };
        suites.given = Some(GivenServers { suite, may_call: std::mem::take(calls) });
        Ok(())
    }
}

/// The words of the command line by what they name.
#[derive(Debug, PartialEq)]
struct TypedWords {
    suites: Vec<String>,
    server: Vec<String>,
}

/// Tells the suites from the server, by the words before and after `--`: without suites before it, those after it are suites, whose names may begin with
/// a dash.
fn parse_words(mut before: Vec<String>, after: Vec<String>) -> TypedWords {
    if before.is_empty() {
        return TypedWords { suites: after, server: Vec::new() };
    }
    if after.is_empty() && before.len() > 1 && before.last().is_some_and(|word| is_server(word)) {
        let server = before.pop().into_iter().collect();
        return TypedWords { suites: before, server };
    }
    TypedWords { suites: before, server: after }
}

/// Returns true if words behind `--` are a command and no suites: the first is neither there nor written like a suite.
fn is_command(words: &[String], exists: &dyn Fn(&str) -> bool) -> bool {
    let is_suite = |word: &str| {
        let ends = [".yml", ".yaml"].iter().any(|end| word.ends_with(end));
        ends || word.contains(['*', '?', '[', '{', ':', '/', '\\']) || exists(word)
    };
    words.first().is_some_and(|first| !is_suite(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_in_the_place_of_suites() {
        let check = |typed: &str, expected: bool| {
            let words: Vec<String> = typed.split_whitespace().map(str::to_owned).collect();
            assert_eq!(is_command(&words, &|word| word == "suites"), expected, "{typed}");
        };
        check("node server.js", true);
        check("npx -y some-server", true);
        check("-users.yml", false);
        check("suites", false);
        check("suite.yml:6", false);
        check("builtin:security", false);
        check("tests/*.yml", false);
        check("", false);
    }

    #[test]
    fn a_server_follows_the_suites() {
        let words = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        for (before, after, suites, server) in [
            ("", "", "", ""),
            ("a.yml", "", "a.yml", ""),
            ("", "-a.yml", "-a.yml", ""),
            ("demo", "", "demo", ""),
            ("a.yml demo", "", "a.yml", "demo"),
            ("builtin:security a.yml", "", "builtin:security a.yml", ""),
            ("builtin:security http://127.0.0.1/mcp", "", "builtin:security", "http://127.0.0.1/mcp"),
            ("builtin:security mcp.json:users", "", "builtin:security", "mcp.json:users"),
            ("builtin:security", "node s.js", "builtin:security", "node s.js"),
            ("a.yml demo", "node s.js", "a.yml demo", "node s.js"),
        ] {
            let expected = TypedWords { suites: words(suites), server: words(server) };
            assert_eq!(parse_words(words(before), words(after)), expected, "`{before} -- {after}`");
        }
    }
}
