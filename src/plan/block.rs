//! The cases of a suite's blocks, before the server has said what it offers.

use std::sync::Arc;

use super::case::{Body, Case, SkipReason, Template};
use super::drift;
use super::planner::{Planner, not_available};
use crate::source::Node;
use crate::suite::grammar::{BlockEntry, BlockKind, BlockState};
use crate::suite::{
    Block, block_compliance, block_differential, block_fuzz, block_negative_path, block_schema_lint, skip_reason,
};

/// The cases of a block.
pub(super) fn cases(planner: &Planner<'_>, block: &Block) -> Vec<Case> {
    let entry = block.kind.entry();
    if let Some(template) = template(block) {
        let body = match planner.passed_over().or_else(|| planner.blocked()) {
            Some(reason) => Body::Skipped(reason),
            None => Body::Template(Box::new(template)),
        };
        let mut case = planner.case(entry.key, None, block.span, body);
        case.probes.extend(entry.probes.iter().map(|probe| (*probe).to_owned()));
        if block.kind == BlockKind::Differential {
            case.variants.extend(drift::JUDGES.map(str::to_owned));
        }
        return vec![case];
    }
    if entry.state == BlockState::Runs {
        return Vec::new();
    }
    unavailable(planner, block, entry)
}

/// What becomes cases once the catalog is known; `None` where the block does not run yet.
fn template(block: &Block) -> Option<Template> {
    match block.kind {
        BlockKind::Compliance => block_compliance(block).map(|asked| Template::Rules(Arc::new(asked))),
        BlockKind::NegativePath => block_negative_path(block).map(Template::NegativeBlock),
        BlockKind::OutputSchema => Some(Template::OutputBlock(block.tools.clone())),
        BlockKind::SchemaLint => Some(Template::Lint(Arc::new(block_schema_lint(block)))),
        BlockKind::Differential => block_differential(block).map(|settings| Template::Drift(Arc::new(settings))),
        BlockKind::Fuzz => Some(Template::Fuzz(Arc::new(block_fuzz(block)))),
        BlockKind::Properties
        | BlockKind::State
        | BlockKind::Torture
        | BlockKind::Config
        | BlockKind::Performance
        | BlockKind::Security
        | BlockKind::TrustBoundary
        | BlockKind::Faults
        | BlockKind::Agents => None,
    }
}

/// One skipped case for each thing that a block of a later version asks for; none for an empty block.
fn unavailable(planner: &Planner<'_>, block: &Block, entry: &BlockEntry) -> Vec<Case> {
    let items = block.settings.items();
    if items.is_empty() && block.settings.entries().is_empty() {
        return Vec::new();
    }
    let asked: Vec<&Node> = if items.is_empty() { vec![&block.settings] } else { items.iter().collect() };
    let named = |item: &Node| item.get("name").and_then(Node::text).map(|name| format!("{}: {name}", entry.key));
    asked
        .iter()
        .enumerate()
        .map(|(number, item)| {
            let fallback = if asked.len() > 1 { format!("{} {}", entry.key, number + 1) } else { entry.key.to_owned() };
            let asked = skip_reason(item.get("skip")).map(SkipReason::Asked).or_else(|| planner.passed_over());
            let reason = asked.unwrap_or_else(|| not_available(entry.key));
            let name = named(item).unwrap_or(fallback);
            let mut case = planner.case(&name, None, block.span, Body::Skipped(reason));
            case.probes.extend(entry.probes.iter().map(|probe| (*probe).to_owned()));
            if block.kind == BlockKind::Agents {
                case.probes.extend(agent_probes(item));
            }
            case
        })
        .collect()
}

fn agent_probes(agent: &Node) -> Vec<String> {
    let selects =
        ["trajectory", "golden_path", "distractors", "equal_function"].iter().any(|key| agent.get(key).is_some());
    let recovers = ["inject", "recovery"].iter().any(|key| agent.get(key).is_some());
    let probes = [("tool-selection", selects), ("fault-recovery", recovers)];
    probes.into_iter().filter(|(_, plans)| *plans).map(|(probe, _)| probe.to_owned()).collect()
}
