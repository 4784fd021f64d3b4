//! Forms of texts.

use std::sync::LazyLock;

use chrono::NaiveDate;
use fluent_uri::Uri;
use regex::{Captures, Regex};

/// A text is a URI of RFC 3986, with a scheme.
pub fn is_uri(text: &str) -> bool {
    Uri::parse(text).is_ok()
}

/// A text is base64 of RFC 4648, section 4, with its padding and nothing else.
pub fn is_base64(text: &str) -> bool {
    let bytes = text.as_bytes();
    let padding = bytes.iter().rev().take_while(|byte| **byte == b'=').count();
    let is_of_alphabet = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    bytes.len().is_multiple_of(4) && padding <= 2 && bytes[..bytes.len() - padding].iter().all(is_of_alphabet)
}

/// A text is visible ASCII: the bytes 0x21 to 0x7E, at least one.
pub fn is_visible_ascii(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// A text is a token of HTTP (RFC 9110, section 5.6.2).
pub fn is_token(text: &str) -> bool {
    let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_of_token)
}

/// A text is a media type (RFC 9110, section 8.3.1), with or without parameters.
pub fn is_media_type(text: &str) -> bool {
    let (essence, parameters) = text.split_once(';').map_or((text, None), |(essence, rest)| (essence, Some(rest)));
    let Some((kind, subtype)) = essence.trim_end_matches([' ', '\t']).split_once('/') else { return false };
    is_token(kind) && is_token(subtype) && parameters.is_none_or(|rest| PARAMETERS.is_match(rest))
}

#[expect(clippy::unwrap_used, reason = "the pattern is constant, and a test uses it")]
static PARAMETERS: LazyLock<Regex> = LazyLock::new(|| {
    let token = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+";
    let parameter = format!(r#"[ \t]*(?:{token}=(?:{token}|"(?:[^"\\]|\\.)*"))?[ \t]*"#);
    Regex::new(&format!("^{parameter}(?:;{parameter})*$")).unwrap()
});

/// A text is a date and time of RFC 3339.
pub fn is_date_time(text: &str) -> bool {
    RFC_3339.captures(text).is_some_and(|parts| exists(&parts))
}

/// A text is a date and time of ISO 8601, in whichever of its forms.
pub fn is_timestamp(text: &str) -> bool {
    ISO_8601.captures(text).is_some_and(|parts| exists(&parts))
}

#[expect(clippy::unwrap_used, reason = "the pattern is constant, and a test uses it")]
static RFC_3339: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$",
    )
    .unwrap()
});

#[expect(clippy::unwrap_used, reason = "the pattern is constant, and a test uses it")]
static ISO_8601: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^([0-9]{4})-?([0-9]{2})-?([0-9]{2})[Tt ]([0-9]{2}):?([0-9]{2})(?::?([0-9]{2})(?:[.,][0-9]+)?)?(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?$",
    )
    .unwrap()
});

/// The day is in the calendar and the time on the clock, a leap second included.
fn exists(parts: &Captures<'_>) -> bool {
    let part = |at: usize| parts.get(at).and_then(|part| part.as_str().parse::<u32>().ok()).unwrap_or_default();
    let year = i32::try_from(part(1)).unwrap_or_default();
    let is_day = NaiveDate::from_ymd_opt(year, part(2), part(3)).is_some();
    is_day && part(4) < 24 && part(5) < 60 && part(6) <= 60
}

/// A text is a URI template.
pub fn is_uri_template(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (literal, tail) = rest.split_at(at);
        let Some((expression, after)) = tail.strip_prefix('{').and_then(|tail| tail.split_once('}')) else {
            return false;
        };
        if !is_literal(literal) || !is_expression(expression) {
            return false;
        }
        rest = after;
    }
    is_literal(rest)
}

fn is_literal(text: &str) -> bool {
    // The grammar leaves the apostrophe out by mistake (erratum 6937), and URIs may have it.
    let is_allowed = |c: char| !c.is_control() && !matches!(c, ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '|');
    text.chars().all(is_allowed) && are_escapes_whole(text)
}

fn are_escapes_whole(text: &str) -> bool {
    let escapes = text.split('%').skip(1);
    escapes.map(str::as_bytes).all(|rest| rest.len() >= 2 && rest[..2].iter().all(u8::is_ascii_hexdigit))
}

fn is_expression(text: &str) -> bool {
    let variables = text.strip_prefix(['+', '#', '.', '/', ';', '?', '&']).unwrap_or(text);
    variables.split(',').all(is_variable)
}

fn is_variable(text: &str) -> bool {
    if let Some(name) = text.strip_suffix('*') {
        return is_variable_name(name);
    }
    let Some((name, length)) = text.split_once(':') else { return is_variable_name(text) };
    let is_length = (1..=4).contains(&length.len()) && length.bytes().all(|byte| byte.is_ascii_digit());
    is_variable_name(name) && is_length && !length.starts_with('0')
}

fn is_variable_name(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '%');
        !part.is_empty() && part.chars().all(is_of_name) && are_escapes_whole(part)
    };
    text.split('.').all(is_part)
}
