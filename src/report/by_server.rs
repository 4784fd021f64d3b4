//! A run on several servers as the runs on each of them.

use indexmap::IndexMap;

use super::fold::Report;
use crate::event::{Coverage, Event, RunFinished};

impl Report {
    /// The run on each server alone, by its name, in the order in which the servers are first heard of; what belongs to all
    /// of them, such as a proof, is in none.
    pub fn by_server(&self) -> Vec<(String, Self)> {
        let mut parts: IndexMap<&str, Self> = IndexMap::new();
        for server in self.events().iter().filter_map(server_of) {
            parts.entry(server).or_default();
        }
        for event in self.events() {
            match (server_of(event), event) {
                (Some(server), _) => {
                    if let Some(part) = parts.get_mut(server) {
                        part.apply(event);
                    }
                }
                (None, Event::RunStarted(_)) => parts.values_mut().for_each(|part| part.apply(event)),
                (None, Event::RunFinished(finished)) => {
                    for (server, part) in &mut parts {
                        part.apply(&Event::RunFinished(Box::new(finished_for(server, finished))));
                    }
                }
                // It has no server yet, and its end has one.
                (None, _) => {}
            }
        }
        parts.into_iter().map(|(server, part)| (server.to_owned(), part)).collect()
    }
}

/// The server that an event is about.
pub(crate) fn server_of(event: &Event) -> Option<&str> {
    match event {
        Event::ServerReady(ready) => Some(&ready.server),
        Event::ToolsChosen(chosen) => Some(&chosen.server),
        Event::CaseFinished(result) => Some(&result.case.server),
        Event::SessionJudged(judged) => Some(&judged.server),
        Event::SessionTraced(traced) => Some(&traced.server),
        Event::RunStarted(_) | Event::CaseStarted(_) | Event::RunFinished(_) => None,
    }
}

/// The end of the run for one server.
fn finished_for(server: &str, finished: &RunFinished) -> RunFinished {
    let score = finished.coverage.as_ref().and_then(|all| {
        let mut scores = all.suites.iter().filter(|score| score.server == server);
        // Several suites have a figure each, and none for all of them.
        scores.next().filter(|_| scores.next().is_none())
    });
    let coverage = score.map(|score| Coverage {
        declared: score.declared.clone(),
        exercised: score.exercised.clone(),
        gates: score.gates.clone(),
        claimed: score.claimed.clone(),
        suites: Vec::new(),
    });
    RunFinished {
        coverage,
        sections: finished.sections.iter().filter(|section| section.server == server).cloned().collect(),
        tools: finished.tools.iter().filter(|tools| tools.server == server).cloned().collect(),
        servers: finished.servers.iter().filter(|end| end.server == server).cloned().collect(),
        duration_us: finished.duration_us,
        interrupted: finished.interrupted,
        ended_by: finished.ended_by,
        fails_on_flaky: finished.fails_on_flaky,
        starts: finished.starts,
        not_run: 0,
        stale_snapshots: Vec::new(),
        isolation: None,
        proof: None,
        unjudged: Vec::new(),
        shard: None,
    }
}
