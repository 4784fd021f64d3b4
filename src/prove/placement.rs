//! The mutants of a recording: which exchanges a fault changes, subject by subject and place by place.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::Value;

use super::equal_requests::EqualRequests;
use super::recording::{RunRecording, TargetRecording};
use super::refusal::RefusalKind;
use super::replay::MutatedReplies;
use super::suggest::may_lose_task;
use crate::event::{MutantSubject, SubjectKind};
use crate::fault::{
    AppliedFault, ExchangeHistory, Fault, FaultPlace, Match, MatchedSubjects, MessageExchange, NotApplied, ServerReply,
    fullest_content, page_items, page_of,
};
use crate::plan::Plan;
use crate::reproduce::is_volatile;
use crate::runner::REQUEST_TIMEOUT;
use crate::taxonomy::{Mutant, OfferKind};
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
    /// By tool, the fullest content that its declaration describes.
    declared: BTreeMap<String, Value>,
    /// The requests that were made again while nothing was written.
    equal_requests: EqualRequests,
    /// The exchanges whose answers faults of the suite itself may have made.
    self_made: BTreeSet<usize>,
}

/// The targets of a recording of that plan.
pub(crate) fn targets<'a>(recording: &'a RunRecording, plan: &Plan) -> Vec<RecordedTarget<'a>> {
    let targets = recording.targets.iter();
    let request_timeout = |file: &str| {
        let planned = plan.suites.iter().find(|planned| planned.suite.file == file);
        planned.and_then(|planned| planned.suite.options.request_timeout).unwrap_or(REQUEST_TIMEOUT)
    };
    targets
        .map(|(name, recorded)| {
            let catalog = recorded.catalog();
            RecordedTarget {
                name,
                recorded,
                equal_requests: EqualRequests::of(&recorded.exchanges, &catalog),
                self_made: self_made(&recorded.exchanges, plan),
                declared: catalog
                    .tools
                    .iter()
                    .filter_map(|tool| Some((tool.name.clone(), fullest_content(tool)?)))
                    .collect(),
                catalog,
                capabilities: recorded.capabilities(),
                request_timeout: request_timeout(&recorded.file),
            }
        })
        .collect()
}

/// The exchanges of cases that inject faults, as far as those may strike them: such answers are not the server's.
fn self_made(exchanges: &[MessageExchange], plan: &Plan) -> BTreeSet<usize> {
    let injecting: BTreeMap<&str, &[Fault]> = plan
        .cases()
        .filter(|case| !case.inject.is_empty())
        .map(|case| (case.id.as_str(), case.inject.as_ref()))
        .collect();
    let is_struck = |exchange: &MessageExchange| {
        let faults = exchange.owner.case().and_then(|case| injecting.get(case));
        let strikes = |fault: &Fault| fault.makes_answers() && fault.may_strike(exchange.method(), exchange.tool());
        faults.is_some_and(|faults| faults.iter().any(strikes))
    };
    (0..exchanges.len()).filter(|at| is_struck(&exchanges[*at])).collect()
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

    /// The answers of a tool have lists, by its declaration or as recorded.
    fn returns_lists(&self, tool: &str) -> bool {
        let is_declared = self.declared.get(tool).is_some_and(|content| page_of(content).is_some());
        let mut calls = self.recorded.exchanges.iter().filter(|exchange| exchange.tool() == Some(tool));
        is_declared || calls.any(|exchange| page_items(exchange).is_some())
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
    /// The fields with a value on which no client could rely.
    unreliable: BTreeSet<String>,
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
    /// The declaration of the tool names the field, so that the fault is proven there only if it is noticed in it.
    pub(crate) is_required: bool,
}

/// An exchange that a mutant changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InjectionSite {
    /// The index of the exchange in the target.
    pub(crate) at: usize,
    /// Who asked.
    pub(crate) owner: Owner,
    /// An equal request was answered otherwise at the place, though nothing was written in between, or the server may lose
    /// the task that the answer is about.
    is_fleeting: bool,
}

/// The most prompts, resources or templates that are looked at; all tools are.
const MOST_OFFERS: usize = 100;

/// What values become is drawn from this seed: two proofs of the same traffic have the same result.
const SEED: u64 = 0;

