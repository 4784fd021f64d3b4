//! Messages of a YAML parser in plain words, with a hint.
//!
//! Knows the parser's sentences, not the parser.

/// The sentence of the parser without its place, which the excerpt shows.
pub(crate) fn sentence(message: &str) -> &str {
    let bare = [" at byte ", " at char ", " at line "]
        .iter()
        .fold(message, |rest, mark| rest.split(mark).next().unwrap_or(rest));
    let bare = bare.trim_end_matches(['.', ':', ',']);
    if ["nesting", "depth", "recursion"].iter().any(|word| bare.contains(word)) {
        return "it is nested too deeply";
    }
    bare
}

/// Hints by a word of the message; the first match counts.
const CURES: &[(&str, &str)] = &[
    ("a tab", "indent with spaces; YAML allows no tabs there"),
    ("tabs", "indent with spaces; YAML allows no tabs there"),
    ("quoted scalar", "check that the quotes before this place are closed"),
    ("mapping values", "a text that contains `: ` needs quotes; nothing may be indented below a text"),
    ("flow", "check that every `{` and `[` before this place is closed and that no comma is missing"),
    ("block collection", "align the keys of a mapping in one column, and likewise each `-` of a list"),
    ("block mapping", "align the keys of a mapping in one column, and likewise each `-` of a list"),
];

/// The hint for a message about the text at this byte.
pub(crate) fn cure(sentence: &str, text: &str, at: usize) -> Option<String> {
    let seen = if sentence.contains("flow") {
        text_without_quotes(text, at).or_else(|| colon_without_quotes(text, at))
    } else if sentence.contains("mapping values") {
        key_too_far_right(text, at)
    } else {
        None
    };
    seen.or_else(|| CURES.iter().find(|(word, _)| sentence.contains(word)).map(|(_, cure)| (*cure).to_owned()))
}

/// The hint for a bracket in the middle of a text without quotes, such as that of `result.content[0]` inside `{ }`.
fn text_without_quotes(text: &str, at: usize) -> Option<String> {
    let (before, rest) = text.split_at_checked(at)?;
    let bracket = rest.chars().next().filter(|c| "[{".contains(*c))?;
    let line = before.rsplit('\n').next()?;
    let begun = line.rsplit([' ', ',', '[', '{']).next().filter(|begun| !begun.is_empty() && !begun.ends_with(':'))?;
    let ends = rest.find([' ', ',', '}', '\n', '\r']).unwrap_or(rest.len());
    let scalar = format!("{begun}{}", &rest[..ends]);
    let has_quotes = scalar.contains(['"', '\'', '\\']);
    (!has_quotes)
        .then(|| format!("inside `{{ }}` and `[ ]`, a text that contains `{bracket}` needs quotes: `\"{scalar}\"`"))
}

/// The hint for a colon in the middle of a text without quotes, such as that of `{ name: hi: there }`.
fn colon_without_quotes(text: &str, at: usize) -> Option<String> {
    let (before, rest) = text.split_at_checked(at)?;
    rest.strip_prefix(':').filter(|after| after.starts_with([' ', '\n', '\r']))?;
    let line = before.rsplit('\n').next()?;
    // A colon ends the key of the entry; without one before it, this is the colon of a key.
    let begun = line.rsplit([',', '{', '[']).next()?.split_once(": ")?.1.trim_start();
    let ends = rest.find([',', '}', ']', '\n', '\r']).unwrap_or(rest.len());
    let scalar = format!("{begun}{}", rest[..ends].trim_end());
    let has_quotes = scalar.contains(['"', '\'', '\\']);
    (!begun.is_empty() && !has_quotes)
        .then(|| format!("inside `{{ }}` and `[ ]`, a text that contains `: ` needs quotes: `\"{scalar}\"`"))
}

/// The hint for a key that stands below a key with a value, and further to the right.
fn key_too_far_right(text: &str, at: usize) -> Option<String> {
    let before = text.get(..at)?;
    let (earlier, line) = before.rsplit_once('\n')?;
    let above = earlier.lines().rfind(|line| !line.trim().is_empty() && !line.trim().starts_with('#'))?;
    let key = bare_key(line)?;
    let outer = above.trim_start_matches(['-', ' ']).split_once(": ").and_then(|(name, _)| bare_key(name))?;
    let is_below = column(line) > column(above);
    is_below.then(|| format!("put `{key}` in the column of `{outer}`: nothing can be indented below a value"))
}

/// The key at the beginning of a line whose rest is cut off.
fn bare_key(line: &str) -> Option<&str> {
    let name = line.trim_start_matches(['-', ' ']).trim_end().trim_end_matches(':');
    (!name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')).then_some(name)
}

/// The column of the key of a line.
fn column(line: &str) -> usize {
    line.len() - line.trim_start_matches(['-', ' ']).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_a_text_without_quotes() {
        let check = |text: &str, expected: Option<&str>| {
            let at = text.find('^').unwrap();
            let found = text_without_quotes(&text.replace('^', ""), at);
            assert_eq!(found.as_deref().and_then(|help| help.split(": ").nth(1)), expected, "{text}");
        };
        check("[{ at: result.content^[0].text, contains: a }]", Some("`\"result.content[0].text\"`"));
        check("[{ at: users^[0] }]", Some("`\"users[0]\"`"));
        check("{ name: a^{b} }", Some("`\"a{b\"`"));
        check("{ at: ^[0] }", None);
        check("{ at: \"a\"^[0] }", None);
        check("{ at: a ^b }", None);
    }

    #[test]
    fn colons_in_a_text_without_quotes() {
        let check = |text: &str, expected: Option<&str>| {
            let at = text.find('^').unwrap();
            let found = colon_without_quotes(&text.replace('^', ""), at);
            assert_eq!(found.as_deref().and_then(|help| help.split("quotes: ").nth(1)), expected, "{text}");
        };
        check("- { name: hi^: there, call: add }", Some("`\"hi: there\"`"));
        check("- { call: add, name: say hi^: there }", Some("`\"say hi: there\"`"));
        check("- { name: say hi^: there\n }", Some("`\"say hi: there\"`"));
        check("- { name^: there }", None);
        check("- { name: a, call^: there }", None);
        check("- { name: \"a\"^: there }", None);
        check("- { name: a^:b }", None);
    }

    #[test]
    fn keys_below_a_value() {
        let check = |text: &str, expected: Option<&str>| {
            let found = key_too_far_right(text, text.rfind(':').unwrap());
            assert_eq!(found.as_deref().and_then(|help| help.split(": ").next()), expected, "{text}");
        };
        check("  call: a\n    args: {}", Some("put `args` in the column of `call`"));
        check("- call: a\n    args: {}", Some("put `args` in the column of `call`"));
        check("call: a\n\n  # more\n  args: {}", Some("put `args` in the column of `call`"));
        check("call: a\nargs: {}", None);
        check("name: an error: what", None);
        check("call:\n  args: {}", None);
    }
}
