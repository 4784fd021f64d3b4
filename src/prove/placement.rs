//! The mutants of a recording: which exchanges a fault changes, subject by subject and place by place.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::Value;

use super::recording::{RequestKey, RunRecording, TargetRecording};
use super::replay::MutatedReplies;
use crate::event::{MutantSubject, SubjectKind};
use crate::fault::{
    AppliedFault, ExchangeHistory, Fault, FaultPlace, Match, MatchedSubjects, MessageExchange, NotApplied, ServerReply,
};
use crate::path::DottedPath;
use crate::plan::Plan;
use crate::reproduce::is_volatile;
use crate::runner::REQUEST_TIMEOUT;
use crate::taxonomy::Mutant;
use crate::transport::Owner;
use crate::wire::{Catalog, ListKind};

/// A recorded target, with what its server offers.
#[derive(Debug)]
pub(crate) struct RecordedTarget<'a> {
    pub(crate) name: &'a str,
    pub(crate) recorded: &'a TargetRecording,
    pub(crate) catalog: Catalog,
    pub(crate) capabilities: Value,
    /// The time that a request may take.
    pub(crate) request_timeout: Duration,
    /// For each exchange whose request was made more than once, the first and the last of them.
    same_requests: BTreeMap<usize, (usize, usize)>,
}

/// The targets of a recording of that plan.
pub(crate) fn targets<'a>(recording: &'a RunRecording, plan: &Plan) -> Vec<RecordedTarget<'a>> {
    let targets = recording.targets.iter();
    let request_timeout = |file: &str| {
        let planned = plan.suites.iter().find(|planned| planned.suite.file == file);
        planned.and_then(|planned| planned.suite.options.request_timeout).unwrap_or(REQUEST_TIMEOUT)
    };
    targets
        .map(|(name, recorded)| RecordedTarget {
            name,
            recorded,
            catalog: recorded.catalog(),
            capabilities: recorded.capabilities(),
            request_timeout: request_timeout(&recorded.file),
            same_requests: same_requests(&recorded.exchanges),
        })
        .collect()
}

/// The subject of an exchange: a tool, or else a method.
fn place_of(exchange: &MessageExchange) -> (String, String) {
    let method = exchange.method().unwrap_or_default().to_owned();
    (method, exchange.tool().unwrap_or_default().to_owned())
}

impl RecordedTarget<'_> {
    /// The subjects at which the healthy server already does what a mutant would imitate.
    fn places_showing(&self, shown_by: &Match) -> BTreeSet<(String, String)> {
        let known = self.history();
        let shown = (0..known.exchanges.len()).filter(|at| shown_by.holds(*at, &known));
        shown.map(|at| place_of(&known.exchanges[at])).collect()
    }

    /// The tool of that name, unless it is one that the server does not have.
    fn offered_tool(&self, tool: Option<&str>) -> Option<String> {
        let mut tools = self.catalog.tools.iter();
        tool.filter(|name| tools.any(|tool| tool.name == **name)).map(str::to_owned)
    }

    pub(crate) fn history(&self) -> ExchangeHistory<'_> {
        ExchangeHistory {
            catalog: &self.catalog,
            capabilities: &self.capabilities,
            exchanges: &self.recorded.exchanges,
        }
    }
}

/// The mutants that a fault operator makes of the recording of one target, one for each subject.
#[derive(Debug, Default)]
pub(crate) struct Placement {
    pub(crate) subjects: IndexMap<MutantSubject, SubjectPlacement>,
    /// The changes of all entries of a list at once, where the fault is one of entries.
    pub(crate) all_entries: MutantInjection,
}

/// A mutant: a fault of one subject.
#[derive(Debug, Default)]
pub(crate) struct SubjectPlacement {
    /// By field, the changes of every exchange that has it.
    pub(crate) places: IndexMap<String, MutantInjection>,
    /// A passed case uses the subject.
    pub(crate) is_used: bool,
    /// The declaration of the subject leaves no room for the fault.
    pub(crate) cannot_occur: bool,
    /// An exchange in which the healthy server does the same, so that nothing was injected.
    pub(crate) shown: Option<String>,
    /// Why the fault could not be made where it would strike.
    pub(crate) lacks: Option<String>,
    /// The fault would strike and change nothing.
    pub(crate) is_idle: bool,
}

