//! One case of generated calls for every tool that may be called.

use std::sync::Arc;

use super::Probe;
use super::case::{Body, Case};
use super::planner::Planner;
use crate::suite::Fuzz;
use crate::wire::Catalog;

pub(super) fn cases(planner: &Planner<'_>, template: &Case, settings: &Arc<Fuzz>, catalog: &Catalog) -> Vec<Case> {
    let mut cases = planner.unknown_tools(template, &settings.tools, catalog);
    let selected = catalog.tools.iter().filter(|tool| settings.tools.selects(&tool.name));
    cases.extend(selected.map(|tool| {
        let probe = Probe::Fuzz { settings: Arc::clone(settings), tools: vec![tool.name.clone()] };
        let name = format!("{}: {}", template.name, tool.name);
        let mut case = planner.case(&name, None, template.span, Body::Probe(Arc::new(probe)));
        case.probes.insert("fuzz".to_owned());
        case
    }));
    cases
}
