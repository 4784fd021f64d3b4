//! Takes secrets out of everything that leaves the program, by value and in the forms in which values travel.

mod guess;
mod marks;

use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

pub use self::guess::{is_secret, user_of};
pub use self::marks::{Part, RESTORED_FROM, mark, parts, variable};

/// What stands where a secret was.
pub const MASK: &str = "[redacted]";

/// Values shorter than this are no secrets: masking them would make every report unreadable.
const SHORTEST: usize = 4;

/// How many characters of a secret say too much.
const TELLING: usize = 8;

/// Parts of the names of headers and parameters whose values are secret.
const SECRET_NAMES: [&str; 8] =
    ["authorization", "cookie", "api-key", "apikey", "token", "secret", "password", "session"];

/// Whether what has that name, such as a header or a parameter of an address, is secret.
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// The values in the query of an address that are secret by their names, as they are written.
pub fn query_secrets(url: &str) -> impl Iterator<Item = &str> {
    let query = url.split_once('?').map_or("", |(_, query)| query.split('#').next().unwrap_or_default());
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(name, value)| names_a_secret(name) && !value.is_empty()).map(|(_, value)| value)
}

/// Knows every secret of a run; clones learn what one of them learns.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    /// Longest first, so that a secret that contains another is masked whole.
    forms: Arc<RwLock<Arc<[String]>>>,
    /// Secrets that have a name, and the variables from which they are taken back; longest first.
    named: Arc<[(String, String)]>,
}

impl Redactor {
    /// Knows these values, also in base64, in hexadecimal digits, percent-encoded and escaped for JSON or HTML.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let forms = secrets.into_iter().filter(|secret| secret.len() >= SHORTEST).flat_map(|secret| forms_of(&secret));
        Self { forms: Arc::new(RwLock::new(ordered(forms.collect()))), named: Arc::default() }
    }

    /// Knows these values, each under a name by which it can be asked for later.
    pub fn named(secrets: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut named: Vec<(String, String)> = Vec::new();
        for (name, value) in secrets.into_iter().filter(|(_, value)| value.len() >= SHORTEST) {
            let name = variable(&name);
            if named.iter().any(|(known, _)| *known == value) {
                continue;
            }
            let times = named
                .iter()
                .filter(|(_, known)| known.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit()) == name)
                .count();
            named.push((value, if times == 0 { name } else { format!("{name}_{}", times + 1) }));
        }
        let redactor = Self::new(named.iter().map(|(value, _)| value.clone()));
        named.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        Self { named: named.into(), ..redactor }
    }

    /// What was said, with a mark in the place of each secret that has a name, and without the others: whoever knows
    /// the secrets says it again from its [`parts`]. Called once for a text; nothing in it is taken for a mark.
    pub fn restorable(&self, text: &str) -> String {
        with_marks(&self.named, text, &|part| marks::literal(&self.text(part)))
    }

    /// What somebody wrote in templates, with one in the place of each secret that has a name, and without the others.
    pub fn in_templates(&self, text: &str) -> String {
        with_marks(&self.named, text, &|part| self.text(part))
    }

    /// What [`Self::restorable`] returned, without the secrets that were learned since.
    pub fn still_restorable(&self, text: &str) -> String {
        marks::around(text, &|part| self.text(part))
    }

    /// Knows this value too, in all its forms, from here on.
    pub fn learn(&self, secret: &str) {
        if secret.len() < SHORTEST {
            return;
        }
        let mut known = self.forms.write().unwrap_or_else(PoisonError::into_inner);
        *known = ordered(known.iter().cloned().chain(forms_of(secret)).collect());
    }

    fn forms(&self) -> Arc<[String]> {
        Arc::clone(&self.forms.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.forms().is_empty()
    }

    /// The text without secrets, nor the beginnings of secrets that were cut off.
    pub fn text(&self, text: &str) -> String {
        // Whole forms first: the beginning of one form may be the whole beginning of another.
        let whole = self.forms().iter().fold(text.to_owned(), |text, form| {
            if text.contains(form.as_str()) { text.replace(form.as_str(), MASK) } else { text }
        });
        self.without_beginnings(whole)
    }

    /// Masks where a text breaks off in the middle of a secret: whoever cut it did not know.
    fn without_beginnings(&self, text: String) -> String {
        let is_telling = |form: &&String| telling(form).is_some_and(|telling| text.contains(telling));
        let known = self.forms();
        let forms: Vec<&String> = known.iter().filter(is_telling).collect();
        if forms.is_empty() {
            return text;
        }
        let mut masked = String::with_capacity(text.len());
        let (mut rest, mut buffer) = (text.as_str(), [0; 4]);
        while let Some(next) = rest.chars().next() {
            // The form that goes on for longest is the one that was cut.
            let length = forms.iter().filter_map(|form| beginning(rest, form)).max();
            let kept = next.encode_utf8(&mut buffer);
            masked.push_str(if length.is_some() { MASK } else { kept });
            rest = &rest[length.unwrap_or(next.len_utf8())..];
        }
        masked
    }

    /// The value without secrets, keys included.
    pub fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(&text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                Value::Object(fields.into_iter().map(|(key, value)| (self.text(&key), self.value(value))).collect())
            }
            Value::Number(number) if self.forms().iter().any(|form| *form == number.to_string()) => MASK.into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }
}

