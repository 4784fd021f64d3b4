//! Requests to the authorization server, and to nobody whom the suite does not name.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::{Client, Method, Url};
use serde_json::Value;
use tokio::time::timeout;

use crate::check::CheckEnd;
use crate::source::{duration_text, shorten, visible_line};
use crate::transport::http::{CookieJar, TrustedRoots, bare_client, is_here, names_host};

/// The largest body that is read, in bytes.
const LARGEST_BODY: usize = 1 << 20;

/// The number of characters of an address that are shown.
const SHOWN_URL: usize = 120;

/// Sends requests, keeps cookies, and follows no redirect.
pub(crate) struct Web {
    /// The address of the tested server.
    server: Url,
    /// Hosts that the suite names.
    hosts: BTreeSet<String>,
    tls: TrustedRoots,
    timeout: Duration,
    /// The clients of the schemes that were used.
    clients: Mutex<BTreeMap<String, Client>>,
    cookies: Mutex<CookieJar>,
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct WebRequest<'a> {
    pub(crate) url: &'a Url,
    pub(crate) body: WebBody<'a>,
    /// The header `Authorization`.
    pub(crate) authorization: Option<&'a str>,
}

/// The body of a request, and with it the method.
#[derive(Debug, Clone)]
pub(crate) enum WebBody<'a> {
    /// None: a GET.
    None,
    /// A form that is posted.
    Form(&'a [(String, String)]),
    /// JSON that is posted.
    Json(&'a Value),
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct WebAnswer {
    pub(crate) url: Url,
    pub(crate) status: u16,
    pub(crate) cache_control: String,
    pub(crate) content_type: String,
    pub(crate) location: Option<String>,
    pub(crate) body: String,
}

impl WebAnswer {
    /// The body as JSON; null if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The address of a redirect.
    pub(crate) fn redirect(&self) -> Option<Url> {
        let location = self.location.as_deref().filter(|_| (300..400).contains(&self.status))?;
        self.url.join(location).ok()
    }

    /// The answer in words, without its body, which may hold secrets.
    pub(crate) fn summary(&self) -> String {
        let error = self.json()["error"].as_str().map(|code| format!(" `{}`", known_error(code)));
        format!("{} answered with {}{}", shown_url(&self.url), self.status, error.unwrap_or_default())
    }
}

/// A code of an error, if it is one of OAuth: any other text may hold a secret that was sent.
pub(crate) fn known_error(code: &str) -> &'static str {
    let found = ERRORS.iter().find(|known| **known == code);
    found.copied().unwrap_or("an error that OAuth does not know")
}

/// RFC 6749, 4.1.2.1 and 5.2; RFC 6750, 3.1; RFC 7009, 2.2.1; RFC 7591, 3.2.2; RFC 8707, 2; `OpenID` Connect Core, 3.1.2.6.
const ERRORS: &[&str] = &[
    "access_denied",
    "consent_required",
    "insufficient_scope",
    "interaction_required",
    "invalid_client",
    "invalid_client_metadata",
    "invalid_grant",
    "invalid_redirect_uri",
    "invalid_request",
    "invalid_scope",
    "invalid_target",
    "invalid_token",
    "login_required",
    "server_error",
    "temporarily_unavailable",
    "unauthorized_client",
    "unsupported_grant_type",
    "unsupported_response_type",
    "unsupported_token_type",
];

impl Web {
    pub(crate) fn new(server: Url, hosts: BTreeSet<String>, tls: TrustedRoots, timeout: Duration) -> Self {
        Self { server, hosts, tls, timeout, clients: Mutex::default(), cookies: Mutex::default() }
    }

    /// True if a request may go there.
    pub(crate) fn may_ask(&self, url: &Url) -> bool {
        may_ask(url, &self.server, &self.hosts)
    }

    /// Forgets all cookies, as another browser does.
    pub(crate) fn forget_cookies(&self) {
        *self.cookies.lock() = CookieJar::default();
    }

    /// Sends a request where one may go.
    pub(crate) async fn send(&self, request: WebRequest<'_>) -> Result<WebAnswer, CheckEnd> {
        let url = request.url;
        if !self.may_ask(url) {
            let why = format!(
                "{} is neither on this machine nor on a host that the suite names; name the host under `hosts` if it may be asked",
                shown_url(url)
            );
            return Err(CheckEnd::inconclusive(why));
        }
        if url.scheme() == "http" && !is_here(url) {
            return Err(CheckEnd::inconclusive(format!("{} has no TLS, so no secret is sent there", shown_url(url))));
        }
        let within = timeout(self.timeout, self.exchange(&request)).await;
        within
            .unwrap_or_else(|_| Err(format!("gave no answer within {}", duration_text(self.timeout))))
            .map_err(|why| CheckEnd::inconclusive(format!("{} {why}", shown_url(url))))
    }

    async fn exchange(&self, request: &WebRequest<'_>) -> Result<WebAnswer, String> {
        let url = request.url;
        let client = self.client(url.scheme())?;
        let (method, accept) = match request.body {
            WebBody::None => (Method::GET, "text/html, application/json"),
            WebBody::Form(_) => (Method::POST, "application/json, text/html"),
            WebBody::Json(_) => (Method::POST, "application/json"),
        };
        let mut sending = client.request(method, url.clone()).header("accept", accept);
        if let Some(authorization) = request.authorization {
            sending = sending.header("authorization", authorization);
        }
        if let Some(cookies) = self.cookies.lock().header(url) {
            sending = sending.header("cookie", cookies);
        }
        sending = match request.body {
            WebBody::None => sending,
            WebBody::Form(fields) => {
                sending.header("content-type", "application/x-www-form-urlencoded").body(encode(fields))
            }
            WebBody::Json(value) => sending.header("content-type", "application/json").body(value.to_string()),
        };
        let mut response = sending.send().await.map_err(|_| "gave no answer".to_owned())?;
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (status, location) = (response.status().as_u16(), header("location"));
        let cache_control = header("cache-control").unwrap_or_default();
        let content_type = header("content-type").unwrap_or_default();
        // No text of a page is shown, so nobody sees a cookie.
        self.cookies.lock().store(url, response.headers(), |_| {});
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|_| "gave half an answer".to_owned())? {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST_BODY {
                return Err("gave an answer of more than 1 MiB".to_owned());
            }
        }
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(WebAnswer { url: url.clone(), status, cache_control, content_type, location, body })
    }

    /// A client, which takes long to make where it reads the certificates of the system.
    fn client(&self, scheme: &str) -> Result<Client, String> {
        let mut clients = self.clients.lock();
        if let Some(client) = clients.get(scheme) {
            return Ok(client.clone());
        }
        let client = bare_client(&self.tls, scheme).map_err(|error| format!("cannot be asked: {error}"))?;
        clients.insert(scheme.to_owned(), client.clone());
        Ok(client)
    }
}

