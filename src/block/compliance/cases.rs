//! One case for each rule that holds in the revision and over the transport.

use std::sync::Arc;

use super::Compliance;
use crate::plan::needs::particular;
use crate::plan::planner::Planner;
use crate::plan::{Case, Offer};
use crate::source::Node;
use crate::suite::{Rule, ToolSelection};

/// The cases of a `compliance:` block.
pub(super) fn cases(planner: &Planner<'_>, template: &Case, compliance: &Compliance, offer: &Offer<'_>) -> Vec<Case> {
    let names = Arc::new(offer.names(planner));
    let wanted = |rule: &Rule| {
        let is_named = compliance.only.is_empty() || compliance.only.iter().any(|id| rule.is_named(&id.value));
        is_named
            && rule.level <= compliance.level
            && offer.revision.is_none_or(|spoken| rule.revisions.contains(&spoken))
    };
    let rules = compliance.rules.iter().filter_map(|test| Some((test, test.rule.as_ref()?)));
    let mut cases = unknown_safe_tools(planner, template, compliance, offer);
    for (test, rule) in rules.filter(|(_, rule)| wanted(rule)) {
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

/// A failed case for each tool that may be called and that the server does not offer.
fn unknown_safe_tools(planner: &Planner<'_>, template: &Case, compliance: &Compliance, offer: &Offer<'_>) -> Vec<Case> {
    let Some(listed) = compliance.hints.get("safe_tools").filter(|_| !offer.catalog.tools.is_empty()) else {
        return Vec::new();
    };
    let named = listed.items().iter().filter_map(Node::located_text).collect();
    planner.unknown_tools(template, &ToolSelection::Named(named), offer.catalog)
}
