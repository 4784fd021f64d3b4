//! The time for which a token says that it holds, beside the time of the server that refuses it.
//!
//! Tokens are opaque to clients; one that is a JSON Web Token is read only to explain a refusal.

use std::time::Duration;

use chrono::DateTime;
use serde_json::Value;

use super::kept::unix_now;
use crate::redact::from_base64;
use crate::source::duration_text;

/// The claims of a token (RFC 7519, 4); null where it is no JSON Web Token.
pub fn token_claims(token: &str) -> Value {
    let claims = token.split('.').nth(1).and_then(from_base64);
    claims.and_then(|claims| serde_json::from_slice(&claims).ok()).unwrap_or_default()
}

/// Why the clock of a server refuses a new token, as a sentence without an end; `date` is the header of its answer, without
/// which the time of this machine counts. `None` where the token does not say that the time is the reason.
pub fn clock_fault(token: &str, date: Option<&str>) -> Option<String> {
    untimely(&token_claims(token), date.and_then(http_time).unwrap_or_else(now))
}

/// The seconds by which the clock that wrote a header `date` is ahead of this machine's.
pub(crate) fn seconds_ahead(date: &str) -> Option<i64> {
    Some(http_time(date)?.saturating_sub(now()))
}

/// A length of time in words, whatever its sign.
pub(crate) fn difference_text(seconds: i64) -> String {
    duration_text(Duration::from_secs(seconds.unsigned_abs()))
}

fn now() -> i64 {
    i64::try_from(unix_now()).unwrap_or(i64::MAX)
}

/// The seconds since 1970 in a header (RFC 9110, 5.6.7).
fn http_time(date: &str) -> Option<i64> {
    DateTime::parse_from_rfc2822(date.trim()).ok().map(|date| date.timestamp())
}

fn untimely(claims: &Value, now: i64) -> Option<String> {
    // Some authorization servers write fractions.
    #[expect(clippy::cast_possible_truncation, reason = "times far from ours are cut off at the ends")]
    let time = |name: &str| claims[name].as_f64().map(|seconds| seconds as i64);
    let begin = time("nbf").max(time("iat")).filter(|begin| *begin > now);
    if let Some(begin) = begin {
        let later = difference_text(begin.saturating_sub(now));
        return Some(format!(
            "the token is not valid yet: it says that it begins {later} after the time of the server"
        ));
    }
    let end = time("exp").filter(|end| *end <= now)?;
    let earlier = difference_text(now.saturating_sub(end));
    Some(format!("the token is not valid any more: it says that it ended {earlier} before the time of the server"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HOUR: i64 = 3600;

    #[test]
    fn the_times_of_a_token_explain_its_refusal() {
        let now = 1_800_000_000;
        for (claims, expected) in [
            (json!({ "iat": now - 1, "nbf": now - 1, "exp": now + HOUR }), None),
            (json!({ "iat": now + HOUR, "exp": now + 2 * HOUR }), Some("not valid yet")),
            (json!({ "nbf": now + HOUR }), Some("not valid yet")),
            (json!({ "nbf": 1_800_003_600.5 }), Some("not valid yet")),
            (json!({ "iat": now - 2 * HOUR, "exp": now - HOUR }), Some("not valid any more")),
            (json!({ "exp": now }), Some("not valid any more")),
            (json!({ "exp": 1e300 }), None),
            (json!({ "nbf": "soon" }), None),
            (json!({}), None),
            (Value::Null, None),
        ] {
            let found = untimely(&claims, now);
            assert_eq!(found.is_some(), expected.is_some(), "{claims}: {found:?}");
            assert!(found.is_none_or(|found| found.contains(expected.unwrap_or_default())), "{claims}");
        }
    }

    #[test]
    fn the_time_of_the_server_counts() {
        // {"nbf":784111777}, a moment of 1994
        let token = "e30.eyJuYmYiOjc4NDExMTc3N30.x";
        assert_eq!(clock_fault(token, None), None);
        assert_eq!(clock_fault(token, Some("Sun, 06 Nov 1994 08:49:37 GMT")), None);
        let hour_behind = clock_fault(token, Some("Sun, 06 Nov 1994 07:49:37 GMT"));
        assert!(hour_behind.is_some_and(|found| found.contains("after the time of the server")));
        for token in ["opaque", "a.b.c", "", ".."] {
            assert_eq!(clock_fault(token, Some("Sun, 06 Nov 1994 07:49:37 GMT")), None, "{token}");
        }
        assert_eq!(http_time("yesterday"), None);
    }
}
