//! Every distinct problem once, with the calls that may have caused it.

use super::calls::GeneratedCall;
use super::confirm::Traces;
use super::problem::FuzzProblem;
use crate::check::Confirmation;

/// The number of distinct problems of one tool that are told.
const MOST: usize = 20;

/// The distinct problems of a case.
#[derive(Debug, Default)]
pub(crate) struct ProblemList {
    pub(crate) known: Vec<NotedProblem>,
    /// The number of further ones.
    pub(crate) left_out: u64,
}

/// A problem, and what is known of it.
#[derive(Debug)]
pub(crate) struct NotedProblem {
    pub(crate) problem: FuzzProblem,
    /// The tool that was called; `None` where nobody knows which call it was.
    pub(crate) tool: Option<usize>,
    /// The number of times that it was seen.
    pub(crate) times: u64,
    /// The numbers of the calls that may have brought it about.
    pub(crate) suspects: Vec<u64>,
    pub(crate) stage: ProblemStage,
}

/// The state of the search for what causes a problem.
#[derive(Debug)]
pub(crate) enum ProblemStage {
    /// It was seen.
    Seen,
    /// It was tried again with these calls.
    Tried { calls: Vec<GeneratedCall>, confirmation: Confirmation },
    /// It is not reported: another case reports it, or it did not show again.
    Dropped,
}

impl ProblemList {
    /// Takes note of a problem.
    pub(crate) fn note(&mut self, problem: FuzzProblem, tool: Option<usize>, suspects: Vec<u64>) {
        let is_same = |known: &&mut NotedProblem| {
            known.problem.is_same(&problem) && (known.tool == tool || known.tool.is_none() || tool.is_none())
        };
        if let Some(known) = self.known.iter_mut().find(is_same) {
            known.times += 1;
        } else if self.known.len() < MOST {
            self.known.push(NotedProblem { problem, tool, times: 1, suspects, stage: ProblemStage::Seen });
        } else {
            self.left_out += 1;
        }
    }
}

impl NotedProblem {
    /// The calls to try; `remade` makes the call of a number again, where it was of this session.
    pub(crate) fn traces(&self, begin: u64, longest: usize, remade: &dyn Fn(u64) -> Option<GeneratedCall>) -> Traces {
        let last = self.suspects.last().copied().unwrap_or(begin);
        let first = begin.max((last + 1).saturating_sub(longest as u64));
        Traces {
            suspects: self.suspects.iter().filter_map(|number| remade(*number)).collect(),
            session: (first..=last).filter_map(remade).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Finding, FindingKind, ReproductionCheck};

    fn problem(signature: &str) -> FuzzProblem {
        let found = Finding::new("internal-error", "an internal error");
        FuzzProblem::new(FindingKind::PropertyFailure, signature, ReproductionCheck::Ends, found)
    }

    #[test]
    fn equal_problems_of_a_tool_are_one() {
        for (second, tool, known) in [
            ("a", Some(0), 1),
            // Nobody knows which tool it was.
            ("a", None, 1),
            ("a", Some(1), 2),
            ("b", Some(0), 2),
        ] {
            let mut list = ProblemList::default();
            list.note(problem("a"), Some(0), vec![1]);
            list.note(problem(second), tool, vec![2]);
            assert_eq!(list.known.len(), known, "{second} {tool:?}");
            assert_eq!(list.known[0].times, if known == 1 { 2 } else { 1 });
        }
    }

    #[test]
    fn problems_beyond_the_most_are_counted() {
        let mut list = ProblemList::default();
        for number in 0..MOST + 5 {
            list.note(problem(&format!("{number}")), Some(0), vec![number as u64]);
        }
        assert_eq!((list.known.len(), list.left_out), (MOST, 5));
    }
}
