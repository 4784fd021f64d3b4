//! The text of a suite with more in it: expectations beside those that are there, and tests behind the last one.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::event::{Addition, StepOfTest};
use crate::init::{with_expectations, with_written_test};
use crate::prove::{last_expect, requests, shared_name};
use crate::source::{Node, SourceFile, Sources, parse, yaml_writer};

/// Stands above a test that was added.
const COMMENT: &str = "Added by `mcprove grow` from what the server answered: confirm that it is right.";

/// Stands above the policy of restarts.
const PER_TEST: &str =
    "# Some tests change data, so each has a server of its own.\nrun_options: { restart_policy: per_test }\n\n";

/// A test that a suite gets, or what a step of it expects from now on.
#[derive(Debug, Clone)]
pub(crate) struct Growth {
    /// The tool that it is about.
    pub(crate) tool: Option<String>,
    /// The step that can expect it.
    pub(crate) at: Option<StepOfTest>,
    /// The test that makes the same request, in the place of the step.
    pub(crate) test: Map<String, Value>,
    /// It calls tools that may change data.
    pub(crate) writes: bool,
}

impl Growth {
    /// A test of its own.
    pub(crate) fn of_test(tool: Option<String>, test: &Value) -> Option<Self> {
        Some(Self { tool, at: None, test: test.as_object()?.clone(), writes: false })
    }

    /// What a proof found missing; `None` for settings of a suite.
    pub(crate) fn of_addition(addition: &Addition) -> Option<Self> {
        let tests = yaml_writer::read_value(&addition.yaml)?;
        let test = tests.get(0)?.as_object()?.clone();
        Some(Self { tool: addition.tool.clone(), at: addition.at.clone(), test, writes: false })
    }

    /// The expectations in the end.
    pub(crate) fn expected(&self) -> Vec<Value> {
        last_expect(&mut self.test.clone()).cloned().unwrap_or_default()
    }

    /// What it is known by, whatever its name and place.
    pub(crate) fn key(&self) -> String {
        format!("{} {}", Value::Object(requests(&self.test)), Value::from(self.expected()))
    }

    /// The tools that it calls.
    pub(crate) fn calls(&self) -> Vec<&str> {
        let steps = self.test.get("steps").and_then(Value::as_array).into_iter().flatten();
        let all = steps.filter_map(|step| step.get("call")).chain(self.test.get("call"));
        all.filter_map(Value::as_str).collect()
    }
}

/// A suite that has grown.
#[derive(Debug, Default)]
pub(crate) struct GrownText {
    pub(crate) text: String,
    /// By the name of a test, what was added to it: indices of what was asked for.
    pub(crate) of_test: BTreeMap<String, Vec<usize>>,
    /// The number of tests among it that are new.
    pub(crate) new_tests: usize,
    /// What could not be written.
    pub(crate) unplaced: Vec<usize>,
}

/// The suite with all of these.
pub(crate) fn grown(suite: &str, growths: &[Growth]) -> GrownText {
    let mut grown = GrownText { text: without_empty_tests(suite), ..GrownText::default() };
    let mut own: Vec<usize> = Vec::new();
    let mut of_steps: IndexMap<(&str, usize), Vec<usize>> = IndexMap::new();
    for (at, growth) in growths.iter().enumerate() {
        match &growth.at {
            Some(StepOfTest { test, step, .. }) => of_steps.entry((test, *step)).or_default().push(at),
            None => own.push(at),
        }
    }
    for ((test, step), members) in of_steps {
        let expected: Vec<Value> = members.iter().flat_map(|at| growths[*at].expected()).collect();
        match read(&grown.text).and_then(|root| with_expectations(&grown.text, &root, (test, step), &once(expected))) {
            Some(text) => {
                grown.text = text;
                grown.of_test.entry(test.to_owned()).or_default().extend(members);
            }
            None => own.extend(members),
        }
    }
    grown.add_tests(growths, own);
    if growths.iter().any(|growth| growth.writes) {
        grown.restart_for_each_test();
    }
    grown
}

/// The same values, none of them twice, the outcome of a call first.
fn once(values: Vec<Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for value in values {
        let at = if value.get("is_error").is_some() { 0 } else { kept.len() };
        if !kept.contains(&value) {
            kept.insert(at, value);
        }
    }
    kept
}

fn read(text: &str) -> Option<Node> {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("grown", text));
    parse(&sources, source).ok()
}

/// The text without the key of an empty list of tests.
pub(crate) fn without_empty_tests(suite: &str) -> String {
    let lines = suite.split_inclusive('\n');
    lines.filter(|line| line.trim_end().replace(' ', "") != "tests:[]").collect()
}

