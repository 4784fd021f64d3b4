//! Collections of Postman: the requests whose bodies are JSON-RPC messages, and the lines of their scripts that compare
//! something of the answer.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::source::{Diagnostic, Node, Sources, map_texts, visible_line};

use super::document::Document;
use super::left_out::LeftOut;
use super::references::{Marks, is_variable, literal_value, path_within, template_name};
use super::suite_parts::{ConvertedTest, SuiteParts};
use super::{ConvertOptions, Format};

pub(crate) const FORMAT: Format = Format { tool: "Postman", recognises, convert };

/// The marks around a variable.
const MARKS: Marks = Marks { open: "{{", close: "}}" };

/// Headers that mcprove sends by itself.
const OWN_HEADERS: [&str; 6] =
    ["content-type", "accept", "content-length", "mcp-session-id", "mcp-protocol-version", "last-event-id"];

/// A comparison in a script: the value, whether it is negated, the word, and its argument.
static COMPARISON: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"^pm\.expect\((?:[A-Za-z_]\w*|pm\.response\.json\(\))\.?((?:result|error)?[^()]*)\)\.to\.((?:not\.)?)(?:be\.|have\.|deep\.)*([a-z]+)(?:\((.*)\))?;?$";
    Regex::new(pattern).ok()
});

/// A line of a script that compares nothing, such as the frame around comparisons.
static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"^(?://.*|\}\);?|\}|pm\.test\(.*\{|(?:const|let|var) \w+ = pm\.response\.json\(\);?)?$";
    Regex::new(pattern).ok()
});

fn recognises(document: &Document) -> bool {
    let info = document.root.get("info");
    let schema = info.and_then(|info| info.get("schema")).and_then(Node::text).unwrap_or_default();
    let is_collection = schema.contains("postman") || info.is_some_and(|info| info.get("_postman_id").is_some());
    is_collection && document.root.get("item").is_some()
}

fn convert(documents: &[Document], _: &Sources, options: &ConvertOptions) -> Result<SuiteParts, Vec<Diagnostic>> {
    let mut collection = Collection::default();
    let name = documents.iter().find_map(|document| document.root.get("info")?.get("name")?.text());
    let name = name.unwrap_or(&options.name).to_owned();
    for document in documents {
        collection.declare(&document.root);
        let auth = document.root.get("auth");
        collection.add_items(document.root.get("item"), &[], auth);
        let scripts = document.root.get("event").map(Node::items).unwrap_or_default();
        collection.scripts_left_out(scripts);
    }
    if collection.tests.is_empty() {
        let root = documents.first().map(|document| document.root.span);
        let message = "no request of the collection carries a JSON-RPC message of MCP";
        let mistake = root.map_or_else(
            || Diagnostic::without_place("unknown-format", message),
            |span| Diagnostic::error("unknown-format", message, span),
        );
        return Err(vec![mistake]);
    }
    Ok(collection.into_parts(&name))
}

#[derive(Default)]
struct Collection {
    /// Names of variables, and what a suite calls them.
    names: BTreeMap<String, String>,
    variables: Map<String, Value>,
    /// The servers, and their numbers.
    servers: BTreeMap<String, (usize, Value)>,
    tests: Vec<(usize, ConvertedTest)>,
    left_out: Vec<LeftOut>,
}

impl Collection {
    fn declare(&mut self, root: &Node) {
        for variable in root.get("variable").map(Node::items).unwrap_or_default() {
            let (Some(key), value) = (variable.get("key").and_then(Node::text), variable.get("value")) else {
                continue;
            };
            let name = template_name(key);
            self.names.insert(key.to_owned(), name.clone());
            self.variables.insert(name, literal_value(value.map(Node::to_json).unwrap_or_default()));
        }
    }

    /// A text in which variables of the collection are templates, and others are read from the environment.
    fn fill(&self, text: &str) -> String {
        MARKS.fill(text, &|name| {
            let from_environment = || is_variable(name).then(|| format!("env.{name}"));
            self.names.get(name).cloned().or_else(from_environment)
        })
    }