impl Placement {
    /// Injects a fault into every exchange that it matches and whose case passed the baseline run, subject by subject.
    ///
    /// A subject at which the healthy server already shows the fault is left out; the others are not.
    pub(crate) fn new(mutant: &Mutant, target: &RecordedTarget<'_>, green: &BTreeSet<String>) -> Self {
        let mut placement = Self::default();
        let Some(fault) = &mutant.fault else { return placement };
        let fault = &fault.within(target.request_timeout).with_draws(SEED, target.name);
        let known = target.history();
        let covered = if mutant.at_once { MatchedSubjects::default() } else { fault.on().subjects() };
        placement.add_offers(fault, target, covered);
        let shown = mutant.shown_by.as_ref().map(|shown_by| target.places_showing(shown_by)).unwrap_or_default();
        for (at, exchange) in target.recorded.exchanges.iter().enumerate() {
            // A suite's setup that goes wrong is no verdict on the server, and neither is what the suite injects.
            let counts = exchange.owner.case().map_or_else(|| is_discovery(exchange), |case| green.contains(case));
            if !counts || target.self_made.contains(&at) {
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
        if covered.tools {
            placement.require(fault, target);
        }
        if covered.tools && mutant.needs.contains(&OfferKind::Tasks) {
            // Only its answers tell whether a tool has tasks.
            placement.subjects.retain(|_, found| !found.places.is_empty());
        }
        if covered.tools && fault.is_of_lists() {
            placement.exclude_tools_without_lists(target);
        }
        placement
    }

    /// Tools whose answers have no lists cannot have a fault of lists.
    fn exclude_tools_without_lists(&mut self, target: &RecordedTarget<'_>) {
        for (subject, found) in &mut self.subjects {
            let is_candidate = subject.kind == SubjectKind::Tool && found.is_used && found.places.is_empty();
            found.cannot_occur |= is_candidate && !target.returns_lists(&subject.name);
        }
    }

    /// Adds the fields that the declarations of used tools name, also those that no answer has.
    fn require(&mut self, fault: &Fault, target: &RecordedTarget<'_>) {
        for tool in &target.catalog.tools {
            let subject = MutantSubject { kind: SubjectKind::Tool, name: tool.name.clone() };
            let Some(found) = self.subjects.get_mut(&subject).filter(|found| found.is_used && !found.cannot_occur)
            else {
                continue;
            };
            let Some(content) = target.declared.get(&tool.name) else { continue };
            for place in fault.fields_of(tool, content, &target.catalog) {
                let is_volatile = place.value.as_ref().is_some_and(|value| is_volatile(&place.field, value));
                if !is_volatile && !found.unreliable.contains(&place.field) {
                    let injection = found.places.entry(place.field).or_default();
                    injection.is_required = true;
                    injection.lacks.get_or_insert_with(|| "no recorded answer has a value there".to_owned());
                }
            }
        }
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
                injection.add(InjectionSite::new(at, target), struck, None, target);
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
            self.all_entries.add(InjectionSite::new(at, target), struck, None, target);
        }
        if places.is_empty() {
            self.subjects.entry(subject.clone()).or_default().is_idle = true;
        }
        let is_of_tool = subject.kind == SubjectKind::Tool;
        if is_of_tool && !target.declared.contains_key(&subject.name) {
            self.hide(fault, at, subject, target);
        }
        // Conditions on arguments choose the kind of the refusal already.
        let refusal = is_of_tool && fault.on().is_about_refusals() && !fault.on().is_about_arguments();
        let refusal = refusal.then(|| RefusalKind::of(exchange, &target.catalog)).flatten();
        for place in places {
            let mut site = InjectionSite::new(at, target);
            let is_volatile = place.value.as_ref().is_some_and(|value| is_volatile(&place.field, value));
            site.is_fleeting = place
                .value
                .as_ref()
                .is_some_and(|value| target.equal_requests.differ(at, &place.field, value, &target.recorded.exchanges));
            let struck = if is_volatile { Err(NotApplied::NoChange) } else { fault.apply_at(&place, at, &known) };
            let subject =
                place.entry.as_ref().map_or_else(|| subject.clone(), |(kind, name)| entry_subject(*kind, name));
            let found = self.subjects.entry(subject).or_default();
            found.is_used = true;
            if is_volatile || site.is_fleeting {
                found.unreliable.insert(place.field.clone());
            }
            let name = refusal.map_or_else(|| place.field.clone(), |refusal| refusal.name(&place.field));
            match struck {
                Ok(struck) => {
                    site.is_fleeting |= may_lose_task(&target.recorded.exchanges, at, &struck.replies);
                    found.places.entry(name).or_default().add(site, struck, Some(place), target);
                }
                Err(NotApplied::NoChange) => found.is_idle = true,
                Err(NotApplied::NoMaterial(reason)) if !place.field.is_empty() => {
                    found.places.entry(name).or_default().leave(at, reason);
                }
                Err(NotApplied::NoMaterial(reason)) => drop(found.lacks.get_or_insert(reason)),
            }
        }
    }

    /// Adds the fields that an answer hides by an empty list: what is noticed in the rest of it says nothing of them.
    fn hide(&mut self, fault: &Fault, at: usize, subject: &MutantSubject, target: &RecordedTarget<'_>) {
        let found = self.subjects.entry(subject.clone()).or_default();
        for field in fault.hidden_fields(&target.recorded.exchanges[at]) {
            found.places.entry(field).or_default().leave(at, "the list is empty in the recorded answers".to_owned());
        }
    }
}

impl InjectionSite {
    fn new(at: usize, target: &RecordedTarget<'_>) -> Self {
        Self { at, owner: target.recorded.exchanges[at].owner.clone(), is_fleeting: false }
    }
}

impl MutantInjection {
    fn add(
        &mut self,
        site: InjectionSite,
        struck: AppliedFault,
        place: Option<FaultPlace>,
        target: &RecordedTarget<'_>,
    ) {
        if self.sites.is_empty() {
            (self.change, self.place) = (struck.changes(&target.recorded.exchanges[site.at]), place);
        }
        self.replies.insert(site.at, struck.replies);
        self.sites.push(site);
    }

