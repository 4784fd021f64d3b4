//! Whether a server served anything: one that refuses every call keeps many promises, and shows nothing by it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::run::RunArgs;
use crate::cli::calls::unknown_tool;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::event::{CaseResult, Outcome};
use crate::plan::Generated;
use crate::runner::SessionFrames;
use crate::wire::Direction;

/// What a server must serve at least, so that something is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Serving {
    /// A call, where generated cases called tools.
    #[default]
    WhereGenerated,
    /// A call, where any was made.
    Served,
    /// The same, and a tool, where it says that it has tools.
    ServedAndListed,
}

/// How calls of tools went, server by server.
#[derive(Debug, Default)]
pub(super) struct Calls {
    generated: Generated,
    /// The ids of the cases that rest on generated calls and were run.
    ran: BTreeSet<String>,
    /// By file and name.
    servers: BTreeMap<(String, String), Answers>,
}

/// What is known of one server.
#[derive(Debug, Default)]
struct Answers {
    declares_tools: bool,
    /// The tools that it lists.
    listed: BTreeSet<String>,
    /// The tools that each case called.
    called: BTreeMap<String, BTreeSet<String>>,
    sent: usize,
    served: usize,
}

impl Calls {
    /// Nothing yet; `generated` says which cases rest on generated calls.
    pub(super) fn of(generated: Generated) -> Self {
        Self { generated, ..Self::default() }
    }

    /// Takes note of a case.
    pub(super) fn case(&mut self, result: &CaseResult) {
        let case = &result.case;
        if result.outcome != Outcome::Skipped && self.generated.has((&case.file, case.line), &case.server, &case.probes)
        {
            self.ran.insert(case.id.clone());
        }
    }

    /// Counts the calls of a session.
    pub(super) fn session(&mut self, session: &SessionFrames) {
        let answers = self.servers.entry((session.file.clone(), session.server.clone())).or_default();
        let owners: BTreeMap<u32, &str> =
            session.owners.iter().flat_map(|(id, frames)| frames.iter().map(|frame| (*frame, id.as_str()))).collect();
        let mut open = BTreeSet::new();
        for frame in &session.frames {
            let Ok(message) = frame.json() else { continue };
            match frame.direction {
                Direction::Sent if message["method"] == "tools/call" => {
                    open.insert(message["id"].to_string());
                    let owner = owners.get(&frame.seq).copied().or(session.case.as_deref());
                    answers.call(owner.unwrap_or_default(), &message);
                }
                Direction::Received => {
                    let Some(result) = message.get("result") else { continue };
                    if open.remove(&message["id"].to_string()) {
                        answers.served += usize::from(result["isError"] != true);
                    } else {
                        answers.answer(result);
                    }
                }
                Direction::Sent => {}
            }
        }
    }

