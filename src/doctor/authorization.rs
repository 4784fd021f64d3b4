//! Credentials that a server over HTTP wants, and the metadata by which clients find out where to get them (RFC 9728).

use std::time::Duration;

use reqwest::Url;
use serde_json::Value;
use tokio::time::timeout;

use super::Examination;
use crate::source::{shorten, visible_line};
use crate::transport::HttpRefusal;
use crate::transport::http::{HttpAddress, bare_client, challenge_parameter, is_here, resource_places};

const AUTHORIZATION: &str = "authorization";
const METADATA: &str = "metadata";

/// The time for a document of metadata.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The largest document that is read, in bytes.
const MOST_BYTES: usize = 64 << 10;

/// The metadata of a protected resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResourceMetadata {
    /// A document that names authorization servers.
    Found { url: String, servers: Vec<String> },
    /// A document that names none.
    WithoutServers { url: String },
    /// No document there; the answer in words.
    NotFound { url: String, answer: String },
    /// The refusal leads to another machine than the server's, which was not asked.
    Elsewhere { url: String },
}

/// Asks for the metadata that a refusal names, or that stand at their usual place; credentials are not sent.
pub(crate) async fn find_metadata(address: &HttpAddress, refusal: &HttpRefusal) -> Option<ResourceMetadata> {
    let server: Url = address.url.parse().ok()?;
    let challenge = refusal.www_authenticate.as_deref().unwrap_or_default();
    let named = challenge_parameter(challenge, "resource_metadata").and_then(|named| server.join(&named).ok());
    let places = match named {
        Some(url) if !is_same_machine(&url, &server) => {
            return Some(ResourceMetadata::Elsewhere { url: url.to_string() });
        }
        Some(url) => vec![url],
        None => resource_places(&server),
    };
    let client = bare_client(&address.tls, server.scheme()).ok()?;
    let mut found = None;
    for url in places {
        let answered =
            timeout(TIMEOUT, fetch(&client, &url)).await.unwrap_or_else(|_| Err("no answer within 5 s".to_owned()));
        let metadata = read_metadata(url.to_string(), answered);
        let is_found = !matches!(metadata, ResourceMetadata::NotFound { .. });
        found.get_or_insert_with(|| metadata.clone());
        if is_found {
            return Some(metadata);
        }
    }
    found
}

impl ResourceMetadata {
    /// The addresses to which clients are sent: the document itself, and the authorization servers.
    fn addresses(&self) -> impl Iterator<Item = &str> {
        let (url, servers) = match self {
            Self::Found { url, servers } => (url, servers.as_slice()),
            Self::WithoutServers { url } | Self::NotFound { url, .. } | Self::Elsewhere { url } => (url, &[][..]),
        };
        std::iter::once(url.as_str()).chain(servers.iter().map(String::as_str))
    }
}

/// An address of another machine whose scheme is not `https`.
fn is_unprotected(address: &str) -> bool {
    address.parse::<Url>().is_ok_and(|url| url.scheme() != "https" && !is_here(&url))
}

fn is_same_machine(url: &Url, server: &Url) -> bool {
    // A server elsewhere must not lead to what listens on this machine.
    url.host_str() == server.host_str() || is_here(url) && is_here(server)
}

async fn fetch(client: &reqwest::Client, url: &Url) -> Result<Value, String> {
    read_json(client.get(url.clone()).send().await.map_err(|_| "no answer".to_owned())?).await
}

