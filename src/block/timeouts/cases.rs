//! One case for each aspect that applies to the server.

use std::sync::Arc;

use super::check::SlowCallCheck;
use super::{SlowCallAspect, TimeoutSettings};
use crate::event::Reason;
use crate::plan::planner::Planner;
use crate::plan::{Body, Case, Offer};
use crate::suite::{ServerKind, ToolSelection};
use crate::transport::TransportKind;
use crate::wire::{Era, Revision};

pub(crate) fn cases(
    planner: &Planner<'_>,
    template: &Case,
    settings: &Arc<TimeoutSettings>,
    offer: &Offer<'_>,
) -> Vec<Case> {
    let mut cases = planner.unknown_tools(template, &settings.tools, offer.catalog);
    let named = settings.slow_tool.iter().chain(&settings.state).cloned();
    cases.extend(planner.unknown_tools(template, &ToolSelection::of_names(named), offer.catalog));
    let aspects = SlowCallAspect::ALL.into_iter().filter(|aspect| applies(*aspect, settings, offer));
    cases.extend(aspects.map(|aspect| {
        let name = format!("{}: {}", template.name, aspect.as_str().replace('_', " "));
        let body = body(planner, settings, aspect, offer);
        let mut case = planner.case(&name, None, settings.span, body);
        case.probes.clone_from(&template.probes);
        let judged = aspect.judges().iter().filter(|variant| can_judge(variant, settings, offer));
        case.variants.extend(judged.map(|variant| (*variant).to_owned()));
        case
    }));
    cases
}

/// There is a case at all: a response that can be closed without a cancellation is one of HTTP up to 2025-11-25.
fn applies(aspect: SlowCallAspect, settings: &TimeoutSettings, offer: &Offer<'_>) -> bool {
    if aspect != SlowCallAspect::Disconnection {
        return true;
    }
    let is_http = offer.transport.is_some_and(TransportKind::is_over_http);
    let is_session = offer.revision.map(Revision::era) == Some(Era::Session);
    is_http && is_session && (settings.state.is_some() || settings.required.contains(&aspect))
}

/// The case of an aspect can see that fault on the server: a request that is cancelled by closing its response
/// cannot be answered any more, and only a state shows that its work goes on.
fn can_judge(variant: &str, settings: &TimeoutSettings, offer: &Offer<'_>) -> bool {
    let is_http = offer.transport.is_some_and(TransportKind::is_over_http);
    let closes = is_http && offer.revision.map(Revision::era) == Some(Era::Stateless);
    match variant {
        "TIMEOUT-CANCEL-REPLY" => !closes,
        "TIMEOUT-CANCEL-IGNORED" => !closes || settings.state.is_some(),
        _ => true,
    }
}

fn body(planner: &Planner<'_>, settings: &Arc<TimeoutSettings>, aspect: SlowCallAspect, offer: &Offer<'_>) -> Body {
    let mut named = settings.slow_tool.iter().chain(&settings.state).filter_map(|name| offer.catalog.tool(&name.value));
    if let Some(reason) = named.find_map(|tool| planner.left_out(tool)) {
        return Body::skipped(reason);
    }
    let is_required = settings.required.contains(&aspect);
    if let Some(why) = not_ours(planner).filter(|_| aspect == SlowCallAspect::Shutdown && !is_required) {
        return Body::skipped(Reason::NotApplicable(why.to_owned()));
    }
    Body::Check(Arc::new(SlowCallCheck { settings: Arc::clone(settings), aspect }))
}

/// Why nobody can watch the server end.
fn not_ours(planner: &Planner<'_>) -> Option<&'static str> {
    let server = planner.suite.servers.get(&planner.target.server)?;
    match &server.kind {
        ServerKind::Builtin(_) => Some("the server runs inside mcprove, so it has no process that could end"),
        ServerKind::Url(http) if http.command.is_none() => {
            Some("the server runs already, so nobody can watch it end; give its `command` beside its `url`")
        }
        ServerKind::Url(_) | ServerKind::Command(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Catalog;

    const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

    fn offer(catalog: &Catalog, transport: TransportKind, revision: Revision) -> Offer<'_> {
        Offer { catalog, capabilities: &serde_json::Value::Null, transport: Some(transport), revision: Some(revision) }
    }

    #[test]
    fn a_closed_response_is_no_cancellation_over_http_with_sessions_only() {
        let catalog = Catalog::default();
        let with_state = "{ slow_tool: export, state: count }";
        for (settings, transport, revision, expected) in [
            (with_state, TransportKind::Http, ERAS[0], true),
            ("required: [disconnection]", TransportKind::Http, ERAS[0], true),
            (with_state, TransportKind::Http, ERAS[1], false),
            (with_state, TransportKind::Stdio, ERAS[0], false),
            ("slow_tool: export", TransportKind::Http, ERAS[0], false),
        ] {
            let offer = offer(&catalog, transport, revision);
            let settings = TimeoutSettings::of_test(settings);
            assert_eq!(
                applies(SlowCallAspect::Disconnection, &settings, &offer),
                expected,
                "{settings:?} {transport:?}"
            );
            assert!(applies(SlowCallAspect::Shutdown, &settings, &offer));
        }
    }

    #[test]
    fn where_a_closed_response_cancels_only_a_state_shows_work_that_goes_on() {
        let catalog = Catalog::default();
        let (plain, with_state) = ("slow_tool: export", "{ slow_tool: export, state: count }");
        for (settings, transport, revision, judged) in [
            (plain, TransportKind::Stdio, ERAS[1], &["REPLY", "IGNORED", "FATAL"][..]),
            (plain, TransportKind::Http, ERAS[0], &["REPLY", "IGNORED", "FATAL"]),
            (plain, TransportKind::Http, ERAS[1], &["FATAL"]),
            (with_state, TransportKind::Http, ERAS[1], &["IGNORED", "FATAL"]),
        ] {
            let offer = offer(&catalog, transport, revision);
            let settings = TimeoutSettings::of_test(settings);
            for variant in ["REPLY", "IGNORED", "FATAL"] {
                let can = can_judge(&format!("TIMEOUT-CANCEL-{variant}"), &settings, &offer);
                assert_eq!(can, judged.contains(&variant), "{settings:?} {transport:?} {revision:?} {variant}");
            }
        }
    }
}
