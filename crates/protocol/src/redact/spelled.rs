//! Secrets as others spell them: escaped for JSON in any language, percent-encoded, as entities of HTML, quoted-printable,
//! in another case, with accents apart from their letters.
//!
//! A text is read as what it stands for, and looked through for the secrets, read in the same way.

use std::ops::Range;

use icu_normalizer::DecomposingNormalizerBorrowed;

/// Shorter secrets are everyday words in another case.
const LEAST_FOLDED: usize = 8;

/// The length of the piece of a text that is read at once.
const WINDOW: usize = 1 << 16;

/// The longest spelling of one character, in bytes: a pair of `\u` with more backslashes than anybody writes.
const LONGEST_SPELLING: usize = 32;

/// A secret as it is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spelled {
    /// Its decoded text, in small letters.
    folded: String,
    /// Its decoded text, if its case counts.
    exact: Option<String>,
}

impl Spelled {
    pub(crate) fn of(secret: &str) -> Self {
        let exact = (secret.chars().count() < LEAST_FOLDED).then(|| DecodedText::of(secret, LetterCase::Kept).meaning);
        Self { folded: DecodedText::of(secret, LetterCase::Folded).meaning, exact }
    }

    fn is_in(&self, spelled: &str) -> bool {
        self.exact.as_ref().is_none_or(|exact| DecodedText::of(spelled, LetterCase::Kept).meaning == *exact)
    }
}

/// The ranges of a text that spell one of these secrets, in order and without overlaps.
pub(crate) fn find(text: &str, secrets: &[Spelled]) -> Vec<Range<usize>> {
    let longest = secrets.iter().map(|secret| secret.folded.len()).max().unwrap_or(0) * LONGEST_SPELLING;
    let (mut found, mut begin): (Vec<Range<usize>>, usize) = (Vec::new(), 0);
    while begin < text.len() {
        let end = boundary(text, begin.saturating_add(WINDOW + longest));
        let read = DecodedText::of(&text[begin..end], LetterCase::Folded);
        for secret in secrets {
            for (at, _) in read.meaning.match_indices(&secret.folded) {
                let place = begin + read.at(at)..begin + read.at(at + secret.folded.len());
                if secret.is_in(&text[place.clone()]) {
                    found.push(place);
                }
            }
        }
        begin = if end == text.len() { end } else { boundary(text, begin + WINDOW) };
    }
    found.sort_by_key(|place| (place.start, std::cmp::Reverse(place.end)));
    let mut last = 0;
    found.retain(|place| {
        let is_new = place.start >= last && place.end > place.start;
        last = if is_new { place.end } else { last };
        is_new
    });
    found
}

/// The last place between two characters that is not beyond this one.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LetterCase {
    Folded,
    Kept,
}

/// The decoded form of a text.
struct DecodedText {
    meaning: String,
    /// For each byte of the meaning, where its spelling begins; at the end, where the text ends.
    places: Vec<usize>,
}

impl DecodedText {
    fn of(text: &str, case: LetterCase) -> Self {
        let mut read = Self { meaning: String::with_capacity(text.len()), places: Vec::with_capacity(text.len() + 1) };
        let mut at = 0;
        while let Some(byte) = text.as_bytes().get(at) {
            let rest = &text[at..];
            // Most of a text stands for itself.
            let plain = rest.bytes().position(is_spelled).unwrap_or(rest.len());
            if plain > 0 {
                let meant = &rest[..plain];
                read.meaning += &if case == LetterCase::Folded { meant.to_ascii_lowercase() } else { meant.to_owned() };
                read.places.extend(at..at + plain);
                at += plain;
                continue;
            }
            let spelled = match byte {
                b'\\' => Some(after_backslashes(rest)),
                b'%' => byte_codes(rest, percent),
                b'=' => soft_break(rest).or_else(|| byte_codes(rest, |rest| hexadecimal(rest.strip_prefix('=')?, 1))),
                b'&' => entity(rest),
                _ => None,
            };
            let (character, length) = spelled.unwrap_or_else(|| {
                let character = rest.chars().next();
                (character, character.map_or(1, char::len_utf8))
            });
            if let Some(character) = character {
                read.push(character, at, case);
            }
            at += length;
        }
        read.places.push(text.len());
        read
    }