/// The changes at one place of the answers of one target.
#[derive(Debug, Default)]
pub(crate) struct MutantInjection {
    pub(crate) sites: Vec<InjectionSite>,
    pub(crate) replies: BTreeMap<usize, Vec<ServerReply>>,
    /// The difference at the first site.
    pub(crate) change: Vec<String>,
    /// The place at the first site.
    pub(crate) place: Option<FaultPlace>,
    /// The exchanges that have the place and could not be changed there.
    unmade: Vec<usize>,
    /// Why they could not.
    pub(crate) lacks: Option<String>,
}

/// An exchange that a mutant changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InjectionSite {
    /// The index of the exchange in the target.
    pub(crate) at: usize,
    /// Who asked.
    pub(crate) owner: Owner,
}

/// The most prompts, resources or templates that are looked at; all tools are.
const MOST_OFFERS: usize = 100;

impl Placement {
    /// Injects a fault into every exchange that it matches and whose case passed the baseline run, subject by subject.
    ///
    /// A subject at which the healthy server already shows the fault is left out; the others are not.
    pub(crate) fn new(mutant: &Mutant, target: &RecordedTarget<'_>, green: &BTreeSet<String>) -> Self {
        let mut placement = Self::default();
        let Some(fault) = &mutant.fault else { return placement };
        let fault = &fault.within(target.request_timeout);
        let known = target.history();
        let covered = if mutant.at_once { MatchedSubjects::default() } else { fault.on().subjects() };
        placement.add_offers(fault, target, covered);
        let shown = mutant.shown_by.as_ref().map(|shown_by| target.places_showing(shown_by)).unwrap_or_default();
        for (at, exchange) in target.recorded.exchanges.iter().enumerate() {
            // A suite's setup that goes wrong is no verdict on the server.
            let counts = exchange.owner.case().map_or_else(|| is_discovery(exchange), |case| green.contains(case));
            if !counts {
                continue;
            }
            let subject = target.subject(exchange, covered);
            if let Some(offer) = placement.subjects.get_mut(&subject) {
                offer.is_used = true;
            }
            if !fault.strikes(at, &known) {
                continue;
            }
            if shown.contains(&place_of(exchange)) {
                let found = placement.subjects.entry(subject).or_default();
                found.shown.get_or_insert_with(|| super::recording::title(exchange));
                continue;
            }
            if mutant.at_once {
                placement.inject_whole(fault, at, target);
            } else {
                placement.inject(fault, at, &subject, target);
            }
        }
        placement
    }

    /// Every offer that may have the fault, used or not.
    fn add_offers(&mut self, fault: &Fault, target: &RecordedTarget<'_>, covered: MatchedSubjects) {
        let catalog = &target.catalog;
        let mut add = |kind, name: &str, cannot_occur| {
            let subject = MutantSubject { kind, name: name.to_owned() };
            self.subjects.insert(subject, SubjectPlacement { cannot_occur, ..SubjectPlacement::default() });
        };
        for tool in catalog.tools.iter().filter(|_| covered.tools) {
            add(SubjectKind::Tool, &tool.name, !fault.on().can_match(tool, catalog));
        }
        for prompt in catalog.prompts.iter().filter(|_| covered.prompts).take(MOST_OFFERS) {
            add(SubjectKind::Prompt, prompt["name"].as_str().unwrap_or_default(), false);
        }
        for resource in catalog.resources.iter().filter(|_| covered.resources).take(MOST_OFFERS) {
            add(SubjectKind::Resource, resource["uri"].as_str().unwrap_or_default(), false);
        }
    }

    /// Changes an exchange at all its places.
    fn inject_whole(&mut self, fault: &Fault, at: usize, target: &RecordedTarget<'_>) {
        let found = self.subjects.entry(MutantSubject::session()).or_default();
        match fault.apply(at, &target.history()) {
            Ok(struck) => {
                let injection = found.places.entry(String::new()).or_default();
                injection.add(at, &target.recorded.exchanges[at], struck, None);
            }
            Err(NotApplied::NoChange) => found.is_idle = true,
            Err(NotApplied::NoMaterial(reason)) => drop(found.lacks.get_or_insert(reason)),
        }
    }

