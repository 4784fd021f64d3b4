//! Which exchanges a fault strikes.

use serde_json::{Map, Value};

use super::ask::{Ask, Form};
use super::draw::{DrawKey, draw};
use super::exchange::{Exchange, Known, What};
use super::judge;
use super::place::Place;
use super::words::{Answered, Arguments, Carrier, Occurrence, Owner, Sent, ToolKind, Within};

/// What must be true of an exchange; what is not said does not matter.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// The methods, with `*` for any letters; empty for whatever was sent.
    pub(super) methods: Vec<String>,
    pub(super) sent: Vec<Sent>,
    pub(super) by: Owner,
    pub(super) over: Option<Carrier>,
    pub(super) answered: Vec<Answered>,
    pub(super) has: Vec<Wanted>,
    pub(super) lacks: Vec<Place>,
    pub(super) with: Vec<Wanted>,
    pub(super) without: Vec<Place>,
    pub(super) arguments: Vec<Arguments>,
    pub(super) tool: Vec<ToolKind>,
    pub(super) declares: Vec<Wanted>,
    /// Whether the capability that the method belongs to is declared.
    pub(super) declared: Option<bool>,
    pub(super) status: Vec<u16>,
    pub(super) headers: Vec<String>,
    pub(super) no_headers: Vec<String>,
    pub(super) occurrence: Option<Occurrence>,
    pub(super) after: Option<Box<Elsewhere>>,
    pub(super) unless_after: Option<Box<Elsewhere>>,
    pub(super) before: Option<Box<Elsewhere>>,
    pub(super) chance: Option<Chance>,
}

/// Something at a path, with that value where one is given.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub(super) place: Place,
    pub(super) value: Option<Value>,
}

