//! The text of a suite as a recording holds it: what a field with a secret's name holds is masked there, too.

use std::collections::BTreeMap;
use std::path::Path;

use super::file::RecordedText;
use crate::redact::{MASK, Redactor, holds_a_secret, is_secret, option_secrets, query_secrets, user_of};
use crate::source::{Node, SourceFile, Sources, Span, parse, parse_jsonc};
use crate::suite::mask_csv;

/// The ends of names of files that are never rows of CSV.
const YAML: [&str; 2] = ["yml", "yaml"];
const JSON: [&str; 2] = ["json", "jsonc"];

/// Keys of expectations that compare what a path finds.
const COMPARING: [&str; 4] = ["equals", "one_of", "includes", "contains"];

/// Keys of a schema: what stands beside them describes a field.
const SCHEMA: [&str; 6] = ["type", "$ref", "enum", "anyOf", "oneOf", "allOf"];

impl RecordedText {
    /// A file of a suite without secrets; `None` for one that is no mapping or list and has no rows, whose secrets cannot be
    /// found. Suites and rows may have names that say nothing: what reads as a mapping or list is one.
    pub fn without_secrets(file: &str, text: &str, redactor: &Redactor) -> Option<Self> {
        let as_rows = || mask_csv(text, &|column, cell| masked_cell(column, cell, redactor));
        let masked = if ends(file, &["csv"]) {
            as_rows()
        } else {
            let is_yaml = ends(file, &YAML) || ends(file, &JSON);
            mask_nodes(file, text, redactor).or_else(|| if is_yaml { None } else { as_rows() })
        };
        Some(Self { file: redactor.text(file), text: redactor.text(&masked?) })
    }
}

fn ends(file: &str, ends: &[&str]) -> bool {
    Path::new(file).extension().is_some_and(|end| ends.iter().any(|known| end.eq_ignore_ascii_case(known)))
}

/// What a cell with a secret becomes; it may hold JSON.
fn masked_cell(column: &str, cell: &str, redactor: &Redactor) -> Option<String> {
    let masked = if holds_a_secret(column, cell) { MASK.to_owned() } else { redactor.text(cell) };
    (masked != cell).then_some(masked)
}

fn mask_nodes(file: &str, text: &str, redactor: &Redactor) -> Option<String> {
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new(file.to_owned(), text.to_owned()));
    // Comments of JSON read as texts of YAML, and any line reads as a text.
    let root = if ends(file, &JSON) { parse_jsonc(&sources, id) } else { parse(&sources, id) };
    let root = root.or_else(|_| parse_jsonc(&sources, id)).ok();
    let root = root.filter(|root| !root.entries().is_empty() || !root.items().is_empty())?;
    let mut masks = Masks { text, found: BTreeMap::new(), anchors: Vec::new() };
    masks.add_fields(&root);
    masks.add_known(&root, redactor);
    masks.add_anchors(&root);
    Some(masks.apply())
}

/// The places in a text of values that must not be read.
struct Masks<'a> {
    text: &'a str,
    /// What takes their place.
    found: BTreeMap<Span, String>,
    /// The names of values that stand elsewhere.
    anchors: Vec<&'a str>,
}

impl<'a> Masks<'a> {
    fn add_fields(&mut self, node: &Node) {
        for (key, value) in node.entries() {
            // A capture has a path under the name of what it finds.
            if key.value == "capture" {
                continue;
            }
            self.add_secret(&key.value, value, &holds_a_secret);
            // Literal variables and headers are secret by the same guess as on the command line.
            if ["env", "headers"].contains(&key.value.as_str()) {
                for (name, literal) in value.entries() {
                    self.add_secret(&name.value, literal, &is_secret);
                }
            }
            self.add_fields(value);
        }
        // What a path finds may be secret, and so is what is expected there.
        if let Some(path) = node.get("at").and_then(Node::text) {
            for (_, expected) in node.entries().iter().filter(|(key, _)| COMPARING.contains(&key.value.as_str())) {
                self.add_secret(path, expected, &holds_a_secret);
            }
        }
        self.add_words(node);
        for item in node.items() {
            self.add_fields(item);
        }
    }

    /// Adds the texts below a name that says that they are secret; a template holds none, and neither does a schema.
    fn add_secret(&mut self, name: &str, value: &Node, is_hidden: &dyn Fn(&str, &str) -> bool) {
        if SCHEMA.iter().any(|key| value.get(key).is_some()) {
            return;
        }
        // A text in a block ends with its line.
        if value.text().is_some_and(|text| !text.contains("{{") && is_hidden(name, text.trim_end())) {
            self.add(value.span, MASK.to_owned());
        }
        for below in value.items().iter().chain(value.entries().iter().map(|(_, value)| value)) {
            self.add_secret(name, below, is_hidden);
        }
    }

