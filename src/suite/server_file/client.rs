//! A server in the configuration of a client: Claude, Cursor, VS Code and others.

use std::path::Path;

use super::variables::{literal, template_text};
use super::{Inputs, Surroundings, env_file, list, mapping, nonempty_mapping, text, with_example};
use crate::redact::is_secret;
use crate::source::grammar::{self, Shape};
use crate::source::settings::Setting;
use crate::source::template::is_template;
use crate::source::{Diagnostic, Located, MistakeKind, Node, Value, settings, visible_line};
use crate::suite::files::{normalize_path, why_unreadable};

/// Settings of clients that say nothing about how a server is reached.
const FOREIGN_SETTINGS: [&str; 26] = [
    "alwaysAllow",
    "autoApprove",
    "allowedTools",
    "autostart",
    "description",
    "dev",
    "disabledTools",
    "displayName",
    "enabledTools",
    "excludeTools",
    "gallery",
    "icon",
    "icons",
    "id",
    "includeTools",
    "initTimeout",
    "label",
    "metadata",
    "name",
    "note",
    "sandbox",
    "sandboxEnabled",
    "timeout",
    "tools",
    "trust",
    "version",
];

const SCALAR: Shape = Shape::Either(&[Shape::Text, Shape::Number, Shape::Flag]);

settings! {
    /// A server as a client is told of it.
    struct ClientServer as "a server of a client" {
        /// The program.
        command: Option<Node> => shape(Shape::Either(&[Shape::Text, Shape::NonEmpty(&Shape::List(&SCALAR))])),
        /// Its arguments.
        args: Vec<Node> => shape(Shape::List(&SCALAR)),
        /// Environment variables.
        env: Vec<(Located<String>, Node)> => shape(Shape::Map(&Shape::Any)),
        /// A file with environment variables.
        env_file as "envFile": Option<Located<String>>,
        /// The folder in which it starts.
        cwd: Option<Node> => shape(Shape::Text),
        /// The transport.
        transport as "type": Option<Located<String>>,
        /// The transport, as some clients call it.
        transport_type as "transport": Option<Located<String>>,
        /// The address of a server over HTTP.
        url: Option<Node> => shape(Shape::Text),
        /// The address, as some clients call it.
        server_url as "serverUrl": Option<Node> => shape(Shape::Text),
        /// The address, as some clients call it.
        http_url as "httpUrl": Option<Node> => shape(Shape::Text),
        /// Headers of every request.
        headers: Vec<(Located<String>, Node)> => shape(Shape::Map(&SCALAR)),
        /// Whether the client leaves it out.
        disabled: bool,
        /// Whether the client starts it.
        enabled: Option<bool>,
    }
}

/// A way to a server.
enum ClientTransport {
    Process,
    Http,
    OldSse,
}

/// Returns true if the client does not start the server.
pub(crate) fn is_disabled(node: &Node) -> bool {
    node.setting("disabled") == Some(true) || node.setting("enabled") == Some(false)
}

/// The server as a suite would describe it; `None` after a mistake.
pub(crate) fn server(
    node: &Node,
    around: &Surroundings<'_>,
    inputs: &mut Inputs,
    found: &mut Vec<Diagnostic>,
) -> Option<Node> {
    let before = found.len();
    let mistakes = grammar::check(node, &Shape::Object(&ClientServer::KEYS));
    found.extend(mistakes.into_iter().filter_map(|mistake| of_client(mistake, node)));
    let entry = ClientServer::decode(node, found)?;
    let transport = transport(&entry, node, found)?;
    let mut template = |written: &Node| {
        let filled = template_text(&written.to_text(), written.span, around, inputs, found);
        text(filled, written.span)
    };
    let span = node.span;
    let url = entry.http_url.as_ref().or(entry.server_url.as_ref()).or(entry.url.as_ref());
    let described = match transport {
        ClientTransport::Process => {
            let command = entry.command.as_ref()?;
            let program = if command.items().is_empty() { std::slice::from_ref(command) } else { command.items() };
            let words = program.iter().chain(&entry.args).map(&mut template).collect();
            let cwd = entry.cwd.as_ref().map(&mut template);
            let written = entry.env.iter().filter(|(_, value)| value.value != Value::Null);
            let mut env: Vec<_> = written.map(|(name, value)| (name.clone(), template(value))).collect();
            let from_file = entry.env_file.as_ref().map(|file| read_env_file(file, around, found)).unwrap_or_default();
            env.extend(
                from_file.into_iter().filter(|(name, _)| !entry.env.iter().any(|(own, _)| own.value == name.value)),
            );
            let is_hidden = |(name, value): &&(Located<String>, Node)| {
                value.text().is_some_and(|value| !value.contains("{{") && is_secret(&name.value, value))
            };
            let secrets = env.iter().filter(is_hidden).map(|(name, _)| text(name.value.clone(), name.span)).collect();
            mapping(
                [
                    ("command", list(words, span)),
                    ("secrets", list(secrets, span)),
                    ("env", nonempty_mapping(env, span)),
                    ("cwd", cwd),
                ],
                span,
            )
        }
        ClientTransport::Http | ClientTransport::OldSse => {
            let url = template(url?);
            let headers = entry.headers.iter().map(|(name, value)| (name.clone(), template(value))).collect();
            let flavour = matches!(transport, ClientTransport::OldSse).then(|| text("sse", span));
            mapping([("url", Some(url)), ("transport", flavour), ("headers", nonempty_mapping(headers, span))], span)
        }
    };
    let is_right = found[before..].iter().all(|one| one.severity == crate::source::DiagnosticSeverity::Warning);
    is_right.then_some(described)
}

