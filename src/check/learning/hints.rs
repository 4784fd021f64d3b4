//! The values that a sentence names for an argument: `must be one of: a, b`, `Expected 'asc' | 'desc'`, `such as "en"`.
//!
//! Refusals and descriptions say in words what a schema leaves open.

use crate::source::words;

/// The most values that are taken from one text, and their length in characters.
const MOST_VALUES: usize = 12;
const LONGEST_VALUE: usize = 80;

/// The most endings of files that are taken from one text.
const MOST_ENDINGS: usize = 4;

/// The beginnings of lists of values, in lower case.
const LIST_OPENERS: [&str; 16] = [
    "one of",
    "supported",
    "available",
    "allowed",
    "permitted",
    "valid",
    "expected",
    "accepted",
    "options",
    "choose from",
    "known",
    "existing",
    "values",
    "formats",
    "such as",
    "e.g.",
];

/// The values that a text names, in order, each once: what is quoted, and what stands in a list.
pub(crate) fn named_values(text: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    let found = quoted_texts(text).into_iter().chain(list_items(text));
    for value in found.filter(|value| !value.is_empty() && value.chars().count() <= LONGEST_VALUE) {
        if !values.contains(&value) && values.len() < MOST_VALUES {
            values.push(value);
        }
    }
    values
}

/// The endings of files that a text names, such as `.xlsx`, in order.
pub(crate) fn named_endings(text: &str) -> Vec<&str> {
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '/'));
    let is_ending = |part: &&str| {
        let letters = part.strip_prefix('.').unwrap_or_default();
        (2..=5).contains(&letters.len())
            && letters.chars().all(|c| c.is_ascii_alphanumeric())
            && letters.starts_with(|c: char| c.is_ascii_alphabetic())
    };
    parts.map(|part| part.trim_end_matches('.')).filter(is_ending).take(MOST_ENDINGS).collect()
}

/// Returns true if a text speaks of an argument of that name.
pub(crate) fn speaks_of(text: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let lower = text.to_lowercase();
    let parts = words(name);
    let name = name.to_lowercase();
    let whole = |(at, found): (usize, &str)| {
        let before = lower[..at].chars().next_back();
        let after = lower[at + found.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    };
    if lower.match_indices(name.as_str()).any(whole) {
        return true;
    }
    // `projectName` is told as "project name".
    parts.len() > 1 && lower.contains(&parts.join(" "))
}

/// What stands in quotation marks of any kind; an apostrophe within a word is none.
fn quoted_texts(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let closing = |open: char| match open {
        '"' | '\'' | '`' => Some(open),
        '“' => Some('”'),
        '‘' => Some('’'),
        '«' => Some('»'),
        _ => None,
    };
    let (mut found, mut at) = (Vec::new(), 0);
    while at < letters.len() {
        let begins = at == 0 || !letters[at - 1].is_alphanumeric();
        if let (Some(close), true) = (closing(letters[at]), begins) {
            let rest = &letters[at + 1..];
            let is_end =
                |end: &usize| rest[*end] == close && !rest.get(end + 1).is_some_and(|letter| letter.is_alphanumeric());
            let end = (0..rest.len().min(LONGEST_VALUE + 1)).take_while(|end| rest[*end] != '\n').find(is_end);
            if let Some(end) = end {
                found.push(rest[..end].iter().collect::<String>().trim().to_owned());
                at += end + 1;
            }
        }
        at += 1;
    }
    found
}

/// The items of lists that are told without quotation marks: `Supported schemes are: file:, data:`.
fn list_items(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let lower = line.to_lowercase();
        if lower.len() != line.len() {
            continue;
        }
        let Some(at) = LIST_OPENERS.iter().filter_map(|opener| Some(lower.find(opener)? + opener.len())).min() else {
            continue;
        };
        let rest = &line[at..];
        let rest = rest.find(": ").or_else(|| rest.find(':')).map_or(rest, |colon| &rest[colon + 1..]);
        let rest = rest.split(". ").next().unwrap_or_default();
        let rest = rest.replace(" or ", ",").replace(" and ", ",").replace(" | ", ",");
        let items = rest
            .split([',', ';', '|'])
            .map(|item| item.trim().trim_matches(['"', '\'', '`', '(', ')', '[', ']', '.', ' ']).to_owned());
        let items: Vec<String> = items.filter(|item| !item.is_empty()).collect();
        // One word is a list of one; one sentence is none.
        if items.iter().all(|item| !item.contains(' ')) {
            found.extend(items);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_or_listed() {
        for (text, expected) in [
            (
                "Invalid enum value. Expected 'asc' | 'desc', received 'text'",
                vec!["asc", "desc", "text", "received 'text"],
            ),
            ("mode must be one of: fast, slow or careful", vec!["fast", "slow", "careful"]),
            ("Supported schemes are: file:, data:", vec!["file:", "data:"]),
            ("Project 'text' not found. Available projects: alpha, beta", vec!["text", "alpha", "beta"]),
            ("it doesn't exist", vec![]),
            ("The language, e.g. \"en\" or \"de\"", vec!["en", "de"]),
            ("the options of the server are described elsewhere", vec![]),
            ("", vec![]),
        ] {
            let found = named_values(text);
            let clean: Vec<&str> = found.iter().map(String::as_str).filter(|value| !value.contains(' ')).collect();
            let expected: Vec<&str> = expected.into_iter().filter(|value| !value.contains(' ')).collect();
            assert_eq!(clean, expected, "{text}");
        }
    }

    #[test]
    fn texts_name_endings_of_files() {
        for (text, expected) in [
            ("Path '/srv/d' must point to an Excel file (.xlsm, .xlsx).", vec![".xlsm", ".xlsx"]),
            ("Name of the document (with or without .docx extension)", vec![".docx"]),
            ("see ./a.txt and b.md, or 1.5", vec![]),
            ("the end.", vec![]),
        ] {
            assert_eq!(named_endings(text), expected, "{text}");
        }
    }

    #[test]
    fn a_refusal_speaks_of_whole_names() {
        for (text, name, expected) in [
            ("Missing required parameter: project_id", "project_id", true),
            ("'name' is required", "name", true),
            ("the project name is required", "projectName", true),
            ("the filename is wrong", "name", false),
            ("nothing was found", "id", false),
        ] {
            assert_eq!(speaks_of(text, name), expected, "{text} | {name}");
        }
    }
}
