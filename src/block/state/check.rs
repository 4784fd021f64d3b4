//! Two rounds with canaries of their own, and the verdict: a leak that shows in both is confirmed.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::caller::{Callers, CanaryCaller};
use super::canary::RandomCanaries;
use super::finding::Leak;
use super::verdict::verdict;
use super::visit::{Round, ShownText};
use super::{IsolationKind, StateSettings};
use crate::event::{CheckResult, Finding, Outcome, Reason};
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::session::Session;
use crate::transport::TransportKind;
use crate::wire::{Era, Revision};

/// Writes texts in one place and looks for them in another one.
#[derive(Debug)]
pub(super) struct IsolationCheck {
    pub(super) settings: Arc<StateSettings>,
    pub(super) isolation: IsolationKind,
}

impl Check for IsolationCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move {
            tokio::select! {
                result = run(self, &context) => result,
                () = context.servers.stopped() => CheckResult::because(Outcome::Inconclusive, Reason::Interrupted),
            }
        })
    }
}

/// A call that was made with a canary.
pub(super) struct CanaryCall {
    /// The index of the tool.
    pub(super) tool: usize,
    pub(super) canary: String,
    pub(super) shown: ShownText,
}

/// The events of a round.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) written: Vec<CanaryCall>,
    /// Canaries that their own session or run showed afterwards: they can be seen by looking.
    pub(super) read_back: BTreeSet<String>,
    /// How many answers the other session or run gave.
    pub(super) looks: usize,
    pub(super) leaks: Vec<Leak>,
    pub(super) protocol_revision: String,
    pub(super) is_http: bool,
    /// Tools that did not answer in time.
    pub(super) silent: Vec<String>,
    pub(super) is_out_of_time: bool,
    pub(super) frames: Vec<u32>,
    pub(super) exit: Option<Finding>,
}

/// Why a round was not made.
enum NoRound {
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
        Err(NoRound::Unavailable(found)) => {
            let reason = Reason::ServerUnavailable(found.message.clone());
            return CheckResult { findings: vec![*found], ..CheckResult::because(Outcome::Errored, reason) };
        }
    };
    let again = if first.leaks.is_empty() || first.exit.is_some() {
        None
    } else {
        round(check, context, &callers.called).await.ok()
    };
    verdict(check, context, &callers, &first, again.as_ref())
}

/// Writes canaries in new sessions, and looks for them.
async fn round(check: &IsolationCheck, context: &CheckContext<'_>, callers: &[CanaryCaller]) -> Result<Seen, NoRound> {
    let host = context.servers.open().await.map_err(|found| NoRound::Unavailable(Box::new(found)))?;
    let seen = Seen {
        protocol_revision: host.server.revision.to_string(),
        is_http: host.server.transport == TransportKind::Http,
        ..Seen::default()
    };
    let round = Round::new(context, check.settings.time);
    let mut search = Search { round, seen, canaries: RandomCanaries::new(), callers };
    match check.isolation {
        IsolationKind::Sessions => search.in_sessions(host).await?,
        IsolationKind::Runs => search.in_runs(host).await?,
    }
    let Search { mut round, mut seen, .. } = search;
    seen.silent = round.silent();
    seen.is_out_of_time = round.is_over();
    seen.frames = round.take_frames();
    seen.exit = round.exit();
    Ok(seen)
}

/// A round under way.
struct Search<'a> {
    round: Round<'a>,
    seen: Seen,
    canaries: RandomCanaries,
    callers: &'a [CanaryCaller],
}

