//! Which exchanges a fault strikes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::slice;

use serde_json::{Map, Value};

use super::draw::{FaultDrawKey, burst_chance, draw};
use super::exchange::{ExchangeHistory, MessageExchange, ServerReply};
use super::paging;
use super::parsed_message::{MessageKind, ParsedMessage};
use super::path_condition::{NamedCondition, PathConditions, fits};
use super::schema_check;
use super::words::{
    AnswerCondition, ArgumentFit, BurstUnit, ExchangeOwner, FaultTransport, KindCondition, Occurrence, PageRequest,
    SearchScope, ToolKind,
};
use crate::path::DottedPath;
use crate::source::{FNV, fnv};
use crate::transport::Owner;
use crate::wire::{Catalog, Tool};

/// The conditions on an exchange; keys that are left out match everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Match {
    pub(crate) message: MessageCondition,
    pub(crate) unless: Option<MessageCondition>,
    /// The methods of messages that the server sends by itself: the fault is about them, and not about the answer.
    pub(crate) sends: Vec<String>,
    pub(crate) by: Option<ExchangeOwner>,
    pub(crate) answered: Vec<AnswerCondition>,
    /// In the answer, or in notifications beside it.
    pub(crate) answer: PathConditions,
    pub(crate) status: Vec<u16>,
    pub(crate) arguments: Vec<ArgumentFit>,
    pub(crate) asks: Vec<PageRequest>,
    pub(crate) tool: Vec<ToolKind>,
    /// In the entry of the tool.
    pub(crate) declares: PathConditions,
    /// The capability of the method is declared.
    pub(crate) declared: Option<bool>,
    pub(crate) occurrence: Option<Occurrence>,
    pub(crate) after: Option<Box<RelatedExchange>>,
    pub(crate) unless_after: Option<Box<RelatedExchange>>,
    pub(crate) before: Option<Box<RelatedExchange>>,
    pub(crate) chance: Option<Chance>,
    pub(crate) turn: MatchTurn,
}

/// The conditions on a message of the client.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MessageCondition {
    /// The methods, with `*` for any letters; empty for whatever was sent.
    pub(crate) methods: Vec<String>,
    /// The names of called tools, likewise.
    pub(crate) tools: Vec<String>,
    pub(crate) kinds: Vec<KindCondition>,
    pub(crate) over: Option<FaultTransport>,
    pub(crate) fields: PathConditions,
    pub(crate) verbs: Vec<String>,
    pub(crate) path: Option<String>,
    pub(crate) headers: Vec<NamedCondition>,
    pub(crate) no_headers: Vec<String>,
    pub(crate) query: Vec<NamedCondition>,
}

/// Which of those that match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MatchTurn {
    pub(crate) nth: Option<u64>,
    pub(crate) from: Option<u64>,
    pub(crate) of_server: bool,
}

/// Another exchange that must have been, or must follow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RelatedExchange {
    pub(crate) within: SearchScope,
    pub(crate) is: Match,
    /// The paths at which both messages of the client have the same value.
    pub(crate) same: Vec<DottedPath>,
}

/// The share of matching exchanges that is struck, and the key of the draws.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chance {
    pub(crate) share: f64,
    /// The average number that is struck in a row; `None` if each is drawn by itself.
    pub(crate) burst: Option<f64>,
    pub(crate) burst_of: BurstUnit,
    pub(crate) fault: String,
    pub(crate) server: String,
    pub(crate) seed: u64,
}

impl MessageCondition {
    pub(crate) fn holds(&self, parsed: &ParsedMessage<'_>, carrier: FaultTransport) -> bool {
        let kind_fits = if self.kinds.is_empty() {
            !matches!(parsed.kind, MessageKind::Start | MessageKind::End)
        } else {
            self.kinds.iter().any(|kind| kind.is(parsed))
        };
        let is_named = || {
            let is = |method: &str| self.methods.iter().any(|known| fits(known, method));
            self.methods.is_empty() || parsed.method.as_deref().is_some_and(is)
        };
        let is_tool = || {
            let is = |tool: &str| self.tools.iter().any(|known| fits(known, tool));
            self.tools.is_empty() || parsed.tool().is_some_and(is)
        };
        // The cheap conditions first: the method alone rules most messages out.
        is_named()
            && is_tool()
            && kind_fits
            && self.over.is_none_or(|over| carrier == over)
            && self.head_fits(parsed)
            && self.fields.hold_of(parsed)
    }

