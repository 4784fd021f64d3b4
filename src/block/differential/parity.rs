//! The server in one revision of the protocol against the same server in another: what it lists, and what it answers.
//!
//! Callers of both eras reach one implementation, often by two code paths. What only one of two revisions has is left
//! out of the comparison: a server that hides it from older callers does so by the text.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Differential;
use super::compare::{filled_arguments, idle_entries, record_without_calls, request_call, verdict};
use crate::check::{CheckEnd, CheckLimits, CheckSession};
use crate::drift::{
    ChangeSubject, Recorded, RecordedIdentity, RecordedOutcome as Came, ServerChange, compare_subject,
    mask_differences, stable_answer,
};
use crate::event::{CheckResult, Code, Outcome, Reason};
use crate::plan::arguments::{ConfigSource, valid_arguments};
use crate::plan::planner::Planner;
use crate::plan::{Body, BoxFuture, Case, Check, CheckContext, Offer, OpenServer, ServerChoice};
use crate::suite::ToolSelection;
use crate::wire::{Revision, read_json};

/// Members of results that came with the revision 2026-07-28.
const STATELESS_MEMBERS: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// Members of tools, prompts and resources that older revisions do not have, with the first one that has them.
const MEMBERS: [(&str, Revision); 5] = [
    ("annotations", Revision::V2025_03_26),
    ("outputSchema", Revision::V2025_06_18),
    ("title", Revision::V2025_06_18),
    ("_meta", Revision::V2025_06_18),
    ("icons", Revision::V2025_11_25),
];

/// Kinds of content that older revisions do not have, with the first one that has them.
const CONTENT: [(&str, Revision); 2] = [("audio", Revision::V2025_03_26), ("resource_link", Revision::V2025_06_18)];

/// A comparison of one part of the server in two revisions.
#[derive(Debug)]
struct ParityCheck {
    settings: Arc<Differential>,
    /// The other revision.
    revision: Revision,
    subject: ParitySubject,
}

#[derive(Debug)]
enum ParitySubject {
    /// Its tools, prompts and resources.
    Lists,
    /// The answer to a call of this tool.
    Answer(String),
}

/// One case for everything that is listed, and one for each tool that may be called.
pub(crate) fn cases(
    planner: &Planner<'_>,
    template: &Case,
    settings: &Arc<Differential>,
    revision: Revision,
    offer: &Offer<'_>,
) -> Vec<Case> {
    if offer.revision == Some(revision) {
        let why = format!("the server speaks {revision} already, so there is nothing to compare");
        return vec![Case { body: Body::skipped(Reason::NotApplicable(why)), ..template.clone() }];
    }
    let case = |name: String, body: Body| {
        planner.case(&format!("{}: {name} as in {revision}", template.name), None, template.span, body)
    };
    let check = |subject| Body::Check(Arc::new(ParityCheck { settings: Arc::clone(settings), revision, subject }));
    let mut cases = planner.unknown_tools(template, &settings.tools, offer.catalog);
    cases.push(case("lists".to_owned(), check(ParitySubject::Lists)));
    let called =
        offer.catalog.tools.iter().filter(|tool| settings.compares_calls && settings.tools.selects(&tool.name));
    cases.extend(called.map(|tool| {
        let skipped = planner.hazard(tool).map(Body::skipped);
        let body = skipped.unwrap_or_else(|| check(ParitySubject::Answer(tool.name.clone())));
        case(format!("answers of {}", tool.name), body)
    }));
    cases
}

impl Check for ParityCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move {
            let compared = match &self.subject {
                ParitySubject::Lists => self.lists(&context).await,
                ParitySubject::Answer(tool) => self.answer(&context, tool).await,
            };
            compared.unwrap_or_else(CheckEnd::into_result)
        })
    }

    fn sends(&self) -> bool {
        true
    }
}

