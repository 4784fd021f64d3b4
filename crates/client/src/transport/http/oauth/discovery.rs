//! Who gives tokens for a server: its metadata (RFC 9728), and those of the authorization server (RFC 8414, `OpenID` Connect
//! Discovery).

use std::net::IpAddr;

use reqwest::Url;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::announced_address::{address_fault, shown_address};
use super::asking::{Asking, OAuthAnswer, Problem, is_here, is_secure, names_host};
use super::challenge::challenge_parameter;
use super::well_known::{issuer_places, resource_places};
use super::{TokenFlow, TokenGrant, TokenRequest};
use crate::source::visible_line;

/// The number of authorization servers of a resource that are asked for their metadata.
const MOST_SERVERS: usize = 5;

/// The metadata of an authorization server, as far as a client needs them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ServerMetadata {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: Option<String>,
    pub(crate) registration_endpoint: Option<String>,
    pub(crate) device_authorization_endpoint: Option<String>,
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) scopes_supported: Option<Vec<String>>,
    pub(crate) code_challenge_methods_supported: Option<Vec<String>>,
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// Every redirect back names the issuer (RFC 9207).
    pub(crate) authorization_response_iss_parameter_supported: bool,
}

/// The metadata of the tested server (RFC 9728).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResourceMetadata {
    resource: Option<String>,
    authorization_servers: Vec<String>,
    scopes_supported: Option<Vec<String>>,
}

/// Who gives tokens, and for what.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) server: ServerMetadata,
    /// The resource that the tested server says it is.
    pub(crate) resource: Option<String>,
    /// The scopes to request.
    pub(crate) scopes: Vec<String>,
}

/// An endpoint, to which secrets may be sent: over TLS, on this machine, or at the origin that the suite names itself; where
/// the tested server names it, only where that may send us.
pub(crate) fn secure_endpoint(
    written: Option<&str>,
    what: &str,
    grant: &TokenGrant,
    needed: &TokenRequest<'_>,
) -> Result<Url, Problem> {
    let written = written.ok_or_else(|| Problem::of(format!("the server publishes no {what}")))?;
    // The suite vouches for the address that it writes itself.
    if grant.token_url.as_deref() != Some(written) {
        plain_address(written, what)?;
    }
    let at = Url::parse(written).map_err(|_| Problem::of(format!("the {what} `{written}` is no URL")))?;
    let of_suite = |named: &Option<String>| named.as_deref().and_then(|named| Url::parse(named).ok());
    let is_named = [&grant.issuer, &grant.token_url]
        .into_iter()
        .filter_map(of_suite)
        .any(|named| named.origin() == at.origin() && matches!(at.scheme(), "http" | "https"));
    let is_of_suite = grant.issuer.is_some() || grant.token_url.is_some();
    if !is_of_suite && is_internal(&at) && !is_internal(needed.url) {
        return Err(Problem::of(format!("the {what} `{at}` is in a network in which the server is not")));
    }
    if is_secure(&at) || is_named {
        return Ok(at);
    }
    let secret =
        if matches!(grant.flow, TokenFlow::ClientCredentials) { "the client secret is" } else { "secrets are" };
    Err(Problem::of(format!("the {what} `{at}` has no TLS; {secret} sent without TLS only within this machine")))
}

/// An address that a server announces, unless no client may open it.
fn plain_address(written: &str, what: &str) -> Result<(), Problem> {
    let Some(fault) = address_fault(written) else { return Ok(()) };
    let message = format!("the {what} `{}` {fault}; it is not opened", shown_address(written));
    Err(Problem::of(message)
        .with_cure("correct the address in the metadata; clients open plain `https` addresses only"))
}

/// A user logs in only at hosts that the suite names, at the server's own, and from this machine on this machine: whoever
/// writes the metadata of the server would get the password otherwise.
pub(crate) fn permit_login(at: &Url, issuer: Option<&str>, hosts: &[String], server: &Url) -> Result<(), Problem> {
    let host = at.host_str().unwrap_or_default();
    let is_known = issuer.is_some()
        || at.host_str() == server.host_str()
        || is_here(at) && is_here(server)
        || hosts.iter().any(|named| names_host(named, at));
    if is_known {
        return Ok(());
    }
    let message = format!("the server sends logins to `{}`, which the suite does not name", visible_line(host));
    let cure = "if that is its authorization server, write it as `issuer` under `auth`";
    Err(Problem::of(message).with_cure(cure))
}

