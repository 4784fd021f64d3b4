//! `mcprove run` and `mcprove prove` as they are typed: suites, and perhaps a server in the place of the one that they name.

use clap::Args;
use serde_json::{Map, json};

use super::adhoc::CallingArgs;
use super::run::{RunArgs, RunRequest, run};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::{Verb, is_server};
use crate::cli::suites::{AdHocSuite, GivenServers};
use crate::suite::AdHocCommand;

const VERB: Verb = Verb { command: AdHocCommand::Run, does: "run the suites on" };

/// Runs test suites against their servers, or against the one that follows them.
#[derive(Debug, Args)]
pub(crate) struct RunCommandArgs {
    #[command(flatten)]
    on: CallingArgs,
    /// The command that starts the server on which the suites run, in the place of their own.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl RunCommandArgs {
    /// The run that is asked for, on the server that the command line names, if it names one.
    pub(crate) fn into_run(self, console: &Console) -> Result<RunArgs, Exit> {
        let Self { on: CallingArgs { calls, server, run: mut args }, command } = self;
        let TypedWords { suites, server: words } = parse_words(std::mem::take(&mut args.suites.paths), command);
        args.suites.paths = suites;
        if words.is_empty() && !server.names_server() {
            let Some(flag) = calls.flags().into_iter().chain(server.flags()).next() else { return Ok(args) };
            let message = format!("`{flag}` is about a server of the command line, and none is named");
            let help = "name it behind the suites, as in `mcprove run suite.yml -- node server.js`, or write into the suite \
                        what the flag says";
            return Err(console.fail(Exit::Usage, message, Some(help)));
        }
        let target = server.target(VERB, &words, console)?;
        let read_only = args.read_only.then(|| "--read-only".to_owned()).into_iter().collect();
        // A suite without any block is refused; of this one only the servers are used.
        let members = Map::from_iter([("schema_lint".to_owned(), json!({}))]);
        let suite = target.suite(members, &[calls.flags(), read_only].concat());
        let suite = AdHocSuite { tools: calls.named_tools(), ..suite };
        args.suites.given = Some(GivenServers { suite, may_call: calls });
        Ok(args)
    }
}

pub(crate) fn run_command(typed: RunCommandArgs, console: &Console) -> Result<Exit, Exit> {
    run(&RunRequest::from(typed.into_run(console)?), console)
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

#[cfg(test)]
mod tests {
    use super::*;

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
