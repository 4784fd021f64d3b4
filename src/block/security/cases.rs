//! One case for every tool that a probe is about, and one for the environment of the server.

use std::sync::Arc;

use serde_json::{Value, json};

use super::environment::EnvironmentCheck;
use super::execution::ExecutionCheck;
use super::exhaustion::ExhaustionCheck;
use super::fetching::{FetchCheck, is_address};
use super::instructions::InstructionsCheck;
use super::path::{PathCheck, is_path};
use super::{AttackPack, SecuritySettings};
use crate::event::CheckResult;
use crate::plan::planner::Planner;
use crate::plan::put::{Parameter, parameters};
use crate::plan::{Body, BoxFuture, Case, Check, CheckContext};
use crate::source::Node;
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
        let before = cases.len();
        let tools = catalog.tools.iter().filter(|tool| settings.tools.selects(&tool.name)).enumerate();
        cases.extend(tools.filter_map(|(at, tool)| {
            let given = planner.suite.arguments.get(&tool.name).map_or_else(|| json!({}), Node::to_json);
            let check = check_of_tool(settings, pack, tool, &given, at == 0)?;
            Some(case(pack, &tool.name, planner.left_out(tool).map_or(Body::Check(check), Body::skipped)))
        }));
        cases.extend(
            check_of_server(settings, pack, catalog).map(|(subject, check)| case(pack, subject, Body::Check(check))),
        );
        let is_attacked = cases[before..].iter().any(|case| matches!(case.body, Body::Check(_)));
        if pack == AttackPack::PathTraversal && settings.root.is_some() && !is_attacked {
            cases.push(case(pack, "", Body::Check(Arc::new(NothingToAttack))));
        }
    }
    cases
}

/// The suite names a folder, and nothing that could lead out of it is attacked.
#[derive(Debug)]
struct NothingToAttack;

impl Check for NothingToAttack {
    fn run<'a>(&'a self, _: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        let why = "`root` is given, but no attack could be made: no tool that may be called and no template of resources takes \
                   a path; allow tools with `allow:`, or leave `root` out";
        Box::pin(async move { CheckResult::inconclusive(why.to_owned()) })
    }
}

/// The attacks of a pack on a tool, of which the suite gives these arguments; `None` where it has no parameter that they are
/// about. The first tool also stands for how the server reads messages.
fn check_of_tool(
    settings: &Arc<SecuritySettings>,
    pack: AttackPack,
    tool: &Tool,
    given: &Value,
    is_first: bool,
) -> Option<Arc<dyn Check>> {
    let (settings, name) = (Arc::clone(settings), tool.name.clone());
    let parameters = parameters(tool.input_schema(), given);
    match pack {
        AttackPack::PathTraversal if parameters.iter().any(is_path) => {
            Some(Arc::new(PathCheck { settings, tool: Some(name) }))
        }
        AttackPack::Injection
            if parameters.iter().any(|parameter| parameter.with(&json!("mcprove")).is_some())
                && (settings.names(&name) || !tool.runs_code() || tool.computes_sums()) =>
        {
            Some(Arc::new(ExecutionCheck { settings, tool: name }))
        }
        AttackPack::Ssrf
            if !settings.fetches.as_ref().is_some_and(|fetches| fetches.selects(&name))
                && parameters.iter().any(is_address) =>
        {
            Some(Arc::new(FetchCheck { settings, tool: Some(name) }))
        }
        AttackPack::Exhaustion if is_first || parameters.iter().any(takes_any_size) => {
            Some(Arc::new(ExhaustionCheck { settings, tool: name }))
        }
        AttackPack::Exhaustion
        | AttackPack::PathTraversal
        | AttackPack::Injection
        | AttackPack::Ssrf
        | AttackPack::Secrets => None,
    }
}

/// A parameter takes texts, lists or objects: a number or a choice is refused before a tool sees how large it is.
fn takes_any_size(parameter: &Parameter<'_>) -> bool {
    [json!("mcprove"), json!(["mcprove"]), json!([1]), json!([]), json!({})]
        .iter()
        .any(|value| parameter.with(value).is_some())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::settings;

    const ALL: [AttackPack; 5] = [
        AttackPack::Exhaustion,
        AttackPack::Injection,
        AttackPack::PathTraversal,
        AttackPack::Secrets,
        AttackPack::Ssrf,
    ];

    #[test]
    fn a_tool_gets_the_attacks_that_its_parameters_are_about() {
        let (heavy, run, path, fetch) = ("heavy arguments", "executed arguments", "ways out", "addresses");
        for (text, tool, parameter, schema, expected) in [
            ("{ time: 1s }", "greet", "name", json!({"type": "string"}), vec![heavy, run]),
            ("{ time: 1s }", "read", "path", json!({"type": "string"}), vec![heavy, run, path]),
            ("{ time: 1s }", "open", "url", json!({"type": "string"}), vec![heavy, run, path, fetch]),
            ("{ fetches: [open] }", "open", "link", json!({"type": "string"}), vec![heavy, run]),
            ("{ time: 1s }", "add", "count", json!({"type": "integer"}), vec![]),
            ("{ time: 1s }", "add", "counts", json!({"type": "array", "items": {"type": "integer"}}), vec![heavy]),
            // A tool that is meant to run commands is attacked only by its name.
            ("{ time: 1s }", "run_command", "line", json!({"type": "string"}), vec![heavy]),
            // Sums are no programs.
            ("{ time: 1s }", "calculate", "expression", json!({"type": "string"}), vec![heavy, run]),
            ("{ time: 1s }", "evaluate", "expression", json!({"type": "string"}), vec![heavy]),
            ("{ tools: [run_command] }", "run_command", "line", json!({"type": "string"}), vec![heavy, run]),
        ] {
            let schema = json!({"type": "object", "properties": {parameter: schema}});
            let tool = Tool::new(json!({"name": tool, "inputSchema": schema}));
            let settings = Arc::new(settings(text));
            let check = |pack: &AttackPack, is_first| check_of_tool(&settings, *pack, &tool, &json!({}), is_first);
            assert!(check(&AttackPack::Exhaustion, true).is_some(), "{parameter}");
            let attacks = ALL.into_iter().filter(|pack| check(pack, false).is_some());
            let titles: Vec<&str> = attacks.map(AttackPack::title).collect();
            assert!(titles.len() == expected.len(), "{text} {parameter}: {titles:?}");
            assert!(
                titles.iter().zip(&expected).all(|(title, part)| title.starts_with(part)),
                "{parameter}: {titles:?}"
            );
        }
    }

    #[test]
    fn resources_get_attacks_where_a_client_may_choose_the_address() {
        let resource = || vec![json!({"uri": "a://b"})];
        let template = || vec![json!({"uriTemplate": "a://{b}"})];
        for (resources, resource_templates, expected) in [
            (vec![], vec![], vec!["environment"]),
            (resource(), vec![], vec!["environment", "addresses of this machine"]),
            (vec![], template(), vec!["ways out of the folder", "environment", "addresses of this machine"]),
        ] {
            let catalog = Catalog { resources, resource_templates, ..Catalog::default() };
            let settings = Arc::new(settings("{ time: 1s }"));
            let attacks = ALL.into_iter().filter(|pack| check_of_server(&settings, *pack, &catalog).is_some());
            assert_eq!(attacks.map(AttackPack::title).collect::<Vec<_>>(), expected);
        }
    }
}
