//! The case of an agent, on the first of its servers.

use std::sync::Arc;

use super::check::AgentCheck;
use super::judge::AMBIGUOUS;
use super::{Agent, AgentLog};
use crate::event::Reason;
use crate::plan::planner::Planner;
use crate::plan::{Block, Body, Case};

/// The case of an agent; `None` on any server but its first one.
pub(crate) fn case(
    planner: &Planner<'_>,
    block: &Block,
    agent: &Arc<Agent>,
    log: &Arc<AgentLog>,
    order: usize,
) -> Option<Case> {
    if agent.servers_of(planner.suite).first() != Some(&planner.target.server) {
        return None;
    }
    let asked = agent.skip.clone().map(Reason::SkippedBySuite).or_else(|| planner.passed_over());
    let asked = asked.or_else(|| planner.reason_against_all());
    let body = match asked.or_else(|| read_only(planner)) {
        Some(reason) => Body::skipped(reason),
        None => Body::Check(Arc::new(AgentCheck { agent: Arc::clone(agent), log: Arc::clone(log), order })),
    };
    let mut case = planner.case(&format!("{}: {}", block.key, agent.name), agent.model.clone(), agent.span, body);
    case.tags.clone_from(&agent.tags);
    case.probes.extend(block.probes.iter().map(|probe| (*probe).to_owned()));
    case.variants = agent.variants().into_iter().collect();
    if case.variants.contains(AMBIGUOUS) {
        case.probes.insert("tool-selection".to_owned());
    }
    if !agent.faults.is_empty() {
        case.probes.insert("fault-recovery".to_owned());
    }
    Some(case)
}

/// Nobody knows beforehand which tools a model calls.
fn read_only(planner: &Planner<'_>) -> Option<Reason> {
    let why = || Reason::ReadOnly("an agent may call any tool".to_owned());
    planner.suite.read_only.then(why)
}