/// Whether a text may have been this one before its secrets were taken out: what was masked can have been anything.
pub fn may_be(masked: &str, text: &str) -> bool {
    let Some((first, rest)) = masked.split_once(MASK) else { return masked == text };
    let (middle, last) = rest.rsplit_once(MASK).unwrap_or(("", rest));
    let between = text.strip_prefix(first).and_then(|text| text.strip_suffix(last));
    let found = between
        .and_then(|text| middle.split(MASK).try_fold(text, |text, part| text.split_once(part).map(|(_, later)| later)));
    found.is_some()
}

/// The text with marks for secrets, the first ones first; what is between them changes.
fn with_marks(named: &[(String, String)], text: &str, between: &dyn Fn(&str) -> String) -> String {
    let Some(((value, variable), others)) = named.split_first() else { return between(text) };
    let parts = text.split(value.as_str()).map(|part| with_marks(others, part, between));
    parts.collect::<Vec<_>>().join(&mark(variable))
}

fn ordered(mut forms: Vec<String>) -> Arc<[String]> {
    forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    forms.dedup();
    forms.into()
}

/// The shortest beginning of a form that says too much.
fn telling(form: &str) -> Option<&str> {
    let length = (form.chars().count() / 3).max(TELLING);
    form.char_indices().nth(length).map(|(end, _)| &form[..end])
}

