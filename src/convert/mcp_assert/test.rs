//! An assertion as a test.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::source::template::literal_text;
use crate::source::{Located, Node, Sources, parse_duration};

use super::super::document::{Document, end_of_line, item_ranges};
use super::super::left_out::{LeftOut, unknown_members};
use super::super::references::{is_variable, path_within, template_name};
use super::super::suite_parts::{ConvertedTest, TestPart};
use super::expect::{Subject, any_result, expectations, texts};
use super::server::{answers, sampled, server};
use super::{BLOCKS, MARKS};

/// An assertion that became a test.
pub(crate) struct ConvertedAssertion {
    pub(crate) test: ConvertedTest,
    /// Its server, if it says one.
    pub(crate) server: Option<Value>,
    /// The answers of its client.
    pub(crate) answers: Option<Value>,
    /// The time for the start of the server, the setup and the call.
    pub(crate) timeout: Option<Duration>,
}

/// Keys beside the blocks.
const OTHERS: [&str; 8] = ["name", "server", "setup", "timeout", "skip", "skip_unless_env", "trace", "audit_log"];

/// Names of captured values, and what a suite calls them.
type Captured = BTreeMap<String, String>;

/// Makes a test of an assertion.
pub(crate) fn assertion(document: &Document, sources: &Sources) -> ConvertedAssertion {
    let root = &document.root;
    let known: Vec<&str> = OTHERS.into_iter().chain(BLOCKS).collect();
    let mut left_out = unknown_members(root, &known, "an assertion");
    let given = |key: &str| root.get(key).filter(|node| node.kind() != "nothing");
    let name = given("name").map_or_else(|| "without a name".to_owned(), |name| literal_text(&name.to_text()));
    let server_node = given("server");
    let server = server_node.and_then(|node| server(node, &mut left_out));
    let capabilities = server_node.and_then(|node| node.get("client_capabilities"));
    let mut answers = capabilities.and_then(|node| answers(node, &mut left_out));
    let timeout = given("timeout").and_then(|node| timeout(node, &mut left_out));
    let mut test = Map::new();
    test.insert("name".to_owned(), name.clone().into());
    if given("skip").and_then(Node::flag) == Some(true) {
        test.insert("skip".to_owned(), true.into());
    }
    if let Some(variable) = given("skip_unless_env") {
        match variable.text().filter(|name| is_variable(name)) {
            Some(name) => drop(test.insert("needs".to_owned(), format!("env.{name}").into())),
            None => left_out.push(LeftOut::new("skip_unless_env", variable.span, "this is no name of a variable")),
        }
    }
    let mut blocks = root.entries().iter().filter(|(key, _)| BLOCKS.contains(&key.value.as_str())).collect::<Vec<_>>();
    blocks.sort_by_key(|(key, _)| BLOCKS.iter().position(|block| *block == key.value));
    for (key, _) in blocks.iter().skip(1) {
        let why = "mcp-assert runs one block of an assertion, and this is not the one";
        left_out.push(LeftOut::new(key.value.clone(), key.span, why));
    }
    let all_comments = || document.comments.outside(&[]);
    let Some((key, block)) = blocks.first() else {
        let why = LeftOut::new("assert", root.span, "the assertion calls nothing");
        let skipped = ConvertedTest::skipped(&name, why);
        return ConvertedAssertion {
            test: ConvertedTest { comments: all_comments(), ..skipped },
            server,
            answers,
            timeout,
        };
    };
    if key.value == "trajectory" {
        let why = "a trace that the file holds is compared with itself; no server is asked";
        let skipped = ConvertedTest::skipped(&name, LeftOut::new("trajectory", key.span, why));
        return ConvertedAssertion {
            test: ConvertedTest { comments: all_comments(), ..skipped },
            server,
            answers,
            timeout,
        };
    }
    let mut captured = Captured::new();
    if let Some(setup) = given("setup") {
        let steps = setup.items().iter().map(|step| setup_step(step, &mut captured, &mut left_out));
        let steps: Vec<Value> = steps.collect();
        if !steps.is_empty() {
            test.insert("setup".to_owned(), steps.into());
        }
    }
    let context = BlockContext { captured: &captured };
    match key.value.as_str() {
        "assert_resources" => context.resources(block, &mut test, &mut left_out),
        "assert_prompts" => context.prompts(block, &mut test, &mut left_out),
        "assert_completion" => completion(block, &mut test, &mut left_out),
        "assert_sampling" => {
            context.call(block, &["mock_text", "mock_model"], &mut test, &mut left_out);
            let reply = block.get("mock_text").map(Node::to_text).unwrap_or_default();
            let own = || json!({ "sampling": sampled(&reply, block.get("mock_model"), None) });
            if answers.as_ref().is_none_or(|answers| answers.get("sampling").is_none()) {
                answers = Some(own());
            }
        }
        "assert_logging" => context.logging(block, &mut test, &mut left_out),
        "assert_notifications" => context.notifications(block, &mut test, &mut left_out),
        _ => context.call(block, &["capture_progress"], &mut test, &mut left_out),
    }
    let (comments, inner_comments) = placed_comments(document, key, block, test.contains_key("expect"), sources);
    ConvertedAssertion { test: ConvertedTest { comments, inner_comments, test, left_out }, server, answers, timeout }
}