impl ParityCheck {
    async fn lists(&self, context: &CheckContext<'_>) -> Result<CheckResult, CheckEnd> {
        let now = record_without_calls(context, context.server_name, "").ok_or_else(nothing_listed)?;
        let session = self.open(context, ServerChoice::InRevision(self.revision)).await?;
        let listed = session.session().catalog().await;
        let identity = RecordedIdentity::of(&session.session().server.result, self.revision.as_str());
        let exit = session.close().await;
        let catalog = listed.map_err(|failure| CheckEnd::Unanswered(Box::new(failure)))?;
        exit.map_or(Ok(()), |found| Err(CheckEnd::failed(found)))?;
        let other = Recorded::without_calls(context.server_name, "", identity, &catalog);
        let [other, now] = [other, now].map(|server| server.neutral(&|value| context.machine.neutral(value)));
        let changes = listed_changes(other, now, self.older(context), &self.settings.tools);
        let idle = if context.suite.servers.len() == 1 { idle_entries(&self.settings, &changes) } else { Vec::new() };
        Ok(verdict(&self.settings, changes, idle, CheckResult::new(Outcome::Passed)))
    }

    async fn answer(&self, context: &CheckContext<'_>, tool: &str) -> Result<CheckResult, CheckEnd> {
        let offered = context.catalog.tool(tool).ok_or_else(nothing_listed)?;
        let written = valid_arguments(context.suite, context.server_name, offered)
            .map_err(|why| CheckEnd::inconclusive(why.sentence(tool, ConfigSource::of(context.suite))))?;
        let arguments = context.fill(&written).unwrap_or_else(|| written.to_json());
        let arguments = filled_arguments(context, tool, &arguments);
        let mut result = CheckResult::new(Outcome::Passed);
        let call = PairedCall { check: self, context, tool, arguments: &arguments };
        let (there, here) = (ServerChoice::InRevision(self.revision), ServerChoice::Fresh);
        let (other, now) = (call.made(there, &mut result).await?, call.made(here, &mut result).await?);
        if [&other, &now].into_iter().any(needs_task) {
            let why = format!("in one of the revisions, `{tool}` is served only to calls that become tasks");
            return Err(CheckEnd::inconclusive(why));
        }
        let mut changes = call.changes([&other; 2], [&now; 2])?;
        if !changes.is_empty() {
            // A value that differs from call to call, or with time, says nothing about revisions.
            let (here, there) = (call.made(here, &mut result).await?, call.made(there, &mut result).await?);
            changes = call.changes([&other, &there], [&now, &here])?;
        }
        let serves = |message: &Value| stable_answer(message).is_some_and(|(came, _)| came == Came::Served);
        if !serves(&other) && !serves(&now) {
            return Err(CheckEnd::inconclusive(format!("`{tool}` served its call in neither revision")));
        }
        Ok(verdict(&self.settings, changes, Vec::new(), result))
    }

    async fn open<'a>(
        &self,
        context: &'a CheckContext<'a>,
        server: ServerChoice<'a>,
    ) -> Result<CheckSession<'a>, CheckEnd> {
        let opened = context.servers.open(OpenServer { server, ..OpenServer::FRESH }).await;
        let session = opened.map_err(|found| {
            let is_spoken = found.code != Code::NOT_SPOKEN;
            if is_spoken { CheckEnd::unavailable(found) } else { CheckEnd::not_applicable(found.message) }
        })?;
        Ok(CheckSession::of(session, context, CheckLimits::none()))
    }

    /// The older of the two revisions.
    fn older(&self, context: &CheckContext<'_>) -> Revision {
        context.server.map_or(self.revision, |said| said.revision.min(self.revision))
    }
}

/// A call that is made in two revisions.
struct PairedCall<'a> {
    check: &'a ParityCheck,
    context: &'a CheckContext<'a>,
    tool: &'a str,
    arguments: &'a Value,
}

