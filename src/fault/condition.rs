//! Which exchanges a fault strikes.

use serde_json::{Map, Value};

use super::draw::{FaultDrawKey, draw};
use super::exchange::{ExchangeHistory, MessageExchange, ReplyContent};
use super::message_path::MessagePath;
use super::parsed_message::{MessageForm, ParsedMessage};
use super::path_condition::{PathConditions, fits};
use super::schema_check;
use super::words::{AnswerCondition, ArgumentFit, Carrier, ExchangeOwner, Occurrence, SearchScope, SentAs, ToolKind};
use crate::wire::{Catalog, Tool};

/// The conditions on an exchange; keys that are left out match everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Match {
    /// The methods, with `*` for any letters; empty for whatever was sent.
    pub(super) methods: Vec<String>,
    pub(super) sent: Vec<SentAs>,
    pub(super) by: Option<ExchangeOwner>,
    pub(super) over: Option<Carrier>,
    pub(super) answered: Vec<AnswerCondition>,
    /// In the answer, or in notifications beside it.
    pub(super) answer: PathConditions,
    pub(super) params: PathConditions,
    pub(super) arguments: Vec<ArgumentFit>,
    pub(super) tool: Vec<ToolKind>,
    /// In the entry of the tool.
    pub(super) declares: PathConditions,
    /// Whether the capability that the method belongs to is declared.
    pub(super) declared: Option<bool>,
    pub(super) status: Vec<u16>,
    pub(super) headers: Vec<String>,
    pub(super) no_headers: Vec<String>,
    pub(super) occurrence: Option<Occurrence>,
    pub(super) after: Option<Box<RelatedExchange>>,
    pub(super) unless_after: Option<Box<RelatedExchange>>,
    pub(super) before: Option<Box<RelatedExchange>>,
    pub(super) chance: Option<Chance>,
}

/// Another exchange that must have been, or must follow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RelatedExchange {
    pub(super) within: SearchScope,
    pub(super) is: Match,
}

/// How large a share of what matches is struck, and what the draws depend on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chance {
    pub(super) share: f64,
    pub(super) fault: String,
    pub(super) server: String,
    pub(super) seed: u64,
}

impl Match {
    /// Whether the exchange at that index is one of those that are meant.
    pub fn holds(&self, at: usize, history: &ExchangeHistory<'_>) -> bool {
        let Some(exchange) = history.exchanges.get(at) else { return false };
        if !self.is_owner(exchange) || !self.is_occurrence(exchange) {
            return false;
        }
        let parsed = ParsedMessage::of(exchange);
        // The cheap conditions first: most exchanges are told apart by their method.
        self.is_asked(&parsed)
            && self.is_answered(&parsed, exchange)
            && self.is_declared(&parsed, history)
            && self.is_tool(&parsed, history)
            && self.is_among_others(at, history)
            && self.is_drawn(&parsed, exchange)
    }

    fn is_owner(&self, exchange: &MessageExchange) -> bool {
        match self.by {
            Some(ExchangeOwner::Cases) => !exchange.owner.is_empty(),
            Some(ExchangeOwner::Discovery) => exchange.owner.is_empty(),
            Some(ExchangeOwner::Any) | None => true,
        }
    }

    fn is_occurrence(&self, exchange: &MessageExchange) -> bool {
        match self.occurrence {
            Some(Occurrence::First) => exchange.occurrence == 0,
            Some(Occurrence::Later) => exchange.occurrence > 0,
            None => true,
        }
    }

    fn is_asked(&self, parsed: &ParsedMessage<'_>) -> bool {
        let is_named = self.methods.is_empty()
            || parsed.method.as_deref().is_some_and(|method| self.methods.iter().any(|known| fits(known, method)));
        let is_sent = self.sent.is_empty()
            || self.sent.iter().any(|sent| match sent {
                SentAs::Request => parsed.form == MessageForm::Request,
                SentAs::Notification => parsed.form == MessageForm::Notification,
                SentAs::Broken => parsed.form == MessageForm::Broken,
                SentAs::Unparsable => parsed.form == MessageForm::Unparsable,
                SentAs::Raw => parsed.is_raw,
            });
        is_named
            && is_sent
            && self.params.hold(&parsed.params)
            && (self.headers.is_empty() || self.headers.iter().any(|name| parsed.headers.contains(name)))
            && !self.no_headers.iter().any(|name| parsed.headers.contains(name))
    }

