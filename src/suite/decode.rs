//! From checked nodes to the model; collects every mistake that the grammar cannot see.

use std::collections::BTreeSet;
use std::time::Duration;

use super::grammar::{BLOCKS, BlockKind};
use super::model::{
    Action, Answers, Block, ForEach, Loop, NegativeCheck, NegativePath, Protocol, RestartPolicy, RunOptions, Server,
    Step, Target, Test, ToolSelection,
};
use crate::matching::{EXPECTATION, Expectation, Path};
use crate::source::shape::{self, Shape};
use crate::source::{Diagnostic, Located, Node, Span, Value, did_you_mean, parse_duration};
use crate::wire::{ListKind, Revision};

/// The keys of which a step has exactly one.
const ACTIONS: [&str; 12] =
    ["call", "read", "prompt", "complete", "list", "request", "notify", "wait", "restart", "cancel", "send", "http"];

/// Keys of a step that this version cannot run.
pub(super) const UNAVAILABLE_STEP_KEYS: [&str; 3] = ["cancel", "send", "http"];

/// Keys of a test that this version cannot run.
pub(super) const UNAVAILABLE_TEST_KEYS: [&str; 2] = ["snapshot", "inject"];

pub(super) fn servers(root: &Node, folder: &std::path::Path, found: &mut Vec<Diagnostic>) -> Vec<(String, Server)> {
    let single = root.entries().iter().filter(|(key, _)| key.value == "server");
    let many = root.get("servers").map(Node::entries).unwrap_or_default().iter();
    if let (Some((key, _)), Some(servers)) = (single.clone().next(), root.get("servers")) {
        found.push(
            Diagnostic::error("two-ways", "a suite has either `server` or `servers`", key.span)
                .with_other(servers.span, "the other one is here"),
        );
    }
    single.chain(many).filter_map(|(key, node)| Some((key.value.clone(), server(node, folder, found)?))).collect()
}

fn server(node: &Node, folder: &std::path::Path, found: &mut Vec<Diagnostic>) -> Option<Server> {
    let ways: Vec<&str> = ["command", "url", "builtin"].into_iter().filter(|key| node.get(key).is_some()).collect();
    let target = match ways.as_slice() {
        ["command"] => Target::Command(command_words(node.get("command")?, found)?),
        ["url"] => Target::Url(node.get("url")?.clone()),
        ["builtin"] => Target::Builtin(node.get("builtin")?.text()?.to_owned()),
        [] => {
            found.push(
                Diagnostic::error("missing-key", "a server needs `command`, `url` or `builtin`", node.span)
                    .with_help("for example `command: [node, dist/index.js]`".to_owned()),
            );
            return None;
        }
        _ => {
            let named = ways.iter().map(|way| format!("`{way}`")).collect::<Vec<_>>().join(" and ");
            found.push(Diagnostic::error(
                "two-ways",
                format!("a server has one way to it, this one has {named}"),
                node.span,
            ));
            return None;
        }
    };
    let env = node.get("env").map(|env| env.entries().to_vec()).unwrap_or_default();
    let secrets = texts(node.get("secrets"));
    for secret in secrets.iter().filter(|secret| !env.iter().any(|(name, _)| name.value == secret.value)) {
        found.push(
            Diagnostic::error(
                "unknown-name",
                format!("`env` has no variable `{}` to keep secret", secret.value),
                secret.span,
            )
            .with_help(did_you_mean(&secret.value, env.iter().map(|(name, _)| name.value.as_str()))),
        );
    }
    Some(Server {
        span: node.span,
        target,
        env,
        inherit_env: flag(node, "inherit_env"),
        secrets: secrets.into_iter().map(|secret| secret.value).collect(),
        cwd: node.get("cwd").cloned(),
        folder: folder.to_owned(),
        protocol: protocols(node.get("protocol"), found),
    })
}

