//! The parts of a suite that is made from files of another tool, and its text.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::source::{Sources, yaml_writer};

use super::ConvertedSuite;
use super::left_out::LeftOut;

/// A suite before it is written.
#[derive(Default)]
pub(crate) struct SuiteParts {
    /// Comments of the files that belong to no test, and what a reader should know.
    pub(crate) comments: Vec<String>,
    /// Everything but the tests.
    pub(crate) head: Map<String, Value>,
    pub(crate) tests: Vec<ConvertedTest>,
    /// The parts outside of tests that it leaves out.
    pub(crate) left_out: Vec<LeftOut>,
}

/// A test, and what stands before it.
#[derive(Default)]
pub(crate) struct ConvertedTest {
    pub(crate) comments: Vec<String>,
    pub(crate) test: Map<String, Value>,
    pub(crate) left_out: Vec<LeftOut>,
}

impl ConvertedTest {
    /// A test that is skipped, because nothing of it has a counterpart.
    pub(crate) fn skipped(name: &str, why: LeftOut) -> Self {
        let skip = format!("not converted: {}", why.why());
        let test = json!({ "name": name, "skip": skip, "list": "tools", "expect": [] });
        Self { comments: Vec::new(), test: test.as_object().cloned().unwrap_or_default(), left_out: vec![why] }
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
        if !self.tests.is_empty() {
            text += "\ntests:\n";
        }
        let mut names = BTreeMap::new();
        for (at, ConvertedTest { comments, mut test, left_out }) in self.tests.into_iter().enumerate() {
            make_unique(&mut test, &mut names);
            if at > 0 {
                text.push('\n');
            }
            write_comments(&comments, &left_out, "  ", sources, &mut text);
            warnings.extend(left_out.iter().map(LeftOut::warning));
            text += &yaml_writer::block(&json!([test]), 2);
        }
        ConvertedSuite { tool, has_server, text, left_out: warnings }
    }
}

fn write_comments(comments: &[String], left_out: &[LeftOut], indent: &str, sources: &Sources, text: &mut String) {
    let left_out = left_out.iter().map(|part| part.comment(sources));
    for comment in comments.iter().cloned().chain(left_out) {
        text.extend([indent, "# ", &comment, "\n"]);
    }
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