/// Another exchange that must have been, or must follow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Elsewhere {
    pub(super) within: Within,
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
    /// One that every exchange satisfies.
    pub(super) const fn anything() -> Self {
        Self {
            methods: Vec::new(),
            sent: Vec::new(),
            by: Owner::Any,
            over: None,
            answered: Vec::new(),
            has: Vec::new(),
            lacks: Vec::new(),
            with: Vec::new(),
            without: Vec::new(),
            arguments: Vec::new(),
            tool: Vec::new(),
            declares: Vec::new(),
            declared: None,
            status: Vec::new(),
            headers: Vec::new(),
            no_headers: Vec::new(),
            occurrence: None,
            after: None,
            unless_after: None,
            before: None,
            chance: None,
        }
    }

    /// Whether the exchange at that index is one of those that are meant.
    pub fn holds(&self, at: usize, known: &Known<'_>) -> bool {
        let Some(exchange) = known.exchanges.get(at) else { return false };
        if !self.is_owner(exchange) || !self.is_occurrence(exchange) {
            return false;
        }
        let ask = Ask::of(exchange);
        // The cheap conditions first: most exchanges are told apart by their method.
        self.is_asked(&ask)
            && self.is_answered(&ask, exchange)
            && self.is_declared(&ask, known)
            && self.is_tool(&ask, known)
            && self.is_among_others(at, known)
            && self.is_drawn(&ask, exchange)
    }

    fn is_owner(&self, exchange: &Exchange) -> bool {
        match self.by {
            Owner::Cases => !exchange.owner.is_empty(),
            Owner::Discovery => exchange.owner.is_empty(),
            Owner::Any => true,
        }
    }

    fn is_occurrence(&self, exchange: &Exchange) -> bool {
        match self.occurrence {
            Some(Occurrence::First) => exchange.occurrence == 0,
            Some(Occurrence::Later) => exchange.occurrence > 0,
            None => true,
        }
    }

    fn is_asked(&self, ask: &Ask<'_>) -> bool {
        let is_named = self.methods.is_empty()
            || ask.method.as_deref().is_some_and(|method| self.methods.iter().any(|known| fits(known, method)));
        let is_sent = self.sent.is_empty()
            || self.sent.iter().any(|sent| match sent {
                Sent::Request => ask.form == Form::Request,
                Sent::Notification => ask.form == Form::Notification,
                Sent::Broken => ask.form == Form::Broken,
                Sent::Unparsable => ask.form == Form::Unparsable,
                Sent::Raw => ask.is_raw,
            });
        is_named
            && is_sent
            && self.with.iter().all(|wanted| wanted.is_in(&ask.params))
            && !self.without.iter().any(|place| place.any(&ask.params, &mut |_| true))
            && (self.headers.is_empty() || self.headers.iter().any(|name| ask.headers.contains(name)))
            && !self.no_headers.iter().any(|name| ask.headers.contains(name))
    }

    fn is_answered(&self, ask: &Ask<'_>, exchange: &Exchange) -> bool {
        let status = exchange.replies.iter().find_map(|reply| reply.http.as_ref()).map(|http| http.status);
        let is_carried = match self.over {
            Some(Carrier::Http) => status.is_some(),
            Some(Carrier::Stream) => status.is_none(),
            None => true,
        };
        if !is_carried || !self.status.is_empty() && !status.is_some_and(|status| self.status.contains(&status)) {
            return false;
        }
        if self.answered.is_empty() && self.has.is_empty() && self.lacks.is_empty() {
            return true;
        }
        let answer = ask.answer(&exchange.replies).map(|at| &exchange.replies[at].what);
        let answer = if let Some(What::Message(message)) = answer { Some(message) } else { None };
        let says_no = answer.is_none() && status.is_some_and(|status| status >= 400);
        let is_answered = |answered: &Answered| match (answered, answer) {
            (Answered::Nothing, answer) => answer.is_none() && !says_no,
            (Answered::Error | Answered::Refused, None) => says_no,
            (_, None) => false,
            (Answered::Result, Some(answer)) => answer.get("result").is_some(),
            (Answered::Error, Some(answer)) => answer.get("error").is_some(),
            (Answered::Failed, Some(answer)) => has_failed(answer),
            (Answered::Refused, Some(answer)) => answer.get("error").is_some() || has_failed(answer),
            (Answered::Served, Some(answer)) => is_served(answer),
        };
        // Notifications come beside the answer, and are looked for in all of what came.
        let anywhere = |place: &Place, value: &mut dyn FnMut(&Value) -> bool| {
            let mut messages = exchange.replies.iter().filter_map(|reply| {
                let What::Message(message) = &reply.what else { return None };
                message.get("method").is_some().then_some(message)
            });
            if place.is_of_notification() {
                return messages.any(|message| place.any(message, value));
            }
            answer.is_some_and(|answer| place.any(answer, value))
        };
        (self.answered.is_empty() || self.answered.iter().any(is_answered))
            && self.has.iter().all(|wanted| anywhere(&wanted.place, &mut |found| wanted.is(found)))
            && !self.lacks.iter().any(|place| anywhere(place, &mut |_| true))
    }

    fn is_declared(&self, ask: &Ask<'_>, known: &Known<'_>) -> bool {
        self.declared.is_none_or(|declared| {
            let capability = ask.method.as_deref().and_then(capability);
            capability.is_some_and(|name| known.capabilities.get(name).is_some() == declared)
        })
    }

    fn is_tool(&self, ask: &Ask<'_>, known: &Known<'_>) -> bool {
        if self.tool.is_empty() && self.declares.is_empty() && self.arguments.is_empty() {
            return true;
        }
        let Some(name) = ask.tool() else { return false };
        let tool = known.catalog.tool(name);
        (self.tool.is_empty() || judge::is_kind(known.catalog, name, &self.tool))
            && self.declares.iter().all(|wanted| tool.is_some_and(|tool| wanted.is_in(&tool.raw)))
            && (self.arguments.is_empty()
                || tool.is_some_and(|tool| judge::stands(tool, &ask.params["arguments"], &self.arguments)))
    }

    fn is_among_others(&self, at: usize, known: &Known<'_>) -> bool {
        let earlier = |other: &Elsewhere| (0..at).rev().any(|index| other.holds(index, at, known));
        self.after.as_deref().is_none_or(earlier)
            && !self.unless_after.as_deref().is_some_and(earlier)
            && self
                .before
                .as_deref()
                .is_none_or(|other| (at + 1..known.exchanges.len()).any(|index| other.holds(index, at, known)))
    }

    fn is_drawn(&self, ask: &Ask<'_>, exchange: &Exchange) -> bool {
        let Some(chance) = &self.chance else { return true };
        let key = DrawKey {
            fault: &chance.fault,
            server: &chance.server,
            method: ask.method.as_deref().unwrap_or_default(),
            tool: ask.tool().unwrap_or_default(),
            arguments: &ask.params,
            occurrence: exchange.occurrence,
        };
        draw(chance.seed, &key) < chance.share
    }
}

impl Wanted {
    fn is(&self, found: &Value) -> bool {
        self.value.as_ref().is_none_or(|value| value == found)
    }

    fn is_in(&self, value: &Value) -> bool {
        self.place.any(value, &mut |found| self.is(found))
    }
}

impl Elsewhere {
    fn holds(&self, index: usize, at: usize, known: &Known<'_>) -> bool {
        let (other, this) = (&known.exchanges[index], &known.exchanges[at]);
        let is_near = match self.within {
            Within::Session => other.owner == this.owner && other.session == this.session,
            Within::Case => other.owner == this.owner,
            Within::Run => true,
        };
        is_near && self.is.holds(index, known)
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
pub(super) fn same_question(one: &Ask<'_>, other: &Ask<'_>) -> bool {
    let (Value::Object(this), Value::Object(that)) = (&*one.params, &*other.params) else {
        return one.method == other.method && one.params == other.params;
    };
    // What `_meta` holds differs from one request to the next.
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

/// Whether a name is one that a pattern means; `*` stands for any letters.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('*') else { return pattern == name };
    name.strip_prefix(before)
        .is_some_and(|tail| (0..=tail.len()).any(|at| tail.is_char_boundary(at) && fits(rest, &tail[at..])))
}