    fn inject(&mut self, fault: &Fault, at: usize, subject: &MutantSubject, target: &RecordedTarget<'_>) {
        let known = target.history();
        let exchange = &target.recorded.exchanges[at];
        let places = fault.places(at, &known);
        if places.iter().any(|place| place.entry.is_some())
            && let Ok(struck) = fault.apply(at, &known)
        {
            self.all_entries.add(at, exchange, struck, None);
        }
        if places.is_empty() {
            self.subjects.entry(subject.clone()).or_default().is_idle = true;
        }
        for place in places {
            let struck = match &place.value {
                Some(value) if !target.is_reliable(at, &place.field, value) => Err(NotApplied::NoChange),
                _ => fault.apply_at(&place, at, &known),
            };
            let subject =
                place.entry.as_ref().map_or_else(|| subject.clone(), |(kind, name)| entry_subject(*kind, name));
            let found = self.subjects.entry(subject).or_default();
            found.is_used = true;
            match struck {
                Ok(struck) => {
                    found.places.entry(place.field.clone()).or_default().add(at, exchange, struck, Some(place));
                }
                Err(NotApplied::NoChange) => found.is_idle = true,
                Err(NotApplied::NoMaterial(reason)) if !place.field.is_empty() => {
                    let injection = found.places.entry(place.field).or_default();
                    injection.unmade.push(at);
                    injection.lacks.get_or_insert(reason);
                }
                Err(NotApplied::NoMaterial(reason)) => drop(found.lacks.get_or_insert(reason)),
            }
        }
    }
}

impl MutantInjection {
    fn add(&mut self, at: usize, exchange: &MessageExchange, struck: AppliedFault, place: Option<FaultPlace>) {
        if self.sites.is_empty() {
            (self.change, self.place) = (struck.changes(exchange), place);
        }
        self.replies.insert(at, struck.replies);
        self.sites.push(InjectionSite { at, owner: exchange.owner.clone() });
    }

    /// Every exchange that has the place, changed or not.
    pub(crate) fn exchanges(&self) -> Vec<usize> {
        self.sites.iter().map(|site| site.at).chain(self.unmade.iter().copied()).collect()
    }

    /// It changes an entry of a list.
    pub(crate) fn is_of_entry(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.entry.is_some())
    }

    /// The changed replies, as a replay of this target takes them.
    pub(crate) fn mutated_replies(&self, target: &str) -> MutatedReplies {
        MutatedReplies::from([(target.to_owned(), self.replies.clone())])
    }
}

impl RecordedTarget<'_> {
    /// The offer that an exchange uses, if the fault is one of such offers.
    fn subject(&self, exchange: &MessageExchange, covered: MatchedSubjects) -> MutantSubject {
        let params = exchange.params();
        let named =
            |kind, name: &str| MutantSubject { kind, name: params[name].as_str().unwrap_or_default().to_owned() };
        match exchange.method() {
            Some("tools/call") if covered.tools && self.offered_tool(exchange.tool()).is_some() => {
                named(SubjectKind::Tool, "name")
            }
            Some("prompts/get") if covered.prompts => named(SubjectKind::Prompt, "name"),
            Some("resources/read") if covered.resources => self.resource(params["uri"].as_str().unwrap_or_default()),
            _ => MutantSubject::session(),
        }
    }

    /// The listed resource of that address, or else the template that it was made from.
    fn resource(&self, uri: &str) -> MutantSubject {
        let subject = |kind, name: &str| MutantSubject { kind, name: name.to_owned() };
        let is_listed = self.catalog.resources.iter().any(|resource| resource["uri"] == uri);
        let templates = self.catalog.resource_templates.iter().filter_map(|template| template["uriTemplate"].as_str());
        let fixed = |template: &&str| template.find('{').unwrap_or(template.len());
        let fitting = templates.filter(|template| uri.starts_with(&template[..fixed(template)])).max_by_key(fixed);
        match fitting {
            Some(template) if !is_listed => subject(SubjectKind::ResourceTemplate, template),
            _ => subject(SubjectKind::Resource, uri),
        }
    }

    /// A client could rely on the value: it is not made anew each time, as far as its name, its form and the
    /// answer to the same request elsewhere tell.
    fn is_reliable(&self, at: usize, field: &str, value: &Value) -> bool {
        !is_volatile(field, value) && !self.is_answered_otherwise(at, field, value)
    }

    fn is_answered_otherwise(&self, at: usize, field: &str, value: &Value) -> bool {
        let exchanges = &self.recorded.exchanges;
        let Some((first, last)) = self.same_requests.get(&at) else { return false };
        [*first, *last].into_iter().filter(|other| *other != at).any(|other| {
            let found = answer_value(&exchanges[other], field);
            found.is_some_and(|found| found != *value)
        })
    }
}

