//! Judges whether servers served calls of their tools: a server that refuses every call breaks few rules, and proves
//! nothing.

use std::collections::BTreeSet;

use crate::cli::calls::unknown_tool;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::suites::FlaggedTool;
use crate::event::{
    ServerCallCounts, ToolCallCounts, ToolListing, ToolUse, UnjudgedReason, UnjudgedTool, UnjudgedTools,
};
use crate::redact::Redactor;
use crate::source::{did_you_mean, visible_line};
use crate::wire::{call_limit, surroundings_lack};

/// The calls that a server must serve at least, so that it counts as judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ServingRequirement {
    /// A call, where generated cases called tools.
    #[default]
    WhereGenerated,
    /// The same, and calls of half of the tools at least, whoever forbade the others.
    HalfGenerated,
    /// A call, where any was made: a server may have no tools.
    Served,
    /// The same, and generated calls of half of the tools at least.
    HalfServed,
}

impl ServingRequirement {
    /// Returns true if it is about the whole server, and not only about generated cases.
    pub(crate) fn is_of_server(self) -> bool {
        matches!(self, Self::Served | Self::HalfServed)
    }

    fn is_of_half(self) -> bool {
        matches!(self, Self::HalfGenerated | Self::HalfServed)
    }
}

/// The calls that a run demands, and where its suite comes from.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServingPolicy {
    pub(crate) requirement: ServingRequirement,
    /// True if the run may pass although a tool was not judged.
    pub(crate) allows_unjudged: bool,
    /// True if the suite is made from the command line, so that help names flags.
    pub(crate) is_adhoc: bool,
    /// True if tools that change data may be called already, unless they may destroy some.
    pub(crate) allows_changes: bool,
}

impl ServingPolicy {
    /// How to allow calls that were left out.
    fn way_to_allow(self) -> &'static str {
        match (self.is_adhoc, self.allows_changes) {
            (true, false) => "`--scratch` or `--allow TOOL`",
            (true, true) => "`--allow TOOL`",
            (false, false) => "`scratch: true` or `allow: [TOOL]`",
            (false, true) => "`allow: [TOOL]`",
        }
    }
}

/// The calls of a run, server by server, and what is demanded of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServedCalls {
    pub(crate) servers: Vec<ServerCallCounts>,
    pub(crate) policy: ServingPolicy,
}

/// The tools of a server that generated cases left alone.
struct SkippedTools {
    tools: UnjudgedTools,
    /// They are most of its tools.
    is_most: bool,
}

impl ServedCalls {
    /// The tools that servers list, and which of them cases called.
    pub(crate) fn tool_use(&self) -> Vec<ToolUse> {
        let each = self.servers.iter().map(|server| {
            let (called, uncalled) = server.listed_tools().partition::<Vec<&ToolCallCounts>, _>(|tool| tool.sent > 0);
            let names = |tools: Vec<&ToolCallCounts>| tools.into_iter().map(|tool| tool.name.clone()).collect();
            let (called, uncalled) = (names(called), names(uncalled));
            ToolUse { file: server.file.clone(), server: server.server.clone(), called, uncalled }
        });
        each.filter(|tools| !tools.called.is_empty() || !tools.uncalled.is_empty()).collect()
    }

    /// Reports flags that name tools which no server lists, as a mistake of the command line; findings weigh more.
    pub(crate) fn refuse_unknown(&self, named: &[FlaggedTool], exit: Exit, console: &Console) -> Exit {
        let listed: BTreeSet<&str> =
            self.servers.iter().flat_map(ServerCallCounts::listed_tools).map(|tool| tool.name.as_str()).collect();
        let is_unknown = |named: &&FlaggedTool| !listed.iter().any(|tool| named.is_match(tool));
        let mut unknown = named.iter().filter(|_| !listed.is_empty()).filter(is_unknown).peekable();
        let is_known = unknown.peek().is_none();
        for named in unknown {
            console.error(unknown_tool(named), did_you_mean(&named.tool, listed.iter().copied()).as_deref());
        }
        let gives_way = matches!(exit, Exit::Passed | Exit::Coverage | Exit::Nothing);
        if is_known || !gives_way { exit } else { Exit::Usage }
    }

    /// The tools for which the run has no verdict although nothing failed, the reason that weighs most first.
    pub(crate) fn unjudged(&self) -> Vec<UnjudgedTools> {
        if let Some(server) = self.unknown_server() {
            return vec![server];
        }
        if self.policy.allows_unjudged {
            return Vec::new();
        }
        self.mostly_skipped().into_iter().chain(self.unserved()).collect()
    }