    fn push(&mut self, character: char, at: usize, case: LetterCase) {
        let before = self.meaning.len();
        if character.is_ascii() {
            self.meaning.push(if case == LetterCase::Folded { character.to_ascii_lowercase() } else { character });
        } else {
            let mut letters = [0; 4];
            for part in NFD.normalize(character.encode_utf8(&mut letters)).chars() {
                match case {
                    LetterCase::Folded => self.meaning.extend(part.to_lowercase()),
                    LetterCase::Kept => self.meaning.push(part),
                }
            }
        }
        self.places.resize(self.places.len() + self.meaning.len() - before, at);
    }

    fn at(&self, place: usize) -> usize {
        self.places.get(place).copied().unwrap_or_default()
    }
}

/// A byte begins an escape, or may.
fn is_spelled(byte: u8) -> bool {
    !byte.is_ascii() || matches!(byte, b'\\' | b'%' | b'=' | b'&')
}

/// Takes letters and their accents apart.
static NFD: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizerBorrowed::new_nfd();

/// A decoded character, if any, and the length of its spelling.
type DecodedCharacter = (Option<char>, usize);

/// Decodes an escape after backslashes, however often they were escaped themselves: `\u00f6`, `\/`, `\xc3\xb6`, `\n`, `\"`.
fn after_backslashes(text: &str) -> DecodedCharacter {
    let slashes = text.bytes().take_while(|byte| *byte == b'\\').count();
    let rest = &text[slashes..];
    let Some(next) = rest.chars().next() else { return (Some('\\'), slashes) };
    let code = match next {
        'u' => utf16(rest),
        'U' => hexadecimal_code(&rest[1..], 8).map(|code| (code, 9)),
        'x' => byte_codes(text, |rest| {
            let slashes = rest.bytes().take_while(|byte| *byte == b'\\').count();
            hexadecimal(rest[slashes..].strip_prefix('x').filter(|_| slashes > 0)?, slashes + 1)
        })
        .and_then(|(character, length)| Some((character?, length - slashes))),
        'n' => Some(('\n', 1)),
        'r' => Some(('\r', 1)),
        't' => Some(('\t', 1)),
        mark if mark.is_ascii_punctuation() => Some((mark, 1)),
        _ => None,
    };
    code.map_or((Some('\\'), slashes), |(character, length)| (Some(character), slashes + length))
}

/// `u00f6`, `u{f6}`, or two of the first kind for one character.
fn utf16(text: &str) -> Option<(char, usize)> {
    if let Some((digits, _)) = text.strip_prefix("u{").and_then(|rest| rest.split_once('}')) {
        let code = u32::from_str_radix(digits, 16).ok()?;
        return Some((char::from_u32(code)?, digits.len() + 3));
    }
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix('u')?.get(..4)?, 16).ok();
    let first = unit(text)?;
    if let Some(character) = char::from_u32(u32::from(first)) {
        return Some((character, 5));
    }
    let slashes = text[5..].bytes().take_while(|byte| *byte == b'\\').count();
    let second = unit(&text[5 + slashes..]).filter(|_| slashes > 0)?;
    let character = char::decode_utf16([first, second]).next()?.ok()?;
    Some((character, 10 + slashes))
}

fn hexadecimal_code(text: &str, digits: usize) -> Option<char> {
    char::from_u32(u32::from_str_radix(text.get(..digits)?, 16).ok()?)
}

/// `%C3`, also where the `%` was encoded itself.
fn percent(text: &str) -> Option<(u8, usize)> {
    let mut digits = text.strip_prefix('%')?;
    while let Some(rest) = digits.strip_prefix("25").filter(|rest| hexadecimal(rest, 0).is_some()) {
        digits = rest;
    }
    hexadecimal(digits, text.len() - digits.len())
}

/// A byte in two digits, and how long that is with what came before.
fn hexadecimal(text: &str, before: usize) -> Option<(u8, usize)> {
    let digits = text.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    Some((u8::from_str_radix(digits, 16).ok()?, before + 2))
}

