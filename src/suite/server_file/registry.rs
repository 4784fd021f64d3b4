//! `server.json` of the MCP registry: packages that a package runner starts, and remote servers.
//!
//! What its user has to fill in comes from the environment: a variable of the server under its own name, anything else
//! under the name that [`input_variable`] derives.

use super::variables::{input_variable, literal, variable};
use super::{Inputs, list, mapping, nonempty_mapping, text};
use crate::source::{Diagnostic, Located, Node, Value, visible_line};

/// The packages and remotes as servers, named after their registry or transport; `None` for another file.
pub(crate) fn servers(root: &Node) -> Option<Node> {
    let kinds = [("packages", "registryType"), ("remotes", "type")];
    let written = kinds.iter().filter_map(|(key, kind)| Some((root.get(key)?, *kind)));
    let entries: Vec<(&Node, &str)> =
        written.flat_map(|(list, kind)| list.items().iter().map(move |entry| (entry, kind))).collect();
    if entries.is_empty() {
        return None;
    }
    let mut servers: Vec<(Located<String>, Node)> = Vec::new();
    for (entry, kind) in entries {
        let kind = entry.get(kind).and_then(Node::text).unwrap_or("server");
        let names = std::iter::once(kind.to_owned()).chain((2..).map(|number| format!("{kind}-{number}")));
        let is_free = |name: &String| !servers.iter().any(|(taken, _)| taken.value == *name);
        servers.extend(names.into_iter().find(is_free).map(|name| (Located::new(name, entry.span), entry.clone())));
    }
    Some(Node { value: Value::Map(servers), span: root.span })
}

/// A package or a remote as a suite would describe it; `None` after a mistake.
pub(crate) fn server(node: &Node, inputs: &mut Inputs, found: &mut Vec<Diagnostic>) -> Option<Node> {
    let mut reader = RegistryReader { inputs, variables: Vec::new() };
    if node.get("identifier").is_none() {
        return reader.remote(node, node.get("type").and_then(Node::text), found);
    }
    let env = reader.named_inputs(node.get("environmentVariables"), str::to_owned);
    let words = reader.command(node, &env, found)?;
    let span = node.span;
    let is_secret = |input: &&Node| input.get("isSecret").and_then(Node::flag) == Some(true);
    let secrets: Vec<Node> = node
        .get("environmentVariables")
        .map(Node::items)
        .unwrap_or_default()
        .iter()
        .filter(is_secret)
        .filter_map(|input| input.get("name"))
        .filter(|name| env.iter().any(|(set, _)| Some(set.value.as_str()) == name.text()))
        .cloned()
        .collect();
    let transport = node.get("transport");
    let kind = transport.and_then(|transport| transport.get("type")).and_then(Node::text).unwrap_or("stdio");
    let http = match transport {
        Some(transport) if kind != "stdio" => reader.remote(transport, Some(kind), found)?.entries().to_vec(),
        Some(_) | None => Vec::new(),
    };
    let started = mapping(
        [("command", list(words, span)), ("secrets", list(secrets, span)), ("env", nonempty_mapping(env, span))],
        span,
    );
    Some(Node { value: Value::Map([started.entries(), &http].concat()), span })
}

struct RegistryReader<'a> {
    inputs: &'a mut Inputs,
    /// Values by name, for the places in an address that name them.
    variables: Vec<(String, String)>,
}

