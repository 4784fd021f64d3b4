//! The step `http`: a request as it is written, and the response as an answer.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::exchange::StepResponse;
use super::raw::{self, header_values, looks_at, reply_to_step, wants_closing};
use crate::diagnosis;
use crate::event::{Exchange, Finding, StepProblem};
use crate::session::{CallFailure, RawExchange, Session};
use crate::source::template::{Names, Unfilled, fill, text_of};
use crate::source::{shorten, visible_line};
use crate::suite::{Action, Cuts, Defaults, Extent, HeaderValue, RawHttp, Step, Then};
use crate::transport::http::{AfterRequest, Endpoint, ExchangeEnd, RawRequest, ReadUntil};
use crate::transport::{ConnectionBreak, HttpFailure, Owner};
use crate::wire::sse::SseEvent;
use crate::wire::{HttpHead, exceeded_limit, exceeded_limit_together, is_response, read_json_bytes};

/// The most characters of a content type that are shown.
const SHOWN_TYPE: usize = 60;

/// A request of HTTP, filled in.
pub(crate) struct FilledHttp {
    method: String,
    path: Option<String>,
    headers: Vec<(String, Vec<Vec<u8>>)>,
    defaults: Defaults,
    body: Option<Vec<u8>>,
    raw: Option<Vec<u8>>,
    cuts: Cuts,
    end: AfterRequest,
    until: ReadUntil,
    /// Ends the reading.
    enough: Option<Arc<Notify>>,
}

impl FilledHttp {
    pub(crate) fn fill(http: &RawHttp, names: &Names) -> Result<Self, Unfilled> {
        let text = |node| fill(node, names).map(|node| text_of(&node.to_json()));
        let body = http.body.as_ref().map(|body| body.bytes(names)).transpose()?;
        let raw = http.raw.as_ref().map(|raw| raw.bytes(names)).transpose()?;
        let first_word = |raw: &Vec<u8>| {
            let word: Vec<u8> = raw.iter().copied().take_while(u8::is_ascii_alphabetic).collect();
            String::from_utf8_lossy(&word).into_owned()
        };
        let method = match (&http.method, &raw) {
            (Some(method), _) => text(method)?,
            (None, Some(raw)) => first_word(raw),
            (None, None) => if body.is_some() { "POST" } else { "GET" }.to_owned(),
        };
        let header = |(name, value): &(crate::source::Located<String>, HeaderValue)| {
            Ok((name.value.clone(), header_values(&value.0, names)?))
        };
        Ok(Self {
            method,
            path: http.path.as_ref().map(text).transpose()?,
            headers: http.headers.iter().map(header).collect::<Result<_, Unfilled>>()?,
            defaults: http.defaults,
            body,
            raw,
            cuts: http.cuts.clone(),
            end: match http.then {
                None => AfterRequest::Open,
                Some(Then::CloseWrite) => AfterRequest::CloseWrite,
                Some(Then::Abort) => AfterRequest::Abort,
            },
            until: match http.read {
                Extent::Answer if http.during.is_empty() => ReadUntil::Answer,
                Extent::Head => ReadUntil::Head,
                Extent::Answer | Extent::Body => ReadUntil::Body,
                Extent::Events(count) => ReadUntil::Events(count),
            },
            enough: None,
        })
    }

    /// Reads until somebody says that it is enough.
    pub(crate) fn until_told(&mut self) -> Arc<Notify> {
        Arc::clone(self.enough.get_or_insert_default())
    }

    pub(crate) fn title(&self) -> String {
        if self.raw.is_some() {
            return "http".to_owned();
        }
        let path = self.path.as_deref().unwrap_or_default();
        format!("{} {path}", self.method).trim().to_owned()
    }

    /// The body as text, for people.
    pub(crate) fn text(&self) -> String {
        let bytes = self.raw.as_ref().or(self.body.as_ref());
        bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
    }