    fn is_answered(&self, parsed: &ParsedMessage<'_>, exchange: &MessageExchange) -> bool {
        let status = exchange.replies.iter().find_map(|reply| reply.http.as_ref()).map(|http| http.status);
        let is_carried = match self.over {
            Some(Carrier::Http) => status.is_some(),
            Some(Carrier::Stream) => status.is_none(),
            None => true,
        };
        if !is_carried || !self.status.is_empty() && !status.is_some_and(|status| self.status.contains(&status)) {
            return false;
        }
        if self.answered.is_empty() && self.answer.is_empty() {
            return true;
        }
        let answer = parsed.answer(&exchange.replies).map(|at| &exchange.replies[at].content);
        let answer = if let Some(ReplyContent::Message(message)) = answer { Some(message) } else { None };
        let says_no = answer.is_none() && status.is_some_and(|status| status >= 400);
        let is_answered = |answered: &AnswerCondition| match (answered, answer) {
            (AnswerCondition::Nothing, answer) => answer.is_none() && !says_no,
            (AnswerCondition::Error | AnswerCondition::Refused, None) => says_no,
            (_, None) => false,
            (AnswerCondition::Result, Some(answer)) => answer.get("result").is_some(),
            (AnswerCondition::Error, Some(answer)) => answer.get("error").is_some(),
            (AnswerCondition::Failed, Some(answer)) => has_failed(answer),
            (AnswerCondition::Refused, Some(answer)) => answer.get("error").is_some() || has_failed(answer),
            (AnswerCondition::Served, Some(answer)) => is_served(answer),
        };
        // Notifications come beside the answer, and are looked for in all of what came.
        let anywhere = |place: &MessagePath, value: &mut dyn FnMut(&Value) -> bool| {
            let mut messages = exchange.replies.iter().filter_map(|reply| {
                let ReplyContent::Message(message) = &reply.content else { return None };
                message.get("method").is_some().then_some(message)
            });
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

    fn is_among_others(&self, at: usize, history: &ExchangeHistory<'_>) -> bool {
        let earlier = |other: &RelatedExchange| (0..at).rev().any(|index| other.holds(index, at, history));
        self.after.as_deref().is_none_or(earlier)
            && !self.unless_after.as_deref().is_some_and(earlier)
            && self
                .before
                .as_deref()
                .is_none_or(|other| (at + 1..history.exchanges.len()).any(|index| other.holds(index, at, history)))
    }

    fn is_drawn(&self, parsed: &ParsedMessage<'_>, exchange: &MessageExchange) -> bool {
        let Some(chance) = &self.chance else { return true };
        let key = FaultDrawKey {
            fault: &chance.fault,
            server: &chance.server,
            method: parsed.method.as_deref().unwrap_or_default(),
            tool: parsed.tool().unwrap_or_default(),
            arguments: &parsed.params,
            occurrence: exchange.occurrence,
        };
        draw(chance.seed, &key) < chance.share
    }
}

/// The offers of a server whose use a condition is about, beside what belongs to a whole session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MatchedSubjects {
    /// Calls of listed tools.
    pub tools: bool,
    /// Requests for prompts.
    pub prompts: bool,
    /// Readings of resources.
    pub resources: bool,
}

impl Match {
    /// The offers of which each has the fault by itself. Raw bytes, headers and statuses belong to a session, whatever
    /// they ask for.
    pub fn subjects(&self) -> MatchedSubjects {
        let is_raw = |sent: &SentAs| matches!(sent, SentAs::Raw | SentAs::Broken | SentAs::Unparsable);
        if self.sent.iter().any(is_raw)
            || !(self.headers.is_empty() && self.no_headers.is_empty() && self.status.is_empty())
        {
            return MatchedSubjects::default();
        }
        let has = |method: &str| self.methods.iter().any(|known| known == method);
        MatchedSubjects {
            tools: has("tools/call") && !self.tool.contains(&ToolKind::Unknown),
            prompts: has("prompts/get"),
            resources: has("resources/read"),
        }
    }

    /// Whether a call of a tool can match, as far as the tool's declaration tells.
    pub fn can_match(&self, tool: &Tool, catalog: &Catalog) -> bool {
        let takes_refusal = !self.answered.is_empty()
            && self.answered.iter().all(|answered| {
                matches!(answered, AnswerCondition::Refused | AnswerCondition::Failed | AnswerCondition::Error)
            });
        (self.tool.is_empty() || schema_check::is_kind(catalog, &tool.name, &self.tool))
            && (self.declares.is_empty() || self.declares.hold(&tool.raw))
            && (self.arguments.is_empty() || self.arguments.iter().any(|fit| schema_check::can_be(tool, *fit)))
            && (!takes_refusal || !self.arguments.is_empty() || schema_check::can_be(tool, ArgumentFit::Invalid))
    }

    /// Whether the condition asks for no values of the answer and for no other exchange.
    pub(super) fn is_certain(&self) -> bool {
        self.answer.is_empty()
            && self.after.is_none()
            && self.unless_after.is_none()
            && self.before.is_none()
            && self.chance.is_none()
            && self.occurrence.is_none()
    }
}

impl RelatedExchange {
    fn holds(&self, index: usize, at: usize, history: &ExchangeHistory<'_>) -> bool {
        let (other, this) = (&history.exchanges[index], &history.exchanges[at]);
        let is_near = match self.within {
            SearchScope::Session => other.owner == this.owner && other.session == this.session,
            SearchScope::Case => other.owner == this.owner,
            SearchScope::Run => true,
        };
        is_near && self.is.holds(index, history)
    }
}

/// Whether an answer is a result that reports a failure.
fn has_failed(answer: &Value) -> bool {
    answer["result"]["isError"] == Value::Bool(true)
}

/// Whether an answer is a result that reports no failure.
fn is_served(answer: &Value) -> bool {
    answer.get("result").is_some() && answer.get("error").is_none() && !has_failed(answer)
}

/// Whether two exchanges ask the same.
pub(super) fn same_question(one: &ParsedMessage<'_>, other: &ParsedMessage<'_>) -> bool {
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
