//! The places of metadata: of a resource (RFC 9728, 3.1) and of an authorization server (RFC 8414, 3; `OpenID` Connect Discovery).

use reqwest::Url;

/// The addresses of the metadata of a resource whose challenge names none.
pub fn resource_places(server: &Url) -> Vec<Url> {
    let path = server.path().trim_end_matches('/');
    places(
        server,
        &[format!("/.well-known/oauth-protected-resource{path}"), "/.well-known/oauth-protected-resource".to_owned()],
    )
}

/// The addresses of the metadata of an issuer, in the order of the specification.
pub fn issuer_places(issuer: &Url) -> Vec<Url> {
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
    let at_path = |path: &String| {
        let mut place = base.clone();
        place.set_path(path);
        place.set_query(None);
        place.set_fragment(None);
        place
    };
    let mut places: Vec<Url> = paths.iter().map(at_path).collect();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stand_behind_the_well_known_part() {
        let texts = |places: Vec<Url>| places.into_iter().map(String::from).collect::<Vec<_>>();
        let url = |text: &str| Url::parse(text).unwrap();
        assert_eq!(
            texts(issuer_places(&url("https://a.example/tenant/?x"))),
            [
                "https://a.example/.well-known/oauth-authorization-server/tenant",
                "https://a.example/.well-known/openid-configuration/tenant",
                "https://a.example/tenant/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            texts(issuer_places(&url("https://a.example"))),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            texts(resource_places(&url("https://a.example/mcp"))),
            [
                "https://a.example/.well-known/oauth-protected-resource/mcp",
                "https://a.example/.well-known/oauth-protected-resource",
            ]
        );
    }
}
