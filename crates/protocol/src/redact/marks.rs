//! Marks for secrets that are sent again, which no text of a server can imitate.
//!
//! A mark is `{{ env.MCPROVE_SECRET_NAME }}`. A text that reads like the beginning of one gets one more `'` in front of
//! `env`, and loses it where it is quoted again.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// The prefix of the variables from which secrets are restored.
pub const RESTORED_FROM: &str = "MCPROVE_SECRET_";

/// A mark.
#[expect(clippy::unwrap_used, reason = "the pattern is constant")]
static MARK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{\{ env\.(MCPROVE_SECRET_[A-Z0-9_]+) \}\}").unwrap());

/// A text that could become a mark.
#[expect(clippy::unwrap_used, reason = "the pattern is constant")]
static ALIKE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{\{ ('*)env\.MCPROVE_SECRET_").unwrap());

/// The same behind what takes its meaning from it.
#[expect(clippy::unwrap_used, reason = "the pattern is constant")]
static TAKEN_LITERALLY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{\{ '('*)env\.MCPROVE_SECRET_").unwrap());

/// A part of a text with marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<'a> {
    /// Literal text.
    Literal(Cow<'a, str>),
    /// The variable from which a secret is taken back.
    Secret(&'a str),
}

/// The variable from which the secret of that name is taken back.
pub fn variable(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    RESTORED_FROM.chars().chain(name.chars().map(plain)).collect()
}

/// The template that is filled from a variable.
pub fn mark(variable: &str) -> String {
    format!("{{{{ env.{variable} }}}}")
}

/// A text with marks, in its parts; literal text is never taken for a mark.
pub fn parts(text: &str) -> Vec<Part<'_>> {
    let text_part = |part| Part::Literal(TAKEN_LITERALLY.replace_all(part, "{{ ${1}env.MCPROVE_SECRET_"));
    let (mut parts, mut at) = (Vec::new(), 0);
    for found in MARK.captures_iter(text) {
        let Some((whole, variable)) = found.get(0).zip(found.get(1)) else { continue };
        parts.push(text_part(&text[at..whole.start()]));
        parts.push(Part::Secret(variable.as_str()));
        at = whole.end();
    }
    parts.push(text_part(&text[at..]));
    parts
}

/// A text in which [`parts`] finds no mark, and the text itself.
pub(crate) fn literal(text: &str) -> String {
    ALIKE.replace_all(text, "{{ '${1}env.MCPROVE_SECRET_").into_owned()
}

/// A text with marks, changed everywhere but there.
pub(crate) fn around(text: &str, change: &dyn Fn(&str) -> String) -> String {
    let (mut whole, mut at) = (String::with_capacity(text.len()), 0);
    for found in MARK.find_iter(text) {
        whole += &change(&text[at..found.start()]);
        whole += found.as_str();
        at = found.end();
    }
    whole + &change(&text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_no_mark() {
        let long = "{{ env.MCPROVE_SECRET_KEY }}";
        for text in
            ["plain", long, "{{ 'env.MCPROVE_SECRET_KEY }}", "{{ ''env.MCPROVE_SECRET_", "{{{ env.MCPROVE_SECRET_K }}"]
        {
            assert_eq!(parts(&literal(text)), [Part::Literal(text.into())]);
        }
        let mixed = format!("{}{long}{}", literal(long), literal("{{ 'env.MCPROVE_SECRET_B }}"));
        let secret = Part::Secret("MCPROVE_SECRET_KEY");
        assert_eq!(
            parts(&mixed),
            [Part::Literal(long.into()), secret, Part::Literal("{{ 'env.MCPROVE_SECRET_B }}".into())]
        );
        assert_eq!(around(&format!("KEY {long} KEY"), &|part| part.replace("KEY", "-")), format!("- {long} -"));
    }
}