fn command_words(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Vec<Node>> {
    let words = match node.text() {
        None => node.items().to_vec(),
        Some(text) => {
            let Ok(words) = shell_words::split(text) else {
                found.push(Diagnostic::error("bad-command", "a quote in the command is never closed", node.span));
                return None;
            };
            words.into_iter().map(|word| Node { value: Value::Text(word), span: node.span }).collect()
        }
    };
    if words.is_empty() {
        found.push(Diagnostic::error("bad-command", "the command is empty", node.span));
        return None;
    }
    Some(words)
}

fn protocols(node: Option<&Node>, found: &mut Vec<Diagnostic>) -> Vec<Protocol> {
    let Some(node) = node else { return vec![Protocol::Auto] };
    let words = if node.text().is_some() { std::slice::from_ref(node) } else { node.items() };
    let mut protocols = Vec::new();
    for word in words {
        let Some(text) = word.text() else { continue };
        let protocol = Revision::parse(text).map_or(Protocol::Auto, Protocol::Fixed);
        if protocols.contains(&protocol) {
            found.push(Diagnostic::error(
                "duplicate-name",
                format!("the revision `{text}` is listed twice"),
                word.span,
            ));
        } else {
            protocols.push(protocol);
        }
    }
    if protocols.is_empty() {
        found.push(Diagnostic::error("empty-list", "the list of revisions is empty", node.span));
    }
    protocols
}

pub(super) fn run_options(node: Option<&Node>, found: &mut Vec<Diagnostic>) -> RunOptions {
    let Some(node) = node else { return RunOptions::default() };
    if node.get("parallel").is_some_and(|parallel| parallel.whole() == Some(0)) {
        found.push(Diagnostic::error(
            "bad-number",
            "`parallel` must be at least 1",
            node.get("parallel").map_or(node.span, |n| n.span),
        ));
    }
    RunOptions {
        restart_policy: match node.get("restart_policy").and_then(Node::text) {
            Some("per_test") => RestartPolicy::PerTest,
            Some("never") => RestartPolicy::Never,
            _ => RestartPolicy::PerSuite,
        },
        parallel: node.get("parallel").and_then(Node::whole).and_then(|n| usize::try_from(n).ok()),
        timeout: duration(node, "timeout"),
        request_timeout: duration(node, "request_timeout"),
        start_timeout: duration(node, "start_timeout"),
        retries: retries(node).unwrap_or(0),
    }
}

pub(super) fn answers(node: Option<&Node>) -> Answers {
    let get = |key: &str| node.and_then(|node| node.get(key)).cloned();
    Answers { sampling: get("sampling"), elicitation: get("elicitation"), roots: get("roots") }
}

pub(super) fn steps(node: Option<&Node>, found: &mut Vec<Diagnostic>) -> Vec<Step> {
    node.map(Node::items).unwrap_or_default().iter().filter_map(|item| step(item, found)).collect()
}

fn step(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Step> {
    let keys: Vec<&str> = ACTIONS.into_iter().filter(|key| node.get(key).is_some()).collect();
    let [key] = keys.as_slice() else {
        let problem = if keys.is_empty() {
            Diagnostic::error("missing-action", "the step does nothing", node.span)
                .with_help(format!("say what it does with one of {}", ACTIONS.map(|key| format!("`{key}`")).join(", ")))
        } else {
            let named = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" and ");
            Diagnostic::error("two-ways", format!("a step does one thing, this one has {named}"), node.span)
        };
        found.push(problem);
        return None;
    };
    let action = action(node, key)?;
    Some(Step {
        span: node.entries().iter().find(|(name, _)| name.value == *key).map_or(node.span, |(name, _)| name.span),
        name: node.get("name").and_then(Node::text).map(str::to_owned),
        action,
        expect: node
            .get("expect")
            .map(Node::items)
            .unwrap_or_default()
            .iter()
            .filter_map(|item| expectation(item, found))
            .collect(),
        expects: node.get("expect").is_some(),
        capture: captures(node.get("capture"), found),
        timeout: duration(node, "timeout"),
        progress: flag(node, "progress"),
    })
}

fn expectation(item: &Node, found: &mut Vec<Diagnostic>) -> Option<Expectation> {
    let mut own = Vec::new();
    let built = Expectation::build(item, &mut own);
    // A misspelt matcher was reported as such; that it checks nothing is no second mistake.
    let is_empty = |one: &Diagnostic| one.code == "empty-expectation";
    if own.iter().any(is_empty) && !shape::check(item, &Shape::Object(&EXPECTATION)).is_empty() {
        own.retain(|one| !is_empty(one));
    }
    found.extend(own);
    built
}

fn action(node: &Node, key: &str) -> Option<Action> {
    let value = node.get(key)?.clone();
    let args = node.get("args").cloned();
    let params = node.get("params").cloned();
    Some(match key {
        "call" => Action::Call { tool: value, args },
        "read" => Action::Read { uri: value },
        "prompt" => Action::Prompt { name: value, args },
        "complete" => Action::Complete { params: value },
        "list" => Action::List(ListKind::parse(value.text()?)?),
        "request" => Action::Request { method: value, params },
        "notify" => Action::Notify { method: value, params },
        "wait" => Action::Wait(parse_duration(value.text()?)?),
        "restart" => Action::Restart,
        _ => Action::Unavailable(UNAVAILABLE_STEP_KEYS.into_iter().find(|known| *known == key)?),
    })
}

fn captures(node: Option<&Node>, found: &mut Vec<Diagnostic>) -> Vec<(Located<String>, Path)> {
    let mut captures = Vec::new();
    for (name, path) in node.map(Node::entries).unwrap_or_default() {
        match Path::parse(path.text().unwrap_or_default()) {
            Ok(path) => captures.push((name.clone(), path)),
            Err(reason) => found.push(Diagnostic::error("bad-path", reason, path.span)),
        }
    }
    captures
}

/// Reads a test but for its rows, which may come from a file.
pub(super) fn test(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Test> {
    let name = node.get("name")?.located_text()?;
    let single = node.entries().iter().find(|(key, _)| ACTIONS.contains(&key.value.as_str()));
    let steps =
        match (node.entries().iter().find(|(key, _)| key.value == "steps"), single) {
            (Some((steps, _)), Some((action, _))) => {
                found.push(
                    Diagnostic::error(
                        "two-ways",
                        format!("a test has either `steps` or a single `{}`", action.value),
                        action.span,
                    )
                    .with_other(steps.span, "the steps are here"),
                );
                return None;
            }
            (Some((_, list)), None) => {
                for stray in node.entries().iter().filter(|(key, _)| {
                    ["expect", "args", "capture", "params", "progress"].contains(&key.value.as_str())
                }) {
                    found.push(Diagnostic::error(
                        "misplaced-key",
                        format!("`{}` belongs to a step, and this test has `steps`", stray.0.value),
                        stray.0.span,
                    ));
                }
                steps(Some(list), found)
            }
            (None, _) => step(node, found).map(|step| vec![Step { name: None, ..step }]).unwrap_or_default(),
        };
    Some(Test {
        name,
        span: node.span,
        tags: texts(node.get("tags")).into_iter().map(|tag| tag.value).collect(),
        skip: skip_reason(node.get("skip")),
        only: node.get("only").filter(|only| only.flag() == Some(true)).map(|only| only.span),
        server: node.get("server").and_then(Node::located_text),
        setup: self::steps(node.get("setup"), found),
        steps,
        teardown: self::steps(node.get("teardown"), found),
        rows: Vec::new(),
        for_each: for_each(node, found),
        negative_path: node.get("negative_path").and_then(|value| negative_path(value, ToolSelection::All)),
        output_schema: node.get("output_schema").filter(|value| value.flag() == Some(true)).map(|value| value.span),
        answers: answers(node.get("answers")),
        judges: texts(node.get("judges")),
        retries: retries(node),
        unavailable: UNAVAILABLE_TEST_KEYS.into_iter().find(|key| node.get(key).is_some()),
        injects: node.get("inject").is_some_and(|inject| !inject.items().is_empty()),
    })
}

/// Why a test, agent or other item is not run; `None` where it is, since `skip: false` is no reason.
pub fn skip_reason(node: Option<&Node>) -> Option<String> {
    let node = node?;
    match node.flag() {
        Some(true) => Some("`skip: true`".to_owned()),
        Some(false) => None,
        None => node.text().map(str::to_owned),
    }
}

fn for_each(node: &Node, found: &mut Vec<Diagnostic>) -> Option<ForEach> {
    let filter = node.get("where").and_then(Node::located_text);
    if let Some(filter) = &filter {
        if let Some(reason) = crate::source::template::expression_problem(&filter.value) {
            found.push(Diagnostic::error("bad-expression", format!("the expression is wrong: {reason}"), filter.span));
        }
        if node.get("for_each").is_none() {
            found.push(Diagnostic::error(
                "misplaced-key",
                "`where` picks among `for_each`, and there is none",
                filter.span,
            ));
        }
    }
    let over = match node.get("for_each")?.text()? {
        "tools" => Loop::Tools,
        "resources" => Loop::Resources,
        _ => Loop::Prompts,
    };
    Some(ForEach { over, filter })
}

pub(super) fn negative_path(node: &Node, default: ToolSelection) -> Option<NegativePath> {
    if node.flag() == Some(false) {
        return None;
    }
    let checks: BTreeSet<NegativeCheck> = match node.get("checks") {
        None => [
            NegativeCheck::UnknownTool,
            NegativeCheck::UnknownMethod,
            NegativeCheck::MissingRequired,
            NegativeCheck::WrongType,
        ]
        .into(),
        Some(list) => list.items().iter().filter_map(|item| negative_check(item.text()?)).collect(),
    };
    let tools = node.get("tools").map_or(default, |tools| tool_selection(Some(tools)));
    Some(NegativePath { span: node.span, tools, checks })
}

/// The refusals that a `negative_path:` block asks for.
pub fn block_negative_path(block: &Block) -> Option<NegativePath> {
    negative_path(&block.settings, block.tools.clone())
}

fn negative_check(word: &str) -> Option<NegativeCheck> {
    Some(match word {
        "unknown_tool" => NegativeCheck::UnknownTool,
        "unknown_method" => NegativeCheck::UnknownMethod,
        "missing_required" => NegativeCheck::MissingRequired,
        "wrong_type" => NegativeCheck::WrongType,
        "out_of_range" => NegativeCheck::OutOfRange,
        "malformed_envelope" => NegativeCheck::MalformedEnvelope,
        _ => return None,
    })
}

fn tool_selection(node: Option<&Node>) -> ToolSelection {
    match node {
        Some(Node { value: Value::Text(text), .. }) if text == "*" => ToolSelection::All,
        Some(node @ Node { value: Value::Text(_), .. }) => {
            ToolSelection::Named(node.located_text().into_iter().collect())
        }
        other => ToolSelection::Named(texts(other)),
    }
}

/// The blocks that are written, in the order in which they run.
pub(super) fn blocks(root: &Node) -> Vec<Block> {
    BLOCKS
        .iter()
        .filter_map(|entry| {
            let (key, settings) = root.entries().iter().find(|(key, _)| key.value == entry.key)?;
            let tools = match (entry.kind, settings.get("tools")) {
                // These work on the server as a whole and need no selection.
                (BlockKind::Compliance | BlockKind::Security | BlockKind::Fuzz, None) => ToolSelection::All,
                (_, tools) => tool_selection(tools),
            };
            Some(Block { kind: entry.kind, span: key.span, settings: settings.clone(), tools })
        })
        .collect()
}

pub(super) fn texts(node: Option<&Node>) -> Vec<Located<String>> {
    node.map(Node::items).unwrap_or_default().iter().filter_map(Node::located_text).collect()
}

fn flag(node: &Node, key: &str) -> bool {
    node.get(key).and_then(Node::flag).unwrap_or(false)
}

fn duration(node: &Node, key: &str) -> Option<Duration> {
    node.get(key).and_then(Node::text).and_then(parse_duration)
}

fn retries(node: &Node) -> Option<u32> {
    node.get("retries").and_then(Node::whole).and_then(|n| u32::try_from(n).ok())
}

/// The span of a key of a mapping.
pub(super) fn key_span(node: &Node, key: &str) -> Span {
    node.entries().iter().find(|(name, _)| name.value == key).map_or(node.span, |(name, _)| name.span)
}