    fn fill_value(&self, value: Value) -> Value {
        map_texts(value, &|text| self.fill(text))
    }

    fn add_items(&mut self, items: Option<&Node>, folders: &[String], auth: Option<&Node>) {
        for item in items.map(Node::items).unwrap_or_default() {
            let name = item.get("name").map_or_else(|| "without a name".to_owned(), Node::to_text);
            if let Some(inner) = item.get("item") {
                let folders: Vec<String> = folders.iter().cloned().chain([name]).collect();
                self.add_items(Some(inner), &folders, item.get("auth").or(auth));
                self.scripts_left_out(item.get("event").map(Node::items).unwrap_or_default());
            } else if let Some(request) = item.get("request") {
                self.add_request(item, request, &name, folders, auth);
            }
        }
    }

    fn scripts_left_out(&mut self, events: &[Node]) {
        for event in events.iter().filter(|event| script_lines(event).next().is_some()) {
            self.left_out.push(LeftOut::new("event", event.span, "a suite has no scripts"));
        }
    }

    fn add_request(&mut self, item: &Node, request: &Node, name: &str, folders: &[String], auth: Option<&Node>) {
        let raw = request.get("body").and_then(|body| body.get("raw"));
        let message: Option<Value> = raw.and_then(Node::text).and_then(|raw| serde_json::from_str(raw).ok());
        let method = message.as_ref().and_then(|message| message["method"].as_str()).map(str::to_owned);
        let (Some(message), Some(method)) = (message, method) else {
            let why = "its body is no JSON-RPC message";
            self.left_out.push(LeftOut::new(name, raw.map_or(request.span, |raw| raw.span), why));
            return;
        };
        if ["initialize", "notifications/initialized"].contains(&method.as_str()) {
            self.left_out.push(LeftOut::new(name, request.span, "mcprove makes the handshake itself"));
            return;
        }
        let mut left_out = Vec::new();
        let server = self.server(request, request.get("auth").or(auth), &mut left_out);
        let next = self.servers.len();
        let (number, _) = self.servers.entry(server.to_string()).or_insert((next, server));
        let number = *number;
        let mut test = Map::new();
        test.insert("name".to_owned(), self.fill(name).into());
        if !folders.is_empty() {
            test.insert("tags".to_owned(), folders.iter().map(|folder| tag(folder)).collect());
        }
        let params = message.get("params").cloned().map(|params| self.fill_value(params));
        let action = action(&method, params, message.get("id").is_some());
        if action.contains_key("notify") {
            // A notification has no answer; that the server bears it is what shows.
            test.insert(
                "steps".to_owned(),
                json!([action, { "list": "tools", "expect": [{ "at": "result", "exists": true }] }]),
            );
        } else {
            test.extend(action);
        }
        let mut expect = Vec::new();
        for event in item.get("event").map(Node::items).unwrap_or_default() {
            let is_test = event.get("listen").and_then(Node::text) == Some("test");
            for line in script_lines(event) {
                match comparison(&line.to_text()) {
                    Some(made) if is_test => expect.extend(made),
                    Some(_) | None => left_out.push(LeftOut::new("script", line.span, "a suite has no scripts")),
                }
            }
        }
        if !test.contains_key("steps") {
            let any_result = json!({ "at": "result", "exists": true });
            expect.retain(|item| *item != any_result);
            if expect.iter().all(|item: &Value| item["exists"] == false || item.get("not").is_some()) {
                expect.insert(0, any_result);
            }
            test.insert("expect".to_owned(), expect.into());
        }
        self.tests.push((
            number,
            ConvertedTest { comments: described(item, request), test, left_out, ..ConvertedTest::default() },
        ));
    }

