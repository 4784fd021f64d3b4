//! Random servers that write, and random suites for them: one test more never lowers a figure, one less never raises one,
//! and neither does an expectation that is weaker.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use super::run::paused_runtime;
use super::tests::{Watching, options, plan, proof_of, proven_variants};
use crate::event::{Proof, Verdict};
use crate::runner::{self, Options, Replay};
use crate::taxonomy::Registry;
use crate::transport::replay::{self, RecordedServer};
use crate::transport::{Incoming, OutgoingMessage, Owner, Scheduled, TransportKind};

/// A server of notes: what it declares and how it answers.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each combination is a server")]
struct ServerStyle {
    /// The tools have output schemas.
    declares: bool,
    /// The answers have structured content.
    structured: bool,
    /// They have the same as JSON in a text.
    texts: bool,
    /// A note may be without a mark.
    nulls: bool,
}

#[derive(Debug, Clone)]
struct NoteServer {
    style: ServerStyle,
    notes: BTreeMap<String, Value>,
    calls: usize,
}

impl NoteServer {
    fn new(style: ServerStyle) -> Self {
        Self { style, notes: BTreeMap::new(), calls: 0 }
    }

    fn tools(&self) -> Value {
        let text = json!({"type": "string"});
        let mark = json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
        let note = json!({"type": "object", "required": ["key"], "properties":
            {"key": text, "text": text, "mark": mark, "tags": {"type": "array", "items": text}}});
        let list = json!({"type": "object", "required": ["total"], "properties":
            {"notes": {"type": "array", "items": note}, "total": {"type": "integer"}}});
        let clock = json!({"type": "object", "properties": {"tick": {"type": "integer"}}});
        let tool = |name: &str, reads: bool, output: &Value, input: Value| {
            let mut tool = json!({"name": name, "description": name, "annotations": {"readOnlyHint": reads},
                "inputSchema": {"type": "object", "properties": input}});
            if self.style.declares {
                tool["outputSchema"] = output.clone();
            }
            tool
        };
        json!([
            tool("put_note", false, &note, json!({"key": text, "text": text})),
            tool("get_note", true, &note, json!({"key": text})),
            tool("list_notes", true, &list, json!({})),
            tool("clock", true, &clock, json!({})),
        ])
    }

    /// The result of a call.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.calls += 1;
        let key = arguments["key"].as_str().unwrap_or_default().to_owned();
        let content = match tool {
            "put_note" => {
                let text = arguments["text"].as_str().unwrap_or_default();
                let mark = if self.style.nulls && text == "x" { Value::Null } else { json!("marked") };
                let tags: Vec<&str> = if text == "y" { vec!["new", "short"] } else { Vec::new() };
                let note = json!({"key": key, "text": text, "mark": mark, "tags": tags});
                self.notes.insert(key, note.clone());
                note
            }
            "list_notes" => json!({"notes": self.notes.values().collect::<Vec<_>>(), "total": self.notes.len()}),
            "clock" => json!({"tick": self.calls}),
            _ => {
                let Some(note) = self.notes.get(&key) else {
                    let text = format!("note {key} not found");
                    return json!({"content": [{"type": "text", "text": text}], "isError": true});
                };
                note.clone()
            }
        };
        let mut result = json!({"content": []});
        if self.style.texts {
            result["content"] = json!([{"type": "text", "text": content.to_string()}]);
        }
        if self.style.structured {
            result["structuredContent"] = content;
        }
        result
    }

    fn answer(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        match method {
            "initialize" => Ok(json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1"}})),
            "tools/list" => Ok(json!({"tools": self.tools()})),
            "tools/call" => Ok(self.call(params["name"].as_str().unwrap_or_default(), &params["arguments"])),
            "ping" => Ok(json!({})),
            _ => Err(json!({"code": -32601, "message": "Method not found"})),
        }
    }
}

impl RecordedServer for NoteServer {
    fn on_message(&mut self, message: &OutgoingMessage) -> Vec<Scheduled> {
        let asked: Value = serde_json::from_slice(&message.bytes).unwrap();
        let Some(id) = asked.get("id") else { return Vec::new() };
        let answer = match self.answer(asked["method"].as_str().unwrap_or_default(), &asked["params"]) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        };
        let incoming = Incoming::Line(answer.to_string().into_bytes());
        vec![Scheduled { after: Duration::from_millis(1), incoming }]
    }

    fn on_raw(&mut self, _: &Owner, _: &[u8]) -> Vec<Scheduled> {
        Vec::new()
    }
}

