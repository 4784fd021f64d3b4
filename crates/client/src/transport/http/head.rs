//! Requests as they leave: the client, its headers, and where it may be sent on to.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Method, Response, Url};

use super::failure::{self, ConnectionBreak, HttpFailure, status_text};
use super::{HttpAddress, TrustedRoots, cut_body};
use crate::transport::{ConnectError, MessageForm};
use crate::wire::HttpHead;

/// The number of redirects of one request that are followed.
const MAX_REDIRECTS: usize = 5;

/// The time for which a connection is kept for the next request; servers hang up after five seconds at the earliest.
const KEEP_ALIVE: Duration = Duration::from_secs(3);

/// The time to make a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Without a word a server may use any coding (RFC 9110, 12.5.3), and nothing is unpacked here.
pub const IDENTITY: &str = "identity";

/// A request before its headers are complete.
#[derive(Clone)]
pub(crate) struct HttpRequest<'a> {
    pub method: Method,
    pub url: &'a Url,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The form in which the body leaves.
    pub form: MessageForm,
}

impl<'a> HttpRequest<'a> {
    pub(crate) fn without_body(method: Method, url: &'a Url, headers: Vec<(String, String)>) -> Self {
        Self { method, url, headers, body: Vec::new(), form: MessageForm::Whole }
    }

    /// The same with a token.
    pub(crate) fn with_token(&self, token: Option<&str>) -> Self {
        let mut request = self.clone();
        request.headers.extend(token.map(|token| ("authorization".to_owned(), format!("Bearer {token}"))));
        request
    }
}

/// The client of one connection to a server.
pub(crate) fn client(address: &HttpAddress, url: &Url) -> Result<Client, ConnectError> {
    // Fails where it was done before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut headers = HeaderMap::new();
    for (name, value) in &address.headers {
        headers.append(header_name(name)?, header_value(name, value)?);
    }
    build(client_builder(&address.tls, url.scheme())?.default_headers(headers))
}

/// A client that sends nothing of its own.
pub fn bare_client(tls: &TrustedRoots, scheme: &str) -> Result<Client, ConnectError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    build(client_builder(tls, scheme)?)
}

/// The certificate that a server shows, in DER; `None` where there is no secure connection.
pub async fn certificate(tls: &TrustedRoots, url: &Url) -> Option<Vec<u8>> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = build(client_builder(tls, url.scheme()).ok()?.tls_info(true)).ok()?;
    let response = client.head(url.clone()).timeout(CONNECT_TIMEOUT).send().await.ok()?;
    response.extensions().get::<reqwest::tls::TlsInfo>()?.peer_certificate().map(<[u8]>::to_vec)
}

fn client_builder(tls: &TrustedRoots, scheme: &str) -> Result<ClientBuilder, ConnectError> {
    let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(IDENTITY))]);
    let builder = Client::builder()
        .default_headers(headers)
        .user_agent(concat!("mcprove/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .tcp_nodelay(true)
        .http1_only()
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(KEEP_ALIVE);
    Ok(match tls {
        // Reading the system's certificates takes longer than a run over plain HTTP.
        _ if scheme == "http" => builder.tls_certs_only([]),
        TrustedRoots::System => builder,
        TrustedRoots::Roots(pem) => {
            let roots = reqwest::Certificate::from_pem_bundle(pem).map_err(|_| ConnectError::NoCertificate)?;
            if roots.is_empty() {
                return Err(ConnectError::NoCertificate);
            }
            builder.tls_certs_only(roots)
        }
    })
}

fn build(builder: ClientBuilder) -> Result<Client, ConnectError> {
    builder
        .build()
        .map_err(|error| ConnectError::BadAddress { reason: format!("the HTTP client cannot be built: {error}") })
}

fn header_name(name: &str) -> Result<HeaderName, ConnectError> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| ConnectError::BadAddress { reason: format!("`{name}` is not a valid header name") })
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, ConnectError> {
    HeaderValue::from_bytes(value.trim().as_bytes()).map_err(|_| ConnectError::BadAddress {
        reason: format!("the value of the header `{name}` contains an invalid character"),
    })
}

