//! Assertions of mcp-assert: a file for each, which names its server, a call and what it expects.
//!
//! Several files become one suite, whose server is the one that they share.

mod expect;
mod server;
mod test;

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::source::{Diagnostic, Sources, map_texts};

use super::document::Document;
use super::references::{Marks, optional_variable};
use super::suite_parts::{ConvertedTest, SuiteParts};
use super::{ConvertOptions, Format};

use self::server::server_name;
use self::test::{ConvertedAssertion, assertion};

pub(crate) const FORMAT: Format = Format { tool: "mcp-assert", recognises, convert };

/// The marks around `{{fixture}}` and captured values.
const MARKS: Marks = Marks { open: "{{", close: "}}" };

/// The blocks of an assertion, in the order in which one of several is chosen.
const BLOCKS: [&str; 8] = [
    "trajectory",
    "assert_resources",
    "assert_prompts",
    "assert_completion",
    "assert_sampling",
    "assert_logging",
    "assert_notifications",
    "assert",
];

/// The times that a case and a start may take in a suite that does not say.
const CASE_TIMEOUT: Duration = Duration::from_secs(30);

fn recognises(document: &Document) -> bool {
    let has = |key| document.root.get(key).is_some();
    let is_block =
        |key| document.root.get(key).is_some_and(|block| !block.entries().is_empty() || !block.items().is_empty());
    BLOCKS.into_iter().any(is_block) && !has("tests") && !has("tools") && !has("suite")
}

fn convert(documents: &[Document], sources: &Sources, options: &ConvertOptions) -> Result<SuiteParts, Vec<Diagnostic>> {
    let assertions: Vec<ConvertedAssertion> = documents.iter().map(|document| assertion(document, sources)).collect();
    let text =
        |assertion: &ConvertedAssertion| json!([assertion.server, assertion.answers, assertion.test.test]).to_string();
    let uses_fixture = assertions.iter().any(|assertion| text(assertion).contains("{{ fixture }}"));
    let mut parts = SuiteParts::default();
    let name = match assertions.as_slice() {
        [only] => only.test.test["name"].clone(),
        _ => options.name.clone().into(),
    };
    parts.head.insert("suite".to_owned(), name);
    let assertions = with_shared_needs(without_prompts(assertions), &mut parts.head);
    let servers = Servers::of(&assertions);
    servers.add_to(&mut parts.head);
    if uses_fixture {
        let folder = options.fixture.clone().unwrap_or_else(|| "fixtures".to_owned());
        parts.head.insert("fixture".to_owned(), folder.into());
        if options.fixture.is_none() {
            parts.comments.push("`fixture` is the folder that mcp-assert gets as `--fixture`.".to_owned());
        }
    }
    let most = assertions.iter().filter_map(|assertion| assertion.timeout).max();
    if let Some(run_options) = run_options(most, assertions.len()) {
        parts.head.insert("run_options".to_owned(), run_options);
    }
    let shared_answers = shared(&assertions, |assertion| assertion.answers.as_ref());
    if let Some(answers) = &shared_answers {
        parts.head.insert("answers".to_owned(), answers.clone());
    }
    for assertion in assertions {
        let server = servers.name_of(&assertion);
        let answers = assertion.answers.filter(|_| shared_answers.is_none());
        let timeout = assertion.timeout.filter(|own| most.is_some_and(|most| *own < most));
        parts.tests.push(with_own_settings(assertion.test, server, answers, timeout));
    }
    Ok(parts)
}

/// The value that all assertions have.
fn shared<'a>(
    assertions: &'a [ConvertedAssertion],
    of: impl Fn(&'a ConvertedAssertion) -> Option<&'a Value>,
) -> Option<Value> {
    let first = of(assertions.first()?)?;
    assertions.iter().all(|assertion| of(assertion) == Some(first)).then(|| first.clone())
}

/// Servers that differ only in whether `npx` asks before it installs something are one, which does not ask.
fn without_prompts(mut assertions: Vec<ConvertedAssertion>) -> Vec<ConvertedAssertion> {
    let unasked = |server: &Value| {
        let mut server = server.clone();
        let command = server.get_mut("command").and_then(Value::as_array_mut)?;
        (command.first()? == "npx" && command.get(1)? != "-y").then(|| command.insert(1, "-y".into()))?;
        Some(server)
    };
    let servers: Vec<Option<Value>> = assertions.iter().map(|assertion| assertion.server.clone()).collect();
    for assertion in &mut assertions {
        let other = assertion.server.as_ref().and_then(unasked);
        if other.is_some() && servers.contains(&other) {
            assertion.server = other;
        }
    }
    assertions
}

