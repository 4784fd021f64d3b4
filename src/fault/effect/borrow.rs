//! Answers that the server gave to something else.

use serde_json::Value;

use super::{Work, answer};
use crate::fault::ask::Ask;
use crate::fault::condition::same_question;
use crate::fault::exchange::{Exchange, Known, What};
use crate::fault::judge;
use crate::fault::words::{Arguments, Source};

/// Gives an answer of another exchange instead.
pub(super) fn give(source: Source, work: &mut Work<'_>) -> Result<(), String> {
    let (member, value) = find(source, work).ok_or_else(|| lack(source).to_owned())?;
    answer::put(work, member, value)
}

/// Answers as if all were well: like a good call of the same tool, or with a result from nothing.
pub(super) fn accept(work: &mut Work<'_>) -> Result<(), String> {
    let result = find(Source::Served, work).map_or_else(|| answer::plain_result(work), |(_, result)| result);
    answer::put(work, "result", result)
}

/// Puts the content of another exchange in front of the content that came.
pub(super) fn mix(source: Source, work: &mut Work<'_>) -> Result<(), String> {
    let (_, result) = find(source, work).ok_or_else(|| lack(source).to_owned())?;
    let Some(message) = work.message() else { return Ok(()) };
    for member in ["content", "contents", "messages"] {
        if let (Some(Value::Array(items)), Some(Value::Array(more))) =
            (message["result"].get_mut(member), result.get(member))
        {
            items.splice(0..0, more.iter().cloned());
        }
    }
    Ok(())
}

fn lack(source: Source) -> &'static str {
    match source {
        Source::Served => "no good call of the same kind was recorded",
        Source::Earlier => "the same was not answered otherwise before",
        Source::Other => "nothing was recorded of other arguments with another answer",
        Source::Neighbour => "the session has no other call with another answer",
        Source::Foreign => "no other session got another answer of this kind",
        Source::Elsewhere => "the same was not answered otherwise elsewhere",
        Source::Refused => "no refusal of this kind was recorded",
    }
}

/// A result or an error that another exchange got, as the member of the response that holds it.
fn find(source: Source, work: &Work<'_>) -> Option<Outcome<Value>> {
    let here = Seeker { work, ask: &work.ask, own: outcome(work.exchange, &work.ask) };
    let exchanges = work.known.exchanges;
    let found = match source {
        // The first comes first: it is the same for whoever looks, whatever was asked since.
        Source::Earlier => exchanges[..work.at].iter().find_map(|other| here.take(source, other)),
        Source::Served => exchanges.iter().find_map(|other| here.take(source, other)),
        // That something is not there says more than that the question was wrong.
        Source::Refused => {
            let refused = || exchanges.iter().filter(|other| here.take(source, other).is_some());
            let good = refused().find(|other| is_good_call(&Ask::of(other), work.known));
            good.or_else(|| refused().next()).and_then(|other| here.take(source, other))
        }
        Source::Other | Source::Neighbour | Source::Foreign | Source::Elsewhere => {
            nearest(work.at, exchanges.len()).find_map(|at| here.take(source, &exchanges[at]))
        }
    };
    found.map(|(member, value)| (member, value.clone()))
}

/// What was answered, as the member of the response that holds it.
type Outcome<T> = (&'static str, T);

/// Every index but the one in the middle, the nearest first.
fn nearest(at: usize, length: usize) -> impl Iterator<Item = usize> {
    (1..length.max(1)).flat_map(move |far| [at.checked_sub(far), Some(at + far)]).flatten().filter(move |i| *i < length)
}

struct Seeker<'a> {
    work: &'a Work<'a>,
    ask: &'a Ask<'a>,
    own: Option<Outcome<&'a Value>>,
}

impl Seeker<'_> {
    fn take<'o>(&self, source: Source, other: &'o Exchange) -> Option<Outcome<&'o Value>> {
        let this = self.work.exchange;
        if std::ptr::eq(this, other) || other.method() != self.ask.method.as_deref() {
            return None;
        }
        let ask = Ask::of(other);
        let is_same_session = this.owner == other.owner && this.session == other.session;
        let is_meant = match source {
            Source::Served | Source::Refused => is_same_kind(self.ask, &ask),
            Source::Earlier => is_same_session && same_question(self.ask, &ask),
            Source::Other => is_same_kind(self.ask, &ask) && !same_question(self.ask, &ask),
            Source::Neighbour => is_same_session,
            Source::Foreign => !is_same_session && is_same_kind(self.ask, &ask),
            Source::Elsewhere => !is_same_session && same_question(self.ask, &ask),
        };
        if !is_meant {
            return None;
        }
        let found = outcome(other, &ask)?;
        let is_refused = found.0 == "error" || found.1["isError"] == Value::Bool(true);
        let is_fit = match source {
            Source::Refused => is_refused,
            Source::Served => !is_refused && is_good_call(&ask, self.work.known),
            Source::Earlier | Source::Other | Source::Neighbour | Source::Foreign | Source::Elsewhere => {
                !is_refused && self.own != Some(found)
            }
        };
        is_fit.then_some(found)
    }
}

/// Whether two exchanges are about the same tool, prompt or list.
fn is_same_kind(one: &Ask<'_>, other: &Ask<'_>) -> bool {
    one.method == other.method && one.params["name"] == other.params["name"]
}

/// Whether a call is one that the tool's schema allows; what has no schema may be what it likes.
fn is_good_call(ask: &Ask<'_>, known: &Known<'_>) -> bool {
    let Some(tool) = ask.tool().and_then(|name| known.catalog.tool(name)) else { return ask.tool().is_none() };
    judge::of(tool, "inputSchema").is_none() || judge::stands(tool, &ask.params["arguments"], &[Arguments::Valid])
}

/// The result or the error that an exchange got.
fn outcome<'e>(exchange: &'e Exchange, ask: &Ask<'_>) -> Option<Outcome<&'e Value>> {
    let What::Message(message) = &exchange.replies[ask.answer(&exchange.replies)?].what else { return None };
    ["result", "error"].into_iter().find_map(|member| Some((member, message.get(member)?)))
}
