//! Failures of exchanges over HTTP, named as precisely as the evidence allows.
//!
//! Describes a failure; its severity is decided above.

use std::borrow::Cow;
use std::error::Error;
use std::io;

use rustls::CertificateError;

use crate::source::visible;
use crate::wire::HttpHead;

/// The number of characters of a body that are quoted.
const EXCERPT: usize = 300;

/// Why a message got no answer over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpFailure {
    /// Nothing listens there.
    ConnectionRefused {
        /// Host and port.
        address: String,
    },
    /// The host has no address.
    Dns {
        /// The host.
        host: String,
    },
    /// No connection for another reason.
    Unreachable {
        /// Host and port.
        address: String,
        /// The system's reason.
        reason: String,
    },
    /// The connection broke.
    Reset(ConnectionBreak),
    /// The connection broke, and that of the same request again, too.
    ResetAgain(ConnectionBreak),
    /// The secure connection could not be made; the sentence says why.
    Tls(String),
    /// The secure connection could not be made, since no authority that is trusted signed the certificate; the sentence
    /// says more.
    UntrustedCertificate(String),
    /// A status without a message of the protocol.
    Status(HttpRefusal),
    /// The server wants credentials, or refuses those it got.
    AuthRequired(HttpRefusal),
    /// The server refuses a token that was fetched for it, and another one too.
    TokenRefused(HttpRefusal),
    /// There is no token to send.
    NoToken(Box<NoToken>),
    /// The session id is not known any more.
    SessionLost(HttpRefusal),
    /// A body of another kind.
    ContentType {
        /// The status with its words.
        status: String,
        /// The content type; empty where there is none.
        got: String,
        /// The beginning of the body.
        excerpt: String,
    },
    /// A body that says it is JSON.
    NotJson {
        /// Why it is none.
        reason: String,
        /// The beginning of the body.
        excerpt: String,
    },
    /// JSON that is no message of JSON-RPC.
    NotAMessage {
        /// Why it is none.
        reason: String,
        /// The beginning of the body.
        excerpt: String,
    },
    /// A body that is compressed though nobody asked for it.
    Encoded(String),
    /// More than anybody can look at; says what of it.
    TooLarge(&'static str),
    /// The answer ended, and the message was not in it.
    StreamEnded {
        /// The status with its words.
        status: String,
    },
    /// A redirect that is not followed; the sentence says why.
    Redirect(String),
    /// The response is not HTTP; holds the reason.
    NotHttp(String),
    /// The way to an older server is broken; the sentence says how.
    Endpoint(String),
}

/// The point at which a connection broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionBreak {
    /// Before the head of the response was complete.
    BeforeHeaders,
    /// After the head, between events or within the body.
    AfterHeaders,
    /// In the middle of an event.
    InEvent,
}

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoToken {
    /// The answer that gave no token, or another problem, as half a sentence.
    pub reason: String,
    /// What to do about it.
    pub cure: Cow<'static, str>,
    /// The requests for a token, and their answers.
    pub asked: Vec<String>,
    /// The beginning of the last answer.
    pub excerpt: String,
}

/// A response that refuses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpRefusal {
    /// The status code.
    pub code: u16,
    /// The status with its words.
    pub status: String,
    /// The header `retry-after`.
    pub retry_after: Option<String>,
    /// The header `www-authenticate`.
    pub www_authenticate: Option<String>,
    /// Why the time of the server refuses the token, as a sentence without an end; `None` where it is not the reason.
    pub clock: Option<String>,
    /// The beginning of the body.
    pub excerpt: String,
}

impl HttpRefusal {
    /// The refusal in a response; `status` is its code with its words.
    pub fn new(http: &HttpHead, status: String, body: &[u8]) -> Self {
        let header = |name: &str| http.header(name).map(str::to_owned);
        let (retry_after, www_authenticate) = (header("retry-after"), header("www-authenticate"));
        Self { code: http.status, status, retry_after, www_authenticate, clock: None, excerpt: excerpt(body) }
    }
}

