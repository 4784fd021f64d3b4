//! Two rounds with canaries of their own, and the verdict: a leak that shows in both is confirmed.

use std::sync::Arc;

use super::caller::{Callers, CanaryCaller};
use super::finding::Claim;
use super::search::Search;
use super::seen::Seen;
use super::verdict::{IsolationJudge, has_credentials};
use super::{IsolationKind, StateSettings};
use crate::check::CheckEnd;
use crate::event::CheckResult;
use crate::plan::arguments::ConfigSource;
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

async fn run(check: &IsolationCheck, context: &CheckContext<'_>) -> CheckResult {
    let callers = Callers::of(context, &check.settings);
    let first = match look_once(check, context, &callers.called).await {
        Ok(seen) => seen,
        Err(end) => return end.into_result(),
    };
    let is_clear = first.leaks.is_empty() && first.foreign.is_none() && first.shared_id.is_none();
    let again = match &first.exit {
        Some(exit) => Err(CheckEnd::failed(exit.clone())),
        None if is_clear => Err(CheckEnd::inconclusive("nothing was seen")),
        None => look_once(check, context, &callers.called).await,
    };
    let is_promised = check.settings.promises(check.isolation);
    let claim = Claim::of(check.isolation, is_promised, &first, has_credentials(context));
    let config_source = ConfigSource::of(context.suite);
    IsolationJudge { claim, config_source, callers: &callers }.judge(&first, &again.as_ref().map_err(Clone::clone))
}

/// Writes canaries in new sessions, and looks for them.
async fn look_once(
    check: &IsolationCheck,
    context: &CheckContext<'_>,
    callers: &[CanaryCaller],
) -> Result<Seen, CheckEnd> {
    let host = context.servers.open(OpenServer::FRESH).await.map_err(CheckEnd::unavailable)?;
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
    Ok(search.into_seen().await)
}
