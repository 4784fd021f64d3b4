//! Answers that the server gave to something else.

use serde_json::Value;

use super::{EffectContext, answer};
use crate::fault::condition::same_question;
use crate::fault::exchange::{ExchangeHistory, MessageExchange};
use crate::fault::parsed_message::ParsedMessage;
use crate::fault::schema_check;
use crate::fault::words::{AnswerSource, ToolKind};

/// Gives an answer of another exchange instead.
pub(crate) fn give(source: AnswerSource, work: &mut EffectContext<'_>) -> Result<(), String> {
    let (member, value) = find(source, work).ok_or_else(|| lack(source).to_owned())?;
    answer::put_member(work, member, value)
}

/// Answers as if an argument had no effect: as to a request without it, or else with another value of it.
pub(crate) fn ignore(argument: &str, work: &mut EffectContext<'_>) -> Result<(), String> {
    let here = AnswerSearch { work, parsed: &work.parsed, own: outcome(work.exchange, &work.parsed) };
    let exchanges = work.history.exchanges;
    let others = || nearest(work.at, exchanges.len()).map(|at| &exchanges[at]);
    let differing = || others().filter(|other| differ_only_in(argument, work.exchange.params(), other.params()));
    let without = differing().filter(|other| other.params()["arguments"].get(argument).is_none());
    let found = without.chain(differing()).find_map(|other| here.take(AnswerSource::Other, other));
    let (member, value) = found.map(|(member, value)| (member, value.clone())).ok_or_else(|| {
        format!("no call differs in `{argument}` alone and is answered otherwise, so nobody knows whether it counts")
    })?;
    answer::put_member(work, member, value)
}

/// Two requests have the same arguments except for one.
fn differ_only_in(argument: &str, one: &Value, other: &Value) -> bool {
    let none = serde_json::Map::new();
    let (one, other) = (one["arguments"].as_object().unwrap_or(&none), other["arguments"].as_object().unwrap_or(&none));
    let rest = |members: &serde_json::Map<String, Value>| members.len() - usize::from(members.contains_key(argument));
    one.get(argument) != other.get(argument)
        && rest(one) == rest(other)
        && one.iter().all(|(name, value)| name == argument || other.get(name) == Some(value))
}

/// Answers as if all were well: like a good call of the same tool, or with a result from nothing.
pub(crate) fn accept(work: &mut EffectContext<'_>) -> Result<(), String> {
    let result = find(AnswerSource::Served, work).map_or_else(|| answer::plain_result(work), |(_, result)| result);
    answer::put_member(work, "result", result)
}

/// Puts the content of another exchange in front of the content that came.
pub(crate) fn mix(source: AnswerSource, work: &mut EffectContext<'_>) -> Result<(), String> {
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

fn lack(source: AnswerSource) -> &'static str {
    match source {
        AnswerSource::Served => "no good call of the same kind was recorded",
        AnswerSource::Earlier => "the same was not answered otherwise before",
        AnswerSource::Other => "nothing was recorded of other arguments with another answer",
        AnswerSource::Neighbour => "the session has no other call with another answer",
        AnswerSource::Foreign => "no other session got another answer of this kind",
        AnswerSource::Elsewhere => "the same was not answered otherwise elsewhere",
        AnswerSource::Refused => "no refusal of this kind was recorded",
        AnswerSource::Undeleted => "the same was not asked between the deletion and the write before it",
    }
}

/// A result or an error that another exchange got, as the member of the response that holds it.
fn find(source: AnswerSource, work: &EffectContext<'_>) -> Option<AnswerMember<Value>> {
    let here = AnswerSearch { work, parsed: &work.parsed, own: outcome(work.exchange, &work.parsed) };
    let exchanges = work.history.exchanges;
    let found = match source {
        AnswerSource::Undeleted => here.take_undeleted(),
        // The first one stays the same, whatever was asked since.
        AnswerSource::Earlier => exchanges[..work.at].iter().find_map(|other| here.take(source, other)),
        AnswerSource::Served => exchanges.iter().find_map(|other| here.take(source, other)),
        // That something is not there says more than that the question was wrong.
        AnswerSource::Refused => {
            let refused = || exchanges.iter().filter(|other| here.take(source, other).is_some());
            let good = refused().find(|other| is_good_call(&ParsedMessage::of(other), work.history));
            good.or_else(|| refused().next()).and_then(|other| here.take(source, other))
        }
        AnswerSource::Other | AnswerSource::Neighbour | AnswerSource::Foreign | AnswerSource::Elsewhere => {
            nearest(work.at, exchanges.len()).find_map(|at| here.take(source, &exchanges[at]))
        }
    };
    found.map(|(member, value)| (member, value.clone()))
}

/// The member of the response that holds the answer.
type AnswerMember<T> = (&'static str, T);

/// Every index but the one in the middle, the nearest first.
fn nearest(at: usize, length: usize) -> impl Iterator<Item = usize> {
    (1..length.max(1)).flat_map(move |far| [at.checked_sub(far), Some(at + far)]).flatten().filter(move |i| *i < length)
}

struct AnswerSearch<'a> {
    work: &'a EffectContext<'a>,
    parsed: &'a ParsedMessage<'a>,
    own: Option<AnswerMember<&'a Value>>,
}