impl HttpFailure {
    /// Describes the failure of the message named `method`, as a sentence.
    pub fn message(&self, method: &str) -> String {
        match self {
            Self::ConnectionRefused { address } => format!("nothing listens at `{address}`"),
            Self::Dns { host } => format!("the host name `{host}` could not be resolved"),
            Self::Unreachable { address, reason } => format!("`{address}` cannot be reached: {reason}"),
            Self::Reset(ConnectionBreak::BeforeHeaders) => {
                format!("the server closed the connection before it answered `{method}`")
            }
            Self::Reset(ConnectionBreak::AfterHeaders) => {
                format!(
                    "the connection broke during the answer to `{method}`: the headers arrived, the body is incomplete"
                )
            }
            Self::Reset(ConnectionBreak::InEvent) => {
                format!("the connection broke in the middle of an event, before the answer to `{method}` was complete")
            }
            Self::ResetAgain(broken) => {
                format!("{}; the same happened when the request was made again", Self::Reset(*broken).message(method))
            }
            Self::Status(refusal) => format!("the server answered `{method}` with HTTP {}", refusal.status),
            Self::AuthRequired(refusal) => {
                format!("the server requires credentials: it answered `{method}` with HTTP {}", refusal.status)
            }
            Self::TokenRefused(refusal) => {
                let clock = refusal.clock.as_ref().map(|clock| format!("; {clock}")).unwrap_or_default();
                format!(
                    "the server rejects the fetched token: it answered `{method}` with HTTP {}{clock}",
                    refusal.status
                )
            }
            Self::NoToken(none) => format!("no token could be fetched for the server: {}", none.reason),
            Self::SessionLost(refusal) => {
                format!("the server no longer knows the session: it answered `{method}` with HTTP {}", refusal.status)
            }
            Self::ContentType { status, got, .. } if got.is_empty() => format!(
                "the server answered `{method}` with HTTP {status} and no content type; \
                 MCP allows `application/json` and `text/event-stream`"
            ),
            Self::ContentType { status, got, .. } => format!(
                "the server answered `{method}` with HTTP {status} and the content type `{}`; \
                 MCP allows `application/json` and `text/event-stream`",
                visible(got)
            ),
            Self::NotJson { reason, .. } => {
                format!("the answer to `{method}` has the content type `application/json`, but {reason}")
            }
            Self::NotAMessage { reason, .. } => {
                format!("the answer to `{method}` is JSON but not a JSON-RPC message: {reason}")
            }
            Self::Encoded(encoding) => format!(
                "the server compressed its answer to `{method}` with `{}`, which the request did not allow; it was not decompressed",
                visible(encoding)
            ),
            Self::TooLarge(what) => format!("the answer to `{method}` is not read: {what}"),
            Self::StreamEnded { status } => {
                format!("the response to `{method}` (HTTP {status}) ended without an answer in it")
            }
            Self::Tls(sentence)
            | Self::UntrustedCertificate(sentence)
            | Self::Redirect(sentence)
            | Self::Endpoint(sentence) => sentence.clone(),
            Self::NotHttp(reason) => format!("the response to `{method}` is not HTTP: {reason}"),
        }
    }

    /// The response that refused the message, where one did.
    pub fn refusal(&self) -> Option<&HttpRefusal> {
        let (Self::Status(refusal)
        | Self::AuthRequired(refusal)
        | Self::TokenRefused(refusal)
        | Self::SessionLost(refusal)) = self
        else {
            return None;
        };
        Some(refusal)
    }

    /// The beginning of the body; empty where none came.
    pub fn excerpt(&self) -> &str {
        if let Self::ContentType { excerpt, .. } | Self::NotJson { excerpt, .. } | Self::NotAMessage { excerpt, .. } =
            self
        {
            return excerpt;
        }
        if let Self::NoToken(none) = self {
            return &none.excerpt;
        }
        self.refusal().map_or("", |refusal| &refusal.excerpt)
    }

    /// The status of the response, where the failure is a response that says nothing but its status.
    pub fn bare_status(&self) -> Option<u16> {
        if let Self::Status(refusal) = self { Some(refusal.code) } else { None }
    }

    /// The connection broke in the middle of the exchange.
    pub fn is_break(&self) -> bool {
        matches!(self, Self::Reset(_) | Self::ResetAgain(_))
    }

    /// There is no connection, or none any more.
    pub(crate) fn is_disconnection(&self) -> bool {
        self.is_break() || matches!(self, Self::ConnectionRefused { .. } | Self::Unreachable { .. })
    }
}

/// A status as it is shown: the code and its words.
pub(crate) fn status_text(code: u16) -> String {
    match reqwest::StatusCode::from_u16(code).ok().and_then(|status| status.canonical_reason()) {
        Some(reason) => format!("{code} {reason}"),
        None => code.to_string(),
    }
}

/// The host and the port of a URL.
pub(crate) fn host_and_port(url: &reqwest::Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

/// The beginning of a body as text.
pub fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    let short: String = text.chars().take(EXCERPT).collect();
    if short.len() < text.len() { short + " …" } else { short }
}

