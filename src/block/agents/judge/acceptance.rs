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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::block::agents::host::ListedTool;
    use crate::block::agents::tests::{Scene, messages, run_of};

    #[test]
    fn a_tool_that_a_provider_documents_to_refuse_is_found() {
        let plain = json!({ "type": "object", "properties": { "id": { "type": "string" } } });
        for (name, schema, providers, refused) in [
            ("get_user", plain.clone(), &[Provider::OpenAi, Provider::Anthropic, Provider::Gemini][..], false),
            // Names of functions have letters, digits, `_` and `-` only.
            ("get user", plain.clone(), &[Provider::OpenAi], true),
            // What no provider takes is found whatever provider is named.
            ("get_user", json!({ "type": "array" }), &[Provider::Anthropic], true),
        ] {
            let scene = Scene::new("[openai]");
            let tool = Tool::new(json!({ "name": name, "description": "A user.", "inputSchema": schema }));
            let listed = vec![ListedTool { server: "app".to_owned(), tool }];
            let judgement = Acceptance { span: scene.node.span, providers: providers.to_vec() };
            let found = judgement.judge(&AgentRun { listed, ..run_of(Vec::new()) }, &scene.view());
            assert_eq!(!found.is_empty(), refused, "{name}: {:?}", messages(&found));
            assert!(found.iter().all(|finding| finding.message.contains(&format!("refuses the tool `{name}`"))));
        }
    }
}
