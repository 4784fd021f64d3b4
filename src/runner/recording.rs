//! Records the servers of a plan instead of running its cases.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::probe::TargetServers;
use super::snapshot::Recordings;
use super::target::{REQUEST_TIMEOUT, SessionError, TargetSessions};
use super::{Emitter, Options, names};
use crate::drift::Recorded;
use crate::event::Finding;
use crate::plan::Plan;
use crate::probe::{self, CheckContext, Wanted};
use crate::source::template::fill;

/// What was recorded, and in sentences what was not.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// The servers, each once for every revision.
    pub servers: Vec<Recorded>,
    /// What could not be recorded.
    pub notes: Vec<String>,
}

/// Records every server of a plan in every revision; `wanted` says what to record of the one of that name and
/// revision, and `doing` is told what is done next.
///
/// # Errors
///
/// Fails where a server cannot be started, or says nothing that could be recorded.
pub async fn record(
    plan: Plan,
    options: Options,
    wanted: &(dyn Fn(&str, &str) -> Wanted + Sync),
    doing: &(dyn Fn(String) + Sync),
) -> Result<Recording, Finding> {
    let plan = Arc::new(plan);
    let redactor = names::redactor(&plan, &options);
    // Nobody watches.
    let (sender, _) = mpsc::unbounded_channel();
    let recordings = Arc::new(Recordings { snapshots: Arc::clone(&options.snapshots), redactor });
    let emitter = Emitter::new(sender, recordings, &options);
    let mut recording = Recording::default();
    for suite in 0..plan.suites.len() {
        for index in 0..plan.suites[suite].lanes.len() {
            let target = Arc::new(TargetSessions::new(&plan, suite, index, &options, &emitter));
            let recorded = tokio::select! {
                recorded = of_lane(&target, wanted, doing) => recorded,
                () = options.stop.wait() => Err(interrupted()),
            };
            target.finish().await;
            let Some((recorded, notes)) = recorded? else { continue };
            recording.servers.push(recorded);
            recording.notes.extend(notes);
        }
    }
    Ok(recording)
}

fn interrupted() -> Finding {
    Finding::new("interrupted", "the recording was interrupted")
}

type Taken = Option<(Recorded, Vec<String>)>;

/// A server in one revision; `None` where it does not speak that revision.
async fn of_lane(
    target: &Arc<TargetSessions>,
    wanted: &(dyn Fn(&str, &str) -> Wanted + Sync),
    doing: &(dyn Fn(String) + Sync),
) -> Result<Taken, Finding> {
    let planned = target.planned();
    doing(format!("asking `{}` what it offers", planned.lanes[target.index].server));
    let catalog = match target.catalog().await {
        Ok(catalog) => catalog,
        Err(SessionError::NotApplicable(_)) => return Ok(None),
        Err(SessionError::Broken(found)) => return Err(*found),
        Err(SessionError::Interrupted) => return Err(interrupted()),
    };
    let Some(case) = planned.cases.iter().find(|case| case.lane == target.index) else { return Ok(None) };
    let servers = TargetServers::new(target, case, &target.stop);
    let names = target.known_names().await;
    let ground = CheckContext {
        owner: "",
        suite: &planned.suite,
        server_name: &planned.lanes[target.index].server,
        catalog: &catalog,
        server: target.identity(),
        filled: &|node| fill(node, &names).ok().map(|filled| filled.to_json()),
        neutral: &|value| target.neutral(value),
        servers: &servers,
        request_timeout: planned.suite.options.request_timeout.unwrap_or(REQUEST_TIMEOUT),
    };
    let (name, protocol) = (&planned.lanes[target.index].server, planned.lanes[target.index].protocol.as_str());
    let calling = |tool: &str| doing(format!("calling `{tool}` of `{name}`"));
    probe::record((name, protocol), &wanted(name, protocol), &ground, &calling).await.map(Some)
}
