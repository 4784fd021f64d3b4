//! Questions to those who give tokens: bounded in time and size, never redirected elsewhere, and remembered.

use std::borrow::Cow;
use std::net::IpAddr;

use parking_lot::Mutex;
use reqwest::header::{ACCEPT, CONTENT_TYPE, DATE, HeaderMap, LOCATION};
use reqwest::{Client, Method, RequestBuilder, Response, Url};
use tokio::time::{Duration, timeout};

use super::super::failure::{self, ConnectionBreak, excerpt, status_text};
use super::form;
use super::token_time::seconds_ahead;
use crate::redact::{Redactor, percent_encode};
use crate::source::visible_line;

/// The time for one answer; less than a request of a session has by default, so that the one who is silent is named.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(8);

/// The size of an answer, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The number of redirects within an origin on the way to metadata.
const MAX_REDIRECTS: usize = 5;

/// Why there is no token.
#[derive(Debug)]
pub(crate) struct Problem {
    /// Half a sentence.
    pub(crate) reason: String,
    /// What to do about it.
    pub(crate) cure: Cow<'static, str>,
    /// Somebody was asked, and refused.
    pub(crate) is_refusal: bool,
    /// The error of OAuth with which that was; empty where there is none.
    pub(crate) error: String,
}

impl Problem {
    pub(crate) fn of(reason: impl Into<String>) -> Self {
        let cure = Cow::from("check `auth` of the server; `issuer` or `token_url` there says who gives tokens");
        Self { reason: visible_line(&reason.into()).into_owned(), cure, is_refusal: false, error: String::new() }
    }

    pub(crate) fn with_cure(self, cure: impl Into<Cow<'static, str>>) -> Self {
        Self { cure: cure.into(), ..self }
    }
}

/// Asks, and remembers who answered what.
pub(crate) struct Asking<'a> {
    client: &'a Client,
    /// Learns what is drawn on the way to a token.
    pub(crate) redactor: &'a Redactor,
    asked: Mutex<Vec<OAuthExchange>>,
}

/// One question and what came of it.
struct OAuthExchange {
    line: String,
    excerpt: String,
}

/// An answer whose body is complete.
pub(crate) struct OAuthAnswer {
    /// The method and the address, without its query.
    pub(crate) title: String,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl OAuthAnswer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The address in `location`, where the answer is a redirect.
    pub(crate) fn location(&self) -> Option<&str> {
        let is_redirect = matches!(self.status, 301..=303 | 307 | 308);
        self.headers.get(LOCATION).filter(|_| is_redirect)?.to_str().ok()
    }

    /// The seconds by which the clock of whoever answered is ahead of this machine's; `None` where it does not say.
    pub(crate) fn seconds_ahead(&self) -> Option<i64> {
        seconds_ahead(self.headers.get(DATE)?.to_str().ok()?)
    }

    /// The answer as half a sentence: who gave it, its status, and the error of OAuth in its body.
    pub(crate) fn summary(&self) -> String {
        format!("`{}` was answered with {}", self.title, self.status_line())
    }

    fn status_line(&self) -> String {
        format!("HTTP {}{}", status_text(self.status), oauth_error(&self.body))
    }

    /// The problem that this answer is.
    pub(crate) fn refusal(&self) -> Problem {
        let body: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let error = body["error"].as_str().unwrap_or_default().to_owned();
        Problem { is_refusal: (400..500).contains(&self.status), error, ..Problem::of(self.summary()) }
    }
}

impl<'a> Asking<'a> {
    pub(crate) fn new(client: &'a Client, redactor: &'a Redactor) -> Self {
        Self { client, redactor, asked: Mutex::default() }
    }

    /// What was asked so far, a line each, and the beginning of the last answer.
    pub(crate) fn exchanges(&self) -> (Vec<String>, String) {
        let asked = self.asked.lock();
        let excerpt = asked.last().map_or_else(String::new, |last| last.excerpt.clone());
        (asked.iter().map(|asked| asked.line.clone()).collect(), excerpt)
    }

    /// Asks for metadata; redirects within the origin are followed.
    pub(crate) async fn get(&self, url: &Url) -> Result<OAuthAnswer, Problem> {
        let mut at = url.clone();
        for _ in 0..MAX_REDIRECTS {
            let answer = self.send(self.client.get(at.clone()).header(ACCEPT, "application/json")).await?;
            match answer.location().and_then(|location| at.join(location).ok()) {
                Some(next) if next.origin() == at.origin() => at = next,
                Some(_) | None => return Ok(answer),
            }
        }
        Err(Problem::of(format!("`GET {url}` is redirected again and again")))
    }

    /// Sends a form; `authorization` is the header of that name.
    pub(crate) async fn post_form(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        authorization: Option<&str>,
    ) -> Result<OAuthAnswer, Problem> {
        let request = self.client.post(url.clone()).header(ACCEPT, "application/json");
        let request = request.header(CONTENT_TYPE, FORM).body(form_body(form.iter().copied()));
        let with_header = |header: &str| request.try_clone().map(|request| request.header("authorization", header));
        self.send(authorization.and_then(with_header).unwrap_or(request)).await
    }

