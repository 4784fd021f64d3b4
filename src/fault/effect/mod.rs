//! The effects of faults on replies, one after the other.

mod answer;
mod borrow;
mod change;
mod drift;
mod edit;
mod frame;
mod page;
mod shape;

pub use self::frame::set_headers;

pub(crate) use self::change::ChangeWay;
pub(crate) use self::frame::filled_headers;
pub(crate) use self::page::items as page_items;
pub(crate) use self::shape::breakable;

use std::cell::OnceCell;
use std::time::Duration;

use serde_json::Value;

use super::exchange::{ExchangeHistory, MessageExchange, ReplyContent, ServerEnd, ServerReply};
use super::parsed_message::ParsedMessage;
use super::words::{AnswerSource, IdEdit, LateReply, PageFault, PlainEffect, SchemaBreach, Side, ToolKind, ValueEdit};
use super::written::{Written, answer_names, earlier, request_names};
use crate::path::DottedPath;
use crate::source::template::{Names, text_of};
use crate::transport::Bandwidth;

/// One change to what came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FaultEffect {
    Plain(PlainEffect),
    /// Writes values to places.
    Set(Vec<(DottedPath, Written)>),
    /// Adds text to texts.
    Append(Vec<(DottedPath, String)>),
    /// Adds text to every text below places.
    Plant(Vec<(DottedPath, String)>),
    /// Adds items to lists.
    Add(Vec<(DottedPath, Written)>),
    /// Fills texts up to a length.
    Pad(Vec<(DottedPath, u64)>),
    /// Gives members other names.
    Rename(Vec<(DottedPath, String)>),
    /// Changes what is at places.
    Edit(ValueEdit, Vec<DottedPath>),
    /// Copies the last item of a list.
    Clone(Copies),
    /// Marks the tools of a kind with hints.
    Mark(Vec<(String, ToolKind)>),
    Give(AnswerSource),
    /// Gives the answer of a request that has another value of this argument, or none, and is the same otherwise.
    Ignore(String),
    Mix(AnswerSource),
    /// Makes the page of a tool's list wrong.
    Page(PageFault),
    /// Answers with this result.
    Result(Written),
    /// Answers with this error.
    Error(Written),
    Failure(String),
    /// Sends this as the whole message.
    Message(Written),
    /// Sends this text as it is.
    Text(Written),
    /// Breaks the structured content against its schema at these places; without any, at the first that can be broken.
    Misshape(SchemaBreach, Vec<DottedPath>),
    Delay(Duration),
    /// Delays it by up to this much more.
    Jitter(Jitter),
    /// Delays it by as much as its bytes take.
    Bandwidth(Bandwidth),
    /// Delays the answer, but not beyond the timeout of the request.
    Slow(Duration),
    Stderr(String),
    Reid(IdEdit),
    Swallow(String),
    Repeat {
        method: String,
        side: Side,
    },
    Late(LateReply),
    Status(u16),
    Headers(Vec<(String, Option<Written>)>),
    /// Gives every event of the response this id, or none.
    EventId(Option<Written>),
    /// The answer also comes on the streams that clients opened with GET.
    AlsoOnListening,
    /// Replaces parts of the JSON of the message.
    Replace(Vec<(String, String)>),
    End(ServerEnd),
}

/// A delay of up to this length, which is drawn for each request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Jitter {
    pub(crate) by: Duration,
    pub(crate) fault: String,
    pub(crate) seed: u64,
}

impl Jitter {
    pub(crate) fn new(by: Duration, fault: &str) -> Self {
        Self { by, fault: fault.to_owned(), seed: 0 }
    }
}

/// Copies of an item within its list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Copies {
    pub(crate) list: DottedPath,
    /// The differences between the copies: `{n}` in a text is the number of the copy, `{name}` the original text.
    pub(crate) with: Vec<(DottedPath, Value)>,
    pub(crate) times: u32,
}

/// An exchange while it is changed.
pub(crate) struct EffectContext<'a> {
    pub(crate) at: usize,
    pub(crate) history: &'a ExchangeHistory<'a>,
    pub(crate) exchange: &'a MessageExchange,
    pub(crate) parsed: ParsedMessage<'a>,
    pub(crate) replies: Vec<ServerReply>,
    /// The number of equal requests before this one, in all sessions; of recorded ones, in its own.
    pub(crate) asked_before: u32,
    /// The seed of what is drawn.
    pub(crate) seed: u64,
    /// The replies are one message on its way, of any kind, rather than all that came.
    is_on_its_way: bool,
    names: OnceCell<Names>,
}