    fn head_fits(&self, parsed: &ParsedMessage<'_>) -> bool {
        let Some(head) = &parsed.head else {
            return self.verbs.is_empty()
                && self.path.is_none()
                && self.headers.is_empty()
                && self.no_headers.is_empty()
                && self.query.is_empty();
        };
        (self.verbs.is_empty() || self.verbs.contains(&head.verb))
            && self.path.as_ref().is_none_or(|path| fits(path, &head.path))
            && self.headers.iter().all(|header| header.holds(&head.headers))
            && !self.no_headers.iter().any(|name| head.headers.contains_key(name))
            && self.query.iter().all(|parameter| parameter.holds(&head.query))
    }

    /// It can be decided without a message.
    pub(crate) fn is_about_transport_alone(&self) -> bool {
        self.methods.is_empty()
            && self.tools.is_empty()
            && self.kinds.is_empty()
            && self.fields.is_empty()
            && self.verbs.is_empty()
            && self.headers.is_empty()
            && self.over != Some(FaultTransport::Http)
    }

    /// It is about bytes or their carrier, rather than about messages.
    fn is_raw(&self) -> bool {
        let is_raw = |kind: &KindCondition| {
            !matches!(kind, KindCondition::Request | KindCondition::Notification | KindCondition::Response)
        };
        self.kinds.iter().any(is_raw) || !(self.headers.is_empty() && self.no_headers.is_empty())
    }
}

impl MatchTurn {
    pub(crate) fn comes(self, number: u64) -> bool {
        self.nth.is_none_or(|nth| nth == number) && self.from.is_none_or(|from| from <= number)
    }

    fn is_any(self) -> bool {
        self.nth.is_none() && self.from.is_none()
    }
}

impl Match {
    /// Matches the exchange at that index, and if only some of those that match are struck, it is one of them.
    pub fn holds(&self, at: usize, history: &ExchangeHistory<'_>) -> bool {
        if !self.matches(at, history) {
            return false;
        }
        if self.turn.is_any() && self.burst().is_none() {
            return true;
        }
        let this = &history.exchanges[at];
        let is_counted = |other: &MessageExchange| {
            self.counts_whole_server() || (other.owner == this.owner && other.session == this.session)
        };
        let mut counter = MatchCounter::default();
        for (index, _) in history.exchanges[..at].iter().enumerate().filter(|(_, other)| is_counted(other)) {
            if self.matches(index, history) {
                counter.count(self, task_of(&history.exchanges[index]));
            }
        }
        counter.count(self, task_of(this)).is_some()
    }

    fn matches(&self, at: usize, history: &ExchangeHistory<'_>) -> bool {
        let Some(exchange) = history.exchanges.get(at) else { return false };
        if !self.is_of(exchange) {
            return false;
        }
        let parsed = ParsedMessage::of(exchange);
        let carrier =
            if status_of(&exchange.replies).is_some() { FaultTransport::Http } else { FaultTransport::Stream };
        self.is_asked(&parsed, carrier)
            && self.is_met_by(&exchange.replies, parsed.answer(&exchange.replies))
            && self.fits_context(&parsed, at, history, exchange.occurrence)
    }

    /// Judges the offer of the server, the exchanges beside this one and the draw; `occurrence` is how often the same
    /// was asked before.
    pub(crate) fn fits_context(
        &self,
        parsed: &ParsedMessage<'_>,
        at: usize,
        history: &ExchangeHistory<'_>,
        occurrence: u32,
    ) -> bool {
        self.is_declared(parsed, history)
            && self.is_tool(parsed, history)
            && self.is_among_others(at, history)
            && self.is_drawn(parsed, occurrence)
    }

    /// The counts of `nth`, `from` and bursts are those of the server instead of one session.
    pub(crate) fn counts_whole_server(&self) -> bool {
        self.turn.of_server || self.burst().is_some()
    }

    /// Matches the owner, and the first or a later one of equal requests.
    pub(crate) fn is_of(&self, exchange: &MessageExchange) -> bool {
        let is_owner = match self.by {
            Some(ExchangeOwner::Cases) => exchange.owner != Owner::Session,
            Some(ExchangeOwner::Discovery) => exchange.owner == Owner::Session,
            Some(ExchangeOwner::Any) | None => true,
        };
        is_owner && self.occurrence.is_none_or(|wanted| (wanted == Occurrence::First) == (exchange.occurrence == 0))
    }