    fn server(&self, request: &Node, auth: Option<&Node>, left_out: &mut Vec<LeftOut>) -> Value {
        let url = request.get("url");
        let url = url.and_then(|url| url.text().or_else(|| url.get("raw").and_then(Node::text))).unwrap_or_default();
        let mut server = json!({ "url": self.fill(url) });
        let mut headers = Map::new();
        for header in request.get("header").map(Node::items).unwrap_or_default() {
            let is_off = header.get("disabled").and_then(Node::flag) == Some(true);
            let (Some(name), Some(value)) = (header.get("key").and_then(Node::text), header.get("value")) else {
                continue;
            };
            if !is_off && !OWN_HEADERS.contains(&name.to_lowercase().as_str()) {
                headers.insert(name.to_owned(), self.fill(&value.to_text()).into());
            }
        }
        let names_user = headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
        if !headers.is_empty() {
            server["headers"] = headers.into();
        }
        match auth.and_then(|auth| Some((auth, auth.get("type")?.text()?))) {
            None | Some((_, "noauth")) => {}
            Some((auth, "bearer")) if !names_user => {
                let token = auth.get("bearer").map(Node::items).unwrap_or_default();
                let token = token.iter().find(|entry| entry.get("key").and_then(Node::text) == Some("token"));
                let token = token.and_then(|entry| entry.get("value")).map(Node::to_text).unwrap_or_default();
                server["auth"] = json!({ "bearer": self.fill(&token) });
            }
            Some((auth, kind)) => {
                let why = format!("`{kind}` is no way to log in that is converted; see `auth` of a server");
                left_out.push(LeftOut::new("auth", auth.span, why));
            }
        }
        server
    }

    fn into_parts(self, name: &str) -> SuiteParts {
        let mut parts = SuiteParts { left_out: self.left_out, ..SuiteParts::default() };
        parts.head.insert("suite".to_owned(), literal_value(name.into()));
        if !self.variables.is_empty() {
            parts.head.insert("variables".to_owned(), self.variables.into());
        }
        let mut servers: Vec<(usize, Value)> = self.servers.into_values().collect();
        servers.sort_by_key(|(number, _)| *number);
        let name_of = |number: usize| format!("server_{}", number + 1);
        let are_several = servers.len() > 1;
        if are_several {
            let named: Map<String, Value> =
                servers.into_iter().map(|(number, server)| (name_of(number), server)).collect();
            parts.head.insert("servers".to_owned(), named.into());
        } else if let Some((_, only)) = servers.into_iter().next() {
            parts.head.insert("server".to_owned(), only);
        }
        for (number, mut test) in self.tests {
            if are_several {
                let rest = std::mem::take(&mut test.test);
                for (key, value) in rest {
                    let is_name = key == "name";
                    test.test.insert(key, value);
                    if is_name {
                        test.test.insert("server".to_owned(), name_of(number).into());
                    }
                }
            }
            parts.tests.push(test);
        }
        parts
    }
}

/// The descriptions of a request, line by line.
fn described(item: &Node, request: &Node) -> Vec<String> {
    let text = |node: &Node| {
        let description = node.get("description")?;
        description.text().or_else(|| description.get("content").and_then(Node::text)).map(str::to_owned)
    };
    let text = text(request).or_else(|| text(item)).unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| visible_line(line).into_owned()).collect()
}

/// The lines of a script that say something.
fn script_lines(event: &Node) -> impl Iterator<Item = &Node> {
    let exec = event.get("script").and_then(|script| script.get("exec"));
    let lines = exec.map(|exec| if exec.text().is_some() { std::slice::from_ref(exec) } else { exec.items() });
    let says_something = |line: &&Node| {
        let text = line.to_text();
        !FRAME.as_ref().is_some_and(|frame| frame.is_match(text.trim()))
    };
    lines.unwrap_or_default().iter().filter(says_something)
}

