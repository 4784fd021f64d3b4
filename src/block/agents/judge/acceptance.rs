//! `accepted_by:`, tools that model providers refuse; the lints know what each documents.

use super::{JudgedView, Judgement};
use crate::block::agents::run::AgentRun;
use crate::event::Finding;
use crate::lint::{Lint, LintFinding, LintLevel, LintLimits, Provider, lints};
use crate::source::Span;
use crate::wire::Tool;

/// Providers that must accept every tool of the servers.
#[derive(Debug)]
pub(crate) struct Acceptance {
    pub(crate) span: Span,
    pub(crate) providers: Vec<Provider>,
}

impl Judgement for Acceptance {
    fn variants(&self) -> Vec<&'static str> {
        let is_asked = |lint: &&'static Lint| self.providers.iter().any(|provider| provider.is_subject_of(lint));
        lints().filter(is_asked).filter_map(|lint| lint.variant).collect()
    }

    fn is_about_model(&self) -> bool {
        false
    }

    fn judge(&self, run: &AgentRun, view: &JudgedView<'_>) -> Vec<Finding> {
        let tools: Vec<Tool> = run.listed.iter().map(|listed| listed.tool.clone()).collect();
        let invalid = lints().filter(|lint| lint.provider.is_none() && lint.level == LintLevel::Error);
        let by_all = invalid.flat_map(|lint| {
            let found = lint.judge(&tools, LintLimits::default());
            found.into_iter().map(move |found| ("every provider", lint, found))
        });
        let by_each = self.providers.iter().flat_map(|provider| {
            provider.refusals(&tools).into_iter().map(|(lint, found)| (provider.as_str(), lint, found))
        });
        by_all.chain(by_each).map(|(by, lint, found)| self.finding(by, lint, found, view)).collect()
    }
}

impl Acceptance {
    fn finding(&self, by: &str, lint: &Lint, refused: LintFinding, view: &JudgedView<'_>) -> Finding {
        let LintFinding { tool, at, says } = refused;
        let message = format!("{by} refuses the tool `{tool}`: {says}");
        Finding {
            path: Some(at).filter(|at| !at.is_empty()),
            help: Some(format!("{}; {}", lint.cure, lint.link)),
            ..view.finding(lint.id, message, self.span, "these providers")
        }
    }
}