    /// Sends it; `Err` says why there is nothing to judge.
    pub(crate) async fn perform(
        mut self,
        session: &Session,
        owner: &Owner,
        step: &Step,
        exchange: &mut Exchange,
    ) -> Result<StepResponse, Finding> {
        if self.path.is_none() && self.raw.is_none() {
            // In HTTP+SSE messages are posted elsewhere; everything else goes to the address itself.
            let target = if self.method == "POST" { Endpoint::target } else { Endpoint::own_target };
            self.path = session.endpoint().map(target);
            exchange.title = self.title();
        }
        if self.sends_token()
            && let Some(endpoint) = session.endpoint()
        {
            endpoint.renew_token().await.map_err(|failure| diagnosis::of_http(&failure, &exchange.title))?;
        }
        let begun = Instant::now();
        let pieces = self.cuts.pieces(&self.bytes(session));
        let (deadline, limit) = raw::deadline(session, step, pieces.len());
        let request = RawRequest {
            pieces,
            method: self.method.clone(),
            after: self.end,
            until: self.until,
            deadline,
            enough: self.enough.clone(),
            reading: None,
        };
        let exchanged = match session.exchange_raw(owner, &request).await {
            Ok(exchanged) => exchanged,
            Err(failure) => {
                exchange.frame = failure.frame.unwrap_or_default();
                return Err(Finding::from(&CallFailure { method: exchange.title.clone(), ..failure }));
            }
        };
        (exchange.frame, exchange.answer_frame) = (exchanged.frame, exchanged.answer_frame);
        exchange.elapsed_us = super::micros(begun.elapsed());
        exchange.received = response_line(&exchanged);
        judge_response(&exchanged, step, exchange, begun.elapsed(), limit)
    }

    /// The usual headers have the token of the server, unless another one is written.
    fn sends_token(&self) -> bool {
        let is_written = self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case("authorization"));
        self.raw.is_none() && matches!(self.defaults, Defaults::Sent) && !is_written
    }

    fn bytes(&self, session: &Session) -> Vec<u8> {
        if let Some(raw) = &self.raw {
            return raw.clone();
        }
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.path.as_deref().unwrap_or("/")).into_bytes();
        for (name, value) in self.headers(session) {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(&value);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }

    /// The usual headers, with those that are written in their places, and the others after them.
    fn headers(&self, session: &Session) -> Vec<(String, Vec<u8>)> {
        let writes = |name: &str| self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let usual = match self.defaults {
            Defaults::Sent => session.usual_headers(self.body.as_deref()),
            Defaults::Bare => Vec::new(),
        };
        let mut headers: Vec<(String, Vec<u8>)> = Vec::new();
        for (name, value) in usual {
            // A body has one way to say how long it is.
            let is_moot = name == "Content-Length" && writes("transfer-encoding");
            if !writes(&name) && !is_moot {
                headers.push((name, value.into_bytes()));
            }
        }
        for (name, values) in &self.headers {
            headers.extend(values.iter().map(|value| (name.clone(), value.clone())));
        }
        headers
    }
}

/// Returns true if what came is an answer to look at, or a failure.
fn judge_response(
    exchanged: &RawExchange,
    step: &Step,
    exchange: &Exchange,
    elapsed: Duration,
    limit: Duration,
) -> Result<StepResponse, Finding> {
    let title = &exchange.title;
    let broken = |failure: &HttpFailure| {
        let finding = diagnosis::of_http(failure, title);
        Err(Finding { frame: Some(exchanged.frame), ..finding })
    };
    let facts = ResponseFacts {
        received: match &exchanged.response.head {
            None => Received::Nothing,
            Some(_) if exchanged.response.is_stream() => Received::Stream,
            Some(_) => Received::Body,
        },
        may_be_closed: looks_at(step, "closed"),
        may_be_silent: looks_at(step, "silent") || wants_closing(step),
    };
    match (&exchanged.ended, facts.failure(&exchanged.ended)) {
        (ExchangeEnd::Failed(failure), _) => return broken(failure),
        (_, Some(Unfinished::Reset(at))) => return broken(&HttpFailure::Reset(at)),
        (_, Some(Unfinished::NoResponse)) => {
            return Err(raw::too_slow(exchange, &format!("`{title}` got no response"), limit));
        }
        (_, Some(Unfinished::NotWhole)) => {
            let head = exchanged.response.head.as_ref();
            let sent_type = head.and_then(|head| head.http.header("content-type"));
            let wants_events = matches!(&step.action, Action::Http(http) if matches!(http.read, Extent::Events(_)));
            return Err(raw::too_slow(exchange, &not_whole(title, sent_type, wants_events), limit));
        }
        (_, None) => {}
    }
    let response = &exchanged.response;
    let events = response.events.iter().map(|event| event.data.as_slice());
    if let Some(limit) = exceeded_limit(&response.body).or_else(|| exceeded_limit_together(events)) {
        let finding = Finding::new(limit.code(), format!("the response to `{title}` {limit}"));
        return Err(Finding { frame: Some(exchanged.frame), ..finding }.with_problem(StepProblem::AnswerNotRead));
    }
    let reply = reply_to_step(Arc::new(answer(exchanged)), exchanged.frame, exchanged.answer_frame, elapsed);
    Ok(StepResponse { method: title.clone(), reply })
}