impl FaultEffect {
    /// It needs the answers to other requests.
    pub(crate) fn borrows(&self) -> bool {
        matches!(
            self,
            Self::Give(_)
                | Self::Mix(_)
                | Self::Ignore(_)
                | Self::Page(_)
                | Self::Late(_)
                | Self::Plain(PlainEffect::Accept)
        )
    }

    /// It depends on a draw.
    pub(crate) fn draws(&self) -> bool {
        matches!(self, Self::Jitter(_))
    }

    /// The changed replies are still the protocol.
    pub(crate) fn keeps_protocol(&self) -> bool {
        matches!(
            self,
            Self::Plain(PlainEffect::Never | PlainEffect::Stall | PlainEffect::End)
                | Self::Delay(_)
                | Self::Jitter(_)
                | Self::Bandwidth(_)
                | Self::Slow(_)
                | Self::Failure(_)
                | Self::End(_)
        )
    }

    /// Carries the effect out; the error says why there is nothing to make it from, as half a sentence.
    pub(crate) fn act(&self, work: &mut EffectContext<'_>) -> Result<(), String> {
        match self {
            Self::Plain(plain) => return frame::plain(*plain, work),
            Self::Set(pairs) => edit::set_values(pairs, work),
            Self::Append(pairs) => edit::append(pairs, work),
            Self::Plant(pairs) => edit::plant(pairs, work),
            Self::Add(pairs) => edit::add(pairs, work),
            Self::Pad(pairs) => edit::fill(pairs, work),
            Self::Rename(pairs) => edit::rename(pairs, work),
            Self::Edit(edit, places) => edit::places(*edit, places, work),
            Self::Clone(copies) => edit::copy(copies, work),
            Self::Mark(hints) => edit::mark(hints, work),
            Self::Give(source) => return borrow::give(*source, work),
            Self::Ignore(argument) => return borrow::ignore(argument, work),
            Self::Mix(source) => return borrow::mix(*source, work),
            Self::Page(fault) => return page::change(*fault, work),
            Self::Result(result) => answer::write(work, "result", result),
            Self::Error(error) => answer::write(work, "error", error),
            Self::Message(message) => answer::replace(work, message, ReplyContent::Message),
            Self::Text(text) => {
                answer::replace(work, text, |value| ReplyContent::Bytes(text_of(&value).into_bytes()));
            }
            Self::Failure(text) => return answer::fail(work, text),
            Self::Misshape(breach, places) => return shape::misshape(*breach, places, work),
            Self::Delay(by) | Self::Slow(by) => frame::delay(*by, work),
            Self::Jitter(jitter) => frame::jitter(jitter, work),
            Self::Bandwidth(bandwidth) => frame::transfer(*bandwidth, work),
            Self::Stderr(text) => frame::stderr(text, work),
            Self::Reid(how) => return frame::reid(*how, work),
            Self::Swallow(method) => frame::swallow(method, work),
            Self::Repeat { method, side } => frame::repeat(method, *side, work),
            Self::Late(what) => return frame::late(*what, work),
            Self::Status(status) => frame::head(work, &mut |http| http.status = *status),
            Self::Headers(headers) => frame::headers(headers, work),
            Self::Replace(pairs) => frame::replace(pairs, work),
            // Only what carries a live response knows its events and the other streams of the session.
            Self::EventId(_) | Self::AlsoOnListening => {}
            Self::End(ended) => frame::end(ReplyContent::Ended(*ended), work),
        }
        Ok(())
    }
}

impl<'a> EffectContext<'a> {
    /// All that came of an exchange.
    pub(crate) fn new(at: usize, history: &'a ExchangeHistory<'a>) -> Self {
        let exchange = &history.exchanges[at];
        let (parsed, replies) = (ParsedMessage::of(exchange), exchange.replies.clone());
        let asked_before = exchange.occurrence;
        Self {
            at,
            history,
            exchange,
            parsed,
            replies,
            asked_before,
            seed: 0,
            is_on_its_way: false,
            names: OnceCell::new(),
        }
    }

