//! How servers are started, for whoever wants to start them differently.

use std::collections::BTreeMap;

use super::resolve::{self, Reachable};
use super::{Options, names};
use crate::plan::Plan;
use crate::transport::stdio::ServerCommand;

/// How a server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// The command.
    pub command: ServerCommand,
    /// The places of arguments that differ from start to start, such as a port.
    pub varying: Vec<usize>,
    /// The names of the variables that the suite sets.
    pub own_variables: Vec<String>,
}

/// How the servers are started that a command starts, by target, which is named as in [`super::SessionFrames::lane`].
pub fn starts(plan: &Plan, options: &Options) -> BTreeMap<String, Started> {
    let read = names::mentioned(plan, &options.environment);
    let redactor = names::redactor(plan, options);
    let mut starts = BTreeMap::new();
    for planned in &plan.suites {
        let Ok(names) = names::of_suite(&planned.suite, &read) else { continue };
        for (index, target) in planned.lanes.iter().enumerate() {
            let written = &planned.suite.servers[&target.server];
            if options.in_process.contains_key(&target.server) {
                continue;
            }
            let commands = match resolve::server(written, &names, &options.environment, &redactor) {
                Ok(Reachable::Command(command)) => Some((command.clone(), command)),
                Ok(Reachable::Served(served)) => served.two_starts(),
                Ok(Reachable::Demo | Reachable::InProcess(_) | Reachable::Http(_)) | Err(_) => None,
            };
            let Some((command, other)) = commands else { continue };
            let varies = |at: &usize| command.args.get(*at) != other.args.get(*at);
            let varying = (0..command.args.len()).filter(varies).collect();
            let own_variables = written.env.iter().map(|(name, _)| name.value.clone()).collect();
            starts.insert(planned.lane_id(index), Started { command, varying, own_variables });
        }
    }
    starts
}
