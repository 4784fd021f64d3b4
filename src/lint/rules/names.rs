//! Names of tools.

use std::collections::BTreeMap;

use super::super::{Lint, LintFinding, LintRule, LintSubject};
use super::{ADVICE, NAME, WARNING};
use crate::source::words;

const NAMES: &str = "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names";

pub(crate) static LINTS: &[Lint] = &[
    Lint {
        id: "name-characters",
        variant: NAME,
        says: "a name is longer than 128 characters, or has characters other than ASCII letters, digits, `_`, `-` and `.`",
        why: "the specification advises against it, and providers refuse the whole request",
        cure: "rename the tool; a readable name belongs into `title`",
        link: NAMES,
        good: r#"{"name": "notes.find-all_v2"}"#,
        bad: r#"{"name": "find notes"}"#,
        rule: LintRule::Tool(|tool| Some(("name".to_owned(), bad_name(&tool.name, 128, "_-.")?))),
        ..WARNING
    },
    Lint {
        id: "duplicate-name",
        says: "two tools have the same name",
        why: "clients can reach only one of them, and providers refuse the whole request",
        cure: "give each tool a unique name",
        link: NAMES,
        good: r#"[{"name": "find_notes"}, {"name": "find_tasks", "description": "Finds tasks whose title holds a word."}]"#,
        bad: r#"[{"name": "find_notes"}, {"name": "find_notes", "description": "Finds tasks whose title holds a word."}]"#,
        rule: LintRule::List(duplicate_name),
        ..WARNING
    },
    Lint {
        id: "similar-names",
        variant: NAME,
        says: "two names differ only in case or in the separators of their words",
        why: "models mix them up, and clients that rewrite names for a provider make one of them",
        cure: "give them names that differ in a word",
        link: NAMES,
        good: r#"[{"name": "find_notes"}, {"name": "find_tasks", "description": "Finds tasks whose title holds a word."}]"#,
        bad: r#"[{"name": "find_notes"}, {"name": "find-notes", "description": "Finds tasks whose title holds a word."}]"#,
        rule: LintRule::List(similar_names),
        ..WARNING
    },
    Lint {
        id: "long-name",
        variant: NAME,
        says: "a name leaves fewer than 16 of 64 characters for the prefix that clients add",
        why: "clients join the names of server and tool, and leave out or cut what is longer than 60 or 64 characters",
        cure: "shorten it to 48 characters",
        link: "https://github.com/microsoft/vscode/issues/243602",
        good: r#"{"name": "find_notes_whose_text_holds_a_word"}"#,
        bad: r#"{"name": "find_notes_whose_text_holds_a_word_or_one_that_is_like_it"}"#,
        rule: LintRule::Tool(|tool| {
            let count = tool.name.chars().count();
            (count > 48 && count <= 128).then(|| ("name".to_owned(), format!("the name has {count} characters")))
        }),
        ..ADVICE
    },
];

/// The fault of a name that may hold only letters of ASCII, digits and some other characters.
pub(crate) fn bad_name(name: &str, most: usize, others: &str) -> Option<String> {
    let count = name.chars().count();
    if count > most {
        return Some(format!("the name has {count} characters; the maximum is {most}"));
    }
    let strange = name.chars().find(|c| !c.is_ascii_alphanumeric() && !others.contains(*c))?;
    Some(format!("the name holds {}", describe_character(strange)))
}

/// A character in a sentence.
pub(crate) fn describe_character(c: char) -> String {
    match c {
        ' ' => "a space".to_owned(),
        c if c.is_ascii_graphic() => format!("`{c}`"),
        c => format!("U+{:04X}", u32::from(c)),
    }
}

/// The tools whose key another tool before them has.
fn find_repeats(
    subject: &LintSubject<'_>,
    key: impl Fn(&str) -> String,
    says: impl Fn(&str, &str) -> Option<String>,
) -> Vec<LintFinding> {
    let mut first: BTreeMap<String, &str> = BTreeMap::new();
    let named = subject.tools.iter().filter(|tool| !tool.name.is_empty());
    let found = named.filter_map(|tool| {
        let other = *first.entry(key(&tool.name)).or_insert(&tool.name);
        let is_first = std::ptr::eq(other, tool.name.as_str());
        let says = says(&tool.name, other).filter(|_| !is_first)?;
        Some(LintFinding { tool: tool.name.clone(), at: "name".to_owned(), says })
    });
    found.collect()
}

pub(crate) fn duplicate_name(subject: &LintSubject<'_>) -> Vec<LintFinding> {
    find_repeats(subject, str::to_owned, |_, _| Some("another tool before it has the same name".to_owned()))
}

fn similar_names(subject: &LintSubject<'_>) -> Vec<LintFinding> {
    let plain = |name: &str| words(name).concat();
    find_repeats(subject, plain, |own, other| (own != other).then(|| format!("the name is nearly that of `{other}`")))
}