    /// Sends JSON.
    pub(crate) async fn post_json(&self, url: &Url, body: &serde_json::Value) -> Result<OAuthAnswer, Problem> {
        let request = self.client.post(url.clone()).header(ACCEPT, "application/json");
        self.send(request.header(CONTENT_TYPE, "application/json").body(body.to_string())).await
    }

    /// Asks for a page as a browser does, with the cookies and, where there is one, a form.
    pub(crate) async fn page(
        &self,
        url: &Url,
        form: Option<&str>,
        cookies: Option<String>,
    ) -> Result<OAuthAnswer, Problem> {
        let method = if form.is_some() { Method::POST } else { Method::GET };
        let mut request =
            self.client.request(method, url.clone()).header(ACCEPT, "text/html, application/xhtml+xml, */*");
        if let Some(cookies) = cookies {
            request = request.header("cookie", cookies);
        }
        if let Some(form) = form {
            request = request.header(CONTENT_TYPE, FORM).body(form.to_owned());
        }
        self.send(request).await
    }

    async fn send(&self, request: RequestBuilder) -> Result<OAuthAnswer, Problem> {
        let request = request.build().map_err(|error| Problem::of(error.to_string()))?;
        let mut shown = request.url().clone();
        shown.set_query(None);
        let title = visible_line(&format!("{} {shown}", request.method())).into_owned();
        let url = request.url().clone();
        let exchange = async {
            let broken = |error: reqwest::Error, broken| failure::of_error(&error, &url, broken).message(&title);
            let response = self.client.execute(request).await;
            let response = response.map_err(|error| broken(error, ConnectionBreak::BeforeHeaders))?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let body = read_body(response).await.map_err(|error| broken(error, ConnectionBreak::AfterHeaders))?;
            Ok::<_, String>((status, headers, body))
        };
        let failed = |note: String, reason: String| {
            self.note(format!("{title}: {note}"), String::new());
            Problem::of(format!("`{title}` got no answer{reason}"))
        };
        let Ok(exchanged) = timeout(ANSWER_TIMEOUT, exchange).await else {
            let within = format!(" within {} s", ANSWER_TIMEOUT.as_secs());
            return Err(failed(format!("no answer{within}"), within));
        };
        let (status, headers, body) = exchanged.map_err(|reason| failed(reason.clone(), format!(": {reason}")))?;
        let Some(body) = body else {
            self.note(format!("{title}: HTTP {}, too large", status_text(status)), String::new());
            return Err(Problem::of(format!("`{title}` was answered with more than 1 MiB, which is not read")));
        };
        let answer = OAuthAnswer { title, status, headers, body };
        self.note(format!("{}: {}", answer.title, answer.status_line()), readable(&answer));
        Ok(answer)
    }

    fn note(&self, line: String, excerpt: String) {
        self.asked.lock().push(OAuthExchange { line, excerpt });
    }
}

/// The media type of forms.
const FORM: &str = "application/x-www-form-urlencoded";

/// The whole body; `None` where it is too large.
async fn read_body(mut response: Response) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        body.extend_from_slice(&piece);
        if body.len() > MAX_BYTES {
            return Ok(None);
        }
    }
    Ok(Some(body))
}

/// The beginning of an answer: of a page, its text alone.
fn readable(answer: &OAuthAnswer) -> String {
    let kind = answer.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.contains("html") {
        return excerpt(form::text_of(&String::from_utf8_lossy(&answer.body)).as_bytes());
    }
    excerpt(&answer.body)
}

/// Fields as the body of a request, or the query of one.
pub(crate) fn form_body<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let pairs = fields.into_iter().map(|(name, value)| format!("{}={}", percent_encode(name), percent_encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// The error of OAuth in a body, as an addition to a sentence (RFC 6749, 5.2).
fn oauth_error(body: &[u8]) -> String {
    let body: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let reasons: Vec<&str> = ["error", "error_description"].iter().filter_map(|member| body[member].as_str()).collect();
    if reasons.is_empty() { String::new() } else { format!(": {}", visible_line(&reasons.join(", "))) }
}

/// An address on this machine.
pub fn is_here(url: &Url) -> bool {
    url.host_str().is_some_and(is_local)
}

/// A host that is this machine.
pub(crate) fn is_local(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A host as a suite names it is that of an address, whatever its letters: `login.example.com`, or with a port.
pub fn names_host(named: &str, url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let is_with_port = || url.port().is_some_and(|port| named.eq_ignore_ascii_case(&format!("{host}:{port}")));
    named.eq_ignore_ascii_case(host) || is_with_port()
}

/// Nobody on the way can read what is sent there: TLS, or this machine (RFC 6749, 3.2).
pub(crate) fn is_secure(url: &Url) -> bool {
    url.scheme() == "https" || url.scheme() == "http" && is_here(url)
}
