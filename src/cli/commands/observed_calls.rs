//! Checks that servers serve calls of their tools: a server that refuses every call breaks few rules, and proves nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::cli::calls::unknown_tool;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::suites::FlaggedTool;
use crate::event::{CaseResult, Outcome};
use crate::plan::GeneratedCases;
use crate::redact::Redactor;
use crate::runner::{SessionFrames, SessionPurpose};
use crate::schema::Judge;
use crate::source::{did_you_mean, shorten, visible_line};
use crate::transport::Owner;
use crate::wire::{Direction, ForgottenCalls, call_limit, is_served, surroundings_lack};

/// The most tools that a sentence names.
pub(crate) const MOST_NAMES: usize = 5;

/// The most refusals of a tool that are told apart.
const MOST_REFUSALS: usize = 20;

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
#[derive(Debug)]
pub(crate) struct ServingPolicy {
    pub(crate) requirement: ServingRequirement,
    /// True if the run may pass although a tool was not judged.
    pub(crate) allows_unjudged: bool,
    /// True if the suite is made from the command line, so that help names flags.
    pub(crate) is_adhoc: bool,
}

/// The calls of tools and their answers, server by server.
#[derive(Debug, Default)]
pub(crate) struct ObservedCalls {
    /// True if they are judged: a run of hand-written cases alone is judged by its cases.
    are_counted: bool,
    generated: GeneratedCases,
    /// The ids of the cases that rest on generated calls and were run.
    ran: BTreeSet<String>,
    /// By file and name.
    servers: BTreeMap<(String, String), AnswerCounts>,
}

/// The tools of one server, and how it answered their calls.
#[derive(Debug, Default)]
struct AnswerCounts {
    declares_tools: bool,
    /// The tools that it lists.
    listed: BTreeSet<String>,
    /// Their input schemas.
    schemas: BTreeMap<String, Value>,
    /// Those that are served as tasks only, which generated calls are not.
    only_tasks: BTreeSet<String>,
    /// True if some of its frames are not kept, so that it may have listed more.
    has_unkept: bool,
    /// True if some of its calls are not counted.
    has_uncounted: bool,
    /// The tools that each case called.
    called: BTreeMap<String, BTreeSet<String>>,
    /// The outcomes of the calls of each tool.
    tools: BTreeMap<String, ToolTally>,
}

/// The outcomes of the calls of one tool.
#[derive(Debug, Default)]
struct ToolTally {
    /// Calls of cases and of looks at the whole server, and those of them that it served. A search for arguments judges
    /// nothing.
    sent: usize,
    served: usize,
    /// Its messages to calls that it did not serve, those of a search included: they say what the tool lacks.
    refusals: BTreeMap<String, RefusedCallExample>,
}

/// A way in which calls were not served.
#[derive(Debug)]
struct RefusedCallExample {
    times: usize,
    /// The arguments of the first of these calls: some had to be refused.
    arguments: Value,
}

impl ToolTally {
    /// Its most frequent message to calls that are valid by its schema: others were meant to be refused.
    fn refusal(&self, schema: Option<&Value>) -> &str {
        let judge = schema.and_then(|schema| Judge::of(schema).ok());
        let is_meant = |refusal: &RefusedCallExample| {
            judge.as_ref().is_none_or(|judge| judge.is_valid(&refusal.arguments) == Some(true))
        };
        let refusals = self.refusals.iter().filter(|(_, refusal)| is_meant(refusal));
        refusals.max_by_key(|(_, refusal)| refusal.times).map_or("", |(words, _)| words)
    }
}

/// The tools of a server that generated cases left alone.
struct SkippedTools {
    sentence: String,
    /// They are most of its tools.
    is_most: bool,
}

/// A tool of which nothing is known.
#[derive(Debug, PartialEq, Eq)]
struct Unjudged<'a> {
    server: &'a str,
    tool: &'a str,
    refusal: &'a str,
}

impl ObservedCalls {
    /// Counts nothing yet; `generated` lists the cases that rest on generated calls.
    pub(crate) fn new(generated: GeneratedCases, serving: ServingRequirement) -> Self {
        let are_counted = serving.is_of_server() || !generated.is_empty();
        Self { are_counted, generated, ..Self::default() }
    }

    /// Takes note of a case.
    pub(crate) fn case(&mut self, result: &CaseResult) {
        let case = &result.case;
        if result.outcome != Outcome::Skipped && self.generated.has(&case.file, case.line, &case.server, &case.probes) {
            self.ran.insert(case.id.clone());
        }
    }