/// What became of a response to a request that came in part; a server that sends events as another type is told which.
fn not_whole(title: &str, sent_type: Option<&str>, wants_events: bool) -> String {
    match sent_type.filter(|_| wants_events) {
        Some(sent_type) => {
            let shown = shorten(&visible_line(sent_type), SHOWN_TYPE);
            format!("the response to `{title}` is `{shown}`, not `text/event-stream`, and was not whole")
        }
        None => format!("the response to `{title}` was not whole"),
    }
}

/// The facts by which a response that is not whole is an answer to look at, or a failure.
#[derive(Debug, Clone, Copy)]
struct ResponseFacts {
    received: Received,
    /// The step looks at a connection that is closed, or at a server that says nothing.
    may_be_closed: bool,
    may_be_silent: bool,
}

/// The part of a response that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Received {
    /// Not even the head.
    Nothing,
    /// The head of a response with a body.
    Body,
    /// The head of a stream of events, which may stay open.
    Stream,
}

/// A response that is not what the step is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unfinished {
    Reset(ConnectionBreak),
    NoResponse,
    NotWhole,
}

impl ResponseFacts {
    /// The failure of a response that ended like this; `None` where there is an answer to look at.
    fn failure(self, ended: &ExchangeEnd) -> Option<Unfinished> {
        match (ended, self.received) {
            (ExchangeEnd::Closed, received) if !self.may_be_closed => Some(Unfinished::Reset(match received {
                Received::Nothing => ConnectionBreak::BeforeHeaders,
                Received::Body | Received::Stream => ConnectionBreak::AfterHeaders,
            })),
            (ExchangeEnd::TimedOut, Received::Nothing) if !self.may_be_silent => Some(Unfinished::NoResponse),
            (ExchangeEnd::TimedOut, Received::Body) => Some(Unfinished::NotWhole),
            (
                ExchangeEnd::Complete
                | ExchangeEnd::Closed
                | ExchangeEnd::TimedOut
                | ExchangeEnd::Aborted
                | ExchangeEnd::Failed(_),
                _,
            ) => None,
        }
    }
}

/// The response as a value.
fn answer(exchanged: &RawExchange) -> Value {
    let response = &exchanged.response;
    let mut answer = Map::new();
    if let Some(head) = &response.head {
        answer.insert("http_version".to_owned(), head.version.clone().into());
        answer.insert("status".to_owned(), head.http.status.into());
        answer.insert("reason".to_owned(), head.reason.clone().into());
        answer.insert("headers".to_owned(), headers(&head.http));
        answer.insert("body".to_owned(), String::from_utf8_lossy(&response.body).into());
    }
    if response.is_stream() {
        answer.insert("events".to_owned(), response.events.iter().map(event).collect());
        answer.insert("open".to_owned(), (exchanged.ended == ExchangeEnd::TimedOut).into());
    }
    if let Some(json) = json_of(exchanged) {
        answer.insert("json".to_owned(), json);
    }
    answer.insert("closed".to_owned(), (exchanged.ended == ExchangeEnd::Closed).into());
    answer.insert("silent".to_owned(), (exchanged.ended == ExchangeEnd::TimedOut && response.head.is_none()).into());
    if exchanged.ended == ExchangeEnd::Aborted {
        answer.insert("aborted".to_owned(), true.into());
    }
    answer.into()
}

