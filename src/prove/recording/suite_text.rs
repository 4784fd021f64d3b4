//! The text of a suite as a recording holds it: what a field with a secret's name holds is masked there, too.

use super::file::RecordedText;
use crate::redact::{MASK, Redactor, holds_a_secret, is_secret};
use crate::source::{Node, SourceFile, Sources, Span, parse};

impl RecordedText {
    /// A file of a suite without secrets; `None` for one that is no mapping or list of YAML, whose secrets cannot be told.
    pub fn without_secrets(file: &str, text: &str, redactor: &Redactor) -> Option<Self> {
        let mut sources = Sources::default();
        let id = sources.add(SourceFile::new(file.to_owned(), text.to_owned()));
        // Lines of CSV read as one text.
        let root = parse(&sources, id).ok().filter(|root| !root.entries().is_empty() || !root.items().is_empty())?;
        let mut secrets = Vec::new();
        collect(&root, &mut secrets);
        secrets.sort_unstable_by_key(|span| std::cmp::Reverse(span.start));
        let mut masked = text.to_owned();
        for span in secrets {
            let start = span.start as usize;
            if let Some(written) = masked.get(start..span.end as usize).map(str::trim_end) {
                masked.replace_range(start..start + written.len(), &format!("\"{MASK}\""));
            }
        }
        Some(Self { file: redactor.text(file), text: redactor.text(&masked) })
    }
}

/// The places of values that must not be read.
fn collect(node: &Node, secrets: &mut Vec<Span>) {
    for (key, value) in node.entries() {
        mask(&key.value, value, &holds_a_secret, secrets);
        // Literal variables and headers are secret by the same guess as on the command line.
        if ["env", "headers"].contains(&key.value.as_str()) {
            for (name, literal) in value.entries() {
                mask(&name.value, literal, &is_secret, secrets);
            }
        }
        collect(value, secrets);
    }
    node.items().iter().for_each(|item| collect(item, secrets));
}

/// Adds the texts of a value whose name says that they are secret; a template holds none.
fn mask(name: &str, value: &Node, is_hidden: &dyn Fn(&str, &str) -> bool, secrets: &mut Vec<Span>) {
    for node in std::iter::once(value).chain(value.items()) {
        let is_secret = node.text().is_some_and(|text| !text.contains("{{") && is_hidden(name, text));
        if is_secret && !secrets.contains(&node.span) {
            secrets.push(node.span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_secrets_are_masked_where_their_names_tell() {
        for (text, expected) in [
            ("suite: a\n", Some("suite: a\n")),
            ("args: { user: ann, password: tortoise }\n", Some("args: { user: ann, password: \"[redacted]\" }\n")),
            ("args: { password: \"{{ env.PASSWORD }}\" }\n", Some("args: { password: \"{{ env.PASSWORD }}\" }\n")),
            ("args:\n  password: >-\n    tortoise\nn: 1\n", Some("args:\n  password: >-\n    \"[redacted]\"\nn: 1\n")),
            (
                "env: { API_TOKEN: abc-def, MODE: production }\n",
                Some("env: { API_TOKEN: \"[redacted]\", MODE: production }\n"),
            ),
            ("args: { password: { type: string } }\n", Some("args: { password: { type: string } }\n")),
            ("a: [known-elsewhere]\n", Some("a: [[redacted]]\n")),
            ("id,password\n1,{tortoise\n", None),
        ] {
            let redactor = Redactor::new(["known-elsewhere".to_owned()]);
            let written = RecordedText::without_secrets("a.yml", text, &redactor).map(|written| written.text);
            assert_eq!(written.as_deref(), expected, "{text}");
        }
    }
}