/// Moves `needs` to the suite where all assertions have the same, and tells servers of the variables that their
/// assertions need.
fn with_shared_needs(
    mut assertions: Vec<ConvertedAssertion>,
    head: &mut Map<String, Value>,
) -> Vec<ConvertedAssertion> {
    let needs = |assertion: &ConvertedAssertion| assertion.test.test.get("needs").cloned();
    // mcp-assert passes its whole environment to a server; a suite names what the server gets.
    let keys: Vec<Option<Value>> = assertions.iter().map(|assertion| assertion.server.clone()).collect();
    let wanted: Vec<Option<Value>> = assertions.iter().map(needs).collect();
    for assertion in &mut assertions {
        let of_same = keys.iter().zip(&wanted).filter(|(key, _)| **key == assertion.server);
        let names: Vec<String> = of_same
            .filter_map(|(_, needs)| needs.as_ref()?.as_str()?.strip_prefix("env.").map(str::to_owned))
            .collect();
        let Some(server) = assertion.server.as_mut().filter(|server| server.get("command").is_some()) else { continue };
        for name in names {
            if server["env"].get(&name).is_none() {
                server["env"][&name] = format!("{{{{ {} }}}}", optional_variable(&name)).into();
            }
        }
    }
    let Some(common) = shared(&assertions, |assertion| assertion.test.test.get("needs")) else { return assertions };
    head.insert("needs".to_owned(), common.clone());
    let variable = common.as_str().unwrap_or_default().trim_start_matches("env.").to_owned();
    for assertion in &mut assertions {
        assertion.test.test.shift_remove("needs");
        // It is there whenever the suite runs.
        let (optional, there) = (optional_variable(&variable), format!("env.{variable}"));
        let server = assertion.server.take();
        assertion.server = server.map(|server| map_texts(server, &|text| text.replace(&optional, &there)));
    }
    assertions
}

/// The servers of all assertions, by name.
struct Servers(Vec<(String, Value)>);

impl Servers {
    /// Those that differ, named after what they start.
    fn of(assertions: &[ConvertedAssertion]) -> Self {
        let mut servers: Vec<(String, Value)> = Vec::new();
        for server in assertions.iter().filter_map(|assertion| assertion.server.as_ref()) {
            if servers.iter().any(|(_, known)| known == server) {
                continue;
            }
            let base = server_name(server);
            let numbered = (2..).map(|number| format!("{base}_{number}"));
            let free = std::iter::once(base.clone())
                .chain(numbered)
                .find(|name| servers.iter().all(|(known, _)| known != name));
            servers.push((free.unwrap_or(base), server.clone()));
        }
        Self(servers)
    }

    fn add_to(&self, head: &mut Map<String, Value>) {
        match self.0.as_slice() {
            [] => {}
            [(_, only)] => drop(head.insert("server".to_owned(), only.clone())),
            several => drop(head.insert("servers".to_owned(), several.iter().cloned().collect())),
        }
    }

    /// The name that a test says, where there are several.
    fn name_of(&self, assertion: &ConvertedAssertion) -> Option<String> {
        let (name, _) = self.0.iter().find(|(_, server)| Some(server) == assertion.server.as_ref())?;
        (self.0.len() > 1).then(|| name.clone())
    }
}

/// `timeout` of an assertion is the time for the start of its server, its setup and its call.
fn run_options(most: Option<Duration>, tests: usize) -> Option<Value> {
    let mut options = Map::new();
    if tests > 1 {
        options.insert("restart_policy".to_owned(), "per_test".into());
    }
    if let Some(most) = most {
        let written: Value = written_duration(most).into();
        if most > CASE_TIMEOUT {
            options.insert("timeout".to_owned(), written.clone());
            options.insert("start_timeout".to_owned(), written.clone());
        }
        options.insert("request_timeout".to_owned(), written);
    }
    (!options.is_empty()).then(|| options.into())
}

/// A duration as suites write it.
fn written_duration(time: Duration) -> String {
    let milliseconds = time.as_millis();
    if milliseconds.is_multiple_of(1000) { format!("{}s", milliseconds / 1000) } else { format!("{milliseconds}ms") }
}

/// A test with what differs from other tests of the suite, in the places where people look for it.
fn with_own_settings(
    test: ConvertedTest,
    server: Option<String>,
    answers: Option<Value>,
    timeout: Option<Duration>,
) -> ConvertedTest {
    let mut ordered = Map::new();
    // The pages of a list are requested one by one.
    let timeout = timeout.filter(|_| !test.test.contains_key("list"));
    let settings = [("server", server.map(Value::from)), ("answers", answers)];
    let mut settings = Some(settings);
    for (key, value) in test.test {
        let is_setting = ["name", "skip"].contains(&key.as_str());
        if !is_setting {
            let there = settings.take().into_iter().flatten();
            ordered.extend(there.filter_map(|(key, value)| Some((key.to_owned(), value?))));
        }
        if key == "expect"
            && let Some(timeout) = timeout
        {
            ordered.insert("timeout".to_owned(), written_duration(timeout).into());
        }
        ordered.insert(key, value);
    }
    ConvertedTest { test: ordered, ..test }
}

#[cfg(test)]
mod tests;
