//! Valid calls: what must be served before a refusal or a result says anything about a server.

use serde_json::Value as Json;

use super::arguments::{self, ConfigSource, NotCallable, only_as_task};
use super::check_trait::CheckContext;
use super::generated::{bare, text_node};
use super::planner::Planner;
use super::raw;
use crate::event::Reason;
use crate::schema;
use crate::source::template::{Names, has_template};
use crate::source::{Node, Value, words};
use crate::suite::{Action, Step, Suite, Test};
use crate::wire::{Catalog, Tool};

/// Steps whose last is a valid call of a tool.
pub(crate) struct Witness {
    /// The row of the test that gave the steps.
    pub(crate) names: Names,
    pub(crate) setup: Vec<Step>,
    pub(crate) steps: Vec<Step>,
    pub(crate) teardown: Vec<Step>,
}

/// A valid call of a tool, with everything that must happen before it; `Err` says why there is none.
pub(crate) fn find_witness(planner: &Planner<'_>, catalog: &Catalog, tool: &Tool) -> Result<Witness, Reason> {
    let suite = planner.suite;
    if tool.is_task_only() {
        return Err(only_as_task(tool).into());
    }
    if let Some(donor) = suite.tests.iter().find_map(|test| donor_steps(test, tool, planner, catalog)) {
        return Ok(donor);
    }
    let span = suite.name.span;
    let args = arguments::valid_arguments(suite, &planner.target.server, tool)
        .map_err(|why| why.skip_reason(&tool.name, ConfigSource::of(suite)))?;
    let args = if suite.arguments.contains_key(&tool.name) { given_arguments(tool, &args)? } else { args };
    let call = bare(Action::Call { tool: text_node(&tool.name, span), args: Some(args) }, span);
    Ok(Witness { names: Names::new(), setup: Vec::new(), steps: vec![call], teardown: Vec::new() })
}

/// The arguments that the suite gives for a tool; `Err` where its schema refuses them.
fn given_arguments(tool: &Tool, args: &Node) -> Result<Node, String> {
    let objection = if has_template(args) { None } else { schema::objection(tool.input_schema(), &args.to_json()) };
    let reason = |why| format!("the suite's `arguments:` for `{}` violate its input schema: {why}", tool.name);
    objection.map_or_else(|| Ok(args.clone()), |why| Err(reason(why)))
}

/// The steps of a test up to a call of `tool` that the test expects to succeed, if other cases may repeat them.
pub(crate) fn donor_steps(test: &Test, tool: &Tool, planner: &Planner<'_>, catalog: &Catalog) -> Option<Witness> {
    let may_be_called = |tool: &Tool| planner.suite.hazard(&planner.target.server, tool).is_none();
    let repeatable = test.extras.skip.is_none()
        && test.extras.for_each.is_none()
        && test.extras.property.is_none()
        && test.extras.inject.is_empty();
    // Another server may have a tool of the same name, with other arguments.
    if !repeatable || !test.is_for(&planner.target.server) || !may_be_called(tool) {
        return None;
    }
    let at = test.steps.iter().position(|step| called_tool(step) == Some(&tool.name) && expects_success(step))?;
    let steps: Vec<Step> = test.steps[..=at].to_vec();
    let is_harmless = |step: &Step| {
        let tool = called_tool(step).and_then(|name| catalog.tool(name));
        raw::is_repeatable(step) && tool.is_none_or(may_be_called)
    };
    let harmless = test.extras.setup.iter().chain(&steps).chain(&test.extras.teardown).all(is_harmless);
    let editable =
        steps[at].action.as_call().is_some_and(|(_, args)| args.is_none_or(|args| matches!(args.value, Value::Map(_))));
    if !harmless || !editable {
        return None;
    }
    let unjudged = |step: Step| Step { expect: Vec::new(), snapshot: None, ..step };
    let names = test.extras.rows.first().map(|row| row.values.clone()).unwrap_or_default();
    Some(Witness {
        names,
        setup: test.extras.setup.clone(),
        steps: steps.into_iter().map(unjudged).collect(),
        teardown: test.extras.teardown.clone(),
    })
}