    /// The first server of which nothing is known.
    fn unknown_server(&self) -> Option<UnjudgedTools> {
        let serving = self.policy.requirement;
        self.servers.iter().find_map(|server| {
            let unknown = |reason, message: String, tools: Vec<&ToolCallCounts>| UnjudgedTools {
                reason,
                message,
                tools: tools.into_iter().map(|tool| self.named(server, tool)).collect(),
                answer: None,
                help: self.help_for_unserved(),
            };
            let of = if self.servers.len() > 1 { format!(" by `{}`", server.server) } else { String::new() };
            if !serving.is_of_server() && server.wants_tools && server.lists_none {
                let message = "the server declares `tools` and lists none, so nothing is known of them";
                return Some(unknown(UnjudgedReason::NoneListed, message.to_owned(), Vec::new()));
            }
            let is_tried = match serving {
                ServingRequirement::WhereGenerated | ServingRequirement::HalfGenerated => {
                    server.generated_tools().any(|tool| !tool.exempt)
                }
                // Without tools, only calls of unknown ones are made.
                ServingRequirement::Served | ServingRequirement::HalfServed => {
                    server.sent_count() > 0 && !server.lists_none
                }
            };
            if !is_tried || server.served_count() > 0 {
                return None;
            }
            if server.is_spared() {
                let message = format!("no tool was called{of}, so nothing is known of them");
                return Some(unknown(UnjudgedReason::NoneCalled, message, server.listed_tools().collect()));
            }
            let message = match server.sent_count() {
                1 => format!("the only call of a tool was not served{of}, so nothing is known of it"),
                sent => format!("none of {sent} calls of tools was served{of}, so nothing is known of them"),
            };
            let sent = server.listed_tools().filter(|tool| tool.sent > 0);
            Some(unknown(UnjudgedReason::NoneServed, message, sent.collect()))
        })
    }

    /// A tool as messages name it.
    fn named(&self, server: &ServerCallCounts, tool: &ToolCallCounts) -> UnjudgedTool {
        UnjudgedTool { name: tool.name.clone(), server: (self.servers.len() > 1).then(|| server.server.clone()) }
    }

    /// The tools that generated cases left alone, where those are most of a server and most have to be called.
    fn mostly_skipped(&self) -> Option<UnjudgedTools> {
        let mut skipped = self.skipped_tools().filter(|skipped| skipped.is_most);
        skipped.next().filter(|_| self.policy.requirement.is_of_half()).map(|skipped| skipped.tools)
    }

    /// The tools that generated cases left alone, server by server.
    fn skipped_tools(&self) -> impl Iterator<Item = SkippedTools> {
        let narrow = if self.policy.requirement == ServingRequirement::HalfGenerated {
            "name the tools that matter with `--tool TOOL`, "
        } else {
            ""
        };
        let help = format!(
            "allow calls that may change data with {}, {narrow}or let the run pass without them with \
             `--allow-unjudged`",
            self.policy.way_to_allow()
        );
        self.servers.iter().filter_map(move |server| {
            let judged = server.listed_tools().filter(|tool| tool.listing != ToolListing::OnlyTasks);
            let (tried, skipped): (Vec<&ToolCallCounts>, Vec<_>) = judged.partition(|tool| tool.generated);
            let (count, all) = (skipped.len(), skipped.len() + tried.len());
            (count > 0 && !server.has_uncounted).then(|| SkippedTools {
                is_most: count > tried.len(),
                tools: UnjudgedTools {
                    reason: UnjudgedReason::NotCalled,
                    message: format!("{count} of {all} tools got no generated call"),
                    tools: skipped.into_iter().map(|tool| self.named(server, tool)).collect(),
                    answer: None,
                    help: help.clone(),
                },
            })
        })
    }

    /// The tools that generated cases called, that served no call at all, and of which no suite says that this is known.
    fn unserved_tools(&self) -> Vec<(&ServerCallCounts, &ToolCallCounts)> {
        let is_unknown =
            |tool: &&ToolCallCounts| tool.served == 0 && tool.listing != ToolListing::OnlyTasks && !tool.exempt;
        let counted = self.servers.iter().filter(|server| !server.has_uncounted);
        counted.flat_map(|server| server.generated_tools().filter(is_unknown).map(move |tool| (server, tool))).collect()
    }

    /// The tools that served none of their generated calls, without those that may.
    fn unserved(&self) -> Option<UnjudgedTools> {
        let unserved = self.unserved_tools();
        let [(_, first), ..] = unserved.as_slice() else { return None };
        let which = match unserved.len() {
            1 => "1 tool was".to_owned(),
            count => format!("{count} tools were"),
        };
        Some(UnjudgedTools {
            reason: UnjudgedReason::NotServed,
            message: format!("{which} not judged, since no call was served"),
            tools: unserved.iter().map(|(server, tool)| self.named(server, tool)).collect(),
            answer: Some(first.refusal()).filter(|answer| !answer.is_empty()).map(str::to_owned),
            help: help_for_unserved_tool(first, self.policy),
        })
    }

