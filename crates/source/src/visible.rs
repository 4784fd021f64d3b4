//! Text that somebody else wrote, made safe to look at.
//!
//! Servers, suites and recordings are hostile until shown otherwise: every character that a terminal, a browser or a
//! reader would obey instead of showing is spelled out as `\u{..}`, and nothing is dropped.

use std::borrow::Cow;

/// The text with everything hidden spelled out; line breaks stay and tabs become spaces.
pub fn visible(text: &str) -> Cow<'_, str> {
    spell_out(text, |c| c == '\n')
}

/// The text with everything hidden spelled out, line breaks included, so that it cannot pretend to be two lines.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    spell_out(text, |_| false)
}

/// A character is obeyed, reorders its neighbours or is invisible, so that showing it would deceive.
pub fn is_hidden(c: char) -> bool {
    c.is_control() || is_bidi(c) || is_invisible(c) || is_noncharacter(c)
}

/// The brackets at which a CI service would take a text for a command, wherever it stands in a line: `##[` of GitHub,
/// `##vso[` of Azure Pipelines, `##teamcity[` of `TeamCity`, and what else has this form.
pub fn command_brackets(text: &str) -> impl Iterator<Item = usize> {
    let follows_hashes = |at: usize| text[..at].trim_end_matches(|c: char| c.is_ascii_alphabetic()).ends_with("##");
    text.match_indices('[').map(|(at, _)| at).filter(move |at| follows_hashes(*at))
}

/// The text with the brackets of commands written in another way, such as `\u{5b}`.
pub fn replace_command_brackets<'a>(text: &'a str, bracket: &str) -> Cow<'a, str> {
    let mut brackets = command_brackets(text).peekable();
    if brackets.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let (mut shown, mut from) = (String::with_capacity(text.len() + 16), 0);
    for at in brackets {
        shown = shown + &text[from..at] + bracket;
        from = at + 1;
    }
    Cow::Owned(shown + &text[from..])
}

fn spell_out(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|c| is_hidden(c) && !stays(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\t' => shown.push(' '),
            c if is_hidden(c) && !stays(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Joiners (U+200C, U+200D) are left alone: scripts and emoji need them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// XML 1.0 refuses U+FFFE and U+FFFF, and no text has a use for the others.
fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}') || matches!(u32::from(c) & 0xffff, 0xfffe | 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_obeyed_is_shown() {
        for (text, shown) in [
            ("plain é 漢 👩\u{200d}🚀", "plain é 漢 👩\u{200d}🚀"),
            ("a\tb\nc", "a b\nc"),
            ("\u{1b}[31mred\u{9b}2J\0", "\\u{1b}[31mred\\u{9b}2J\\u{0}"),
            ("\u{202e}gnp.exe\u{2069}", "\\u{202e}gnp.exe\\u{2069}"),
            ("\u{feff}\u{fffe}\u{ffff}\u{10ffff}\u{e0041}", "\\u{feff}\\u{fffe}\\u{ffff}\\u{10ffff}\\u{e0041}"),
            ("one\r\ntwo\u{2028}", "one\\u{d}\ntwo\\u{2028}"),
        ] {
            assert_eq!(visible(text), shown);
        }
        for (text, shown) in [
            ("no # [command] ## here [x] #[y]", "no # [command] ## here [x] #[y]"),
            ("a##[error]b ##vso[task.x] ###teamcity[y", "a##\\u{5b}error]b ##vso\\u{5b}task.x] ###teamcity\\u{5b}y"),
        ] {
            assert_eq!(replace_command_brackets(text, "\\u{5b}"), shown);
        }
        assert_eq!(visible_line("✓ fine\n✓ forged\t."), "✓ fine\\u{a}✓ forged .");
    }
}
