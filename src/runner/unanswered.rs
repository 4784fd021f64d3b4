//! Tools that answer nothing: what it costs to wait for them is paid twice in a run, not in every case that nobody wrote.

use std::collections::btree_map::{BTreeMap, Entry};

use parking_lot::Mutex;

use super::exchange::Intent;
use crate::event::{Exchange, FailureClass, Finding, StepProblem};
use crate::source::Sources;
use crate::suite::{Awaited, Step, is_builtin};

/// The cases that wait for a tool before those that nobody wrote call it no more.
const WAITED: usize = 2;

/// The tools of a target that were called, as far as they decide whether it is worth waiting for another answer.
#[derive(Debug, Default)]
pub(crate) struct UnansweredCalls {
    tools: Mutex<BTreeMap<String, Calls>>,
}

/// The calls of a tool so far.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Calls {
    /// One of them was answered, so each is worth a wait.
    Answered,
    /// Each of them waited in vain, in the cases with these ids.
    InVain(Vec<String>),
}

impl Calls {
    /// The same after another call.
    fn with(self, case: &str, is_answered: bool) -> Self {
        match self {
            Self::InVain(mut cases) if !is_answered => {
                if !cases.iter().any(|known| known == case) {
                    cases.push(case.to_owned());
                }
                Self::InVain(cases)
            }
            Self::Answered | Self::InVain(_) => Self::Answered,
        }
    }

    /// Returns true if another case need not call the tool.
    fn are_enough(&self, case: &str) -> bool {
        matches!(self, Self::InVain(cases) if cases.len() >= WAITED && !cases.iter().any(|known| known == case))
    }
}

impl UnansweredCalls {
    /// Takes note of a call that came to its end.
    pub(crate) fn note<T>(&self, exchange: &Exchange, case: &str, result: &Result<T, Finding>) {
        let is_answered = match result {
            Ok(_) => true,
            Err(found) if found.class == Some(FailureClass::Timeout) => false,
            Err(_) => return,
        };
        if let Some(tool) = &exchange.tool {
            match self.tools.lock().entry(tool.clone()) {
                // Nearly every call finds this.
                Entry::Occupied(entry) if *entry.get() == Calls::Answered => {}
                Entry::Occupied(mut entry) => {
                    let calls = entry.get().clone().with(case, is_answered);
                    entry.insert(calls);
                }
                Entry::Vacant(entry) => {
                    entry.insert(Calls::InVain(Vec::new()).with(case, is_answered));
                }
            }
        }
    }

    /// Lets a call through, unless other cases have waited for its tool, each in vain, and nobody wrote this one.
    pub(crate) fn permit(
        &self,
        intent: Intent,
        exchange: &Exchange,
        case: &str,
        is_generated: bool,
    ) -> Result<Intent, Finding> {
        let Some(tool) = exchange.tool.as_deref().filter(|_| is_generated) else { return Ok(intent) };
        if self.tools.lock().get(tool).is_none_or(|calls| !calls.are_enough(case)) {
            return Ok(intent);
        }
        let message = format!("`{tool}` has answered no call of this run, and other cases waited for it in vain");
        Err(Finding::new("timeout", message).with_problem(StepProblem::NeverAnswered))
    }
}

/// Returns true if a step waits for an answer, and comes from a suite of mcprove or follows from a block.
pub(crate) fn is_generated(step: &Step, is_derived: bool, sources: &Sources) -> bool {
    let waits = step.awaits == Awaited::Answer && step.cancel.is_none();
    waits && (is_derived || is_builtin(sources.file(step.span.source)))
}

#[cfg(test)]
mod tests {
    use super::Calls;

    #[test]
    fn two_cases_wait_in_vain_and_no_third_one() {
        let after = |calls: &[(&str, bool)]| {
            calls.iter().fold(Calls::InVain(Vec::new()), |known, (case, is_answered)| known.with(case, *is_answered))
        };
        let check = |calls: &[(&str, bool)], case: &str, expected: bool| {
            assert_eq!(after(calls).are_enough(case), expected, "{calls:?}, {case}");
        };
        check(&[], "c", false);
        check(&[("a", false)], "c", false);
        check(&[("a", false), ("a", false)], "c", false);
        check(&[("a", false), ("b", false)], "c", true);
        // Its own calls go on, as a smaller value is looked for, or the case is tried again.
        check(&[("a", false), ("b", false)], "b", false);
        // A tool that answers now and then may be slow.
        check(&[("a", true), ("a", false), ("b", false)], "c", false);
        check(&[("a", false), ("b", false), ("b", true)], "c", false);
    }
}
