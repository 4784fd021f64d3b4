//! The address of this machine to which a browser is sent after a login: it hears one answer, and shows one page.
//!
//! Anything on this machine, and any page in the browser, can ask there. Only an answer with the right `state` counts;
//! everything else is refused, and the wait goes on.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};

use super::asking::{Problem, is_here};
use super::code::{Expected, ends_login, read_redirect};

/// The address to which the browser is sent, where the suite names none.
const USUAL: &str = "http://127.0.0.1/callback";

/// The largest head of a request, in bytes: codes of some authorization servers have kilobytes.
const MOST_BYTES: usize = 32 << 10;

/// The time for one request, so that one that never ends is no obstacle.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The number of requests at a time.
const MOST_REQUESTS: usize = 64;

/// A place that waits for the browser.
pub(crate) struct Callback {
    listener: TcpListener,
    /// The address, with the port that is listened at.
    pub(crate) redirect_uri: Url,
}

impl Callback {
    /// Listens at the address that the suite names. Where it names no port, the system gives one (RFC 8252, 7.3).
    pub(crate) async fn open(written: Option<&str>) -> Result<Self, Problem> {
        let mut redirect_uri =
            Url::parse(written.unwrap_or(USUAL)).map_err(|_| Problem::of("`redirect_uri` is not a URL"))?;
        if redirect_uri.scheme() != "http" || !is_here(&redirect_uri) {
            let cure = "write one of this machine that the client registered, such as `http://127.0.0.1/callback`";
            let message = format!("nothing can listen for a browser at the `redirect_uri` `{redirect_uri}`");
            return Err(Problem::of(message).with_cure(cure));
        }
        let host = redirect_uri.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let host = host.parse().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let host = if host.is_ipv6() { IpAddr::V6(Ipv6Addr::LOCALHOST) } else { host };
        let failed = |error: io::Error| {
            let message = format!("nothing can listen at the `redirect_uri` `{redirect_uri}`: {error}");
            Problem::of(message).with_cure("end what listens there already, or write another port")
        };
        let listener = TcpListener::bind((host, redirect_uri.port().unwrap_or(0))).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        // The address is `http`, and so takes a port.
        let _ = redirect_uri.set_port(Some(port));
        Ok(Self { listener, redirect_uri })
    }

    /// The code of the first answer that repeats `state`.
    pub(crate) async fn wait(self, expected: Expected) -> Result<String, Problem> {
        let rules = Arc::new(AnswerRules { redirect_uri: self.redirect_uri, expected });
        let mut requests = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if requests.len() < MOST_REQUESTS => {
                    // A connection that ended before it was accepted.
                    let Ok((stream, _)) = accepted else { continue };
                    let rules = Arc::clone(&rules);
                    requests.spawn(async move {
                        timeout(REQUEST_TIMEOUT, answer(stream, &rules)).await.unwrap_or(None)
                    });
                }
                Some(answered) = requests.join_next() => {
                    if let Ok(Some(answer)) = answered {
                        return answer;
                    }
                }
            }
        }
    }
}

/// What tells the answer to a login from other requests.
struct AnswerRules {
    redirect_uri: Url,
    expected: Expected,
}

/// What a request gets.
struct Reply {
    status: &'static str,
    text: &'static str,
    /// The answer to the login, if this was it.
    answer: Option<Result<String, Problem>>,
}

/// Answers one request.
async fn answer(mut stream: TcpStream, rules: &AnswerRules) -> Option<Result<String, Problem>> {
    let reply = rules.judge(read_target(&mut stream).await.as_deref());
    let body = format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>mcprove</title><p>{}</p></html>\n",
        reply.text
    );
    let text = format!(
        "HTTP/1.1 {}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{body}",
        reply.status,
        body.len()
    );
    // A browser that hung up loses nothing but the page.
    let write = async { stream.write_all(text.as_bytes()).await.is_ok() && stream.shutdown().await.is_ok() };
    let _ = timeout(REQUEST_TIMEOUT / 4, write).await;
    reply.answer
}

/// The target of a request by GET; `None` where it is no such request, or a very large one.
async fn read_target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    loop {
        if stream.read_buf(&mut head).await.ok()? == 0 || head.len() > MOST_BYTES {
            return None;
        }
        let mut headers = [httparse::EMPTY_HEADER; 128];
        let mut request = httparse::Request::new(&mut headers);
        if request.parse(&head).ok()?.is_complete() {
            return request.path.filter(|_| request.method == Some("GET")).map(str::to_owned);
        }
    }
}

