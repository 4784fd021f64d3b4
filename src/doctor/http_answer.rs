//! The answer of whatever listens at a URL to the first message: HTTP, its status, its content type, a secure connection.

use super::Examination;
use crate::diagnosis;
use crate::source::{shorten, visible_line};
use crate::transport::HttpFailure;
use crate::wire::{Direction, Frame};

const HTTP: &str = "HTTP";
const TLS: &str = "TLS";
const SESSION: &str = "session";

/// The number of characters of a title that are quoted.
const QUOTED: usize = 80;

/// Judges a secure connection that failed; `None` for a failure of another kind.
pub(crate) fn judge_tls(failure: &HttpFailure) -> Option<Examination> {
    if !matches!(failure, HttpFailure::Tls(_) | HttpFailure::UntrustedCertificate(_)) {
        return None;
    }
    let sentence = failure.message("initialize");
    let cure = if matches!(failure, HttpFailure::UntrustedCertificate(_)) {
        "let the server send its whole chain, signed by an authority that clients trust; a suite can name the \
                 authority: `tls: { ca: ./root.pem }`"
    } else if sentence.contains("does not speak TLS") {
        "write `http://` instead of `https://`, or let the server speak TLS"
    } else if sentence.contains("expired") {
        "renew the certificate"
    } else if sentence.contains("another host") {
        "use the name that the certificate is for, or get one for this name"
    } else {
        "mend the certificate and the settings of TLS at the server, or at the proxy before it"
    };
    Some(Examination::wrong(TLS, sentence, cure))
}

/// Judges the response to the first message of a session that opened.
pub(crate) fn judge_answer(frames: &[Frame]) -> Examination {
    let head = frames.iter().find_map(|frame| frame.http.as_ref().filter(|_| frame.direction == Direction::Received));
    let Some(head) = head else { return Examination::fine(HTTP, "it answers") };
    let kind = head.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default().trim();
    Examination::fine(HTTP, format!("HTTP {}, {}", head.status, visible_line(kind)))
}

/// Judges the session ids that a server gives.
pub(crate) fn judge_session(frames: &[Frame]) -> Examination {
    let gives =
        frames.iter().filter_map(|frame| frame.http.as_ref()).any(|head| head.header("mcp-session-id").is_some());
    Examination::fine(SESSION, if gives { "the server gives a session id" } else { "the server keeps no session" })
}

/// Judges a response that is no answer; `works_at` is another URL at which a server answers.
pub(crate) fn judge_failure(failure: &HttpFailure, url: &str, works_at: Option<&str>) -> Examination {
    let body = failure.excerpt();
    let is_page = matches!(failure, HttpFailure::ContentType { got, .. } if got.contains("html")) || is_html(body);
    let sentence = if is_page {
        let status = failure.refusal().map(|refusal| refusal.status.clone());
        let status = status.or_else(|| {
            if let HttpFailure::ContentType { status, .. } = failure { Some(status.clone()) } else { None }
        });
        let title = title(body).map(|title| format!(" \"{title}\"")).unwrap_or_default();
        format!("a web page{title} answers (HTTP {}), and no MCP server", status.unwrap_or_default())
    } else {
        failure.message("initialize")
    };
    let has_path = reqwest::Url::parse(url).is_ok_and(|url| !url.path().trim_matches('/').is_empty());
    let cure = match (works_at, failure.bare_status()) {
        (Some(at), _) => format!("use `{at}`: an MCP server answers there"),
        (None, _) if is_page && !has_path => {
            "add the path of the endpoint to the URL, which is often `/mcp`; nothing answers there yet".to_owned()
        }
        (None, _) if is_page => {
            "check the URL: this is a page for people; the documentation of the server names its endpoint".to_owned()
        }
        (None, Some(404)) => {
            "check the path of the URL: the endpoint of many servers is `/mcp`, of older ones `/sse`".to_owned()
        }
        (None, Some(405)) => {
            "check the path of the URL: what is there takes no POST, so it is no endpoint of MCP".to_owned()
        }
        (None, Some(403)) => {
            "see whether the server allows this client: the header `Host`, `Origin`, or an address".to_owned()
        }
        (None, Some(429)) => "wait, and try again; the server limits requests".to_owned(),
        (None, Some(500..)) => "see the log of the server, or of the proxy before it".to_owned(),
        (None, _) if matches!(failure, HttpFailure::Redirect(_)) => {
            "use the address that it redirects to: clients do not send their headers and messages on to another one"
                .to_owned()
        }
        (None, _) => diagnosis::of_http(failure, "initialize").help.unwrap_or_else(|| {
            "check that the URL is the endpoint of an MCP server: it answers a POST with JSON or an event stream"
                .to_owned()
        }),
    };
    let body = if is_page { "" } else { body };
    let line = body.lines().map(str::trim).find(|line| !line.is_empty());
    let evidence = line.map(|line| shorten(&visible_line(line), 160)).into_iter().collect();
    Examination::wrong(HTTP, sentence, cure).with_evidence(evidence)
}

