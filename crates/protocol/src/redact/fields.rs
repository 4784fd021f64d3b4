//! Fields of messages whose names say that their texts are secret, in values and in texts that hold JSON.
//!
//! Only what could be a credential is taken for one: cursors, counts, schemas and words about a field stay legible.

use serde_json::Value;

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::guess::SWITCHES;
use super::{MASK, SHORTEST, mask};

/// The ends of names of secrets, without what separates their words.
const ENDS: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
    "credential",
    "credentials",
    "authorization",
];

/// The last two letters of all of these.
const LAST_LETTERS: [&[u8; 2]; 9] = [b"rd", b"wd", b"se", b"et", b"en", b"ey", b"al", b"ls", b"on"];

/// Ends of names of positions in lists and in work, which end like those of secrets.
const POSITIONS: [&str; 7] =
    ["progresstoken", "pagetoken", "nexttoken", "continuationtoken", "synctoken", "resumetoken", "cursortoken"];

/// Texts that say something about a field instead of filling it, in small letters.
const ABOUT: [&str; 12] = [
    "string", "text", "number", "integer", "boolean", "object", "array", "required", "optional", "missing", "invalid",
    "bearer",
];

/// A field of a message holds a secret: its name ends like that of one, and its text could be one.
pub fn holds_a_secret(name: &str, text: &str) -> bool {
    is_name_of_a_secret(name) && could_be_a_credential(text)
}

/// One of the arguments of a call holds a secret.
pub fn hold_a_secret(arguments: &Value) -> bool {
    let mut members = arguments.as_object().into_iter().flatten();
    members.any(|(name, value)| value.as_str().is_some_and(|text| holds_a_secret(name, text)))
}

fn is_name_of_a_secret(name: &str) -> bool {
    ends_like_a_secret(name.as_bytes()) && !POSITIONS.iter().any(|end| ends_like(name.as_bytes(), end))
}

fn ends_like_a_secret(name: &[u8]) -> bool {
    let mut letters = name.iter().rev().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase);
    // Hardly a name gets further than its last two letters.
    let (Some(last), Some(before)) = (letters.next(), letters.next()) else { return false };
    LAST_LETTERS.contains(&&[before, last]) && ENDS.iter().any(|end| ends_like(name, end))
}

/// A name ends with these letters, whatever separates its words.
fn ends_like(name: &[u8], end: &str) -> bool {
    let mut left = name;
    for wanted in end.bytes().rev() {
        loop {
            let Some((last, before)) = left.split_last() else { return false };
            left = before;
            if last.is_ascii_alphanumeric() {
                if last.to_ascii_lowercase() == wanted {
                    break;
                }
                return false;
            }
        }
    }
    true
}

fn could_be_a_credential(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    let secret = small.strip_prefix("bearer ").or_else(|| small.strip_prefix("basic ")).unwrap_or(&small);
    let is_spoken = secret.contains(|c: char| c.is_whitespace() || c.is_control());
    let is_about = ABOUT.contains(&secret) || SWITCHES.contains(&secret);
    let is_stand_in =
        secret.contains(MASK) || secret.starts_with("{{") || secret.chars().all(|c| secret.starts_with(c));
    secret.len() >= SHORTEST && !is_spoken && !is_about && !is_stand_in
}

/// The name of a member of an object and the quote that opens its text, at any depth: JSON within JSON escapes its quotes.
#[expect(clippy::unwrap_used, reason = "the pattern is constant")]
static OPENING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(\\*)(["'])([A-Za-z][\w.-]*)\\*["']\s*:\s*(\\*)(["'])"#).unwrap());

/// A text may have a field whose name is that of a secret: a colon follows such a name. Most texts of a run have none, and
/// are looked at nowhere else.
pub fn may_name_a_secret(text: &str) -> bool {
    text.match_indices(':').any(|(at, _)| ends_like_a_secret(&text.as_bytes()[..at]))
}

