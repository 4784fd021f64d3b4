//! Values as YAML that people like to read, and that means the same when it is read back.
//!
//! Knows nothing of suites but which of their lists are always spread.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{SourceFile, Sources, is_hidden, parse, parse_duration};

/// The width of a line before a value is spread over several.
const WIDTH: usize = 108;

/// Keys whose lists are always spread.
const SPREAD: [&str; 2] = ["expect", "steps"];

/// Words that YAML, or an older YAML, takes for something else than text.
const KEYWORDS: [&str; 10] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan"];

/// The surroundings of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Line,
    Braces,
}

/// A value as the text of a file or a part of one, every line indented.
pub fn block(value: &Value, indent: usize) -> String {
    let mut text = String::new();
    write_block(value, indent, &mut text);
    text
}

/// The value that a text means; `None` where it is no YAML.
pub fn read_value(text: &str) -> Option<Value> {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("missing", text));
    parse(&sources, source).ok().map(|node| node.to_json())
}

/// A value in one line.
pub fn flow(value: &Value) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let members: Vec<String> =
                members.iter().map(|(name, value)| format!("{}: {}", key(name), flow(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            scalar(value, Within::Braces)
        }
    }
}

fn write_block(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let _ = write!(text, "{:indent$}{}:", "", key(name));
                write_value(name, value, indent, text);
            }
        }
        Value::Array(items) => {
            for item in items {
                write_item(item, indent, text);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let _ = writeln!(text, "{:indent$}{}", "", scalar(value, Within::Line));
        }
    }
}

fn write_item(item: &Value, indent: usize, text: &mut String) {
    if item.as_object().is_some_and(|members| !members.is_empty()) {
        let inner = block(item, indent + 2);
        let _ = writeln!(text, "{:indent$}- {}", "", inner[indent + 2..].trim_end_matches('\n'));
    } else {
        let _ = writeln!(text, "{:indent$}- {}", "", flow(item));
    }
}

fn write_value(name: &str, value: &Value, indent: usize, text: &mut String) {
    let is_empty = match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let _ = writeln!(text, " {}", scalar(value, Within::Line));
            return;
        }
    };
    let line = flow(value);
    let is_short = indent + name.len() + line.chars().count() + 2 <= WIDTH && !SPREAD.contains(&name);
    if is_empty || is_short {
        let _ = writeln!(text, " {line}");
        return;
    }
    text.push('\n');
    write_block(value, indent + 2, text);
}

fn key(name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_word);
    if is_plain && !is_keyword(name) { name.to_owned() } else { quote(name) }
}

fn scalar(value: &Value, within: Within) -> String {
    match value {
        Value::String(text) if is_plain(text, within) => text.clone(),
        Value::String(text) => quote(text),
        Value::Object(_) => "{}".to_owned(),
        Value::Array(_) => "[]".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn is_plain(text: &str, within: Within) -> bool {
    if parse_duration(text).is_some() && text.chars().all(|c| c.is_ascii_alphanumeric()) {
        return true;
    }
    let is_ordinary =
        |c: char| c.is_alphanumeric() || "_-./@+= ".contains(c) || within == Within::Line && "[](),".contains(c);
    let begins_well = text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        || ["./", "../"].iter().any(|begin| text.starts_with(begin));
    begins_well && text.chars().all(is_ordinary) && !text.ends_with(' ') && !text.contains("  ") && !is_keyword(text)
}

fn is_keyword(text: &str) -> bool {
    KEYWORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// A text in double quotes, where YAML lets everything be escaped.
pub fn quote(text: &str) -> String {
    let mut shown = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => shown.extend(['\\', c]),
            '\n' => shown += "\\n",
            '\t' => shown += "\\t",
            c if is_hidden(c) => {
                let _ = write!(shown, "\\U{:08x}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    shown + "\""
}

/// An object of these members, without those that are not there.
pub fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let there = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(there.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_means_the_same() {
        for value in [
            json!({"name": "a: b", "call": "x", "args": {"a": "1", "b": 1, "c": 1.5, "d": null, "e": true}}),
            json!({"expect": [{"at": "result.content[0].text", "equals": "yes"}, {"is_error": false}]}),
            json!({"a": ["~", "- x", "#c", "a #b", "{{ x }}", "{% raw %}", "'", "\"", "", " ", "no", "0x1", "1e3", ".5"]}),
            json!({"a": "line\nbreak\r\n\ttab", "b": "\u{feff}\u{2028}\u{85}\u{7f}\u{0}\u{1f600}é漢"}),
            json!({"$ref": 1, "a.b": 2, "": 3, "no": 4, "x y": 5, "[": 6, "1": 7}),
            json!({"deep": {"er": {"and": ["long", "x".repeat(90), {"list": [[1, [2]], {}, []]}]}}}),
            json!({"d": ["../a b", "./1", "..", ".1", "10s", "500ms", "1.5s", "1e3s", "0x1h", "1h"]}),
            json!({"n": [1e21, -1.5e-9, 18_446_744_073_709_551_615_u64, -3]}),
            json!([{"a": [{"b": ["x".repeat(120)]}]}, [], {}, "t"]),
        ] {
            let text = block(&value, 0);
            assert_eq!(read_value(&text), Some(value.clone()), "{text}");
            assert_eq!(read_value(&flow(&value)), Some(value), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_easy_to_read() {
        let test = json!({
            "name": "get_user: name", "call": "get_user", "args": {"id": "u1"},
            "expect": [{"is_error": false}, {"at": "result.users[0].name", "equals": "Ann"}],
        });
        insta::assert_snapshot!(block(&json!([test]), 2), @r#"
          - name: "get_user: name"
            call: get_user
            args: { id: u1 }
            expect:
              - is_error: false
              - at: result.users[0].name
                equals: Ann
        "#);
    }
}