/// The body; of a stream the message in it that answers something.
fn json_of(exchanged: &RawExchange) -> Option<Value> {
    let response = &exchanged.response;
    let body = if response.is_stream() {
        response.events.iter().map(|event| &event.data).find(|data| is_response(data))?
    } else {
        &response.body
    };
    read_json_bytes(body)
}

fn event(SseEvent { id, kind, data }: &SseEvent) -> Value {
    let mut event = json!({"event": kind, "data": String::from_utf8_lossy(data)});
    if let Some(id) = id {
        event["id"] = id.clone().into();
    }
    if let Some(json) = read_json_bytes(data) {
        event["json"] = json;
    }
    event
}

/// Headers by name; one that is repeated has a list.
fn headers(http: &HttpHead) -> Value {
    let mut headers: Map<String, Value> = Map::new();
    for (name, value) in &http.headers {
        match headers.get_mut(name) {
            Some(Value::Array(values)) => values.push(value.clone().into()),
            Some(first) => *first = json!([first.clone(), value]),
            None => drop(headers.insert(name.clone(), value.clone().into())),
        }
    }
    headers.into()
}

/// The response in one line.
fn response_line(exchanged: &RawExchange) -> String {
    let response = &exchanged.response;
    let Some(head) = &response.head else { return String::new() };
    let body = String::from_utf8_lossy(&response.body);
    super::exchange::shorten(format!("HTTP {} {} {}", head.http.status, head.reason, body.trim()).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_that_is_not_whole_is_a_failure_unless_the_step_is_about_that() {
        use ExchangeEnd::{Aborted, Closed, Complete, TimedOut};
        use Unfinished::{NoResponse, NotWhole, Reset};
        let nothing = ResponseFacts { received: Received::Nothing, may_be_closed: false, may_be_silent: false };
        let body = ResponseFacts { received: Received::Body, ..nothing };
        let stream = ResponseFacts { received: Received::Stream, ..nothing };
        for (what, ended, facts, expected) in [
            ("whole", Complete, body, None),
            ("closed before anything came", Closed, nothing, Some(Reset(ConnectionBreak::BeforeHeaders))),
            ("closed within the body", Closed, body, Some(Reset(ConnectionBreak::AfterHeaders))),
            ("closed, as the step says", Closed, ResponseFacts { may_be_closed: true, ..nothing }, None),
            (
                "closed, and the step is about silence",
                Closed,
                ResponseFacts { may_be_silent: true, ..body },
                Some(Reset(ConnectionBreak::AfterHeaders)),
            ),
            ("nothing in time", TimedOut, nothing, Some(NoResponse)),
            ("nothing in time, as the step says", TimedOut, ResponseFacts { may_be_silent: true, ..nothing }, None),
            ("half a body in time", TimedOut, body, Some(NotWhole)),
            (
                "half a body in time, and the step is about silence",
                TimedOut,
                ResponseFacts { may_be_silent: true, ..body },
                Some(NotWhole),
            ),
            ("a stream that stays open", TimedOut, stream, None),
            ("cut off by us", Aborted, body, None),
        ] {
            assert_eq!(facts.failure(&ended), expected, "{what}");
        }
    }

    #[test]
    fn events_that_are_sent_as_another_type_are_told_so() {
        for (sent_type, wants_events, expected) in [
            (
                Some("application/json"),
                true,
                "`GET /` is `application/json`, not `text/event-stream`, and was not whole",
            ),
            (Some("application/json"), false, "`GET /` was not whole"),
            (None, true, "`GET /` was not whole"),
        ] {
            assert_eq!(not_whole("GET /", sent_type, wants_events), format!("the response to {expected}"));
        }
    }

    #[test]
    fn headers_that_come_twice_are_a_list() {
        let named = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let lines = [("a", "1"), ("b", "2"), ("a", "3"), ("a", "4")].map(named).into();
        assert_eq!(headers(&HttpHead { status: 200, headers: lines }), json!({ "a": ["1", "3", "4"], "b": "2" }));
    }
}
