//! The server of an assertion, and the answers of its client.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

use crate::source::Node;
use crate::source::template::literal_text;

use super::super::left_out::{LeftOut, unknown_members};
use super::super::references::{literal_value, optional_variable};
use super::MARKS;

/// A variable of the environment within a value: `$NAME` or `${NAME}`.
static VARIABLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)").ok());

const OF_SERVER: [&str; 8] = ["command", "args", "env", "transport", "url", "headers", "docker", "client_capabilities"];

/// The settings of a server; `None` where it has neither a command nor an address.
pub(crate) fn server(node: &Node, left_out: &mut Vec<LeftOut>) -> Option<Value> {
    left_out.extend(unknown_members(node, &OF_SERVER, "a server of mcp-assert"));
    let transport = node.get("transport").and_then(Node::text).unwrap_or_default().to_lowercase();
    if let Some(url) = node.get("url").and_then(Node::text)
        && transport != "stdio"
        && !(transport.is_empty() && node.get("command").is_some())
    {
        return Some(at_address(node, url, &transport, left_out));
    }
    if !["", "stdio"].contains(&transport.as_str()) {
        left_out.extend(node.get("transport").map(|at| LeftOut::new("transport", at.span, "there is no `url` for it")));
    }
    let command = node.get("command").and_then(Node::text).filter(|command| !command.is_empty())?;
    let program = std::iter::once(Value::from(literal_text(command)));
    let arguments = node.get("args").map(Node::items).unwrap_or_default();
    let mut command: Vec<Value> =
        program.chain(arguments.iter().map(|argument| with_fixture(&argument.to_text()))).collect();
    let env = variables(node.get("env"));
    if let Some(image) = node.get("docker").and_then(Node::text) {
        command = in_container(image, command, &env);
        return Some(json!({ "command": command }));
    }
    let mut server = json!({ "command": command });
    if !env.is_empty() {
        server["env"] = env.into();
    }
    Some(server)
}

/// Words of a command that say how a program is started, and not which one.
const LAUNCHERS: [&str; 16] = [
    "npx", "bunx", "pnpm", "uvx", "uv", "pipx", "node", "bun", "deno", "python", "python3", "go", "dotnet", "docker",
    "java", "run",
];