/// A folder as a tag.
fn tag(folder: &str) -> Value {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    let words = folder.split(|letter: char| !is_word(letter)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase().into()
}

/// The action of a test that sends a message.
fn action(method: &str, params: Option<Value>, is_request: bool) -> Map<String, Value> {
    let mut made = Map::new();
    let named = |key: &str| params.as_ref().and_then(|params| params[key].as_str()).map(str::to_owned);
    let lists = [("tools/list", "tools"), ("resources/list", "resources"), ("prompts/list", "prompts")];
    let list = lists.iter().find(|(known, _)| *known == method);
    let is_whole = params.as_ref().is_none_or(|params| params.as_object().is_some_and(Map::is_empty));
    let arguments = params.as_ref().and_then(|params| params.get("arguments")).filter(|args| args.is_object());
    match (method, named("name"), named("uri"), list) {
        ("tools/call" | "prompts/get", Some(name), _, _) if is_request => {
            made.insert(if method == "tools/call" { "call" } else { "prompt" }.to_owned(), name.into());
            if let Some(arguments) = arguments.filter(|arguments| **arguments != json!({})) {
                made.insert("args".to_owned(), arguments.clone());
            }
        }
        ("resources/read", _, Some(uri), _) if is_request => drop(made.insert("read".to_owned(), uri.into())),
        (_, _, _, Some((_, list))) if is_request && is_whole => drop(made.insert("list".to_owned(), (*list).into())),
        _ => {
            made.insert(if is_request { "request" } else { "notify" }.to_owned(), method.into());
            if let Some(params) = params {
                made.insert("params".to_owned(), params);
            }
        }
    }
    made
}

/// The expectations of a line of a script; `None` where it compares something else.
fn comparison(line: &str) -> Option<Vec<Value>> {
    let line = line.trim();
    if line.starts_with("pm.response.to.have.status(200)") || line.starts_with("pm.response.to.be.ok") {
        // Over HTTP, a result comes with this status.
        return Some(vec![json!({ "at": "result", "exists": true })]);
    }
    let found = COMPARISON.as_ref()?.captures(line)?;
    let part = |number: usize| found.get(number).map_or("", |part| part.as_str());
    let (path, negated, word) = (part(1).trim_start_matches('.'), !part(2).is_empty(), part(3));
    let argument: Option<Value> = serde_json::from_str(&part(4).trim().replace('\'', "\"")).ok();
    let root = path.split(['.', '[']).next().unwrap_or_default();
    if !["result", "error", ""].contains(&root) {
        return None;
    }
    let at = if path.is_empty() {
        None
    } else {
        Some(path_within("", &format!("$.{path}"))?.trim_start_matches('.').to_owned())
    };
    let property = || {
        let name = argument.as_ref()?.as_str()?;
        let at = at.as_ref().map_or_else(|| name.to_owned(), |at| format!("{at}.{name}"));
        path_within("", &format!("$.{at}")).map(|at| at.trim_start_matches('.').to_owned())
    };
    let matchers = match (word, &argument, negated) {
        ("property", Some(_), _) => return Some(vec![json!({ "at": property()?, "exists": !negated })]),
        ("exist" | "undefined" | "ok", None, _) => {
            let is_there = (word == "undefined") == negated;
            return Some(vec![json!({ "at": at?, "exists": is_there })]);
        }
        ("eql" | "equal" | "equals", Some(value), _) => json!({ "equals": literal_value(value.clone()) }),
        ("include" | "contain", Some(value), _) => json!({ "contains": literal_value(value.clone()) }),
        ("a" | "an", Some(Value::String(kind)), _)
            if ["string", "number", "boolean", "array", "object"].contains(&kind.as_str()) =>
        {
            json!({ "type": kind })
        }
        ("true" | "false", None, _) => json!({ "equals": word == "true" }),
        ("empty", None, true) => json!({ "length": { "min": 1 } }),
        ("above", Some(value @ Value::Number(_)), _) => json!({ "greater_than": value }),
        ("below", Some(value @ Value::Number(_)), _) => json!({ "less_than": value }),
        _ => return None,
    };
    let negates_matcher = negated && word != "empty";
    let mut item = json!({ "at": at? });
    if negates_matcher {
        item["not"] = matchers;
    } else if let (Some(item), Value::Object(matchers)) = (item.as_object_mut(), matchers) {
        item.extend(matchers);
    }
    Some(vec![item])
}