    /// Notes an exchange that has the place and cannot be changed there.
    fn leave(&mut self, at: usize, reason: String) {
        self.unmade.push(at);
        self.lacks.get_or_insert(reason);
    }

    /// Its values change by themselves, as far as the recording tells, or its task need not be kept: that goes unnoticed
    /// rightly.
    pub(crate) fn is_fleeting(&self) -> bool {
        !self.sites.is_empty() && self.sites.iter().all(|site| site.is_fleeting)
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
            Some(method) if covered.tasks && method.starts_with("tasks/") => self.tool_of_task(&params["taskId"]),
            _ => MutantSubject::session(),
        }
    }

    /// The tool whose call became the task of that id.
    fn tool_of_task(&self, id: &Value) -> MutantSubject {
        let makes = |call: &&MessageExchange| {
            let result = call.answer().map(|answer| &answer["result"]);
            result.is_some_and(|result| result["taskId"] == *id || result["task"]["taskId"] == *id)
        };
        let mut calls = self.recorded.exchanges.iter().filter(|exchange| exchange.tool().is_some());
        let tool = calls.find(makes).and_then(|call| self.offered_tool(call.tool()));
        tool.map_or_else(MutantSubject::session, |name| MutantSubject { kind: SubjectKind::Tool, name })
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
            declared: BTreeMap::new(),
            equal_requests: EqualRequests::default(),
            self_made: BTreeSet::new(),
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
    fn lists_are_declared_or_recorded() {
        let call = |tool: &str, text: &str| {
            let params = json!({"name": tool, "arguments": {}});
            let sent = ClientMessage::Message { id: Some(json!(1)), method: "tools/call".to_owned(), params };
            let result = json!({"content": [{"type": "text", "text": text}]});
            let answer = json!({"jsonrpc": "2.0", "id": 1, "result": result});
            let replies = vec![ServerReply::now(crate::fault::ReplyContent::Message(answer), None)];
            MessageExchange { replies, ..MessageExchange::new(sent) }
        };
        let exchanges = vec![call("list_a", "[1, 2]"), call("list_b", "1 and 2")];
        let recorded = TargetRecording { exchanges, ..TargetRecording::default() };
        let target = RecordedTarget {
            name: "target",
            recorded: &recorded,
            catalog: Catalog::default(),
            capabilities: Value::Null,
            request_timeout: REQUEST_TIMEOUT,
            declared: BTreeMap::from([("list_c".to_owned(), json!({"rows": ["x"]}))]),
            equal_requests: EqualRequests::default(),
            self_made: BTreeSet::new(),
        };
        for (tool, expected) in [("list_a", true), ("list_b", false), ("list_c", true), ("list_d", false)] {
            assert_eq!(target.returns_lists(tool), expected, "{tool}");
        }
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
