//! Structured content of every selected tool against its declared schema.

use std::collections::BTreeSet;

use super::case::{Body, Case, Script, SkipReason};
use super::generated::{OUTPUT_SCHEMA_JUDGES, output_schema};
use super::planner::Planner;
use super::witness::{Witness, witness};
use crate::source::Span;
use crate::source::template::Names;
use crate::suite::ToolSelection;
use crate::wire::Catalog;

/// One case per selected tool.
pub(super) fn cases(planner: &Planner<'_>, template: &Case, tools: &ToolSelection, catalog: &Catalog) -> Vec<Case> {
    let mut cases = planner.unknown_tools(template, tools, catalog);
    let selected = catalog.tools.iter().filter(|tool| tools.selects(&tool.name));
    cases.extend(selected.map(|tool| {
        let name = format!("{}: {}", template.name, tool.name);
        let mut names = Names::new();
        let body = match (tool.output_schema(), witness(planner.suite, catalog, tool)) {
            (None, _) => skipped(format!("`{}` declares no outputSchema", tool.name)),
            (Some(_), Err(reason)) => skipped(reason),
            (Some(_), Ok(witness)) => {
                names.clone_from(&witness.names);
                Body::Script(Box::new(script(witness, template.span)))
            }
        };
        let mut case = planner.case(&name, None, template.span, body);
        case.names = names;
        case.probes.insert("output-schema".to_owned());
        case.variants = OUTPUT_SCHEMA_JUDGES.map(str::to_owned).into_iter().collect::<BTreeSet<_>>();
        case
    }));
    cases
}

/// The call is its own witness: what a server refuses to do says nothing about its schema.
fn script(witness: Witness, span: Span) -> Script {
    let mut steps = witness.steps;
    if let Some(call) = steps.last_mut() {
        call.expect = vec![output_schema(span)];
    }
    Script { setup: witness.setup, witness: steps, teardown: witness.teardown, ..Script::default() }
}

fn skipped(reason: String) -> Body {
    Body::Skipped(SkipReason::NotApplicable(reason))
}