/// True if another path at the same host may be the endpoint, after this failure.
pub(crate) fn may_be_elsewhere(failure: &HttpFailure) -> bool {
    let is_page = matches!(failure, HttpFailure::ContentType { .. } | HttpFailure::NotAMessage { .. });
    is_page || matches!(failure.bare_status(), Some(400..=410 | 501))
}

fn is_html(body: &str) -> bool {
    let start: String = body.trim_start().chars().take(15).collect::<String>().to_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// The title of a page.
fn title(page: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let from = lower.find("<title>")? + "<title>".len();
    let to = lower[from..].find("</title>")? + from;
    let title = page[from..to].trim();
    (!title.is_empty()).then(|| shorten(&visible_line(title), QUOTED))
}

#[cfg(test)]
mod tests {
    use super::super::ExaminationVerdict;
    use super::*;
    use crate::transport::HttpRefusal;

    fn status(code: u16, body: &str) -> HttpFailure {
        HttpFailure::Status(HttpRefusal {
            code,
            status: code.to_string(),
            excerpt: body.to_owned(),
            ..HttpRefusal::default()
        })
    }

    #[test]
    fn what_is_no_server_is_named() {
        let page = HttpFailure::ContentType {
            status: "200 OK".to_owned(),
            got: "text/html; charset=utf-8".to_owned(),
            excerpt: "<!DOCTYPE html><title>Our shop</title>".to_owned(),
        };
        for (failure, url, works_at, sentence, cure) in [
            (
                page.clone(),
                "http://a.test/",
                None,
                "a web page \"Our shop\" answers (HTTP 200 OK)",
                "which is often `/mcp`",
            ),
            (page.clone(), "http://a.test/x", None, "a web page", "page for people"),
            (page, "http://a.test/", Some("http://a.test/mcp"), "a web page", "use `http://a.test/mcp`"),
            (status(404, "not found"), "http://a.test/x", None, "HTTP 404", "of many servers is `/mcp`"),
            (
                status(404, "<html><body>no</body></html>"),
                "http://a.test/x",
                None,
                "a web page answers (HTTP 404)",
                "page for people",
            ),
            (status(405, ""), "http://a.test/x", None, "HTTP 405", "takes no POST"),
            (status(502, ""), "http://a.test/x", None, "HTTP 502", "log of the server"),
            (
                HttpFailure::Redirect("it redirects".to_owned()),
                "http://a.test/",
                None,
                "it redirects",
                "use the address",
            ),
        ] {
            let judged = judge_failure(&failure, url, works_at);
            assert_eq!(judged.verdict, ExaminationVerdict::Wrong);
            assert!(judged.sentence.contains(sentence), "{}", judged.sentence);
            assert!(judged.cure.as_deref().unwrap_or_default().contains(cure), "{judged:?}");
        }
    }

    #[test]
    fn certificates() {
        assert!(judge_tls(&status(404, "")).is_none(), "a response came");
        for (failure, cure) in [
            (HttpFailure::Tls("the certificate of `a.test` has expired".to_owned()), "renew"),
            (HttpFailure::Tls("the certificate of `a.test` is for another host: b".to_owned()), "use the name"),
            (HttpFailure::UntrustedCertificate("the certificate of `a.test` is self-signed".to_owned()), "whole chain"),
        ] {
            let judged = judge_tls(&failure).unwrap();
            assert!(
                judged.verdict == ExaminationVerdict::Wrong
                    && judged.cure.as_deref().unwrap_or_default().contains(cure)
            );
        }
    }
}