/// The proof of some tests, each of which has a fresh server.
fn proof(style: ServerStyle, tests: &[String]) -> Proof {
    let options_line = "run_options: { restart_policy: per_test }";
    let plan = plan(&format!("{options_line}\ntests:\n{}", tests.concat()));
    let connect = move |_: &str| replay::connect(TransportKind::Stdio, NoteServer::new(style));
    let options = Options { replay: Some(Replay::new(connect)), ..options() };
    let mut watching = Watching::default();
    let runtime = paused_runtime().unwrap();
    runtime.block_on(runner::run(plan.clone(), options, Registry::builtin(), &mut watching));
    let recording = watching.0.finish();
    let failed = recording.cases.iter().find(|case| case.outcome.as_str() != "passed");
    assert!(failed.is_none(), "{failed:?} {style:?} {tests:#?}");
    proof_of(&plan, recording)
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 0
    }

    fn style(&mut self) -> ServerStyle {
        let structured = self.flag();
        let declares = structured && self.flag();
        ServerStyle { declares, structured, texts: !structured || self.flag(), nulls: self.flag() }
    }
}

/// A step of a test: the call, and all that could be expected of its answer.
#[derive(Debug, Clone)]
struct RandomStep {
    call: Value,
    expect: Vec<Value>,
}

/// Steps with expectations of what a fresh server answers.
fn random_steps(style: ServerStyle, random: &mut Random) -> Vec<RandomStep> {
    let mut server = NoteServer::new(style);
    let count = 1 + random.below(4);
    let step = |_| {
        let key = ["a", "b"][random.below(2)];
        let (tool, args) = match random.below(7) {
            0..=2 => {
                let text = ["x", "y", "z"][random.below(3)];
                ("put_note", json!({"key": key, "text": text}))
            }
            3 | 4 => ("get_note", json!({ "key": key })),
            5 => ("list_notes", json!({})),
            _ => ("clock", json!({})),
        };
        let result = server.call(tool, &args);
        let content = match (&result["structuredContent"], result["content"][0]["text"].as_str()) {
            (Value::Null, Some(text)) => serde_json::from_str(text).unwrap_or(Value::Null),
            (content, _) => content.clone(),
        };
        let at = if result.get("structuredContent").is_some() { "result.structuredContent" } else { TEXT };
        let mut expect = vec![json!({"is_error": result["isError"] == true})];
        for (name, value) in content.as_object().into_iter().flatten() {
            expect.push(match random.below(4) {
                0 => json!({"at": format!("{at}.{name}"), "exists": true}),
                _ => json!({"at": format!("{at}.{name}"), "equals": value}),
            });
        }
        if style.declares && random.flag() && result["isError"] != true {
            expect.push(json!({"output_schema": true}));
        }
        RandomStep { call: json!({"call": tool, "args": args}), expect }
    };
    (0..count).map(step).collect()
}

const TEXT: &str = "result.content[0].text.json()";

/// A test with those of its expectations that are drawn.
fn test(number: usize, steps: &[RandomStep], keeps: &mut dyn FnMut() -> bool) -> String {
    let steps = steps.iter().map(|step| {
        let mut written = step.call.clone();
        written["expect"] = step.expect.iter().filter(|_| keeps()).cloned().collect();
        written
    });
    format!("  - {}\n", json!({"name": format!("test {number}"), "steps": steps.collect::<Vec<_>>()}))
}

#[test]
fn no_test_more_lowers_a_figure_and_no_weaker_one_raises_it() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..4 {
        let style = random.style();
        let tests: Vec<Vec<RandomStep>> = (0..4).map(|_| random_steps(style, &mut random)).collect();
        let write = |picks: &dyn Fn(usize) -> bool, keeps: &mut dyn FnMut() -> bool| {
            let picked = tests.iter().enumerate().filter(|(number, _)| picks(*number));
            picked.map(|(number, steps)| test(number, steps, keeps)).collect::<Vec<String>>()
        };
        let whole = write(&|_| true, &mut || true);
        let left_out = random.below(tests.len());
        let fewer = write(&|number| number != left_out, &mut || true);
        let weaker = write(&|_| true, &mut || random.below(3) > 0);
        let all = proven_variants(&proof(style, &whole));
        for part in [&fewer, &weaker] {
            let found = proven_variants(&proof(style, part));
            let more: BTreeSet<&String> = found.0.difference(&all.0).collect();
            assert!(more.is_empty(), "{more:?} by {part:#?}, not by {whole:#?}; {style:?}");
            assert!(found.1 <= all.1, "{} {}", found.1, all.1);
        }
    }
}

