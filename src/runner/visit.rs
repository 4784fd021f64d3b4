//! Visits the servers of a plan instead of running its cases.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::check::TargetServers;
use super::opening::SessionError;
use super::sessions::TargetSessions;
use super::snapshot::Recordings;
use super::{Emitter, Options, names};
use crate::event::Finding;
use crate::plan::{BoxFuture, CheckContext, Plan};
use crate::redact::Redactor;
use crate::transport::Owner;

/// A server of a plan in one revision, as it is visited.
pub struct ServerVisit<'a> {
    /// The context of a check.
    pub context: CheckContext<'a>,
    /// The revision that the suite asks for.
    pub protocol: &'static str,
    /// Takes out secrets.
    pub redactor: &'a Redactor,
}

/// Makes something of every server of a plan.
pub trait Visitor: Sync {
    /// The result of visiting one server.
    type Output: Send;

    /// Returns true if the other servers are visited after one that failed.
    fn is_patient(&self) -> bool {
        false
    }

    /// Works with a server in one revision.
    fn visit<'a>(&'a self, visit: ServerVisit<'a>) -> BoxFuture<'a, Result<Self::Output, Finding>>;
}

/// The result of a visit.
pub struct Visited<T> {
    /// The server.
    pub server: String,
    /// What the visitor made of it; `Err` where it cannot be started, or where the visitor fails.
    pub result: Result<T, Finding>,
}

/// Visits every server of a plan in every revision and returns what the visitor makes of each, in order; `doing` is
/// told what is done next. A server that does not speak a revision is passed over, and one that fails ends the visits
/// unless the visitor is patient.
pub async fn visit_servers<V: Visitor>(
    plan: Plan,
    options: Options,
    doing: &(dyn Fn(String) + Sync),
    visitor: &V,
) -> Vec<Visited<V::Output>> {
    let plan = Arc::new(plan);
    let redactor = names::redactor(&plan, &options);
    // Nobody watches.
    let (sender, _) = mpsc::unbounded_channel();
    let recordings = Arc::new(Recordings { snapshots: Arc::clone(&options.snapshots), redactor });
    let emitter = Emitter::new(sender, recordings, &options);
    let mut results = Vec::new();
    for suite in 0..plan.suites.len() {
        for index in 0..plan.suites[suite].targets.len() {
            let sessions = Arc::new(TargetSessions::new(&plan, suite, index, &options, &emitter));
            let result = tokio::select! {
                result = visit(&sessions, &options, doing, visitor) => result,
                () = options.stop.wait() => Err(interruption()),
            };
            sessions.finish().await;
            let is_over = result.is_err() && (!visitor.is_patient() || options.stop.is_set());
            let server = plan.suites[suite].targets[index].server.clone();
            results.extend(result.transpose().map(|result| Visited { server, result }));
            if is_over {
                return results;
            }
        }
    }
    results
}

pub(crate) fn interruption() -> Finding {
    Finding::new("interrupted", "the run was interrupted")
}

/// A server in one revision; `None` where it does not speak that revision.
async fn visit<V: Visitor>(
    sessions: &Arc<TargetSessions>,
    options: &Options,
    doing: &(dyn Fn(String) + Sync),
    visitor: &V,
) -> Result<Option<V::Output>, Finding> {
    let target = sessions.target.as_ref();
    doing(format!("listing what `{}` offers", target.server_name()));
    let catalog = match sessions.shared.catalog(target).await {
        Ok(catalog) => catalog,
        Err(SessionError::NotApplicable(_)) => return Ok(None),
        Err(SessionError::Broken(found)) => return Err(*found),
        Err(SessionError::Interrupted) => return Err(interruption()),
    };
    let Some(case) = target.suite_plan().cases.iter().find(|case| case.target == target.index) else { return Ok(None) };
    let servers = TargetServers::new(sessions, case, options);
    let names = servers.names().await;
    let context = servers.context(&Owner::Session, &catalog, &names);
    let protocol = target.protocol().as_str();
    visitor.visit(ServerVisit { context, protocol, redactor: target.redactor() }).await.map(Some)
}
