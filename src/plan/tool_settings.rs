//! Checks the settings of a suite that name tools (`allow:`, `never:`, `arguments:`) against the tools that its servers list:
//! a name that no server offers, or arguments that violate the schema of their tool, would otherwise be ignored silently.

use std::sync::Arc;

use serde_json::Value as Json;

use super::case::{Body, Case, Mistake, Plan, SuitePlan};
use super::offer::is_authorized;
use super::planner::{Planner, unknown_tool};
use super::records;
use crate::schema;
use crate::source::{Node, did_you_mean};
use crate::suite::{NamePattern, Suite};
use crate::wire::{Catalog, Tool};

/// A failed case for each mistake in `allow:`, `never:` and `arguments:` of a suite, where it was asked for.
///
/// `catalogs` are those of all its servers: what one of them takes is no mistake. `filled` fills the templates of
/// arguments.
pub fn invalid_tool_settings(
    plan: &Plan,
    suite: &SuitePlan,
    catalogs: &[Arc<Catalog>],
    filled: &dyn Fn(&Node) -> Option<Json>,
) -> Vec<Arc<Case>> {
    let Some(target) = suite.targets.first() else { return Vec::new() };
    let planner = Planner {
        suite: &suite.suite,
        blocks: &suite.blocks,
        target,
        index: 0,
        sources: &plan.sources,
        has_only: false,
    };
    let case = |key: &str, name: &str, mistake: Mistake| {
        Arc::new(planner.case(&format!("{key} / {name}"), None, mistake.span, Body::failed(mistake)))
    };
    // Flags are told of as flags.
    let is_written = suite.suite.asked.is_none();
    let is_hidden =
        |tool: &str| is_authorized(&suite.suite) && suite.blocks.iter().any(|block| block.settings.calls_hidden(tool));
    let unknown = suite.suite.names.iter().filter(|_| is_written).filter_map(|named| {
        if is_hidden(&named.tool.name.value) {
            return None;
        }
        let mistake = unlisted_tool(&named.tool, catalogs)?;
        Some(case(named.key, &named.tool.name.value, mistake))
    });
    let broken = suite.suite.arguments.iter().filter_map(|(tool, args)| {
        let mistake = invalid_arguments(tool, args, &filled(args)?, catalogs)?;
        Some(case("arguments", tool, mistake))
    });
    let of_records = invalid_records(&suite.suite, catalogs).into_iter();
    let of_records = of_records.map(|(name, mistake)| case(records::VARIABLE, &name, mistake));
    unknown
        .chain(broken)
        .chain(of_records)
        .filter(|case| plan.selection.keeps(case, &suite.suite, &suite.targets))
        .collect()
}

/// The mistake where no server lists a tool with a name, or one that a pattern stands for.
fn unlisted_tool(named: &NamePattern, catalogs: &[Arc<Catalog>]) -> Option<Mistake> {
    let offered: Vec<&str> = catalogs.iter().flat_map(|catalog| &catalog.tools).map(|tool| &*tool.name).collect();
    if offered.iter().any(|tool| named.is_match(tool)) {
        return None;
    }
    let mistake = unknown_tool(&named.name, &offered);
    let of = if named.is_pattern() { "a tool that matches" } else { "a tool" };
    let message = format!("no server of the suite offers {of} `{}`", named.name.value);
    Some(if catalogs.len() > 1 { Mistake { message, ..mistake } } else { mistake })
}

/// The mistakes in the variable that names the tools of records, where a test uses it, each with what it is about.
fn invalid_records(suite: &Suite, catalogs: &[Arc<Catalog>]) -> Vec<(String, Mistake)> {
    let mut filters = suite.tests.iter().filter_map(|test| test.extras.for_each.as_ref()?.filter.as_ref());
    if !filters.any(|filter| filter.value.contains("offer.records")) {
        return Vec::new();
    }
    let named = records::named_tools(suite).map(Node::entries).unwrap_or_default();
    let mistakes = named.iter().filter_map(|(role, tool)| {
        if !records::ROLES.iter().any(|(known, _)| *known == role.value) {
            let message = format!("`{}` is nothing that the pack does to a record", role.value);
            let help = did_you_mean(&role.value, records::ROLES.iter().map(|(known, _)| *known));
            return Some((role.value.clone(), Mistake { code: "unknown-key", message, help, span: role.span }));
        }
        let name = NamePattern::name(tool.located_text()?);
        Some((name.name.value.clone(), unlisted_tool(&name, catalogs)?))
    });
    mistakes.collect()
}

/// A failed case for arguments that no tool of that name accepts.
fn invalid_arguments(name: &str, args: &Node, value: &Json, catalogs: &[Arc<Catalog>]) -> Option<Mistake> {
    let tools: Vec<&Tool> = catalogs.iter().filter_map(|catalog| catalog.tool(name)).collect();
    let objections: Option<Vec<String>> =
        tools.iter().map(|tool| schema::objection(tool.input_schema(), value)).collect();
    let objection = objections?.into_iter().next()?;
    let message = format!("the arguments of `{name}` violate its input schema: {objection}");
    let help = "give arguments that the tool accepts; they count as a valid call of it".to_owned();
    Some(Mistake { code: "bad-arguments", message, help: Some(help), span: args.span })
}
