//! Plain scalars of YAML: numbers, truth values, nothing, and text.

use std::borrow::Cow;

use super::Value;

/// The value of a plain scalar, strict about types: `yes`, `007` and `1_000` are text.
pub(crate) fn plain(text: Cow<'_, str>) -> Value {
    match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    number(&text).map_or_else(|| Value::Text(text.into_owned()), Value::Number)
}

/// A whole number would lose digits: the nearest fraction is another number.
pub(crate) fn is_too_large(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    is_whole && text.parse::<i64>().is_err() && text.parse::<u64>().is_err()
}

/// Numbers of the core schema (YAML 1.2.2, 10.3.2), but for leading zeros, which are how codes are written.
fn number(text: &str) -> Option<serde_json::Number> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let radix = |prefix: &str, radix: u32| u64::from_str_radix(digits.strip_prefix(prefix)?, radix).ok();
    let unsigned = digits.len() == text.len();
    if let Some(number) = radix("0x", 16).or_else(|| radix("0o", 8)).filter(|_| unsigned) {
        return Some(number.into());
    }
    let is_padded = digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
    let is_number =
        digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    if is_padded || !is_number {
        return None;
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    if let Ok(number) = text.parse::<u64>() {
        return Some(number.into());
    }
    text.parse::<f64>().ok().and_then(serde_json::Number::from_f64)
}
