//! Turns of the cases that may damage what a server has stored: of those that meet in one store, one runs at a time.
//!
//! Nobody says which servers keep their data in one place. Those that start with the same command line in the same folder
//! do in all likelihood, also in several suites of a run; what their environments say may be about something else. Where
//! the suite names the `store` of a server, each case has a copy of its own (`store_copies.rs`), and nobody has to wait.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::resolve::Reachable;
use super::target::RunTarget;
use crate::plan::Case;
use crate::transport::stdio::ServerCommand;

/// The place where a server keeps its data: its command line and the folder in which it starts, or its address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StorePlace(Vec<String>);

impl StorePlace {
    pub(crate) fn of(target: &RunTarget) -> Self {
        let of_command = |command: &ServerCommand| {
            let folder = command.cwd.display().to_string();
            [folder, command.program.clone()].into_iter().chain(command.args.iter().cloned()).collect()
        };
        Self(match &target.server {
            Ok(Reachable::Command(command)) => of_command(command),
            Ok(Reachable::Served(served)) => {
                served.two_starts().map(|(start, _)| of_command(&start)).unwrap_or_default()
            }
            Ok(Reachable::Http(address)) => vec![address.url.clone()],
            Ok(Reachable::Demo | Reachable::InProcess(_)) | Err(_) => vec![target.id()],
        })
    }
}

/// Returns the cases in rounds: those of a round meet in no store, and run at once.
pub(crate) fn rounds<'a>(cases: Vec<Arc<Case>>, target_of: impl Fn(&Case) -> &'a RunTarget) -> Vec<Vec<Arc<Case>>> {
    let (mut alone, mut meeting) = (Vec::new(), BTreeMap::<StorePlace, VecDeque<Arc<Case>>>::new());
    for case in cases {
        let target = target_of(&case);
        match target.stores {
            Some(_) => alone.push(case),
            None => meeting.entry(StorePlace::of(target)).or_default().push_back(case),
        }
    }
    let mut rounds = Vec::new();
    loop {
        let mut round = std::mem::take(&mut alone);
        round.extend(meeting.values_mut().filter_map(VecDeque::pop_front));
        if round.is_empty() {
            return rounds;
        }
        rounds.push(round);
    }
}
