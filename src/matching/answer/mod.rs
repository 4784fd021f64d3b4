//! Matchers of a whole answer: one per file and one line in the table below.

mod assert;
mod error;
mod http;
mod input_schema;
mod is_error;
mod latency;
mod listed;
mod no_text_matching;
mod notifications;
mod output_schema;
mod readable_error;
mod refused;
mod refused_or_ignored;
mod structured_text;
mod text;
mod wording;

use std::fmt;

use super::Answer;
use super::mismatch::Mismatch;
use super::table::{self, keys};
use crate::source::grammar::{Key, Need};
use crate::source::{Diagnostic, Located, Node};

pub use self::assert::PROVIDED;
pub(super) use self::assert::free_names;
pub use self::wording::{breaks_own_schema, interpreter_message, stack_trace};

/// A line of the table.
pub(super) type AnswerMatcher = table::Matcher<BuildAnswerCheck>;

/// Compiles the value of a matcher's key; `None` after a mistake, or where a template stands in the way.
pub(super) type BuildAnswerCheck = fn(&Located<String>, &Node, &mut Vec<Diagnostic>) -> Option<AnswerCheck>;

static MATCHERS: [&AnswerMatcher; 19] = [
    &text::MATCHER,
    &no_text_matching::MATCHER,
    &is_error::MATCHER,
    &error::MATCHER,
    &refused::MATCHER,
    &refused_or_ignored::MATCHER,
    &readable_error::MATCHER,
    &output_schema::MATCHER,
    &structured_text::MATCHER,
    &input_schema::MATCHER,
    &listed::TOOLS,
    &listed::RESOURCES,
    &listed::RESOURCE_TEMPLATES,
    &listed::PROMPTS,
    &notifications::MATCHER,
    &latency::MATCHER,
    &http::STATUS,
    &http::CLOSED,
    &assert::MATCHER,
];

/// The keys of the matchers of a whole answer.
pub(super) static KEYS: [Key; 19] = keys(&MATCHERS, Need::Alternative, &[]);

type CheckAnswer = dyn Fn(&Answer<'_>, &mut Vec<Mismatch>) + Send + Sync;

/// One compiled matcher.
pub(super) struct AnswerCheck(Box<CheckAnswer>);

impl AnswerCheck {
    /// A check that adds everything that is wrong with an answer.
    pub(super) fn all(check: impl Fn(&Answer<'_>, &mut Vec<Mismatch>) + Send + Sync + 'static) -> Self {
        Self(Box::new(check))
    }

    /// A check with at most one mismatch.
    pub(super) fn one(check: impl Fn(&Answer<'_>) -> Option<Mismatch> + Send + Sync + 'static) -> Self {
        Self::all(move |answer, found| found.extend(check(answer)))
    }

    pub(super) fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        (self.0)(answer, found);
    }
}

impl fmt::Debug for AnswerCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("AnswerCheck").finish_non_exhaustive()
    }
}

/// The matcher of that key.
pub(super) fn find(name: &str) -> Option<&'static AnswerMatcher> {
    MATCHERS.iter().find(|matcher| matcher.key.name == name).copied()
}
