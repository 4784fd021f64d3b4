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
        assert_eq!(visible_line("✓ fine\n✓ forged\t."), "✓ fine\\u{a}✓ forged .");
    }
}
