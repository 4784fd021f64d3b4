//! From a refusal of the server to the metadata of its authorization server (RFC 9728, RFC 8414).

use reqwest::Url;

/// A parameter of a challenge, such as `scope` (RFC 9110, 11.2).
pub(crate) fn challenge_parameter(challenge: &str, name: &str) -> Option<String> {
    let (_, mut rest) = challenge.trim().split_once(' ')?;
    loop {
        rest = rest.trim_start_matches([' ', ',', '\t']);
        let (key, after) = rest.split_once('=')?;
        let (value, after) = read_value(after.trim_start())?;
        if key.trim().rsplit(' ').next()?.eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = after;
    }
}

/// A value, quoted or not, and what follows it.
fn read_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ']).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(letters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

/// The addresses of the metadata of a resource whose challenge names none (RFC 9728, 3.1).
pub(crate) fn resource_places(server: &Url) -> Vec<Url> {
    let path = server.path().trim_end_matches('/');
    places(
        server,
        &[format!("/.well-known/oauth-protected-resource{path}"), "/.well-known/oauth-protected-resource".to_owned()],
    )
}

/// The addresses of the metadata of an issuer, in the order of the specification.
pub(crate) fn issuer_places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    places(
        issuer,
        &[
            format!("/.well-known/oauth-authorization-server{path}"),
            format!("/.well-known/openid-configuration{path}"),
            format!("{path}/.well-known/openid-configuration"),
        ],
    )
}

fn places(base: &Url, paths: &[String]) -> Vec<Url> {
    let mut places: Vec<Url> = paths
        .iter()
        .map(|path| {
            let mut place = base.clone();
            place.set_path(path);
            place.set_query(None);
            place.set_fragment(None);
            place
        })
        .collect();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_challenge() {
        let whole = r#"Bearer error="invalid_token", resource_metadata="http://a/x?y=\"z\"" ,scope="a b", x=1"#;
        for (challenge, name, expected) in [
            (whole, "error", Some("invalid_token")),
            (whole, "resource_metadata", Some("http://a/x?y=\"z\"")),
            (whole, "SCOPE", Some("a b")),
            (whole, "x", Some("1")),
            (whole, "realm", None),
            ("Bearer scope=a, error=b", "error", Some("b")),
            ("Bearer", "scope", None),
            ("Bearer scope=\"open", "scope", None),
            ("", "scope", None),
        ] {
            assert_eq!(challenge_parameter(challenge, name).as_deref(), expected, "{challenge} {name}");
        }
    }

    #[test]
    fn places_of_metadata() {
        for (issuer, expected) in [
            (
                "https://a.example",
                &[
                    "https://a.example/.well-known/oauth-authorization-server",
                    "https://a.example/.well-known/openid-configuration",
                ][..],
            ),
            (
                "https://a.example/t/1/?x#y",
                &[
                    "https://a.example/.well-known/oauth-authorization-server/t/1",
                    "https://a.example/.well-known/openid-configuration/t/1",
                    "https://a.example/t/1/.well-known/openid-configuration",
                ],
            ),
        ] {
            let places: Vec<String> = issuer_places(&issuer.parse().unwrap()).iter().map(Url::to_string).collect();
            assert_eq!(places, expected, "{issuer}");
        }
        assert_eq!(resource_places(&"http://a/mcp".parse().unwrap()).len(), 2);
    }
}