    /// Counts the calls of a session.
    pub(crate) fn session(&mut self, session: &SessionFrames, redactor: &Redactor) {
        if !self.are_counted {
            return;
        }
        let answers = self.servers.entry((session.file.clone(), session.server.clone())).or_default();
        let owners: BTreeMap<u32, &Owner> =
            session.owners.iter().flat_map(|(id, frames)| frames.iter().map(move |frame| (*frame, id))).collect();
        if session.purpose == SessionPurpose::Verdict {
            answers.count_forgotten(&session.forgotten, session.case.as_deref().unwrap_or_default());
        }
        // Nobody knows the arguments of a forgotten call.
        let forgotten = session.forgotten.open.iter().map(|(id, tool)| (id.clone(), (tool.clone(), Value::Null)));
        let mut open: BTreeMap<String, (String, Value)> = forgotten.collect();
        for frame in &session.frames {
            let Ok(message) = frame.json() else { continue };
            match frame.direction {
                Direction::Sent if message["method"] == "tools/call" => {
                    let tool = message["params"]["name"].as_str().unwrap_or_default();
                    let arguments = message["params"].get("arguments").cloned().unwrap_or_else(|| json!({}));
                    open.insert(message["id"].to_string(), (tool.to_owned(), arguments));
                    let case = owners.get(&frame.seq).map_or(session.case.as_deref(), |owner| owner.case());
                    answers.call(session.purpose, case.unwrap_or_default(), tool);
                }
                Direction::Received => match open.remove(&message["id"].to_string()) {
                    Some((tool, arguments)) => {
                        answers.count_answer(session.purpose, &tool, arguments, &message, redactor);
                    }
                    None => answers.read_result(&message["result"]),
                },
                Direction::Sent => {}
            }
        }
        for (id, is_served) in &session.forgotten.long_answers {
            if let Some((tool, _)) = open.remove(id)
                && session.purpose == SessionPurpose::Verdict
            {
                answers.count_long_answer(&tool, *is_served);
            }
        }
        let has_gap = session.frames.windows(2).any(|pair| pair[1].seq > pair[0].seq + 1);
        let has_unkept = has_gap || session.frames.iter().any(|frame| !frame.is_whole());
        answers.has_unkept |= has_unkept;
        // Which of the cases of a shared session made a forgotten call is not known.
        answers.has_uncounted |= has_unkept && session.case.is_none();
    }

    /// Reports flags that name tools which no server lists, as a mistake of the command line; findings weigh more.
    pub(crate) fn refuse_unknown(&self, named: &[FlaggedTool], exit: Exit, console: &Console) -> Exit {
        let listed: BTreeSet<&str> =
            self.servers.values().flat_map(|server| &server.listed).map(String::as_str).collect();
        let is_unknown = |named: &&FlaggedTool| !listed.iter().any(|tool| named.is_match(tool));
        let mut unknown = named.iter().filter(|_| !listed.is_empty()).filter(is_unknown).peekable();
        let is_known = unknown.peek().is_none();
        for named in unknown {
            console.error(unknown_tool(named), did_you_mean(&named.tool, listed.iter().copied()).as_deref());
        }
        let gives_way = matches!(exit, Exit::Passed | Exit::Coverage | Exit::Nothing);
        if is_known || !gives_way { exit } else { Exit::Usage }
    }

    /// Why nothing is known of some server, as a sentence; `None` where something is.
    fn unknown(&self, serving: ServingRequirement) -> Option<String> {
        self.servers.iter().find_map(|((file, name), server)| {
            let of = if self.servers.len() > 1 { format!(" by `{name}`") } else { String::new() };
            let wants_tools = !serving.is_of_server() && self.generated.calls_tools(file, name);
            if wants_tools && server.lists_none() {
                return Some("the server declares `tools` and lists none, so nothing is known of them".to_owned());
            }
            let is_tried = match serving {
                ServingRequirement::WhereGenerated | ServingRequirement::HalfGenerated => {
                    let tools = self.generated_tools(server);
                    tools.into_iter().any(|tool| !self.generated.may_be_unjudged(file, tool))
                }
                // Without tools, only calls of unknown ones are made.
                ServingRequirement::Served | ServingRequirement::HalfServed => {
                    server.sent_calls() > 0 && !server.lists_none()
                }
            };
            (is_tried && server.served_calls() == 0).then(|| match server.sent_calls() {
                _ if server.is_spared() => format!("no tool was called{of}, so nothing is known of them"),
                1 => format!("the only call of a tool was not served{of}, so nothing is known of it"),
                sent => format!("none of {sent} calls of tools was served{of}, so nothing is known of them"),
            })
        })
    }

