//! A server of mcptest.

use serde_json::{Map, Value, json};

use crate::source::Node;

use super::super::left_out::{LeftOut, members_left_out, unknown_members};
use super::super::references::optional_variable;
use super::Variables;

const KNOWN: [&str; 9] = ["name", "command", "env", "url", "auth", "headers", "http", "wait_for_ready", "cassette"];

/// The settings of a server.
pub(super) fn server(node: &Node, variables: &Variables, left_out: &mut Vec<LeftOut>) -> Value {
    left_out.extend(unknown_members(node, &KNOWN, "a server of mcptest"));
    left_out.extend(members_left_out(node, &["cassette"], "recordings of mcptest are not read; record the run again"));
    left_out.extend(members_left_out(node, &["wait_for_ready"], "`start_timeout` is the time for a start"));
    let mut server = Map::new();
    if let Some(command) = node.get("command") {
        let words = command.items().iter().map(|word| variables.fill_setting(&word.to_text()));
        let words: Vec<Value> = words.collect();
        let command = if words.is_empty() { variables.fill_setting(&command.to_text()) } else { words.into() };
        server.insert("command".to_owned(), command);
    }
    if let Some(url) = node.get("url") {
        server.insert("url".to_owned(), variables.fill_setting(&url.to_text()));
    }
    let mut env = Map::new();
    for (name, value) in node.get("env").map(Node::entries).unwrap_or_default() {
        if value.to_text().contains("://secret/") {
            left_out.push(LeftOut::new(name.value.clone(), value.span, "secrets come from the environment only"));
        }
        env.insert(name.value.clone(), variables.fill_setting(&value.to_text()));
    }
    if !env.is_empty() {
        server.insert("env".to_owned(), env.into());
    }
    let mut headers = named_values(node.get("headers"), variables);
    if let Some(auth) = node.get("auth") {
        for (key, value) in auth.entries() {
            match key.value.as_str() {
                "bearer_token_env" => {
                    let bearer = json!({ "bearer": format!("{{{{ env.{} }}}}", value.to_text()) });
                    server.insert("auth".to_owned(), bearer);
                }
                "headers" => headers.extend(named_values(Some(value), variables)),
                _ => left_out.push(LeftOut::new(key.value.clone(), key.span, "see `auth` of a server")),
            }
        }
    }
    if !headers.is_empty() {
        server.insert("headers".to_owned(), headers.into());
    }
    for (key, value) in node.get("http").map(Node::entries).unwrap_or_default() {
        match (key.value.as_str(), value.get("ca_bundle_path")) {
            ("tls", Some(bundle)) => {
                server.insert("tls".to_owned(), json!({ "ca": variables.fill_setting(&bundle.to_text()) }));
                let others = ["insecure_skip_verify", "min_version", "mtls"];
                left_out.extend(members_left_out(value, &others, "`tls` of a server has `ca` only"));
            }
            _ => left_out.push(LeftOut::new(key.value.clone(), key.span, "a server has no such setting")),
        }
    }
    server.into()
}

/// Values that are texts, or names of variables of the environment: `{ env: NAME }`.
fn named_values(node: Option<&Node>, variables: &Variables) -> Map<String, Value> {
    let entries = node.map(Node::entries).unwrap_or_default();
    let value = |node: &Node| match node.get("env") {
        Some(name) => format!("{{{{ {} }}}}", optional_variable(&name.to_text())).into(),
        None => variables.fill_setting(&node.to_text()),
    };
    entries.iter().map(|(name, node)| (name.value.clone(), value(node))).collect()
}