/// The value of a field of an answer: in its structured content, or in its result.
fn answer_value(exchange: &MessageExchange, field: &str) -> Option<Value> {
    let message = exchange.answer()?;
    let place = |prefix: &str| DottedPath::parse(&format!("{prefix}{field}")).ok()?.find(message);
    place("result.structuredContent.").or_else(|| place("result.content[0].text.json().")).or_else(|| place("result."))
}

/// Requests that were made more than once: the first and the last exchange of each.
fn same_requests(exchanges: &[MessageExchange]) -> BTreeMap<usize, (usize, usize)> {
    let mut by_request: BTreeMap<RequestKey, Vec<usize>> = BTreeMap::new();
    for (at, exchange) in exchanges.iter().enumerate().filter(|(_, exchange)| exchange.tool().is_some()) {
        by_request.entry(RequestKey::of(&exchange.sent)).or_default().push(at);
    }
    let repeated = by_request.into_values().filter(|same| same.len() > 1);
    repeated.flat_map(|same| same.clone().into_iter().map(move |at| (at, (same[0], same[same.len() - 1])))).collect()
}

fn entry_subject(kind: ListKind, name: &str) -> MutantSubject {
    let kind = match kind {
        ListKind::Tools => SubjectKind::Tool,
        ListKind::Resources => SubjectKind::Resource,
        ListKind::ResourceTemplates => SubjectKind::ResourceTemplate,
        ListKind::Prompts => SubjectKind::Prompt,
    };
    MutantSubject { kind, name: name.to_owned() }
}

/// The exchange is part of a handshake or of a listing.
fn is_discovery(exchange: &MessageExchange) -> bool {
    let method = exchange.method().unwrap_or_default();
    matches!(method, "initialize" | "server/discover" | "notifications/initialized") || method.ends_with("/list")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fault::ClientMessage;

    fn call(arguments: &Value) -> MessageExchange {
        let params = json!({"name": "get_user", "arguments": arguments});
        MessageExchange::new(ClientMessage::Message { id: Some(json!(1)), method: "tools/call".to_owned(), params })
    }

    #[test]
    fn a_read_resource_is_a_listed_one_or_of_the_longest_template() {
        let template = |text: &str| json!({ "uriTemplate": text });
        let target = RecordedTarget {
            name: "target",
            recorded: &TargetRecording::default(),
            catalog: Catalog {
                resources: vec![json!({"uri": "file:///users/all"})],
                resource_templates: vec![template("file:///{path}"), template("file:///users/{id}")],
                ..Catalog::default()
            },
            capabilities: Value::Null,
            request_timeout: REQUEST_TIMEOUT,
            same_requests: BTreeMap::new(),
        };
        for (uri, kind, name) in [
            ("file:///users/all", SubjectKind::Resource, "file:///users/all"),
            ("file:///users/u1", SubjectKind::ResourceTemplate, "file:///users/{id}"),
            ("file:///notes", SubjectKind::ResourceTemplate, "file:///{path}"),
            ("https://example.com", SubjectKind::Resource, "https://example.com"),
        ] {
            assert_eq!(target.resource(uri), MutantSubject { kind, name: name.to_owned() }, "{uri}");
        }
    }

    #[test]
    fn equal_requests_are_known_by_the_first_and_the_last() {
        let exchanges = [json!({"id": 1}), json!({"id": 2}), json!({"id": 1}), json!({"id": 1})].map(|one| call(&one));
        let expected = BTreeMap::from([(0, (0, 3)), (2, (0, 3)), (3, (0, 3))]);
        assert_eq!(same_requests(&exchanges), expected);
    }

    #[test]
    fn handshakes_and_lists_are_discovery() {
        for (method, expected) in [
            ("initialize", true),
            ("notifications/initialized", true),
            ("tools/list", true),
            ("resources/templates/list", true),
            ("tools/call", false),
            ("ping", false),
        ] {
            let sent = ClientMessage::Message { id: None, method: method.to_owned(), params: Value::Null };
            assert_eq!(is_discovery(&MessageExchange::new(sent)), expected, "{method}");
        }
    }
}
