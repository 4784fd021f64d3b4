//! Text of others as it may stand in a page.

use std::fmt::Write as _;

use crate::source::{replace_command_brackets, visible, visible_line};

/// Pages to which a text may lead, whoever wrote it; other addresses stay text.
pub(super) const DOCUMENTATION: [&str; 8] = [
    "https://ai.google.dev/",
    "https://arxiv.org/",
    "https://json-schema.org/",
    "https://modelcontextprotocol.io/",
    "https://platform.claude.com/docs/",
    "https://platform.openai.com/docs/",
    "https://www.jsonrpc.org/",
    "https://www.rfc-editor.org/",
];

/// Text within a line, in an element or a quoted attribute: markup and everything hidden is spelled out.
pub(super) fn inline(text: &str) -> String {
    escape(&visible_line(text))
}

/// Text whose line breaks stay.
pub(super) fn lines(text: &str) -> String {
    escape(&visible(text))
}

/// The same as code.
pub(super) fn code(text: &str) -> String {
    format!("<code>{}</code>", inline(text))
}

/// Lines that keep their form; they can be scrolled with the keyboard where they are too long.
pub(super) fn preformatted(text: &str) -> String {
    // The first line break of the element would be dropped.
    format!("<pre tabindex=\"0\">\n{}</pre>\n", with_links(&lines(text.trim_end())))
}

/// Text of others where backticks mark code, as messages have them.
pub(super) fn sentence(text: &str) -> String {
    let shown = visible_line(text);
    let parts: Vec<&str> = shown.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return with_links(&escape(&shown));
    }
    let part = |(at, part): (usize, &&str)| {
        if at % 2 == 1 { format!("<code>{}</code>", escape(part)) } else { with_links(&escape(part)) }
    };
    parts.iter().enumerate().map(part).collect()
}

/// A paragraph of such a text.
pub(super) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", sentence(text))
}

/// An item of a list with such a text.
pub(super) fn item(text: &str) -> String {
    format!("<li>{}</li>", sentence(text))
}

/// Escaped text in which addresses of documentation are links.
fn with_links(escaped: &str) -> String {
    let is_of_address = |c: char| c.is_ascii_alphanumeric() || "-._~/#:".contains(c);
    let (mut text, mut rest) = (String::with_capacity(escaped.len()), escaped);
    while let Some(at) = rest.find("https://") {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c| !is_of_address(c)).unwrap_or(from.len());
        let address = from[..end].trim_end_matches(['.', ':']);
        text += before;
        if DOCUMENTATION.iter().any(|site| address.starts_with(site)) {
            let _ = write!(text, "<a href=\"{address}\" rel=\"noreferrer\">{address}</a>");
        } else {
            text += address;
        }
        rest = &from[address.len()..];
    }
    text + rest
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    // A page on standard output is read by CI services, too.
    replace_command_brackets(&escaped, "&#91;").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_obeyed() {
        for (text, shown) in [
            ("plain é 漢", "plain é 漢"),
            ("<script>'\"&", "&lt;script&gt;&#39;&quot;&amp;"),
            ("\u{202e}evil\u{1b}[2J", "\\u{202e}evil\\u{1b}[2J"),
            ("two\nlines", "two\\u{a}lines"),
            ("##vso[x] a[0]", "##vso&#91;x] a[0]"),
            ("\0\u{fffe}", "\\u{0}\\u{fffe}"),
        ] {
            assert_eq!(inline(text), shown);
        }
        assert_eq!(lines("a\n<b>\r"), "a\n&lt;b&gt;\\u{d}");
    }

    #[test]
    fn documentation_is_linked_and_nothing_else() {
        let link = |address: &str| format!("<a href=\"{address}\" rel=\"noreferrer\">{address}</a>");
        let rules = "https://modelcontextprotocol.io/specification#tools";
        for (text, shown) in [
            (format!("see {rules}."), format!("see {}.", link(rules))),
            (format!("{rules}, {rules}"), format!("{0}, {0}", link(rules))),
            (format!("{rules}\"onclick=x"), format!("{}&quot;onclick=x", link(rules))),
            (format!("`{rules}`"), format!("<code>{rules}</code>")),
            ("https://evil.example/a".to_owned(), "https://evil.example/a".to_owned()),
            ("https://modelcontextprotocol.io.evil/".to_owned(), "https://modelcontextprotocol.io.evil/".to_owned()),
            ("https://modelcontextprotocol.io@evil/".to_owned(), "https://modelcontextprotocol.io@evil/".to_owned()),
            ("https://".to_owned(), "https://".to_owned()),
        ] {
            assert_eq!(sentence(&text), shown);
        }
    }

    #[test]
    fn backticks_are_code_where_they_come_in_pairs() {
        assert_eq!(sentence("`a<b` is"), "<code>a&lt;b</code> is");
        assert_eq!(sentence("an `open"), "an `open");
    }
}
