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
        return Body::skipped(only_as_task(tool).into());
    }
    let arguments = match arguments_for_call(planner.suite, &planner.target.server, tool) {
        Ok(arguments) => arguments,
        Err(why) => return Body::skipped(why.skip_reason(&tool.name, ConfigSource::of(planner.suite))),
    };
    Body::Check(Arc::new(LoadCheck {
        load: Arc::clone(load),
        measurements: Arc::clone(measurements),
        tool: tool.name.clone(),
        arguments,
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::block::tests::{check_lines, planned};

    #[test]
    fn tools_that_may_be_called_are_measured() {
        let tools = json!([
            {"name": "get_user", "inputSchema": {"type": "object"}},
            {"name": "delete_user", "inputSchema": {"type": "object"}},
            {"name": "get_report", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}},
        ]);
        for (load, expected) in [
            (
                "{ calls_per_second: 1 }",
                &[
                    "performance: get_user: check",
                    "performance: delete_user: skipped",
                    "performance: get_report: skipped",
                ][..],
            ),
            (
                "[{ tools: get_user, calls_per_second: 1 }, { tools: get_user, in_flight: 4, latency: { p95: 1s } }]",
                &["performance: get_user: check", "performance: get_user: check"],
            ),
            (
                "{ tools: [get_nobody], calls_per_second: 1 }",
                &["performance / get_nobody: unknown-tool, the server lists no tool `get_nobody`"],
            ),
        ] {
            check_lines(load, &planned(&format!("{{ suite: s, performance: {load} }}"), &[], &tools), expected);
        }
    }
    #[test]
    fn the_arguments_of_a_test_count_for_the_servers_on_which_it_runs() {
        // No value of `key` is valid, so that none can be made up.
        let schema = json!({"type": "object", "properties": {"key": false}, "required": ["key"]});
        let tools = json!([{"name": "get_user", "inputSchema": schema}]);
        let (measured, skipped) = ("performance: get_user: check", "performance: get_user: skipped");
        for (test, expected) in [
            ("call: get_user, args: { key: k }, expect: [{ is_error: false }]", measured),
            ("server: a, call: get_user, args: { key: k }, expect: [{ is_error: false }]", measured),
            ("server: b, call: get_user, args: { key: k }, expect: [{ is_error: false }]", skipped),
            ("call: get_user, args: { key: k }, expect: [{ is_error: true }]", skipped),
        ] {
            let servers = "servers: { a: { command: [a] }, b: { command: [b] } }";
            let suite = format!(
                "{{ suite: s, {servers}, tests: [{{ name: t, {test} }}], performance: {{ calls_per_second: 1 }} }}"
            );
            check_lines(test, &planned(&suite, &[], &tools), &[expected]);
        }
    }
}
