//! One case for every tool that may be called.

use std::sync::Arc;

use super::Load;
use super::check::LoadCheck;
use super::measurement::Measurements;
use crate::plan::arguments::ConfigSource;
use crate::plan::arguments::only_as_task;
use crate::plan::planner::Planner;
use crate::plan::witness::arguments_for_call;
use crate::plan::{Body, Case};
use crate::wire::{Catalog, Tool};

pub(crate) fn cases(
    planner: &Planner<'_>,
    template: &Case,
    load: &Arc<Load>,
    measurements: &Arc<Measurements>,
    catalog: &Catalog,
) -> Vec<Case> {
    let mut cases = planner.unknown_tools(template, &load.tools, catalog);
    let selected = catalog.tools.iter().filter(|tool| load.tools.selects(&tool.name));
    cases.extend(selected.map(|tool| {
        let body = body(planner, tool, load, measurements);
        let mut case = planner.case(&format!("{}: {}", template.name, tool.name), None, load.span, body);
        case.variants.extend(load.judges().map(str::to_owned));
        case
    }));
    cases
}

fn body(planner: &Planner<'_>, tool: &Tool, load: &Arc<Load>, measurements: &Arc<Measurements>) -> Body {
    if tool.is_task_only() {
        return Body::Skipped(only_as_task(tool).into());
    }
    let arguments = match arguments_for_call(planner.suite, &planner.target.server, tool) {
        Ok(arguments) => arguments,
        Err(why) => return Body::Skipped(why.skip_reason(&tool.name, ConfigSource::of(planner.suite))),
    };
    Body::Check(Arc::new(LoadCheck {
        load: Arc::clone(load),
        measurements: Arc::clone(measurements),
        tool: tool.name.clone(),
        arguments,
    }))
}
