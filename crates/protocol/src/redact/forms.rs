//! The forms in which a value travels that can be listed: in base64 and hexadecimal digits, and as most libraries escape it.

use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::{BASE64_STANDARD, Engine};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::SHORTEST;

/// The forms of a secret that can be listed.
pub(crate) fn of(secret: &str) -> Vec<String> {
    let encoded = base64(secret.as_bytes());
    let unpadded = encoded.trim_end_matches('=').to_owned();
    let json = Value::from(secret).to_string();
    let percent = [UNRESERVED, COMPONENT].map(|set| utf8_percent_encode(secret, set).to_string());
    let hexadecimal = hexadecimal(secret);
    let mut forms = vec![
        secret.to_owned(),
        unpadded.replace('+', "-").replace('/', "_"),
        unpadded,
        encoded,
        json[1..json.len() - 1].to_owned(),
    ];
    // A value in the middle of a longer one is still legible after base64; its inner part does not change.
    let mut spellings = vec![secret.to_owned(), json[1..json.len() - 1].to_owned()];
    for is_escaped in [is_beyond_ascii, |_| true] {
        let escaped = as_utf16(secret, is_escaped);
        spellings.extend([with_capital_digits(&escaped), escaped]);
    }
    spellings.dedup();
    for spelling in spellings {
        for inner in (0..3).filter_map(|shift| shifted_base64(spelling.as_bytes(), shift)) {
            forms.push(inner.replace('+', "-").replace('/', "_"));
            forms.push(inner);
        }
        forms.push(spelling);
    }
    forms.extend([hexadecimal.to_uppercase(), hexadecimal]);
    forms.extend(percent.iter().map(|form| with_small_digits(form)));
    forms.extend(percent);
    forms.extend(["&#39;", "&#x27;", "'"].map(|quote| as_html(secret, quote)));
    // A debug-quoted or doubly escaped value is how logs often carry it.
    let twice = Value::from(json[1..json.len() - 1].to_owned()).to_string();
    forms.push(twice[1..twice.len() - 1].to_owned());
    forms.retain(|form| form.len() >= SHORTEST);
    forms
}

/// Encodes all but the unreserved characters of RFC 3986, section 2.3.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes what JavaScript's `encodeURIComponent` encodes.
const COMPONENT: &AsciiSet = &UNRESERVED.remove(b'!').remove(b'*').remove(b'\'').remove(b'(').remove(b')');

/// A text in which everything but letters, digits and `-._~` is percent-encoded.
pub fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

const fn is_beyond_ascii(c: char) -> bool {
    !c.is_ascii()
}

/// A text in which these characters are escaped as in JSON, with small digits.
pub(crate) fn as_utf16(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let escaped = |c: char| {
        let mut units = [0; 2];
        let codes = c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
        if is_escaped(c) { codes.collect() } else { c.to_string() }
    };
    text.chars().map(escaped).collect()
}

/// Escapes as some write them: `\u00E4` for `\u00e4`.
fn with_capital_digits(escaped: &str) -> String {
    let mut parts = escaped.split("\\u");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (digits, rest) = part.split_at_checked(4).unwrap_or((part, ""));
        format!("{text}\\u{}{rest}", digits.to_uppercase())
    })
}

/// Percent-encoding as some write it: `%3c` for `%3C`.
fn with_small_digits(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (digits, rest) = part.split_at(2.min(part.len()));
        format!("{text}%{}{rest}", digits.to_lowercase())
    })
}

/// A text within a page, where a single quote is written in one of several ways.
fn as_html(text: &str, quote: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', quote)
}

pub(crate) fn hexadecimal(text: &str) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    text.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The base64 digits that stay the same whatever stands before and after the secret at that offset.
fn shifted_base64(secret: &[u8], shift: usize) -> Option<String> {
    let mut padded = vec![0; shift];
    padded.extend_from_slice(secret);
    let encoded = base64(&padded);
    // A digit holds six bits, and one at an edge holds bits of a neighbour, too.
    let inner = encoded.get((8 * shift).div_ceil(6)..8 * padded.len() / 6)?;
    (inner.len() >= SHORTEST).then(|| inner.to_owned())
}

/// Bytes in base64, padded.
pub fn base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// Reads both alphabets, with or without padding, and tolerates bits after the last byte.
const LENIENT_BASE64: GeneralPurpose = {
    let config = GeneralPurposeConfig::new();
    let config = config.with_decode_allow_trailing_bits(true).with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(&alphabet::STANDARD, config)
};

/// The bytes that a text in base64 stands for; padding is optional, and white space is ignored.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.replace('-', "+").replace('_', "/").replace(|c: char| c.is_ascii_whitespace(), "");
    LENIENT_BASE64.decode(digits).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_goes_both_ways() {
        for bytes in [&b""[..], b"a", b"ab", b"abc", b"\xff\xfe\x00\x10"] {
            assert_eq!(from_base64(&base64(bytes)).as_deref(), Some(bytes));
        }
        assert_eq!(from_base64("/w"), Some(vec![0xff]));
        for wrong in ["a", "ab!=", "====", "ab=c", "a===="] {
            assert_eq!(from_base64(wrong), None, "{wrong}");
        }
    }
}
