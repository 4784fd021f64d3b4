//! Ends of servers that no case tells of.

use parking_lot::Mutex;

use crate::event::{FailureClass, Finding};

/// Servers that ended by themselves while arguments were looked for, and of which no case tells.
#[derive(Debug, Default)]
pub(crate) struct UntoldEnds(Mutex<Vec<Finding>>);

impl UntoldEnds {
    pub(crate) fn add(&self, ends: impl IntoIterator<Item = Finding>) {
        self.0.lock().extend(ends);
    }

    /// Forgets them where a case tells that the server ended: it is one fault.
    pub(crate) fn settle(&self, findings: &[Finding]) {
        if findings.iter().any(|found| found.class == Some(FailureClass::ProcessExited)) {
            self.0.lock().clear();
        }
    }

    pub(crate) fn take(&self) -> Vec<Finding> {
        std::mem::take(&mut self.0.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_unless_a_case_tells_of_one() {
        let ended = || Finding::failure(FailureClass::ProcessExited, "it ended");
        for (found, untold) in [
            (vec![], 1),
            (vec![Finding::failure(FailureClass::Timeout, "it is silent")], 1),
            (vec![Finding::new("equals", "it differs"), ended()], 0),
        ] {
            let ends = UntoldEnds::default();
            ends.add(vec![ended()]);
            ends.settle(&found);
            assert_eq!(ends.take().len(), untold, "{found:?}");
            assert!(ends.take().is_empty());
        }
    }
}
