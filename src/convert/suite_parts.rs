//! The parts of a suite that is made from files of another tool, and its text.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::source::{Sources, yaml_writer};

use super::left_out::LeftOut;
use super::{ConvertedCounts, ConvertedSuite};

/// The beginning of the reason why a test is skipped of which nothing has a counterpart.
const SKIPPED: &str = "not converted: ";

/// A suite before it is written.
#[derive(Default)]
pub(crate) struct SuiteParts {
    /// Comments of the files that belong to no test, and what a reader should know.
    pub(crate) comments: Vec<String>,
    /// Everything but the properties and the tests.
    pub(crate) head: Map<String, Value>,
    pub(crate) properties: Vec<ConvertedTest>,
    pub(crate) tests: Vec<ConvertedTest>,
    /// The parts outside of tests that it leaves out.
    pub(crate) left_out: Vec<LeftOut>,
}

/// A test or a property, and what stands before and in it.
#[derive(Default)]
pub(crate) struct ConvertedTest {
    pub(crate) comments: Vec<String>,
    /// Comments within it and after it.
    pub(crate) inner_comments: BTreeMap<TestPart, Vec<String>>,
    pub(crate) test: Map<String, Value>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// A place within a test at which comments stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TestPart {
    /// A step of `setup`, by its number.
    SetupStep(usize),
    /// What follows `setup`.
    Action,
    /// `expect`.
    Expectations,
    /// What follows the test.
    End,
}

impl ConvertedTest {
    /// A test that is skipped, because nothing of it has a counterpart.
    pub(crate) fn skipped(name: &str, why: LeftOut) -> Self {
        let skip = format!("{SKIPPED}{}", why.why());
        let test = json!({ "name": name, "skip": skip, "list": "tools", "expect": [] });
        Self { test: test.as_object().cloned().unwrap_or_default(), left_out: vec![why], ..Self::default() }
    }
}

impl SuiteParts {
    /// Writes the suite in the layout of `mcprove fmt`.
    pub(crate) fn into_suite(self, sources: &Sources, tool: &'static str) -> ConvertedSuite {
        let mut text = String::new();
        let mut warnings = Vec::new();
        write_comments(&self.comments, &self.left_out, "", sources, &mut text);
        warnings.extend(self.left_out.iter().map(LeftOut::warning));
        let has_server = ["server", "servers"].iter().any(|key| self.head.contains_key(*key));
        text += &yaml_writer::block(&Value::Object(self.head), 0);
        let mut names = BTreeMap::new();
        let (mut whole, mut in_part) = (0, 0);
        for (key, tests) in [("properties", self.properties), ("tests", self.tests)] {
            if !tests.is_empty() {
                text.extend(["\n", key, ":\n"]);
            }
            for (at, ConvertedTest { comments, inner_comments, mut test, left_out }) in tests.into_iter().enumerate() {
                make_unique(&mut test, &mut names);
                if at > 0 {
                    text.push('\n');
                }
                write_comments(&comments, &left_out, "  ", sources, &mut text);
                warnings.extend(left_out.iter().map(LeftOut::warning));
                let is_skipped = test.get("skip").and_then(Value::as_str).is_some_and(|why| why.starts_with(SKIPPED));
                whole += usize::from(left_out.is_empty());
                in_part += usize::from(!left_out.is_empty() && !is_skipped);
                write_test(test, &inner_comments, &mut text);
            }
        }
        let tests = ConvertedCounts { all: names.len(), whole, in_part };
        ConvertedSuite { tool, has_server, text, left_out: warnings, tests }
    }
}

/// Writes a test as an item of its list.
fn write_test(members: Map<String, Value>, comments: &BTreeMap<TestPart, Vec<String>>, text: &mut String) {
    let before = |part: TestPart| comments.get(&part).into_iter().flatten().cloned();
    let of_steps = comments.iter().filter(|(part, _)| matches!(part, TestPart::SetupStep(_)));
    let mut setup_steps = None;
    let item = Value::Array(vec![Value::Object(members)]);
    for line in yaml_writer::block(&item, 2).lines() {
        let key = line.strip_prefix("    ").filter(|rest| !rest.starts_with(' '));
        match (key, setup_steps) {
            (Some("setup:"), _) => setup_steps = Some(0),
            // Short steps stand on the line of their key.
            (Some(key), _) if key.starts_with("setup:") => {
                write_plain("    ", of_steps.clone().flat_map(|(_, comments)| comments).cloned(), text);
                setup_steps = Some(0);
            }
            (Some(_), Some(_)) => {
                write_plain("    ", before(TestPart::Action), text);
                setup_steps = None;
            }
            (None, Some(number)) if line.starts_with("      - ") => {
                write_plain("      ", before(TestPart::SetupStep(number)), text);
                setup_steps = Some(number + 1);
            }
            (Some(_), None) | (None, _) => {}
        }
        if key.is_some_and(|key| key.starts_with("expect:")) {
            write_plain("    ", before(TestPart::Expectations), text);
        }
        text.extend([line, "\n"]);
    }
    write_plain("  ", before(TestPart::End), text);
}

fn write_plain(indent: &str, comments: impl IntoIterator<Item = String>, text: &mut String) {
    for comment in comments {
        text.extend([indent, "# ", &comment, "\n"]);
    }
}

fn write_comments(comments: &[String], left_out: &[LeftOut], indent: &str, sources: &Sources, text: &mut String) {
    let left_out = left_out.iter().map(|part| part.comment(sources));
    write_plain(indent, comments.iter().cloned().chain(left_out), text);
}

/// Numbers the name of a test that another test has already.
fn make_unique(test: &mut Map<String, Value>, names: &mut BTreeMap<String, usize>) {
    let name = test.get("name").and_then(Value::as_str).unwrap_or("without a name").to_owned();
    let mut free = name.clone();
    while names.contains_key(&free) {
        let number = names.entry(name.clone()).and_modify(|number| *number += 1).or_insert(1);
        free = format!("{name} ({number})");
    }
    names.insert(free.clone(), 1);
    test.insert("name".to_owned(), free.into());
}