impl Search<'_> {
    /// Looks in a session beside the one that writes, and over HTTP in one that begins after the end of that.
    async fn in_sessions(&mut self, host: Session) -> Result<(), NoRound> {
        let servers = self.round.context.servers;
        let Some(endpoint) = host.endpoint() else { return self.in_processes(host).await };
        if let Some(why) = without_sessions(host.server.revision, endpoint.session_id().is_some()) {
            self.close(host).await;
            return Err(NoRound::Skipped(Reason::NotApplicable(why)));
        }
        let (writer, other) = (servers.beside(&host).await, servers.beside(&host).await);
        let (Some(writer), Some(other)) = (writer, other) else {
            self.close(host).await;
            let why = "the server refused a second session while one was open".to_owned();
            return Err(NoRound::Inconclusive(Reason::NotEvaluated(why)));
        };
        self.write(&writer).await;
        self.look(&other, "another session").await;
        self.close(other).await;
        self.close(writer).await;
        if let Some(later) = servers.beside(&host).await {
            self.look(&later, "a session after its end").await;
            self.close(later).await;
        }
        self.close(host).await;
        Ok(())
    }

    /// The same where a process has one session.
    async fn in_processes(&mut self, host: Session) -> Result<(), NoRound> {
        let other = match self.round.context.servers.open().await {
            Ok(other) => other,
            Err(found) => {
                self.close(host).await;
                return Err(NoRound::Unavailable(Box::new(found)));
            }
        };
        self.write(&host).await;
        self.look(&other, "another process").await;
        self.close(other).await;
        self.close(host).await;
        Ok(())
    }

    /// Looks in a server that is started after the end of the one that was written to.
    async fn in_runs(&mut self, first: Session) -> Result<(), NoRound> {
        self.write(&first).await;
        self.close(first).await;
        if self.round.exit().is_some() {
            return Ok(());
        }
        let opened = self.round.context.servers.open().await;
        let next = opened.map_err(|found| NoRound::Unavailable(Box::new(found)))?;
        self.look(&next, "the next run").await;
        self.close(next).await;
        Ok(())
    }

    /// Ends a session, and its server where that is its own.
    async fn close(&mut self, session: Session) {
        if self.round.exit().is_some() {
            session.mark_exit_reported();
        }
        if let Some(found) = self.round.context.servers.close(session).await {
            self.round.note_exit(found);
        }
    }

    /// Calls every tool with canaries, and notes which of them their own session shows.
    async fn write(&mut self, session: &Session) {
        self.call_with_canaries(session, |_| true).await;
        let shown = self.visit(session).await;
        self.seen.read_back.extend(shown.iter().flat_map(|shown| self.canaries.find(&shown.text)));
        // The visit may have overwritten what it looked for.
        self.call_with_canaries(session, |caller| !caller.only_reads).await;
    }

    async fn call_with_canaries(&mut self, session: &Session, is_called: impl Fn(&CanaryCaller) -> bool) {
        for (tool, caller) in self.callers.iter().enumerate().filter(|(_, caller)| is_called(caller)) {
            for call in caller.canary_calls(&mut self.canaries) {
                if let Some(shown) = self.round.call(session, &caller.name, &call.arguments).await {
                    self.seen.written.push(CanaryCall { tool, canary: call.canary, shown });
                }
            }
        }
    }

    /// Looks for canaries in a session that was sent none.
    async fn look(&mut self, session: &Session, relation: &'static str) {
        let visited = self.visit(session).await;
        self.seen.looks += visited.iter().filter(|shown| shown.is_served).count();
        let is_shared = |tool: &str| self.callers.iter().any(|caller| caller.name == tool && caller.is_shared);
        let own = visited.into_iter().filter(|shown| !shown.tool.as_deref().is_some_and(is_shared));
        for shown in own {
            for canary in self.canaries.find(&shown.text) {
                let is_of_call =
                    |written: &CanaryCall| written.canary == canary && !self.callers[written.tool].is_shared;
                if let Some(written) = self.seen.written.iter().position(is_of_call) {
                    self.seen.leaks.push(Leak { written, canary, shown: shown.clone(), relation });
                }
            }
        }
    }

    /// Everything that a session shows.
    async fn visit(&mut self, session: &Session) -> Vec<ShownText> {
        let (canaries, answers) = (&self.canaries, answers_of(&self.seen.written));
        self.round.visit(session, self.callers, &|caller| caller.lookups(canaries, &answers)).await
    }
}

/// Why clients of a server over HTTP have no sessions that could be kept apart.
fn without_sessions(revision: Revision, has_session_id: bool) -> Option<String> {
    if revision.era() == Era::Stateless {
        Some(format!(
            "revision {revision} has no sessions over HTTP, so clients of one user share their data; if the server serves \
             older revisions, too, say for example `protocol: 2025-11-25`"
        ))
    } else if has_session_id {
        None
    } else {
        Some("the server gives no session ids over HTTP, so it cannot tell its clients apart".to_owned())
    }
}

/// The values of answers to calls with canaries, for lookups by them.
fn answers_of(written: &[CanaryCall]) -> Vec<Value> {
    let of_reply = |written: &CanaryCall| {
        let message: Value = serde_json::from_str(&written.shown.text).unwrap_or_default();
        let result = &message["result"];
        let texts = result["content"].as_array().into_iter().flatten().filter_map(|item| item["text"].as_str());
        let parsed: Vec<Value> = texts.filter_map(|text| serde_json::from_str(text).ok()).collect();
        std::iter::once(result["structuredContent"].clone()).chain(parsed).collect::<Vec<_>>()
    };
    let served = written.iter().filter(|written| written.shown.is_served);
    served.flat_map(of_reply).filter(|value| value.is_object() || value.is_array()).collect()
}
