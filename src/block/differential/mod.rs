//! `differential:`, the server against a recorded one or against itself in another revision, and how one is recorded.

mod cases;
mod compare;
mod finding;
mod parity;
mod record;
mod snapshot;
mod stability;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Kind;
use crate::drift::{self, NAMES};
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, Offer};
use crate::source::grammar::{Shape, key};
use crate::source::settings::Setting;
use crate::source::{Located, Node, settings};
use crate::suite::{BlockReader, NamePattern, SuiteSettings, ToolSelection};
use crate::wire::Revision;

pub use self::record::{Recording, RecordingSelection, UNANSWERED, record};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "differential",
        DifferentialKeys::SHAPE,
        "Compares the server with a recorded one, or with itself in another revision.",
    ),
    probes: &[],
    example: "differential: { snapshot: recorded.json }",
    decode,
    decode_in_test: None,
};

settings! {
    /// Compares the server with a recording, or with itself in another revision of the protocol.
    struct DifferentialKeys as "differential" {
        /// The recorded server: a file that `mcprove snapshot` writes.
        snapshot: Option<Located<String>> => alternative() choice("other"),
        /// The revision in which the same server must list the same things and give the same answers.
        revision: Option<Revision> => alternative() choice("other"),
        /// The lowest level of changes that fails a case; by default `breaking`, and `compatible` with `revision`.
        fail_on: Option<drift::ChangeLevel>,
        /// Whether calls are compared: the recorded ones, or with `revision` one of each tool.
        answers: bool => default("true"),
        /// The tools; all by default.
        tools: ToolSelection,
        /// Intended changes.
        ignore: Vec<IgnoredChange>,
    }
}

settings! {
    /// An intended change; if it has `at` and `what`, both must match.
    #[derive(PartialEq, Eq)]
    struct IgnoredChange as "an ignored change" {
        /// The path of the change, such as `tools/add/input/limit`; `*` matches any text.
        at: Option<NamePattern> => alternative() cure(
            "add `at: tools/add/*` or `what: tool-added`; otherwise every change would be ignored"
        ),
        /// The kind of change.
        what: Option<String> => shape(Shape::Choice(NAMES)) alternative(),
        /// Why the change is intended.
        reason: String => required(),
    }
}

/// The server with which the server is compared.
#[derive(Debug, Clone)]
enum Other {
    /// A recorded one.
    Recorded {
        /// The file, as it is written.
        file: String,
        /// Its content.
        snapshot: Arc<drift::ServerSnapshot>,
    },
    /// The same, spoken to in this revision.
    InRevision(Revision),
}

/// Compares the server with another one.
#[derive(Debug, Clone)]
struct Differential {
    other: Other,
    /// The lowest level of changes that fails a case.
    fail_on: drift::ChangeLevel,
    /// True if calls are compared.
    compares_calls: bool,
    /// Which tools.
    tools: ToolSelection,
    /// Changes that are meant.
    ignore: Vec<IgnoredChange>,
}

impl IgnoredChange {
    fn place(&self) -> Option<&str> {
        self.at.as_ref().map(|at| at.name.value.as_str())
    }

    /// It may be meant for what tools answer.
    fn may_be_of_answers(&self) -> bool {
        let at = self.place().is_none_or(|at| at.starts_with("answers") || at.starts_with(['*', '?', '[', '{']));
        at && self.what.as_deref().is_none_or(|what| what.starts_with("answer-"))
    }

    /// This is the change.
    fn is_about(&self, change: &drift::ServerChange) -> bool {
        let at = self.at.as_ref().is_none_or(|pattern| pattern.is_match(&change.at));
        at && self.what.as_deref().is_none_or(|what| what == change.what)
    }
}

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let keys = DifferentialKeys::decode(node, reader.mistakes())?;
    let other = match (&keys.snapshot, keys.revision) {
        (_, Some(revision)) => Other::InRevision(revision),
        (Some(named), None) => {
            Other::Recorded { snapshot: Arc::new(snapshot::load(named, reader)?), file: named.value.clone() }
        }
        (None, None) => return None,
    };
    let usual = match other {
        Other::Recorded { .. } => drift::ChangeLevel::Breaking,
        // What only one of two revisions offers is a difference, whichever it is.
        Other::InRevision(_) => drift::ChangeLevel::Compatible,
    };
    Some(Arc::new(Differential {
        other,
        fail_on: keys.fail_on.unwrap_or(usual),
        compares_calls: keys.answers,
        tools: keys.tools,
        ignore: keys.ignore,
    }))
}

impl SuiteSettings for Differential {}

impl CaseSource for Differential {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        let settings = Arc::new(self.clone());
        match &self.other {
            Other::Recorded { file, snapshot } => {
                cases::cases(planner, template, &settings, (file, snapshot), offer.catalog)
            }
            Other::InRevision(revision) => parity::cases(planner, template, &settings, *revision, offer),
        }
    }

    fn variants(&self, _: &Planner<'_>) -> BTreeSet<String> {
        match &self.other {
            Other::Recorded { .. } => cases::JUDGES.map(str::to_owned).into(),
            // Two revisions of one release say nothing about the next release.
            Other::InRevision(_) => BTreeSet::new(),
        }
    }

    fn snapshot_file(&self) -> Option<&str> {
        match &self.other {
            Other::Recorded { file, .. } => Some(file),
            Other::InRevision(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::settings;

    #[test]
    fn an_ignored_change_must_be_as_the_entry_says() {
        let change = |at: &str, what: &'static str| drift::ServerChange {
            level: drift::ChangeLevel::Breaking,
            what,
            at: at.to_owned(),
            before: None,
            after: None,
            says: String::new(),
            help: None,
            example: None,
        };
        for (entry, at, what, expected) in [
            ("{ at: tools/add, reason: r }", "tools/add", "tool-removed", true),
            ("{ at: tools/add, reason: r }", "tools/add/input", "tool-removed", false),
            ("{ at: 'tools/*', reason: r }", "tools/add/input", "tool-removed", true),
            ("{ what: tool-removed, reason: r }", "tools/add", "tool-removed", true),
            ("{ what: tool-added, reason: r }", "tools/add", "tool-removed", false),
            // Both must match.
            ("{ at: 'tools/*', what: tool-added, reason: r }", "tools/add", "tool-removed", false),
            ("{ at: 'prompts/*', what: tool-removed, reason: r }", "tools/add", "tool-removed", false),
        ] {
            let ignored: IgnoredChange = settings(entry);
            assert_eq!(ignored.is_about(&change(at, what)), expected, "{entry} {at} {what}");
        }
    }

    #[test]
    fn entries_that_may_be_about_answers_are_not_called_needless() {
        for (entry, expected) in [
            ("{ at: answers/get, reason: r }", true),
            ("{ at: '*', reason: r }", true),
            ("{ at: '{tools,answers}/get', reason: r }", true),
            ("{ what: answer-failed, reason: r }", true),
            ("{ at: 'tools/*', reason: r }", false),
            ("{ what: tool-added, reason: r }", false),
            ("{ at: '*', what: tool-added, reason: r }", false),
            ("{ at: tools/get, what: answer-failed, reason: r }", false),
        ] {
            let ignored: IgnoredChange = settings(entry);
            assert_eq!(ignored.may_be_of_answers(), expected, "{entry}");
        }
    }
}
