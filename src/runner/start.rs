//! The commands that start servers, for callers that start them differently.

use std::collections::BTreeMap;
use std::path::Path;

use super::Options;
use super::names::{self, GivenNames};
use super::resolve::{self, Reachable};
use super::store_copies::StoreSource;
use crate::plan::Plan;
use crate::plan::arguments::ConfigSource;
use crate::source::Diagnostic;
use crate::suite::StartChanges;
use crate::transport::stdio::ServerCommand;

/// The start of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// The command.
    pub command: ServerCommand,
    /// The places of arguments that differ from start to start, such as a port.
    pub varying: Vec<usize>,
    /// The names of the variables that the suite sets.
    pub own_variables: Vec<String>,
    /// True if the server must not start in this way.
    pub must_not_start: bool,
}

/// The starts of the servers that a command starts, by target, which is named as in [`super::SessionFrames::target`]:
/// first as they are written, then with each of the changes that blocks make.
pub fn starts(plan: &Plan, options: &Options) -> BTreeMap<String, Vec<Started>> {
    let given = GivenNames::of(plan, options);
    let redactor = names::redactor(plan, options);
    let mut starts = BTreeMap::new();
    for planned in &plan.suites {
        let Ok(names) = names::of_suite(&planned.suite, &given) else { continue };
        for (index, target) in planned.targets.iter().enumerate() {
            let written = &planned.suite.servers[&target.server];
            let names = names::of_server(written, &names);
            if options.in_process.contains_key(&target.server) {
                continue;
            }
            let changed = planned.blocks.iter().flat_map(|block| block.settings.start_changes(written));
            for changes in std::iter::once(StartChanges::default()).chain(changed) {
                let configured = written.with(&changes);
                let commands = match resolve::server(&configured, &names, &options.environment, &redactor) {
                    Ok(Reachable::Command(command)) => Some((command.clone(), command)),
                    Ok(Reachable::Served(served)) => served.two_starts(),
                    Ok(Reachable::Demo | Reachable::InProcess(_) | Reachable::Http(_)) | Err(_) => None,
                };
                let Some((command, other)) = commands else { continue };
                let varies = |at: &usize| command.args.get(*at) != other.args.get(*at);
                let varying = (0..command.args.len()).filter(varies).collect();
                let own_variables = configured.env.iter().map(|(name, _)| name.value.clone()).collect();
                let must_not_start = changes.must_not_start;
                let of_target: &mut Vec<Started> = starts.entry(planned.target_id(index)).or_default();
                of_target.push(Started { command, varying, own_variables, must_not_start });
            }
        }
    }
    starts
}

/// The mistakes in the stores of servers, and in the fixtures of tests: one that cannot be copied, and a store of which
/// nothing tells the server.
pub fn store_mistakes(plan: &Plan, options: &Options) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for planned in &plan.suites {
        let of_tests = planned.suite.tests.iter().filter_map(|test| test.extras.fixture.as_deref());
        for fixture in of_tests.chain(&planned.suite.fixture) {
            found.extend(StoreSource::of_fixture(fixture).mistake(fixture.path.span, ConfigSource::Suite));
        }
        let servers = planned.suite.servers.values();
        let mut servers = servers.filter_map(|server| Some((server, server.store.as_ref()?))).peekable();
        if servers.peek().is_none() {
            continue;
        }
        let Ok(names) = names::of_suite(&planned.suite, &GivenNames::of(plan, options)) else { continue };
        for (server, store) in servers {
            // What cannot be filled in is reported when the server starts.
            let Ok(source) = StoreSource::of(store, &server.folder, &names) else { continue };
            let names = names::of_server(server, &names);
            let redactor = &options.secrets;
            let Ok(reached) = resolve::server(server, &names, &options.environment, redactor) else { continue };
            if let Err(untold) = reached.at_copy(server, &source.moving(Path::new("/copy"))) {
                let help = untold.help.unwrap_or_default();
                found.push(Diagnostic::error("bad-store", untold.message, store.path.span).with_help(help));
            } else {
                found.extend(source.mistake(store.path.span, ConfigSource::of(&planned.suite)));
            }
        }
    }
    found
}
