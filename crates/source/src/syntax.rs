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

/// The hint for a message.
pub(crate) fn cure(sentence: &str) -> Option<String> {
    CURES.iter().find(|(word, _)| sentence.contains(word)).map(|(_, cure)| (*cure).to_owned())
}
