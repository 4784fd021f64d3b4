//! The codes of mistakes and of failures, as the page about them has them.

use std::fmt::Write as _;

/// The page, whose tables are made from the code.
const PAGE: &str = include_str!("../../../docs/reference/errors.md");

/// The codes of mistakes, which have a section each, and those of failures, which have a row.
pub(crate) fn codes() -> impl Iterator<Item = &'static str> {
    sections().map(|(code, _)| code).chain(rows().flat_map(|row| row.codes()))
}

/// The text about a code; `None` where the page has none.
pub(crate) fn explanation(code: &str) -> Option<String> {
    let mistake = sections().find(|(name, _)| *name == code).map(|(_, text)| mistake(code, text));
    let failure = rows().find(|row| row.codes().any(|known| known == code)).map(|row| row.explanation(code));
    let texts: Vec<String> = mistake.into_iter().chain(failure).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// The sections of mistakes: their code, and what is below the heading.
fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    PAGE.split("\n## `").skip(1).filter_map(|section| {
        let (code, text) = section.split_once("`\n")?;
        Some((code, text.split("\n## ").next().unwrap_or_default()))
    })
}

/// A row of the table of failures.
struct FailureRow {
    codes: &'static str,
    kind: &'static str,
    meaning: &'static str,
    cure: &'static str,
}

impl FailureRow {
    fn codes(&self) -> impl Iterator<Item = &'static str> + use<> {
        // Between two marks is a code, and then what stands between two of them.
        self.codes.split('`').skip(1).step_by(2)
    }

    fn explanation(&self, code: &str) -> String {
        let mut text = format!("{code}: a code of cases that did not pass\n\n");
        for (title, words) in [("means", self.meaning), ("check", self.cure), ("kind", self.kind)] {
            let _ = writeln!(text, "  {title:<5}  {}", plain(words));
        }
        text
    }
}

fn rows() -> impl Iterator<Item = FailureRow> {
    let table = PAGE.split_once("\n## Codes of failures").map_or("", |(_, rest)| rest);
    table.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.trim_end_matches('|').split(" | ").map(str::trim);
        let row = FailureRow {
            codes: cells.next().filter(|codes| codes.starts_with('`'))?,
            kind: cells.next()?,
            meaning: cells.next()?,
            cure: cells.next()?,
        };
        Some(row)
    })
}

/// The section of a mistake for a terminal: text and examples, one below the other.
fn mistake(code: &str, section: &str) -> String {
    let mut text = format!("{code}: a mistake that is found before anything runs\n");
    let mut is_example = false;
    for line in section.trim_end().lines() {
        if line.starts_with("```") {
            is_example = !is_example;
        } else if line.is_empty() {
            text.push('\n');
        } else if is_example {
            let _ = writeln!(text, "    {line}");
        } else {
            let _ = writeln!(text, "  {}", plain(line));
        }
    }
    text
}

/// Markdown whose links are their text, with the page where they lead to another one.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, linked)) = rest.split_once('[') {
        plain += before;
        match linked.split_once("](").and_then(|(name, target)| {
            let (target, after) = target.split_once(')')?;
            Some((name, target, after))
        }) {
            Some((name, target, after)) if !name.contains('[') => {
                plain += name;
                if let Some(page) = target.split('#').next().and_then(|page| page.strip_prefix("../")) {
                    let _ = write!(plain, " (docs/{page})");
                }
                rest = after;
            }
            Some(_) | None => {
                plain.push('[');
                rest = linked;
            }
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_their_text() {
        for (written, expected) in [
            ("the [scans](scans.md) of every run", "the scans of every run"),
            ("`[GUARDED](a.md)` and [more](b.md#c)", "`GUARDED` and more"),
            ("tools: [a, b]", "tools: [a, b]"),
            ("[[a](b)]", "[a]"),
            ("", ""),
        ] {
            assert_eq!(plain(written), expected, "{written}");
        }
    }

    #[test]
    fn the_page_explains_mistakes_and_failures() {
        let all: Vec<&str> = codes().collect();
        assert!(all.contains(&"yaml-syntax") && all.contains(&"orphans") && all.len() > 200, "{all:?}");
        for code in all {
            let text = explanation(code).unwrap();
            assert!(text.lines().count() > 2 && !text.contains("](") && !text.contains("<!--"), "{text}");
        }
        assert_eq!(explanation("nothing-of-the-kind"), None);
        insta::assert_snapshot!([explanation("empty-send"), explanation("orphans")].map(Option::unwrap).join("\n"));
    }
}
