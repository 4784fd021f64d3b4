//! Requests over HTTP that no session sends by itself: with another session id, or for another method than `POST`.

use serde_json::Value;
use tokio::time::Instant;

use crate::session::{RawExchange, Session};
use crate::transport::Owner;
use crate::transport::http::{AfterRequest, Endpoint, RawRequest, ReadUntil};

/// The header that names a session.
pub(crate) const SESSION_ID: &str = "mcp-session-id";

/// A request with the usual headers of a session, but for those that are given.
pub(crate) struct HttpProbe<'a> {
    pub(crate) method: &'static str,
    pub(crate) body: Option<&'a Value>,
    /// Headers, in place of the session's own of the same names; an empty one takes the session's away.
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) until: ReadUntil,
    /// Where the token has to be renewed first, the time for that comes on top.
    pub(crate) deadline: Instant,
}

impl HttpProbe<'_> {
    /// Sends it on a connection of its own; `None` where there is none to be had.
    pub(crate) async fn send(&self, session: &Session, owner: &Owner) -> Option<RawExchange> {
        let endpoint = session.endpoint()?;
        let is_given = |name: &str| self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let begun = Instant::now();
        if !is_given("authorization") {
            endpoint.renew_token().await.ok()?;
        }
        let deadline = self.deadline + begun.elapsed();
        let body = self.body.map(|body| body.to_string().into_bytes());
        let target = if self.body.is_some() { endpoint.target() } else { Endpoint::own_target(endpoint) };
        let mut head = format!("{} {target} HTTP/1.1\r\n", self.method);
        let usual = session.usual_headers(body.as_deref());
        let kept =
            usual.iter().map(|(name, value)| (name.as_str(), value.as_str())).filter(|(name, _)| !is_given(name));
        let given = self.headers.iter().copied().filter(|(_, value)| !value.is_empty());
        for (name, value) in kept.chain(given) {
            head.extend([name, ": ", value, "\r\n"]);
        }
        head.push_str("\r\n");
        let request = RawRequest {
            pieces: vec![[head.into_bytes(), body.unwrap_or_default()].concat()],
            method: self.method.to_owned(),
            after: AfterRequest::Open,
            until: self.until,
            deadline,
            enough: None,
            reading: None,
        };
        session.exchange_raw(owner, &request).await.ok()
    }
}

/// The session id that a response gives.
pub(crate) fn session_id_of(exchange: &RawExchange) -> Option<String> {
    exchange.response.head.as_ref()?.http.header(SESSION_ID).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::response_with;

    #[test]
    fn a_session_id_is_a_header_in_any_letter_case() {
        for (headers, expected) in [
            (&[("Mcp-Session-Id", "s7")][..], Some("s7")),
            (&[("MCP-SESSION-ID", "s7")], Some("s7")),
            (&[("Content-Type", "application/json"), ("mcp-session-id", "s7")], Some("s7")),
            (&[("X-Session-Id", "s7")], None),
            (&[], None),
        ] {
            assert_eq!(session_id_of(&response_with(200, headers, "{}")).as_deref(), expected, "{headers:?}");
        }
    }
}
