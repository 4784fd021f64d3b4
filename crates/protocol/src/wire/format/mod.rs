//! Forms that texts and schemas have to take: pure predicates, for what every run scans and for what suites ask.
//!
//! Knows nothing about messages. Strict where an RFC is; what a scan wants to be lenient about has a predicate of its own.

mod schema;
mod text;

use serde_json::Value;

pub use self::schema::{SchemaError, compile, flaw, holds_at_most, is_too_large, options};
pub use self::text::{
    is_base64, is_date_time, is_media_type, is_timestamp, is_token, is_uri, is_uri_template, is_visible_ascii,
};

/// A form that a suite can ask for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringFormat {
    /// RFC 4648, section 4, with padding.
    Base64,
    /// RFC 3339.
    DateTime,
    /// A JSON Schema of the dialect it names, by default 2020-12.
    JsonSchema,
    /// RFC 9110, section 8.3.1.
    MediaType,
    /// RFC 3986, with a scheme.
    Uri,
    /// RFC 6570.
    UriTemplate,
    /// The bytes 0x21 to 0x7E, at least one.
    VisibleAscii,
}

impl StringFormat {
    /// The names, in the order of [`Self::ALL`].
    pub const NAMES: [&'static str; 7] =
        ["base64", "date-time", "json-schema", "media-type", "uri", "uri-template", "visible-ascii"];

    /// Every form.
    pub const ALL: [Self; 7] = [
        Self::Base64,
        Self::DateTime,
        Self::JsonSchema,
        Self::MediaType,
        Self::Uri,
        Self::UriTemplate,
        Self::VisibleAscii,
    ];

    /// The form of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|known| *known == name).map(|at| Self::ALL[at])
    }

    /// Its name in a sentence.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::DateTime => "a date and time of RFC 3339",
            Self::JsonSchema => "a valid JSON Schema",
            Self::MediaType => "a media type",
            Self::Uri => "a URI of RFC 3986",
            Self::UriTemplate => "a URI template of RFC 6570",
            Self::VisibleAscii => "visible ASCII",
        }
    }

    /// Checks that a value has this form; `Err` says why that cannot be decided.
    pub fn fits(self, value: &Value) -> Result<bool, String> {
        let is = |check: fn(&str) -> bool| Ok(value.as_str().is_some_and(check));
        match self {
            Self::JsonSchema if !value.is_object() && !value.is_boolean() => Ok(false),
            Self::JsonSchema => match flaw(value) {
                None => Ok(true),
                Some(SchemaError::Broken(_)) => Ok(false),
                Some(SchemaError::Unjudged(reason)) => Err(reason),
            },
            Self::Base64 => is(is_base64),
            Self::DateTime => is(is_date_time),
            Self::MediaType => is(is_media_type),
            Self::Uri => is(is_uri),
            Self::UriTemplate => is(is_uri_template),
            Self::VisibleAscii => is(is_visible_ascii),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(name: &str, right: &[&str], wrong: &[&str]) {
        let format = StringFormat::parse(name).unwrap();
        for text in right {
            assert_eq!(format.fits(&json!(text)), Ok(true), "{name}: {text:?} fits");
        }
        for text in wrong {
            assert_eq!(format.fits(&json!(text)), Ok(false), "{name}: {text:?} does not fit");
        }
        assert_eq!((format.fits(&json!(7)), format.fits(&Value::Null)), (Ok(false), Ok(false)), "{name}");
    }

    #[test]
    fn texts_have_forms() {
        check(
            "base64",
            &["", "aGk=", "aGk+/w==", "QUJD"],
            &["aGk", "a===", "a=Gk", "aG k", "aGk-", "aGk=\n", "====", "Ä==="],
        );
        check(
            "date-time",
            &["2026-07-28T10:30:00Z", "2026-02-28t23:59:60.123+05:30", "2024-02-29T00:00:00z"],
            &[
                "2026-07-28",
                "2026-07-28T10:30:00",
                "2025-02-29T00:00:00Z",
                "2026-13-01T00:00:00Z",
                "20260728T103000Z",
                "x",
            ],
        );
        check(
            "media-type",
            &[
                "text/plain",
                "image/svg+xml",
                "text/html; charset=utf-8",
                "a/b;c=\"d e\\\"\"",
                "text/html;profile=mcp-app",
                "text/plain;",
            ],
            &["text", "text/", "/plain", "text/plain/x", "te xt/plain", "text/plain;a", "text/plain;a="],
        );
        check(
            "uri",
            &["file:///a%20b", "demo://x/y?z#f", "urn:isbn:1", "git+ssh://h:22/p", "x:", "http://[::1]:80/"],
            &["", "no-scheme", "/a/b", "my_scheme://x", "file:///a b", "1x://y", "a:%zz", "a://ü", "http://[x/"],
        );
        check(
            "uri-template",
            &["a://{id}", "{+path}/x{?q*,r:3}", "plain", "{/a,b}{;c}{&d}{#e}{.f}", "{a.b_c}", "{%41x}"],
            &[
                "{",
                "}",
                "{}",
                "{a",
                "a}",
                "{{a}}",
                "{a,}",
                "{a b}",
                "{a:0}",
                "{a:12345}",
                "{=a}",
                "{a-b}",
                "a b",
                "%zz",
            ],
        );
        check("visible-ascii", &["abc", "!~"], &["", "a b", "ä", "a\n"]);
    }

    #[test]
    fn schemas_are_valid_or_not() {
        for right in [json!({"type": "object"}), json!(true)] {
            assert_eq!(StringFormat::JsonSchema.fits(&right), Ok(true), "{right}");
        }
        for wrong in [json!({"type": "record"}), json!("object"), json!(null), json!([])] {
            assert_eq!(StringFormat::JsonSchema.fits(&wrong), Ok(false), "{wrong}");
        }
        assert!(StringFormat::JsonSchema.fits(&json!({"$ref": "https://example.com/a.json"})).is_err());
    }

    #[test]
    fn moments_of_iso_8601_are_many() {
        for right in [
            "2026-07-28T10:30:00Z",
            "2026-07-28T10:30:00.5",
            "2026-07-28 10:30",
            "20260728T103000+0200",
            "2026-07-28T10:30:00+02",
        ] {
            assert!(is_timestamp(right), "{right}");
        }
        for wrong in [
            "",
            "2026-07-28",
            "yesterday",
            "1753700000",
            "28.07.2026 10:30",
            "2026-07-28T25:00:00Z",
            "2026-02-30T00:00:00Z",
        ] {
            assert!(!is_timestamp(wrong), "{wrong}");
        }
    }
}
