//! Regular expressions of schemas: whether they match, what that costs, and their trees.
//!
//! Schemas write ECMA-262, the parser reads Rust's syntax; what it does not know is left out of the tree.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};
use serde_json::{Value, json};

use super::STEPS;
use super::judge::{Formats, compile};
use super::lookaround::{backtracks, expanded_size, looks_once, without_lookaround};

/// Longer texts take a step for each of their bytes, even with a quick pattern.
const LONG: usize = 100_000;

/// Patterns that are no more times as long as a usual one, once their repetitions are written out, take no steps.
const SURELY_SMALL: usize = 100;

/// The number of bytes that are looked through in a step.
const BYTES_PER_STEP: usize = 64;

/// The least number of steps for a text, where a pattern may go back in it.
const PER_TEXT: usize = 20;

/// The steps of a search that would never end.
const NEVER: usize = usize::MAX;

/// The number of times that a pattern may backtrack on the quick first try.
const BACKTRACKS: usize = 10_000;

/// A regular expression.
#[derive(Debug)]
pub(crate) struct StringPattern {
    pub source: String,
    validator: Validator,
    /// The same with few backtracks; `None` for a pattern that never backtracks.
    hasty: Option<Validator>,
    pub(crate) tree: Option<PatternTree>,
    /// The least number of bytes of a matching text, as far as that is seen.
    pub(crate) least: usize,
    /// It looks through a text from its beginning only.
    looks_once: bool,
    /// The size with repetitions written out, as a multiple of a usual pattern.
    counted: usize,
    /// Further texts that must occur, from lookaheads.
    pub(crate) ahead: Vec<PatternTree>,
    pub(crate) open_start: bool,
    pub(crate) open_end: bool,
}

/// A pattern that texts can be made from.
#[derive(Debug)]
pub(crate) enum PatternTree {
    Nothing,
    Text(String),
    Class { plain: Vec<char>, ranges: Vec<(char, char)> },
    Repeat { min: usize, max: Option<usize>, inner: Box<PatternTree> },
    All(Vec<PatternTree>),
    One(Vec<PatternTree>),
}

impl StringPattern {
    /// Reads a pattern; `None` for what the validator cannot read either.
    pub(crate) fn new(source: &str) -> Option<Self> {
        let validator = compile(&json!({"pattern": source}), Formats::Ignored).ok()?;
        let hasty = backtracks(source).then(|| hasty(source)).flatten();
        let (rest, ahead) = without_lookaround(source);
        let parsed = parse(&rest);
        let looks = parsed.as_ref().map(|hir| (hir.properties().look_set_prefix(), hir.properties().look_set_suffix()));
        let (open_start, open_end) = looks
            .map_or((false, false), |(prefix, suffix)| (!prefix.contains(Look::Start), !suffix.contains(Look::End)));
        let least = parsed.as_ref().and_then(|hir| hir.properties().minimum_len()).unwrap_or(0);
        let ahead = ahead.iter().filter_map(|piece| Some(tree(&parse(piece)?))).collect();
        let tree = parsed.as_ref().map(tree);
        let (looks_once, counted) = (looks_once(source), expanded_size(source));
        Some(Self {
            source: source.to_owned(),
            validator,
            hasty,
            tree,
            least,
            looks_once,
            counted,
            ahead,
            open_start,
            open_end,
        })
    }

    /// It matches a text.
    pub(crate) fn matches(&self, text: &Value) -> bool {
        self.validator.is_valid(text)
    }

    /// The time to match a byte depends on the text.
    pub(crate) fn is_costly(&self) -> bool {
        self.hasty.is_some() || self.counted > SURELY_SMALL
    }

    /// The number of steps that matching takes, where the pattern may go back or is large; otherwise none.
    pub(crate) fn steps(&self, text: &Value) -> usize {
        let Some(letters) = text.as_str().filter(|_| self.is_costly()) else { return 0 };
        let places = if self.looks_once || self.hasty.is_none() { 1 } else { letters.len() };
        let looked = letters.len().saturating_mul(places).saturating_mul(self.counted) / BYTES_PER_STEP;
        if looked > STEPS {
            return NEVER;
        }
        let Some(hasty) = self.hasty.as_ref().filter(|_| letters.len() <= LONG) else { return letters.len() + looked };
        let gives_up = |validator: &Validator| {
            let is_limit =
                |error: ValidationError<'_>| matches!(error.kind(), ValidationErrorKind::BacktrackLimitExceeded { .. });
            validator.validate(text).is_err_and(is_limit)
        };
        let patience = if !gives_up(hasty) {
            0
        } else if !gives_up(&self.validator) {
            BACKTRACKS
        } else {
            // The validator would report a text that does not match, although the search was cut off.
            NEVER
        };
        (PER_TEXT + letters.len() / 16 + looked).saturating_add(patience)
    }
}

