//! From a text to the steps of a path.

use super::{DottedPath, PathStep};
use crate::source::shorten;

/// The number of characters of a path that are quoted in a sentence.
const TOLD: usize = 60;

impl DottedPath {
    /// Compiles a path; the sentence says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the path is empty".to_owned());
        }
        let mut steps = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let (step, end) = if text[at..].starts_with('[') { bracket(text, at)? } else { name(text, at)? };
            steps.push(step);
            at = end;
            match text[at..].chars().next() {
                None | Some('[') => {}
                Some('.') if at + 1 < text.len() => at += 1,
                Some('.') => return Err(format!("the path `{}` ends with a dot", shorten_path(text))),
                Some(found) => return Err(unexpected_character(text, at, found)),
            }
        }
        Ok(Self { steps })
    }
}

fn name(text: &str, at: usize) -> Result<(PathStep, usize), String> {
    let length = text[at..].find(['.', '[', ']', '(', ')', '"', '\'']).unwrap_or(text.len() - at);
    let name = &text[at..at + length];
    let end = at + length;
    match name {
        "json" if text[end..].starts_with("()") => Ok((PathStep::Json, end + 2)),
        "*" => Ok((PathStep::Each, end)),
        "" => Err(unexpected_character(text, end, text[end..].chars().next().unwrap_or(' '))),
        "$" => Err(unexpected_character(text, at, '$')),
        _ if name != name.trim() => Err(unexpected_character(text, at, ' ')),
        _ => Ok((PathStep::Member(name.to_owned()), end)),
    }
}

fn bracket(text: &str, at: usize) -> Result<(PathStep, usize), String> {
    let inner = &text[at + 1..];
    if let Some(quote) = inner.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        return quoted_name(text, at + 1, quote);
    }
    let Some(length) = inner.find(']') else {
        return Err(format!("the path `{}` has a `[` that is not closed", shorten_path(text)));
    };
    let step = match (inner[..length].trim(), inner[..length].split_once('=')) {
        ("*", _) => PathStep::Each,
        (_, Some((name, value))) => PathStep::Where(name.to_owned(), value.to_owned()),
        (digits, None) => PathStep::Index(digits.parse().map_err(|_| no_index(digits))?),
    };
    Ok((step, at + 1 + length + 1))
}

/// The mistake in a text in brackets.
pub fn no_index(text: &str) -> String {
    format!("`[{}]` is neither a whole number nor a quoted name such as `[\"a.b\"]`", shorten_path(text))
}

fn quoted_name(text: &str, start: usize, quote: char) -> Result<(PathStep, usize), String> {
    let unended = || format!("the path `{}` has a quoted name that is not closed", shorten_path(text));
    let mut escaped = false;
    let close = text[start + 1..].char_indices().find(|(_, c)| {
        let is_end = !escaped && *c == quote;
        escaped = !escaped && *c == '\\';
        is_end
    });
    let (length, _) = close.ok_or_else(unended)?;
    let raw = &text[start + 1..start + 1 + length];
    let end = start + 1 + length + 1;
    if !text[end..].starts_with(']') {
        return Err(unended());
    }
    let json = if quote == '"' {
        format!("\"{raw}\"")
    } else {
        format!("\"{}\"", raw.replace('"', "\\\"").replace("\\'", "'"))
    };
    let name = serde_json::from_str(&json)
        .map_err(|_| format!("`{}` is not a valid name: it has an invalid escape", shorten_path(raw)))?;
    Ok((PathStep::Member(name), end + 1))
}

fn unexpected_character(text: &str, at: usize, found: char) -> String {
    let position = text[..at].chars().count() + 1;
    format!(
        "the path `{}` has an unexpected `{found}` at character {position}; names with special characters are quoted, \
         as in `[\"a.b\"]`",
        shorten_path(text)
    )
}

fn shorten_path(text: &str) -> String {
    shorten(text, TOLD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for text in
            ["a.b", "a[-1].json().c", "a[*].b", "a[name=add].b", "[\"$x\"]", "a.$x", "a[\"b.c\"][\"it's \\\"q\\\"\"]"]
        {
            assert_eq!(DottedPath::parse(text).unwrap().to_string(), text);
        }
        for (text, written) in [("a.*", "a[*]"), ("a['b']", "a.b"), ("a[\"*\"]", "a[\"*\"]"), ("a b", "[\"a b\"]")] {
            assert_eq!(DottedPath::parse(text).unwrap().to_string(), written);
        }
    }

    #[test]
    fn what_is_no_path() {
        for wrong in ["", "a.", "a..b", "a[x]", "a[]", "a[", "$.a", "a.text()", "a.(b)"] {
            assert!(DottedPath::parse(wrong).is_err(), "{wrong}");
        }
    }
}