/// Arguments of a tool of a server that the suite itself gives: those of its first call that stands for itself, or `arguments:`.
pub(crate) fn known_arguments(suite: &Suite, server: &str, tool: &Tool) -> Option<(String, Node)> {
    let is_whole =
        |test: &&Test| test.extras.property.is_none() && test.extras.skip.is_none() && test.extras.setup.is_empty();
    let own =
        suite.tests.iter().filter(|test| test.is_for(server)).filter(is_whole).filter_map(|test| test.steps.first());
    let own = own.filter(|step| called_tool(step) == Some(&tool.name) && expects_success(step));
    let own = own.filter_map(|step| step.action.as_call()?.1).find(|args| !has_template(args));
    let known = own.or_else(|| suite.arguments.get(&tool.name))?;
    Some((tool.name.clone(), known.clone()))
}

/// Valid arguments of a tool: those of a test that calls it, of `arguments:`, or generated ones.
///
/// # Errors
///
/// Says why the tool is not called where the suite forbids it, or nothing fits.
pub(crate) fn arguments_for_call(suite: &Suite, server: &str, tool: &Tool) -> Result<Node, NotCallable> {
    let given = arguments::valid_arguments(suite, server, tool);
    match known_arguments(suite, server, tool) {
        Some((_, known)) if !matches!(given, Err(NotCallable::Hazard(_))) => Ok(known),
        _ => given,
    }
}

/// The same for a check, filled in, of a tool that is no task.
///
/// # Errors
///
/// Says why the tool is not called.
pub(crate) fn filled_arguments(context: &CheckContext<'_>, tool: &Tool) -> Result<Json, NotCallable> {
    if tool.is_task_only() {
        return Err(NotCallable::NothingFits(only_as_task(tool)));
    }
    let arguments = arguments_for_call(context.suite, context.server_name, tool)?;
    let unfilled = || NotCallable::NothingFits("its arguments use a name that only a step captures".to_owned());
    context.fill(&arguments).ok_or_else(unfilled)
}

/// Returns true if nothing in a step's expectations says that the call must fail, or that it may.
pub(crate) fn expects_success(step: &Step) -> bool {
    let records_error = step.snapshot.as_ref().is_some_and(|snapshot| snapshot.sample.is_of_error());
    !records_error && !step.expect.iter().any(|item| speaks_of_errors(item.node()))
}

fn speaks_of_errors(item: &Node) -> bool {
    let text = |key: &str| item.get(key).and_then(Node::text).unwrap_or_default();
    let mut parts = ["any", "all"].into_iter().filter_map(|key| item.get(key)).flat_map(Node::items);
    item.get("is_error").is_some_and(|value| value.flag() == Some(true))
        || ["error", "refused", "refused_or_ignored", "readable_error"].iter().any(|key| item.get(key).is_some())
        || text("at").starts_with("error")
        || words(text("assert")).iter().any(|word| word == "error")
        || parts.any(speaks_of_errors)
}

/// The name of the tool that a step calls, unless it is a template.
pub(crate) fn called_tool(step: &Step) -> Option<&str> {
    step.action.as_call().and_then(|(tool, _)| tool.text())
}

impl Witness {
    pub(crate) fn copy(&self) -> Self {
        Self {
            names: self.names.clone(),
            setup: self.setup.clone(),
            steps: self.steps.clone(),
            teardown: self.teardown.clone(),
        }
    }

    pub(crate) fn last_args(&self) -> Option<Node> {
        let step = self.steps.last()?;
        let (_, args) = step.action.as_call()?;
        Some(args.cloned().unwrap_or(Node { value: Value::Map(Vec::new()), span: step.span }))
    }
}
