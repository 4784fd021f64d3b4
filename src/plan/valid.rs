//! Calls that must be served, whatever else is known of a tool: with arguments that the suite gives, which somebody
//! vouches for, and without any, where the tool takes none.
//!
//! Generated cases begin with a valid call, and know nothing where it is refused. Here the refusal itself is judged,
//! once for each tool.

use super::block::{Block, GeneratedCalls};
use super::case::{Body, Case, MustServe, Script, SuitePlan, Template};
use super::generated::{bare, text_node};
use super::planner::Planner;
use crate::schema;
use crate::source::template::has_template;
use crate::suite::{Action, Suite};
use crate::wire::{Catalog, Tool};

/// The cases of a target that come before the first of its generated ones; `case` is about to be expanded.
pub(crate) fn cases(planner: &Planner<'_>, suite: &SuitePlan, case: &Case, catalog: &Catalog) -> Vec<Case> {
    let first = suite.cases.iter().find(|other| other.target == planner.index && rests_on_calls(&other.body));
    if first.is_none_or(|first| first.id != case.id) {
        return Vec::new();
    }
    // Generated calls of a tool that takes no arguments are all the same, and judge by themselves.
    let begins_with_it =
        |body: &Body, tool: &Tool| calls(body, &tool.name) && !(is_generated(body) && tool.takes_no_arguments());
    let is_called = |tool: &&Tool| suite.cases.iter().any(|case| begins_with_it(&case.body, tool));
    catalog.tools.iter().filter(is_called).filter_map(|tool| of_tool(planner, case, tool)).collect()
}

fn of_tool(planner: &Planner<'_>, template: &Case, tool: &Tool) -> Option<Case> {
    let suite = planner.suite;
    let is_task = tool.is_task_only();
    if is_task || suite.hazard(&planner.target.server, tool).is_some() {
        return None;
    }
    let must_serve = must_serve(suite, tool)?;
    let args = suite.arguments.get(&tool.name);
    let span = args.map_or(template.span, |args| args.span);
    let args = args.cloned();
    let call = bare(Action::Call { tool: text_node(&tool.name, span), args }, span);
    let script = Script { witness: vec![call], must_serve: Some(must_serve), ..Script::default() };
    let name = format!("valid call / {}", tool.name);
    let mut case = planner.case(&name, None, span, Body::Script(Box::new(script)));
    case.probes.clone_from(&template.probes);
    // A call that hangs takes as long as all others together.
    case.is_early = true;
    Some(case)
}

/// Why a valid call of a tool must be served; `None` where it may be refused.
pub fn must_serve(suite: &Suite, tool: &Tool) -> Option<MustServe> {
    if suite.allow_unjudged.has(&tool.name) || suite.found_arguments.contains(&tool.name) {
        return None;
    }
    match suite.arguments.get(&tool.name) {
        // Arguments that break the schema have a case of their own.
        Some(args) if !has_template(args) && schema::objection(tool.input_schema(), &args.to_json()).is_some() => None,
        Some(_) => Some(MustServe::Arguments),
        None => tool.takes_no_arguments().then_some(MustServe::NoArguments),
    }
}

/// Returns true if generated cases of a target begin with valid calls.
pub fn rests_on_valid_calls(planned: &SuitePlan, target: usize) -> bool {
    planned.cases.iter().any(|case| case.target == target && rests_on_calls(&case.body))
}

/// Returns true if generated cases of a target call that tool.
pub fn is_called_by_generated(planned: &SuitePlan, target: usize, tool: &str) -> bool {
    planned.cases.iter().any(|case| case.target == target && calls(&case.body, tool))
}

/// Returns true if a case becomes calls of a tool that nobody wrote, and that say nothing where valid ones are refused.
fn calls(body: &Body, tool: &str) -> bool {
    block_of(body).is_some_and(|block| rests_on_calls(body) && block.settings.calls(tool))
}

/// Returns true if a case becomes generated calls.
fn is_generated(body: &Body) -> bool {
    block_of(body).is_some_and(|block| block.settings.generated_calls() == GeneratedCalls::AreCases)
}

/// Returns true if a case becomes calls that say nothing where valid ones are refused.
fn rests_on_calls(body: &Body) -> bool {
    block_of(body).is_some_and(|block| block.settings.generated_calls() != GeneratedCalls::None)
}

/// The block that becomes cases.
pub(crate) fn block_of(body: &Body) -> Option<&Block> {
    let Body::Template(template) = body else { return None };
    match template.as_ref() {
        Template::Block(block) => Some(block),
        Template::ForEach(_) | Template::Particular(_) => None,
    }
}