/// Fields as `application/x-www-form-urlencoded`.
fn encode(fields: &[(String, String)]) -> String {
    with_query("http://localhost/", fields).and_then(|url| url.query().map(str::to_owned)).unwrap_or_default()
}

/// An address with further parameters.
pub(crate) fn with_query(url: &str, fields: &[(String, String)]) -> Option<Url> {
    let mut url = Url::parse(url).ok()?;
    url.query_pairs_mut().extend_pairs(fields);
    Some(url)
}

/// An address as it is shown: without its query, which may hold a code.
pub(crate) fn shown_url(url: &Url) -> String {
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    format!("`{}`", shorten(&visible_line(bare.as_str()), SHOWN_URL))
}

/// A server elsewhere must not lead to what listens on this machine.
fn may_ask(url: &Url, server: &Url, hosts: &BTreeSet<String>) -> bool {
    let is_web = matches!(url.scheme(), "http" | "https");
    let is_named = url.host_str() == server.host_str() || hosts.iter().any(|named| names_host(named, url));
    is_web && (is_named || is_here(url) && is_here(server))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn only_named_hosts_are_asked() {
        let hosts = BTreeSet::from(["login.example".to_owned()]);
        for (server, url, expected) in [
            ("http://127.0.0.1:3000/mcp", "http://localhost:4000/token", true),
            ("http://127.0.0.1:3000/mcp", "https://login.example/", true),
            ("http://127.0.0.1:3000/mcp", "https://issuer.example/", false),
            ("https://a.example/mcp", "https://a.example/token", true),
            ("https://a.example/mcp", "http://127.0.0.1/token", false),
            ("https://a.example/mcp", "https://evil.a.example/", false),
            ("https://a.example/mcp", "ftp://a.example/", false),
        ] {
            let asked = may_ask(&url.parse().unwrap(), &server.parse().unwrap(), &hosts);
            assert_eq!(asked, expected, "{server} {url}");
        }
    }

    /// What follows where a server sends this and then nothing more, or ends.
    async fn ask(sent: &'static str, times: usize, goes_on: bool) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert_ne!(stream.read(&mut [0; 1024]).await.unwrap(), 0);
            for _ in 0..times {
                if stream.write_all(sent.as_bytes()).await.is_err() {
                    return;
                }
            }
            if goes_on {
                std::future::pending::<()>().await;
            }
        });
        let web = Web::new(url.clone(), BTreeSet::new(), TrustedRoots::System, Duration::from_secs(30));
        let answer = web.send(WebRequest { url: &url, body: WebBody::None, authorization: None }).await;
        serving.abort();
        answer.map_or_else(|end| end.sentence(), |answer| answer.summary())
    }

    #[tokio::test]
    async fn answers_without_an_end_are_not_read_to_it() {
        let endless =
            ask("HTTP/1.1 200 OK\r\n\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", usize::MAX, false).await;
        assert!(endless.ends_with("gave an answer of more than 1 MiB"), "{endless}");
        let broken = ask("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", 1, false).await;
        assert!(broken.ends_with("gave half an answer"), "{broken}");
        let error = ask("HTTP/1.1 400 No\r\nContent-Length: 18\r\n\r\n{\"error\":\"secret\"}", 1, false).await;
        assert!(error.ends_with("answered with 400 `an error that OAuth does not know`"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_with_the_time_of_a_request() {
        let silent = ask("", 0, true).await;
        assert!(silent.contains("gave no answer"), "{silent}");
    }

    #[test]
    fn an_address_is_shown_without_its_code() {
        assert_eq!(shown_url(&"http://a.example/cb?code=secret#x".parse().unwrap()), "`http://a.example/cb`");
        let fields = [("a b".to_owned(), "c&d".to_owned())];
        assert_eq!(encode(&fields), "a+b=c%26d");
    }
}
