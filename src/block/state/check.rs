//! Two rounds with canaries of their own, and the verdict: a leak that shows in both is confirmed.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::caller::{Callers, CanaryCaller};
use super::finding::Leak;
use super::search::Search;
use super::verdict::verdict;
use super::{IsolationKind, StateSettings};
use crate::check::visit::ShownText;
use crate::event::{CheckResult, Exchange, Finding, Outcome, Reason};
use crate::plan::{BoxFuture, Check, CheckContext, OpenServer};
use crate::transport::TransportKind;

/// Writes texts in one place and looks for them in another one.
#[derive(Debug)]
pub(crate) struct IsolationCheck {
    pub(crate) settings: Arc<StateSettings>,
    pub(crate) isolation: IsolationKind,
}

impl Check for IsolationCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

/// A call that was made with a canary.
pub(crate) struct SentCanary {
    /// The index of the tool.
    pub(crate) tool: usize,
    pub(crate) canary: String,
    pub(crate) shown: ShownText,
}

/// The events of a round.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) written: Vec<SentCanary>,
    /// Canaries that their own session or run showed afterwards: they can be seen by looking.
    pub(crate) read_back: BTreeSet<String>,
    /// Answers of reading requests in which their own session or run showed a canary.
    pub(crate) reads: Vec<ShownText>,
    /// The places where canaries were looked for and nothing was served, in words.
    pub(crate) unserved: Vec<String>,
    pub(crate) leaks: Vec<Leak>,
    /// A request that was served in the session of another user.
    pub(crate) foreign: Option<ForeignRequest>,
    /// An id that the server gave to two sessions that are open at the same time.
    pub(crate) shared_id: Option<String>,
    pub(crate) protocol_revision: String,
    pub(crate) is_http: bool,
    /// Tools that did not answer in time.
    pub(crate) silent: Vec<String>,
    /// Why a request got no answer, the first time.
    pub(crate) failure: Option<String>,
    pub(crate) is_out_of_time: bool,
    pub(crate) frames: Vec<u32>,
    pub(crate) exit: Option<Finding>,
}

/// A request with the credentials of one user and the session id of another one.
pub(crate) struct ForeignRequest {
    pub(crate) exchange: Exchange,
    /// The user who sent it.
    pub(crate) sender: String,
    /// The user whose session it named.
    pub(crate) owner: String,
}

/// Why a round was not made.
pub(crate) enum NoRound {
    Unavailable(Box<Finding>),
    Skipped(Reason),
    Inconclusive(Reason),
}

async fn run(check: &IsolationCheck, context: &CheckContext<'_>) -> CheckResult {
    let callers = Callers::of(context, &check.settings);
    let first = match round(check, context, &callers.called).await {
        Ok(seen) => seen,
        Err(NoRound::Skipped(reason)) => return CheckResult::because(Outcome::Skipped, reason),
        Err(NoRound::Inconclusive(reason)) => return CheckResult::because(Outcome::Inconclusive, reason),
        Err(NoRound::Unavailable(found)) => return CheckResult::unavailable(*found),
    };
    let is_clear = first.leaks.is_empty() && first.foreign.is_none() && first.shared_id.is_none();
    let again = if is_clear || first.exit.is_some() { None } else { round(check, context, &callers.called).await.ok() };
    verdict(check, context, &callers, &first, again.as_ref())
}

/// Writes canaries in new sessions, and looks for them.
async fn round(check: &IsolationCheck, context: &CheckContext<'_>, callers: &[CanaryCaller]) -> Result<Seen, NoRound> {
    let host = context.servers.open(OpenServer::FRESH).await.map_err(|found| NoRound::Unavailable(Box::new(found)))?;
    let seen = Seen {
        protocol_revision: host.server.revision.to_string(),
        is_http: host.server.transport == TransportKind::Http,
        ..Seen::default()
    };
    let mut search = Search::new(context, &check.settings, callers, seen);
    match check.isolation {
        IsolationKind::Sessions => search.in_sessions(host).await?,
        IsolationKind::Runs => search.in_runs(host).await?,
        IsolationKind::Users => search.as_users(host).await?,
    }
    Ok(search.into_seen())
}
