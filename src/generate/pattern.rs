//! Regular expressions of schemas: what they match, and texts that they may match.
//!
//! Schemas write ECMA-262, the parser reads Rust's syntax. What it does not know is taken out, so a text is only a
//! candidate until [`StringPattern::matches`] has said yes.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};
use serde_json::{Value, json};

use super::judge::{Formats, compile};
use super::lookaround::{backtracks, counted, looks_once, without_lookaround};
use super::rng::Rng;
use super::schema::STEPS;

/// How often a repetition without an end is repeated beyond its minimum, where nobody asks for more.
const REPEATED: usize = 8;

/// Characters of a candidate; what repetitions of repetitions ask for beyond is cut off.
const LONGEST: usize = 1 << 20;

/// What is longer takes a step for each of its bytes, be the pattern ever so quick.
const LONG: usize = 100_000;

/// Patterns that are no more times as long as a usual one, once their repetitions are written out, take no steps.
const SURELY_SMALL: usize = 100;

/// How many bytes are looked through in a step.
const BYTES_PER_STEP: usize = 64;

/// How many steps a text takes at least, where a pattern may go back in it.
const PER_TEXT: usize = 20;

/// The steps of what is given up however long anybody waits.
const NEVER: usize = usize::MAX;

/// How often a pattern may go back in a text that is looked at in haste.
const BACKTRACKS: usize = 10_000;

/// A regular expression.
#[derive(Debug)]
pub(super) struct StringPattern {
    pub(super) source: String,
    validator: Validator,
    /// The same with little patience; `None` for a pattern that is done with a text in one go.
    hasty: Option<Validator>,
    tree: Option<Tree>,
    /// How many bytes a text has at least, as far as that is seen.
    pub(super) least: usize,
    /// Whether it looks through a text from its beginning only.
    looks_once: bool,
    /// How many times as long as a usual one it is once its repetitions are written out.
    counted: usize,
    /// Further texts that must occur, from lookaheads.
    ahead: Vec<Tree>,
    open_start: bool,
    open_end: bool,
}

#[derive(Debug)]
enum Tree {
    Nothing,
    Text(String),
    Class { plain: Vec<char>, ranges: Vec<(char, char)> },
    Repeat { min: usize, max: Option<usize>, inner: Box<Tree> },
    All(Vec<Tree>),
    One(Vec<Tree>),
}

impl StringPattern {
    /// Reads a pattern; `None` for what the validator cannot read either.
    pub(super) fn new(source: &str) -> Option<Self> {
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
        let (looks_once, counted) = (looks_once(source), counted(source));
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

    /// Whether it matches a text.
    pub(super) fn matches(&self, text: &Value) -> bool {
        self.validator.is_valid(text)
    }

    /// Whether it depends on a text how long it takes to match a byte of it.
    pub(super) fn is_costly(&self) -> bool {
        self.hasty.is_some() || self.counted > SURELY_SMALL
    }

    /// How many steps it takes to find out whether it matches, where it may go back or is large; otherwise none.
    pub(super) fn steps(&self, text: &Value) -> usize {
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
            // The validator would say that the text does not match, which nobody knows.
            NEVER
        };
        (PER_TEXT + letters.len() / 16 + looked).saturating_add(patience)
    }

    /// A text that may match, of at least `min` characters where the pattern has room for them.
    pub(super) fn candidate(&self, rng: &mut Rng, min: usize) -> Option<String> {
        let mut text = self.tree.as_ref().map(|tree| tree.text(rng, min)).unwrap_or_default();
        for piece in &self.ahead {
            let more = piece.text(rng, 0);
            let at = text.char_indices().map(|(at, _)| at).nth(rng.below(text.chars().count() + 1));
            text.insert_str(at.unwrap_or(text.len()), &more);
        }
        let short = min.saturating_sub(text.chars().count());
        if short > 0 && self.open_end {
            text.extend((0..short).map(|_| letter(rng)));
        } else if short > 0 && self.open_start {
            text.insert_str(0, &(0..short).map(|_| letter(rng)).collect::<String>());
        }
        (self.tree.is_some() || !self.ahead.is_empty()).then_some(text)
    }
}

/// A text that is being written.
struct Written {
    letters: String,
    /// How many more pieces are written; pieces may be empty.
    steps: usize,
}

impl Tree {
    fn text(&self, rng: &mut Rng, mut room: usize) -> String {
        let mut text = Written { letters: String::new(), steps: LONGEST };
        self.write(rng, &mut room, &mut text);
        text.letters
    }

