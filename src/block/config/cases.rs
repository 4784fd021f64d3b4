//! A case for each hint of a tool, and for each claim of a setting.

use std::sync::Arc;

use serde_json::Value;

use super::hints::{Hint, HintCheck};
use super::page_sizes::{PAGE_SIZE, PageSize, PageSizeCheck};
use super::sides::Sides;
use super::{ConfigSetting, ConfigSettings, HintSettings, PageSizeSettings, SettingClaim, calls, limit, start, values};
use crate::event::{CheckResult, Reason};
use crate::plan::planner::Planner;
use crate::plan::{Body, BoxFuture, Case, Check, CheckContext};
use crate::source::Node;
use crate::suite::ToolSelection;
use crate::wire::Catalog;

pub(crate) fn cases(planner: &Planner<'_>, template: &Case, config: &ConfigSettings, catalog: &Catalog) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    if let Some(hints) = &config.hints {
        cases.extend(of_hints(planner, template, hints, catalog));
    }
    if let Some(sizes) = &config.page_sizes {
        cases.extend(of_page_sizes(planner, template, sizes, catalog));
    }
    for setting in &config.settings {
        let named = ToolSelection::of_names(setting.listed_tools());
        cases.extend(planner.unknown_tools(template, &named, catalog));
        cases.extend(
            setting.claims.iter().enumerate().map(|(at, claim)| of_claim(planner, template, setting, at, claim)),
        );
    }
    cases
}

/// The server is started for a run, so that settings can be added.
pub(crate) fn takes_settings(planner: &Planner<'_>) -> bool {
    planner.suite.servers.get(&planner.target.server).is_some_and(crate::suite::Server::is_started)
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
        let body = Body::Skipped(Reason::NotApplicable(why));
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
        case.probes.clone_from(&template.probes);
        case.variants.insert(PAGE_SIZE.to_owned());
        cases.push(case);
    }
    if cases.len() == unknown {
        let why = "no selected tool has a whole number as a parameter for the size of a page, such as `limit`; name others \
                   under `parameters`";
        let body = Body::Skipped(Reason::NotApplicable(why.to_owned()));
        cases.push(planner.case(&format!("{}: page sizes", template.name), None, sizes.span, body));
    }
    cases
}

fn of_claim(
    planner: &Planner<'_>,
    template: &Case,
    setting: &Arc<ConfigSetting>,
    at: usize,
    claim: &SettingClaim,
) -> Case {
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
        return Body::Skipped(Reason::SkippedBySuite(why.clone()));
    }
    if setting.with.is_some() && !takes_settings(planner) {
        let why =
            "the server is not started by this run, so it cannot be started with other settings; give its `command`";
        return Body::Skipped(Reason::NotApplicable(why.to_owned()));
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
            let mut sides = Sides::new(&context, &self.setting);
            let verdict = match &self.setting.claims[self.at] {
                SettingClaim::Calls(claim) => calls::judge(&mut sides, claim).await,
                SettingClaim::Values(claim) => values::judge(&mut sides, claim).await,
                SettingClaim::Limit(claim) => limit::judge(&mut sides, claim).await,
                SettingClaim::NoStart => start::judge(&mut sides).await,
            };
            sides.result(verdict)
        })
    }
}
