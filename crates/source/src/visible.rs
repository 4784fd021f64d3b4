//! Text that somebody else wrote, made safe to look at.
//!
//! Servers, suites and recordings are hostile until shown otherwise: every character that a terminal, a browser or a
//! reader would obey instead of showing is spelled out as `\u{..}`, and nothing is dropped.

use std::borrow::Cow;

use super::Color;

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

/// Spells out what the log of a CI service would take for a command: `::` at the start of a line, and `##vso[`.
pub fn without_commands(text: &str) -> String {
    let line = |line: &str| match line.trim_start().strip_prefix("::") {
        Some(rest) => format!("{}\\u{{3a}}:{rest}", &line[..line.len() - rest.len() - 2]),
        None => line.to_owned(),
    };
    let lines = text.split('\n').map(line).collect::<Vec<_>>().join("\n");
    replace_command_brackets(&lines, "\\u{5b}").into_owned()
}

/// A whole output as a terminal and a log may have it, whoever wrote what is in it: lines and colours stay, everything
/// else that would be obeyed is spelled out.
pub fn printable(text: &str, color: Color) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| is_hidden(c) && !matches!(c, '\n' | '\t')) {
        let (plain, hidden) = rest.split_at(at);
        let painted = if color == Color::Always { colour_length(hidden) } else { 0 };
        let length = painted.max(hidden.chars().next().map_or(1, char::len_utf8));
        shown.push_str(plain);
        if painted > 0 {
            shown.push_str(&hidden[..painted]);
        } else {
            shown.extend(hidden[..length].chars().flat_map(char::escape_unicode));
        }
        rest = &hidden[length..];
    }
    without_commands(&(shown + rest))
}

/// The length of the escape for a colour with which a text begins, such as `ESC [ 1 ; 31 m`; 0 where it begins otherwise.
fn colour_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\u{1b}[") else { return 0 };
    let numbers = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    if rest[numbers..].starts_with('m') { numbers + 3 } else { 0 }
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

    #[test]
    fn outputs_hold_nothing_but_lines_and_colours() {
        let check = |text: &str, color, expected: &str| assert_eq!(printable(text, color), expected, "{text:?}");
        check("a\n\tb é", Color::Never, "a\n\tb é");
        check("\u{1b}[1;31mred\u{1b}[m", Color::Always, "\u{1b}[1;31mred\u{1b}[m");
        check("\u{1b}[1;31mred", Color::Never, "\\u{1b}[1;31mred");
        check("\u{1b}[2J\u{1b}]0;x\u{7}", Color::Always, "\\u{1b}[2J\\u{1b}]0;x\\u{7}");
        check("a\r\u{9b}\u{202e}", Color::Always, "a\\u{d}\\u{9b}\\u{202e}");
        check("a\n ::error::b\n##[group]", Color::Never, "a\n \\u{3a}:error::b\n##\\u{5b}group]");
    }
}
