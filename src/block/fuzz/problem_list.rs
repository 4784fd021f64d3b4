//! Every distinct problem once, with the calls that may have caused it.

use super::calls::GeneratedCall;
use super::confirm::{Repetitions, Traces};
use super::problem::FuzzProblem;

/// How many distinct problems of one tool are told.
const MOST: usize = 20;

/// The distinct problems of a case.
#[derive(Debug, Default)]
pub(super) struct ProblemList {
    pub(super) known: Vec<NotedProblem>,
    /// How many more there were.
    pub(super) left_out: u64,
}

/// A problem, and what is known of it.
#[derive(Debug)]
pub(super) struct NotedProblem {
    pub(super) problem: FuzzProblem,
    /// The tool that was called; `None` where nobody knows which call it was.
    pub(super) tool: Option<usize>,
    /// How often it was seen.
    pub(super) times: u64,
    /// The numbers of the calls that may have brought it about.
    pub(super) suspects: Vec<u64>,
    pub(super) stage: ProblemStage,
}

/// How far a problem was looked into.
#[derive(Debug)]
pub(super) enum ProblemStage {
    /// It was seen.
    Seen,
    /// It was tried again with these calls.
    Tried { calls: Vec<GeneratedCall>, repetitions: Repetitions },
    /// It is not reported: another case reports it, or it did not show again.
    Dropped,
}

impl ProblemList {
    /// Takes note of a problem.
    pub(super) fn note(&mut self, problem: FuzzProblem, tool: Option<usize>, suspects: Vec<u64>) {
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
    pub(super) fn traces(&self, begin: u64, longest: usize, remade: &dyn Fn(u64) -> Option<GeneratedCall>) -> Traces {
        let last = self.suspects.last().copied().unwrap_or(begin);
        let first = begin.max((last + 1).saturating_sub(longest as u64));
        Traces {
            suspects: self.suspects.iter().filter_map(|number| remade(*number)).collect(),
            session: (first..=last).filter_map(remade).collect(),
        }
    }
}
