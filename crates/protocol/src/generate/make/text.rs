//! Texts: of a pattern, of a format, or of anything.

use crate::generate::GeneratorLimits;
use crate::generate::rng::Rng;
use crate::schema::MergedRules;

use super::format;

/// The number of times that a pattern is tried for a text of a fitting length.
const TRIES: usize = 12;

/// Texts that have to be this long are tried once.
const LONG: usize = 2_000;

/// The plain text.
pub const PLACEHOLDER: &str = "text";

/// Pieces of text that servers like to stumble over.
const ODD: [&str; 24] = [
    " ",
    "\n",
    "\t",
    "\"",
    "'",
    "\\",
    "/",
    "..",
    "%",
    "{}",
    "<b>",
    "&amp;",
    "$",
    "é",
    "ß",
    "Ω",
    "日本",
    "مرحبا",
    "e\u{301}",
    "🙂",
    "👩\u{200d}👧",
    "\u{feff}",
    "\u{7f}",
    "\u{1}",
];

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_ .";

/// A text of any kind.
pub(crate) fn text(plain: &MergedRules, rng: &mut Rng, limits: GeneratorLimits) -> String {
    let (min, max) = lengths(plain, limits);
    if let Some(text) = asked_for(plain, rng, (min, max)) {
        return text;
    }
    let cap = limits.text.max(min).min(max);
    let longer = match rng.below(100) {
        0..=7 => 0,
        8..=64 => rng.below(16),
        65..=94 => rng.below(64),
        95..=97 => rng.below(512),
        98 => cap.saturating_sub(min),
        _ => rng.below(limits.text),
    };
    let length = min.saturating_add(longer).min(cap);
    if rng.chance(30) { odd_text(length, rng) } else { letters(length, rng) }
}

/// A text that is as plain as the schema lets it be.
pub(crate) fn plain_text(plain: &MergedRules, rng: &mut Rng, limits: GeneratorLimits) -> String {
    let (min, max) = lengths(plain, limits);
    if plain.patterns.is_empty() {
        let shown = plain.format.as_deref().and_then(format::example).filter(|shown| fits(shown, min, max));
        return shown.map_or_else(|| text_of_length(PLACEHOLDER, min, max), ToOwned::to_owned);
    }
    asked_for(plain, rng, (min, max)).unwrap_or_else(|| text_of_length(PLACEHOLDER, min, max))
}

/// A short text of letters.
pub(crate) fn small_text(plain: &MergedRules, rng: &mut Rng, limits: GeneratorLimits) -> String {
    let (min, max) = lengths(plain, limits);
    asked_for(plain, rng, (min, max)).unwrap_or_else(|| {
        let length = rng.between(0, 8).clamp(min, max);
        letters(length, rng)
    })
}

/// A word, cut or filled up to a length.
pub(crate) fn text_of_length(word: &str, min: usize, max: usize) -> String {
    let mut text: String = word.chars().take(max).collect();
    let short = min.saturating_sub(text.chars().count());
    text.extend(std::iter::repeat_n('x', short));
    text
}

fn lengths(plain: &MergedRules, limits: GeneratorLimits) -> (usize, usize) {
    let max = plain.max_length.unwrap_or(usize::MAX).min(limits.longest_text);
    (plain.min_length.min(max), max)
}

fn fits(text: &str, min: usize, max: usize) -> bool {
    (min..=max).contains(&text.chars().count())
}

/// A text that the pattern or the format asks for.
fn asked_for(plain: &MergedRules, rng: &mut Rng, lengths: (usize, usize)) -> Option<String> {
    if plain.patterns.is_empty() && plain.format.is_none() {
        return None;
    }
    let mut last = None;
    let is_long = lengths.0 > LONG || plain.patterns.iter().any(|pattern| pattern.least > LONG);
    let tries = if is_long { 1 } else { TRIES };
    for _ in 0..tries {
        let formatted = plain.format.is_some() && (plain.patterns.is_empty() || rng.chance(75));
        let text = if formatted {
            format::text(plain.format.as_deref().unwrap_or_default(), rng)
        } else {
            rng.pick(&plain.patterns).and_then(|pattern| pattern.candidate(rng, lengths.0))
        };
        let Some(text) = text else { continue };
        if fits(&text, lengths.0, lengths.1) {
            return Some(text);
        }
        last = Some(text);
    }
    // A pattern may well match a beginning; a format is given up for the length, which is asserted.
    let cut = |text: String| text_of_length(&text, lengths.0, lengths.1);
    last.filter(|_| !plain.patterns.is_empty()).map(cut)
}

fn letters(length: usize, rng: &mut Rng) -> String {
    let mut text = String::with_capacity(length);
    let mut bits = 0_u64;
    for at in 0..length {
        if at % 10 == 0 {
            bits = rng.bits();
        }
        let letter = usize::try_from(bits & 63).unwrap_or(0);
        bits >>= 6;
        text.push(char::from(LETTERS[letter]));
    }
    text
}

fn odd_text(length: usize, rng: &mut Rng) -> String {
    let mut text = String::new();
    let mut left = length;
    while left > 0 {
        let piece = rng.pick(&ODD).copied().unwrap_or("?");
        let count = piece.chars().count();
        if count <= left && rng.chance(40) {
            text.push_str(piece);
            left -= count;
        } else {
            text.push(char::from(LETTERS[rng.below(52)]));
            left -= 1;
        }
    }
    text
}