/// Finds out who gives tokens for the server, or takes it from the suite.
pub(crate) async fn discover(
    asking: &Asking<'_>,
    grant: &TokenGrant,
    needed: &TokenRequest<'_>,
) -> Result<Found, Problem> {
    if let Some(url) = &grant.token_url {
        let server = ServerMetadata { token_endpoint: Some(url.clone()), ..ServerMetadata::default() };
        return Ok(Found { server, resource: None, scopes: grant.scopes.clone() });
    }
    if let Some(issuer) = &grant.issuer {
        let server = metadata_of(asking, issuer).await?;
        let server = server.ok_or_else(|| Problem::of(format!("the issuer `{issuer}` publishes no metadata")))?;
        return Ok(Found { server, resource: None, scopes: grant.scopes.clone() });
    }
    let about = resource_metadata(asking, needed).await?;
    let (server, about) = match about {
        Some(about) => (server_of(asking, &about, grant, needed).await?, about),
        None => (server_beside(asking, needed.url).await?, ResourceMetadata::default()),
    };
    let asked = needed.challenge.and_then(|challenge| challenge_parameter(challenge, "scope"));
    let asked = asked.map(|scope| scope.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    let scopes = if grant.scopes.is_empty() {
        asked.or(about.scopes_supported).unwrap_or_default()
    } else {
        grant.scopes.clone()
    };
    Ok(Found { server, resource: about.resource, scopes })
}

/// What the tested server publishes of itself; `None` where it publishes nothing.
async fn resource_metadata(
    asking: &Asking<'_>,
    needed: &TokenRequest<'_>,
) -> Result<Option<ResourceMetadata>, Problem> {
    let named = needed.challenge.and_then(|challenge| challenge_parameter(challenge, "resource_metadata"));
    let named = named.and_then(|named| needed.url.join(&named).ok());
    let named = named.filter(|named| may_be_asked(named, needed.url));
    let mut places = resource_places(needed.url);
    places.retain(|place| Some(place) != named.as_ref());
    for at in named.into_iter().chain(places) {
        let answer = asking.get(&at).await?;
        let Some(about) = read::<ResourceMetadata>(&answer)? else { continue };
        if about.resource.is_some() || !about.authorization_servers.is_empty() {
            return Ok(Some(about));
        }
    }
    Ok(None)
}

/// Metadata in an answer; `None` where it is no success or no mapping, since many servers answer every path with something.
fn read<T: DeserializeOwned>(answer: &OAuthAnswer) -> Result<Option<T>, Problem> {
    let value = serde_json::from_slice::<serde_json::Value>(&answer.body).unwrap_or_default();
    if answer.status != 200 || !value.is_object() {
        return Ok(None);
    }
    serde_json::from_value(value).map(Some).map_err(|error| {
        Problem::of(format!("`{}` was answered with metadata that are not valid: {error}", answer.title))
    })
}

/// The first authorization server of a resource that publishes metadata.
async fn server_of(
    asking: &Asking<'_>,
    about: &ResourceMetadata,
    grant: &TokenGrant,
    needed: &TokenRequest<'_>,
) -> Result<ServerMetadata, Problem> {
    // RFC 9728, 3.3: metadata of another resource are not used. Who writes the resource knows better.
    if let Some(resource) = about.resource.as_ref().filter(|_| grant.resource.is_none())
        && !Url::parse(resource).is_ok_and(|resource| is_within(needed.url, &resource))
    {
        let message = format!("the server publishes metadata of another resource, `{resource}`");
        return Err(Problem::of(message)
            .with_cure("correct `resource` in the metadata, or write it as `resource` under `auth`"));
    }
    for named in about.authorization_servers.iter().take(MOST_SERVERS) {
        let is_plain = address_fault(named).is_none();
        let allowed = is_plain && Url::parse(named).is_ok_and(|named| may_be_asked(&named, needed.url));
        if allowed && let Some(server) = metadata_of(asking, named).await? {
            return Ok(server);
        }
    }
    match about.authorization_servers.as_slice() {
        [] => server_beside(asking, needed.url).await,
        named => Err(Problem::of(format!(
            "no authorization server that the server names publishes metadata: {}",
            named.join(", ")
        ))),
    }
}

/// An authorization server that is the tested server itself (2025-03-26, authorization).
async fn server_beside(asking: &Asking<'_>, url: &Url) -> Result<ServerMetadata, Problem> {
    let origin = url.origin().ascii_serialization();
    let server = metadata_of(asking, &origin).await?;
    server.ok_or_else(|| Problem::of("the server publishes no token endpoint"))
}

/// The metadata of an issuer, at the places where they may be (2025-11-25, authorization server metadata discovery).
async fn metadata_of(asking: &Asking<'_>, issuer: &str) -> Result<Option<ServerMetadata>, Problem> {
    let Ok(url) = Url::parse(issuer) else {
        return Err(Problem::of(format!("the issuer `{issuer}` is not a URL")));
    };
    for at in issuer_places(&url) {
        let answer = asking.get(&at).await?;
        let server = read::<ServerMetadata>(&answer)?
            .filter(|server| !server.issuer.is_empty() || server.token_endpoint.is_some());
        let Some(server) = server else { continue };
        if server.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
            let found = visible_line(&server.issuer);
            return Err(Problem::of(format!(
                "`{}` was answered with metadata of another issuer, `{found}`",
                answer.title
            )));
        }
        return Ok(Some(server));
    }
    Ok(None)
}