/// A name for a server after what its command starts: the last part of a path or package, without version and ending.
pub(crate) fn server_name(server: &Value) -> String {
    let words = server["command"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let is_program = |word: &&str| !word.starts_with('-') && !LAUNCHERS.contains(word) && !word.contains("{{");
    let named = words.clone().find(is_program).or_else(|| words.clone().next()).unwrap_or("server");
    let part = named.rsplit('/').find(|part| !part.is_empty()).unwrap_or(named);
    let part = part.split('@').find(|part| !part.is_empty()).unwrap_or(part);
    let stem =
        [".js", ".mjs", ".ts", ".py", ".sh", ".jar", ".csproj"].iter().find_map(|ending| part.strip_suffix(ending));
    let letters = stem
        .unwrap_or(part)
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' });
    let name: String = letters.collect();
    if name.starts_with(|first: char| first.is_ascii_alphabetic()) { name } else { format!("server_{name}") }
}

fn at_address(node: &Node, url: &str, transport: &str, left_out: &mut Vec<LeftOut>) -> Value {
    let mut server = json!({ "url": literal_text(url) });
    match transport {
        "sse" => server["transport"] = "sse".into(),
        "http" => server["transport"] = "streamable-http".into(),
        _ => {}
    }
    let headers = variables(node.get("headers"));
    if !headers.is_empty() {
        server["headers"] = headers.into();
    }
    for key in ["command", "args", "env", "docker"] {
        let unused = node.get(key).map(|at| LeftOut::new(key, at.span, "the server is reached by its `url`"));
        left_out.extend(unused);
    }
    server
}

/// The command that runs a server in a container of its own.
fn in_container(image: &str, command: Vec<Value>, env: &Map<String, Value>) -> Vec<Value> {
    let mut whole: Vec<Value> = ["docker", "run", "--rm", "-i"].map(Value::from).to_vec();
    if command.iter().any(|word| word.as_str().is_some_and(|word| word.contains("{{ fixture }}"))) {
        whole.extend(["-v".into(), "{{ fixture }}:{{ fixture }}".into()]);
    }
    for (name, value) in env {
        whole.extend(["-e".into(), format!("{name}={}", value.as_str().unwrap_or_default()).into()]);
    }
    whole.push(literal_text(image).into());
    whole.extend(command);
    whole
}

/// A text in which the path of the fixture is filled in.
pub(crate) fn with_fixture(text: &str) -> Value {
    MARKS.fill(text, &|name| (name == "fixture").then(|| "fixture".to_owned())).into()
}

/// Values that may name variables of the environment.
fn variables(node: Option<&Node>) -> Map<String, Value> {
    let entries = node.map(Node::entries).unwrap_or_default();
    entries.iter().map(|(name, value)| (literal_text(&name.value), with_variables(&value.to_text()).into())).collect()
}

fn with_variables(text: &str) -> String {
    let Some(variable) = VARIABLE.as_ref() else { return literal_text(text) };
    let mut whole = String::new();
    let mut at = 0;
    for found in variable.captures_iter(text) {
        let name = |group: &Captures<'_>| group.get(1).or_else(|| group.get(2)).map(|name| name.as_str().to_owned());
        let (Some(all), Some(name)) = (found.get(0), name(&found)) else { continue };
        whole += &literal_text(&text[at..all.start()]);
        whole.extend(["{{ ", &optional_variable(&name), " }}"]);
        at = all.end();
    }
    whole + &literal_text(&text[at..])
}

/// The answers of the client to requests of the server.
pub(crate) fn answers(capabilities: &Node, left_out: &mut Vec<LeftOut>) -> Option<Value> {
    left_out.extend(unknown_members(capabilities, &["roots", "sampling", "elicitation"], "`client_capabilities`"));
    let mut answers = Map::new();
    if let Some(sampling) = capabilities.get("sampling") {
        left_out.extend(unknown_members(sampling, &["text", "model", "stop_reason"], "`sampling`"));
        let text = sampling.get("text").map(Node::to_text).unwrap_or_default();
        answers.insert("sampling".to_owned(), sampled(&text, sampling.get("model"), sampling.get("stop_reason")));
    }
    if let Some(elicitation) = capabilities.get("elicitation") {
        answers.insert("elicitation".to_owned(), elicited(elicitation));
    }
    let roots: Vec<Value> = capabilities.get("roots").map(Node::items).unwrap_or_default().iter().map(root).collect();
    if !roots.is_empty() {
        answers.insert("roots".to_owned(), roots.into());
    }
    (!answers.is_empty()).then(|| answers.into())
}

/// The answer of a model.
pub(crate) fn sampled(text: &str, model: Option<&Node>, stop_reason: Option<&Node>) -> Value {
    let text = literal_text(text);
    if model.is_none() && stop_reason.is_none() {
        return text.into();
    }
    json!({
        "role": "assistant",
        "content": { "type": "text", "text": text },
        "model": literal_text(&model.map_or_else(|| "mock".to_owned(), Node::to_text)),
        "stopReason": literal_text(&stop_reason.map_or_else(|| "end_turn".to_owned(), Node::to_text)),
    })
}

/// The answer of a user: an action, and a content that is either named or everything else.
fn elicited(node: &Node) -> Value {
    let value = literal_value(node.to_json());
    let action = match value["action"].as_str() {
        Some(action @ ("decline" | "cancel")) => return json!({ "action": action }),
        Some(_) | None => "accept",
    };
    let rest = || {
        let members = value.as_object().into_iter().flatten().filter(|(name, _)| *name != "action");
        members.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>().into()
    };
    let content: Value = value.get("content").cloned().unwrap_or_else(rest);
    json!({ "action": action, "content": content })
}

fn root(node: &Node) -> Value {
    let path = node.to_text();
    if path.starts_with('/') {
        json!({ "uri": format!("file://{}", literal_text(&path)) })
    } else {
        with_fixture(&path)
    }
}
