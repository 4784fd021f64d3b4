//! The commands that start the servers of a plan, and their changes by mutants.

use std::collections::BTreeMap;

use super::super::ProveSettings;
use crate::plan::Plan;
use crate::runner::{Started, starts};
use crate::taxonomy::{Alteration, Launch, OnDisk, Start};
use crate::transport::Link;
use crate::transport::stdio::ServerCommand;

/// The servers that a command starts, by target, in each way in which they are started.
#[derive(Debug, Default)]
pub(crate) struct LaunchCommands(BTreeMap<String, Vec<Started>>);

/// One thing that is different at some starts of a target.
#[derive(Debug, Clone)]
pub(crate) struct AlteredStart {
    pub(crate) alteration: Alteration,
    /// The start with added settings that is altered; `None` for every start of the target.
    only: Option<Started>,
}

impl LaunchCommands {
    pub(crate) fn of(plan: &Plan, settings: &ProveSettings<'_>) -> Self {
        Self(starts(plan, settings.options))
    }

    /// Everything that can be different when the server of a target starts.
    pub(crate) fn alterations(&self, start: &Start, target: &str) -> Vec<AlteredStart> {
        let Some([written, others @ ..]) = self.0.get(target).map(Vec::as_slice) else { return Vec::new() };
        let known = alterations(start, written);
        let mut altered: Vec<AlteredStart> = Vec::new();
        if !start.must_not_start() {
            altered.extend(known.iter().map(|alteration| AlteredStart { alteration: alteration.clone(), only: None }));
        }
        for other in others.iter().filter(|other| other.must_not_start == start.must_not_start()) {
            // What the server has in any case is altered above.
            let own = alterations(start, other).into_iter().filter(|alteration| !known.contains(alteration));
            altered.extend(own.map(|alteration| AlteredStart { alteration, only: Some(other.clone()) }));
        }
        altered
    }
}

impl AlteredStart {
    /// Changes a start that is meant.
    pub(crate) fn apply(&self, command: &mut ServerCommand) {
        if self.only.as_ref().is_none_or(|only| is_start(only, command)) {
            self.alteration.apply(&mut command.program, &mut command.args, &mut command.env);
        }
    }

    /// Changes the link to a server that was started so.
    pub(crate) fn link(&self, mut link: Link) -> Link {
        if let Some(more) = self.alteration.growth() {
            link.processes = link.processes.map(|processes| processes.growing(more));
        }
        link
    }
}

/// A server is started in this way, with any port.
fn is_start(started: &Started, command: &ServerCommand) -> bool {
    let is_same_arg = |(at, arg): (usize, &String)| started.varying.contains(&at) || command.args.get(at) == Some(arg);
    command.args.len() == started.command.args.len()
        && started.command.args.iter().enumerate().all(is_same_arg)
        && command.env == started.command.env
}

fn alterations(start: &Start, started: &Started) -> Vec<Alteration> {
    let Started { command, varying, own_variables, .. } = started;
    let variables = command.env.iter().filter(|(name, _)| own_variables.contains(name)).cloned();
    let variables: Vec<(String, String)> = variables.collect();
    let launch = Launch { program: &command.program, args: &command.args, variables: &variables, varying };
    let on_disk = |name: &str| {
        let path = command.cwd.join(name);
        match (name.is_empty(), path.is_dir(), path.exists()) {
            (false, true, _) => OnDisk::Folder,
            (false, false, true) => OnDisk::File,
            _ => OnDisk::Nothing,
        }
    };
    start.alterations(&launch, &on_disk)
}
