//! Which cases were asked for.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::case::{Body, Case};
use super::target::Target;
use super::{Filter, Shard};
use crate::redact;
use crate::suite::Suite;

/// The selection of the user; empty keeps everything.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// `--filter`; all of them must hold.
    pub filters: Vec<Filter>,
    /// `FILE:LINE`; one of them must hold for the files that have any.
    pub lines: Vec<LineSelection>,
    /// `--row`; one of them must hold.
    pub rows: Vec<String>,
    /// `--last-failed`: what failed.
    pub failed: Option<Failed>,
    /// `--shard`: the part of these cases that runs here.
    pub shard: Option<Arc<Shard>>,
}

/// The cases that failed in an earlier run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failed {
    /// The ids of cases.
    pub cases: BTreeSet<String>,
    /// Ids from which secrets were taken out before they were remembered.
    pub masked: Vec<String>,
    /// Files of suites of which something failed that is no case, so that all of it runs again.
    pub files: BTreeSet<String>,
}

impl Failed {
    fn has(&self, case: &Case, suite: &Suite) -> bool {
        self.files.contains(&suite.file)
            || self.cases.contains(&case.id)
            || self.masked.iter().any(|known| redact::may_be(known, &case.id))
    }
}

/// A file and a line in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineSelection {
    /// The file as typed.
    pub file: String,
    /// The line, counted from one.
    pub line: usize,
}

impl Selection {
    /// Returns true if nothing was asked for in particular.
    pub fn is_everything(&self) -> bool {
        let is_whole = self.failed.is_none() && self.shard.is_none();
        is_whole && self.filters.is_empty() && self.lines.is_empty() && self.rows.is_empty()
    }

    /// Returns true if everything of a suite was asked for.
    pub fn is_all_of(&self, file: &str) -> bool {
        self.filters.is_empty()
            && self.rows.is_empty()
            && self.shard.is_none()
            && self.lines.iter().all(|line| line.file != file)
            && self.failed.as_ref().is_none_or(|failed| failed.files.contains(file))
    }

    pub(crate) fn wants_row(&self, row: &str) -> bool {
        self.rows.iter().any(|asked| redact::may_be(asked, row))
    }

    /// Returns true if a case is wanted. What a template will become is only known later, so it is kept unless what is
    /// known already rules it out.
    pub(crate) fn keeps(&self, case: &Case, suite: &Suite, targets: &[Target]) -> bool {
        let asked: Vec<&LineSelection> = self.lines.iter().filter(|line| line.file == suite.file).collect();
        let lined = asked.is_empty()
            || asked.iter().any(|line| {
                case.place.file == line.file && (case.place.line..=case.place.last_line).contains(&line.line)
            });
        let filtered =
            self.filters.iter().all(|filter| filter.matches(case, suite, &targets[case.target]) != Some(false));
        if !lined || !filtered || matches!(case.body, Body::Template(_)) {
            return lined && filtered;
        }
        (self.rows.is_empty() || case.row.as_ref().is_some_and(|row| self.wants_row(row)))
            && self.failed.as_ref().is_none_or(|failed| failed.has(case, suite))
    }
}
