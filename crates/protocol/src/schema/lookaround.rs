//! Lookaround and repetitions in the text of a pattern, which say what it costs to match.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::HirKind;

use super::pattern::parse;

/// A pattern has something that no automaton can do: lookaround, references to groups, repetitions that keep what they
/// have. Some patterns only look like that.
pub(crate) fn backtracks(source: &str) -> bool {
    let keeps = ["++", "*+", "?+", "}+"].iter().any(|keeps| source.contains(keeps));
    keeps || ParserBuilder::new().build().parse(source).is_err()
}

/// The size of a pattern with its repetitions written out, as a multiple of a usual one.
pub(crate) fn expanded_size(source: &str) -> usize {
    const USUAL: usize = 16;
    let mut outer: Vec<usize> = Vec::new();
    let (mut size, mut last, mut at) = (0_usize, 0_usize, 0);
    while at < source.len() {
        let tail = &source[at..];
        let length = match tail.as_bytes()[0] {
            b'{' => tail.find('}').map_or(tail.len(), |end| end + 1),
            _ => token_length(tail),
        };
        match tail.as_bytes()[0] {
            b'(' => {
                outer.push(size.saturating_add(last));
                (size, last) = (0, 0);
            }
            b')' => (last, size) = (size.saturating_add(last), outer.pop().unwrap_or(0)),
            b'{' => last = last.saturating_mul(most(&tail[1..length])),
            _ => (size, last) = (size.saturating_add(last), 1),
        }
        at += length;
    }
    (size.saturating_add(last) / USUAL).max(1)
}

/// The last number of what stands in the braces of a repetition, or the only one.
fn most(range: &str) -> usize {
    let mut numbers = range.trim_end_matches('}').rsplit(',');
    numbers.find_map(|number| number.trim().parse::<usize>().ok()).unwrap_or(1).max(1)
}

/// All lookaheads stand at the beginning of a text, where the pattern looks through it once for each.
pub(crate) fn looks_once(source: &str) -> bool {
    let Some(mut rest) = source.strip_prefix('^') else { return false };
    while rest.starts_with("(?=") || rest.starts_with("(?!") {
        let Some(length) = group_length(rest) else { return false };
        if backtracks(&rest[3..length - 1]) {
            return false;
        }
        rest = &rest[length..];
    }
    // Beside an alternative without brackets, a lookahead need not be at the beginning.
    !backtracks(rest) && parse(rest).is_some_and(|hir| !matches!(hir.kind(), HirKind::Alternation(_)))
}

/// A pattern without its lookarounds, and what its positive lookaheads ask for.
pub(crate) fn without_lookaround(pattern: &str) -> (String, Vec<String>) {
    let mut rest = String::new();
    let mut ahead = Vec::new();
    let mut at = 0;
    while at < pattern.len() {
        let tail = &pattern[at..];
        let opening = ["(?=", "(?!", "(?<=", "(?<!"].into_iter().find(|opening| tail.starts_with(opening));
        if let (Some(opening), Some(length)) = (opening, group_length(tail)) {
            let inner = &tail[opening.len()..length - 1];
            if opening == "(?=" {
                ahead.push(inner.trim_start_matches(".*?").trim_start_matches(".*").to_owned());
            }
            at += length;
            continue;
        }
        let step = token_length(tail);
        rest.push_str(&tail[..step]);
        at += step;
    }
    (rest, ahead)
}

/// The bytes of the group that a text starts with.
fn group_length(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match text.as_bytes()[at] {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        at += token_length(&text[at..]);
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The bytes of the first character, escape or class of a pattern.
fn token_length(text: &str) -> usize {
    let mut letters = text.char_indices();
    let Some((_, first)) = letters.next() else { return 0 };
    match first {
        '\\' => letters.next().map_or(1, |(at, letter)| at + letter.len_utf8()),
        '[' => {
            let mut escaped = false;
            for (at, letter) in letters {
                match letter {
                    _ if escaped => escaped = false,
                    '\\' => escaped = true,
                    ']' if at > 1 => return at + 1,
                    _ => {}
                }
            }
            text.len()
        }
        _ => first.len_utf8(),
    }
}