impl GrownText {
    /// Adds tests behind the last one; those that make the same requests are one, and those of a tool stand together.
    fn add_tests(&mut self, growths: &[Growth], own: Vec<usize>) {
        let mut tests: IndexMap<String, Vec<usize>> = IndexMap::new();
        for at in own {
            let asked = Value::Object(requests(&growths[at].test)).to_string();
            tests.entry(asked).or_default().push(at);
        }
        let mut tests: Vec<Vec<usize>> = tests.into_values().collect();
        let order: Vec<Option<&String>> = tests.iter().map(|members| growths[members[0]].tool.as_ref()).collect();
        let place: Vec<usize> =
            order.iter().map(|tool| order.iter().position(|other| other == tool).unwrap_or_default()).collect();
        let mut numbered: Vec<(usize, Vec<usize>)> = place.into_iter().zip(tests.drain(..)).collect();
        numbered.sort_by_key(|(place, _)| *place);
        for (_, members) in numbered {
            let test = self.merged(growths, &members);
            let name = test["name"].as_str().unwrap_or_default().to_owned();
            let written =
                |indent: usize| format!("{:indent$}# {COMMENT}\n{}", "", yaml_writer::block(&json!([test]), indent));
            match read(&self.text).and_then(|root| with_written_test(&self.text, &root, &written).ok()) {
                Some(longer) => {
                    self.text = longer;
                    self.new_tests += 1;
                    self.of_test.entry(name).or_default().extend(members);
                }
                None => self.unplaced.extend(members),
            }
        }
    }

    /// Several tests that make the same requests as one, whose name no other has.
    fn merged(&self, growths: &[Growth], members: &[usize]) -> Value {
        let mut test = growths[members[0]].test.clone();
        let expected = once(members.iter().flat_map(|at| growths[*at].expected()).collect());
        if let Some(last) = last_expect(&mut test) {
            *last = expected;
        }
        let named = |at: &usize| growths[*at].test.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = members.iter().map(named).reduce(|one, other| shared_name(&one, &other)).unwrap_or_default();
        let root = read(&self.text);
        let tests = root.as_ref().and_then(|root| root.get("tests")).map(Node::items).unwrap_or_default();
        let taken: BTreeSet<&str> = tests.iter().filter_map(|test| test.get("name")?.text()).collect();
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name.as_str()));
        let mut whole = Map::from_iter([("name".to_owned(), free.unwrap_or(name).into())]);
        whole.extend(test.into_iter().filter(|(key, _)| key != "name"));
        whole.into()
    }

    /// Gives each test a server of its own, unless the suite says itself how it runs.
    fn restart_for_each_test(&mut self) {
        let Some(root) = read(&self.text).filter(|root| root.get("run_options").is_none()) else { return };
        let tests = root.entries().iter().find(|(key, _)| key.value == "tests");
        let Some(at) = tests.map(|(key, _)| key.span.start as usize) else { return };
        self.text.insert_str(at, PER_TEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: &str =
        "suite: s\nserver: { builtin: demo }\ntests:\n  - name: a\n    call: x\n    expect: [] # mine\n";

    fn growth(name: &str, tool: &str, expected: &Value, step: Option<usize>) -> Growth {
        let at = step.map(|step| StepOfTest { test: "a".to_owned(), step, line: 5 });
        let test = json!({"name": name, "call": tool, "expect": expected});
        let test = test.as_object().cloned().unwrap_or_default();
        Growth { tool: Some(tool.to_owned()), at, test, writes: false }
    }

    #[test]
    fn steps_expect_more_and_tests_stand_behind_the_last_one() {
        let is_error = json!({"is_error": false});
        let growths = [
            growth("x: one", "x", &json!([is_error, {"text": "1"}]), Some(0)),
            growth("w: one", "w", &json!([{"text": "1"}]), None),
            growth("z: all", "z", &json!([{"text": "3"}]), None),
            growth("w: two", "w", &json!([is_error, {"text": "2"}]), None),
            growth("x: two", "x", &json!([is_error, {"text": "2"}]), Some(0)),
        ];
        let grown = grown(SUITE, &growths);
        let added = format!("  # {COMMENT}\n");
        let expected = format!(
            "suite: s\nserver: {{ builtin: demo }}\ntests:\n  - name: a\n    call: x\n    \
             expect: [{{ is_error: false }}, {{ text: \"1\" }}, {{ text: \"2\" }}] # mine\n\
             {added}  - name: w\n    call: w\n    expect:\n      - is_error: false\n      - text: \"1\"\n      - text: \"2\"\n\
             {added}  - name: \"z: all\"\n    call: z\n    expect:\n      - text: \"3\"\n"
        );
        assert_eq!(grown.text, expected);
        assert_eq!(grown.new_tests, 2);
        let of_test = [("a", vec![0, 4]), ("w", vec![1, 3]), ("z: all", vec![2])];
        assert_eq!(grown.of_test, of_test.map(|(name, members)| (name.to_owned(), members)).into());
    }

    #[test]
    fn names_are_unique_and_an_empty_list_is_begun() {
        let suite = "suite: s\nserver: { builtin: demo }\ntests: []\n";
        let one = growth("a", "x", &json!([{"text": "1"}]), None);
        let begun = grown(suite, std::slice::from_ref(&one));
        assert!(begun.text.contains("tests:\n") && begun.text.contains("- name: a\n"), "{}", begun.text);
        let next = grown(&begun.text, &[growth("a", "w", &json!([{"text": "1"}]), None)]);
        assert!(next.text.contains("- name: a (2)\n"), "{}", next.text);
    }

    #[test]
    fn tests_that_write_have_servers_of_their_own() {
        let writing = Growth { writes: true, ..growth("b", "w", &json!([{"text": "1"}]), None) };
        let text = grown(SUITE, std::slice::from_ref(&writing)).text;
        assert!(text.contains("restart_policy: per_test }\n\ntests:\n"), "{text}");
        let options = format!("{SUITE}run_options: {{ parallel: 1 }}\n");
        assert!(!grown(&options, &[writing]).text.contains("per_test"));
    }
}