impl RegistryReader<'_> {
    /// The words that start a package.
    fn command(
        &mut self,
        node: &Node,
        env: &[(Located<String>, Node)],
        found: &mut Vec<Diagnostic>,
    ) -> Option<Vec<Node>> {
        let field = |key: &str| node.get(key).and_then(Node::text);
        let (identifier, version) = (field("identifier").unwrap_or_default(), field("version"));
        let pinned = |mark: char| match version {
            Some(version) if version != "latest" && !identifier.contains(version) => {
                format!("{identifier}{mark}{version}")
            }
            Some(_) | None => identifier.to_owned(),
        };
        let registry = field("registryType").unwrap_or_default();
        let (runner, first, package): (&str, Vec<String>, String) = match registry {
            "npm" => ("npx", vec!["-y".to_owned()], pinned('@')),
            "pypi" => ("uvx", Vec::new(), pinned('@')),
            "nuget" => ("dnx", vec!["--yes".to_owned()], pinned('@')),
            "oci" => {
                let passed = env.iter().flat_map(|(name, _)| ["-e".to_owned(), name.value.clone()]);
                let own = ["run", "-i", "--rm"].map(str::to_owned);
                let has_tag = identifier.rsplit('/').next().is_some_and(|name| name.contains([':', '@']));
                let image = if has_tag { identifier.to_owned() } else { pinned(':') };
                ("docker", own.into_iter().chain(passed).collect(), image)
            }
            other => {
                let message = format!("a package of the kind `{}` cannot be started by a command", visible_line(other));
                let help = "name another one of the file, or install it and give the command that starts it after `--`"
                    .to_owned();
                let span = node.get("registryType").map_or(node.span, |kind| kind.span);
                found.push(Diagnostic::error("unknown-name", message, span).with_help(help));
                return None;
            }
        };
        let runner = field("runtimeHint").unwrap_or(runner);
        let mut own = self.arguments(node.get("runtimeArguments"));
        // Authors write these themselves, or leave them to whoever starts the package.
        own.retain(|word| !word.text().is_some_and(|word| first.iter().any(|known| known == word)));
        let arguments = self.arguments(node.get("packageArguments"));
        let word = |word: &str| text(literal(word), node.span);
        let mut words = vec![word(runner)];
        words.extend(first.iter().map(|known| word(known)));
        words.extend(own);
        words.push(word(&package));
        words.extend(arguments);
        Some(words)
    }

    fn arguments(&mut self, list: Option<&Node>) -> Vec<Node> {
        let mut words = Vec::new();
        for argument in list.map(Node::items).unwrap_or_default() {
            let field = |key: &str| argument.get(key).and_then(Node::text);
            let flag = field("name").filter(|_| field("type") == Some("named"));
            let label = flag.or_else(|| field("valueHint")).unwrap_or("argument");
            let has_value = ["value", "default"].iter().any(|key| argument.get(key).is_some());
            let is_switch = flag.is_some() && !has_value && field("format") == Some("boolean");
            let value = if is_switch {
                None
            } else {
                self.value(argument, label, &input_variable(label.trim_start_matches('-')))
            };
            let is_given = value.is_some() || argument.get("isRequired").and_then(Node::flag) == Some(true);
            words.extend(flag.filter(|_| is_given).map(|flag| text(literal(flag), argument.span)));
            words.extend(value.map(|value| text(value, argument.span)));
        }
        words
    }

    /// Variables of the environment, or headers.
    fn named_inputs(&mut self, list: Option<&Node>, variable: impl Fn(&str) -> String) -> Vec<(Located<String>, Node)> {
        let mut set = Vec::new();
        for input in list.map(Node::items).unwrap_or_default() {
            let Some(name) = input.get("name").and_then(Node::located_text) else { continue };
            let value = self.value(input, &name.value, &variable(&name.value));
            set.extend(value.map(|value| (name, text(value, input.span))));
        }
        set
    }

    /// The value of an input as a template; `None` where it may be left out.
    fn value(&mut self, input: &Node, label: &str, from: &str) -> Option<String> {
        let field = |key: &str| input.get(key).filter(|node| node.value != Value::Null).map(Node::to_text);
        let is_required = input.get("isRequired").and_then(Node::flag) == Some(true);
        let value = match field("value") {
            Some(value) => {
                let variables = input.get("variables").map(Node::entries).unwrap_or_default();
                let filled: Vec<(String, String)> = variables
                    .iter()
                    .filter_map(|(name, about)| {
                        Some((name.value.clone(), self.value(about, &name.value, &input_variable(&name.value))?))
                    })
                    .collect();
                Some(fill_braces(&value, &filled))
            }
            None if is_required || field("default").is_some() => {
                let described =
                    field("description").map(|text| format!(": {}", visible_line(&text))).unwrap_or_default();
                self.inputs.insert(from.to_owned(), format!("the server needs `{}`{described}", visible_line(label)));
                Some(variable(from, field("default").as_deref()))
            }
            None => None,
        };
        self.variables.extend(value.clone().map(|value| (label.trim_start_matches('-').to_owned(), value)));
        value
    }

    /// The address and the headers of a server over HTTP.
    fn remote(&mut self, node: &Node, kind: Option<&str>, found: &mut Vec<Diagnostic>) -> Option<Node> {
        let Some(url) = node.get("url") else {
            let missing = Diagnostic::error("missing-key", "a server over HTTP needs a `url`", node.span);
            found.push(missing);
            return None;
        };
        let headers = self.named_inputs(node.get("headers"), input_variable);
        let variables = node.get("variables").map(Node::entries).unwrap_or_default();
        for (name, about) in variables {
            self.value(about, &name.value, &input_variable(&name.value));
        }
        let address = fill_braces(&url.to_text(), &self.variables);
        let flavour = (kind == Some("sse")).then(|| text("sse", node.span));
        let url = text(address, url.span);
        Some(mapping(
            [("url", Some(url)), ("transport", flavour), ("headers", nonempty_mapping(headers, node.span))],
            node.span,
        ))
    }
}

/// Puts values in the place of `{name}`; other braces stay.
fn fill_braces(written: &str, values: &[(String, String)]) -> String {
    let mut filled = String::new();
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('{') {
        let known = after.split_once('}').and_then(|(name, behind)| {
            let (_, value) = values.iter().rev().find(|(known, _)| known == name)?;
            Some((value, behind))
        });
        filled += &literal(before);
        if let Some((value, behind)) = known {
            filled += value;
            rest = behind;
        } else {
            filled.push('{');
            rest = after;
        }
    }
    filled + &literal(rest)
}
