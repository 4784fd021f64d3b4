//! One `check` for every matcher: the YAML of an expectation, an answer, and what fails.
#![expect(clippy::needless_pass_by_value, reason = "cases read better with `json!(…)` than with `&json!(…)`")]

mod answer;
mod app;
mod hostile;
mod mistakes;
mod path;
mod refusals;
mod structured;
mod unbreakable;
mod value;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{Answer, EXPECTATION, Expectation, Mismatch};
use crate::source::grammar::{self, Shape};
use crate::source::template::Names;
use crate::source::{Diagnostic, SourceFile, Sources, parse};
use crate::wire::{Catalog, Tool};

/// A step and what came of it.
struct Step {
    method: &'static str,
    params: Json,
    message: Json,
    notifications: Vec<Arc<Json>>,
    elapsed: Duration,
    catalog: Catalog,
    names: Names,
}

impl Step {
    /// A call of `get_user` with an id that does not exist, and its response.
    fn call(message: Json) -> Self {
        Self {
            method: "tools/call",
            params: json!({"name": "get_user", "arguments": {"id": "nope", "deep": false}}),
            message,
            notifications: Vec::new(),
            elapsed: Duration::from_millis(30),
            catalog: catalog(),
            names: json!({"id": "nope", "n": 3, "flag": true, "words": ["a", "b"]}).as_object().cloned().unwrap(),
        }
    }

    /// The same call with this result.
    fn result(result: Json) -> Self {
        Self::call(json!({"jsonrpc": "2.0", "id": 1, "result": result}))
    }

    /// The same call with this structured content.
    fn value(value: Json) -> Self {
        Self::result(json!({"content": [], "structuredContent": value}))
    }

    /// The same call, failed by the tool with this text.
    fn tool_error(text: &str) -> Self {
        Self::result(json!({"content": [{"type": "text", "text": text}], "isError": true}))
    }

    /// The same call, failed with a JSON-RPC error.
    fn error(code: i64, message: &str) -> Self {
        Self::call(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message}}))
    }

    fn answer(&self) -> Answer<'_> {
        Answer {
            method: self.method,
            params: &self.params,
            message: &self.message,
            notifications: &self.notifications,
            elapsed: self.elapsed,
            catalog: &self.catalog,
            names: &self.names,
            files: None,
        }
    }
}

fn catalog() -> Catalog {
    let user = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let tools = [
        json!({
            "name": "get_user",
            "description": "Finds a user",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "outputSchema": user,
        }),
        json!({"name": "list_users", "inputSchema": {"type": "object"}}),
    ];
    Catalog {
        tools: tools.into_iter().map(Tool::new).collect(),
        resources: vec![json!({"uri": "demo://a", "name": "a"}), json!({"uri": "demo://b", "name": "b"})],
        resource_templates: vec![json!({"uriTemplate": "demo://{id}", "name": "any"})],
        prompts: vec![json!({"name": "greet"})],
        tools_frame: None,
    }
}

/// Compiles the YAML of one expectation; mistakes of its shape count too.
fn build(yaml: &str) -> (Sources, Option<Expectation>, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("suite.yml", yaml));
    let node = parse(&sources, source).unwrap();
    let mut found = grammar::check(&node, &Shape::Object(&EXPECTATION));
    let expectation = Expectation::build(&node, &mut found);
    (sources, expectation, found)
}

fn evaluate(yaml: &str, step: &Step) -> (Sources, Vec<Mismatch>) {
    let (sources, expectation, found) = build(yaml);
    assert!(found.is_empty(), "{yaml}: {found:#?}");
    let mismatches = expectation.unwrap().evaluate(&step.answer());
    (sources, mismatches)
}

/// Asserts what fails: one line `code [marked text] label` for each mismatch, nothing for a pass.
#[track_caller]
fn check(yaml: &str, step: &Step, expected: &str) {
    let (sources, mismatches) = evaluate(yaml, step);
    let lines: Vec<String> =
        mismatches.iter().map(|it| format!("{} [{}] {}", it.code, sources.text(it.span), it.label)).collect();
    assert_eq!(lines.join("\n"), expected, "\n{yaml}\n{}", step.message);
}

/// Asserts the sentences of what fails.
#[track_caller]
fn check_message(yaml: &str, step: &Step, expected: &str) {
    let messages: Vec<String> = evaluate(yaml, step).1.into_iter().map(|it| it.message).collect();
    assert_eq!(messages.join("\n"), expected, "\n{yaml}\n{}", step.message);
}

#[test]
fn every_file_is_in_its_table() {
    for (folder, text) in [("value", include_str!("../value/mod.rs")), ("answer", include_str!("../answer/mod.rs"))] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/matching").join(folder);
        for file in std::fs::read_dir(path).unwrap() {
            let file = file.unwrap().path();
            let name = file.file_stem().unwrap().to_str().unwrap();
            let text_of_file = std::fs::read_to_string(&file).unwrap();
            let declares = [": ValueMatcher =", ": AnswerMatcher ="].iter().any(|line| text_of_file.contains(line));
            let is_listed = text.contains(&format!("&{name}::"));
            assert_eq!(declares, is_listed, "`{folder}/{name}.rs` and the table of `{folder}/mod.rs` disagree");
        }
    }
}

#[test]
fn keys_are_unique_and_documented() {
    let mut names: Vec<&str> = EXPECTATION.all_keys().map(|key| key.name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(EXPECTATION.all_keys().all(|key| key.doc.ends_with(['.', '`'])));
    let schema = Shape::Object(&EXPECTATION).json_schema(&mut std::collections::BTreeMap::default());
    assert_eq!(schema, json!({"$ref": "#/$defs/expectation"}));
}

#[test]
fn expectations_travel_between_threads() {
    fn travels<T: Send + Sync + Clone>() {}
    travels::<Expectation>();
}
