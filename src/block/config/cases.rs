//! A case for each hint of a tool, and for each claim of a setting.

use std::sync::Arc;

use serde_json::Value;

use super::hints::{Hint, HintCheck};
use super::page_sizes::{PAGE_SIZE, PageSize, PageSizeCheck};
use super::setting_sessions::SettingSessions;
use super::{
    ConfigSetting, ConfigSettings, HintSettings, PageSizeSettings, SettingClaim, SettingStart, calls, limit, start,
    values,
};
use crate::event::{CheckResult, Reason};
use crate::plan::planner::Planner;
use crate::plan::{Body, BoxFuture, Case, Check, CheckContext};
use crate::source::Node;
use crate::suite::{Server, ToolSelection};
use crate::wire::Catalog;

pub(crate) fn cases(planner: &Planner<'_>, template: &Case, config: &ConfigSettings, catalog: &Catalog) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    if let Some(hints) = &config.hints {
        cases.extend(of_hints(planner, template, hints, catalog));
    }
    if let Some(setting) = server(planner).and_then(|server| config.read_only_start(server)) {
        cases.push(of_claim(planner, template, &Arc::new(setting), 0));
    }
    if let Some(sizes) = &config.page_sizes {
        cases.extend(of_page_sizes(planner, template, sizes, catalog));
    }
    for setting in &config.settings {
        let named = ToolSelection::of_names(setting.listed_tools());
        cases.extend(planner.unknown_tools(template, &named, catalog));
        cases.extend((0..setting.claims.len()).map(|at| of_claim(planner, template, setting, at)));
    }
    cases
}

/// The server is started for a run, so that settings can be added.
pub(crate) fn takes_settings(planner: &Planner<'_>) -> bool {
    server(planner).is_some_and(Server::is_started)
}

/// The server of the cases.
pub(crate) fn server<'a>(planner: &Planner<'a>) -> Option<&'a Server> {
    planner.suite.servers.get(&planner.target.server)
}

fn of_hints(planner: &Planner<'_>, template: &Case, hints: &Arc<HintSettings>, catalog: &Catalog) -> Vec<Case> {
    let mut cases = planner.unknown_tools(template, &hints.tools, catalog);
    cases.extend(hints.ignore.iter().flat_map(|ignore| planner.unknown_tools(template, ignore, catalog)));
    let unknown = cases.len();
    for tool in catalog.tools.iter().filter(|tool| hints.tools.selects(&tool.name)) {
        let Some(hint) = Hint::of(tool) else { continue };
        let body = Body::Check(Arc::new(HintCheck { settings: Arc::clone(hints), tool: tool.name.clone(), hint }));
        let mut case =
            planner.case(&format!("{}: {} {}", template.name, tool.name, hint.as_str()), None, hints.span, body);
        case.probes.clone_from(&template.probes);
        case.variants.insert(hint.judges().to_owned());
        cases.push(case);
    }
    if cases.len() == unknown {
        let why = "no selected tool declares `readOnlyHint: true` or `idempotentHint: true`".to_owned();
        let body = Body::skipped(Reason::NotApplicable(why));
        cases.push(planner.case(&format!("{}: hints", template.name), None, hints.span, body));
    }
    cases
}

fn of_page_sizes(
    planner: &Planner<'_>,
    template: &Case,
    sizes: &Arc<PageSizeSettings>,
    catalog: &Catalog,
) -> Vec<Case> {
    let mut cases = planner.unknown_tools(template, &sizes.tools, catalog);
    let unknown = cases.len();
    for tool in catalog.tools.iter().filter(|tool| sizes.tools.selects(&tool.name)) {
        let given = planner.suite.arguments.get(&tool.name).map_or(Value::Null, Node::to_json);
        let Some(size) = PageSize::of(tool, &sizes.parameters, &given) else { continue };
        let name = format!("{}: {} keeps to `{}`", template.name, tool.name, size.name);
        let body = Body::Check(Arc::new(PageSizeCheck { settings: Arc::clone(sizes), tool: tool.name.clone(), size }));
        let mut case = planner.case(&name, None, sizes.span, body);
        case.is_early = true;
        case.probes.clone_from(&template.probes);
        case.variants.insert(PAGE_SIZE.to_owned());
        cases.push(case);
    }
    if cases.len() == unknown {
        let why = "no selected tool has a whole number as a parameter for the size of a page, such as `limit`; name others \
                   under `parameters`";
        let body = Body::skipped(Reason::NotApplicable(why.to_owned()));
        cases.push(planner.case(&format!("{}: page sizes", template.name), None, sizes.span, body));
    }
    cases
}

fn of_claim(planner: &Planner<'_>, template: &Case, setting: &Arc<ConfigSetting>, at: usize) -> Case {
    let claim = &setting.claims[at];
    let several = if setting.claims.len() > 1 { format!(" / {}", claim.as_str()) } else { String::new() };
    let name = format!("{}: {}{several}", template.name, setting.name);
    let body = body(planner, setting, at);
    let is_run = matches!(body, Body::Check(_));
    let mut case = planner.case(&name, None, setting.span, body);
    case.probes.clone_from(&template.probes);
    if is_run {
        case.variants.insert(claim.judges().to_owned());
    }
    case
}