/// A character in the codes of its bytes; a byte that is none in UTF-8 is taken for one of Latin-1.
fn byte_codes(text: &str, code: impl Fn(&str) -> Option<(u8, usize)>) -> Option<DecodedCharacter> {
    let (first, first_length) = code(text)?;
    let (mut bytes, mut length) = (vec![first], first_length);
    let wanted = match first {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 1,
    };
    while bytes.len() < wanted
        && let Some((byte, more)) = code(&text[length..])
    {
        bytes.push(byte);
        length += more;
    }
    match std::str::from_utf8(&bytes).ok().and_then(|text| text.chars().next()) {
        Some(character) => Some((Some(character), length)),
        None => Some((Some(char::from(first)), first_length)),
    }
}

/// The end of a line that goes on (RFC 2045, section 6.7).
fn soft_break(text: &str) -> Option<DecodedCharacter> {
    ["=\r\n", "=\n"].into_iter().find(|end| text.starts_with(end)).map(|end| (None, end.len()))
}

/// `&amp;`, `&#246;` or `&#xf6;`.
fn entity(text: &str) -> Option<DecodedCharacter> {
    let name = &text[1..text.bytes().take(12).position(|byte| byte == b';')?];
    let number = |name: &str| match name.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => name.parse().ok(),
    };
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => char::from_u32(number(name.strip_prefix('#')?)?)?,
    };
    Some((Some(character), name.len() + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(secret: &str, text: &str, expected: &str) {
        let (mut masked, mut at) = (String::new(), 0);
        for place in find(text, &[Spelled::of(secret)]) {
            masked += &text[at..place.start];
            masked += "*";
            at = place.end;
        }
        assert_eq!(masked + &text[at..], expected, "{secret} in {text}");
    }

    #[test]
    fn every_spelling_is_found() {
        let secret = "Grün&-pass/w\"örd";
        for spelled in [
            secret,
            r#"gRÜN&-PASS/W"ÖRD"#,
            r#"Gr\u00fcn\u0026-pass\/w\"\u00f6rd"#,
            r#"Gr\\u00fcn\\u0026-pass\\/w\\\"\\u00F6rd"#,
            r#"Gr\xc3\xbcn&-pass/w\"\xc3\xb6rd"#,
            r#"Gr\xfcn&-pass/w"\xf6rd"#,
            r#"Gr\u{fc}n&-pass/w"\u{F6}rd"#,
            "Gr%C3%BCn%26%2Dpass%2fw%22%c3%b6rd",
            "Gr%25C3%25BCn%2526-pass%252fw%2522%25c3%25b6rd",
            "Gr&#252;n&amp;-pass/w&quot;&#xf6;rd",
            "&#71;&#114;&#252;&#110;&#38;&#45;&#112;&#97;&#115;&#115;&#47;&#119;&#34;&#246;&#114;&#100;",
            "Gr=C3=BCn&-pas=\r\ns/w\"=C3=B6rd",
            "Gru\u{308}n&-pass/w\"o\u{308}rd",
        ] {
            check(secret, &format!("a={spelled}; b"), "a=*; b");
            check(secret, &format!("{spelled}{spelled}"), "**");
        }
        check("s3cret-\u{1f511}-key", r"s3cret-\ud83d\udd11-key", "*");
        check("s3cret-\u{1f511}-key", r"s3cret-\U0001f511-key", "*");
        check(r"C:\new\secret", r#""C:\\new\\secret""#, "\"*\"");
        check("100%41=3D&lt", "is 100%41=3D&lt!", "is *!");
    }

    #[test]
    fn short_ones_are_found_in_their_case() {
        check("a/bc", r"a\/bc A\/BC a/bc", r"* A\/BC *");
        check("prod", "Prod, prod", "Prod, *");
        check("hunter-2", "Hunter-2", "*");
    }

    #[test]
    fn nothing_else_is_found() {
        for text in ["", "\\", "%", "%2", "=", "&", "&#;", "&#x110000;", r"\u12", r"\ud83d", r"\U00110000", "\\x", "ü"]
        {
            check("secret-value", text, text);
            check("secret-value", &format!("{text}secret-value"), &format!("{text}*"));
        }
    }

    #[test]
    fn long_texts_are_read_piece_by_piece() {
        for before in [WINDOW - 8, WINDOW - 1, WINDOW, 3 * WINDOW + 5] {
            let before = "é".repeat(before / 2);
            check("hunter-2-pass", &format!("{before}HUNTER%2d2-pass!"), &format!("{before}*!"));
        }
    }
}
