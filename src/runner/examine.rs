//! Examines the servers of a plan instead of running its cases.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;

use super::resolve::{self, Reachable, Starts};
use super::snapshot::Recordings;
use super::target::RunTarget;
use super::visit::{Visited, interruption};
use super::{Emitter, Options, names};
use crate::doctor::{self, Checkup, ServerAccess, ServerUnderExamination};
use crate::event::Finding;
use crate::plan::Plan;
use crate::plan::arguments::ConfigSource;
use crate::session::Connector;
use crate::suite::Protocol;
use crate::transport::Owner;

/// Examines every server of a plan once; `doing` is told what is done next. Texts are without secrets. The result is an
/// error where the settings of a server cannot be filled in.
pub(crate) async fn examine_servers(
    plan: Plan,
    options: Options,
    doing: &(dyn Fn(String) + Sync),
) -> Vec<Visited<Checkup>> {
    let plan = Arc::new(plan);
    let redactor = names::redactor(&plan, &options);
    // Nobody watches.
    let (sender, _) = mpsc::unbounded_channel();
    let recordings = Arc::new(Recordings { snapshots: Arc::clone(&options.snapshots), redactor });
    let emitter = Emitter::new(sender, recordings, &options);
    let (mut checkups, mut seen) = (Vec::new(), BTreeSet::new());
    for suite in 0..plan.suites.len() {
        for index in 0..plan.suites[suite].targets.len() {
            // Both eras are tried with each server, whatever revisions its suite asks for.
            if !seen.insert((suite, plan.suites[suite].targets[index].server.clone())) {
                continue;
            }
            let target = RunTarget::new(&plan, suite, index, &options, &emitter);
            let checkup = tokio::select! {
                checkup = examine(&target, &options, doing) => checkup,
                () = options.stop.wait() => Err(interruption()),
            };
            let result = checkup.map(|checkup| checkup.map_texts(&|text| target.redactor().text(text)));
            checkups.push(Visited { server: target.server_name().to_owned(), result });
        }
    }
    checkups
}

async fn examine(target: &RunTarget, options: &Options, doing: &(dyn Fn(String) + Sync)) -> Result<Checkup, Finding> {
    // Each process gets a copy of the store.
    let starts = AtomicUsize::new(0);
    let at_copy = || -> Result<Reachable, Finding> {
        let number = starts.fetch_add(1, Ordering::Relaxed);
        let server = target.server.clone()?;
        match target.stores.as_ref().filter(|_| server.starts() != Starts::Nothing) {
            Some(stores) => {
                server.at_copy(target.settings(), &stores.prepare(&Owner::of_case(&format!("doctor {number}")))?)
            }
            None => Ok(server),
        }
    };
    let server = at_copy()?;
    let start_timeout = target.start_timeout();
    let connect: &Connector<'_> = &|| {
        let fresh = at_copy().unwrap_or_else(|_| server.clone());
        Box::pin(async move { resolve::connect(&fresh, start_timeout).await })
    };
    let kind = match &server {
        Reachable::Command(command) => ServerAccess::Program(command),
        Reachable::Http(address) => ServerAccess::Address(address),
        Reachable::Served(_) => ServerAccess::StartedAddress,
        Reachable::Demo | Reachable::InProcess(_) => ServerAccess::Inside,
    };
    let has_one_revision = {
        let targets = &target.suite_plan().targets;
        targets.iter().filter(|other| other.server == target.server_name()).count() == 1
    };
    let wanted = match target.protocol() {
        Protocol::Fixed(revision) if has_one_revision => Some(revision),
        Protocol::Fixed(_) | Protocol::Auto => None,
    };
    let server = ServerUnderExamination {
        name: target.server_name(),
        kind,
        connect,
        start_timeout,
        request_timeout: target.request_timeout(),
        wanted,
        registered: target.settings().registered.as_ref(),
        environment: &options.environment,
        config_source: ConfigSource::of(target.suite()),
        doing,
    };
    Ok(doctor::examine(server).await)
}
