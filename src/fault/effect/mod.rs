//! The effects of faults on replies, one after the other.

mod answer;
mod borrow;
mod edit;
mod frame;
mod shape;

use std::time::Duration;

use serde_json::{Value, json};

use super::exchange::{ExchangeHistory, MessageExchange, ReplyContent, ServerEnd, ServerReply};
use super::message_path::MessagePath;
use super::parsed_message::ParsedMessage;
use super::words::{AnswerSource, IdEdit, LateReply, PlainEffect, SchemaBreach, Side, ToolKind, ValueEdit};

/// One change to what came.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FaultEffect {
    Plain(PlainEffect),
    /// Writes values to places.
    Set(Vec<(MessagePath, Value)>),
    /// Adds text to texts.
    Append(Vec<(MessagePath, String)>),
    /// Adds items to lists.
    Add(Vec<(MessagePath, Value)>),
    /// Fills texts up to a length.
    Pad(Vec<(MessagePath, u64)>),
    /// Gives members other names.
    Rename(Vec<(MessagePath, String)>),
    /// Changes what is at places.
    Edit(ValueEdit, Vec<MessagePath>),
    /// Copies the last item of a list.
    Clone(Copies),
    /// Marks the tools of a kind with hints.
    Mark(Vec<(String, ToolKind)>),
    /// Writes to the answer what stands in the parameters.
    Echo(Vec<(MessagePath, MessagePath)>),
    Give(AnswerSource),
    /// Gives the answer of a request that has another value of this argument, or none, and is the same otherwise.
    Ignore(String),
    Mix(AnswerSource),
    Error {
        code: i64,
        message: String,
    },
    Failure(String),
    Misshape(SchemaBreach),
    Delay(Duration),
    /// Delays the answer, but not beyond the timeout of the request.
    Slow(Duration),
    Noise(String, Side),
    Stderr(String),
    Garbage(Vec<u8>),
    Reid(IdEdit),
    Notify {
        method: String,
        params: Value,
        side: Side,
    },
    Swallow(String),
    Repeat {
        method: String,
        side: Side,
    },
    Late(LateReply),
    Status(u16),
    Header(Vec<(String, Option<String>)>),
    End(ServerEnd),
}

/// Copies of an item within its list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Copies {
    pub(super) list: MessagePath,
    /// The differences between the copies: `{n}` in a text is the number of the copy, `{name}` the original text.
    pub(super) with: Vec<(MessagePath, Value)>,
    pub(super) times: u32,
}

/// An exchange while it is changed.
pub(super) struct EffectContext<'a> {
    pub(super) at: usize,
    pub(super) history: &'a ExchangeHistory<'a>,
    pub(super) exchange: &'a MessageExchange,
    pub(super) parsed: ParsedMessage<'a>,
    pub(super) replies: Vec<ServerReply>,
}

impl FaultEffect {
    /// Carries the effect out; the error says why there is nothing to make it from, as half a sentence.
    pub(super) fn act(&self, work: &mut EffectContext<'_>) -> Result<(), String> {
        match self {
            Self::Plain(plain) => return frame::plain(*plain, work),
            Self::Set(pairs) => edit::set(pairs, work),
            Self::Append(pairs) => edit::append(pairs, work),
            Self::Add(pairs) => edit::add(pairs, work),
            Self::Pad(pairs) => edit::fill(pairs, work),
            Self::Rename(pairs) => edit::rename(pairs, work),
            Self::Edit(edit, places) => edit::places(*edit, places, work),
            Self::Clone(copies) => edit::copy(copies, work),
            Self::Mark(hints) => edit::mark(hints, work),
            Self::Echo(pairs) => edit::echo(pairs, work),
            Self::Give(source) => return borrow::give(*source, work),
            Self::Ignore(argument) => return borrow::ignore(argument, work),
            Self::Mix(source) => return borrow::mix(*source, work),
            Self::Error { code, message } => {
                return answer::put(work, "error", json!({"code": code, "message": message}));
            }
            Self::Failure(text) => return answer::fail(work, text),
            Self::Misshape(breach) => return shape::misshape(*breach, work),
            Self::Delay(by) | Self::Slow(by) => frame::delay(*by, work),
            Self::Noise(text, side) => frame::noise(text, *side, work),
            Self::Stderr(text) => frame::stderr(text, work),
            Self::Garbage(bytes) => frame::garbage(bytes, work),
            Self::Reid(how) => return frame::reid(*how, work),
            Self::Notify { method, params, side } => frame::notify(method, params, *side, work),
            Self::Swallow(method) => frame::swallow(method, work),
            Self::Repeat { method, side } => frame::repeat(method, *side, work),
            Self::Late(what) => return frame::late(*what, work),
            Self::Status(status) => frame::head(work, &mut |http| http.status = *status),
            Self::Header(headers) => frame::headers(headers, work),
            Self::End(ended) => frame::end(ReplyContent::Ended(*ended), work),
        }
        Ok(())
    }
}

impl<'a> EffectContext<'a> {
    pub(super) fn new(at: usize, history: &'a ExchangeHistory<'a>) -> Self {
        let exchange = &history.exchanges[at];
        Self { at, history, exchange, parsed: ParsedMessage::of(exchange), replies: exchange.replies.clone() }
    }

    /// Where the answer is among the replies.
    fn answer(&self) -> Option<usize> {
        self.parsed.answer(&self.replies)
    }

    /// The answer.
    fn message(&mut self) -> Option<&mut Value> {
        let at = self.answer()?;
        if let ReplyContent::Message(message) = &mut self.replies[at].content { Some(message) } else { None }
    }

    /// The messages of the server's own accord that came with it.
    fn others(&mut self) -> impl Iterator<Item = &mut Value> {
        self.replies.iter_mut().filter_map(|reply| match &mut reply.content {
            ReplyContent::Message(message) if message.get("method").is_some() => Some(message),
            ReplyContent::Message(_)
            | ReplyContent::Bytes(_)
            | ReplyContent::Torn(_)
            | ReplyContent::Stderr(_)
            | ReplyContent::Stalled
            | ReplyContent::Ended(_) => None,
        })
    }

    /// The messages that a path is about.
    fn at_place(&mut self, place: &MessagePath, change: &mut dyn FnMut(&mut Value)) {
        if place.is_of_notification() {
            self.others().for_each(change);
        } else if let Some(message) = self.message() {
            change(message);
        }
    }

    /// The head that replies of this exchange have, over HTTP.
    fn http(&self) -> Option<std::sync::Arc<crate::wire::HttpHead>> {
        self.exchange.replies.iter().find_map(|reply| reply.http.clone())
    }

    /// When the answer came, or the last thing that did.
    fn time(&self) -> Duration {
        let last = self.replies.iter().map(|reply| reply.after).max().unwrap_or_default();
        self.answer().map_or(last, |at| self.replies[at].after)
    }
}