    /// Tells of flags that name tools which no server lists.
    pub(super) fn tell_unknown(&self, named: &[(&'static str, String)], output: &Output) {
        let listed: BTreeSet<&str> =
            self.servers.values().flat_map(|server| &server.listed).map(String::as_str).collect();
        let is_unknown = |(_, name): &&(&str, String)| !listed.is_empty() && !listed.contains(name.as_str());
        for (flag, name) in named.iter().filter(is_unknown) {
            output.note(&unknown_tool(flag, name, listed.iter().copied()));
        }
    }

    /// Why nothing is known of some server, as a sentence; `None` where something is.
    fn unknown(&self, serving: Serving) -> Option<String> {
        self.servers.iter().find_map(|((_, name), server)| {
            let of = if self.servers.len() > 1 { format!(" by `{name}`") } else { String::new() };
            if serving == Serving::ServedAndListed && server.declares_tools && server.listed.is_empty() {
                return Some("the server declares `tools` and lists none, so nothing is known of them".to_owned());
            }
            let is_tried = match serving {
                Serving::WhereGenerated => self.is_generated(server),
                Serving::Served | Serving::ServedAndListed => server.sent > 0,
            };
            (is_tried && server.served == 0).then(|| match server.sent {
                _ if server.is_spared() => format!("no tool was called{of}, so nothing is known of them"),
                1 => format!("the only call of a tool was not served{of}, so nothing is known of it"),
                sent => format!("none of {sent} calls of tools was served{of}, so nothing is known of them"),
            })
        })
    }

    /// Whether a generated case called a tool that the server has; others have to be refused.
    fn is_generated(&self, server: &Answers) -> bool {
        let of_generated = server.called.iter().filter(|(case, _)| self.ran.contains(*case));
        of_generated.flat_map(|(_, tools)| tools).any(|tool| server.listed.contains(tool))
    }
}

impl Answers {
    /// Whether nothing that it lists was called.
    fn is_spared(&self) -> bool {
        let mut called = self.called.values().flatten();
        !self.listed.is_empty() && !called.any(|tool| self.listed.contains(tool))
    }

    fn call(&mut self, case: &str, message: &Value) {
        self.sent += 1;
        let tool = message["params"]["name"].as_str().unwrap_or_default();
        self.called.entry(case.to_owned()).or_default().insert(tool.to_owned());
    }

    fn answer(&mut self, result: &Value) {
        self.declares_tools |= result["capabilities"]["tools"].is_object();
        let tools = result["tools"].as_array().into_iter().flatten();
        self.listed.extend(tools.filter_map(|tool| tool["name"].as_str()).map(str::to_owned));
    }
}

impl RunArgs {
    /// The verdict, unless calls of tools were made and none was served: then nothing is known of what calls do.
    pub(super) fn unless_unserved(&self, exit: Exit, calls: &Calls, output: &Output) -> Exit {
        let unknown = calls.unknown(self.serving).filter(|_| matches!(exit, Exit::Passed | Exit::Coverage));
        let Some(message) = unknown else { return exit };
        let is_listed = calls.servers.values().any(|server| !server.listed.is_empty());
        let help = match (is_listed, self.suites.given.is_some()) {
            (false, _) => "start the server so that it lists its tools, or let it not declare `tools`".to_owned(),
            (true, given) if calls.servers.values().any(Answers::is_spared) => {
                let way = if given { "`--allow TOOL`" } else { "`allow: [TOOL]`" };
                format!("a tool that may destroy something is called where {way} names it")
            }
            (true, given) => {
                let way = if given { "--arguments 'TOOL={…}'" } else { "arguments: { TOOL: { … } }" };
                format!("give valid arguments with `{way}`; `--transcript frames` shows what was answered")
            }
        };
        output.error(&message, Some(&help));
        Exit::Nothing
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn who_shows_nothing() {
        let check = |serving, (declares_tools, tools, calls): (bool, &[&str], &[(&str, &str)]), served, expected| {
            let mut server = Answers { declares_tools, served, ..Answers::default() };
            server.answer(&json!({"tools": tools.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()}));
            for (case, tool) in calls {
                server.call(case, &json!({"params": {"name": tool}}));
            }
            let servers = [(("s.yml".to_owned(), "server".to_owned()), server)].into();
            let calls = Calls { ran: ["generated".to_owned()].into(), servers, generated: Generated::default() };
            assert_eq!(calls.unknown(serving).is_some(), expected, "{serving:?} {calls:?}");
        };
        let generated = Serving::WhereGenerated;
        check(generated, (true, &["add"], &[("generated", "add")]), 0, true);
        check(generated, (true, &["add"], &[("generated", "add")]), 1, false);
        check(generated, (true, &["add"], &[("by hand", "add")]), 0, false);
        check(generated, (true, &["add"], &[("generated", "nobody has this")]), 0, false);
        check(generated, (true, &[], &[]), 0, false);
        check(Serving::Served, (true, &["add"], &[("by hand", "add")]), 0, true);
        check(Serving::Served, (true, &[], &[]), 0, false);
        check(Serving::ServedAndListed, (true, &[], &[]), 0, true);
        // What has resources only need not list tools.
        check(Serving::ServedAndListed, (false, &[], &[]), 0, false);
    }
}