    /// Adds the secrets of a command, in words or as one text, and of an address.
    fn add_words(&mut self, node: &Node) {
        let words: Vec<&str> = node.items().iter().map(|item| item.text().unwrap_or_default()).collect();
        let secrets = option_secrets(&words);
        for (item, word) in node.items().iter().zip(&words) {
            let is_in = |secret: &&str| {
                word.strip_suffix(secret).is_some_and(|before| before.is_empty() || before.ends_with('='))
            };
            let secret = secrets.iter().copied().find(is_in);
            self.add_changed(
                item,
                word,
                secret.map_or_else(|| without_credentials(word), |one| word.replace(one, MASK)),
            );
        }
        if let Some((line, written)) = node.get("command").and_then(|line| Some((line, line.text()?))) {
            let secrets = option_secrets(&written.split_whitespace().collect::<Vec<_>>());
            let masked = secrets.iter().fold(written.to_owned(), |line, secret| line.replace(secret, MASK));
            self.add_changed(line, written, masked);
        }
        if let Some((url, written)) = node.get("url").and_then(|url| Some((url, url.text()?))) {
            self.add_changed(url, written, without_credentials(written));
        }
    }

    fn add_changed(&mut self, node: &Node, written: &str, masked: String) {
        if masked != written {
            self.add(node.span, masked);
        }
    }

    /// Adds the values and names that hold a known secret: a mask without quotes would be a list.
    fn add_known(&mut self, node: &Node, redactor: &Redactor) {
        for (key, value) in node.entries() {
            let redacted = redactor.text(&key.value);
            if redacted != key.value {
                self.add(key.span, redacted);
            }
            self.add_known(value, redactor);
        }
        for item in node.items() {
            self.add_known(item, redactor);
        }
        let is_scalar = node.entries().is_empty() && node.items().is_empty();
        let value = node.text().or_else(|| self.written(node.span).filter(|_| is_scalar)).unwrap_or_default();
        let redacted = redactor.text(value);
        // A text of several lines stays as it is written, and is masked with all others.
        if redacted != value && !value.contains('\n') {
            self.add(node.span, redacted);
        }
    }

    /// Adds the values that are used elsewhere, where they are secret.
    fn add_anchors(&mut self, node: &Node) {
        if self.anchors.is_empty() {
            return;
        }
        for below in node.items().iter().chain(node.entries().iter().map(|(_, value)| value)) {
            self.add_anchors(below);
        }
        let before = self.text.get(..node.span.start as usize).unwrap_or_default().trim_end();
        let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        let name = word.rsplit_once('&').map(|(_, name)| name);
        if node.text().is_some() && name.is_some_and(|name| self.anchors.contains(&name)) {
            self.add(node.span, MASK.to_owned());
        }
    }

    /// Adds what takes the place of a value, unless something does already.
    fn add(&mut self, span: Span, by: String) {
        match self.written(span).and_then(|written| written.strip_prefix('*')) {
            Some(anchor) => self.anchors.push(anchor),
            None => drop(self.found.entry(span).or_insert(by)),
        }
    }

    fn written(&self, span: Span) -> Option<&'a str> {
        self.text.get(span.start as usize..span.end as usize).map(str::trim_end)
    }

    /// The text with what takes the place of values.
    fn apply(&self) -> String {
        let (mut masked, mut end) = (String::new(), 0);
        for (span, by) in &self.found {
            let start = span.start as usize;
            let (Some(written), Some(before)) = (self.written(*span), self.text.get(end..start)) else { continue };
            masked.push_str(before);
            let is_bare = is_in_block(&self.text[..start]);
            masked.push_str(&if is_bare { by.clone() } else { serde_json::Value::from(by.as_str()).to_string() });
            end = start + written.len();
        }
        masked + &self.text[end..]
    }
}

/// An address without what would let others in.
fn without_credentials(text: &str) -> String {
    if !text.contains("://") || text.contains("{{") {
        return text.to_owned();
    }
    let bare = query_secrets(text).fold(text.to_owned(), |text, secret| text.replace(secret, MASK));
    let secret = user_of(text).and_then(|user| match user.split_once(':') {
        Some((_, password)) => Some(password),
        None => Some(user).filter(|user| is_secret("", user)),
    });
    match secret.filter(|secret| !secret.is_empty()) {
        Some(secret) => bare.replacen(&format!("{secret}@"), &format!("{MASK}@"), 1),
        None => bare,
    }
}

