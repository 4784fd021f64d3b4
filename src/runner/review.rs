//! What is told of the tools that servers list, once all cases are over.

use super::target::TargetSessions;
use crate::event::{ProviderVerdict, Remark, Review, ToolCost};
use crate::lint::{Found, Level, Lint, Provider, lints, tokens};
use crate::suite::grammar::BlockKind;
use crate::suite::{SchemaLint, block_schema_lint};
use crate::wire::Tool;

/// The review of a target's tools; `None` where no block asks for it, or nothing is known of them.
pub(super) fn review(target: &TargetSessions) -> Option<Review> {
    let planned = target.planned();
    let block = planned.suite.blocks.iter().find(|block| block.kind == BlockKind::SchemaLint)?;
    let settings = block_schema_lint(block);
    let tools = settings.of(&target.known_catalog().tools);
    let revision = target.known_revision().filter(|_| !tools.is_empty())?;
    let costs: Vec<ToolCost> =
        tools.iter().map(|tool| ToolCost { tool: tool.name.clone(), tokens: tokens(tool) }).collect();
    Some(Review {
        file: planned.suite.file.clone(),
        server: planned.lanes[target.index].server.clone(),
        revision: revision.as_str().to_owned(),
        tokens: costs.iter().map(|cost| cost.tokens).sum(),
        tools: costs,
        providers: Provider::ALL.map(|provider| verdict(provider, &tools)).into(),
        advice: advice(&settings, &tools),
    })
}

fn verdict(provider: Provider, tools: &[Tool]) -> ProviderVerdict {
    let refuses = provider.refusals(tools).into_iter().map(|(lint, found)| remark(lint, found));
    ProviderVerdict {
        provider: provider.as_str().to_owned(),
        when: provider.by_choice().unwrap_or_default().to_owned(),
        refuses: refuses.collect(),
    }
}

/// What is found below the level from which on there are cases.
fn advice(settings: &SchemaLint, tools: &[Tool]) -> Vec<Remark> {
    let below = lints().filter(|lint| lint.provider.is_none() && lint.level > settings.level.max(Level::Warning));
    let found = below.flat_map(|lint| {
        let found = lint.judge(tools, settings.limits);
        let told = found.into_iter().filter(|one| settings.excuse(lint, &one.tool).is_none());
        told.map(|one| remark(lint, one)).collect::<Vec<_>>()
    });
    found.collect()
}

fn remark(lint: &Lint, Found { tool, at, says }: Found) -> Remark {
    Remark { lint: lint.id.to_owned(), tool, at, says }
}