    /// The tools that generated cases left alone, where those are most of a server, as a sentence.
    fn mostly_skipped(&self) -> Option<String> {
        self.skipped_tools().find(|skipped| skipped.is_most).map(|skipped| skipped.sentence)
    }

    /// The tools that generated cases left alone, server by server.
    fn skipped_tools(&self) -> impl Iterator<Item = SkippedTools> {
        self.servers.values().filter_map(|server| {
            let called = self.generated_tools(server);
            let judged = server.listed.iter().filter(|tool| !server.only_tasks.contains(*tool));
            let (tried, skipped): (Vec<_>, Vec<_>) = judged.partition(|tool| called.contains(tool.as_str()));
            (!skipped.is_empty() && !server.has_uncounted).then(|| {
                let names = skipped.iter().take(MOST_NAMES).map(|tool| format!("`{}`", visible_line(tool)));
                let names = names.collect::<Vec<_>>().join(", ");
                let more = skipped.len().saturating_sub(MOST_NAMES);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let count = skipped.len();
                let sentence = format!("{count} of {} tools got no generated call: {names}{more}", count + tried.len());
                SkippedTools { sentence, is_most: count > tried.len() }
            })
        })
    }

    /// The tools that the server has and that generated cases called.
    fn generated_tools<'a>(&self, server: &'a AnswerCounts) -> BTreeSet<&'a str> {
        let of_generated = server.called.iter().filter(|(case, _)| self.ran.contains(*case));
        let tools = of_generated.flat_map(|(_, tools)| tools).map(String::as_str);
        tools.filter(|tool| server.listed.contains(*tool)).collect()
    }

    /// The tools that generated cases called, that served no call at all, and of which no suite says that this is known.
    fn unjudged_tools(&self) -> Vec<Unjudged<'_>> {
        let each = self.servers.iter().flat_map(|((file, name), server)| {
            self.generated_tools(server).into_iter().filter_map(move |tool| {
                let tally = server.tools.get(tool)?;
                let is_unknown = tally.served == 0
                    && !server.has_uncounted
                    && !server.only_tasks.contains(tool)
                    && !self.generated.may_be_unjudged(file, tool);
                is_unknown.then(|| Unjudged { server: name, tool, refusal: tally.refusal(server.schemas.get(tool)) })
            })
        });
        each.collect()
    }
}

impl AnswerCounts {
    /// Returns true if it says that it has tools, and lists none.
    fn lists_none(&self) -> bool {
        self.declares_tools && self.listed.is_empty() && !self.has_unkept
    }

    /// Returns true if no tool that it lists was called.
    fn is_spared(&self) -> bool {
        let mut called = self.called.values().flatten();
        !self.listed.is_empty() && !called.any(|tool| self.listed.contains(tool))
    }

    fn sent_calls(&self) -> usize {
        self.tools.values().map(|tally| tally.sent).sum()
    }

    fn served_calls(&self) -> usize {
        self.tools.values().map(|tally| tally.served).sum()
    }

    fn call(&mut self, purpose: SessionPurpose, case: &str, tool: &str) {
        self.tools.entry(tool.to_owned()).or_default().sent += usize::from(purpose == SessionPurpose::Verdict);
        self.called.entry(case.to_owned()).or_default().insert(tool.to_owned());
    }

    /// The calls of a case in frames that are no longer kept.
    fn count_forgotten(&mut self, calls: &ForgottenCalls, case: &str) {
        for (tool, forgotten) in &calls.tools {
            let tally = self.tools.entry(tool.clone()).or_default();
            tally.sent += forgotten.sent;
            tally.served += forgotten.served;
            self.called.entry(case.to_owned()).or_default().insert(tool.clone());
        }
    }