impl PairedCall<'_> {
    /// The answer of a server of its own.
    async fn made(&self, server: ServerChoice<'_>, result: &mut CheckResult) -> Result<Value, CheckEnd> {
        let session = self.check.open(self.context, server).await?;
        let answered = request_call(&session, self.tool, self.arguments, &mut result.frames).await;
        let exit = session.close().await;
        let message = answered?;
        exit.map_or(Ok(message), |found| Err(CheckEnd::failed(found)))
    }

    /// The differences of two answers in each revision, but for values that differ within one.
    fn changes(&self, other: [&Value; 2], now: [&Value; 2]) -> Result<Vec<ServerChange>, CheckEnd> {
        let call = (self.tool, self.arguments);
        answer_changes(call, other, now, self.check.older(self.context)).map_err(CheckEnd::inconclusive)
    }
}

/// A plain call is refused as that of a tool which only serves tasks (2025-11-25, Tasks, Tool-Level Negotiation).
fn needs_task(message: &Value) -> bool {
    message["error"]["code"] == -32601
}

fn nothing_listed() -> CheckEnd {
    CheckEnd::Inconclusive(Reason::NothingToCompare)
}

/// The differences between what two revisions list.
fn listed_changes(before: Recorded, after: Recorded, older: Revision, tools: &ToolSelection) -> Vec<ServerChange> {
    let (before, after) = comparable_lists(before, after, older);
    let is_compared = |subject: &ChangeSubject| match subject {
        // Name, capabilities and instructions belong to the handshake of each era.
        ChangeSubject::Server | ChangeSubject::Answers(_) => false,
        ChangeSubject::Tool(name) => tools.selects(name),
        ChangeSubject::Resources | ChangeSubject::Prompt(_) => true,
    };
    let subjects = ChangeSubject::of(&before, &after).into_iter().filter(is_compared);
    subjects.flat_map(|subject| compare_subject(&subject, &before, &after)).collect()
}

/// The lists without what one of the revisions does not have.
fn comparable_lists(mut before: Recorded, mut after: Recorded, older: Revision) -> (Recorded, Recorded) {
    for server in [&mut before, &mut after] {
        let lists = [&mut server.tools, &mut server.prompts, &mut server.resources, &mut server.resource_templates];
        for entry in lists.into_iter().flatten().filter_map(Value::as_object_mut) {
            // Calls as tasks are declared at the tool in 2025-11-25 only.
            entry.shift_remove("execution");
            for (member, _) in MEMBERS.iter().filter(|(_, first)| *first > older) {
                entry.shift_remove(*member);
            }
        }
    }
    // Before 2026-07-28 structured content is an object, so another one is wrapped or left out.
    let other: Vec<String> = [&before, &after].into_iter().flat_map(tools_with_other_output).collect();
    for tool in before.tools.iter_mut().chain(&mut after.tools) {
        if tool["name"].as_str().is_some_and(|name| other.iter().any(|known| known == name))
            && let Some(tool) = tool.as_object_mut()
        {
            tool.shift_remove("outputSchema");
        }
    }
    (before, after)
}

/// Tools whose structured content need not be an object.
fn tools_with_other_output(server: &Recorded) -> Vec<String> {
    let other =
        server.tools.iter().filter(|tool| tool.get("outputSchema").is_some_and(|schema| schema["type"] != "object"));
    other.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
}

/// The differences between two answers in the other revision and two in this one.
fn answer_changes(
    call: (&str, &Value),
    other: [&Value; 2],
    now: [&Value; 2],
    older: Revision,
) -> Result<Vec<ServerChange>, String> {
    let structure = Structure::of([other[0], now[0]], older);
    let told = |message: &Value| {
        stable_answer(&comparable_answer(message, older, structure))
            .ok_or_else(|| "the answer has neither a result nor an error".to_owned())
    };
    let masked = |[first, second]: [&Value; 2]| {
        let masked = mask_differences(call, told(first)?, &told(second)?);
        let masked = masked.ok_or_else(|| format!("`{}` was served once and failed once", call.0))?;
        Ok::<_, String>(Recorded { answers: vec![masked], ..Recorded::default() })
    };
    Ok(compare_subject(&ChangeSubject::Answers(call.0.to_owned()), &masked(other)?, &masked(now)?))
}