    /// It depends on the number of equal requests.
    pub(crate) fn counts_the_same(&self) -> bool {
        self.chance.is_some() || self.occurrence.is_some()
    }

    /// It depends on earlier exchanges.
    pub(crate) fn looks_back(&self) -> bool {
        self.after.is_some() || self.unless_after.is_some()
    }

    fn is_met_by(&self, replies: &[ServerReply], answer: Option<usize>) -> bool {
        if self.sends.is_empty() {
            self.is_answered(replies, answer)
        } else {
            replies.iter().any(|reply| self.means(reply))
        }
    }

    /// Matches a message that the server sent by itself.
    pub(crate) fn means(&self, reply: &ServerReply) -> bool {
        let Some(message) = reply.sent_message() else { return false };
        message["method"].as_str().is_some_and(|method| self.is_about_sent(method))
            && self.is_answered(slice::from_ref(reply), Some(0))
    }

    /// Matches a message of the client; the answer does not count.
    pub(crate) fn is_asked(&self, parsed: &ParsedMessage<'_>, carrier: FaultTransport) -> bool {
        self.message.holds(parsed, carrier) && !self.unless.as_ref().is_some_and(|unless| unless.holds(parsed, carrier))
    }

    /// Matches a message with that method, which the server sends during a request, if that is known.
    pub(crate) fn is_sent(&self, method: &str, during: Option<&(ParsedMessage<'_>, FaultTransport)>) -> bool {
        self.is_about_sent(method)
            && match during {
                Some((parsed, carrier)) => self.is_asked(parsed, *carrier),
                None => self.message.is_about_transport_alone() && self.unless.is_none(),
            }
    }

    fn is_about_sent(&self, method: &str) -> bool {
        self.sends.iter().any(|pattern| fits(pattern, method))
    }

    pub(crate) fn depends_on_answer(&self) -> bool {
        !(self.answered.is_empty() && self.answer.is_empty() && self.status.is_empty())
    }

    /// It depends on nothing of the answer but its status.
    pub(crate) fn depends_on_status_alone(&self) -> bool {
        self.answered.is_empty() && self.answer.is_empty() && self.turn.is_any()
    }

    /// Matches the replies; `answer` is the index of the response.
    pub(crate) fn is_answered(&self, replies: &[ServerReply], answer: Option<usize>) -> bool {
        let status = status_of(replies);
        if !self.status.is_empty() && !status.is_some_and(|status| self.status.contains(&status)) {
            return false;
        }
        if self.answered.is_empty() && self.answer.is_empty() {
            return true;
        }
        let answer = answer.and_then(|at| replies[at].message());
        let says_no = answer.is_none() && status.is_some_and(|status| status >= 400);
        let is_answered = |answered: &AnswerCondition| match (answered, answer) {
            (AnswerCondition::Nothing, answer) => answer.is_none() && !says_no,
            (AnswerCondition::Error | AnswerCondition::Refused, None) => says_no,
            (_, None) => false,
            (AnswerCondition::Result, Some(answer)) => answer.get("result").is_some(),
            (AnswerCondition::Error, Some(answer)) => answer.get("error").is_some(),
            (AnswerCondition::Failed, Some(answer)) => has_failed(answer),
            (AnswerCondition::Refused, Some(answer)) => answer.get("error").is_some() || has_failed(answer),
            (AnswerCondition::Served, Some(answer)) => is_success(answer),
        };
        // Notifications come beside the answer, and are looked for in all of what came.
        let anywhere = |place: &DottedPath, value: &mut dyn FnMut(&Value) -> bool| {
            let mut messages = replies.iter().filter_map(ServerReply::sent_message);
            if place.is_of_notification() {
                return messages.any(|message| place.any(message, value));
            }
            answer.is_some_and(|answer| place.any(answer, value))
        };
        (self.answered.is_empty() || self.answered.iter().any(is_answered))
            && self.answer.with.iter().all(|wanted| anywhere(&wanted.place, &mut |found| wanted.is_wanted(found)))
            && !self.answer.without.iter().any(|place| anywhere(place, &mut |_| true))
    }

    fn is_declared(&self, parsed: &ParsedMessage<'_>, history: &ExchangeHistory<'_>) -> bool {
        self.declared.is_none_or(|declared| {
            let capability = parsed.method.as_deref().and_then(capability);
            capability.is_some_and(|name| history.capabilities.get(name).is_some() == declared)
        })
    }

    fn is_tool(&self, parsed: &ParsedMessage<'_>, history: &ExchangeHistory<'_>) -> bool {
        let asks = |wanted: &PageRequest| paging::asks(&parsed.params["arguments"], *wanted);
        if !self.asks.is_empty() && !self.asks.iter().any(asks) {
            return false;
        }
        if self.tool.is_empty() && self.declares.is_empty() && self.arguments.is_empty() {
            return true;
        }
        let Some(name) = parsed.tool() else { return false };
        let tool = history.catalog.tool(name);
        (self.tool.is_empty() || schema_check::is_kind(history.catalog, name, &self.tool))
            && (self.declares.is_empty() || tool.is_some_and(|tool| self.declares.hold(&tool.raw)))
            && (self.arguments.is_empty()
                || tool.is_some_and(|tool| {
                    schema_check::arguments_match(tool, &parsed.params["arguments"], &self.arguments)
                }))
    }

    /// The share of those that are struck together; `None` if each is drawn by itself.
    pub(crate) fn burst(&self) -> Option<(&Chance, f64)> {
        let chance = self.chance.as_ref()?;
        chance.burst.map(|length| (chance, length))
    }

    fn is_among_others(&self, at: usize, history: &ExchangeHistory<'_>) -> bool {
        let earlier = |other: &RelatedExchange| (0..at).rev().any(|index| other.holds(index, at, history));
        self.after.as_deref().is_none_or(earlier)
            && !self.unless_after.as_deref().is_some_and(earlier)
            && self
                .before
                .as_deref()
                .is_none_or(|other| (at + 1..history.exchanges.len()).any(|index| other.holds(index, at, history)))
    }

    /// The draw hits; `occurrence` is the number of equal requests before.
    pub(crate) fn is_drawn(&self, parsed: &ParsedMessage<'_>, occurrence: u32) -> bool {
        let Some(chance) = self.chance.as_ref().filter(|chance| chance.burst.is_none()) else { return true };
        let key = FaultDrawKey {
            fault: &chance.fault,
            server: &chance.server,
            method: parsed.method.as_deref().unwrap_or_default(),
            tool: parsed.tool().unwrap_or_default(),
            arguments: &parsed.params,
            occurrence,
        };
        draw(chance.seed, &key) < chance.share
    }
}

/// The offers of a server whose use a condition is about, beside what belongs to a whole session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a kind of request")]
pub struct MatchedSubjects {
    /// Calls of listed tools.
    pub tools: bool,
    /// Requests for prompts.
    pub prompts: bool,
    /// Readings of resources.
    pub resources: bool,
    /// Requests about tasks.
    pub tasks: bool,
}

impl Match {
    /// The offers of which each has the fault by itself. Raw bytes, headers and statuses belong to a session, whatever
    /// they ask for.
    pub fn subjects(&self) -> MatchedSubjects {
        if self.message.is_raw() || !self.status.is_empty() {
            return MatchedSubjects::default();
        }
        let has = |method: &str| self.message.methods.iter().any(|known| known == method);
        MatchedSubjects {
            tools: has("tools/call") && !self.tool.contains(&ToolKind::Unknown),
            prompts: has("prompts/get"),
            resources: has("resources/read"),
            tasks: self.message.methods.iter().any(|known| known.starts_with("tasks/")),
        }
    }