    /// The answer to a call.
    fn count_answer(
        &mut self,
        purpose: SessionPurpose,
        tool: &str,
        arguments: Value,
        message: &Value,
        redactor: &Redactor,
    ) {
        let Some(tally) = self.tools.get_mut(tool) else { return };
        let result = &message["result"];
        if is_served(message) {
            tally.served += usize::from(purpose == SessionPurpose::Verdict);
        } else if let Some(text) = result["content"][0]["text"].as_str().or(message["error"]["message"].as_str()) {
            let words = shorten(&visible_line(redactor.text(text).trim()), 120);
            if tally.refusals.len() < MOST_REFUSALS || tally.refusals.contains_key(&words) {
                tally.refusals.entry(words).or_insert(RefusedCallExample { times: 0, arguments }).times += 1;
            }
        }
    }

    /// The answer to a call, of which only that it was served is known.
    fn count_long_answer(&mut self, tool: &str, is_served: bool) {
        let tally = self.tools.entry(tool.to_owned()).or_default();
        tally.served += usize::from(is_served);
    }

    /// The answer to anything else.
    fn read_result(&mut self, result: &Value) {
        self.declares_tools |= result["capabilities"]["tools"].is_object();
        let tools = result["tools"].as_array().into_iter().flatten();
        let only_tasks = tools.clone().filter(|tool| tool["execution"]["taskSupport"] == "required");
        self.only_tasks.extend(only_tasks.filter_map(|tool| tool["name"].as_str()).map(str::to_owned));
        for tool in tools.clone() {
            if let (Some(name), Some(schema)) = (tool["name"].as_str(), tool.get("inputSchema")) {
                self.schemas.entry(name.to_owned()).or_insert_with(|| schema.clone());
            }
        }
        self.listed.extend(tools.filter_map(|tool| tool["name"].as_str()).map(str::to_owned));
    }
}

impl ObservedCalls {
    /// The verdict, unless a tool, or the whole server, served no call: then its behaviour is unknown.
    pub(crate) fn gate(&self, exit: Exit, policy: &ServingPolicy, hidden: &Redactor, console: &Console) -> Exit {
        if !matches!(exit, Exit::Passed | Exit::Coverage | Exit::Findings) {
            return exit;
        }
        if let Some(message) = self.unknown(policy.requirement) {
            if exit == Exit::Findings {
                return exit;
            }
            return console.fail(Exit::Nothing, message, Some(&self.help_for_unserved(policy)));
        }
        if let Some(message) = self
            .mostly_skipped()
            .filter(|_| policy.requirement.is_of_half() && !policy.allows_unjudged && exit != Exit::Findings)
        {
            let narrow = if policy.requirement == ServingRequirement::HalfGenerated {
                "name the tools that matter with `--tool TOOL`, "
            } else {
                ""
            };
            let help = format!(
                "allow calls that may change data with `--scratch` or `--allow TOOL`, {narrow}or let the run pass without \
                 them with `--allow-unjudged`"
            );
            return console.fail(Exit::Nothing, hidden.text(&message), Some(&help));
        }
        if policy.requirement == ServingRequirement::HalfServed {
            for SkippedTools { sentence, .. } in self.skipped_tools() {
                let sentence = hidden.text(&sentence);
                console.note(&format!("warning: {sentence}; `--allow TOOL` calls one that may change data"));
            }
        }
        if policy.requirement.is_of_server() && self.servers.values().any(AnswerCounts::lists_none) {
            console.note("warning: the server declares `tools` and lists none, so no call was judged");
        }
        let unjudged = if policy.allows_unjudged { Vec::new() } else { self.unjudged_tools() };
        let [first, ..] = unjudged.as_slice() else { return exit };
        let message = hidden.text(&unjudged_message(&unjudged, self.servers.len()));
        let help = hidden.text(&help_for_unjudged(first, policy));
        if exit == Exit::Findings {
            console.note(&format!("warning: {message}; {help}"));
            return exit;
        }
        console.fail(Exit::Nothing, message, Some(&help))
    }

    fn help_for_unserved(&self, policy: &ServingPolicy) -> String {
        let is_adhoc = policy.is_adhoc;
        if self.servers.values().all(|server| server.listed.is_empty()) {
            "start the server so that it lists its tools, or remove `tools` from its capabilities".to_owned()
        } else if self.servers.values().any(AnswerCounts::is_spared) {
            let way = if is_adhoc { "`--allow TOOL` or `--scratch`" } else { "`allow: [TOOL]` or `scratch: true`" };
            format!("allow calls of tools that may change data with {way}")
        } else if let Some(lack) = common_lack(&self.unjudged_tools()) {
            format!("the server lacks something here, so no arguments help: \"{lack}\"; provide it")
        } else {
            let way = if is_adhoc { "--arguments 'TOOL={…}'" } else { "arguments: { TOOL: { … } }" };
            format!("give valid arguments with `{way}`; `--transcript frames` shows the answers")
        }
    }
}

