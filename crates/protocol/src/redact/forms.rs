//! The forms in which a value travels that can be listed: in base64 and hexadecimal digits, and as most libraries escape it.

use serde_json::Value;

use super::SHORTEST;

/// The forms of a secret that can be listed.
pub(crate) fn of(secret: &str) -> Vec<String> {
    let encoded = base64(secret.as_bytes());
    let unpadded = encoded.trim_end_matches('=').to_owned();
    let json = Value::from(secret).to_string();
    let percent = ["-._~", "-_.!~*'()"].map(|kept| percent_encoded(secret, kept));
    let hexadecimal = hexadecimal(secret);
    let mut forms = vec![
        secret.to_owned(),
        unpadded.replace('+', "-").replace('/', "_"),
        unpadded,
        encoded,
        json[1..json.len() - 1].to_owned(),
    ];
    // A value in the middle of a longer one is still legible after base64; its inner part does not change.
    for inner in (0..3).filter_map(|shift| shifted_base64(secret.as_bytes(), shift)) {
        forms.push(inner.replace('+', "-").replace('/', "_"));
        forms.push(inner);
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

pub(crate) fn percent_encoded(text: &str, kept: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b if b.is_ascii_alphanumeric() || kept.as_bytes().contains(&b) => char::from(b).to_string(),
            b => format!("%{b:02X}"),
        })
        .collect()
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
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32, shift: u32| char::from(DIGITS[(bits >> shift & 63) as usize]);
    bytes
        .chunks(3)
        .map(|chunk| {
            let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
            let bits = at(0) << 16 | at(1) << 8 | at(2);
            let third = if chunk.len() > 1 { digit(bits, 6) } else { '=' };
            let fourth = if chunk.len() > 2 { digit(bits, 0) } else { '=' };
            [digit(bits, 18), digit(bits, 12), third, fourth].iter().collect::<String>()
        })
        .collect()
}

/// The bytes that a text in base64 stands for; padding may be left out, and line breaks count for nothing.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let end = digits.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    if digits.len() - end > 2 || end % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::new();
    for group in digits[..end].chunks(4) {
        let mut bits = 0u32;
        for digit in group {
            bits = bits << 6 | value_of(*digit)?;
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

fn value_of(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
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
        for wrong in ["a", "ab!=", "====", "ab=c"] {
            assert_eq!(from_base64(wrong), None, "{wrong}");
        }
    }
}