/// The transport that an entry asks for.
fn transport(entry: &ClientServer, node: &Node, found: &mut Vec<Diagnostic>) -> Option<ClientTransport> {
    let url = entry.url.is_some() || entry.server_url.is_some() || entry.http_url.is_some();
    let named = entry.transport.as_ref().or(entry.transport_type.as_ref());
    let transport = match named.map(|named| named.value.as_str()) {
        None if entry.command.is_some() => ClientTransport::Process,
        None if url => ClientTransport::Http,
        None => {
            let message = "a server of a client needs a `command` or a `url`";
            let missing = Diagnostic::error("missing-key", message, node.span).of_kind(MistakeKind::MissingKey);
            found.push(missing.with_help(EXAMPLE.to_owned()));
            return None;
        }
        Some("stdio" | "local") => ClientTransport::Process,
        Some("sse") => ClientTransport::OldSse,
        Some("http" | "streamable-http" | "streamableHttp" | "streamable_http" | "remote") => ClientTransport::Http,
        Some(other) => {
            let message = format!("the transport `{}` is not supported", visible_line(other));
            let help = "expected one of `stdio`, `http`, `sse`".to_owned();
            let span = named.map_or(node.span, |named| named.span);
            found.push(Diagnostic::error("unknown-name", message, span).with_help(help));
            return None;
        }
    };
    let lacks = match transport {
        ClientTransport::Process if entry.command.is_none() => "command",
        ClientTransport::Http | ClientTransport::OldSse if !url => "url",
        ClientTransport::Process | ClientTransport::Http | ClientTransport::OldSse => return Some(transport),
    };
    let message = format!("a server of this `type` needs a `{lacks}`");
    found.push(Diagnostic::error("missing-key", message, node.span).of_kind(MistakeKind::MissingKey));
    None
}

/// The help for a server of which nothing shows how it is reached.
const EXAMPLE: &str =
    "write for example `{\"command\": \"node\", \"args\": [\"server.js\"]}`, or `{\"url\": \"https://…/mcp\"}`";

/// A mistake as it counts for a client's file: settings that only the client reads are none.
fn of_client(mistake: Diagnostic, node: &Node) -> Option<Diagnostic> {
    let unknown = node.entries().iter().find(|(key, _)| mistake.is_unknown_key_at(key.span));
    let Some((key, _)) = unknown else { return Some(with_example(mistake, node.span, Some(EXAMPLE))) };
    if FOREIGN_SETTINGS.contains(&key.value.as_str()) {
        return None;
    }
    let message = format!("the setting `{}` is not known, and is ignored", visible_line(&key.value));
    let help = if let MistakeKind::UnknownKey(Some(meant)) = &mistake.kind {
        Some(format!("did you mean `{meant}`?"))
    } else {
        None
    };
    Some(Diagnostic { message, help, ..mistake }.into_warning())
}

fn read_env_file(
    file: &Located<String>,
    around: &Surroundings<'_>,
    found: &mut Vec<Diagnostic>,
) -> Vec<(Located<String>, Node)> {
    let path = template_text(&file.value, file.span, around, &mut Inputs::new(), found);
    if is_template(&path) {
        let message = "the path of `envFile` must be known before the run";
        let help = "write the path, or `${workspaceFolder}/.env`".to_owned();
        found.push(Diagnostic::error("unknown-variable", message, file.span).with_help(help));
        return Vec::new();
    }
    let path = normalize_path(&around.folder.join(Path::new(&path)));
    match around.files.read(&path) {
        Ok(written) => {
            let set = env_file::variables(&written).into_iter();
            set.map(|(name, value)| (Located::new(name, file.span), text(literal(&value), file.span))).collect()
        }
        Err(error) => {
            let message = format!("cannot read `{}`: {}", path.display(), why_unreadable(&error));
            found.push(Diagnostic::error("missing-file", message, file.span));
            Vec::new()
        }
    }
}