fn hasty(source: &str) -> Option<Validator> {
    let options = jsonschema::options().offline();
    let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS);
    options.with_pattern_options(patterns).build(&json!({"pattern": source})).ok()
}

pub(crate) fn parse(pattern: &str) -> Option<Hir> {
    ParserBuilder::new().nest_limit(100).build().parse(&in_rust_syntax(pattern)).ok()
}

fn tree(hir: &Hir) -> PatternTree {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => PatternTree::Nothing,
        HirKind::Literal(literal) => PatternTree::Text(String::from_utf8_lossy(&literal.0).into_owned()),
        HirKind::Class(class) => class_of(class),
        HirKind::Repetition(repetition) => PatternTree::Repeat {
            min: repetition.min as usize,
            max: repetition.max.map(|max| max as usize),
            inner: Box::new(tree(&repetition.sub)),
        },
        HirKind::Capture(capture) => tree(&capture.sub),
        HirKind::Concat(parts) => PatternTree::All(parts.iter().map(tree).collect()),
        HirKind::Alternation(parts) => PatternTree::One(parts.iter().map(tree).collect()),
    }
}

/// A class with its plain characters apart: those are what most texts are made of.
fn class_of(class: &Class) -> PatternTree {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.ranges().iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) => class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect(),
    };
    let holds = |letter: &char| ranges.iter().any(|(first, last)| (first..=last).contains(&letter));
    PatternTree::Class { plain: (' '..='~').filter(holds).collect(), ranges }
}

/// ECMA-262 as Rust reads it, where the two differ in ways that schemas use.
fn in_rust_syntax(pattern: &str) -> String {
    let mut rust = String::with_capacity(pattern.len() + 8);
    let mut in_class = false;
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                // A null character, and references to groups, of which nothing is known here.
                Some('0') => rust.push_str("\\x00"),
                Some('1'..='9') if !in_class => {}
                Some('d') => rust.push_str("[0-9]"),
                Some('w') => rust.push_str("[0-9A-Za-z_]"),
                Some(escaped)
                    if escaped.is_alphanumeric() || escaped.is_ascii_punctuation() && !"<>".contains(escaped) =>
                {
                    rust.push('\\');
                    rust.push(escaped);
                }
                Some(escaped) => rust.push(escaped),
                None => rust.push_str("\\\\"),
            },
            '[' if in_class => rust.push_str("\\["),
            '&' | '~' | '-' if in_class && letters.peek() == Some(&letter) => {
                rust.push('\\');
                rust.push(letter);
            }
            _ => {
                in_class = (in_class || letter == '[') && letter != ']';
                rust.push(letter);
            }
        }
    }
    rust
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_through_a_long_text_from_everywhere_is_given_up() {
        let long = json!("a".repeat(100_000));
        for (source, is_given_up) in [
            ("(?=.*c)a", true),
            ("(?<!b)a*c", true),
            ("^((?=a*c)a|a)*c", true),
            ("^(?=.*c)a|(?=.*c)b", true),
            ("(?=(a{0,100}){0,100}c)a", true),
            ("^(?=(a{0,100}){0,100}c)a", true),
            ("(a{0,100}){0,100}([0-9]|b)", true),
            ("[a-z]{1,64}@[a-z]{1,10}", false),
            ("^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$", false),
            (r"^([a-z]{1,63}\.){0,10}[a-z]{2,63}$", false),
            (r"^(?=.*[A-Z])(?=.*\d)[A-Za-z\d]{8,}$", false),
            ("^(?!.*c)a*$", false),
            ("^(a|aa)*$", false),
        ] {
            assert_eq!(StringPattern::new(source).unwrap().steps(&long) == NEVER, is_given_up, "{source}");
        }
    }
}