impl AnswerRules {
    fn judge(&self, target: Option<&str>) -> Reply {
        let refused = |status, text| Reply { status, text, answer: None };
        let Some(target) = target.filter(|target| target.starts_with('/') && !target.starts_with("//")) else {
            return refused("400 Bad Request", "This is no request that mcprove waits for.");
        };
        let at = self.redirect_uri.join(target).ok().filter(|at| ends_login(at, &self.redirect_uri));
        let Some(at) = at else { return refused("404 Not Found", "Nothing is here.") };
        let value = |wanted: &str| at.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value);
        if value("state").as_deref() != Some(&*self.expected.state) {
            return refused("400 Bad Request", "This is no answer to the login that mcprove waits for.");
        }
        match read_redirect(&at, &self.expected) {
            Ok(code) => Reply {
                status: "200 OK",
                text: "mcprove has the answer to the login. You can close this window.",
                answer: Some(Ok(code)),
            },
            Err(problem) => {
                let is_denied = value("error").as_deref() == Some("access_denied");
                let cure = "log in as a user who may use this server, and agree to what is asked";
                let problem = if is_denied { problem.with_cure(cure) } else { problem };
                let text = "The login failed; mcprove says why. You can close this window.";
                Reply { status: "200 OK", text, answer: Some(Err(problem)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "/callback?code=c&state=s&iss=https%3A%2F%2Fas.test";

    fn expected() -> Expected {
        Expected { state: "s".to_owned(), issuer: "https://as.test".to_owned(), names_issuer: true }
    }

    #[test]
    fn only_an_answer_with_the_right_state_ends_the_wait() {
        let rules =
            AnswerRules { redirect_uri: Url::parse("http://127.0.0.1:7/callback").unwrap(), expected: expected() };
        let check = |target: Option<&str>, status: &str, answer: Option<Result<&str, &str>>| {
            let reply = rules.judge(target);
            let found = reply.answer.as_ref().map(|answer| match answer {
                Ok(code) => Ok(code.as_str()),
                Err(problem) => Err(problem.reason.as_str()),
            });
            assert_eq!((&reply.status[..3], found), (status, answer), "{target:?}");
        };
        check(Some(GOOD), "200", Some(Ok("c")));
        check(None, "400", None);
        check(Some("http://127.0.0.1:7/callback?code=c&state=s"), "400", None);
        check(Some("//evil.test/callback?code=c&state=s"), "400", None);
        check(Some("/favicon.ico"), "404", None);
        check(Some("/callback/more?code=c&state=s"), "404", None);
        check(Some("/callback"), "400", None);
        check(Some("/callback?code=c"), "400", None);
        check(Some("/callback?code=c&state=t"), "400", None);
        check(Some("/callback?error=access_denied&state=t"), "400", None);
        let denied = "the authorization server refuses the login: access_denied";
        check(Some("/callback?error=access_denied&state=s&iss=https%3A%2F%2Fas.test"), "200", Some(Err(denied)));
        let no_issuer = "the answer to the login has no `iss`, which the metadata of the authorization server promise";
        check(Some("/callback?code=c&state=s"), "200", Some(Err(no_issuer)));
    }

    /// Sends a request, and returns the answer, or nothing where none comes before the end.
    async fn ask(at: &Url, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", at.port().unwrap())).await.unwrap();
        // Nobody reads the rest of what is too large.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).unwrap()
    }

    #[tokio::test]
    async fn strange_requests_do_not_end_the_wait() {
        let callback = Callback::open(None).await.unwrap();
        let at = callback.redirect_uri.clone();
        let waits = tokio::spawn(callback.wait(expected()));
        let mut silent = Vec::new();
        for _ in 0..MOST_REQUESTS / 2 {
            silent.push(TcpStream::connect(("127.0.0.1", at.port().unwrap())).await.unwrap());
        }
        let _ = ask(&at, &format!("GET /callback?code={} HTTP/1.1\r\n", "c".repeat(1 << 20))).await;
        let _ = ask(&at, "\u{0}\u{1}\u{2}\r\n\r\n").await;
        assert!(ask(&at, "POST /callback?state=s HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 400 "));
        assert!(ask(&at, "GET /callback?code=c&state=t HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 400 "));
        let page = ask(&at, &format!("GET {GOOD} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")).await;
        assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("You can close this window."), "{page}");
        assert!(!page.contains("<script"), "{page}");
        assert_eq!(waits.await.unwrap().map_err(|problem| problem.reason), Ok("c".to_owned()));
    }

    #[tokio::test]
    async fn nothing_listens_for_other_machines() {
        for (written, expected) in [
            ("https://app.test/callback", "nothing can listen for a browser"),
            ("http://app.test/callback", "nothing can listen for a browser"),
            ("callback", "is not a URL"),
        ] {
            let problem = Callback::open(Some(written)).await.err().map(|problem| problem.reason).unwrap_or_default();
            assert!(problem.contains(expected), "{written}: {problem}");
        }
        let opened = Callback::open(Some("http://localhost/there")).await.unwrap();
        assert!(opened.redirect_uri.as_str().starts_with("http://localhost:"), "{}", opened.redirect_uri);
    }
}
