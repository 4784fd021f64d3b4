//! Structured content of every selected tool against its declared schema, for ordinary input and for what lies at its
//! edges.

use crate::event::Reason;
use crate::plan::arguments::{SafeArguments, safe_arguments, server_folder};
use crate::plan::generated::{OUTPUT_SCHEMA_JUDGES, bare, output_schema, text_node};
use crate::plan::planner::Planner;
use crate::plan::witness::{Witness, find_witness};
use crate::plan::{Body, Case, Script};
use crate::source::template::{Names, from_json, has_template};
use crate::source::{Node, Span};
use crate::suite::{Action, Step, ToolSelection};
use crate::wire::{Catalog, Tool};

/// The number of calls with boundary values that follow the ordinary one.
const EDGES: usize = 8;

/// One case per selected tool.
pub(crate) fn cases(planner: &Planner<'_>, template: &Case, tools: &ToolSelection, catalog: &Catalog) -> Vec<Case> {
    let mut cases = planner.unknown_tools(template, tools, catalog);
    let selected = catalog.tools.iter().filter(|tool| tools.selects(&tool.name));
    cases.extend(selected.map(|tool| {
        let name = format!("{}: {}", template.name, tool.name);
        let mut names = Names::new();
        let body = match (tool.output_schema(), find_witness(planner, catalog, tool)) {
            (None, _) => skipped_body(format!("`{}` declares no outputSchema", tool.name)),
            (Some(_), Err(reason)) => skipped_body(reason),
            (Some(_), Ok(witness)) => {
                names.clone_from(&witness.names);
                let safe_arguments = safe_arguments(tool, server_folder(planner.suite, &planner.target.server)).ok();
                Body::Script(Box::new(script(tool, witness, safe_arguments.as_ref(), template.span)))
            }
        };
        let mut case = planner.case(&name, None, template.span, body);
        case.names = names;
        case.probes.insert("output-schema".to_owned());
        case.variants = OUTPUT_SCHEMA_JUDGES.map(str::to_owned).into_iter().collect();
        case
    }));
    cases
}

/// The call is its own witness: what a server refuses to do says nothing about its schema. Of the calls at the edges,
/// those that are refused say nothing either.
fn script(tool: &Tool, witness: Witness, safe_arguments: Option<&SafeArguments>, span: Span) -> Script {
    let calls = safe_arguments.zip(witness.last_args());
    let steps = calls.map(|(safe_arguments, args)| edges(tool, safe_arguments, &args, span)).unwrap_or_default();
    let mut served = witness.steps;
    if let Some(call) = served.last_mut() {
        call.expect = vec![output_schema(span)];
    }
    Script {
        setup: witness.setup,
        witness: served,
        steps: steps.into(),
        teardown: witness.teardown,
        ..Script::default()
    }
}

/// Calls with valid input at the edges of what the schema allows.
fn edges(tool: &Tool, safe_arguments: &SafeArguments, args: &Node, span: Span) -> Vec<Step> {
    // A tool that changes data should not leave odd values behind.
    if tool.raw["annotations"]["readOnlyHint"] == false {
        return Vec::new();
    }
    let ordinary = args.to_json();
    let made = safe_arguments.boundaries().into_iter().filter(|value| *value != ordinary);
    let made = made.map(|value| from_json(&value, span)).filter(|args| !has_template(args));
    let call = |args| Step {
        name: Some(format!("a call of `{}` with boundary values", tool.name)),
        expect: vec![output_schema(span)],
        expects: true,
        ..bare(Action::Call { tool: text_node(&tool.name, span), args: Some(args) }, span)
    };
    spread(made.collect()).into_iter().map(call).collect()
}

/// As many as are called, from all over the list: neighbours are about the same argument.
fn spread(made: Vec<Node>) -> Vec<Node> {
    let count = made.len();
    let is_picked = |at: usize| count <= EDGES || at * EDGES / count != (at + 1) * EDGES / count;
    made.into_iter().enumerate().filter(|(at, _)| is_picked(*at)).map(|(_, args)| args).collect()
}

fn skipped_body(reason: impl Into<Reason>) -> Body {
    Body::skipped(reason.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::node;
    use serde_json::{Value, json};

    fn tool(annotations: &Value, properties: &Value) -> Tool {
        let schema = json!({"type": "object", "properties": properties, "required": ["n"]});
        Tool::new(json!({"name": "add", "inputSchema": schema, "outputSchema": {}, "annotations": annotations}))
    }

    #[test]
    fn a_tool_is_called_at_the_boundaries_of_its_schema() {
        let range = json!({"n": {"type": "integer", "minimum": 1, "maximum": 9}});
        for (annotations, properties, expected) in [
            (json!({}), range.clone(), true),
            (json!({"readOnlyHint": true}), range.clone(), true),
            // It should not keep odd values.
            (json!({"readOnlyHint": false}), range, false),
        ] {
            let tool = tool(&annotations, &properties);
            let safe = SafeArguments::new(&tool.arguments_schema(), None).unwrap();
            let args = node("{ n: 5 }");
            let steps = edges(&tool, &safe, &args, args.span);
            assert_eq!(!steps.is_empty(), expected, "{}", tool.raw);
            assert!(steps.len() <= EDGES && steps.iter().all(|step| step.expects));
        }
    }

    #[test]
    fn calls_are_picked_from_all_over_the_list() {
        let picked = |count: i64| -> Vec<Value> {
            let made = (0..count).map(|at| from_json(&json!(at), node("x").span)).collect();
            spread(made).iter().map(Node::to_json).collect()
        };
        assert_eq!(picked(3), [0, 1, 2]);
        assert_eq!(picked(16), [1, 3, 5, 7, 9, 11, 13, 15]);
        assert_eq!(picked(100).len(), EDGES);
    }
}
