//! Rules that need no login: the metadata of the authorization server, and the registration of clients.

use reqwest::Url;
use serde_json::Value;

use super::check::{Judged, broken};
use super::client::registered;
use super::rule::AuthorizationRule;
use super::walk::{Walk, shown_text};
use super::web::shown_url;
use crate::check::CheckEnd;
use crate::transport::http::{address_fault, challenge_parameter, is_here, shown_address};

/// A redirect URI of another machine without TLS; nothing is sent there.
const INSECURE_REDIRECT: &str = "http://mcprove.invalid/callback";

const REFUSED: &str = "the server refuses requests without a token, and its metadata name this authorization server";

pub(crate) async fn metadata(walk: &Walk<'_>) -> Judged {
    let issuer = walk.resource().await?.issuer;
    let Some((place, _)) = walk.metadata(&issuer).await? else {
        let message = format!("the authorization server `{}` publishes no metadata", shown_text(&issuer));
        return Err(broken(AuthorizationRule::Metadata, message, REFUSED));
    };
    Ok(format!("the metadata are at {}", shown_url(&place)))
}

/// The metadata of the authorization server, whatever issuer they name.
async fn published(walk: &Walk<'_>) -> Result<(String, Value), CheckEnd> {
    let issuer = walk.resource().await?.issuer;
    let found = walk.metadata(&issuer).await?;
    let why = "the authorization server publishes no metadata; see the rule `metadata`";
    let (_, metadata) = found.ok_or_else(|| CheckEnd::inconclusive(why))?;
    Ok((issuer, metadata))
}

pub(crate) async fn issuer(walk: &Walk<'_>) -> Judged {
    let (asked, metadata) = published(walk).await?;
    match wrong_issuer(&asked, &metadata) {
        None => Ok(format!("the metadata name `{}`", shown_text(&asked))),
        Some(message) => Err(broken(AuthorizationRule::Issuer, message, REFUSED)),
    }
}

fn wrong_issuer(asked: &str, metadata: &Value) -> Option<String> {
    let asked_text = shown_text(asked);
    match metadata["issuer"].as_str() {
        Some(named) if named == asked => None,
        Some(named) => Some(format!("the metadata of `{asked_text}` name the issuer `{}`", shown_text(named))),
        None => Some(format!("the metadata of `{asked_text}` name no issuer")),
    }
}

pub(crate) async fn pkce_announced(walk: &Walk<'_>) -> Judged {
    let (_, metadata) = published(walk).await?;
    match unannounced(&metadata) {
        None => Ok("the metadata list `S256`".to_owned()),
        Some(message) => Err(broken(AuthorizationRule::PkceAnnounced, message, REFUSED)),
    }
}

fn unannounced(metadata: &Value) -> Option<&'static str> {
    match metadata["code_challenge_methods_supported"].as_array() {
        Some(methods) if methods.iter().any(|method| method == "S256") => None,
        Some(_) => Some("`code_challenge_methods_supported` in the metadata does not list `S256`"),
        None => Some("the metadata have no `code_challenge_methods_supported`"),
    }
}

pub(crate) async fn endpoints(walk: &Walk<'_>) -> Judged {
    let (_, metadata) = published(walk).await?;
    match insecure_endpoint(&metadata) {
        None => Ok("all endpoints have TLS, or are on this machine".to_owned()),
        Some((name, url)) => {
            let message = format!("`{name}` in the metadata is {}, which has no TLS", shown_url(&url));
            Err(broken(AuthorizationRule::Endpoints, message, REFUSED))
        }
    }
}

/// An address that a server announces.
struct AnnouncedAddress {
    /// Where it stands, in words.
    place: String,
    text: String,
}

pub(crate) async fn addresses(walk: &Walk<'_>) -> Judged {
    let challenge = walk.challenge().await?;
    let named = challenge_parameter(&challenge, "resource_metadata");
    // An address without a host is one of the server.
    let named = named.filter(|named| Url::parse(named).is_ok() || walk.server.join(named).is_err());
    let place = "`resource_metadata` of the challenge".to_owned();
    judge_addresses(named.map(|text| AnnouncedAddress { place, text }).as_slice())?;
    let resource = walk.resource_metadata(&challenge).await?;
    judge_addresses(&addresses_of_resource(&resource))?;
    let issuer = walk.issuer(&resource)?;
    let Some((_, metadata)) = walk.metadata(&issuer).await? else {
        return Err(CheckEnd::inconclusive("the authorization server publishes no metadata; see the rule `metadata`"));
    };
    let announced = addresses_of_issuer(&metadata);
    judge_addresses(&announced)?;
    Ok(format!("all {} addresses in the metadata of the authorization server are plain URLs", announced.len()))
}

fn judge_addresses(announced: &[AnnouncedAddress]) -> Result<(), CheckEnd> {
    let Some((AnnouncedAddress { place, text }, fault)) =
        announced.iter().find_map(|address| Some((address, address_fault(&address.text)?)))
    else {
        return Ok(());
    };
    let message = format!("{place} is `{}`, which {fault}", shown_address(text));
    Err(broken(AuthorizationRule::Addresses, message, REFUSED))
}

/// The addresses that clients are told to use in the metadata of a resource (RFC 9728, 2).
fn addresses_of_resource(metadata: &Value) -> Vec<AnnouncedAddress> {
    let address = |place: &str, value: &Value| {
        value.as_str().map(|text| AnnouncedAddress { place: place.to_owned(), text: text.to_owned() })
    };
    let servers = metadata["authorization_servers"].as_array().into_iter().flatten();
    let servers = servers.filter_map(|server| address("an entry of `authorization_servers`", server));
    address("`resource` in the metadata of the server", &metadata["resource"]).into_iter().chain(servers).collect()
}

