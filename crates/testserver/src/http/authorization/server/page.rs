//! Pages for people, and for programs that send their forms.

use std::fmt::Write as _;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::form::Form;

/// No other page may show these in a frame, or learn their address (RFC 9700, 4.16).
const HEADERS: [(header::HeaderName, &str); 5] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
];

/// A page with a sentence.
pub(crate) fn sentence(status: StatusCode, text: &str) -> Response {
    page(status, &format!("<p>{}</p>", escape(text)))
}

pub(crate) fn not_found() -> Response {
    sentence(StatusCode::NOT_FOUND, "The authorization server has nothing here.")
}

pub(crate) fn method_not_allowed(allowed: &'static str) -> Response {
    let mut answer = sentence(StatusCode::METHOD_NOT_ALLOWED, &format!("Use {allowed} here."));
    answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    answer
}

/// A form for a name and a password. Its hidden fields repeat `kept`, so that nothing is remembered in between.
pub(crate) fn login(status: StatusCode, action: &str, about: &str, visible: &str, kept: &Form) -> Response {
    const TYPED: [&str; 4] = ["username", "password", "decision", "user_code"];
    let mut hidden = String::new();
    for (name, value) in kept.pairs().filter(|(name, _)| !TYPED.contains(name)) {
        let (name, value) = (escape(name), escape(value));
        let _ = writeln!(hidden, "<input type=\"hidden\" name=\"{name}\" value=\"{value}\">");
    }
    page(
        status,
        &format!(
            "<p>{}</p>\n<form method=\"post\" action=\"{action}\">\n{hidden}{visible}\
             <label>User <input name=\"username\" autocomplete=\"username\" required></label>\n\
             <label>Password <input name=\"password\" type=\"password\" autocomplete=\"current-password\" required></label>\n\
             <button name=\"decision\" value=\"allow\">Allow</button>\n\
             <button name=\"decision\" value=\"deny\" formnovalidate>Deny</button>\n</form>",
            escape(about)
        ),
    )
}

fn page(status: StatusCode, body: &str) -> Response {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>mcprove demo: log in</title>\n\
         <style>body {{ font-family: sans-serif; max-width: 30em; margin: 3em auto }} label {{ display: block; margin: 1em 0 }}</style>\n\
         </head>\n<body>\n<h1>mcprove demo</h1>\n{body}\n</body>\n</html>\n"
    );
    (status, HEADERS, html).into_response()
}

/// A text between tags or in an attribute.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}
