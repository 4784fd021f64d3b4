//! `${TOKEN}`, which other tools fill in and this one passes on as it is.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::model::{Action, Server, ServerKind, Suite};
use crate::source::{Diagnostic, Node, Value};

/// A variable as shells and editors write it. Attacks look otherwise, such as `${7*7}` and `${jndi:…}`.
#[expect(clippy::unwrap_used, reason = "the pattern is constant")]
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}").unwrap());

/// Programs that fill these in themselves.
const SHELLS: [&str; 8] = ["sh", "bash", "zsh", "dash", "ksh", "fish", "pwsh", "powershell"];

/// Variables that every shell has. As an argument of a call they are an attack, and never what somebody forgot to set.
const OF_EVERY_SHELL: [&str; 8] = ["HOME", "PATH", "IFS", "PWD", "USER", "SHELL", "TMPDIR", "HOSTNAME"];

/// Warns of variables in the places of a suite that are often filled from the environment. A server that another file
/// describes is written in the language of that file, which has them.
pub(crate) fn check(suite: &Suite, found: &mut Vec<Diagnostic>) {
    for (_, value) in &suite.variables {
        anywhere(value, found);
    }
    for server in suite.servers.values().filter(|server| !server.is_described) {
        of_server(server, found);
    }
    for step in suite.setup.iter().chain(suite.tests.iter().flat_map(|test| test.steps.iter())) {
        if let Action::Call { args: Some(args), .. } | Action::Prompt { args: Some(args), .. } = &step.action {
            whole_texts(args, found);
        }
    }
}

fn of_server(server: &Server, found: &mut Vec<Diagnostic>) {
    if let ServerKind::Url(http) = &server.kind {
        let headers = http.all_credentials().flat_map(|credentials| &credentials.headers);
        for node in headers.map(|(_, value)| value).chain([&http.url]) {
            anywhere(node, found);
        }
    }
    let command = server.command();
    for word in command.into_iter().flatten().filter(|_| !command.is_some_and(is_shell)) {
        anywhere(word, found);
    }
    for node in server.env.iter().map(|(_, value)| value).chain(&server.cwd) {
        anywhere(node, found);
    }
}

fn is_shell(words: &[Node]) -> bool {
    let program = words.first().and_then(Node::text).unwrap_or_default();
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    SHELLS.contains(&name.trim_end_matches(".exe"))
}

/// A variable anywhere in a text.
fn anywhere(node: &Node, found: &mut Vec<Diagnostic>) {
    if let Some(seen) = node.text().and_then(first_variable) {
        found.push(warning(&seen[0], &seen[1], node));
    }
}

/// Texts below a node that are a variable and nothing else.
fn whole_texts(node: &Node, found: &mut Vec<Diagnostic>) {
    match &node.value {
        Value::Text(text) => {
            let seen = first_variable(text).filter(|seen| seen[0].len() == text.len());
            if let Some(seen) = seen.filter(|seen| !OF_EVERY_SHELL.contains(&&seen[1])) {
                found.push(warning(&seen[0], &seen[1], node));
            }
        }
        Value::List(items) => {
            for item in items {
                whole_texts(item, found);
            }
        }
        Value::Map(entries) => {
            for (_, value) in entries {
                whole_texts(value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn first_variable(text: &str) -> Option<Captures<'_>> {
    // Nearly no text has one.
    text.contains("${").then(|| VARIABLE.captures(text))?
}

fn warning(written: &str, name: &str, node: &Node) -> Diagnostic {
    let message = format!("`{written}` is passed on as it is: nothing fills it in");
    let help = format!("write `{{{{ env.{name} }}}}` for a variable of the environment");
    Diagnostic::warning("foreign-template", message, node.span).with_help(help)
}