fn body(planner: &Planner<'_>, setting: &Arc<ConfigSetting>, at: usize) -> Body {
    if let Some(why) = &setting.skip {
        return Body::skipped(Reason::SkippedBySuite(why.clone()));
    }
    let is_scratch = server(planner).is_some_and(|server| server.scratch);
    let lacking = match &setting.start {
        SettingStart::Added { .. } if !takes_settings(planner) => Some(
            "the server is not started by this run, so it cannot be started with other settings; give its `command`"
                .to_owned(),
        ),
        SettingStart::Given { words, .. } if !is_scratch => Some(format!(
            "the check starts the server without `{words}`, too, and calls tools that write: say with `scratch: true` \
             that its data may be lost, or give it a `store`"
        )),
        SettingStart::Added { .. } | SettingStart::Given { .. } | SettingStart::Always => None,
    };
    if let Some(why) = lacking {
        return Body::skipped(Reason::NotGiven(why));
    }
    Body::Check(Arc::new(ClaimCheck { setting: Arc::clone(setting), at }))
}

/// Checks one claim of a setting.
#[derive(Debug)]
struct ClaimCheck {
    setting: Arc<ConfigSetting>,
    /// The place of the claim.
    at: usize,
}

impl Check for ClaimCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move {
            let mut sessions = SettingSessions::new(&context, &self.setting);
            let verdict = match &self.setting.claims[self.at] {
                SettingClaim::Calls(claim) => calls::judge(&mut sessions, claim).await,
                SettingClaim::Values(claim) => values::judge(&mut sessions, claim).await,
                SettingClaim::Limit(claim) => limit::judge(&mut sessions, claim).await,
                SettingClaim::NoStart => start::judge(&mut sessions).await,
            };
            sessions.result(verdict)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::block::tests::{check_lines, planned};

    const PROCESS: &str = "servers: { a: { command: [a] } }";
    const ADDRESS: &str = "servers: { a: { url: \"http://127.0.0.1:1/mcp\" } }";

    fn check(server: &str, block: &str, expected: &[&str]) {
        let schema = json!({"type": "object"});
        let tools = json!([
            {"name": "get", "annotations": {"readOnlyHint": true}, "inputSchema": schema},
            {
                "name": "put",
                "annotations": {"idempotentHint": true, "destructiveHint": false},
                "inputSchema": schema,
            },
            {"name": "add", "annotations": {"readOnlyHint": false}, "inputSchema": schema},
            {
                "name": "list",
                "inputSchema": {"type": "object", "properties": {"limit": {"type": "integer"}, "depth": {"type": "integer"}}},
            },
        ]);
        let lines = planned(&format!("{{ suite: s, {server}, config: {block} }}"), &[], &tools);
        check_lines(&format!("{server} {block}"), &lines, expected);
    }

    #[test]
    fn tools_have_cases_for_what_they_declare() {
        let (get, put) = ("config: get changes nothing: check", "config: put changes once: check");
        for (block, expected) in [
            ("{ hints: true }", &[get, put][..]),
            ("{ hints: { tools: [get] } }", &[get]),
            // Nothing is declared, so that a user who asks for it is told.
            ("{ hints: { tools: [add, list] } }", &["config: hints: skipped"]),
            ("{ hints: { tools: [gte] } }", &["config / gte: unknown-tool", "config: hints: skipped"]),
            ("{ hints: { tools: [get], ignore: [lits] } }", &["config / lits: unknown-tool", get]),
        ] {
            check(PROCESS, block, expected);
        }
    }

    #[test]
    fn tools_have_cases_for_the_size_of_a_page() {
        for (block, expected) in [
            ("{ page_sizes: true }", &["config: list keeps to `limit`: check"][..]),
            ("{ page_sizes: { parameters: [depth] } }", &["config: list keeps to `depth`: check"]),
            ("{ page_sizes: { tools: [get, put] } }", &["config: page sizes: skipped"]),
            ("{ page_sizes: { tools: [lits] } }", &["config / lits: unknown-tool", "config: page sizes: skipped"]),
        ] {
            check(PROCESS, block, expected);
        }
    }

    #[test]
    fn each_claim_of_a_setting_has_a_case_where_the_server_can_be_started_with_it() {
        let with = "with: { args: [--safe] }";
        for (server, setting, expected) in [
            (PROCESS, format!("name: safe, {with}, read_only: true"), &["config: safe: check"][..]),
            (
                PROCESS,
                format!("name: safe, {with}, refuses: [{{ call: add }}], limit: {{ call: get, calls: 3 }}"),
                &["config: safe / calls: check", "config: safe / limit: check"],
            ),
            (PROCESS, format!("name: safe, {with}, starts: false"), &["config: safe: check"]),
            (
                PROCESS,
                format!("name: safe, skip: \"it is slow\", {with}, read_only: true"),
                &["config: safe: skipped, it is slow"],
            ),
            (PROCESS, "name: safe, limit: { call: get, calls: 3 }".to_owned(), &["config: safe: check"]),
            // A server behind an address may have the setting already.
            (ADDRESS, "name: safe, limit: { call: get, calls: 3 }".to_owned(), &["config: safe: check"]),
            (
                PROCESS,
                format!("name: safe, {with}, refuses: [{{ call: ad }}]"),
                &["config / ad: unknown-tool", "config: safe: check"],
            ),
            // It may come with the setting.
            (
                PROCESS,
                format!("name: safe, {with}, differs: [{{ call: extra, expect: [{{ is_error: false }}] }}]"),
                &["config: safe: check"],
            ),
        ] {
            check(server, &format!("[{{ {setting} }}]"), expected);
        }
    }
}
