//! Texts and paths of other tools as templates and paths of a suite.

use std::fmt::Write as _;

use serde_json::Value;

use crate::matching::PROVIDED;
use crate::source::map_texts;
use crate::source::template::literal_text;

/// Names that templates of a test have already.
const TAKEN: [&str; 12] =
    ["session", "server", "offer", "hints", "env", "round", "tool", "resource", "prompt", "run", "fixture", "store"];

/// The most characters of a reference; without a bound, a text of nothing but open marks is searched again and again.
const LONGEST: usize = 200;

/// The marks around a reference.
#[derive(Clone, Copy)]
pub(crate) struct Marks {
    pub(crate) open: &'static str,
    pub(crate) close: &'static str,
}

impl Marks {
    /// A text in which known references become templates, and everything else stays what it is.
    pub(crate) fn fill(self, text: &str, expression: &dyn Fn(&str) -> Option<String>) -> String {
        let (mut whole, mut rest, mut from) = (String::new(), text, 0);
        while let Some(begin) = rest[from..].find(self.open).map(|at| from + at) {
            let inner = begin + self.open.len();
            let length = beginning(&rest[inner..]).find(self.close);
            let filled = length.and_then(|length| expression(rest[inner..inner + length].trim()).zip(Some(length)));
            let Some((expression, length)) = filled else {
                from = inner;
                continue;
            };
            let _ = write!(whole, "{}{{{{ {expression} }}}}", literal_text(&rest[..begin]));
            rest = &rest[inner + length + self.close.len()..];
            from = 0;
        }
        whole + &literal_text(rest)
    }

    /// The same for all texts of a value.
    pub(crate) fn fill_value(self, value: Value, expression: &dyn Fn(&str) -> Option<String>) -> Value {
        map_texts(value, &|text| self.fill(text, expression))
    }
}

/// As much of a text as a reference has at most.
fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

/// A value in which nothing is a template.
pub(crate) fn literal_value(value: Value) -> Value {
    map_texts(value, &literal_text)
}

/// The name under which a suite knows a value that another tool calls so.
pub(crate) fn template_name(name: &str) -> String {
    let plain: String = name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    let begins_well = plain.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_free = !TAKEN.contains(&plain.as_str()) && !PROVIDED.contains(&plain.as_str());
    if begins_well && is_free { plain } else { format!("value_{plain}") }
}

/// The expression for a variable of the environment that may be missing.
pub(crate) fn optional_variable(name: &str) -> String {
    format!("env.{name} | default('')")
}

/// A name that variables of the environment have.
pub(crate) fn is_variable(name: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && name.chars().all(is_word)
}

/// The path from a value to one within it, written as `$.a.b[0]`, `a.b[0]` or `$`; `None` for everything that is more than
/// names and indexes.
pub(crate) fn path_within(base: &str, path: &str) -> Option<String> {
    let path = path.strip_prefix('$').unwrap_or(path);
    let mut whole = base.to_owned();
    for (at, part) in path.split('.').enumerate() {
        let (name, mut indexes) = part.split_at(part.find('[').unwrap_or(part.len()));
        match name {
            "" if at == 0 => {}
            name if is_variable(name) => whole.extend([".", name]),
            name if !name.is_empty() && !name.contains(['*', '?', '(', '"', '\'']) => {
                let _ = write!(whole, "[{}]", Value::from(name));
            }
            _ => return None,
        }
        while !indexes.is_empty() {
            let (index, rest) = indexes.strip_prefix('[')?.split_once(']')?;
            index.parse::<u32>().ok()?;
            let _ = write!(whole, "[{index}]");
            indexes = rest;
        }
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_templates() {
        let marks = Marks { open: "{{", close: "}}" };
        let known = |name: &str| (name == "id").then(|| "id".to_owned());
        for (text, expected) in [
            ("a{{id}}b{{ id }}", "a{{ id }}b{{ id }}"),
            ("{{other}} {{id}} {{", "{{ '{{' }}other}} {{ id }} {{ '{{' }}"),
            ("{{{{id}}", "{{ '{{' }}{{ id }}"),
            ("{% x %}", "{{ '{%' }} x %}"),
        ] {
            assert_eq!(marks.fill(text, &known), expected, "{text}");
        }
    }

    #[test]
    fn paths_are_names_and_indexes() {
        for (path, expected) in [
            ("$.a.b", Some("r.a.b")),
            ("a[0].b[1][2]", Some("r.a[0].b[1][2]")),
            ("$[0].id", Some("r[0].id")),
            ("$", Some("r")),
            ("$.a-b", Some("r[\"a-b\"]")),
            ("$..a", None),
            ("$.a[*]", None),
            ("$.a[?(@.b)]", None),
            ("$.a[0", None),
        ] {
            assert_eq!(path_within("r", path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn names_are_free() {
        for (name, expected) in [
            ("id", "id"),
            ("session-id", "session_id"),
            ("1st", "value_1st"),
            ("env", "value_env"),
            ("result", "value_result"),
        ] {
            assert_eq!(template_name(name), expected);
        }
    }
}
