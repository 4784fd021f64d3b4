//! Suites of mcptest: servers by name, and tests of tools, resources and prompts.

mod matcher;
mod server;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::source::{Diagnostic, Node, Sources};

use super::document::{Document, item_ranges};
use super::left_out::{LeftOut, members_left_out, unknown_members};
use super::references::{Marks, is_variable, literal_value, optional_variable, template_name};
use super::suite_parts::{ConvertedTest, SuiteParts};
use super::{ConvertOptions, Format};

use self::matcher::expectation;
use self::server::server;

pub(crate) const FORMAT: Format = Format { tool: "mcptest", recognises, convert };

/// The marks around a variable.
const MARKS: Marks = Marks { open: "${", close: "}" };

/// The lists of tests, and the key that says what is called.
const LISTS: [(&str, &str); 3] = [("tools", "tool"), ("resources", "uri"), ("prompts", "prompt")];

/// Keys that become something.
const CONVERTED: [&str; 9] =
    ["servers", "server", "variables", "tools", "resources", "prompts", "run_options", "conformance", "defaultTest"];

/// Keys that mcptest knows and that have no counterpart, with the reason.
const LEFT_OUT: [(&[&str], &str); 9] = [
    (
        &["agents", "providers", "model_compatibility", "model_compat", "budget", "compositions", "scenarios"],
        "agents are tested by the block `agents`, which has other keys",
    ),
    (&["evals", "rubrics", "scorers", "corpus", "calibration"], "answers are not graded by a model"),
    (
        &["hooks", "setup", "teardown", "setup_per_test", "fixtures"],
        "a suite runs no shell commands; `setup` has steps",
    ),
    (&["faults"], "faults are planted in the traffic to the server: see `faults` and `inject`"),
    (&["coverage"], "thresholds are options of the command line: `--threshold`"),
    (&["compliance", "tool_quality"], "see the blocks `compliance` and `schema_lint`"),
    (&["performance"], "see the block `performance`"),
    (&["security", "auth"], "see the blocks `security` and `authorization`"),
    (
        &["mock_server", "imports", "default_server", "stepwise", "target_versions", "input_responder"],
        "mcptest itself ignores or refuses it",
    ),
];

fn recognises(document: &Document) -> bool {
    let root = &document.root;
    let is_test = |node: &Node, key: &str| node.get(key).is_some();
    let has_tests = LISTS
        .iter()
        .any(|(list, key)| root.get(list).is_some_and(|list| list.items().iter().any(|test| is_test(test, key))));
    let has_servers = root.get("servers").is_some() || root.get("server").is_some();
    root.get("suite").is_none()
        && (has_tests || has_servers && root.get("agents").is_some_and(|agents| !agents.items().is_empty()))
}

fn convert(documents: &[Document], sources: &Sources, options: &ConvertOptions) -> Result<SuiteParts, Vec<Diagnostic>> {
    let [document] = documents else {
        let span = documents.get(1).map(|document| document.root.span);
        let message = "suites of mcptest are converted one at a time";
        let mistake = span.map_or_else(
            || Diagnostic::without_place("unknown-format", message),
            |span| Diagnostic::error("unknown-format", message, span),
        );
        return Err(vec![mistake]);
    };
    let root = &document.root;
    let mut parts = SuiteParts::default();
    let known: Vec<&str> =
        CONVERTED.into_iter().chain(LEFT_OUT.iter().flat_map(|(keys, _)| keys.iter().copied())).collect();
    parts.left_out.extend(unknown_members(root, &known, "mcptest"));
    for (keys, why) in LEFT_OUT {
        parts.left_out.extend(members_left_out(root, keys, why));
    }
    let variables = Variables::of(root, &mut parts.left_out);
    parts.head.insert("suite".to_owned(), options.name.clone().into());
    if !variables.values.is_empty() {
        parts.head.insert("variables".to_owned(), variables.values.clone().into());
    }
    let is_single = add_servers(root, &variables, &mut parts);
    if root.get("conformance").is_some() {
        parts.head.insert("compliance".to_owned(), true.into());
    }
    if let Some(run_options) = root.get("run_options").and_then(|node| run_options(node, &mut parts.left_out)) {
        parts.head.insert("run_options".to_owned(), run_options);
    }
    let default = root.get("defaultTest");
    let mut ranges = Vec::new();
    for (key, list) in root.entries() {
        let Some((_, called)) = LISTS.iter().find(|(name, _)| *name == key.value) else { continue };
        let of_list = item_ranges(sources, key.span, list.items());
        for (node, (from, to)) in list.items().iter().zip(&of_list) {
            let made = test(node, called, default, &variables, is_single);
            parts.tests.push(ConvertedTest { comments: document.comments.between(*from, *to), ..made });
        }
        ranges.extend(of_list);
    }
    parts.comments.extend(document.comments.outside(&ranges));
    Ok(parts)
}

/// The variables of a suite.
#[derive(Default)]
struct Variables {
    names: BTreeMap<String, String>,
    values: Map<String, Value>,
}

