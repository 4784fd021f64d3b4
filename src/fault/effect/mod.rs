//! What a fault does to what came, one effect after the other.

mod answer;
mod borrow;
mod edit;
mod frame;
mod shape;

use std::time::Duration;

use serde_json::{Value, json};

use super::ask::Ask;
use super::exchange::{Ended, Exchange, Known, Reply, What};
use super::place::Place;
use super::words::{Breach, Late, Plain, Reid, Side, Source, ToolKind};

/// One change to what came.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Effect {
    Plain(Plain),
    /// Writes values to places.
    Set(Vec<(Place, Value)>),
    /// Adds text to texts.
    Append(Vec<(Place, String)>),
    /// Adds items to lists.
    Add(Vec<(Place, Value)>),
    /// Fills texts up to a length.
    Pad(Vec<(Place, u64)>),
    /// Gives members other names.
    Rename(Vec<(Place, String)>),
    /// Changes what is at places.
    Edit(Edit, Vec<Place>),
    /// Copies the last item of a list.
    Clone(Copies),
    /// Marks the tools of a kind with hints.
    Mark(Vec<(String, ToolKind)>),
    /// Writes to the answer what stands in the parameters.
    Echo(Vec<(Place, Place)>),
    Give(Source),
    Mix(Source),
    Error {
        code: i64,
        message: String,
    },
    Failure(String),
    Misshape(Breach),
    Delay(Duration),
    Noise(String, Side),
    Stderr(String),
    Garbage(Vec<u8>),
    Reid(Reid),
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
    Late(Late),
    Status(u16),
    Header(Vec<(String, Option<String>)>),
    End(Ended),
}

/// Changes that need nothing but a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    Remove,
    Null,
    Retype,
    Change,
    Cut,
    Empty,
    Wrap,
    Reverse,
    Double,
    Ascii,
}

/// Copies of an item within its list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Copies {
    pub(super) list: Place,
    /// What differs in the copies: `{n}` in a text is the number of the copy, `{name}` what the text was before.
    pub(super) with: Vec<(Place, Value)>,
    pub(super) times: u32,
}

/// An exchange while it is changed.
pub(super) struct Work<'a> {
    pub(super) at: usize,
    pub(super) known: &'a Known<'a>,
    pub(super) exchange: &'a Exchange,
    pub(super) ask: Ask<'a>,
    pub(super) replies: Vec<Reply>,
}

impl Effect {
    /// Carries the effect out; the error says why there is nothing to make it from, as half a sentence.
    pub(super) fn act(&self, work: &mut Work<'_>) -> Result<(), String> {
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
            Self::Mix(source) => return borrow::mix(*source, work),
            Self::Error { code, message } => {
                return answer::put(work, "error", json!({"code": code, "message": message}));
            }
            Self::Failure(text) => return answer::fail(work, text),
            Self::Misshape(breach) => return shape::misshape(*breach, work),
            Self::Delay(by) => frame::delay(*by, work),
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
            Self::End(ended) => frame::end(What::Ended(*ended), work),
        }
        Ok(())
    }
}

impl<'a> Work<'a> {
    pub(super) fn new(at: usize, known: &'a Known<'a>) -> Self {
        let exchange = &known.exchanges[at];
        Self { at, known, exchange, ask: Ask::of(exchange), replies: exchange.replies.clone() }
    }

    /// Where the answer is among the replies.
    fn answer(&self) -> Option<usize> {
        self.ask.answer(&self.replies)
    }

    /// The answer.
    fn message(&mut self) -> Option<&mut Value> {
        let at = self.answer()?;
        if let What::Message(message) = &mut self.replies[at].what { Some(message) } else { None }
    }

    /// The messages of the server's own accord that came with it.
    fn others(&mut self) -> impl Iterator<Item = &mut Value> {
        self.replies.iter_mut().filter_map(|reply| match &mut reply.what {
            What::Message(message) if message.get("method").is_some() => Some(message),
            What::Message(_) | What::Bytes(_) | What::Torn(_) | What::Stderr(_) | What::Stalled | What::Ended(_) => {
                None
            }
        })
    }

    /// The messages that a path is about.
    fn at_place(&mut self, place: &Place, change: &mut dyn FnMut(&mut Value)) {
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