/// Names what kept a response from coming, or from being complete.
pub(crate) fn of_error(error: &reqwest::Error, url: &reqwest::Url, broken: ConnectionBreak) -> HttpFailure {
    let host = url.host_str().unwrap_or_default();
    let address = host_and_port(url);
    let chain = chain_of(error);
    let says = |words: &str| chain.iter().any(|cause| cause.to_string().contains(words));
    if let Some(error) = chain.iter().find_map(|cause| tls_error_in(*cause)) {
        return tls_failure(&error, host);
    }
    if says("message head is too large") {
        return HttpFailure::TooLarge("its headers are too long");
    }
    if error.is_connect() {
        if says("dns error") {
            return HttpFailure::Dns { host: host.to_owned() };
        }
        let kinds: Vec<io::ErrorKind> = chain.iter().flat_map(|cause| io_kinds(*cause)).collect();
        if kinds.contains(&io::ErrorKind::ConnectionRefused) {
            return HttpFailure::ConnectionRefused { address };
        }
        if url.scheme() == "https" && kinds.iter().any(|kind| is_end(*kind)) {
            return HttpFailure::Tls(format!("`{host}` closed the connection during the TLS handshake"));
        }
        let reason = chain.last().map_or_else(String::new, ToString::to_string);
        return HttpFailure::Unreachable { address, reason };
    }
    if says("invalid HTTP") || says("invalid content-length") || says("unexpected transfer-encoding") {
        return HttpFailure::NotHttp(chain.last().map_or_else(String::new, ToString::to_string));
    }
    HttpFailure::Reset(broken)
}

fn is_end(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
    )
}

fn chain_of(error: &reqwest::Error) -> Vec<&(dyn Error + 'static)> {
    std::iter::successors(Some(error as &(dyn Error + 'static)), |cause| (*cause).source()).collect()
}

/// The kinds of an error of the system's and of those inside it, which are no links of the chain.
fn io_kinds(cause: &(dyn Error + 'static)) -> Vec<io::ErrorKind> {
    let Some(error) = io_error(cause) else { return Vec::new() };
    let inner = error.get_ref().map_or_else(Vec::new, |inner| io_kinds(inner));
    [vec![error.kind()], inner].concat()
}

fn io_error<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    cause.downcast_ref::<io::Error>()
}

/// A TLS error itself, or one inside errors of the system's, of which one may hold another.
pub(crate) fn tls_error_in(cause: &(dyn Error + 'static)) -> Option<rustls::Error> {
    let own = cause.downcast_ref::<rustls::Error>().cloned();
    own.or_else(|| tls_error_in(io_error(cause)?.get_ref()?))
}

/// The problem of a secure connection to a host.
#[expect(clippy::wildcard_enum_match_arm, reason = "both enums are open, and the rest speaks for itself")]
pub(crate) fn tls_failure(error: &rustls::Error, host: &str) -> HttpFailure {
    use CertificateError as Bad;
    let rustls::Error::InvalidCertificate(reason) = error else {
        return HttpFailure::Tls(match error {
            rustls::Error::InvalidMessage(_) => {
                format!("`{host}` does not speak TLS; the URL may need `http://` instead of `https://`")
            }
            _ => format!("no secure connection to `{host}`: {error}"),
        });
    };
    let certificate = format!("the certificate of `{host}`");
    let untrusted = |why: &str| HttpFailure::UntrustedCertificate(format!("{certificate} is self-signed{why}"));
    HttpFailure::Tls(match reason {
        Bad::Expired | Bad::ExpiredContext { .. } => format!("{certificate} has expired"),
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => format!("{certificate} is not valid yet"),
        Bad::Revoked => format!("{certificate} was revoked"),
        Bad::UnknownIssuer => return untrusted(", or signed by an authority that this machine does not trust"),
        Bad::NotValidForName => format!("{certificate} is for another host"),
        Bad::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            format!("{certificate} names no host")
        }
        Bad::NotValidForNameContext { presented, .. } => {
            let bare = |name: &String| name.trim_start_matches("DnsName(\"").trim_end_matches("\")").to_owned();
            let hosts: Vec<String> = presented.iter().map(bare).collect();
            format!("{certificate} is for another host: {}", visible(&hosts.join(", ")))
        }
        // In the words of rustls, a certificate of an authority stands where a server's should.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            return untrusted(": it is the certificate of an authority");
        }
        other => format!("{certificate} is not accepted: {other}"),
    })
}