/// The document in a response; an error is what came in its place.
pub(crate) async fn read_json(mut response: reqwest::Response) -> Result<Value, String> {
    if !response.status().is_success() {
        return Err(format!("HTTP {}", response.status()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| "half an answer".to_owned())? {
        body.extend_from_slice(&chunk);
        if body.len() > MOST_BYTES {
            return Err("a document that is too large".to_owned());
        }
    }
    serde_json::from_slice(&body).map_err(|_| "a document that is no JSON".to_owned())
}

fn read_metadata(url: String, answered: Result<Value, String>) -> ResourceMetadata {
    let document = match answered {
        Ok(document) => document,
        Err(answer) => return ResourceMetadata::NotFound { url, answer },
    };
    let servers = document["authorization_servers"].as_array().into_iter().flatten();
    let servers: Vec<String> = servers.filter_map(|server| server.as_str().map(str::to_owned)).collect();
    if servers.is_empty() { ResourceMetadata::WithoutServers { url } } else { ResourceMetadata::Found { url, servers } }
}

/// Judges the refusal of a server that wants credentials; `sends_some` says that it got some.
pub(crate) fn judge_refusal(refusal: &HttpRefusal, sends_some: bool) -> Examination {
    let status = &refusal.status;
    let judged = if sends_some {
        let cure = "see whether the token is still valid, and is one for this server and its scopes";
        Examination::wrong(
            AUTHORIZATION,
            format!("the server refuses the credentials that it got: HTTP {status}"),
            cure,
        )
    } else {
        let cure = "log in with `mcprove login`, or put a token into a variable, and give it with `--header 'Authorization: Bearer {{ env.TOKEN }}'`";
        Examination::wrong(AUTHORIZATION, format!("the server wants credentials: HTTP {status}"), cure)
    };
    let challenge = refusal.www_authenticate.iter();
    judged.with_evidence(
        challenge.map(|challenge| format!("www-authenticate: {}", shorten(&visible_line(challenge), 160))).collect(),
    )
}

/// Judges the metadata of a server that wants credentials.
pub(crate) fn judge_metadata(metadata: &ResourceMetadata) -> Examination {
    let shown = |url: &str| shorten(&visible_line(url), 120);
    let publish = "publish `authorization_servers` there, and name the document in `www-authenticate` as `resource_metadata`: \
                   without it, clients cannot send their users to log in";
    if let Some(plain) = metadata.addresses().find(|url| is_unprotected(url)) {
        return Examination::doubtful(
            METADATA,
            format!("`{}` is an address without TLS, so anybody on the way can read what is sent there", shown(plain)),
            "name it with `https`: OAuth allows `http` for addresses of this machine alone, and clients refuse any other",
        );
    }
    match metadata {
        ResourceMetadata::Found { url, servers } => {
            let servers: Vec<String> = servers.iter().map(|server| format!("`{}`", shown(server))).collect();
            let sentence = format!("{} names the authorization server {}", shown(url), servers.join(" and "));
            Examination::fine(METADATA, sentence)
        }
        ResourceMetadata::WithoutServers { url } => {
            Examination::doubtful(METADATA, format!("{} names no authorization server", shown(url)), publish)
        }
        ResourceMetadata::NotFound { url, answer } => {
            Examination::doubtful(METADATA, format!("{} is not there: {}", shown(url), visible_line(answer)), publish)
        }
        ResourceMetadata::Elsewhere { url } => {
            Examination::fine(METADATA, format!("they are said to be at {}, which was not asked", shown(url)))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::ExaminationVerdict;
    use super::*;

    #[test]
    fn only_the_machine_of_the_server_is_asked() {
        for (server, url, expected) in [
            ("https://a.test/mcp", "https://a.test/x", true),
            ("https://a.test/mcp", "http://127.0.0.1/x", false),
            ("https://a.test/mcp", "http://10.0.0.1/x", false),
            ("http://127.0.0.1:3000/mcp", "http://localhost:9000/x", true),
        ] {
            assert_eq!(is_same_machine(&url.parse().unwrap(), &server.parse().unwrap()), expected, "{server} {url}");
        }
    }

    #[test]
    fn metadata_without_tls_are_worth_a_look() {
        let found = |url: &str, server: &str| {
            judge_metadata(&ResourceMetadata::Found { url: url.to_owned(), servers: vec![server.to_owned()] })
        };
        let elsewhere = |url: &str| judge_metadata(&ResourceMetadata::Elsewhere { url: url.to_owned() });
        let (https, http) = ("https://a.test/x", "http://login.test/");
        for (judged, words) in [
            (found(https, "https://login.test/"), None),
            (found(https, http), Some("`http://login.test/` is an address without TLS")),
            (found("http://a.test/x", "https://login.test/"), Some("`http://a.test/x` is an address")),
            (found("http://127.0.0.1:9000/x", "http://localhost:9001/"), None),
            (found("http://[::1]:9000/x", "http://127.0.0.2/"), None),
            (found(https, "ftp://login.test/"), Some("`ftp://login.test/` is an address")),
            (elsewhere(http), Some("`http://login.test/` is an address")),
            (elsewhere(https), None),
        ] {
            let verdict = if words.is_some() { ExaminationVerdict::Doubtful } else { ExaminationVerdict::Fine };
            assert_eq!(
                (judged.verdict, judged.sentence.contains(words.unwrap_or_default())),
                (verdict, true),
                "{judged:?}"
            );
        }
    }

    #[test]
    fn documents_of_metadata() {
        for (answered, verdict, words) in [
            (
                Ok(json!({"authorization_servers": ["https://login.test"]})),
                ExaminationVerdict::Fine,
                "`https://login.test`",
            ),
            (Ok(json!({"resource": "x"})), ExaminationVerdict::Doubtful, "names no authorization server"),
            (Err("HTTP 404 Not Found".to_owned()), ExaminationVerdict::Doubtful, "is not there: HTTP 404"),
        ] {
            let judged = judge_metadata(&read_metadata("https://a.test/x".to_owned(), answered));
            assert_eq!(judged.verdict, verdict);
            assert!(judged.sentence.contains(words), "{}", judged.sentence);
        }
        let refusal = HttpRefusal { status: "401 Unauthorized".to_owned(), ..HttpRefusal::default() };
        assert!(judge_refusal(&refusal, false).sentence.contains("wants credentials: HTTP 401"));
        assert!(judge_refusal(&refusal, true).sentence.contains("refuses the credentials"));
    }
}
