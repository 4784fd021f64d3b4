//! Servers.

use std::path::Path;

use globset::GlobBuilder;
use indexmap::IndexMap;
use serde_json::json;

use crate::source::template::{self, is_template};
use crate::source::{Diagnostic, Located, MistakeKind, Node, Span, Value, did_you_mean};
use crate::suite::grammar::{AuthKeys, ServerKeys};
use crate::suite::model::{Auth, Http, HttpCredentials, HttpUser, Protocol, Server, ServerKind};
use crate::suite::server_file::Inputs;
use crate::wire::address;

/// The servers by name; a single one is called `server`.
pub(crate) fn servers(
    single: Option<ServerKeys>,
    many: Vec<(Located<String>, ServerKeys)>,
    folder: &Path,
    found: &mut Vec<Diagnostic>,
) -> IndexMap<String, Server> {
    let single = single.map(|keys| ("server".to_owned(), keys));
    let many = many.into_iter().map(|(name, keys)| (name.value, keys));
    single.into_iter().chain(many).filter_map(|(name, keys)| Some((name, server(keys, folder, found)?))).collect()
}

fn server(keys: ServerKeys, folder: &Path, found: &mut Vec<Diagnostic>) -> Option<Server> {
    let is_builtin = keys.builtin.is_some();
    for secret in &keys.secrets {
        // A server that inherits the environment may have secrets that the suite does not name otherwise.
        if keys.inherit_env || keys.env.iter().any(|(name, _)| name.value == secret.value) {
            continue;
        }
        let message = format!("`env` has no variable `{}` to keep secret", secret.value);
        let help = did_you_mean(&secret.value, keys.env.iter().map(|(name, _)| name.value.as_str()));
        let unknown = Diagnostic::error("unknown-name", message, secret.span).of_kind(MistakeKind::UnknownName);
        found.push(unknown.with_help(help));
    }
    found.extend(keys.watch.iter().filter_map(bad_glob));
    let command = match &keys.command {
        Some(command) => Some(command_words(command, found)?),
        None => None,
    };
    let kind = match (keys.builtin, keys.url, command) {
        (Some(name), ..) => ServerKind::Builtin(name),
        (None, Some(url), command) => {
            check_literal_address(&url, found);
            ServerKind::Url(Box::new(Http {
                url,
                command,
                credentials: credentials(keys.headers, keys.auth, found),
                users: keys
                    .users
                    .into_iter()
                    .map(|(name, user)| HttpUser { name, credentials: credentials(user.headers, user.auth, found) })
                    .collect(),
                flavour: keys.transport,
                ca: keys.tls.and_then(|tls| tls.ca),
            }))
        }
        (None, None, command) => ServerKind::Command(command?),
    };
    Some(Server {
        // What is wrong with a server is quoted from the file that describes it.
        span: keys.described.as_ref().map_or(keys.span, |described| described.span),
        kind,
        env: keys.env,
        inherit_env: keys.inherit_env,
        secrets: keys.secrets.into_iter().map(|secret| secret.value).collect(),
        cwd: keys.cwd,
        folder: keys.described.as_ref().map_or(folder, |described| &described.folder).to_owned(),
        named: String::new(),
        is_described: keys.described.is_some(),
        registered: keys.described.as_ref().and_then(|described| described.registered.clone()),
        inputs: keys.described.map(|described| described.inputs).unwrap_or_default(),
        // A built-in server keeps its data in memory, for one run, and one with a store in a copy.
        scratch: keys.scratch || is_builtin || keys.store.is_some(),
        store: keys.store.map(|store| store.0),
        watch: keys.watch,
        needs: keys.needs,
        protocol: keys.protocol,
    })
}

/// The mistake in a pattern of files, if there is one.
fn bad_glob(pattern: &Located<String>) -> Option<Diagnostic> {
    let mistake = |message: String| Diagnostic::error("bad-glob", message, pattern.span);
    let written = &pattern.value;
    if written.trim().is_empty() {
        let help = "write for example `../src/**/*.py`".to_owned();
        return Some(mistake("the pattern is empty".to_owned()).with_help(help));
    }
    if Path::new(written).is_absolute() {
        let help = "write it relative to the folder of this suite, for example `../src/**/*.py`".to_owned();
        return Some(mistake(format!("`{written}` is an absolute path, which no other machine has")).with_help(help));
    }
    let error = GlobBuilder::new(written).literal_separator(true).build().err()?;
    let help = "`*` stands for anything but `/`, `**` for folders, `{a,b}` for one of two, and `[` is written `[[]`";
    Some(mistake(format!("`{written}` is no pattern: {}", error.kind())).with_help(help.to_owned()))
}