/// The comments before the test, and those within it: a comment stays at the step, call or expectation at which it stands
/// in the file.
fn placed_comments(
    document: &Document,
    key: &Located<String>,
    block: &Node,
    has_expectations: bool,
    sources: &Sources,
) -> (Vec<String>, BTreeMap<TestPart, Vec<String>>) {
    let mut parts: BTreeMap<TestPart, Vec<String>> = BTreeMap::new();
    let mut ranges = Vec::new();
    let mut place = |part: TestPart, from: u32, to: u32| {
        let comments = document.comments.between(from, to);
        if !comments.is_empty() {
            parts.entry(part).or_default().extend(comments);
        }
        ranges.push((from, to));
    };
    let expect = block.entries().iter().position(|(key, _)| key.value == "expect").filter(|_| has_expectations);
    let expect = expect.map(|at| {
        let before = at.checked_sub(1).map_or(key.span, |before| block.entries()[before].1.span);
        (end_of_line(sources, before), end_of_line(sources, block.entries()[at].1.span))
    });
    let setup = document.root.entries().iter().find(|(key, setup)| key.value == "setup" && !setup.items().is_empty());
    if let Some((key, setup)) = setup {
        let steps = item_ranges(sources, key.span, setup.items());
        let end = steps.last().map_or(key.span.end, |(_, to)| *to);
        for (at, (from, to)) in steps.into_iter().enumerate() {
            place(TestPart::SetupStep(at), from, to);
        }
        let until = expect.map_or_else(|| end_of_line(sources, block.span), |(from, _)| from);
        if end < until {
            place(TestPart::Action, end, until);
        }
    }
    if let Some((from, to)) = expect {
        place(TestPart::Expectations, from, to);
    }
    place(TestPart::End, end_of_line(sources, document.root.span), u32::MAX);
    (document.comments.outside(&ranges), parts)
}

/// A duration as Go writes it, such as `15s` or `1m30s`.
fn timeout(node: &Node, left_out: &mut Vec<LeftOut>) -> Option<Duration> {
    let text = node.to_text();
    let mut whole = Duration::ZERO;
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let number = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let unit = rest[number..].find(|letter: char| letter.is_ascii_digit()).map_or(rest.len(), |at| number + at);
        let Some(part) = parse_duration(&rest[..unit]) else {
            left_out.push(LeftOut::new("timeout", node.span, "this is no duration such as `15s`"));
            return None;
        };
        whole = whole.saturating_add(part);
        rest = &rest[unit..];
    }
    (!whole.is_zero()).then_some(whole)
}