    /// One message on its way, or none; `names` are those that templates can use.
    pub(crate) fn on_its_way(
        at: usize,
        history: &'a ExchangeHistory<'a>,
        parsed: ParsedMessage<'a>,
        replies: Vec<ServerReply>,
        names: Names,
    ) -> Self {
        let exchange = &history.exchanges[at];
        let asked_before = exchange.occurrence;
        Self { at, history, exchange, parsed, replies, asked_before, seed: 0, is_on_its_way: true, names: names.into() }
    }

    /// The same after so many equal requests in all sessions.
    pub(crate) fn asked_after(self, asked_before: u32) -> Self {
        Self { asked_before, ..self }
    }

    /// The names that templates can use.
    pub(crate) fn names(&self) -> &Names {
        self.names.get_or_init(|| {
            let mut names = request_names(&self.parsed);
            names.insert("earlier".to_owned(), earlier(self.at, self.history).into());
            names.insert("count".to_owned(), 1.into());
            if let Some(at) = self.parsed.answer(&self.exchange.replies) {
                names.extend(answer_names(&self.exchange.replies[at]));
            }
            names
        })
    }

    /// A value that is written; nothing if a template names what is not there.
    fn fill_written(&self, written: &Written) -> Option<Value> {
        match written {
            Written::Plain(value) => Some(value.clone()),
            Written::Template(_) => written.value(self.names()),
        }
    }

    /// Messages at the time of the answer.
    pub(crate) fn messages(&self, written: &[Written]) -> Vec<ServerReply> {
        let contents = written.iter().filter_map(|written| self.fill_written(written)).map(ReplyContent::of);
        contents.map(|content| ServerReply { after: self.time(), content, http: self.http() }).collect()
    }

    /// The replies with messages before the answer and after it; they come last where there is none.
    pub(crate) fn surround(mut self, before: Vec<ServerReply>, after: Vec<ServerReply>) -> Vec<ServerReply> {
        let end = self.replies.len();
        let (first, last) = self.answer().map_or((end, end), |at| (at, at + 1));
        self.replies.splice(last..last, after);
        self.replies.splice(first..first, before);
        self.replies
    }

    /// The index of the answer among the replies.
    fn answer(&self) -> Option<usize> {
        if self.is_on_its_way {
            return (!self.replies.is_empty()).then_some(0);
        }
        self.parsed.answer(&self.replies)
    }

    /// The schema that the called tool declares for its structured content.
    fn output_schema(&self) -> Option<&'a Value> {
        self.history.catalog.tool(self.parsed.tool()?)?.raw.get("outputSchema")
    }

    /// The answer.
    fn message(&mut self) -> Option<&mut Value> {
        let at = self.answer()?;
        if let ReplyContent::Message(message) = &mut self.replies[at].content { Some(message) } else { None }
    }

    /// The messages of the server's own accord that came with it.
    fn others(&mut self) -> impl Iterator<Item = &mut Value> {
        self.replies.iter_mut().filter_map(|reply| {
            let ReplyContent::Message(message) = &mut reply.content else { return None };
            message.get("method").is_some().then_some(message)
        })
    }

    /// The messages that a path is about.
    fn at_place(&mut self, place: &DottedPath, change: &mut dyn FnMut(&mut Value)) {
        if place.is_of_notification() && !self.is_on_its_way {
            self.others().for_each(change);
        } else if let Some(message) = self.message() {
            change(message);
        }
    }

    /// The head that replies of this exchange have, over HTTP.
    fn http(&self) -> Option<std::sync::Arc<crate::wire::HttpHead>> {
        self.exchange.replies.iter().find_map(|reply| reply.http.clone())
    }

    /// The time of an answer where none came.
    fn time_to_answer(&self) -> Duration {
        if self.is_on_its_way { Duration::ZERO } else { Duration::from_millis(1) }
    }

    /// When the last of the replies comes.
    pub(crate) fn delay(&self) -> Duration {
        self.replies.iter().map(|reply| reply.after).max().unwrap_or_default()
    }

    /// When the answer came, or the last thing that did.
    fn time(&self) -> Duration {
        self.answer().map_or(self.delay(), |at| self.replies[at].after)
    }
}
