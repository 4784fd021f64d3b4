//! When an edit strikes.

use serde_json::{Map, Value};

use super::message::{FlawMessageKind, Incoming};
use crate::fault::{PathConditions, WantedValue, fits};

/// The one path at which the server serves the protocol.
const PATH: &str = "/mcp";

/// The conditions under which an edit applies.
#[derive(Debug, Clone, Default)]
pub(super) struct FlawCondition {
    pub(super) asked: RequestCondition,
    pub(super) unless: Option<RequestCondition>,
    pub(super) sends: Vec<String>,
    pub(super) answer: Option<AnsweredCondition>,
    pub(super) turn: TurnCondition,
}

/// The conditions that a client's message must meet.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestCondition {
    pub(super) methods: Vec<String>,
    pub(super) kinds: Vec<FlawMessageKind>,
    pub(super) over_http: Option<bool>,
    pub(super) verbs: Vec<String>,
    pub(super) path: Option<String>,
    pub(super) headers: Vec<Named>,
    pub(super) no_headers: Vec<String>,
    pub(super) query: Vec<Named>,
    pub(super) fields: PathConditions,
}

/// The conditions that the correct answer must meet.
#[derive(Debug, Clone, Default)]
pub(super) struct AnsweredCondition {
    pub(super) status: Vec<u16>,
    pub(super) headers: Vec<Named>,
    pub(super) fields: PathConditions,
}

/// Which of those that are alike.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TurnCondition {
    pub(super) nth: Option<u64>,
    pub(super) from: Option<u64>,
    pub(super) of_server: bool,
}

/// A header or a parameter by name, and what it must be.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) wanted: Option<WantedValue>,
}

/// The response of HTTP around an answer.
#[derive(Debug, Clone)]
pub(super) struct Response {
    pub(super) status: u16,
    /// By name in small letters.
    pub(super) headers: Map<String, Value>,
}

impl FlawCondition {
    /// Whether it can hold for what came, as far as that can be told before there is an answer.
    pub(super) fn may_hold(&self, incoming: &Incoming) -> bool {
        self.asked.holds(incoming) && !self.unless.as_ref().is_some_and(|unless| unless.holds(incoming))
    }

    /// Whether it is about a message with that method which the server sends during what came, if that is known.
    pub(super) fn sends(&self, method: &str, during: Option<&Incoming>) -> bool {
        let fits = self.sends.iter().any(|pattern| fits(pattern, method));
        fits && match during {
            Some(incoming) => self.may_hold(incoming),
            None => self.asked.is_about_transport_alone() && self.unless.is_none(),
        }
    }
}

impl RequestCondition {
    fn holds(&self, incoming: &Incoming) -> bool {
        let is_moment = matches!(incoming.kind, Some(FlawMessageKind::Start | FlawMessageKind::End));
        let kind_fits = match incoming.kind {
            Some(kind) if !self.kinds.is_empty() => self.kinds.contains(&kind),
            Some(_) => !is_moment,
            None => self.kinds.is_empty(),
        };
        let method_fits = self.methods.is_empty()
            || incoming.method().is_some_and(|method| self.methods.iter().any(|pattern| fits(pattern, method)));
        kind_fits
            && method_fits
            && self.over_http.is_none_or(|over_http| over_http == incoming.head.is_some())
            && self.head_fits(incoming)
            && hold(&self.fields, incoming.message.as_ref())
    }

    fn head_fits(&self, incoming: &Incoming) -> bool {
        let Some(head) = &incoming.head else {
            return self.verbs.is_empty()
                && self.path.is_none()
                && self.headers.is_empty()
                && self.no_headers.is_empty()
                && self.query.is_empty();
        };
        (self.verbs.is_empty() || self.verbs.contains(&head.verb))
            && self.path.as_ref().map_or(head.path == PATH, |path| fits(path, &head.path))
            && self.headers.iter().all(|header| header.holds(&head.headers))
            && !self.no_headers.iter().any(|name| head.headers.contains_key(name))
            && self.query.iter().all(|parameter| parameter.holds(&head.query))
    }

    fn is_about_transport_alone(&self) -> bool {
        self.methods.is_empty()
            && self.kinds.is_empty()
            && self.fields.is_empty()
            && self.verbs.is_empty()
            && self.headers.is_empty()
            && self.over_http != Some(true)
    }
}

impl AnsweredCondition {
    /// Whether it can be told from the response alone.
    pub(super) fn is_about_response_alone(&self) -> bool {
        self.fields.is_empty()
    }

    /// Whether an answer is such.
    pub(super) fn holds(&self, message: Option<&Value>, response: Option<&Response>) -> bool {
        self.response_fits(response) && hold(&self.fields, message)
    }

    /// Whether the response around an answer is such.
    pub(super) fn response_fits(&self, response: Option<&Response>) -> bool {
        match response {
            Some(response) => {
                (self.status.is_empty() || self.status.contains(&response.status))
                    && self.headers.iter().all(|header| header.holds(&response.headers))
            }
            None => self.status.is_empty() && self.headers.is_empty(),
        }
    }
}

impl TurnCondition {
    /// Whether it is the turn of the one with that number.
    pub(super) fn comes(self, number: u64) -> bool {
        self.nth.is_none_or(|nth| nth == number) && self.from.is_none_or(|from| from <= number)
    }
}

impl Named {
    fn holds(&self, values: &Map<String, Value>) -> bool {
        values.get(&self.name).is_some_and(|value| self.wanted.as_ref().is_none_or(|wanted| wanted.fits(value)))
    }
}

fn hold(fields: &PathConditions, message: Option<&Value>) -> bool {
    message.map_or_else(|| fields.is_empty(), |message| fields.hold(message))
}
