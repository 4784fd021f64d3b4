//! JSON from servers. The grammar sets no limit to numbers, and what is read into does: a number beyond it is taken for
//! the largest one.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Error, Value};

/// The value in a text.
pub fn parse(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).or_else(|error| {
        let is_number = error.to_string().starts_with("number out of range");
        if is_number { serde_json::from_str(&with_largest(text)) } else { Err(error) }
    })
}

/// A text with the largest number in the place of those that are beyond it.
fn with_largest(text: &str) -> Cow<'_, str> {
    let (mut changed, mut kept) = (String::new(), 0);
    let (mut at, mut is_in_text) = (0, false);
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'\\' if is_in_text => at += 2,
            b'"' => {
                is_in_text = !is_in_text;
                at += 1;
            }
            b'-' | b'0'..=b'9' if !is_in_text => {
                let rest = &text[at..];
                let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
                let number = &rest[..rest.find(|c: char| !is_part(c)).unwrap_or(rest.len())];
                if let Ok(value) = number.parse::<f64>()
                    && value.is_infinite()
                {
                    let _ = write!(changed, "{}{:e}", &text[kept..at], f64::MAX.copysign(value));
                    kept = at + number.len();
                }
                at += number.len();
            }
            _ => at += 1,
        }
    }
    if kept == 0 { text.into() } else { (changed + &text[kept..]).into() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_have_no_limit() {
        let huge = format!("1{}", "0".repeat(400));
        let text = format!(r#"{{"a": [1e400, -1E+999, {huge}, 1.5], "1e400": "\"1e400", "é": "-1e999"}}"#);
        let expected = json!({"a": [f64::MAX, f64::MIN, f64::MAX, 1.5], "1e400": "\"1e400", "é": "-1e999"});
        assert_eq!(parse(&text).unwrap(), expected);
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for text in ["", "{1e400", "[1e400e1]", "[1e400, 01]", "[1e400, \"\\", "1e", "[1e400] x"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
