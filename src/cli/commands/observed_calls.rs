//! Collects the calls of tools that a run makes, and how servers answered them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::event::{CaseResult, CommonRefusal, Outcome, ServerCallCounts, ToolCallCounts, ToolListing};
use crate::plan::GeneratedCases;
use crate::redact::Redactor;
use crate::runner::{SessionFrames, SessionPurpose};
use crate::schema::Judge;
use crate::source::{shorten, visible_line};
use crate::transport::Owner;
use crate::wire::{Direction, ForgottenCalls, is_served};

/// The most refusals of a tool that are told apart.
const MOST_REFUSALS: usize = 20;

/// The calls of tools and their answers, server by server.
#[derive(Debug, Default)]
pub(crate) struct ObservedCalls {
    /// True if they are judged: a run of hand-written cases alone is judged by its cases.
    pub(crate) are_judged: bool,
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
    fn refusal(&self, schema: Option<&Value>) -> Option<CommonRefusal> {
        let judge = schema.and_then(|schema| Judge::of(schema).ok());
        let is_meant = |refusal: &RefusedCallExample| {
            judge.as_ref().is_none_or(|judge| judge.is_valid(&refusal.arguments) == Some(true))
        };
        let refusals = self.refusals.iter().filter(|(_, refusal)| is_meant(refusal));
        let (words, refusal) = refusals.max_by_key(|(_, refusal)| refusal.times)?;
        Some(CommonRefusal { words: words.clone(), times: refusal.times })
    }
}

impl ObservedCalls {
    /// Counts nothing yet; `generated` lists the cases that rest on generated calls, and `is_asked` says that calls are
    /// judged although there are none.
    pub(crate) fn new(generated: GeneratedCases, is_asked: bool) -> Self {
        let are_judged = is_asked || !generated.is_empty();
        Self { are_judged, generated, ..Self::default() }
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

    /// The calls so far, server by server.
    pub(crate) fn by_server(&self) -> Vec<ServerCallCounts> {
        self.servers.iter().map(|((file, name), server)| self.of_server(file, name, server)).collect()
    }

    fn of_server(&self, file: &str, name: &str, server: &AnswerCounts) -> ServerCallCounts {
        let of_ran = server.called.iter().filter(|(case, _)| self.ran.contains(*case));
        let generated: BTreeSet<&String> = of_ran.flat_map(|(_, tools)| tools).collect();
        let called: BTreeSet<&String> = server.called.values().flatten().collect();
        let names: BTreeSet<&String> = server.listed.iter().chain(server.tools.keys()).collect();
        let tools = names.into_iter().map(|tool| {
            let tally = server.tools.get(tool);
            ToolCallCounts {
                name: tool.clone(),
                listing: server.listing(tool),
                called: called.contains(tool),
                generated: generated.contains(tool),
                exempt: self.generated.may_be_unjudged(file, tool),
                sent: tally.map_or(0, |tally| tally.sent),
                served: tally.map_or(0, |tally| tally.served),
                refusal: tally
                    .filter(|tally| tally.served == 0)
                    .and_then(|tally| tally.refusal(server.schemas.get(tool))),
            }
        });
        ServerCallCounts {
            tools: tools.collect(),
            file: file.to_owned(),
            server: name.to_owned(),
            wants_tools: self.generated.calls_tools(file, name),
            lists_none: server.declares_tools && server.listed.is_empty() && !server.has_unkept,
            has_uncounted: server.has_uncounted,
        }
    }
}

impl AnswerCounts {
    fn listing(&self, tool: &str) -> ToolListing {
        match (self.listed.contains(tool), self.only_tasks.contains(tool)) {
            (false, _) => ToolListing::Unlisted,
            (true, false) => ToolListing::Listed,
            (true, true) => ToolListing::OnlyTasks,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ForgottenTool;

    fn tools_of(server: AnswerCounts) -> Vec<ToolCallCounts> {
        let servers = [(("s.yml".to_owned(), "server".to_owned()), server)].into();
        let calls = ObservedCalls { ran: ["generated".to_owned()].into(), servers, ..ObservedCalls::default() };
        calls.by_server().remove(0).tools
    }

    fn listing(names: &[&str]) -> AnswerCounts {
        let mut server = AnswerCounts::default();
        server.read_result(&json!({"tools": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()}));
        server
    }

    #[test]
    fn calls_count_although_their_frames_are_not_kept() {
        let of = |sent, served| ForgottenTool { sent, served };
        let mut server = listing(&["add", "get"]);
        let tools = [("add".to_owned(), of(90, 70)), ("get".to_owned(), of(90, 0))].into();
        server.count_forgotten(&ForgottenCalls { tools, ..ForgottenCalls::default() }, "generated");
        let found = tools_of(server);
        let found: Vec<(&str, usize, usize, bool)> =
            found.iter().map(|tool| (&*tool.name, tool.sent, tool.served, tool.generated)).collect();
        assert_eq!(found, [("add", 90, 70, true), ("get", 90, 0, true)]);
    }

    #[test]
    fn of_the_answers_to_valid_calls_the_most_frequent_is_known() {
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
        let found = tools_of(server);
        let found: Vec<_> = found
            .iter()
            .map(|tool| (&*tool.name, tool.is_listed(), tool.generated, tool.sent, tool.served, tool.refusal()))
            .collect();
        assert_eq!(
            found,
            [
                ("add", true, true, 2, 1, ""),
                ("by_hand", true, false, 1, 0, "database is down"),
                ("get", true, true, 3, 0, "database is down"),
                ("nobody has this", false, true, 1, 0, "database is down"),
            ]
        );
    }

    #[test]
    fn a_search_for_arguments_calls_tools_and_judges_none() {
        let good = json!({"result": {"content": []}});
        for (purpose, expected) in [(SessionPurpose::Arguments, (0, 0)), (SessionPurpose::Verdict, (1, 1))] {
            let mut server = listing(&["add"]);
            server.call(purpose, "", "add");
            server.count_answer(purpose, "add", json!({}), &good, &Redactor::default());
            let found = tools_of(server).remove(0);
            assert_eq!((found.sent, found.served), expected, "{purpose:?}");
            assert!(found.called && !found.generated);
        }
    }
}
