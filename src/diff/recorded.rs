//! Servers of a recorded run as `drift` compares them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::drift::{Recorded, RecordedAnswer, RecordedIdentity, RecordedOutcome, mask_differences, stable_answer};
use crate::fault::MessageExchange;
use crate::prove::{RunRecording, TargetRecording, title};
use crate::wire::{ListKind, canonical};

/// A server of a run in one revision.
pub(crate) struct RecordedServer {
    pub(crate) server: Recorded,
    /// The lists that it was asked for.
    lists: Vec<ListKind>,
}

/// The servers of a run, each once for every revision that was asked for.
pub(crate) fn servers(of: &RunRecording) -> Vec<RecordedServer> {
    let names = of.server_names();
    // One that did not start said nothing.
    let started = of.targets.iter().filter(|(_, target)| !target.revision.is_empty());
    let servers = started.map(|(id, target)| {
        let protocol = id.rsplit_once('/').map_or("", |(_, protocol)| protocol);
        let identity = RecordedIdentity::of(&target.handshake(), &target.revision);
        let name = names.get(id).map_or("", String::as_str);
        let server = Recorded::without_calls(name, protocol, identity, &target.catalog());
        let lists = ListKind::ALL.into_iter().filter(|kind| target.has_list(*kind)).collect();
        RecordedServer { server: Recorded { answers: answers(target), ..server }, lists }
    });
    servers.collect()
}

/// What was asked, and its answer without what differs from call to call.
fn answers(target: &TargetRecording) -> Vec<RecordedAnswer> {
    let mut order = Vec::new();
    let mut equal: BTreeMap<(&str, String), Vec<&MessageExchange>> = BTreeMap::new();
    for exchange in &target.exchanges {
        let Some(method @ ("tools/call" | "resources/read" | "prompts/get" | "completion/complete")) =
            exchange.method()
        else {
            continue;
        };
        let request = (method, canonical(exchange.params()));
        let known = equal.entry(request.clone()).or_default();
        if known.is_empty() {
            order.push(request);
        }
        known.push(exchange);
    }
    order.iter().filter_map(|request| stable_part(equal.get(request)?)).collect()
}

/// The answer to equal requests without what differs; `None` where there is none, or where some were served and others not.
fn stable_part(equal: &[&MessageExchange]) -> Option<RecordedAnswer> {
    let first = equal.first()?;
    let tool = first.tool().map_or_else(|| title(first), str::to_owned);
    let arguments = arguments(first.params());
    let mut answers = equal.iter().filter_map(|exchange| stable_answer(exchange.answer()?));
    let (outcome, told) = answers.next()?;
    let known = RecordedAnswer { tool, arguments, outcome, told, volatile: Vec::new() };
    answers.try_fold(known, |known, other| mask_once_more(known, &other))
}

/// An answer without what differs from another answer to the same request, too.
fn mask_once_more(known: RecordedAnswer, other: &(RecordedOutcome, Value)) -> Option<RecordedAnswer> {
    let RecordedAnswer { tool, arguments, outcome, told, volatile } = known;
    let mut masked = mask_differences((&tool, &arguments), (outcome, told), other)?;
    masked.volatile.extend(volatile);
    masked.volatile.sort();
    masked.volatile.dedup();
    Some(masked)
}

/// The arguments of a call, or all parameters of another request, without `_meta`.
fn arguments(params: &Value) -> Value {
    let mut arguments = params.get("arguments").filter(|_| params.get("name").is_some()).unwrap_or(params).clone();
    if let Some(fields) = arguments.as_object_mut() {
        fields.shift_remove("_meta");
    }
    arguments
}

/// Leaves out a list for which the other run did not ask, although the server says that it has one: nothing is known of it.
pub(crate) fn only_asked_lists(of: &Recorded, other: &RecordedServer) -> Recorded {
    let mut kept = of.clone();
    for kind in ListKind::ALL {
        let has_it = !other.server.server.capabilities[kind.capability()].is_null();
        if has_it && !other.lists.contains(&kind) {
            match kind {
                ListKind::Tools => kept.tools.clear(),
                ListKind::Resources => kept.resources.clear(),
                ListKind::ResourceTemplates => kept.resource_templates.clear(),
                ListKind::Prompts => kept.prompts.clear(),
            }
        }
    }
    kept
}
