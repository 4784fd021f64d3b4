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
    let Some(file) = suite.file_of_flags() else { return found };
    let is_elsewhere = |quote: &Quote| quote.file != file;
    found.into_iter().map(|found| Finding { quote: found.quote.filter(is_elsewhere), ..found }).collect()
}

/// A template that cannot be filled in.
pub(crate) fn of_template(reason: &TemplateError) -> Finding {
    let help = match reason {
        TemplateError::GivenUp(_) => "make it smaller, or write a large value into a file of `rows`".to_owned(),
        TemplateError::NoVariable(name) => {
            format!("set the environment variable `{name}`, or give it a value with `| default('…')`")
        }
        TemplateError::Missing(_) | TemplateError::Invalid(_) => {
            "define the name, or give it a value with `| default('…')`".to_owned()
        }
    };
    Finding { help: Some(help), ..Finding::new(UNFILLED, reason.to_string()) }.with_problem(StepProblem::Unfilled)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;

    #[test]
    fn a_finding_keeps_the_place_to_which_it_points() {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("s.yml", "suite: a\ntests: []\n"));
        let [first, second] = [(0, 5), (9, 14)].map(|(start, end)| Span { source, start, end });
        let found = || Finding::new("equals", "it differs");
        let line = |found: Finding| found.quote.map(|quote| (quote.line, quote.label));
        assert_eq!(line(at(found(), &sources, second, "this case")), Some((2, "this case".to_owned())));
        let placed = at(found(), &sources, first, "here");
        assert_eq!(line(at(placed, &sources, second, "this case")), Some((1, "here".to_owned())));
    }

    #[test]
    fn a_call_that_nobody_allowed_is_no_failure_of_the_server() {
        for (problem, expected) in [
            (StepProblem::ToolNotAllowed, true),
            (StepProblem::ReadOnly, true),
            (StepProblem::Unfilled, false),
            (StepProblem::NoToken, false),
        ] {
            let found = Finding::new("x", "x").with_problem(problem);
            assert_eq!(is_not_allowed(&found), expected, "{found:?}");
        }
        assert!(!is_not_allowed(&Finding::new("x", "x")));
    }

    #[test]
    fn a_template_that_is_too_much_to_fill_in_needs_another_cure() {
        for (reason, cure) in [
            (TemplateError::GivenUp("it is too large".to_owned()), "make it smaller"),
            (TemplateError::Missing("user.id".to_owned()), "define the name"),
            (TemplateError::Invalid("unexpected `}`".to_owned()), "define the name"),
        ] {
            let found = of_template(&reason);
            assert!(found.help.is_some_and(|help| help.starts_with(cure)), "{reason:?}");
            assert_eq!(found.step_problem.as_deref(), Some(&StepProblem::Unfilled));
        }
    }

    #[test]
    fn a_repetition_says_how_often() {
        for (times, says) in [(2, "lists the tool `find` twice"), (3, "lists the tool `find` 3 times")] {
            let found = of_repetition(Repeated { noun: "tool", name: "find".to_owned(), times });
            assert!(found.message.ends_with(says), "{}", found.message);
        }
    }
}
