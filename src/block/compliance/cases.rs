//! One case for each rule that holds in the revision and over the transport.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Compliance;
use crate::plan::needs::particular;
use crate::plan::planner::Planner;
use crate::plan::{Case, Offer};
use crate::source::Node;
use crate::suite::{Rule, Test, ToolSelection};
use crate::wire::Revision;

/// The cases of a `compliance:` block.
pub(crate) fn cases(planner: &Planner<'_>, template: &Case, compliance: &Compliance, offer: &Offer<'_>) -> Vec<Case> {
    let names = Arc::new(offer.names(planner));
    let mut cases = unknown_safe_tools(planner, template, compliance, offer);
    for (test, rule) in rules(compliance, offer.revision) {
        for mut case in particular(planner, test, &names, offer) {
            case.name = format!("{} {}", rule.id, case.name);
            case.id = planner.id(&case.name, case.row.as_deref());
            case.place.clone_from(&template.place);
            case.tags.extend(template.tags.iter().cloned());
            case.probes.extend(template.probes.iter().cloned());
            let known = compliance.known.iter().find(|(id, _)| rule.is_named(id));
            case.known = known.map(|(_, reason)| reason.value.clone());
            cases.push(case);
        }
    }
    cases
}

/// The variants that the rules judge that hold in the revision that is asked for and over the server's transport.
pub(crate) fn variants(planner: &Planner<'_>, compliance: &Compliance) -> BTreeSet<String> {
    let carrier = planner.carrier();
    let of_carrier = |rule: &Rule| rule.over.is_none_or(|over| carrier.is_none_or(|carrier| over == carrier));
    let rules = rules(compliance, planner.target.protocol.revision()).filter(|(_, rule)| of_carrier(rule));
    let mut judged = BTreeSet::new();
    for (test, _) in rules {
        judged.extend(planner.judged_by(test).iter().cloned());
    }
    judged
}

/// The rules that are asked for and that hold in a revision, each with its test; without a revision, in any.
fn rules(compliance: &Compliance, revision: Option<Revision>) -> impl Iterator<Item = (&Arc<Test>, &Arc<Rule>)> {
    let wanted = move |rule: &Rule| {
        let is_named = compliance.only.is_empty() || compliance.only.iter().any(|id| rule.is_named(&id.value));
        let holds = revision.is_none_or(|spoken| rule.revisions.contains(&spoken));
        is_named && rule.level <= compliance.level && holds
    };
    let rules = compliance.rules.iter().filter_map(|test| Some((test, test.extras.rule.as_ref()?)));
    rules.filter(move |(_, rule)| wanted(rule))
}

/// A failed case for each tool that may be called and that the server does not offer.
fn unknown_safe_tools(planner: &Planner<'_>, template: &Case, compliance: &Compliance, offer: &Offer<'_>) -> Vec<Case> {
    let Some(listed) = compliance.hints.get("safe_tools").filter(|_| !offer.catalog.tools.is_empty()) else {
        return Vec::new();
    };
    let named = listed.items().iter().filter_map(Node::located_text);
    planner.unknown_tools(template, &ToolSelection::of_names(named), offer.catalog)
}