/// Sends a request, follows what may be followed, and returns the response with its head.
pub(crate) async fn send(client: &Client, request: HttpRequest<'_>) -> Result<(Response, Arc<HttpHead>), HttpFailure> {
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers {
        // Headers of a session are encoded already; a server's own session id may be anything.
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    }
    let mut url = request.url.clone();
    for _ in 0..=MAX_REDIRECTS {
        let sending = client.request(request.method.clone(), url.clone()).headers(headers.clone());
        let sending = match request.form {
            _ if request.body.is_empty() => sending,
            MessageForm::Whole | MessageForm::GivenUp => sending.body(request.body.clone()),
            form @ (MessageForm::Pieces | MessageForm::Torn | MessageForm::Slow(_)) => {
                let length = cut_body::length(&request.body, form);
                sending.header(CONTENT_LENGTH, length).body(cut_body::body(&request.body, form))
            }
        };
        let response =
            sending.send().await.map_err(|error| failure::of_error(&error, &url, ConnectionBreak::BeforeHeaders))?;
        let head = head_of(&response);
        match redirect_target(&request.method, &url, &head)? {
            Some(next) => url = next,
            None => return Ok((response, head)),
        }
    }
    Err(HttpFailure::Redirect(format!(
        "the server keeps redirecting `{}`; {MAX_REDIRECTS} redirects were followed, the last to `{url}`",
        request.method
    )))
}

fn head_of(response: &Response) -> Arc<HttpHead> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = response.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value)));
    Arc::new(HttpHead { status: response.status().as_u16(), headers: headers.collect() })
}

/// The target of a redirect that keeps method, body and origin; others are reported.
fn redirect_target(method: &Method, url: &Url, head: &HttpHead) -> Result<Option<Url>, HttpFailure> {
    let (301..=303 | 307 | 308, Some(location)) = (head.status, head.header("location")) else { return Ok(None) };
    let status = status_text(head.status);
    let refused = |why: String| Err(HttpFailure::Redirect(format!("the server redirects `{method}` with {why}")));
    let Ok(next) = url.join(location) else {
        return refused(format!("HTTP {status} to `{location}`, which is not a URL"));
    };
    if next.origin() != url.origin() {
        return refused(format!("HTTP {status} to another origin, `{next}`; it is not followed"));
    }
    if head.status < 307 && *method != Method::GET {
        return refused(format!("HTTP {status} to `{next}`, which would drop the message; it is not followed"));
    }
    Ok(Some(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_keep_method_body_and_origin() {
        let check = |method: Method, status: u16, location: Option<&str>, expected: Result<Option<&str>, &str>| {
            let headers = location.map(|location| ("location".to_owned(), location.to_owned())).into_iter().collect();
            let url = Url::parse("http://a.test/mcp").unwrap();
            match (redirect_target(&method, &url, &HttpHead { status, headers }), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.as_ref().map(Url::as_str), expected, "{method} {status}"),
                (Err(HttpFailure::Redirect(found)), Err(expected)) => assert!(found.contains(expected), "{found}"),
                (found, expected) => panic!("{method} {status}: {found:?}, not {expected:?}"),
            }
        };
        check(Method::POST, 200, Some("/x"), Ok(None));
        check(Method::GET, 304, Some("/x"), Ok(None));
        check(Method::POST, 307, None, Ok(None));
        check(Method::POST, 307, Some("/x"), Ok(Some("http://a.test/x")));
        check(Method::POST, 308, Some("http://a.test:80/x"), Ok(Some("http://a.test/x")));
        check(Method::GET, 302, Some("x"), Ok(Some("http://a.test/x")));
        check(Method::POST, 302, Some("/x"), Err("which would drop the message"));
        check(Method::POST, 307, Some("http://b.test/mcp"), Err("to another origin, `http://b.test/mcp`"));
        check(Method::GET, 301, Some("https://a.test/mcp"), Err("to another origin"));
        check(Method::GET, 301, Some("http://["), Err("which is not a URL"));
    }
}
