//! The judgements of a run: one a file, each about the calls that were made.

mod acceptance;
mod answer;
mod call_pattern;
mod equal_function;
mod golden_path;
mod loose_arguments;
mod order_ignored;
mod readable_results;
mod recovery;
mod selection;
mod trajectory;

use std::fmt::Debug;

use super::run::AgentRun;
use crate::event::{Code, Finding};
use crate::matching::Answer;
use crate::plan::CheckContext;
use crate::source::template::Names;
use crate::source::{Located, Quote, Sources, Span, did_you_mean};
use crate::wire::Catalog;

pub(crate) use self::acceptance::Acceptance;
pub(crate) use self::answer::AnswerExpectations;
pub(crate) use self::call_pattern::EqualTools;
pub(crate) use self::equal_function::EqualFunction;
pub(crate) use self::golden_path::GoldenPaths;
pub(crate) use self::loose_arguments::LooseArguments;
pub(crate) use self::order_ignored::OrderIgnored;
pub(crate) use self::readable_results::ReadableResults;
pub(crate) use self::recovery::AgentRecovery;
pub(crate) use self::selection::{SelectionCount, share_text};
pub(crate) use self::trajectory::Trajectory;

/// The variant that the choice of tools judges.
pub(crate) const AMBIGUOUS: &str = "PROVIDER-SELECTION-AMBIGUOUS";

/// One thing that a run must do.
pub(crate) trait Judgement: Debug + Send + Sync {
    /// Everything that is wrong with a run.
    fn judge(&self, run: &AgentRun, view: &JudgedView<'_>) -> Vec<Finding>;

    /// It depends on the model's next replies, and not only on the servers.
    fn is_about_model(&self) -> bool {
        true
    }

    /// Why nothing in a run shows what it is about; a run without findings does not pass then.
    fn reason_not_judged(&self, _run: &AgentRun) -> Option<String> {
        None
    }

    /// The servers of the suite that it names.
    fn servers(&self) -> Vec<&Located<String>> {
        Vec::new()
    }

    /// The variants of the fault taxonomy that it judges.
    fn variants(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// The context of a judgement beside the run.
pub(crate) struct JudgedView<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) catalog: &'a Catalog,
    pub(crate) names: &'a Names,
    pub(crate) equal: &'a EqualTools,
    /// True if a recording takes the place of the servers.
    pub(crate) is_replayed: bool,
}

impl<'a> JudgedView<'a> {
    pub(crate) fn of(context: &CheckContext<'a>, equal: &'a EqualTools) -> Self {
        let CheckContext { sources, catalog, names, is_replayed, .. } = *context;
        Self { sources, catalog, names, equal, is_replayed }
    }

    pub(crate) fn quote(&self, span: Span, label: &str) -> Quote {
        Quote::new(self.sources, span, label)
    }

    /// A finding that points at a place of the suite.
    fn finding(&self, code: impl Into<Code>, message: impl Into<String>, span: Span, label: &str) -> Finding {
        Finding { quote: Some(self.quote(span, label)), ..Finding::new(code, message) }
    }

    /// A tool that the suite names and no server has; patterns may fit nothing.
    fn unknown_tool(&self, name: &Located<String>, run: &AgentRun) -> Option<Finding> {
        let known = || run.listed.iter().map(|listed| listed.tool.name.as_str());
        if name.value.contains(['*', '?', '[', '{']) || known().any(|known| known == name.value) {
            return None;
        }
        let message = format!("no server of the agent has a tool `{}`", name.value);
        let found = self.finding("no-such-tool", message, name.span, "this tool");
        Some(Finding { help: did_you_mean(&name.value, known()), ..found })
    }

    /// A value as something that expectations can look at.
    fn answer<'m>(&'m self, message: &'m serde_json::Value, params: &'m serde_json::Value) -> Answer<'m> {
        Answer {
            method: "tools/call",
            params,
            message,
            notifications: &[],
            elapsed: std::time::Duration::ZERO,
            catalog: self.catalog,
            names: self.names,
            files: None,
        }
    }
}
