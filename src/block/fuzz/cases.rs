//! One case of generated calls for every tool that may be called.

use std::sync::Arc;

use super::Fuzz;
use super::crashing_tools::CrashingTools;
use super::run::FuzzCheck;
use crate::event::Reason;
use crate::plan::planner::Planner;
use crate::plan::{Body, Case};
use crate::wire::{Catalog, Tool};

/// The variants that generated calls judge.
pub(crate) const JUDGES: [&str; 5] = [
    "SCHEMA-CONSTRAINT-NOT-ENFORCED",
    "SCHEMA-INPUT-NOT-VALIDATED",
    "SCHEMA-MISSING-STRUCTURED",
    "SCHEMA-OUTPUT-MISMATCH",
    "TOOL-CRASH",
];

pub(crate) fn cases(planner: &Planner<'_>, template: &Case, settings: &Arc<Fuzz>, catalog: &Catalog) -> Vec<Case> {
    let mut cases = planner.unknown_tools(template, &settings.tools, catalog);
    cases.extend(settings.block.iter().flat_map(|block| planner.unknown_tools(template, block, catalog)));
    let selected: Vec<&Tool> = catalog.tools.iter().filter(|tool| settings.tools.selects(&tool.name)).collect();
    let called: Vec<&Tool> =
        selected.iter().copied().filter(|tool| reason_to_skip(planner, settings, tool).is_none()).collect();
    let crashing_tools = Arc::default();
    cases.extend(selected.iter().map(|tool| {
        let body = match reason_to_skip(planner, settings, tool) {
            Some(reason) => Body::skipped(reason),
            None => Body::Check(Arc::new(check(settings, &crashing_tools, tool, &called))),
        };
        let name = format!("{}: {}", template.name, tool.name);
        let mut case = planner.case(&name, None, template.span, body);
        case.probes.insert("fuzz".to_owned());
        case.variants.extend(JUDGES.map(str::to_owned));
        case
    }));
    cases
}

/// Why a tool is not called.
fn reason_to_skip(planner: &Planner<'_>, settings: &Fuzz, tool: &Tool) -> Option<Reason> {
    if settings.excludes(&tool.name) {
        return Some(Reason::SkippedBySuite(format!("`{}` is blocked", tool.name)));
    }
    planner.left_out(tool)
}

/// Calls of one tool, with those of all others in between.
fn check(settings: &Arc<Fuzz>, crashing_tools: &Arc<CrashingTools>, tool: &Tool, called: &[&Tool]) -> FuzzCheck {
    let others = called.iter().filter(|other| other.name != tool.name).map(|other| other.name.clone());
    let tools = std::iter::once(tool.name.clone()).chain(others).collect();
    FuzzCheck { settings: Arc::clone(settings), tools, crashing_tools: Arc::clone(crashing_tools) }
}