/// The addresses that clients are told to use in the metadata of an authorization server (RFC 8414, 2; RFC 8705, 5).
fn addresses_of_issuer(metadata: &Value) -> Vec<AnnouncedAddress> {
    let aliases = metadata["mtls_endpoint_aliases"].as_object();
    let members = metadata.as_object().into_iter().chain(aliases).flatten();
    let is_used = |name: &str| name.ends_with("_endpoint") || matches!(name, "issuer" | "jwks_uri");
    let used = members.filter(|(name, _)| is_used(name));
    used.filter_map(|(name, value)| {
        let place = format!("`{}` in the metadata of the authorization server", shown_text(name));
        Some(AnnouncedAddress { place, text: value.as_str()?.to_owned() })
    })
    .collect()
}

/// The first endpoint of another machine that has no TLS.
fn insecure_endpoint(metadata: &Value) -> Option<(String, Url)> {
    let endpoints = metadata.as_object()?.iter().filter(|(name, _)| name.ends_with("_endpoint") || *name == "jwks_uri");
    let mut urls = endpoints.filter_map(|(name, value)| Some((shown_text(name), value.as_str()?.parse::<Url>().ok()?)));
    urls.find(|(_, url)| url.scheme() == "http" && !is_here(url))
}

pub(crate) async fn registration(walk: &Walk<'_>) -> Judged {
    let authority = walk.authority().await?;
    let good = walk.register(&authority, &walk.redirect_uri).await?;
    if registered(&good.json()).is_none() {
        return Err(CheckEnd::inconclusive(format!("no client could be registered: {}", good.summary())));
    }
    let answer = walk.register(&authority, INSECURE_REDIRECT).await?;
    let is_served = (200..300).contains(&answer.status);
    if is_served && keeps(&answer.json(), INSECURE_REDIRECT) {
        let message = format!("a client was registered with the redirect URI `{INSECURE_REDIRECT}`");
        let control = format!("a client with `{}` was registered", shown_text(&walk.redirect_uri));
        return Err(broken(AuthorizationRule::Registration, message, &control));
    }
    match answer.status {
        500.. => Err(CheckEnd::inconclusive(answer.summary())),
        _ => Ok(answer.summary()),
    }
}

/// A server may register a client with other values than it asked for (RFC 7591, 3.2.1).
fn keeps(answer: &Value, redirect_uri: &str) -> bool {
    let is_registered = registered(answer).is_some();
    let listed = answer["redirect_uris"].as_array();
    is_registered && listed.is_none_or(|listed| listed.iter().any(|listed| listed == redirect_uri))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_are_judged_by_their_texts() {
        for (metadata, expected) in [
            (json!({"issuer": "https://a", "code_challenge_methods_supported": ["plain", "S256"]}), [true, true]),
            (json!({"issuer": "https://a/", "code_challenge_methods_supported": ["plain"]}), [false, false]),
            (json!({}), [false, false]),
        ] {
            let kept = [wrong_issuer("https://a", &metadata).is_none(), unannounced(&metadata).is_none()];
            assert_eq!(kept, expected, "{metadata}");
        }
        for (metadata, expected) in [
            (json!({"token_endpoint": "https://a/t", "jwks_uri": "http://127.0.0.1/k"}), None),
            (json!({"issuer": "http://a", "token_endpoint": "http://a/t"}), Some("token_endpoint")),
            (json!({"jwks_uri": "http://a/k"}), Some("jwks_uri")),
            (json!({"token_endpoint": 1}), None),
        ] {
            let found = insecure_endpoint(&metadata).map(|(name, _)| name);
            assert_eq!(found.as_deref(), expected, "{metadata}");
        }
    }

    #[test]
    fn addresses_for_clients_are_collected() {
        let texts =
            |announced: Vec<AnnouncedAddress>| announced.into_iter().map(|address| address.text).collect::<Vec<_>>();
        let resource =
            json!({ "resource": "https://a/mcp", "authorization_servers": ["https://b", 1], "policy_uri": "x" });
        assert_eq!(texts(addresses_of_resource(&resource)), ["https://a/mcp", "https://b"]);
        let metadata = json!({
            "issuer": "https://b", "token_endpoint": "a:$(id)", "jwks_uri": "https://b/k", "scopes_supported": ["x"],
            "mtls_endpoint_aliases": { "token_endpoint": "https://m" },
        });
        assert_eq!(texts(addresses_of_issuer(&metadata)), ["https://b", "a:$(id)", "https://b/k", "https://m"]);
        assert!(judge_addresses(&addresses_of_issuer(&metadata)).is_err());
        assert!(judge_addresses(&addresses_of_resource(&resource)).is_ok());
    }

    #[test]
    fn a_registration_counts_if_it_keeps_the_address() {
        for (answer, expected) in [
            (json!({"client_id": "c", "redirect_uris": [INSECURE_REDIRECT]}), true),
            (json!({"client_id": "c"}), true),
            (json!({"client_id": "c", "redirect_uris": ["https://a/"]}), false),
            (json!({"redirect_uris": [INSECURE_REDIRECT]}), false),
        ] {
            assert_eq!(keeps(&answer, INSECURE_REDIRECT), expected, "{answer}");
        }
    }
}