const PLAIN: ServerStyle = ServerStyle { declares: false, structured: true, texts: false, nulls: false };

/// The verdict on wrong results of a tool.
fn wrong_result(style: ServerStyle, tool: &str, steps: &[Value]) -> Verdict {
    let tests = [format!("  - {}\n", json!({"name": "test", "steps": steps}))];
    let proof = proof(style, &tests);
    let is_meant =
        |fault: &&crate::event::FaultAtSubject| fault.variant == "TOOL-WRONG-RESULT" && fault.subject.name == tool;
    proof.table.iter().find(is_meant).unwrap().verdict
}

fn put(text: &str) -> Value {
    json!({"call": "put_note", "args": {"key": "a", "text": text}, "expect": []})
}

fn get(text: &str, more: &Value) -> Value {
    let mut expect = vec![
        json!({"at": "result.structuredContent.key", "equals": "a"}),
        json!({"at": "result.structuredContent.text", "equals": text}),
        json!({"at": "result.structuredContent.mark", "equals": "marked"}),
    ];
    expect.extend(more.as_array().into_iter().flatten().cloned());
    json!({"call": "get_note", "args": {"key": "a"}, "expect": expect})
}

fn list(count: usize, more: &Value) -> Value {
    let mut expect = vec![
        json!({"at": "result.structuredContent.total", "equals": count}),
        json!({"at": "result.structuredContent.notes", "length": count}),
    ];
    expect.extend(more.as_array().into_iter().flatten().cloned());
    json!({"call": "list_notes", "args": {}, "expect": expect})
}

#[test]
fn an_empty_page_proves_nothing_of_what_it_hides() {
    for declares in [false, true] {
        let style = ServerStyle { declares, ..PLAIN };
        assert_eq!(wrong_result(style, "list_notes", &[list(0, &json!([]))]), Verdict::Unreached, "{style:?}");
        let whole = json!([{"at": "result.structuredContent.notes", "equals":
            [{"key": "a", "text": "y", "mark": "marked", "tags": ["new", "short"]}]}]);
        let steps = [list(0, &json!([])), put("y"), list(1, &whole)];
        assert_eq!(wrong_result(style, "list_notes", &steps), Verdict::Killed, "{style:?}");
        let steps = [list(0, &json!([])), put("y"), list(1, &json!([]))];
        assert_eq!(wrong_result(style, "list_notes", &steps), Verdict::Survived, "{style:?}");
    }
}

#[test]
fn what_a_write_changes_is_no_value_that_changes_by_itself() {
    let tags = json!([{"at": "result.structuredContent.tags", "equals": ["new", "short"]}]);
    let steps = [put("y"), get("y", &tags), put("z"), get("z", &json!([]))];
    assert_eq!(wrong_result(PLAIN, "get_note", &steps), Verdict::Killed);
    let blind = json!({"call": "get_note", "args": {"key": "a"}, "expect": []});
    let steps = [put("y"), blind.clone(), put("z"), blind];
    assert_eq!(wrong_result(PLAIN, "get_note", &steps), Verdict::Survived);
}

#[test]
fn what_changes_by_itself_survives_nowhere() {
    let clock = json!({"call": "clock", "args": {}, "expect": []});
    assert_eq!(wrong_result(PLAIN, "clock", std::slice::from_ref(&clock)), Verdict::Survived);
    assert_eq!(wrong_result(PLAIN, "clock", &[clock.clone(), clock.clone()]), Verdict::Unreached);
    assert_eq!(wrong_result(PLAIN, "clock", &[clock.clone(), put("x"), clock]), Verdict::Survived);
}

#[test]
fn what_is_null_can_be_wrong() {
    let style = ServerStyle { declares: true, nulls: true, ..PLAIN };
    let steps = |marks: &Value| {
        let mut expect = vec![
            json!({"at": "result.structuredContent.key", "equals": "a"}),
            json!({"at": "result.structuredContent.text", "equals": "x"}),
        ];
        expect.extend(marks.as_array().into_iter().flatten().cloned());
        [put("x"), json!({"call": "get_note", "args": {"key": "a"}, "expect": expect})]
    };
    let null = json!([{"at": "result.structuredContent.mark", "equals": null}]);
    assert_eq!(wrong_result(style, "get_note", &steps(&json!([]))), Verdict::Survived);
    // Its tags are empty, so that nothing more is to be noticed than they.
    assert_eq!(wrong_result(style, "get_note", &steps(&null)), Verdict::Unreached);
}