    /// The verdict, unless a tool, or the whole server, was not judged; `unjudged` is what reports say of it.
    pub(crate) fn gate(&self, exit: Exit, unjudged: &[UnjudgedTools], hidden: &Redactor, console: &Console) -> Exit {
        if !matches!(exit, Exit::Passed | Exit::Coverage | Exit::Findings) {
            return exit;
        }
        let first = unjudged.first();
        if exit != Exit::Findings
            && let Some(first) = first.filter(|first| first.reason != UnjudgedReason::NotServed)
        {
            return console.fail(Exit::Nothing, first.to_text(), Some(&first.help));
        }
        if first.is_some_and(|first| first.reason.is_of_server()) {
            return exit;
        }
        if self.policy.requirement == ServingRequirement::HalfServed {
            for skipped in self.skipped_tools() {
                let sentence = hidden.text(&skipped.tools.to_text());
                console.note(&format!("warning: {sentence}; `--allow TOOL` calls one that may change data"));
            }
        }
        if self.policy.requirement.is_of_server() && self.servers.iter().any(|server| server.lists_none) {
            console.note("warning: the server declares `tools` and lists none, so no call was judged");
        }
        let Some(unserved) = unjudged.iter().find(|one| one.reason == UnjudgedReason::NotServed) else { return exit };
        if exit == Exit::Findings {
            console.note(&format!("warning: {}; {}", unserved.to_text(), unserved.help));
            return exit;
        }
        console.fail(Exit::Nothing, unserved.to_text(), Some(&unserved.help))
    }

    fn help_for_unserved(&self) -> String {
        let is_adhoc = self.policy.is_adhoc;
        if self.servers.iter().all(|server| server.listed_tools().next().is_none()) {
            "start the server so that it lists its tools, or remove `tools` from its capabilities".to_owned()
        } else if self.servers.iter().any(ServerCallCounts::is_spared) {
            format!("allow calls of tools that may change data with {}", self.policy.way_to_allow())
        } else if let Some(lack) = common_lack(self.unserved_tools().into_iter().map(|(_, tool)| tool.refusal())) {
            format!("the server lacks something here, so no arguments help: \"{lack}\"; provide it")
        } else {
            let way = if is_adhoc { "--arguments 'TOOL={…}'" } else { "arguments: { TOOL: { … } }" };
            format!("give valid arguments with `{way}`; `--transcript frames` shows the answers")
        }
    }
}

/// What the machine lacks, in the words of the first tool, where that is why each of the tools served nothing.
fn common_lack<'a>(refusals: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
    let lack = refusals.clone().find_map(surroundings_lack)?;
    let is_excused = |refusal: &str| surroundings_lack(refusal).is_some() || call_limit(refusal).is_some();
    let mut refusals = refusals;
    refusals.all(is_excused).then_some(lack)
}