/// An address that is known before anything is filled in, but for a port, can be looked at.
fn check_literal_address(url: &Node, found: &mut Vec<Diagnostic>) {
    let text = url.text().unwrap_or_default().replace("{{ port }}", "1");
    if is_template(&text) {
        return;
    }
    if let Err(reason) = address(text.trim()) {
        let written = url.text().unwrap_or_default();
        found.push(Diagnostic::error("bad-address", format!("`{written}` {reason}"), url.span));
    }
}

/// The credentials of a server or of one of its users.
fn credentials(
    headers: Vec<(Located<String>, Node)>,
    auth: Option<AuthKeys>,
    found: &mut Vec<Diagnostic>,
) -> HttpCredentials {
    let names_user = |name: &Located<String>| name.value.eq_ignore_ascii_case("authorization");
    if let (Some((name, _)), Some(auth)) = (headers.iter().find(|(name, _)| names_user(name)), &auth) {
        let message = "either `auth` or a header `Authorization` names who asks, not both";
        let two = Diagnostic::error("two-ways", message, name.span);
        found.push(two.with_other(auth.span, "the other one is here"));
    }
    let auth = auth.and_then(|keys| {
        let credentials = || keys.client_credentials.map(|credentials| Auth::ClientCredentials(Box::new(credentials)));
        let code = || keys.authorization_code.map(|code| Auth::AuthorizationCode(Box::new(code)));
        let device = || keys.device_code.map(|code| Auth::DeviceCode(Box::new(code)));
        keys.bearer.map(Auth::Bearer).or_else(credentials).or_else(code).or_else(device)
    });
    HttpCredentials { headers, auth }
}

impl Server {
    /// A server that the caller of the suite provides.
    pub fn external(span: Span) -> Self {
        Self {
            span,
            kind: ServerKind::Builtin("given".to_owned()),
            env: Vec::new(),
            inherit_env: false,
            secrets: Vec::new(),
            cwd: None,
            folder: std::path::PathBuf::new(),
            named: String::new(),
            is_described: false,
            inputs: Inputs::new(),
            registered: None,
            scratch: false,
            store: None,
            watch: Vec::new(),
            needs: Vec::new(),
            protocol: vec![Protocol::Auto],
        }
    }
}

/// What a shell would not pass on to a program; in quotes, it stands beside them in a word.
const OPERATORS: [&str; 11] = ["|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1", "&>"];

/// A text with a mark in the place of each template, and the templates. They are filled in later, and so belong to one word
/// each, whatever blanks, quotes and operators they have.
fn mask_templates(text: &str) -> (String, Vec<&str>) {
    let templates = template::parts(text);
    let mut masked = String::new();
    let mut rest = text;
    for (at, part) in templates.iter().enumerate() {
        if let Some((before, after)) = rest.split_once(part) {
            masked += before;
            masked += &mark_of(at);
            rest = after;
        }
    }
    (masked + rest, templates)
}

/// What no command has in it.
fn mark_of(number: usize) -> String {
    format!("\u{1}{number}\u{1}")
}

fn command_words(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Vec<Node>> {
    let words: Vec<Node> = match node.text() {
        None => {
            let word = |item: &Node| Node { value: Value::Text(item.to_text()), span: item.span };
            node.items().iter().map(word).collect()
        }
        Some(text) => {
            let (masked, templates) = mask_templates(text);
            let Ok(words) = shell_words::split(&masked) else {
                found.push(Diagnostic::error("bad-command", "a quote in the command is never closed", node.span));
                return None;
            };
            if let Some(operator) = masked.split_whitespace().find(|word| OPERATORS.contains(word)) {
                let message = format!("no shell reads the command, so `{operator}` is passed to the program");
                let help = format!("write `command: [sh, -c, {}]`, or only the program", json!(text));
                found.push(Diagnostic::warning("bad-command", message, node.span).with_help(help));
            }
            let unmask = |word: String| {
                let numbered = templates.iter().enumerate();
                numbered.fold(word, |word, (at, part)| word.replace(&mark_of(at), part))
            };
            words.into_iter().map(|word| Node { value: Value::Text(unmask(word)), span: node.span }).collect()
        }
    };
    if words.is_empty() && node.text().is_some() {
        let help = "write for example `command: [node, dist/index.js]`".to_owned();
        found.push(Diagnostic::error("bad-command", "the command is empty", node.span).with_help(help));
    }
    (!words.is_empty()).then_some(words)
}
