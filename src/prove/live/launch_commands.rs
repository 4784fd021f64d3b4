//! How the servers of a plan are started, and what a mutant can change about it.

use std::collections::BTreeMap;

use super::super::ProveSettings;
use crate::plan::Plan;
use crate::runner::{Started, starts};
use crate::taxonomy::{Alteration, Launch, OnDisk, Start};

/// The servers that a command starts, by lane.
#[derive(Debug, Default)]
pub(in crate::prove) struct LaunchCommands(BTreeMap<String, Started>);

impl LaunchCommands {
    pub(in crate::prove) fn of(plan: &Plan, settings: &ProveSettings<'_>) -> Self {
        Self(starts(plan, settings.options))
    }

    /// Everything that can be different when the server of a lane starts.
    pub(in crate::prove) fn alterations(&self, start: &Start, lane: &str) -> Vec<Alteration> {
        let Some(Started { command, varying, own_variables }) = self.0.get(lane) else { return Vec::new() };
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
}
