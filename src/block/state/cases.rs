//! One case for each kind of isolation.

use std::sync::Arc;

use super::check::IsolationCheck;
use super::{IsolationKind, StateSettings};
use crate::event::Reason;
use crate::plan::planner::Planner;
use crate::plan::{Body, Case};
use crate::suite::{Target, ToolSelection};
use crate::wire::Catalog;

pub(super) fn cases(
    planner: &Planner<'_>,
    template: &Case,
    settings: &Arc<StateSettings>,
    catalog: &Catalog,
) -> Vec<Case> {
    let unknown = |tools: &ToolSelection| planner.unknown_tools(template, tools, catalog);
    let mut cases = unknown(&settings.tools);
    cases.extend(unknown(&settings.shared));
    cases.extend(settings.isolation.iter().map(|isolation| {
        let name = format!("{}: {}", template.name, isolation.as_str());
        let body = body(planner, settings, *isolation);
        let mut case = planner.case(&name, None, settings.span, body);
        case.probes.clone_from(&template.probes);
        case.variants.insert(isolation.judges().to_owned());
        case
    }));
    cases
}

fn body(planner: &Planner<'_>, settings: &Arc<StateSettings>, isolation: IsolationKind) -> Body {
    if isolation == IsolationKind::Runs && !starts_its_server(planner) {
        let why = "the server runs already and cannot be started again; give its `command` beside its `url`";
        return Body::Skipped(Reason::NotApplicable(why.to_owned()));
    }
    Body::Check(Arc::new(IsolationCheck { settings: Arc::clone(settings), isolation }))
}

/// Whether the server is started for a run, so that it ends with it.
fn starts_its_server(planner: &Planner<'_>) -> bool {
    planner.suite.servers.get(&planner.lane.server).is_some_and(|server| match &server.target {
        Target::Url(http) => http.command.is_some(),
        Target::Command(_) | Target::Builtin(_) => true,
    })
}