impl AnswerSearch<'_> {
    fn take<'o>(&self, source: AnswerSource, other: &'o MessageExchange) -> Option<AnswerMember<&'o Value>> {
        let this = self.work.exchange;
        if std::ptr::eq(this, other) || other.method() != self.parsed.method.as_deref() {
            return None;
        }
        let parsed = ParsedMessage::of(other);
        let is_same_session = this.owner == other.owner && this.session == other.session;
        let is_meant = match source {
            AnswerSource::Served | AnswerSource::Refused => is_same_kind(self.parsed, &parsed),
            AnswerSource::Earlier | AnswerSource::Undeleted => is_same_session && same_question(self.parsed, &parsed),
            AnswerSource::Other => is_same_kind(self.parsed, &parsed) && !same_question(self.parsed, &parsed),
            AnswerSource::Neighbour => is_same_session && !same_question(self.parsed, &parsed),
            AnswerSource::Foreign => !is_same_session && is_same_kind(self.parsed, &parsed),
            AnswerSource::Elsewhere => !is_same_session && same_question(self.parsed, &parsed),
        };
        if !is_meant {
            return None;
        }
        let found = outcome(other, &parsed)?;
        let is_refused = found.0 == "error" || found.1["isError"] == Value::Bool(true);
        let is_fit = match source {
            AnswerSource::Refused => is_refused,
            AnswerSource::Served => !is_refused && is_good_call(&parsed, self.work.history),
            AnswerSource::Earlier
            | AnswerSource::Other
            | AnswerSource::Neighbour
            | AnswerSource::Foreign
            | AnswerSource::Elsewhere
            | AnswerSource::Undeleted => !is_refused && self.own != Some(found),
        };
        is_fit.then_some(found)
    }
}

impl AnswerSearch<'_> {
    /// The answer as if the last deletion had changed nothing: that of the same request before it, or, if what was
    /// deleted is asked for and not there, that of a good call of the same tool.
    fn take_undeleted(&self) -> Option<AnswerMember<&Value>> {
        let (this, catalog) = (self.work.exchange, self.work.history.catalog);
        let before = || {
            let earlier = self.work.history.exchanges[..self.work.at].iter().rev();
            earlier.filter(|other| (&other.owner, other.session) == (&this.owner, this.session))
        };
        let has_written = |other: &&MessageExchange| {
            let tool = other.tool().and_then(|name| catalog.tool(name));
            tool.is_some_and(|tool| !tool.only_reads()) && !is_refused(other)
        };
        let deletion = before().find(has_written)?;
        if !schema_check::is_kind(catalog, deletion.tool()?, &[ToolKind::Deleting]) {
            return None;
        }
        let until = before().skip_while(|other| !std::ptr::eq(*other, deletion));
        // The deletion itself can be asked for again; behind it only reads leave everything as it was.
        let mut unchanged = until.enumerate().take_while(|(at, other)| *at == 0 || !has_written(other));
        let same = unchanged.find_map(|(_, other)| self.take(AnswerSource::Undeleted, other));
        let is_about_deleted = || {
            let deleted = deletion.params()["arguments"].as_object();
            let asked = this.params()["arguments"].as_object();
            let is_named = |value: &Value| deleted.is_some_and(|deleted| deleted.values().any(|one| one == value));
            asked.is_some_and(|asked| asked.values().any(|value| !value.is_null() && is_named(value)))
        };
        let is_gone = self.own.is_some_and(|(member, value)| member == "error" || value["isError"] == true);
        let served = || self.work.history.exchanges.iter().find_map(|other| self.take(AnswerSource::Served, other));
        same.or_else(|| if is_gone && is_about_deleted() { served() } else { None })
    }
}

/// The exchange got an error, or a result that reports a failure.
fn is_refused(exchange: &MessageExchange) -> bool {
    exchange.answer().is_none_or(|answer| answer.get("error").is_some() || answer["result"]["isError"] == true)
}

/// Two exchanges are about the same tool, prompt or list.
fn is_same_kind(one: &ParsedMessage<'_>, other: &ParsedMessage<'_>) -> bool {
    one.method == other.method && one.params["name"] == other.params["name"]
}

/// The tool's schema allows the call; without a schema every call is allowed.
fn is_good_call(parsed: &ParsedMessage<'_>, history: &ExchangeHistory<'_>) -> bool {
    let Some(tool) = parsed.tool().and_then(|name| history.catalog.tool(name)) else { return parsed.tool().is_none() };
    schema_check::is_valid_call(tool, &parsed.params["arguments"])
}

/// The result or the error that an exchange got.
fn outcome<'e>(exchange: &'e MessageExchange, parsed: &ParsedMessage<'_>) -> Option<AnswerMember<&'e Value>> {
    let message = exchange.replies[parsed.answer(&exchange.replies)?].message()?;
    ["result", "error"].into_iter().find_map(|member| Some((member, message.get(member)?)))
}
