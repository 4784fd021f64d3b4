//! Addresses that a server announces, judged by their text alone: a client opens some of them in a browser, and sends
//! secrets to others.

use reqwest::Url;

use crate::source::{shorten, visible_line};

/// The number of characters of an address that are shown.
const MOST_SHOWN: usize = 120;

/// What is wrong with an address that clients must not open, as the second half of a sentence; `None` for a plain one.
///
/// It must be an `https` or `http` URL (RFC 8414, 2) without credentials (RFC 9110, 4.2.4), without characters that no URL
/// has (RFC 3986, 2), and without what a shell runs (CVE-2025-6514).
pub fn address_fault(text: &str) -> Option<&'static str> {
    if text.chars().any(|letter| letter.is_control() || letter.is_whitespace() || "`\"<>\\^|".contains(letter)) {
        return Some("has characters that no URL has");
    }
    if text.contains("$(") || text.contains("${") {
        return Some("has a part that shells run as a command");
    }
    let Ok(url) = Url::parse(text) else { return Some("is no URL") };
    if !matches!(url.scheme(), "http" | "https") {
        return Some("is neither an `https` nor an `http` URL");
    }
    has_credentials(&url).then_some("has credentials in it")
}

fn has_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// An announced address in a sentence: in one line, not too long, and without credentials.
pub fn shown_address(text: &str) -> String {
    let without = |mut url: Url| {
        url.set_username("").ok()?;
        url.set_password(None).ok()?;
        Some(url.to_string())
    };
    let bare = match Url::parse(text) {
        Ok(url) if has_credentials(&url) => without(url),
        Ok(_) => None,
        Err(_) => unparsed_without_credentials(text),
    };
    shorten(&visible_line(bare.as_deref().unwrap_or(text)), MOST_SHOWN)
}

/// What is no URL, without what would be its credentials (RFC 3986, 3.2); `None` where it has none.
fn unparsed_without_credentials(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("//")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let at = rest[..end].rfind('@')?;
    Some(format!("{scheme}//{}", &rest[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_shown() {
        for (text, expected) in [
            ("https://user:word@a.example/x", "https://a.example/x"),
            ("https://user@a.example/", "https://a.example/"),
            ("https://user:word@a.example:99999/@x", "https://a.example:99999/@x"),
            ("https://user:w@rd@a.example:99999", "https://a.example:99999"),
            ("https://a.example:99999/?user@x", "https://a.example:99999/?user@x"),
            ("//user:word@a.example", "//a.example"),
            ("a:$(id)", "a:$(id)"),
            ("/x\ny", r"/x\u{a}y"),
        ] {
            assert_eq!(shown_address(text), expected);
        }
    }

    #[test]
    fn only_plain_addresses_are_opened() {
        for (text, expected) in [
            ("https://a.example/authorize", None),
            ("https://a.example:8443/x;v=1/(y)?a=1&b='2'#c", None),
            ("https://login.example/{tenantid}/v2.0", None),
            ("http://127.0.0.1:3000/oauth", None),
            ("https://ä.example/", None),
            ("a:$(calc.exe)", Some("shells run")),
            ("https://a.example/$(id)", Some("shells run")),
            ("https://a.example/${IFS}id", Some("shells run")),
            ("https://a.example/`id`", Some("no URL has")),
            ("https://a.example/|id", Some("no URL has")),
            ("https://a.example/ --flag", Some("no URL has")),
            ("https://a.example\\@b.example/", Some("no URL has")),
            ("https://a.example/\u{1b}[31m", Some("no URL has")),
            ("javascript:alert(1)", Some("neither")),
            ("file:///etc/passwd", Some("neither")),
            ("data:text/html,x", Some("neither")),
            ("calculator:1", Some("neither")),
            ("https://user@a.example/", Some("credentials")),
            ("https://user:word@a.example/", Some("credentials")),
            ("/authorize", Some("is no URL")),
            ("", Some("is no URL")),
        ] {
            let found = address_fault(text);
            assert_eq!(found.is_some(), expected.is_some(), "{text}: {found:?}");
            assert!(found.is_none_or(|found| found.contains(expected.unwrap_or_default())), "{text}: {found:?}");
        }
    }
}