impl Variables {
    fn of(root: &Node, left_out: &mut Vec<LeftOut>) -> Self {
        let mut variables = Self::default();
        for (name, value) in root.get("variables").map(Node::entries).unwrap_or_default() {
            left_out.extend(unknown_members(value, &["value", "from_env", "default"], "a variable"));
            let own = template_name(&name.value);
            let from_environment = value.get("from_env").map(Node::to_text);
            let value = match (from_environment, value.get("default")) {
                (Some(variable), Some(default)) => {
                    format!("{{{{ env.{variable} | default({}) }}}}", Value::from(default.to_text())).into()
                }
                (Some(variable), None) => format!("{{{{ env.{variable} }}}}").into(),
                (None, _) => literal_value(value.get("value").map(Node::to_json).unwrap_or_default()),
            };
            variables.values.insert(own.clone(), value);
            variables.names.insert(name.value.clone(), own);
        }
        variables
    }

    /// A value in which variables are templates.
    fn fill(&self, value: Value) -> Value {
        MARKS.fill_value(value, &|name| self.names.get(name).cloned())
    }

    /// A text of a server, in which other names are variables of the environment.
    fn fill_setting(&self, text: &str) -> Value {
        let expression = |name: &str| {
            let from_environment = || is_variable(name).then(|| optional_variable(name));
            self.names.get(name).cloned().or_else(from_environment)
        };
        MARKS.fill(text, &expression).into()
    }
}

/// Adds the servers; a single one needs no name in the tests.
fn add_servers(root: &Node, variables: &Variables, parts: &mut SuiteParts) -> bool {
    let named = root.get("servers").map(Node::entries).unwrap_or_default();
    let listed = root.get("servers").map(Node::items).unwrap_or_default();
    let listed = listed.iter().filter_map(|node| Some((node.get("name")?.to_text(), node)));
    let single = root.get("server").map(|node| ("server".to_owned(), node));
    let all = named.iter().map(|(name, node)| (name.value.clone(), node)).chain(listed).chain(single);
    let made: Map<String, Value> =
        all.map(|(name, node)| (name, server(node, variables, &mut parts.left_out))).collect();
    let is_single = made.len() < 2;
    if !is_single {
        parts.head.insert("servers".to_owned(), made.into());
    } else if let Some((_, only)) = made.into_iter().next() {
        parts.head.insert("server".to_owned(), only);
    }
    is_single
}

fn run_options(node: &Node, left_out: &mut Vec<LeftOut>) -> Option<Value> {
    let mut options = Map::new();
    for (key, value) in node.entries() {
        match (key.value.as_str(), value.text(), value.whole()) {
            ("restart_policy", Some("per_test"), _) => {
                drop(options.insert("restart_policy".to_owned(), "per_test".into()));
            }
            ("restart_policy", Some("per_run" | "per_file"), _) | ("parallel", Some("auto"), _) => {}
            ("parallel", _, Some(count @ 1..=1024)) => drop(options.insert("parallel".to_owned(), count.into())),
            ("parallel", _, _) if value.flag() == Some(false) => drop(options.insert("parallel".to_owned(), 1.into())),
            _ => left_out.push(LeftOut::new(key.value.clone(), key.span, "`run_options` has no such setting")),
        }
    }
    (!options.is_empty()).then(|| options.into())
}

/// Keys of a test that become something.
const OF_TEST: [&str; 11] =
    ["name", "skip", "only", "server", "tool", "uri", "prompt", "args", "expect", "timeout_ms", "tags"];

/// Keys of a test that have no counterpart, with the reason.
const OF_TEST_LEFT_OUT: [(&[&str], &str); 8] = [
    (&["threshold", "derivedMetrics"], "all expectations of a test must hold"),
    (&["transform"], "a suite runs no shell commands"),
    (&["hooks"], "mcptest itself ignores it"),
    (&["cache", "effects", "server_version"], "no answer is taken from a cache"),
    (&["fuzz"], "see the block `fuzz`"),
    (&["metamorphic"], "write a property"),
    (&["input_responses", "input_responder"], "see `answers`"),
    (&["negative_path"], "write `negative_path: true` where the tool may be called with wrong arguments"),
];

