//! One case for each kind of isolation.

use std::sync::Arc;

use super::check::IsolationCheck;
use super::foreign_tasks::{ForeignTasksCheck, has_tasks};
use super::residue::{CallEnding, ResidueCheck};
use super::resumption::ResumedStreamsCheck;
use super::session_ids::SessionIdsCheck;
use super::shared_caches::SharedCachesCheck;
use super::store::StoreCheck;
use super::subscriptions::SubscriptionsCheck;
use super::{IsolationKind, RESUMED_STREAMS, SESSION_IDS, STORE, SUBSCRIPTIONS, StateSettings, users_of};
use crate::event::Reason;
use crate::files::FolderPlace;
use crate::plan::planner::Planner;
use crate::plan::{Body, Case, Check, Offer};
use crate::source::Node;
use crate::suite::{Carrier, NamePattern, ServerKind, ToolNames, ToolSelection};
use crate::wire::{Era, Revision};

/// Why a check of two runs is skipped.
const CANNOT_RESTART: &str = "the server runs already and cannot be started again; give its `command` beside its `url`";

pub(crate) fn cases(
    planner: &Planner<'_>,
    template: &Case,
    settings: &Arc<StateSettings>,
    offer: &Offer<'_>,
) -> Vec<Case> {
    let unknown = |tools: &ToolSelection| planner.unknown_tools(template, tools, offer.catalog);
    let mut cases = unknown(&settings.tools);
    cases.extend(settings.shared.iter().flat_map(|shared| unknown(&shared_tools(shared))));
    let case = |name: &str, judges: &str, body: Body| {
        let mut case = planner.case(&format!("{}: {name}", template.name), None, settings.span, body);
        case.probes.clone_from(&template.probes);
        case.variants.insert(judges.to_owned());
        case
    };
    for isolation in &settings.isolation {
        cases.push(case(isolation.as_str(), isolation.judges(), body(planner, settings, *isolation)));
    }
    if looks_at_ids(planner, settings) {
        cases.push(case("session ids", SESSION_IDS, check(SessionIdsCheck { settings: Arc::clone(settings) })));
    }
    if resumes_streams(planner, settings) {
        let body = check(ResumedStreamsCheck { settings: Arc::clone(settings) });
        cases.push(case("resumed streams", RESUMED_STREAMS, body));
    }
    let is_stateless = offer.revision.map(Revision::era) == Some(Era::Stateless);
    if is_stateless && settings.isolation.contains(&IsolationKind::Users) && users(planner) > 1 {
        let body = check(SharedCachesCheck { settings: Arc::clone(settings) });
        cases.push(case("shared caches", IsolationKind::Users.judges(), body));
    }
    if settings.isolation.contains(&IsolationKind::Users) && users(planner) > 1 && has_tasks(offer.capabilities) {
        let body = check(ForeignTasksCheck { settings: Arc::clone(settings) });
        cases.push(case("foreign tasks", IsolationKind::Users.judges(), body));
    }
    let resources = &offer.capabilities["resources"];
    let offers_updates = resources["subscribe"] == true;
    // Since 2026-07-28 nothing can come to a client that listens to nothing.
    let is_session = offer.revision.map(Revision::era) == Some(Era::Session);
    let has_updates = offers_updates || resources.is_object() && is_session;
    if has_updates && settings.isolation.contains(&IsolationKind::Sessions) {
        let body = check(SubscriptionsCheck { settings: Arc::clone(settings), offers_updates });
        cases.push(case("subscriptions", SUBSCRIPTIONS, body));
    }
    for ending in CallEnding::ALL.into_iter().filter(|_| settings.residue) {
        let name = format!("{} calls", ending.as_str());
        cases.push(case(&name, ending.judges(), check(ResidueCheck { settings: Arc::clone(settings), ending })));
    }
    if let Some((written, folder)) = settings.store.as_ref().zip(settings.folder.as_ref()) {
        cases.push(case("store", STORE, store(planner, settings, written, folder)));
    }
    cases
}

fn store(planner: &Planner<'_>, settings: &Arc<StateSettings>, written: &Node, folder: &FolderPlace) -> Body {
    let is_scratch = planner.suite.servers.get(&planner.target.server).is_some_and(|server| server.scratch);
    if !starts_its_server(planner) {
        Body::skipped(Reason::NotGiven(CANNOT_RESTART.to_owned()))
    } else if !is_scratch {
        let why = "the data file is damaged only if the server says `scratch: true`";
        Body::skipped(Reason::NotGiven(why.to_owned()))
    } else {
        check(StoreCheck { settings: Arc::clone(settings), store: written.clone(), folder: folder.clone() })
    }
}

/// Ids of sessions are looked at over HTTP, where sessions are.
pub(crate) fn looks_at_ids(planner: &Planner<'_>, settings: &StateSettings) -> bool {
    settings.isolation.contains(&IsolationKind::Sessions) && planner.carrier() == Some(Carrier::Http)
}

/// Streams are resumed in other sessions over HTTP, where sessions or users are kept apart.
pub(crate) fn resumes_streams(planner: &Planner<'_>, settings: &StateSettings) -> bool {
    let has_users = settings.isolation.contains(&IsolationKind::Users) && users(planner) > 1;
    looks_at_ids(planner, settings) || has_users
}

/// The selection without URIs, which no list of tools has.
fn shared_tools(shared: &ToolSelection) -> ToolSelection {
    match shared {
        ToolSelection::All => ToolSelection::All,
        ToolSelection::Named(names) => {
            let is_tool = |pattern: &&NamePattern| !pattern.name.value.contains("://");
            ToolSelection::Named(ToolNames(names.0.iter().filter(is_tool).cloned().collect()))
        }
    }
}

fn check(check: impl Check + 'static) -> Body {
    Body::Check(Arc::new(check))
}

fn body(planner: &Planner<'_>, settings: &Arc<StateSettings>, isolation: IsolationKind) -> Body {
    if isolation == IsolationKind::Runs && !starts_its_server(planner) {
        return Body::skipped(Reason::NotGiven(CANNOT_RESTART.to_owned()));
    }
    if isolation == IsolationKind::Users && users(planner) < 2 {
        let why = "it takes two users of a server over HTTP; give their credentials under `users` of the server, for \
                   example `users: { ann: { auth: { bearer: … } }, bob: { auth: { bearer: … } } }`";
        return Body::skipped(Reason::NotGiven(why.to_owned()));
    }
    check(IsolationCheck { settings: Arc::clone(settings), isolation })
}

/// The number of users that the suite names for the server.
fn users(planner: &Planner<'_>) -> usize {
    planner.suite.servers.get(&planner.target.server).map_or(0, users_of)
}

/// The server is started for a run, so that it ends with it.
fn starts_its_server(planner: &Planner<'_>) -> bool {
    let server = planner.suite.servers.get(&planner.target.server);
    server.is_some_and(|server| server.is_started() || matches!(server.kind, ServerKind::Builtin(_)))
}
