//! Servers, run options and answers.

use std::path::Path;

use super::{auth, duration, flag, retries, texts};
use crate::source::template::is_template;
use crate::source::{Diagnostic, Node, Span, Value, did_you_mean};
use crate::suite::grammar::SERVER;
use crate::suite::model::{
    Answers, Http, HttpFlavour, MOST_PARALLEL, Order, Protocol, RestartPolicy, RunOptions, Server, Target,
};
use crate::wire::{Revision, address};

pub(in crate::suite) fn servers(root: &Node, folder: &Path, found: &mut Vec<Diagnostic>) -> Vec<(String, Server)> {
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

fn server(node: &Node, folder: &Path, found: &mut Vec<Diagnostic>) -> Option<Server> {
    let ways: Vec<&str> = ["command", "url", "builtin"].into_iter().filter(|key| node.get(key).is_some()).collect();
    let target = match ways.as_slice() {
        ["command"] => Target::Command(command_words(node.get("command")?, found)?),
        ["url"] => Target::Url(Box::new(http(node, None, found)?)),
        ["command", "url"] => {
            let command = command_words(node.get("command")?, found)?;
            Target::Url(Box::new(http(node, Some(command), found)?))
        }
        ["builtin"] => Target::Builtin(node.get("builtin")?.text()?.to_owned()),
        // A misspelt one was reported as such.
        [] if node.entries().iter().any(|(name, _)| SERVER.all_keys().all(|key| key.name != name.value)) => {
            return None;
        }
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
    useless_keys(node, found);
    let env = node.get("env").map(|env| env.entries().to_vec()).unwrap_or_default();
    let secrets = texts(node.get("secrets"));
    let inherit_env = flag(node, "inherit_env");
    // A server that inherits the environment may have secrets that the suite does not name otherwise.
    let is_known = |secret: &str| inherit_env || env.iter().any(|(name, _)| name.value == secret);
    for secret in secrets.iter().filter(|secret| !is_known(&secret.value)) {
        found.push(
            Diagnostic::error(
                "unknown-name",
                format!("`env` has no variable `{}` to keep secret", secret.value),
                secret.span,
            )
            .with_help(did_you_mean(&secret.value, env.iter().map(|(name, _)| name.value.as_str()))),
        );
    }
    // What is built in keeps its data in memory, for one run.
    let scratch = flag(node, "scratch") || matches!(target, Target::Builtin(_));
    Some(Server {
        span: node.span,
        target,
        env,
        inherit_env,
        secrets: secrets.into_iter().map(|secret| secret.value).collect(),
        cwd: node.get("cwd").cloned(),
        folder: folder.to_owned(),
        scratch,
        protocol: protocols(node.get("protocol"), found),
    })
}

/// An address that is known before anything is filled in, but for a port, can be looked at.
fn literal_address(url: &Node, found: &mut Vec<Diagnostic>) {
    let text = url.text().unwrap_or_default().replace("{{ port }}", "1");
    if is_template(&text) {
        return;
    }
    if let Err(reason) = address(text.trim()) {
        let written = url.text().unwrap_or_default();
        found.push(Diagnostic::error("bad-address", format!("`{written}` {reason}"), url.span));
    }
}

fn http(node: &Node, command: Option<Vec<Node>>, found: &mut Vec<Diagnostic>) -> Option<Http> {
    let url = node.get("url")?;
    literal_address(url, found);
    Some(Http {
        url: url.clone(),
        command,
        headers: node.get("headers").map(|headers| headers.entries().to_vec()).unwrap_or_default(),
        auth: auth::auth(node, found),
        flavour: match node.get("transport").and_then(Node::text) {
            Some("streamable-http") => HttpFlavour::Streamable,
            Some("sse") => HttpFlavour::OldSse,
            _ => HttpFlavour::Auto,
        },
        ca: node.get("tls").and_then(|tls| tls.get("ca")).cloned(),
    })
}

/// Keys that would be ignored, since what they are about is missing.
fn useless_keys(node: &Node, found: &mut Vec<Diagnostic>) {
    let needs = |key: &str| match key {
        "auth" | "headers" | "transport" | "tls" => Some("url"),
        // A built-in server may take the place of a command for a while.
        "env" | "inherit_env" | "cwd" if node.get("builtin").is_none() => Some("command"),
        _ => None,
    };
    for (key, _) in node.entries() {
        let Some(needed) = needs(&key.value).filter(|needed| node.get(needed).is_none()) else { continue };
        found.push(
            Diagnostic::error("useless-key", format!("`{}` means nothing without `{needed}`", key.value), key.span)
                .with_help(format!("write `{needed}`, or take `{}` out", key.value)),
        );
    }
}

impl Server {
    /// A server that no suite names: whoever runs the suite has it.
    pub fn given(span: Span) -> Self {
        Self {
            span,
            target: Target::Builtin("given".to_owned()),
            env: Vec::new(),
            inherit_env: false,
            secrets: Vec::new(),
            cwd: None,
            folder: std::path::PathBuf::new(),
            scratch: false,
            protocol: vec![Protocol::Auto],
        }
    }
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

pub(in crate::suite) fn run_options(node: Option<&Node>, found: &mut Vec<Diagnostic>) -> RunOptions {
    let Some(node) = node else { return RunOptions::default() };
    if let Some(parallel) = node.get("parallel") {
        let wrong = match parallel.whole() {
            Some(0) => Some("`parallel` must be at least 1".to_owned()),
            Some(many) if many > MOST_PARALLEL as u64 => Some(format!("`parallel` must be at most {MOST_PARALLEL}")),
            _ => None,
        };
        found.extend(wrong.map(|message| Diagnostic::error("bad-number", message, parallel.span)));
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
        order: match node.get("order").and_then(Node::text) {
            Some("shuffled") => Order::Shuffled,
            _ => Order::Declared,
        },
    }
}

pub(in crate::suite) fn answers(node: Option<&Node>) -> Answers {
    let get = |key: &str| node.and_then(|node| node.get(key)).cloned();
    Answers { sampling: get("sampling"), elicitation: get("elicitation"), roots: get("roots") }
}