/// What is compared of structured content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Structure {
    Compared,
    /// Nothing: one of the answers has none.
    LeftOut,
    /// Nothing, and no text that repeats it: older revisions have objects only, so another value is wrapped in one.
    LeftOutWithText,
}

impl Structure {
    fn of(answers: [&Value; 2], older: Revision) -> Self {
        let structured = answers.map(|message| &message["result"]["structuredContent"]);
        if older < Revision::V2025_06_18 || structured.iter().any(|value| value.is_null()) {
            Self::LeftOut
        } else if structured.iter().all(|value| value.is_object()) {
            Self::Compared
        } else {
            Self::LeftOutWithText
        }
    }
}

/// An answer without what one of the revisions does not have.
fn comparable_answer(message: &Value, older: Revision, structure: Structure) -> Value {
    let Some(result) = message["result"].as_object() else { return message.clone() };
    let mut kept: Map<String, Value> = result.clone();
    kept.retain(|member, _| !STATELESS_MEMBERS.contains(&member.as_str()));
    let structured = if structure == Structure::Compared { None } else { kept.shift_remove("structuredContent") };
    let repeats = |block: &Value| {
        let read = || block["text"].as_str().and_then(read_json);
        structure == Structure::LeftOutWithText && structured.is_some() && read() == structured
    };
    let is_known = |block: &Value| {
        let kind = block["type"].as_str().unwrap_or_default();
        CONTENT.iter().all(|(name, first)| *name != kind || *first <= older)
    };
    if let Some(content) = kept.get_mut("content").and_then(Value::as_array_mut) {
        content.retain(|block| is_known(block) && !repeats(block));
    }
    Value::Object(Map::from_iter([("result".to_owned(), Value::Object(kept))]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::block::tests::{check_lines, planned};
    use crate::check::tests::settings;

    fn server(tools: Value) -> Recorded {
        let Value::Array(tools) = tools else { panic!("{tools}") };
        Recorded { tools, ..Recorded::default() }
    }

    #[test]
    fn everything_listed_is_one_case_and_every_tool_that_may_be_called_another() {
        let tools = json!([
            {"name": "get_sum", "inputSchema": {"type": "object"}},
            {"name": "delete_all", "inputSchema": {"type": "object"}},
        ]);
        let lists = "differential: lists as in 2026-07-28: check";
        let (sum, all) = ("differential: answers of get_sum as in", "differential: answers of delete_all as in");
        for (settings, expected) in [
            ("revision: 2026-07-28", &[lists, sum, all][..]),
            ("revision: 2026-07-28, answers: false", &[lists]),
            ("revision: 2026-07-28, tools: get_sum", &[lists, sum]),
            ("revision: 2026-07-28, tools: [get_sun]", &["differential / get_sun: unknown-tool", lists]),
            ("revision: 2025-11-25", &["differential: skipped, the server speaks 2025-11-25 already"]),
        ] {
            let suite = format!("{{ suite: s, differential: {{ {settings} }} }}");
            check_lines(settings, &planned(&suite, &[], &tools), expected);
        }
    }

    #[test]
    fn what_older_revisions_lack_is_not_compared() {
        use Revision::{V2024_11_05, V2025_06_18, V2025_11_25};
        let input = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        let plain = || json!([{"name": "add", "inputSchema": input}]);
        let with = |member: &str, value: Value| {
            let mut tools = plain();
            tools[0][member] = value;
            tools
        };
        let (object, list) = (json!({"type": "object"}), json!({"type": "array"}));
        for (what, before, after, older, expected) in [
            ("equal", plain(), plain(), V2025_11_25, &[][..]),
            ("gone", plain(), json!([]), V2025_11_25, &["tool-removed"]),
            ("new", json!([]), plain(), V2025_11_25, &["tool-added"]),
            ("not selected", json!([]), json!([{"name": "other"}]), V2025_11_25, &[]),
            (
                "narrower",
                plain(),
                with("inputSchema", json!({"type": "object", "properties": {"a": {"type": "integer", "maximum": 9}}})),
                V2025_11_25,
                &["schema-narrowed"],
            ),
            (
                "a member of 2025-11-25",
                with("execution", json!({"taskSupport": "required"})),
                plain(),
                V2025_11_25,
                &[],
            ),
            ("hints", plain(), with("annotations", json!({"readOnlyHint": true})), V2025_11_25, &["hint-changed"]),
            ("hints of newer revisions", plain(), with("annotations", json!({"readOnlyHint": true})), V2024_11_05, &[]),
            ("an output", plain(), with("outputSchema", object.clone()), V2025_06_18, &["schema-narrowed"]),
            ("an output of newer revisions", plain(), with("outputSchema", object.clone()), V2024_11_05, &[]),
            ("a list that is wrapped", with("outputSchema", object), with("outputSchema", list), V2025_11_25, &[]),
        ] {
            let only: ToolSelection = settings("add");
            let changes = listed_changes(server(before), server(after), older, &only);
            let found: Vec<&str> = changes.iter().map(|change| change.what).collect();
            assert_eq!(found, expected, "{what}");
        }
    }

    #[test]
    fn answers_are_compared_but_for_what_differs_from_call_to_call() {
        use Revision::{V2025_03_26, V2025_11_25};
        let text = |words: &str| json!({"result": {"content": [{"type": "text", "text": words}]}});
        let new = |words: &str| {
            let complete = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": {"n": 1}});
            let mut message = text(words);
            for (member, value) in complete.as_object().into_iter().flatten() {
                message["result"][member] = value.clone();
            }
            message
        };
        let structured = |value: Value| json!({"result": {"content": [], "structuredContent": value}});
        let failed = || json!({"result": {"content": [], "isError": true}});
        let list = |value: Value, text: &str| json!({"result": {"content": [{"type": "text", "text": text}], "structuredContent": value}});
        let check = |what: &str, other: [&Value; 2], now: [&Value; 2], older, expected: Result<&[&str], &str>| {
            let found = answer_changes(("add", &json!({})), other, now, older);
            let found = found.map(|changes| changes.iter().map(|change| change.what).collect::<Vec<_>>());
            assert_eq!(found, expected.map(<[&str]>::to_vec).map_err(str::to_owned), "{what}");
        };
        for (what, other, now, older, expected) in [
            ("equal", text("5"), new("5"), V2025_11_25, &[][..]),
            ("another value", text("5"), new("6"), V2025_11_25, &["answer-changed-value"]),
            ("refused", text("5"), failed(), V2025_11_25, &["answer-failed"]),
            ("served by the newer only", failed(), new("5"), V2025_11_25, &["answer-served"]),
            (
                "another field",
                structured(json!({"a": 1})),
                structured(json!({})),
                V2025_11_25,
                &["answer-changed-shape"],
            ),
            ("no structure in older revisions", text("5"), list(json!({"a": 1}), "5"), V2025_03_26, &[]),
            (
                "a list that older revisions wrap",
                list(json!({"result": [1]}), "{\"result\": [1]}"),
                list(json!([1]), "[1]"),
                V2025_11_25,
                &[],
            ),
        ] {
            check(what, [&other; 2], [&now; 2], older, Ok(expected));
        }
        let (five, six, seven) = (text("5"), new("6"), new("7"));
        check("a value that counts calls", [&five; 2], [&six, &seven], V2025_11_25, Ok(&[]));
        check("a value that changes with time", [&five, &six], [&six; 2], V2025_11_25, Ok(&[]));
        let both = "`add` was served once and failed once";
        check("once served and once failed", [&five; 2], [&six, &failed()], V2025_11_25, Err(both));
        let none = "the answer has neither a result nor an error";
        check("no answer", [&json!({}); 2], [&five; 2], V2025_11_25, Err(none));
    }

    #[test]
    fn a_refusal_of_plain_calls_is_told_from_others() {
        for (answer, expected) in [
            (json!({"error": {"code": -32601}}), true),
            (json!({"error": {"code": -32602}}), false),
            (json!({"result": {}}), false),
        ] {
            assert_eq!(needs_task(&answer), expected, "{answer}");
        }
    }
}