fn test(node: &Node, called: &str, default: Option<&Node>, variables: &Variables, is_single: bool) -> ConvertedTest {
    let left_out_keys = OF_TEST_LEFT_OUT.iter().flat_map(|(keys, _)| keys.iter().copied());
    let known: Vec<&str> = OF_TEST.into_iter().chain(left_out_keys).chain(["inject_error"]).collect();
    let mut left_out = unknown_members(node, &known, "a test of mcptest");
    for (keys, why) in OF_TEST_LEFT_OUT {
        left_out.extend(members_left_out(node, keys, why));
    }
    let filled = |key: &str| node.get(key).map(|node| variables.fill(node.to_text().into()));
    let name = filled("name").unwrap_or_else(|| "without a name".into());
    if let Some(injected) = node.get("inject_error") {
        let why = "the answer is made up by the test itself, and no server is asked";
        return ConvertedTest::skipped(
            name.as_str().unwrap_or_default(),
            LeftOut::new("inject_error", injected.span, why),
        );
    }
    let mut test = Map::new();
    test.insert("name".to_owned(), name);
    if let Some(tags) = node.get("tags").filter(|tags| !tags.items().is_empty()) {
        test.insert("tags".to_owned(), literal_value(tags.to_json()));
    }
    test.extend(filled("skip").map(|reason| ("skip".to_owned(), reason)));
    if node.get("only").and_then(Node::flag) == Some(true) {
        test.insert("only".to_owned(), true.into());
    }
    test.extend(filled("server").filter(|_| !is_single).map(|server| ("server".to_owned(), server)));
    let action = match called {
        "tool" => "call",
        "uri" => "read",
        _ => "prompt",
    };
    test.insert(action.to_owned(), filled(called).unwrap_or_default());
    if let Some(arguments) = node.get("args").filter(|args| !args.entries().is_empty()) {
        test.insert("args".to_owned(), variables.fill(arguments.to_json()));
    }
    if let Some(timeout) = node.get("timeout_ms").and_then(Node::whole).filter(|time| *time > 0) {
        test.insert("timeout".to_owned(), format!("{timeout}ms").into());
    }
    let mut made = StepParts::default();
    for expect in [node.get("expect"), default.and_then(|default| default.get("expect"))].into_iter().flatten() {
        made.add(expect, variables);
    }
    left_out.extend(made.left_out);
    if made.expect.is_empty() {
        made.expect.push(json!({ "at": "result", "exists": true }));
    }
    test.insert("expect".to_owned(), made.expect.into());
    test.extend(made.snapshot.map(|snapshot| ("snapshot".to_owned(), snapshot)));
    ConvertedTest { test, left_out, ..ConvertedTest::default() }
}

/// What the assertions of a test become.
#[derive(Default)]
struct StepParts {
    expect: Vec<Value>,
    snapshot: Option<Value>,
    left_out: Vec<LeftOut>,
}

impl StepParts {
    /// Adds a list of assertions, or a block with such a list and bounds.
    fn add(&mut self, node: &Node, variables: &Variables) {
        for assertion in node.items() {
            if let Some(bundle) = assertion.get("assert-set") {
                let all = bundle.get("assert").or_else(|| bundle.get("assertions"));
                let items = all.map(Node::items).unwrap_or_default();
                for inner in items {
                    self.add_assertion(inner, variables);
                }
            } else {
                self.add_assertion(assertion, variables);
            }
        }
        for (key, value) in node.entries() {
            match (key.value.as_str(), value.whole()) {
                ("assertions", _) => self.add(value, variables),
                ("max_duration_ms", Some(most)) => {
                    self.expect.push(json!({ "latency": { "under": format!("{most}ms") } }));
                }
                ("max_response_tokens", _) => self.leave_out(key.value.clone(), value, "tokens are not counted"),
                ("response_headers" | "response_headers_absent", _) => {
                    self.leave_out(key.value.clone(), value, "headers are expected of `http` steps only");
                }
                ("snapshot", _) => self.leave_out(key.value.clone(), value, "`mcprove run --update` records snapshots"),
                _ => self.leave_out(key.value.clone(), value, "`expect` has no such key"),
            }
        }
    }

    fn leave_out(&mut self, key: String, node: &Node, why: &str) {
        self.left_out.push(LeftOut::new(key, node.span, why));
    }

    fn add_assertion(&mut self, node: &Node, variables: &Variables) {
        let known = ["target", "matcher", "message", "name", "weight", "transform"];
        self.left_out.extend(unknown_members(node, &known, "an assertion"));
        self.left_out.extend(members_left_out(node, &["transform"], "a suite runs no shell commands"));
        self.left_out.extend(members_left_out(node, &["weight"], "all expectations weigh the same"));
        let target = node.get("target").map(Node::to_text).unwrap_or_default();
        let Some((key, argument)) = node.get("matcher").and_then(|matcher| matcher.entries().first()) else {
            self.leave_out("matcher".to_owned(), node, "the assertion has no matcher");
            return;
        };
        if key.value == "snapshot" {
            let name = argument.text().map(str::to_owned).or_else(|| Some(argument.get("name")?.to_text()));
            if self.snapshot.is_some() {
                self.leave_out(key.value.clone(), argument, "a step has one snapshot");
                return;
            }
            let target = target.trim_start_matches("$.");
            let mut snapshot = json!({ "at": if target == "$" { "result" } else { target } });
            if let Some(name) = name {
                snapshot["name"] = name.into();
            }
            self.snapshot = Some(snapshot);
            return;
        }
        match expectation(&target, &key.value, argument, &|value| variables.fill(value)) {
            Ok(item) => self.expect.push(item),
            Err(why) => self.left_out.push(LeftOut::new(key.value.clone(), key.span, why)),
        }
    }
}
