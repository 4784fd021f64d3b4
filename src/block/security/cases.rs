//! One case for every tool that a probe is about, and one for the environment of the server.

use std::sync::Arc;

use serde_json::json;

use super::environment::EnvironmentCheck;
use super::execution::ExecutionCheck;
use super::exhaustion::ExhaustionCheck;
use super::fetching::{FetchCheck, is_address};
use super::instructions::InstructionsCheck;
use super::path::{PathCheck, is_path};
use super::{AttackPack, SecuritySettings};
use crate::plan::planner::Planner;
use crate::plan::put::parameters;
use crate::plan::{Body, Case, Check};
use crate::wire::{Catalog, Tool};

pub(crate) fn cases(
    planner: &Planner<'_>,
    template: &Case,
    settings: &Arc<SecuritySettings>,
    catalog: &Catalog,
) -> Vec<Case> {
    let mut cases = planner.unknown_tools(template, &settings.tools, catalog);
    cases.extend(settings.fetches.iter().flat_map(|fetches| planner.unknown_tools(template, fetches, catalog)));
    let titled = |title: &str, subject: &str, judges: &[&str], body: Body| {
        let name = [&template.name, title, subject].map(str::to_owned).join(": ");
        let mut case = planner.case(name.trim_end_matches(": "), None, settings.span, body);
        case.probes.clone_from(&template.probes);
        case.variants.extend(judges.iter().map(|variant| (*variant).to_owned()));
        case
    };
    let case = |pack: AttackPack, subject: &str, body| titled(pack.title(), subject, pack.judges(), body);
    if settings.scan {
        let check = Body::Check(Arc::new(InstructionsCheck));
        cases.push(titled("instructions of the server", "", &["SECURITY-TOOL-POISONING"], check));
    }
    for pack in settings.attacks(planner.suite) {
        let tools = catalog.tools.iter().filter(|tool| settings.tools.selects(&tool.name));
        cases.extend(tools.filter_map(|tool| {
            let check = check_of_tool(settings, pack, tool)?;
            Some(case(pack, &tool.name, planner.left_out(tool).map_or(Body::Check(check), Body::Skipped)))
        }));
        cases.extend(
            check_of_server(settings, pack, catalog).map(|(subject, check)| case(pack, subject, Body::Check(check))),
        );
    }
    cases
}

/// The attacks of a pack on a tool; `None` where it has no parameter that they are about.
fn check_of_tool(settings: &Arc<SecuritySettings>, pack: AttackPack, tool: &Tool) -> Option<Arc<dyn Check>> {
    let (empty, settings, name) = (json!({}), Arc::clone(settings), tool.name.clone());
    let parameters = parameters(tool.input_schema(), &empty);
    match pack {
        AttackPack::PathTraversal if parameters.iter().any(is_path) => {
            Some(Arc::new(PathCheck { settings, tool: Some(name) }))
        }
        AttackPack::Injection
            if parameters.iter().any(|parameter| parameter.with(&json!("mcprove")).is_some())
                && (settings.names(&name) || !tool.runs_code()) =>
        {
            Some(Arc::new(ExecutionCheck { settings, tool: name }))
        }
        AttackPack::Ssrf
            if !settings.fetches.as_ref().is_some_and(|fetches| fetches.selects(&name))
                && parameters.iter().any(is_address) =>
        {
            Some(Arc::new(FetchCheck { settings, tool: Some(name) }))
        }
        AttackPack::Exhaustion => Some(Arc::new(ExhaustionCheck { settings, tool: name })),
        AttackPack::PathTraversal | AttackPack::Injection | AttackPack::Ssrf | AttackPack::Secrets => None,
    }
}

/// The attacks of a pack that are about no tool, and their subject, which may be the whole server.
fn check_of_server(
    settings: &Arc<SecuritySettings>,
    pack: AttackPack,
    catalog: &Catalog,
) -> Option<(&'static str, Arc<dyn Check>)> {
    let settings = Arc::clone(settings);
    match pack {
        AttackPack::PathTraversal if !catalog.resource_templates.is_empty() => {
            Some(("resources", Arc::new(PathCheck { settings, tool: None })))
        }
        AttackPack::Ssrf if !catalog.resources.is_empty() || !catalog.resource_templates.is_empty() => {
            Some(("resources", Arc::new(FetchCheck { settings, tool: None })))
        }
        AttackPack::Secrets => Some(("", Arc::new(EnvironmentCheck { settings }))),
        AttackPack::Exhaustion | AttackPack::PathTraversal | AttackPack::Injection | AttackPack::Ssrf => None,
    }
}