fn help_for_unserved_tool(first: &ToolCallCounts, policy: ServingPolicy) -> String {
    let tool = visible_line(&first.name);
    let allow = if policy.is_adhoc { "--allow-unjudged".to_owned() } else { format!("allow_unjudged: [{tool}]") };
    if surroundings_lack(first.refusal()).is_some() {
        return format!("provide what the server lacks here, or let the run pass without it with `{allow}`");
    }
    if call_limit(first.refusal()).is_some() {
        return format!("raise the limit of calls for tests, or let the run pass without the tool with `{allow}`");
    }
    let give = if policy.is_adhoc {
        format!("--arguments '{tool}={{…}}'")
    } else {
        format!("arguments: {{ {tool}: {{ … }} }}")
    };
    format!("give valid arguments with `{give}`, or let the run pass without it with `{allow}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::CommonRefusal;

    /// A tool with the numbers of calls that were sent and served.
    fn tool(name: &str, (sent, served): (usize, usize)) -> ToolCallCounts {
        let (listing, called) = (ToolListing::Listed, sent > 0);
        ToolCallCounts {
            name: name.to_owned(),
            listing,
            called,
            generated: called,
            sent,
            served,
            ..ToolCallCounts::default()
        }
    }

    fn calls(requirement: ServingRequirement, tools: Vec<ToolCallCounts>) -> ServedCalls {
        let policy = ServingPolicy { requirement, ..ServingPolicy::default() };
        let lists_none = !tools.iter().any(ToolCallCounts::is_listed);
        ServedCalls { servers: vec![ServerCallCounts { lists_none, tools, ..ServerCallCounts::default() }], policy }
    }

    #[test]
    fn who_shows_nothing() {
        let generated = ServingRequirement::WhereGenerated;
        let by_hand = || ToolCallCounts { generated: false, ..tool("add", (1, 0)) };
        let unlisted = || ToolCallCounts { listing: ToolListing::Unlisted, ..tool("nobody has this", (1, 0)) };
        let exempt = || ToolCallCounts { exempt: true, ..tool("add", (1, 0)) };
        for (requirement, tools, expected) in [
            (generated, vec![tool("add", (1, 0))], true),
            (generated, vec![tool("add", (1, 1))], false),
            (generated, vec![by_hand()], false),
            (generated, vec![tool("add", (0, 0)), unlisted()], false),
            (generated, vec![exempt()], false),
            (generated, vec![], false),
            (ServingRequirement::Served, vec![by_hand()], true),
            (ServingRequirement::Served, vec![unlisted()], false),
            (ServingRequirement::Served, vec![], false),
        ] {
            let calls = calls(requirement, tools);
            assert_eq!(calls.unknown_server().is_some(), expected, "{calls:?}");
        }
    }

    #[test]
    fn a_lack_of_all_tools_is_no_lack_of_arguments() {
        let lack = "fetch failed";
        for (refusals, expected) in [
            (&[lack, "Error: fetch failed"][..], Some(lack)),
            (&["Rate limit exceeded", lack], Some(lack)),
            (&[lack, "no such user"], None),
            (&["Rate limit exceeded"], None),
            (&[], None),
        ] {
            assert_eq!(common_lack(refusals.iter().copied()).as_deref(), expected, "{refusals:?}");
        }
    }

    #[test]
    fn most_tools_have_to_be_called() {
        for (listed, called, expected) in [
            (&["a", "b", "c"][..], 1, Some("2 of 3 tools got no generated call: `b`, `c`")),
            (&["a", "b"], 1, None),
            (&["a", "b", "c"], 2, None),
            (&[], 0, None),
        ] {
            let tools = listed.iter().enumerate().map(|(at, name)| tool(name, (usize::from(at < called), 0)));
            let calls = calls(ServingRequirement::HalfServed, tools.collect());
            let skipped = calls.mostly_skipped().map(|skipped| skipped.to_text());
            assert_eq!(skipped.as_deref(), expected, "{listed:?} {called}");
        }
    }

    #[test]
    fn a_run_may_pass_without_tools_but_not_without_any() {
        let reasons = |allows_unjudged, of: [(usize, usize); 3]| {
            let tools = ["a", "b", "c"].iter().zip(of).map(|(name, counts)| tool(name, counts));
            let mut calls = calls(ServingRequirement::HalfGenerated, tools.collect());
            calls.policy.allows_unjudged = allows_unjudged;
            calls.unjudged().iter().map(|tools| tools.reason).collect::<Vec<_>>()
        };
        assert_eq!(reasons(false, [(1, 1), (1, 0), (0, 0)]), [UnjudgedReason::NotServed]);
        assert_eq!(reasons(false, [(1, 1), (0, 0), (0, 0)]), [UnjudgedReason::NotCalled]);
        assert_eq!(reasons(true, [(1, 1), (1, 0), (0, 0)]), []);
        assert_eq!(reasons(true, [(0, 0), (1, 0), (0, 0)]), [UnjudgedReason::NoneServed]);
    }

    #[test]
    fn every_tool_has_to_serve_something() {
        let refusal = Some(CommonRefusal { words: "database is down".to_owned(), times: 1 });
        let get = || ToolCallCounts { refusal: refusal.clone(), ..tool("get", (3, 0)) };
        let as_task = ToolCallCounts { listing: ToolListing::OnlyTasks, ..get() };
        let by_hand = ToolCallCounts { generated: false, ..get() };
        let exempt = ToolCallCounts { exempt: true, ..get() };
        for (unserved, expected) in [
            (get(), Some("1 tool was not judged, since no call was served: `get`; it answered: database is down")),
            (as_task, None),
            (by_hand, None),
            (exempt, None),
        ] {
            let calls = calls(ServingRequirement::WhereGenerated, vec![tool("add", (2, 1)), unserved]);
            let message = calls.unserved().map(|unserved| unserved.to_text());
            assert_eq!(message.as_deref(), expected, "{calls:?}");
        }
    }

    #[test]
    fn tools_that_only_a_search_called_were_called_by_no_case() {
        let searched = ToolCallCounts { called: true, ..tool("get", (0, 0)) };
        let unlisted = ToolCallCounts { listing: ToolListing::Unlisted, ..tool("nobody has this", (1, 0)) };
        let calls =
            calls(ServingRequirement::default(), vec![tool("add", (1, 1)), searched, tool("list", (0, 0)), unlisted]);
        let found = calls.tool_use().remove(0);
        assert_eq!((found.called, found.uncalled), (vec!["add".to_owned()], vec!["get".to_owned(), "list".to_owned()]));
    }
}