    /// It matches nothing that was served.
    pub(crate) fn is_about_refusals(&self) -> bool {
        let is_refusal = |answered: &AnswerCondition| {
            matches!(answered, AnswerCondition::Refused | AnswerCondition::Failed | AnswerCondition::Error)
        };
        !self.answered.is_empty() && self.answered.iter().all(is_refusal)
    }

    /// It says how the arguments of a call fit the schema of the tool.
    pub(crate) fn is_about_arguments(&self) -> bool {
        !self.arguments.is_empty()
    }

    /// The message may match, as far as its method and its tool tell.
    pub(crate) fn may_match(&self, method: Option<&str>, tool: Option<&str>) -> bool {
        let is = |names: &[String], name: Option<&str>| {
            names.is_empty() || name.is_some_and(|name| names.iter().any(|known| fits(known, name)))
        };
        is(&self.message.methods, method) && is(&self.message.tools, tool)
    }

    /// A call of the tool can match, as far as the tool's declaration tells.
    pub fn can_match(&self, tool: &Tool, catalog: &Catalog) -> bool {
        (self.tool.is_empty() || schema_check::is_kind(catalog, &tool.name, &self.tool))
            && (self.declares.is_empty() || self.declares.hold(&tool.raw))
            && (self.arguments.is_empty() || self.arguments.iter().any(|fit| schema_check::can_be(tool, *fit)))
            && (self.asks.is_empty() || self.asks.iter().any(|wanted| paging::can_ask(tool, *wanted)))
            && (!self.is_about_refusals()
                || !self.arguments.is_empty()
                || schema_check::can_be(tool, ArgumentFit::Invalid))
    }