/// A call before the assertion, whose answer may be an error of the tool.
fn setup_step(node: &Node, captured: &mut Captured, left_out: &mut Vec<LeftOut>) -> Value {
    left_out.extend(unknown_members(node, &["tool", "args", "capture"], "a step of `setup`"));
    let context = BlockContext { captured };
    let mut step = context.called(node);
    let mut names = Map::new();
    for (name, path) in node.get("capture").map(Node::entries).unwrap_or_default() {
        let written = path.to_text();
        // `$.` stands for the whole text there.
        let at = match written.as_str() {
            "" | "$" | "$." => Some("result.content[0].text".to_owned()),
            path => path_within("result.content[0].text.json()", path),
        };
        match at {
            Some(at) => {
                let own = template_name(&name.value);
                names.insert(own.clone(), at.into());
                captured.insert(name.value.clone(), own);
            }
            None => left_out.push(LeftOut::new("capture", path.span, "the path is more than names and indexes")),
        }
    }
    if !names.is_empty() {
        step.insert("capture".to_owned(), names.into());
    }
    step.insert("expect".to_owned(), json!([any_result()]));
    step.into()
}

/// What the blocks of an assertion can name.
struct BlockContext<'a> {
    captured: &'a Captured,
}

impl BlockContext<'_> {
    fn fill(&self, value: Value) -> Value {
        let expression = |name: &str| {
            if name == "fixture" { Some("fixture".to_owned()) } else { self.captured.get(name).cloned() }
        };
        MARKS.fill_value(value, &expression)
    }

    fn fill_text(&self, node: &Node) -> Value {
        self.fill(node.to_text().into())
    }

    /// `call` and `args` of a block with a tool.
    fn called(&self, node: &Node) -> Map<String, Value> {
        let mut step = Map::new();
        let tool = node.get("tool").map(Node::to_text).unwrap_or_default();
        step.insert("call".to_owned(), literal_text(&tool).into());
        let arguments = node.get("args").filter(|args| !args.entries().is_empty());
        if let Some(arguments) = arguments {
            step.insert("args".to_owned(), self.fill(arguments.to_json()));
        }
        step
    }

    fn call(&self, block: &Node, others: &[&str], test: &mut Map<String, Value>, left_out: &mut Vec<LeftOut>) {
        let known: Vec<&str> = ["tool", "args", "expect"].iter().chain(others).copied().collect();
        left_out.extend(unknown_members(block, &known, "this block"));
        test.extend(self.called(block));
        let expect = block.get("expect");
        if block.get("capture_progress").and_then(Node::flag) == Some(true) {
            test.insert("progress".to_owned(), true.into());
            test.insert("expect".to_owned(), expectations(expect, Subject::Tool, left_out).into());
            return;
        }
        let mut expect_left_out = Vec::new();
        let mut made = expectations(expect, Subject::Tool, &mut expect_left_out);
        if let Some(progress) = expect.and_then(|expect| expect.get("min_progress")) {
            made.retain(|item| item.get("notifications").is_none());
            let why = "mcp-assert counts progress only with `capture_progress: true`";
            expect_left_out.push(LeftOut::new("min_progress", progress.span, why));
        }
        left_out.extend(expect_left_out);
        test.insert("expect".to_owned(), made.into());
    }

    fn resources(&self, block: &Node, test: &mut Map<String, Value>, left_out: &mut Vec<LeftOut>) {
        let known = ["list", "read", "expect", "subscribe", "unsubscribe", "expect_notification"];
        left_out.extend(unknown_members(block, &known, "`assert_resources`"));
        let mut step = Map::new();
        let read = block.get("read").filter(|read| !read.to_text().is_empty());
        let subject = match (block.get("list").filter(|list| list.kind() != "nothing"), read) {
            (Some(list), _) => {
                step.extend(self.listed("resources", list));
                Subject::Result
            }
            (None, Some(read)) => {
                step.insert("read".to_owned(), self.fill_text(read));
                Subject::Resource
            }
            (None, None) => {
                let why = "mcp-assert fails without `list` or `read`";
                left_out.push(LeftOut::new("assert_resources", block.span, why));
                step.insert("list".to_owned(), "resources".into());
                Subject::Result
            }
        };
        step.insert("expect".to_owned(), expectations(block.get("expect"), subject, left_out).into());
        let Some(subscribed) = block.get("subscribe") else {
            let unused = ["unsubscribe", "expect_notification"];
            for (key, value) in block.entries().iter().filter(|(key, _)| unused.contains(&key.value.as_str())) {
                left_out.push(LeftOut::new(key.value.clone(), value.span, "there is no `subscribe`"));
            }
            test.extend(step);
            return;
        };
        let is_expected = block.get("expect_notification").and_then(Node::flag) == Some(true);
        let update = json!([{ "notifications": { "method": "notifications/resources/updated" } }]);
        test.insert("listen".to_owned(), json!({ "resources": [self.fill_text(subscribed)], "during": [step] }));
        test.insert("expect".to_owned(), if is_expected { update } else { json!([]) });
    }

    fn listed(&self, list: &str, node: &Node) -> Map<String, Value> {
        let cursor = node.get("cursor").filter(|cursor| !cursor.to_text().is_empty());
        let step = match cursor {
            Some(cursor) => {
                json!({ "request": format!("{list}/list"), "params": { "cursor": self.fill_text(cursor) } })
            }
            None => json!({ "list": list }),
        };
        step.as_object().cloned().unwrap_or_default()
    }

    fn prompts(&self, block: &Node, test: &mut Map<String, Value>, left_out: &mut Vec<LeftOut>) {
        left_out.extend(unknown_members(block, &["list", "get", "expect"], "`assert_prompts`"));
        let list = block.get("list").filter(|list| list.kind() != "nothing");
        let subject = match (list, block.get("get")) {
            (None, Some(get)) => {
                left_out.extend(unknown_members(get, &["name", "arguments"], "`get`"));
                test.insert(
                    "prompt".to_owned(),
                    get.get("name").map_or_else(|| "".into(), |name| self.fill_text(name)),
                );
                let arguments = get.get("arguments").map(Node::entries).unwrap_or_default();
                if !arguments.is_empty() {
                    let arguments =
                        arguments.iter().map(|(name, value)| (literal_text(&name.value), self.fill_text(value)));
                    test.insert("args".to_owned(), arguments.collect::<Map<_, _>>().into());
                }
                Subject::Prompt
            }
            (list, _) => {
                test.extend(self.listed("prompts", list.unwrap_or(block)));
                Subject::Result
            }
        };
        test.insert("expect".to_owned(), expectations(block.get("expect"), subject, left_out).into());
    }

    fn logging(&self, block: &Node, test: &mut Map<String, Value>, left_out: &mut Vec<LeftOut>) {
        left_out.extend(unknown_members(block, &["set_level", "tool", "args", "expect"], "`assert_logging`"));
        let level = block.get("set_level").map(Node::to_text).unwrap_or_default();
        let mut steps = vec![json!({
            "request": "logging/setLevel", "params": { "level": literal_text(&level) }, "expect": [any_result()],
        })];
        let mut expect = vec![any_result()];
        for (key, value) in block.get("expect").map(Node::entries).unwrap_or_default() {
            match (key.value.as_str(), value.whole(), texts(value)) {
                ("min_messages", Some(0), _) => {}
                ("min_messages", Some(count), _) => expect.push(messages(json!({ "count": { "min": count } }))),
                ("contains_level", _, Ok(levels)) => {
                    let with = |level: &String| {
                        messages(json!({ "some": { "at": "params.level", "equals": literal_text(level) } }))
                    };
                    expect.extend(levels.iter().map(with));
                }
                ("contains_data", _, Ok(parts)) => {
                    let with = |part: &String| {
                        messages(json!({ "some": { "at": "params.data", "contains": literal_text(part) } }))
                    };
                    expect.extend(parts.iter().map(with));
                }
                _ => {
                    left_out.push(LeftOut::new(
                        key.value.clone(),
                        key.span,
                        "`assert_logging` has no such expectation",
                    ));
                }
            }
        }
        if block.get("tool").is_some() {
            let mut call = self.called(block);
            call.insert("expect".to_owned(), expect.into());
            steps.push(call.into());
        } else if let Some(first) = steps.first_mut() {
            first["expect"] = expect.into();
        }
        test.insert("steps".to_owned(), steps.into());
    }

    fn notifications(&self, block: &Node, test: &mut Map<String, Value>, left_out: &mut Vec<LeftOut>) {
        left_out.extend(unknown_members(block, &["tool", "args", "expect"], "`assert_notifications`"));
        test.extend(self.called(block));
        let mut expect = vec![any_result()];
        let of = |matchers: Value| json!({ "notifications": matchers });
        for (key, value) in block.get("expect").map(Node::entries).unwrap_or_default() {
            match (key.value.as_str(), value.whole(), texts(value)) {
                ("min_count", Some(0), _) => {}
                ("min_count", Some(count), _) => expect.push(of(json!({ "count": { "min": count } }))),
                ("max_count", Some(0), _) => expect.push(of(json!({ "count": 0 }))),
                ("max_count", Some(count), _) => expect.push(of(json!({ "count": { "min": 0, "max": count } }))),
                ("methods", _, Ok(methods)) => {
                    expect.extend(methods.iter().map(|method| of(json!({ "method": literal_text(method) }))));
                }
                ("not_methods", _, Ok(methods)) => {
                    expect
                        .extend(methods.iter().map(|method| of(json!({ "method": literal_text(method), "count": 0 }))));
                }
                ("contains_data", _, Ok(parts)) => {
                    expect.extend(parts.iter().map(|part| json!({ "assert": in_parameters(part) })));
                }
                ("not_contains_data", _, Ok(parts)) => {
                    let without = |part: &String| json!({ "assert": format!("not ({})", in_parameters(part)) });
                    expect.extend(parts.iter().map(without));
                }
                _ => {
                    let why = "`assert_notifications` has no such expectation";
                    left_out.push(LeftOut::new(key.value.clone(), key.span, why));
                }
            }
        }
        test.insert("expect".to_owned(), expect.into());
    }
}