/// A text that follows is one of a block, which needs no quotes: `|`, `>-`.
fn is_in_block(before: &str) -> bool {
    let Some((lines, indent)) = before.rsplit_once('\n') else { return false };
    let mark = lines.trim_end().trim_end_matches(|end: char| end == '-' || end == '+' || end.is_ascii_digit());
    indent.chars().all(|one| one == ' ') && mark.ends_with(['|', '>'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_secrets_are_masked_where_their_names_tell() {
        for (file, text, expected) in [
            ("a.yml", "suite: a\n", Some("suite: a\n")),
            (
                "a.yml",
                "args: { user: ann, password: tortoise }\n",
                Some("args: { user: ann, password: \"[redacted]\" }\n"),
            ),
            (
                "a.yml",
                "args: { password: \"{{ env.PASSWORD }}\" }\n",
                Some("args: { password: \"{{ env.PASSWORD }}\" }\n"),
            ),
            (
                "a.yml",
                "args:\n  password: >-\n    tortoise\nn: 1\n",
                Some("args:\n  password: >-\n    [redacted]\nn: 1\n"),
            ),
            (
                "a.yml",
                "env: { API_TOKEN: abc-def, MODE: production }\n",
                Some("env: { API_TOKEN: \"[redacted]\", MODE: production }\n"),
            ),
            (
                "a.yml",
                "properties: { password: { type: string, format: secret-words } }\n",
                Some("properties: { password: { type: string, format: secret-words } }\n"),
            ),
            (
                "a.yml",
                "args: { password: [{ old: tortoise }, tortoise2] }\n",
                Some("args: { password: [{ old: \"[redacted]\" }, \"[redacted]\"] }\n"),
            ),
            ("a.yml", "password: |\n  tortoise\nn: 1\n", Some("password: |\n  [redacted]\nn: 1\n")),
            (
                "a.yml",
                "a: &pw tortoise\nb: { password: *pw }\nc: &other tortoise\n",
                Some("a: &pw \"[redacted]\"\nb: { password: *pw }\nc: &other tortoise\n"),
            ),
            (
                "a.yml",
                "expect: [{ at: user.password, equals: tortoise }]\n",
                Some("expect: [{ at: user.password, equals: \"[redacted]\" }]\n"),
            ),
            (
                "a.yml",
                "- capture: { token: result.token }\n- { at: a.token, format: uuid, equals: \"{{ token }}\" }\n",
                Some("- capture: { token: result.token }\n- { at: a.token, format: uuid, equals: \"{{ token }}\" }\n"),
            ),
            ("a.yml", "url: \"http://h/?token={{ token }}\"\n", Some("url: \"http://h/?token={{ token }}\"\n")),
            ("a.yml", "text: is it? token=abcd\n", Some("text: is it? token=abcd\n")),
            ("a.yml", "a: { known-elsewhere: 1 }\n", Some("a: { \"[redacted]\": 1 }\n")),
            (
                "a.yml",
                "command: [x, --api-key, tortoise, --token=hare-1, -v]\n",
                Some("command: [x, --api-key, \"[redacted]\", \"--token=[redacted]\", -v]\n"),
            ),
            (
                "a.yml",
                "command: x --api-key tortoise --token=hare-1 -v\n",
                Some("command: \"x --api-key [redacted] --token=[redacted] -v\"\n"),
            ),
            (
                "a.json",
                "{\"url\": \"https://ann:tortoise@host/?api_key=hare&n=1\", \"b\": \"ssh://git@host\"}\n",
                Some("{\"url\": \"https://ann:[redacted]@host/?api_key=[redacted]&n=1\", \"b\": \"ssh://git@host\"}\n"),
            ),
            ("a.yml", "a: [known-elsewhere]\n", Some("a: [\"[redacted]\"]\n")),
            ("a.yml", "a: x known-elsewhere # known-elsewhere\n", Some("a: \"x [redacted]\" # [redacted]\n")),
            ("a.yml", "a: |\n  known-elsewhere\n", Some("a: |\n  [redacted]\n")),
            ("a.yml", "id,password\n1,{tortoise\n", None),
            ("a.txt", "args:\n  password: tortoise\n", Some("args:\n  password: \"[redacted]\"\n")),
            ("rows", "id,password\n1,tortoise\n", Some("id,password\n1,\"[redacted]\"\n")),
            ("a.csv", "id,password\n1,tortoise\n", Some("id,password\n1,\"[redacted]\"\n")),
            (
                "a.csv",
                "id,body\n1,\"{\"\"password\"\":\"\"tortoise\"\"}\"\n",
                Some("id,body\n1,\"{\"\"password\"\":\"\"[redacted]\"\"}\"\n"),
            ),
            (
                "a.json",
                "{ // known-elsewhere\n\t\"password\": \"tortoise\" }\n",
                Some("{ // [redacted]\n\t\"password\": \"[redacted]\" }\n"),
            ),
        ] {
            let redactor = Redactor::new(["known-elsewhere".to_owned()]);
            let written = RecordedText::without_secrets(file, text, &redactor).map(|written| written.text);
            assert_eq!(written.as_deref(), expected, "{text}");
        }
    }
}