/// How much of a form a text begins with, where that is too much.
fn beginning(text: &str, form: &str) -> Option<usize> {
    telling(form).filter(|telling| text.starts_with(telling))?;
    Some(text.chars().zip(form.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum())
}

/// The forms of a secret and, where it has several lines, of each that says something by itself.
fn forms_of(secret: &str) -> Vec<String> {
    let lines = secret.lines().map(str::trim).filter(|line| line.len() >= TELLING && *line != secret.trim());
    let mut forms: Vec<String> = lines.flat_map(forms_of_line).collect();
    forms.extend(forms_of_line(secret));
    forms
}

fn forms_of_line(secret: &str) -> Vec<String> {
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
    forms.extend((1..3).filter_map(|shift| shifted_base64(secret.as_bytes(), shift)));
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

fn percent_encoded(text: &str, kept: &str) -> String {
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

fn hexadecimal(text: &str) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    text.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The base64 digits that stay the same whatever stands before and after the secret at that offset.
fn shifted_base64(secret: &[u8], shift: usize) -> Option<String> {
    let mut padded = vec![0; shift];
    padded.extend_from_slice(secret);
    let whole = padded.len() / 3 * 4;
    let encoded = base64(&padded);
    let inner = encoded.get(4..whole)?;
    (inner.len() >= 8).then(|| inner.to_owned())
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
    use serde_json::json;

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

    #[test]
    fn what_is_masked_can_have_been_anything() {
        let check =
            |masked: &str, text: &str, expected: bool| assert_eq!(may_be(masked, text), expected, "{masked} {text}");
        check("ann", "ann", true);
        check("ann", "anna", false);
        check("opens with [redacted]", "opens with sesame", true);
        check("opens with [redacted]", "closes with sesame", false);
        check("a [redacted] c", "a c", false);
        check("[redacted] b [redacted]", "1 b 2", true);
        check("[redacted] b [redacted]", "1 c 2", false);
        check("a[redacted][redacted]b", "ab", true);
        check("x [redacted]", "x [redacted]", true);
    }

    #[test]
    fn every_form_is_masked() {
        let redactor = Redactor::new(["s3cr&t/\"value".to_owned()]);
        for text in [
            "x s3cr&t/\"value y".to_owned(),
            base64(b"s3cr&t/\"value"),
            format!("Basic {}", base64(b"user:s3cr&t/\"value")),
            percent_encoded("s3cr&t/\"value", "-._~"),
            json!({"a": "s3cr&t/\"value"}).to_string(),
            "s3cr%26t%2f%22value".to_owned(),
            "s3cr&amp;t/&quot;value".to_owned(),
            hexadecimal("s3cr&t/\"value").to_uppercase(),
        ] {
            let masked = redactor.text(&text);
            assert!(masked.contains(MASK), "{text} -> {masked}");
        }
        assert_eq!(redactor.text("cut: s3cr&t/\"v…"), format!("cut: {MASK}…"));
        let alike = Redactor::new(["hunter2-s3cr&t/value".to_owned()]);
        assert_eq!(alike.text("a hunter2-s3cr&t/value b"), format!("a {MASK} b"));
        assert_eq!(alike.text("a hunter2-s3cr&t/v b"), format!("a {MASK} b"));
        assert_eq!(alike.text("a hunter2-s3cr%26t b"), format!("a {MASK} b"));
        assert_eq!(redactor.text("s3cr is short"), "s3cr is short");
        let lines = Redactor::new(["-----BEGIN-----\nMIIEpemline1\n-----END-----".to_owned()]);
        assert_eq!(lines.text("+MIIEpemline1"), format!("+{MASK}"));
        assert_eq!(base64(b"Man"), "TWFu");
        assert_eq!(base64(b"Ma"), "TWE=");
        assert_eq!(redactor.value(json!([{"k": "s3cr&t/\"value"}, 1])), json!([{"k": MASK}, 1]));
        assert_eq!(Redactor::new(["1".to_owned()]).text("1"), "1");
        let known = Redactor::named([("token".to_owned(), "hunter2-is-it".to_owned())]);
        assert_eq!(known.restorable("a hunter2-is-it b"), "a {{ env.MCPROVE_SECRET_TOKEN }} b");
        assert_eq!(known.restorable(&base64(b"hunter2-is-it")), MASK);
        let forged = "a {{ env.MCPROVE_SECRET_TOKEN }} b";
        assert_eq!(parts(&known.restorable(forged)), [Part::Said(forged.into())]);
        assert_eq!(
            known.in_templates(&format!("{forged} hunter2-is-it")),
            format!("{forged} {}", &forged[2..forged.len() - 2])
        );
        let odd = Redactor::named([("a".to_owned(), "SECRET".to_owned()), ("b".to_owned(), "a SECRET".to_owned())]);
        let said = odd.restorable("a SECRET of SECRET");
        assert_eq!(said, "{{ env.MCPROVE_SECRET_B }} of {{ env.MCPROVE_SECRET_A }}");
        odd.learn("MCPROVE");
        assert_eq!(odd.still_restorable(&said), said);
        let twin = lines.clone();
        lines.learn("token-7");
        assert_eq!(twin.text("Bearer token-7, line +MIIEpemline1"), format!("Bearer {MASK}, line +{MASK}"));
    }
}