/// An expectation of log messages.
fn messages(matchers: Value) -> Value {
    let mut notifications = json!({ "method": "notifications/message" });
    if let (Some(all), Value::Object(matchers)) = (notifications.as_object_mut(), matchers) {
        all.extend(matchers);
    }
    json!({ "notifications": notifications })
}

/// An expression for a part of the parameters of notifications, as JSON.
fn in_parameters(part: &str) -> String {
    let part = Value::from(part.replace('\'', "\\u0027"));
    format!("{part} in (notifications | map(attribute='params') | list | tojson)")
}

fn completion(block: &Node, test: &mut Map<String, Value>, left_out: &mut Vec<LeftOut>) {
    left_out.extend(unknown_members(block, &["ref", "argument", "expect"], "`assert_completion`"));
    let of = |node: Option<&Node>, key: &str| {
        literal_text(&node.and_then(|node| node.get(key)).map(Node::to_text).unwrap_or_default())
    };
    let (reference, argument) = (block.get("ref"), block.get("argument"));
    let kind = of(reference, "type");
    let names = if kind == "ref/resource" { "uri" } else { "name" };
    let complete = json!({
        "ref": { "type": kind, (names): of(reference, "name") },
        "argument": { "name": of(argument, "name"), "value": of(argument, "value") },
    });
    test.insert("complete".to_owned(), complete);
    test.insert("expect".to_owned(), expectations(block.get("expect"), Subject::Result, left_out).into());
}
