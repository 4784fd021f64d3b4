//! Addresses to which an answer may be sent.

use axum::http::Uri;

use super::super::super::guard::is_loopback;

/// Is this address one of those that a client registered?
///
/// They are compared as texts (OAuth 2.1, 2.3.1), but for the port of an address of this machine, which programs get from
/// the system (RFC 8252, 7.3).
pub(crate) fn is_registered(registered: &[String], asked: &str) -> bool {
    registered.iter().any(|known| known == asked || differs_in_port_alone(known, asked))
}

fn differs_in_port_alone(known: &str, asked: &str) -> bool {
    let (Ok(known), Ok(asked)) = (known.parse::<Uri>(), asked.parse::<Uri>()) else { return false };
    let is_here = |uri: &Uri| uri.scheme_str() == Some("http") && uri.host().is_some_and(is_loopback);
    let has_credentials = |uri: &Uri| uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    is_here(&known)
        && is_here(&asked)
        && !has_credentials(&asked)
        && known.host() == asked.host()
        && known.path_and_query() == asked.path_and_query()
}

/// May a client register this address? With TLS, on this machine, or with the scheme of a program (RFC 8252, 7).
pub(crate) fn may_be_registered(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once(':') else { return false };
    if uri.contains('#') || rest.is_empty() || rest.contains(char::is_whitespace) {
        return false;
    }
    let parsed = uri.parse::<Uri>().ok();
    let host = parsed.as_ref().and_then(Uri::host).unwrap_or_default();
    match scheme.to_ascii_lowercase().as_str() {
        "https" => !host.is_empty(),
        "http" => is_loopback(host),
        // A scheme of a program is a domain backwards (RFC 8252, 7.1); `javascript` and `data` have no dot.
        other => {
            other.contains('.') && other.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-".contains(&byte))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_port_of_this_machine_may_differ() {
        let registered = ["http://127.0.0.1/callback".to_owned(), "https://app.example/back?x=1".to_owned()];
        for (asked, expected) in [
            ("http://127.0.0.1/callback", true),
            ("http://127.0.0.1:4711/callback", true),
            ("http://127.0.0.1:4711/callback/", false),
            ("http://127.0.0.1:4711/callback?x", false),
            ("http://localhost:4711/callback", false),
            ("http://127.0.0.1@evil.example/callback", false),
            ("http://evil@127.0.0.1/callback", false),
            ("https://127.0.0.1/callback", false),
            ("https://app.example/back?x=1", true),
            ("https://app.example:444/back?x=1", false),
            ("https://app.example/back", false),
        ] {
            assert_eq!(is_registered(&registered, asked), expected, "{asked}");
        }
    }

    #[test]
    fn addresses_that_clients_may_register() {
        for (uri, expected) in [
            ("https://app.example/back", true),
            ("http://localhost:3000/back", true),
            ("http://[::1]/back", true),
            ("com.example.app:/back", true),
            ("http://app.example/back", false),
            ("http://localhost.evil.example/back", false),
            ("https://app.example/back#part", false),
            ("javascript:alert(1)", false),
            ("https:", false),
            ("back", false),
        ] {
            assert_eq!(may_be_registered(uri), expected, "{uri}");
        }
    }
}
