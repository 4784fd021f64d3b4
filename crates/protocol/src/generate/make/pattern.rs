//! Texts that a pattern may match.
//!
//! The tree of a pattern leaves some of it out, so a text is only a candidate until [`StringPattern::matches`] agrees.

use crate::generate::rng::Rng;
use crate::schema::{PatternTree, StringPattern};

/// The number of repetitions beyond the minimum of a repetition without an end.
const REPEATED: usize = 8;

/// Characters of a candidate; what repetitions of repetitions ask for beyond is cut off.
const LONGEST: usize = 1 << 20;

impl StringPattern {
    /// A text that may match, of at least `min` characters where the pattern has room for them.
    pub(crate) fn candidate(&self, rng: &mut Rng, min: usize) -> Option<String> {
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
struct WrittenText {
    letters: String,
    /// The number of pieces that may still be written; pieces may be empty.
    steps: usize,
}

impl PatternTree {
    fn text(&self, rng: &mut Rng, mut room: usize) -> String {
        let mut text = WrittenText { letters: String::new(), steps: LONGEST };
        self.write(rng, &mut room, &mut text);
        text.letters
    }

    /// Writes a text; `room` is how many characters repetitions may add to come to a wanted length.
    fn write(&self, rng: &mut Rng, room: &mut usize, text: &mut WrittenText) {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn candidates_are_as_long_as_asked() {
        let long =
            |source: &str| StringPattern::new(source).unwrap().candidate(&mut Rng::new(1), 40).unwrap().chars().count();
        assert!(long("^[a-z]+$") >= 40);
        assert!(long("ab") >= 40);
        assert!(long("^a?$") <= 1);
    }
}
