//! `accepted_by:`, tools that model providers refuse; the lints know what each documents.

use super::{JudgedView, Judgement};
use crate::block::agents::run::AgentRun;
use crate::event::Finding;
use crate::lint::{Lint, Provider, lints};
use crate::source::Span;
use crate::wire::Tool;

/// Providers that must accept every tool of the servers.
#[derive(Debug)]
pub(in crate::block::agents) struct Acceptance {
    pub(in crate::block::agents) span: Span,
    pub(in crate::block::agents) providers: Vec<Provider>,
}

impl Judgement for Acceptance {
    fn variants(&self) -> Vec<&'static str> {
        let is_asked = |lint: &&'static Lint| self.providers.iter().any(|provider| provider.is_subject_of(lint));
        lints().filter(is_asked).filter_map(|lint| lint.variant).collect()
    }

    fn judge(&self, run: &AgentRun, view: &JudgedView<'_>) -> Vec<Finding> {
        let tools: Vec<Tool> = run.listed.iter().map(|listed| listed.tool.clone()).collect();
        let refusals = self.providers.iter().flat_map(|provider| {
            provider.refusals(&tools).into_iter().map(move |(lint, refusal)| (provider, lint, refusal))
        });
        let found = refusals.map(|(provider, lint, refusal)| {
            let message = format!("`{}` refuses the tool `{}`: {}", provider.as_str(), refusal.tool, refusal.says);
            let found = view.finding(lint.id, message, self.span, "these providers");
            let path = Some(refusal.at).filter(|at| !at.is_empty());
            Finding { path, help: Some(format!("{}; {}", lint.cure, lint.link)), ..found }
        });
        found.collect()
    }
}