    /// Writes a text; `room` is how many characters repetitions may add to come to a wanted length.
    fn write(&self, rng: &mut Rng, room: &mut usize, text: &mut Written) {
        if text.letters.len() > LONGEST || text.steps == 0 {
            return;
        }
        text.steps -= 1;
        match self {
            Self::Nothing => {}
            Self::Text(literal) => {
                text.letters.push_str(literal);
                *room = room.saturating_sub(literal.chars().count());
            }
            Self::Class { plain, ranges } => {
                *room = room.saturating_sub(1);
                text.letters.extend(character(plain, ranges, rng));
            }
            Self::Repeat { min, max, inner } => {
                let most = max.unwrap_or(usize::MAX).saturating_sub(*min);
                let wanted =
                    if *room > 0 { *room + rng.below(3) } else { rng.below(REPEATED.min(most.saturating_add(1))) };
                for _ in 0..min.saturating_add(wanted.min(most)).min(LONGEST) {
                    if text.steps == 0 {
                        break;
                    }
                    inner.write(rng, room, text);
                }
            }
            Self::All(parts) => parts.iter().for_each(|part| part.write(rng, room, text)),
            Self::One(parts) => {
                if let Some(part) = rng.pick(parts) {
                    part.write(rng, room, text);
                }
            }
        }
    }
}

fn hasty(source: &str) -> Option<Validator> {
    let options = jsonschema::options().offline();
    let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS);
    options.with_pattern_options(patterns).build(&json!({"pattern": source})).ok()
}

fn letter(rng: &mut Rng) -> char {
    (b'a'..=b'z').nth(rng.below(26)).map_or('a', char::from)
}

fn character(plain: &[char], ranges: &[(char, char)], rng: &mut Rng) -> Option<char> {
    if let (Some(letter), true) = (rng.pick(plain), rng.chance(95) || ranges.is_empty()) {
        return Some(*letter);
    }
    let (first, last) = rng.pick(ranges).copied()?;
    let code = rng.between(first as usize, last as usize);
    u32::try_from(code).ok().and_then(char::from_u32).or(Some(first))
}

pub(super) fn parse(pattern: &str) -> Option<Hir> {
    ParserBuilder::new().nest_limit(100).build().parse(&in_rust_syntax(pattern)).ok()
}

fn tree(hir: &Hir) -> Tree {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Tree::Nothing,
        HirKind::Literal(literal) => Tree::Text(String::from_utf8_lossy(&literal.0).into_owned()),
        HirKind::Class(class) => class_of(class),
        HirKind::Repetition(repetition) => Tree::Repeat {
            min: repetition.min as usize,
            max: repetition.max.map(|max| max as usize),
            inner: Box::new(tree(&repetition.sub)),
        },
        HirKind::Capture(capture) => tree(&capture.sub),
        HirKind::Concat(parts) => Tree::All(parts.iter().map(tree).collect()),
        HirKind::Alternation(parts) => Tree::One(parts.iter().map(tree).collect()),
    }
}

/// A class with its plain characters apart: those are what most texts are made of.
fn class_of(class: &Class) -> Tree {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.ranges().iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) => class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect(),
    };
    let holds = |letter: &char| ranges.iter().any(|(first, last)| (first..=last).contains(&letter));
    Tree::Class { plain: (' '..='~').filter(holds).collect(), ranges }
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
    fn candidates_match() {
        for source in [
            "^q[0-9]{7}$",
            "^[a-z][a-z0-9_-]{2,30}$",
            r"^\d{4}-\d{2}-\d{2}$",
            r"^(?:foo|bar)\/[^\/]+$",
            "abc",
            r"^(?=.*[A-Z])(?=.*\d)[A-Za-z\d]{8,}$",
            r"^(?!\.)[a-z]+@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
            r"^[[a]$",
            "^\\p{L}+$",
            "",
        ] {
            let pattern = StringPattern::new(source).unwrap();
            let mut rng = Rng::new(3);
            let found =
                (0..50).filter_map(|_| pattern.candidate(&mut rng, 0)).filter(|text| pattern.matches(&json!(text)));
            assert!(found.count() >= 10, "{source}");
        }
    }

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

    #[test]
    fn candidates_are_as_long_as_asked() {
        let long =
            |source: &str| StringPattern::new(source).unwrap().candidate(&mut Rng::new(1), 40).unwrap().chars().count();
        assert!(long("^[a-z]+$") >= 40);
        assert!(long("ab") >= 40);
        assert!(long("^a?$") <= 1);
    }
}
