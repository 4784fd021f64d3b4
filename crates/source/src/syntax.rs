//! What a YAML parser says of a text that it cannot read, in words for people, and what most often helps.
//!
//! Knows the parser's sentences, not the parser.

/// The sentence of the parser without its place, which the excerpt shows.
pub(super) fn sentence(message: &str) -> &str {
    let bare = [" at byte ", " at char ", " at line "]
        .iter()
        .fold(message, |rest, mark| rest.split(mark).next().unwrap_or(rest));
    let bare = bare.trim_end_matches(['.', ':', ',']);
    if ["nesting", "depth", "recursion"].iter().any(|word| bare.contains(word)) {
        return "it nests deeper than any suite needs";
    }
    bare
}

/// What to look for, by a word of the sentence; the first that fits.
const CURES: &[(&str, &str)] = &[
    ("a tab", "indent with spaces; YAML takes no tabs there"),
    ("tabs", "indent with spaces; YAML takes no tabs there"),
    ("quoted scalar", "see whether a quote before this place is closed"),
    ("mapping values", "a text with `: ` in it needs quotes; below a text nothing may be indented"),
    ("flow", "see whether a `{` or `[` before this place is closed, and whether a comma is missing"),
    ("block collection", "the keys of a mapping begin in one column, and so does every `-` of a list"),
    ("block mapping", "the keys of a mapping begin in one column, and so does every `-` of a list"),
];

/// What most often leads to such a sentence.
pub(super) fn cure(sentence: &str) -> Option<String> {
    CURES.iter().find(|(word, _)| sentence.contains(word)).map(|(_, cure)| (*cure).to_owned())
}