    /// The condition needs no values of the answer and no other exchange.
    pub(crate) fn is_certain(&self) -> bool {
        self.answer.is_empty()
            && self.after.is_none()
            && self.unless_after.is_none()
            && self.before.is_none()
            && self.chance.is_none()
            && self.occurrence.is_none()
            && self.turn.is_any()
    }
}

/// The most tasks of which is known whether a burst strikes them.
const MOST_TASKS: usize = 10_000;

/// Counts the exchanges that match, and follows the bursts.
#[derive(Debug, Clone, Default)]
pub(crate) struct MatchCounter {
    count: u64,
    /// The number of exchanges or tasks that a burst could begin or end with.
    steps: u64,
    /// Tells if the last one was within a burst.
    burst: Option<bool>,
    /// By a hash of the name of a task, whether it is within a burst.
    tasks: BTreeMap<u64, bool>,
}

impl MatchCounter {
    /// Counts one more, of a task if it names one; returns its number if it is struck.
    pub(crate) fn count(&mut self, on: &Match, task: Option<&str>) -> Option<u64> {
        self.count += 1;
        let is_turn = on.turn.comes(self.count);
        let Some((chance, length)) = on.burst() else { return is_turn.then_some(self.count) };
        let task = task.filter(|_| chance.burst_of == BurstUnit::Tasks).map(|task| fnv(FNV, task.as_bytes()));
        let known = task.and_then(|task| self.tasks.get(&task).copied());
        let is_in = known.unwrap_or_else(|| self.step(chance, length));
        if let Some(task) = task {
            // A task that goes on after so many others may have another fate.
            if self.tasks.len() >= MOST_TASKS {
                self.tasks.clear();
            }
            self.tasks.insert(task, is_in);
        }
        (is_turn && is_in).then_some(self.count)
    }

    fn step(&mut self, chance: &Chance, length: f64) -> bool {
        self.steps += 1;
        let is_in = chance.next_of_burst(length, self.burst, self.steps);
        self.burst = Some(is_in);
        is_in
    }
}

/// The member of `_meta` with which a client names the task of a call.
const TASK_MEMBER: &str = "/_meta/mcprove~1task";

/// The task that a client names in its request.
pub(crate) fn task_of(exchange: &MessageExchange) -> Option<&str> {
    exchange.params().pointer(TASK_MEMBER)?.as_str()
}

impl RelatedExchange {
    fn holds(&self, index: usize, at: usize, history: &ExchangeHistory<'_>) -> bool {
        let (other, this) = (&history.exchanges[index], &history.exchanges[at]);
        let is_near = match self.within {
            SearchScope::Session => other.owner == this.owner && other.session == this.session,
            SearchScope::OtherSession => other.owner == this.owner && other.session != this.session,
            SearchScope::Case => other.owner == this.owner,
            SearchScope::Run => true,
        };
        is_near && self.is_about_the_same(other, this) && self.is.holds(index, history)
    }

