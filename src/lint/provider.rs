//! Model providers, and the ways in which clients hand them tools.

use super::{Lint, LintFinding, LintLimits, lints};
use crate::wire::Tool;

/// A model provider, spoken to in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    /// `OpenAI`'s function calling.
    OpenAi,
    /// The same with `strict: true`.
    OpenAiStrict,
    /// Anthropic's tool use.
    Anthropic,
    /// Google's function calling, with `parametersJsonSchema`.
    Gemini,
    /// The same with `parameters`, a subset of `OpenAPI`.
    GeminiOpenApi,
}

impl Provider {
    /// The words for them.
    pub const NAMES: &'static [&'static str] = &["openai", "openai-strict", "anthropic", "gemini", "gemini-openapi"];

    /// Every provider.
    pub const ALL: [Self; 5] = [Self::OpenAi, Self::OpenAiStrict, Self::Anthropic, Self::Gemini, Self::GeminiOpenApi];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The provider of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.as_str() == word)
    }

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
