//! What is told of the tools that servers list, once all cases are over.

use super::SchemaLint;
use crate::event::{ProviderVerdict, Remark, Review, ToolCost};
use crate::lint::{Lint, LintFinding, LintLevel, Provider, lints, tokens};
use crate::plan::ReviewTarget;
use crate::wire::Tool;

/// The review of the tools of a server; `None` where it has none.
pub(super) fn review(settings: &SchemaLint, target: &ReviewTarget<'_>) -> Option<Review> {
    let tools = settings.of(target.tools);
    if tools.is_empty() {
        return None;
    }
    let costs: Vec<ToolCost> =
        tools.iter().map(|tool| ToolCost { tool: tool.name.clone(), tokens: tokens(tool) }).collect();
    Some(Review {
        file: target.file.to_owned(),
        server: target.server.to_owned(),
        revision: target.revision.to_owned(),
        tokens: costs.iter().map(|cost| cost.tokens).sum(),
        tools: costs,
        providers: Provider::ALL.map(|provider| verdict(provider, &tools)).into(),
        advice: advice(settings, &tools),
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
    let below = lints().filter(|lint| lint.provider.is_none() && lint.level > settings.level.max(LintLevel::Warning));
    let found = below.flat_map(|lint| {
        let found = lint.judge(tools, settings.limits);
        let told = found.into_iter().filter(|one| settings.excuse(lint, &one.tool).is_none());
        told.map(|one| remark(lint, one)).collect::<Vec<_>>()
    });
    found.collect()
}

fn remark(lint: &Lint, LintFinding { tool, at, says }: LintFinding) -> Remark {
    Remark { lint: lint.id.to_owned(), tool, at, says }
}
