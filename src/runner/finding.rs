//! Findings that point into the suite.

use crate::event::{Finding, StepProblem};
use crate::source::template::{TemplateError, UNFILLED, Unfilled};
use crate::source::{Quote, Sources, Span};
use crate::suite::Suite;
use crate::wire::Repeated;

/// The label of a template that cannot be filled in.
pub(crate) const UNFILLED_HERE: &str = "cannot be filled in";

/// Returns true if a step was left out because nobody allowed its call.
pub(crate) fn is_not_allowed(found: &Finding) -> bool {
    matches!(found.step_problem.as_deref(), Some(StepProblem::ToolNotAllowed | StepProblem::ReadOnly))
}

/// A finding that points at a place, unless it already points somewhere.
pub(crate) fn at(found: Finding, sources: &Sources, span: Span, label: &str) -> Finding {
    Finding { quote: found.quote.or_else(|| Some(Quote::new(sources, span, label))), ..found }
}

/// A template that cannot be filled in, with its place.
pub(crate) fn at_template(Unfilled { span, reason }: &Unfilled, sources: &Sources) -> Finding {
    at(of_template(reason), sources, *span, UNFILLED_HERE)
}

/// Findings as they may be told: what nobody wrote down tells nobody where to look.
pub(crate) fn without_quotes_of_flags(suite: &Suite, found: Vec<Finding>) -> Vec<Finding> {
    if suite.asked.is_none() {
        return found;
    }
    let is_elsewhere = |quote: &Quote| quote.file != suite.file;
    found.into_iter().map(|found| Finding { quote: found.quote.filter(is_elsewhere), ..found }).collect()
}

/// A template that cannot be filled in.
pub(crate) fn of_template(reason: &TemplateError) -> Finding {
    let help = match reason {
        TemplateError::GivenUp(_) => "make it smaller, or write a large value into a file of `rows`",
        TemplateError::Missing(_) | TemplateError::NoVariable(_) | TemplateError::Invalid(_) => {
            "define the name, or give it a value with `| default('…')`"
        }
    };
    Finding { help: Some(help.to_owned()), ..Finding::new(UNFILLED, reason.to_string()) }
        .with_problem(StepProblem::Unfilled)
}

/// Something that a server lists more than once.
pub(crate) fn of_repetition(repeated: Repeated) -> Finding {
    let Repeated { noun, name, times } = repeated;
    let times = if times == 2 { "twice".to_owned() } else { format!("{times} times") };
    let help = "clients can reach only one of them; give each a name of its own".to_owned();
    Finding {
        help: Some(help),
        ..Finding::new("duplicate-listing", format!("the server lists the {noun} `{name}` {times}"))
    }
}
