//! Servers, run options and answers.

use std::path::Path;

use super::{flag, texts};
use crate::source::settings::Setting;
use crate::source::template::is_template;
use crate::source::{Diagnostic, MistakeKind, Node, Span, Value, did_you_mean};
use crate::suite::model::{Auth, Http, HttpCredentials, HttpFlavour, HttpUser, Protocol, Server, Target};
use crate::wire::{Revision, address};

pub(crate) fn servers(root: &Node, folder: &Path, found: &mut Vec<Diagnostic>) -> Vec<(String, Server)> {
    let single = root.entries().iter().filter(|(key, _)| key.value == "server");
    let many = root.get("servers").map(Node::entries).unwrap_or_default().iter();
    single.chain(many).filter_map(|(key, node)| Some((key.value.clone(), server(node, folder, found)?))).collect()
}

fn server(node: &Node, folder: &Path, found: &mut Vec<Diagnostic>) -> Option<Server> {
    let command = match node.get("command") {
        Some(command) => Some(command_words(command, found)?),
        None => None,
    };
    let target = match (node.get("builtin"), node.get("url"), command) {
        (Some(name), ..) => Target::Builtin(name.text()?.to_owned()),
        (None, Some(url), command) => Target::Url(Box::new(http(node, url, command, found))),
        (None, None, command) => Target::Command(command?),
    };
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
            .of_kind(MistakeKind::UnknownName)
            .with_help(did_you_mean(&secret.value, env.iter().map(|(name, _)| name.value.as_str()))),
        );
    }
    // A built-in server keeps its data in memory, for one run.
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
        protocol: protocols(node.get("protocol")),
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

fn http(node: &Node, url: &Node, command: Option<Vec<Node>>, found: &mut Vec<Diagnostic>) -> Http {
    literal_address(url, found);
    Http {
        url: url.clone(),
        command,
        credentials: credentials(node, found),
        users: users(node, found),
        flavour: match node.get("transport").and_then(Node::text) {
            Some("streamable-http") => HttpFlavour::Streamable,
            Some("sse") => HttpFlavour::OldSse,
            _ => HttpFlavour::Auto,
        },
        ca: node.get("tls").and_then(|tls| tls.get("ca")).cloned(),
    }
}

fn users(server: &Node, found: &mut Vec<Diagnostic>) -> Vec<HttpUser> {
    let written = server.get("users").map(Node::entries).unwrap_or_default().iter();
    written.map(|(name, user)| HttpUser { name: name.clone(), credentials: credentials(user, found) }).collect()
}

/// The credentials of a server or of one of its users.
fn credentials(node: &Node, found: &mut Vec<Diagnostic>) -> HttpCredentials {
    HttpCredentials {
        headers: node.get("headers").map(|headers| headers.entries().to_vec()).unwrap_or_default(),
        auth: auth(node, found),
    }
}

fn auth(holder: &Node, found: &mut Vec<Diagnostic>) -> Option<Auth> {
    let node = holder.get("auth")?;
    let headers = holder.get("headers").map(Node::entries).unwrap_or_default();
    if let Some((name, _)) = headers.iter().find(|(name, _)| name.value.eq_ignore_ascii_case("authorization")) {
        found.push(
            Diagnostic::error(
                "two-ways",
                "either `auth` or a header `Authorization` names who asks, not both",
                name.span,
            )
            .with_other(node.span, "the other one is here"),
        );
    }
    if let Some(token) = node.get("bearer") {
        return Some(Auth::Bearer(token.clone()));
    }
    node.get("client_credentials")
        .and_then(Setting::read)
        .map(|credentials| Auth::ClientCredentials(Box::new(credentials)))
}

impl Server {
    /// A server that the caller of the suite provides.
    pub fn external(span: Span) -> Self {
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
    if words.is_empty() && node.text().is_some() {
        let help = "write for example `command: [node, dist/index.js]`".to_owned();
        found.push(Diagnostic::error("bad-command", "the command is empty", node.span).with_help(help));
    }
    (!words.is_empty()).then_some(words)
}

fn protocols(node: Option<&Node>) -> Vec<Protocol> {
    let Some(node) = node else { return vec![Protocol::Auto] };
    let words = if node.text().is_some() { std::slice::from_ref(node) } else { node.items() };
    let words = words.iter().filter_map(Node::text);
    words.map(|word| Revision::parse(word).map_or(Protocol::Auto, Protocol::Fixed)).collect()
}
