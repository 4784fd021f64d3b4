//! Model providers, and the ways in which clients hand them tools.

use super::{Lint, LintFinding, LintLimits, lints};
use crate::source::choice;
use crate::wire::Tool;

choice! {
    /// A model provider, spoken to in one way.
    pub enum Provider {
        /// `OpenAI`'s function calling.
        OpenAi = "openai",
        /// The same with `strict: true`.
        OpenAiStrict = "openai-strict",
        /// Anthropic's tool use.
        Anthropic = "anthropic",
        /// Google's function calling, with `parametersJsonSchema`.
        Gemini = "gemini",
        /// The same with `parameters`, a subset of `OpenAPI`.
        GeminiOpenApi = "gemini-openapi",
    }
}

impl Provider {
    /// When the provider refuses, if clients can avoid it; `None` for refusals that no client can avoid.
    pub fn by_choice(self) -> Option<&'static str> {
        match self {
            Self::OpenAi | Self::Anthropic | Self::Gemini => None,
            Self::OpenAiStrict => Some("only with `strict: true`"),
            Self::GeminiOpenApi => Some("only in `parameters`; `parametersJsonSchema` takes JSON Schema"),
        }
    }

    /// A lint is about this provider; strict mode is function calling, too.
    pub fn is_subject_of(self, lint: &Lint) -> bool {
        let base = match self {
            Self::OpenAiStrict => Self::OpenAi,
            Self::GeminiOpenApi => Self::Gemini,
            Self::OpenAi | Self::Anthropic | Self::Gemini => self,
        };
        lint.provider.is_some_and(|provider| provider == self || provider == base)
    }

    /// Everything that it refuses, lint by lint.
    pub fn refusals(self, tools: &[Tool]) -> Vec<(&'static Lint, LintFinding)> {
        let own = lints().filter(|lint| self.is_subject_of(lint));
        own.flat_map(|lint| lint.judge(tools, LintLimits::default()).into_iter().map(move |found| (lint, found)))
            .collect()
    }
}