/// A text in which the members of JSON that hold secrets are masked.
pub(crate) fn without_secret_members(text: String) -> String {
    if !may_name_a_secret(&text) {
        return text;
    }
    let mut places: Vec<Range<usize>> = Vec::new();
    for found in OPENING.captures_iter(&text) {
        let (_, [slashes, quote, name, same_slashes, same_quote]) = found.extract();
        let begin = found.get(0).map_or(0, |whole| whole.end());
        if (slashes, quote) == (same_slashes, same_quote) && is_name_of_a_secret(name) {
            let length = quoted_length(&text[begin..], slashes.len(), quote);
            if could_be_a_credential(&text[begin..begin + length]) {
                places.push(begin..begin + length);
            }
        }
    }
    mask(text, &places)
}

/// The length of a text up to the quote that closes it: one with no more backslashes than the one that opened it. A text
/// that was cut ends where it was cut.
fn quoted_length(text: &str, depth: usize, quote: &str) -> usize {
    for (at, _) in text.match_indices(quote) {
        let slashes = text[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        match depth {
            0 if slashes % 2 == 0 => return at,
            0 => {}
            _ if slashes <= depth => return at - slashes,
            _ => {}
        }
    }
    text.find(|c: char| c.is_whitespace() || c == '…').unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_text_make_a_secret() {
        let check = |name: &str, text: &str, expected: bool| {
            assert_eq!(holds_a_secret(name, text), expected, "{name}: {text}");
        };
        for name in [
            "password",
            "user_password",
            "userPassword",
            "api_key",
            "apiKey",
            "X-Api-Key",
            "access_token",
            "idToken",
            "client_secret",
            "Authorization",
            "privateKey",
            "pwd",
        ] {
            check(name, "hunter2", true);
        }
        for name in [
            "nextCursor",
            "progressToken",
            "nextPageToken",
            "total_tokens",
            "max_tokens",
            "token_type",
            "tokenizer",
            "sessionId",
            "key",
            "name",
            "passwordLength",
            "secretary",
        ] {
            check(name, "hunter2", false);
        }
        check("authorization", "Bearer tok-123", true);
        check("authorization", "Bearer", false);
        for text in ["", "abc", "string", "true", "********", MASK, "{{ env.TOKEN }}", "must be longer than eight"] {
            check("password", text, false);
        }
    }

    #[test]
    fn texts_that_may_have_a_field_with_a_secret() {
        for end in ENDS {
            assert!(LAST_LETTERS.iter().any(|last| end.as_bytes().ends_with(*last)), "{end}");
            assert!(may_name_a_secret(&format!("a: 1, {}: x", end.to_uppercase())), "{end}");
        }
        for text in ["api_key: k-1", "{\"Access-Key\" : 1}", "'user_passwd':''", "é\\\"token\\\":1"] {
            assert!(may_name_a_secret(text), "{text}");
        }
        for text in ["password", "name: Ann", "tokens: 3", "é:", ""] {
            assert!(!may_name_a_secret(text), "{text}");
        }
    }

    #[test]
    fn members_are_masked_wherever_they_are_quoted() {
        let check = |text: &str, expected: &str| {
            assert_eq!(without_secret_members(text.to_owned()), expected.replace('*', MASK), "{text}");
        };
        check(r#"{"password":"hunter2","user":"ann"}"#, r#"{"password":"*","user":"ann"}"#);
        check(r#"{"password" : "hun\"ter2"}"#, r#"{"password" : "*"}"#);
        check(
            r#"{"text":"{\"api_key\": \"k-1\u002d2345\", \"n\": 1}"}"#,
            r#"{"text":"{\"api_key\": \"*\", \"n\": 1}"}"#,
        );
        check(r#"\\\"token\\\":\\\"tok-12345\\\","#, r#"\\\"token\\\":\\\"*\\\","#);
        check("{'password': 'hunter2', 'user': 'ann'}", "{'password': '*', 'user': 'ann'}");
        check(r#"{"name":"ann","password":"hunter2-is-c… (300 bytes)"#, r#"{"name":"ann","password":"*… (300 bytes)"#);
        for text in [
            r#"{"nextCursor":"cursor-1234"}"#,
            r#"{"_meta":{"progressToken":"token-1234"},"total_tokens":4096}"#,
            r#"{"properties":{"password":{"type":"string","description":"of the user"}},"required":["password"]}"#,
            r#"{"password":"must have eight characters"}"#,
            "password: hunter2",
            "",
        ] {
            check(text, text);
        }
    }
}
