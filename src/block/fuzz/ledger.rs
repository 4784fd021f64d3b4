//! Every distinct problem once, with what is needed to try it again.

use super::calls::Made;
use super::confirm::Traces;
use super::problem::Problem;

/// How many distinct problems of one tool are told.
const MOST: usize = 20;

/// How often a problem has to be seen to stop asking for more of its kind.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) known: Vec<Known>,
    /// How many more there were.
    pub(super) left_out: u64,
}

/// A problem, and what is known of it.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) problem: Problem,
    /// The tool that was called; `None` where nobody knows which call it was.
    pub(super) tool: Option<usize>,
    /// How often it was seen.
    pub(super) times: u64,
    /// The numbers of the calls that may have brought it about.
    pub(super) suspects: Vec<u64>,
    pub(super) stage: Stage,
}

/// How far a problem was looked into.
#[derive(Debug)]
pub(super) enum Stage {
    /// It was seen.
    Seen,
    /// It was tried again: the calls that it takes, and how often it showed of how often they were said.
    Tried(Vec<Made>, (u32, u32)),
    /// It is not told, since somebody else tells it, or since it did not show again.
    Dropped,
}

impl Ledger {
    /// Takes note of a problem.
    pub(super) fn note(&mut self, problem: Problem, tool: Option<usize>, suspects: Vec<u64>) {
        let is_same = |known: &&mut Known| {
            known.problem.is_same(&problem) && (known.tool == tool || known.tool.is_none() || tool.is_none())
        };
        if let Some(known) = self.known.iter_mut().find(is_same) {
            known.times += 1;
        } else if self.known.len() < MOST {
            self.known.push(Known { problem, tool, times: 1, suspects, stage: Stage::Seen });
        } else {
            self.left_out += 1;
        }
    }
}

impl Known {
    /// The calls to try; `remade` makes the call of a number again, where it was of this session.
    pub(super) fn traces(&self, begin: u64, longest: usize, remade: &dyn Fn(u64) -> Option<Made>) -> Traces {
        let last = self.suspects.last().copied().unwrap_or(begin);
        let first = begin.max((last + 1).saturating_sub(longest as u64));
        Traces {
            suspects: self.suspects.iter().filter_map(|number| remade(*number)).collect(),
            session: (first..=last).filter_map(remade).collect(),
        }
    }
}
