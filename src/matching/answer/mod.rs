//! Matchers of a whole answer: one per file and one line in a table below.

mod app;
mod assert;
mod at_most_one_of;
mod error;
mod file;
mod http;
mod input_schema;
mod is_error;
mod latency;
mod listed;
mod no_instructions;
mod no_text_matching;
mod notifications;
mod output_schema;
mod own_texts;
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
pub(crate) use self::assert::free_names;
#[cfg(feature = "cli")]
pub(crate) use self::structured_text::repeats_structured_content;
pub use self::wording::{breaks_own_schema, interpreter_message, stack_trace};

/// A line of the tables.
pub(crate) type AnswerMatcher = table::Matcher<BuildAnswerCheck>;

/// Compiles the value of a matcher's key; `None` after a mistake, or where a template stands in the way.
pub(crate) type BuildAnswerCheck = fn(&Located<String>, &Node, &mut Vec<Diagnostic>) -> Option<AnswerCheck>;

/// Matchers of a message of the protocol.
static OF_MESSAGES: &[&AnswerMatcher] = &[
    &text::MATCHER,
    &no_text_matching::MATCHER,
    &at_most_one_of::MATCHER,
    &no_instructions::MATCHER,
    &is_error::MATCHER,
    &error::MATCHER,
    &refused::MATCHER,
    &refused_or_ignored::MATCHER,
    &readable_error::MATCHER,
    &output_schema::MATCHER,
    &structured_text::MATCHER,
    &input_schema::MATCHER,
    &app::PAGE,
    &app::ORIGINS,
    &listed::TOOLS,
    &listed::RESOURCES,
    &listed::RESOURCE_TEMPLATES,
    &listed::PROMPTS,
    &notifications::MATCHER,
];

/// Matchers of a response of HTTP.
static OF_HTTP: &[&AnswerMatcher] = &[&http::STATUS, &http::CLOSED];

/// Matchers of any answer.
static OF_ANY: &[&AnswerMatcher] = &[&latency::MATCHER, &file::MATCHER, &assert::MATCHER];

/// The keys of matchers of a message.
pub(crate) static MESSAGE_KEYS: [Key; OF_MESSAGES.len()] = keys(OF_MESSAGES, Need::Alternative, &[]);

/// The keys of matchers of a response of HTTP.
pub(crate) static HTTP_KEYS: [Key; OF_HTTP.len()] = keys(OF_HTTP, Need::Alternative, &[]);

/// The keys of matchers of any answer.
pub(crate) static ANY_KEYS: [Key; OF_ANY.len()] = keys(OF_ANY, Need::Alternative, &[]);

/// The answers that a matcher can judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatcherScope {
    /// A message of the protocol.
    Message,
    /// A response of HTTP.
    HttpResponse,
}

/// The only kind of answer that the matcher of this key can judge; `None` for any kind, and for other keys.
pub fn judged_answer(key: &str) -> Option<MatcherScope> {
    let has = |table: &[&AnswerMatcher]| table.iter().any(|matcher| matcher.key.name == key);
    if has(OF_MESSAGES) {
        return Some(MatcherScope::Message);
    }
    has(OF_HTTP).then_some(MatcherScope::HttpResponse)
}

type CheckAnswer = dyn Fn(&Answer<'_>, &mut Vec<Mismatch>) + Send + Sync;

/// One compiled matcher.
pub(crate) struct AnswerCheck(Box<CheckAnswer>);

impl AnswerCheck {
    /// A check that adds everything that is wrong with an answer.
    pub(crate) fn all(check: impl Fn(&Answer<'_>, &mut Vec<Mismatch>) + Send + Sync + 'static) -> Self {
        Self(Box::new(check))
    }

    /// A check with at most one mismatch.
    pub(crate) fn one(check: impl Fn(&Answer<'_>) -> Option<Mismatch> + Send + Sync + 'static) -> Self {
        Self::all(move |answer, found| found.extend(check(answer)))
    }

    pub(crate) fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        (self.0)(answer, found);
    }
}

impl fmt::Debug for AnswerCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("AnswerCheck").finish_non_exhaustive()
    }
}

/// The matcher of that key.
pub(crate) fn find(name: &str) -> Option<&'static AnswerMatcher> {
    OF_MESSAGES.iter().chain(OF_HTTP).chain(OF_ANY).find(|matcher| matcher.key.name == name).copied()
}