/// What the machine lacks, in the words of the first tool, where that is why each of the tools served nothing.
fn common_lack(unjudged: &[Unjudged<'_>]) -> Option<String> {
    let lack = unjudged.iter().find_map(|one| surroundings_lack(one.refusal))?;
    let is_excused = |one: &Unjudged<'_>| surroundings_lack(one.refusal).is_some() || call_limit(one.refusal).is_some();
    unjudged.iter().all(is_excused).then_some(lack)
}

fn help_for_unjudged(first: &Unjudged<'_>, policy: &ServingPolicy) -> String {
    let tool = visible_line(first.tool);
    let allow = if policy.is_adhoc { "--allow-unjudged".to_owned() } else { format!("allow_unjudged: [{tool}]") };
    if surroundings_lack(first.refusal).is_some() {
        return format!("provide what the server lacks here, or let the run pass without it with `{allow}`");
    }
    if call_limit(first.refusal).is_some() {
        return format!("raise the limit of calls for tests, or let the run pass without the tool with `{allow}`");
    }
    let give = if policy.is_adhoc {
        format!("--arguments '{tool}={{…}}'")
    } else {
        format!("arguments: {{ {tool}: {{ … }} }}")
    };
    format!("give valid arguments with `{give}`, or let the run pass without it with `{allow}`")
}

/// `2 tools served no call, so they were not judged: a, b; a answered: database is down`.
fn unjudged_message(unjudged: &[Unjudged<'_>], servers: usize) -> String {
    let title = |one: &Unjudged<'_>| match servers {
        0 | 1 => format!("`{}`", visible_line(one.tool)),
        _ => format!("`{}` of `{}`", visible_line(one.tool), one.server),
    };
    let count = unjudged.len();
    let names: Vec<String> = unjudged.iter().take(MOST_NAMES).map(title).collect();
    let more = if count > MOST_NAMES { format!(" and {} more", count - MOST_NAMES) } else { String::new() };
    let names = names.join(", ") + &more;
    let which = if count == 1 { "1 tool was".to_owned() } else { format!("{count} tools were") };
    let of_first = match unjudged.first() {
        Some(first) if !first.refusal.is_empty() => {
            let who = if count == 1 { "it".to_owned() } else { title(first) };
            format!("; {who} answered: {}", first.refusal)
        }
        Some(_) | None => String::new(),
    };
    format!("{which} not judged, since no call was served: {names}{of_first}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ForgottenTool;

    #[test]
    fn who_shows_nothing() {
        let check = |serving, declares_tools, tools: &[&str], calls: &[(&str, &str)], served, expected| {
            let mut server = AnswerCounts { declares_tools, ..AnswerCounts::default() };
            server.read_result(&json!({"tools": tools.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()}));
            for (case, tool) in calls {
                server.call(SessionPurpose::Verdict, case, tool);
                server.tools.entry((*tool).to_owned()).or_default().served = served;
            }
            let servers = [(("s.yml".to_owned(), "server".to_owned()), server)].into();
            let ran = ["generated".to_owned()].into();
            let calls = ObservedCalls { are_counted: true, ran, servers, generated: GeneratedCases::default() };
            assert_eq!(calls.unknown(serving).is_some(), expected, "{serving:?} {calls:?}");
        };
        let generated = ServingRequirement::WhereGenerated;
        check(generated, true, &["add"], &[("generated", "add")], 0, true);
        check(generated, true, &["add"], &[("generated", "add")], 1, false);
        check(generated, true, &["add"], &[("by hand", "add")], 0, false);
        check(generated, true, &["add"], &[("generated", "nobody has this")], 0, false);
        check(generated, true, &[], &[], 0, false);
        check(ServingRequirement::Served, true, &["add"], &[("by hand", "add")], 0, true);
        check(ServingRequirement::Served, true, &[], &[], 0, false);
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
            let of = |refusal| Unjudged { server: "server", tool: "get", refusal };
            let unjudged: Vec<Unjudged<'_>> = refusals.iter().copied().map(of).collect();
            assert_eq!(common_lack(&unjudged).as_deref(), expected, "{refusals:?}");
        }
    }

    #[test]
    fn calls_count_although_their_frames_are_not_kept() {
        let of = |sent, served| ForgottenTool { sent, served };
        let mut server = AnswerCounts::default();
        server.read_result(&json!({"tools": [{"name": "add"}, {"name": "get"}]}));
        let tools = [("add".to_owned(), of(90, 70)), ("get".to_owned(), of(90, 0))].into();
        server.count_forgotten(&ForgottenCalls { tools, ..ForgottenCalls::default() }, "generated");
        let servers = [(("s.yml".to_owned(), "server".to_owned()), server)].into();
        let ran = ["generated".to_owned()].into();
        let calls = ObservedCalls { are_counted: true, ran, servers, generated: GeneratedCases::default() };
        assert_eq!(calls.unjudged_tools(), [Unjudged { server: "server", tool: "get", refusal: "" }]);
        assert_eq!(calls.unknown(ServingRequirement::WhereGenerated), None);
    }

    #[test]
    fn most_tools_have_to_be_called() {
        for (listed, called, expected) in [
            (&["a", "b", "c"][..], &["a"][..], Some("2 of 3 tools got no generated call: `b`, `c`")),
            (&["a", "b"], &["a"], None),
            (&["a", "b", "c"], &["a", "b"], None),
            (&[], &[], None),
        ] {
            let mut server = AnswerCounts::default();
            server.read_result(&json!({"tools": listed.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()}));
            for tool in called {
                server.call(SessionPurpose::Verdict, "generated", tool);
            }
            let servers = [(("s.yml".to_owned(), "server".to_owned()), server)].into();
            let ran = ["generated".to_owned()].into();
            let calls = ObservedCalls { are_counted: true, ran, servers, generated: GeneratedCases::default() };
            assert_eq!(calls.mostly_skipped().as_deref(), expected, "{listed:?} {called:?}");
        }
    }

    #[test]
    fn every_tool_has_to_serve_something() {
        let get = json!({"name": "get", "inputSchema": {"properties": {"id": {"type": "string"}}}});
        let mut server = AnswerCounts::default();
        server.read_result(&json!({"tools": [{"name": "add"}, get, {"name": "by_hand"}]}));
        let down = json!({"result": {"isError": true, "content": [{"type": "text", "text": "database is down\n"}]}});
        let good = json!({"result": {"content": []}});
        let wrong = json!({"error": {"code": -32602, "message": "`id` must be a text"}});
        for _ in 0..2 {
            server.call(SessionPurpose::Verdict, "generated", "get");
            server.count_answer(SessionPurpose::Verdict, "get", json!({"id": 7}), &wrong, &Redactor::default());
        }
        for (case, tool, answer) in [
            ("generated", "add", &good),
            ("generated", "add", &down),
            ("generated", "get", &down),
            ("generated", "nobody has this", &down),
            ("by hand", "by_hand", &down),
        ] {
            server.call(SessionPurpose::Verdict, case, tool);
            server.count_answer(SessionPurpose::Verdict, tool, json!({}), answer, &Redactor::default());
        }
        let servers = [(("s.yml".to_owned(), "server".to_owned()), server)].into();
        let ran = ["generated".to_owned()].into();
        let calls = ObservedCalls { are_counted: true, ran, servers, generated: GeneratedCases::default() };
        let unjudged = calls.unjudged_tools();
        assert_eq!(unjudged, [Unjudged { server: "server", tool: "get", refusal: "database is down" }]);
        let message = unjudged_message(&unjudged, 1);
        assert_eq!(message, "1 tool was not judged, since no call was served: `get`; it answered: database is down");
    }

    #[test]
    fn a_search_for_arguments_judges_no_tool() {
        let good = json!({"result": {"content": []}});
        for (purpose, expected) in [(SessionPurpose::Arguments, &["add"][..]), (SessionPurpose::Verdict, &[])] {
            let mut server = AnswerCounts::default();
            server.read_result(&json!({"tools": [{"name": "add"}]}));
            server.call(purpose, "", "add");
            server.count_answer(purpose, "add", json!({}), &good, &Redactor::default());
            server.call(SessionPurpose::Verdict, "generated", "add");
            let servers = [(("s.yml".to_owned(), "server".to_owned()), server)].into();
            let ran = ["generated".to_owned()].into();
            let calls = ObservedCalls { are_counted: true, ran, servers, generated: GeneratedCases::default() };
            let unjudged: Vec<&str> = calls.unjudged_tools().iter().map(|unjudged| unjudged.tool).collect();
            assert_eq!(unjudged, expected, "{purpose:?}");
        }
    }
}
