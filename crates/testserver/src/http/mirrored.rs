//! Headers that repeat what a message says, as 2026-07-28 has them: the method, the name, and arguments of tools whose
//! schema marks them with `x-mcp-header`. Knows nothing about which headers a request needs besides.

use axum::http::{HeaderMap, HeaderName};
use rmcp::model::JsonObject;
use serde_json::Value;

use mcprove_protocol::redact::from_base64;

/// The mark on a property of a tool's input: the name of the header, without what all have in common.
const MARK: &str = "x-mcp-header";
const PREFIX: &str = "mcp-param-";

/// Holds a header to the value that the message has; an error says what is wrong.
pub(crate) fn expect(headers: &HeaderMap, name: &HeaderName, expected: &str) -> Result<(), String> {
    let Some(decoded) = header_value(headers, name)? else {
        return Err(format!("the header `{name}` is missing; it must be `{expected}`, as in the message"));
    };
    if decoded == expected {
        return Ok(());
    }
    Err(differs(name, &decoded, expected))
}

/// Holds the headers to the arguments of a call.
pub(crate) fn expect_arguments(headers: &HeaderMap, schema: &JsonObject, arguments: &Value) -> Result<(), String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    for (property, schema) in properties {
        let argument = arguments.get(property).unwrap_or(&Value::Null);
        if let Some(name) = schema.get(MARK).and_then(Value::as_str) {
            expect_argument(headers, name, argument)?;
        }
        if let Some(schema) = schema.as_object() {
            expect_arguments(headers, schema, argument)?;
        }
    }
    Ok(())
}

fn expect_argument(headers: &HeaderMap, name: &str, argument: &Value) -> Result<(), String> {
    let Ok(name) = HeaderName::try_from(format!("{PREFIX}{name}")) else {
        return Ok(());
    };
    let written = match argument {
        Value::Null => {
            let is_there = headers.contains_key(&name);
            let message = format!("the header `{name}` is there, but the message has no such argument");
            return if is_there { Err(message) } else { Ok(()) };
        }
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => argument.to_string(),
        // No header can repeat them; the tool itself says that they do not fit.
        Value::Array(_) | Value::Object(_) => return Ok(()),
    };
    match (argument.as_f64(), header_value(headers, &name)?) {
        // Numbers are the same however they are written.
        (Some(number), Some(given)) if given.parse() == Ok(number) => Ok(()),
        _ => expect(headers, &name, &written),
    }
}

fn differs(name: &HeaderName, given: &str, expected: &str) -> String {
    format!("the header `{name}` is `{given}`, but the message has `{expected}`")
}

/// The value of a header, decoded.
fn header_value(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, String> {
    let Some(value) = super::single(headers, name)? else {
        return Ok(None);
    };
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => {
            let decoded = decode(encoded);
            decoded.map(Some).ok_or_else(|| format!("the header `{name}` is `{value}`, which is not valid Base64"))
        }
        None => Ok(Some(value.to_owned())),
    }
}

/// Text in Base64, with its padding, and nothing but its 64 letters.
fn decode(encoded: &str) -> Option<String> {
    let is_strict = encoded.len().is_multiple_of(4) && !encoded.contains(['-', '_', ' ']);
    String::from_utf8(from_base64(encoded).filter(|_| is_strict)?).ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use serde_json::json;

    use super::*;

    /// The complaint about the header `Mcp-Param-Where` where the argument has this value, or `fits`.
    fn check(header: Option<&str>, argument: &Value) -> String {
        let schema = json!({ "properties": { "place": { "properties": { "where": { MARK: "Where" } } } } });
        let mut headers = HeaderMap::new();
        if let Some(value) = header {
            headers.insert("mcp-param-where", HeaderValue::from_str(value).unwrap());
        }
        let checked =
            expect_arguments(&headers, schema.as_object().unwrap(), &json!({ "place": { "where": argument } }));
        checked.map_or_else(|why| why, |()| "fits".to_owned())
    }

    #[test]
    fn headers_repeat_arguments() {
        let cases = [
            (Some("here"), json!("here"), "fits"),
            (Some("=?base64?aGVyZQ==?="), json!("here"), "fits"),
            (Some("=?base64?SGVsbG8sIOS4lueVjA==?="), json!("Hello, 世界"), "fits"),
            (Some("=?base64?aGVyZQ=="), json!("=?base64?aGVyZQ=="), "fits"),
            (Some("=?BASE64?aGVyZQ==?="), json!("=?BASE64?aGVyZQ==?="), "fits"),
            (Some("42.0"), json!(42), "fits"),
            (Some("-7"), json!(-7), "fits"),
            (Some("true"), json!(true), "fits"),
            (None, Value::Null, "fits"),
            (None, json!(["here"]), "fits"),
            (Some("Here"), json!("here"), "the header `mcp-param-where` is `Here`, but the message has `here`"),
            (Some("True"), json!(true), "the header `mcp-param-where` is `True`, but the message has `true`"),
            (Some("43"), json!(42), "the header `mcp-param-where` is `43`, but the message has `42`"),
            (
                Some("=?base64?aGVyZQ?="),
                json!("here"),
                "the header `mcp-param-where` is `=?base64?aGVyZQ?=`, which is not valid Base64",
            ),
            (
                Some("=?base64?aGV!ZQ==?="),
                json!("here"),
                "the header `mcp-param-where` is `=?base64?aGV!ZQ==?=`, which is not valid Base64",
            ),
            (None, json!("here"), "the header `mcp-param-where` is missing; it must be `here`, as in the message"),
            (Some("here"), Value::Null, "the header `mcp-param-where` is there, but the message has no such argument"),
        ];
        for (header, argument, expected) in cases {
            assert_eq!(check(header, &argument), expected, "{header:?} for {argument}");
        }
    }
}