/// The tested server may send us there for a document: to itself, over TLS, or from this machine to this machine; and into
/// a private network only from within one.
fn may_be_asked(at: &Url, server: &Url) -> bool {
    at.origin() == server.origin() || is_secure(at) && (!is_internal(at) || is_internal(server))
}

/// An address of this machine, or one of a private network.
fn is_internal(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_private = match host.parse().map(|address: IpAddr| address.to_canonical()) {
        Ok(IpAddr::V4(address)) => address.is_private() || address.is_link_local() || address.is_unspecified(),
        Ok(IpAddr::V6(address)) => {
            address.is_unique_local() || address.is_unicast_link_local() || address.is_unspecified()
        }
        Err(_) => false,
    };
    is_private || is_here(url)
}

/// A resource that covers an address: the same origin, and its path or a folder above it.
fn is_within(url: &Url, resource: &Url) -> bool {
    let (path, folder) = (url.path(), resource.path().trim_end_matches('/'));
    let rest = path.strip_prefix(folder);
    url.origin() == resource.origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_asked_for_where_the_server_may_send_us() {
        let check = |server: &str, at: &str, expected: bool| {
            let (server, at) = (Url::parse(server).unwrap(), Url::parse(at).unwrap());
            assert_eq!(may_be_asked(&at, &server), expected, "{server} {at}");
        };
        check("https://a.test/mcp", "https://a.test/about", true);
        check("https://a.test/mcp", "https://login.test/", true);
        check("https://a.test/mcp", "http://127.0.0.1:80/", false);
        check("http://127.0.0.1:1/mcp", "http://localhost:2/", true);
        check("http://a.test/mcp", "http://a.test/about", true);
        check("http://a.test/mcp", "http://b.test/about", false);
        check("http://a.test/mcp", "http://127.0.0.1/about", false);
        check("http://127.0.0.1:1/mcp", "http://192.168.0.1/", false);
        check("http://127.0.0.1:1/mcp", "file:///etc/passwd", false);
        check("https://a.test/mcp", "https://127.0.0.1/", false);
        check("https://a.test/mcp", "https://169.254.169.254/", false);
        check("https://a.test/mcp", "https://[fd00::1]/", false);
        check("https://a.test/mcp", "https://[::ffff:169.254.169.254]/", false);
        check("https://10.0.0.1/mcp", "https://10.0.0.2/", true);
        check("http://127.0.0.1:1/mcp", "https://10.0.0.2/", true);
    }

    #[test]
    fn users_log_in_where_the_suite_says() {
        let check = |server: &str, at: &str, expected: bool| {
            let (server, at) = (Url::parse(server).unwrap(), Url::parse(at).unwrap());
            let hosts = ["login.test".to_owned(), "ports.test:8443".to_owned()];
            let known = permit_login(&at, None, &hosts, &server).is_ok();
            assert_eq!(known, expected, "{server} {at}");
            let issuer = Some("https://issuer.test");
            assert!(permit_login(&at, issuer, &[], &server).is_ok(), "the suite names the issuer");
        };
        check("https://a.test/mcp", "https://a.test/login", true);
        check("https://a.test/mcp", "https://Login.test/", true);
        check("https://a.test/mcp", "https://ports.test:8443/", true);
        check("https://a.test/mcp", "https://ports.test/", false);
        check("https://a.test/mcp", "https://b.test/login", false);
        check("http://127.0.0.1:1/mcp", "http://localhost:2/login", true);
        check("http://127.0.0.1:1/mcp", "https://b.test/login", false);
        check("https://a.test/mcp", "http://127.0.0.1/login", false);
    }

    #[test]
    fn resources_cover_their_folders() {
        let check = |resource: &str, expected: bool| {
            let url = Url::parse("https://a.test/mcp/v1").unwrap();
            assert_eq!(is_within(&url, &Url::parse(resource).unwrap()), expected, "{resource}");
        };
        check("https://a.test/mcp/v1", true);
        check("https://a.test", true);
        check("https://a.test/mcp/", true);
        check("https://a.test/mc", false);
        check("https://b.test/mcp/v1", false);
        check("http://a.test/mcp/v1", false);
    }
}