    fn is_about_the_same(&self, other: &MessageExchange, this: &MessageExchange) -> bool {
        let value = |path: &DottedPath, exchange: &MessageExchange| {
            let mut found = None;
            path.any_of(|name| (name == "params").then(|| Cow::Borrowed(exchange.params())), &mut |value| {
                found = Some(value.clone());
                true
            });
            found
        };
        self.same.iter().all(|path| value(path, this).is_some_and(|own| value(path, other) == Some(own)))
    }
}

impl Chance {
    /// The next one is within a burst that is `length` long on average; `before` tells it of the one before.
    pub(crate) fn next_of_burst(&self, length: f64, before: Option<bool>, number: u64) -> bool {
        let key = FaultDrawKey {
            fault: &self.fault,
            server: &self.server,
            method: "burst",
            tool: "",
            arguments: &Value::Null,
            occurrence: u32::try_from(number).unwrap_or(u32::MAX),
        };
        draw(self.seed, &key) < burst_chance(self.share, length, before)
    }
}

/// The status of the response, over HTTP.
fn status_of(replies: &[ServerReply]) -> Option<u16> {
    replies.iter().find_map(|reply| reply.http.as_ref()).map(|http| http.status)
}

/// A result that reports a failure.
fn has_failed(answer: &Value) -> bool {
    answer["result"]["isError"] == Value::Bool(true)
}

/// A result that reports no failure in the words of the protocol.
fn is_success(answer: &Value) -> bool {
    answer.get("result").is_some() && answer.get("error").is_none() && !has_failed(answer)
}

/// The requests are equal, except for `_meta`.
pub(crate) fn same_question(one: &ParsedMessage<'_>, other: &ParsedMessage<'_>) -> bool {
    let (Value::Object(this), Value::Object(that)) = (&*one.params, &*other.params) else {
        return one.method == other.method && one.params == other.params;
    };
    // The content of `_meta` differs from one request to the next.
    let count = |params: &Map<String, Value>| params.len() - usize::from(params.contains_key("_meta"));
    one.method == other.method
        && count(this) == count(that)
        && this.iter().all(|(name, value)| name == "_meta" || that.get(name) == Some(value))
}

/// The capability that a method belongs to.
fn capability(method: &str) -> Option<&'static str> {
    let (prefix, _) = method.split_once('/')?;
    match prefix {
        "tools" => Some("tools"),
        "resources" => Some("resources"),
        "prompts" => Some("prompts"),
        "completion" => Some("completions"),
        "logging" => Some("logging"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_counted() {
        let turn = |nth, from| MatchTurn { nth, from, of_server: false };
        for (turn, expected) in [
            (turn(None, None), vec![1, 2, 3, 4]),
            (turn(Some(2), None), vec![2]),
            (turn(None, Some(3)), vec![3, 4]),
            (turn(Some(5), None), vec![]),
        ] {
            let on = Match { turn, ..Match::default() };
            let mut counter = MatchCounter::default();
            let struck: Vec<u64> = (0..4).filter_map(|_| counter.count(&on, None)).collect();
            assert_eq!(struck, expected, "{turn:?}");
        }
    }

    #[test]
    fn a_burst_of_everything_has_no_end() {
        let chance = chance(1.0, BurstUnit::Calls);
        let on = Match { chance: Some(chance), ..Match::default() };
        let mut counter = MatchCounter::default();
        assert!((1..100).all(|number| counter.count(&on, None) == Some(number)));
        assert!(on.counts_whole_server());
    }

    fn chance(share: f64, burst_of: BurstUnit) -> Chance {
        let (fault, server) = (String::new(), String::new());
        Chance { share, burst: Some(4.0), burst_of, fault, server, seed: 0 }
    }

    /// Ten calls of each task, those of two tasks by turns.
    #[test]
    fn a_burst_of_tasks_strikes_all_calls_of_a_task_or_none() {
        let struck = |burst_of, is_named: bool| {
            let on = Match { chance: Some(chance(0.5, burst_of)), ..Match::default() };
            let mut counter = MatchCounter::default();
            let calls = (0..400).map(|number| (number / 20) * 2 + number % 2);
            let mut by_task: BTreeMap<u32, u32> = BTreeMap::new();
            for task in calls {
                let name = task.to_string();
                let is_struck = counter.count(&on, is_named.then_some(name.as_str())).is_some();
                *by_task.entry(task).or_default() += u32::from(is_struck);
            }
            by_task.into_values().collect::<Vec<u32>>()
        };
        let of_tasks = struck(BurstUnit::Tasks, true);
        assert!(of_tasks.iter().all(|calls| [0, 10].contains(calls)), "{of_tasks:?}");
        assert!(of_tasks.contains(&0) && of_tasks.contains(&10), "{of_tasks:?}");
        let of_calls = struck(BurstUnit::Calls, true);
        assert!(of_calls.iter().any(|calls| ![0, 10].contains(calls)), "{of_calls:?}");
        assert_eq!(struck(BurstUnit::Tasks, false), of_calls, "a call without a task counts by itself");
    }
}
