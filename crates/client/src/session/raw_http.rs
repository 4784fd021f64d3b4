//! Raw requests of HTTP beside a session: recorded like everything that travels, judged by nobody here.

use serde_json::Value;
use tokio::time::Instant;

use super::{CallFailure, Session};
use crate::transport::http::{AfterRequest, Endpoint, ExchangeEnd, IDENTITY, RawRequest, RawResponse, ReadUntil};
use crate::transport::{HttpFailure, HttpRefusal, Owner, ServerProcesses};
use crate::wire::{Channel, Direction, Era, exceeded_limit_together, read_json_bytes};

/// A raw request, and what came of it.
#[derive(Debug)]
pub struct RawExchange {
    /// The frame of the request.
    pub frame: u32,
    /// The frame of the response, if anything came.
    pub answer_frame: Option<u32>,
    /// The response as far as it came.
    pub response: RawResponse,
    /// The end of the exchange.
    pub ended: ExchangeEnd,
}

impl RawExchange {
    /// The messages in the response: those of its events, of its batch, or its body.
    pub fn messages(&self) -> Vec<Value> {
        let events = self.response.events.iter().map(|event| event.data.as_slice());
        if exceeded_limit_together(events).is_some() {
            return Vec::new();
        }
        if self.response.is_stream() {
            return self.response.events.iter().filter_map(|event| read_json_bytes(&event.data)).collect();
        }
        // The first half of a body is no message.
        if matches!(self.ended, ExchangeEnd::Failed(HttpFailure::TooLarge(_))) {
            return Vec::new();
        }
        match read_json_bytes(&self.response.body) {
            Some(Value::Array(batch)) => batch,
            Some(message @ Value::Object(_)) => vec![message],
            Some(_) | None => Vec::new(),
        }
    }

    /// The failure of a response that holds no message.
    pub fn refusal(&self) -> Option<HttpFailure> {
        let head = self.response.head.as_ref()?;
        let code = head.http.status;
        let status = format!("{code} {}", head.reason).trim_end().to_owned();
        if self.ended != ExchangeEnd::Complete {
            return None;
        }
        if head.http.is_success() {
            return Some(HttpFailure::StreamEnded { status });
        }
        let refusal = HttpRefusal::new(&head.http, status, &self.response.body);
        Some(if code == 401 { HttpFailure::AuthRequired(refusal) } else { HttpFailure::Status(refusal) })
    }
}

impl Session {
    /// The server's endpoint, over HTTP.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.peer.endpoint.as_ref()
    }

    /// The processes of the server, where this program started it.
    pub fn processes(&self) -> Option<ServerProcesses> {
        self.peer.processes.clone()
    }

    /// The time for a request where nobody says otherwise.
    pub fn request_timeout(&self) -> std::time::Duration {
        self.settings.request_timeout
    }

    /// The headers of an ordinary request with this body.
    pub fn usual_headers(&self, body: Option<&[u8]>) -> Vec<(String, String)> {
        let Some(endpoint) = self.endpoint() else { return Vec::new() };
        let mut headers = vec![("Host".to_owned(), endpoint.host())];
        headers.extend(endpoint.headers().iter().cloned().chain(endpoint.token_header()));
        headers.push(("Accept".to_owned(), "application/json, text/event-stream".to_owned()));
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept-encoding")) {
            headers.push(("Accept-Encoding".to_owned(), IDENTITY.to_owned()));
        }
        let message = body.and_then(|body| serde_json::from_slice::<Value>(body).ok()).unwrap_or_default();
        let method = message["method"].as_str().unwrap_or_default();
        // A handshake begins a session of its own.
        if method != "initialize" {
            let (era, of_era) = self.peer.lock().headers.of(method, message.get("params"));
            headers.extend(of_era);
            let id = endpoint.session_id().filter(|_| era == Era::Session);
            headers.extend(id.map(|id| ("Mcp-Session-Id".to_owned(), id)));
        }
        if let Some(body) = body {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
            headers.push(("Content-Length".to_owned(), body.len().to_string()));
        }
        headers.push(("Connection".to_owned(), "close".to_owned()));
        headers
    }

    /// Sends a raw request; `Err` says why there was no connection.
    pub async fn exchange_raw(&self, owner: &Owner, request: &RawRequest) -> Result<RawExchange, CallFailure> {
        let frame = self.record_raw(owner, Direction::Sent, &request.pieces.concat());
        let Some(endpoint) = self.endpoint() else {
            return Err(self.http_failure(
                "http",
                frame,
                HttpFailure::Endpoint("the server has no address".to_owned()),
            ));
        };
        match endpoint.exchange(owner, request).await {
            Ok((response, ended)) => {
                let is_heard = !response.received.is_empty();
                let answer_frame = is_heard.then(|| self.record_raw(owner, Direction::Received, &response.received));
                Ok(RawExchange { frame, answer_frame, response, ended })
            }
            Err(failure) => Err(self.http_failure(&request.method, frame, failure)),
        }
    }

    /// Posts bytes with the headers of an ordinary message.
    pub async fn post(
        &self,
        owner: &Owner,
        body: &[Vec<u8>],
        until: ReadUntil,
        deadline: Instant,
    ) -> Result<RawExchange, CallFailure> {
        self.exchange_raw(owner, &self.post_request(body, until, deadline)).await
    }

    /// The POST of bytes with the headers of an ordinary message.
    pub fn post_request(&self, body: &[Vec<u8>], until: ReadUntil, deadline: Instant) -> RawRequest {
        let headers = self.usual_headers(Some(&body.concat()));
        let target = self.endpoint().map(Endpoint::target).unwrap_or_default();
        let mut head = format!("POST {target} HTTP/1.1\r\n");
        for (name, value) in headers {
            head.extend([name.as_str(), ": ", value.as_str(), "\r\n"]);
        }
        head.push_str("\r\n");
        let mut pieces = body.to_vec();
        match pieces.first_mut() {
            Some(first) => *first = [head.into_bytes(), std::mem::take(first)].concat(),
            None => pieces.push(head.into_bytes()),
        }
        let (method, after) = ("POST".to_owned(), AfterRequest::Open);
        RawRequest { pieces, method, after, until, deadline, enough: None, reading: None }
    }

    fn record_raw(&self, owner: &Owner, direction: Direction, bytes: &[u8]) -> u32 {
        let mut state = self.peer.lock();
        let at = state.now();
        let seq = state.transcript.record(at, direction, Channel::Http, bytes).seq;
        state.own(seq, Some(owner));
        seq
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_body_is_no_message_and_the_events_before_it_are() {
        let json = "content-type: application/json\r\n\r\n{\"id\":1}";
        let events = "content-type: text/event-stream\r\n\r\ndata: {\"id\":1}\n\ndata: {\"id\":";
        let cut = || ExchangeEnd::Failed(HttpFailure::TooLarge("it has more than 24 MiB"));
        for (rest, ended, messages) in
            [(json, ExchangeEnd::Complete, 1), (json, cut(), 0), (events, ExchangeEnd::Complete, 1), (events, cut(), 1)]
        {
            let mut response = RawResponse::new(ReadUntil::Body, "POST");
            response.push(format!("HTTP/1.1 200 OK\r\n{rest}").as_bytes()).unwrap();
            let exchange = RawExchange { frame: 1, answer_frame: None, response, ended };
            assert_eq!(exchange.messages().len(), messages, "{rest}");
        }
    }
}
