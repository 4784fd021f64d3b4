//! `differential:`, the server against a recorded one, and how one is recorded.

mod cases;
mod compare;
mod finding;
mod record;
mod snapshot;
mod stability;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Kind;
use crate::drift::{self, NAMES};
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, Offer};
use crate::source::grammar::{Object, Shape, key, required};
use crate::source::settings::Setting;
use crate::source::{Node, settings};
use crate::suite::{BlockReader, NamePattern, SuiteSettings, TOOLS, ToolSelection, selected_tools};

pub use self::record::{Recording, RecordingSelection, UNANSWERED, record};

pub(crate) static KIND: Kind = Kind {
    key: key("differential", Shape::Object(&KEYS), "Compares the server with a recorded one."),
    probes: &[],
    example: "differential: { snapshot: recorded.json }",
    read,
    read_in_test: None,
};

static KEYS: Object = Object {
    name: "differential",
    doc: "Compares the server with a recording.",
    keys: &[&[
        required("snapshot", Shape::Text, "The recorded server: a file that `mcprove snapshot` writes."),
        key(
            "fail_on",
            Shape::Choice(&["breaking", "compatible", "cosmetic"]),
            "The lowest level of changes that fails a case.",
        )
        .default("breaking"),
        key("answers", Shape::Flag, "Whether recorded calls are made again.").default("true"),
        key("tools", TOOLS, "The tools; all by default."),
        key("ignore", Vec::<IgnoredChange>::SHAPE, "Intended changes."),
    ]],
};

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

/// Compares the server with a recording.
#[derive(Debug, Clone)]
struct Differential {
    /// The file of the recorded server, as it is written.
    file: String,
    /// Its content.
    snapshot: Arc<drift::ServerSnapshot>,
    /// The lowest level of changes that fails a case.
    fail_on: drift::ChangeLevel,
    /// Whether recorded calls are made again.
    replay_calls: bool,
    /// Which tools.
    tools: ToolSelection,
    /// Changes that are meant.
    ignore: Vec<IgnoredChange>,
}

impl IgnoredChange {
    fn place(&self) -> Option<&str> {
        self.at.as_ref().map(|at| at.name.value.as_str())
    }

    /// Whether it may be meant for what tools answer.
    fn may_be_of_answers(&self) -> bool {
        let at = self.place().is_none_or(|at| at.starts_with("answers") || at.starts_with(['*', '?', '[', '{']));
        at && self.what.as_deref().is_none_or(|what| what.starts_with("answer-"))
    }

    /// Whether this is the change.
    fn is_about(&self, change: &drift::ServerChange) -> bool {
        let at = self.at.as_ref().is_none_or(|pattern| pattern.is_match(&change.at));
        at && self.what.as_deref().is_none_or(|what| what == change.what)
    }
}

fn read(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let snapshot = snapshot::read(node, reader);
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
    Some(Arc::new(Differential {
        file: text(node, "snapshot")?,
        snapshot: Arc::new(snapshot?),
        fail_on: node
            .get("fail_on")
            .and_then(Node::text)
            .and_then(drift::ChangeLevel::parse)
            .unwrap_or(drift::ChangeLevel::Breaking),
        replay_calls: node.get("answers").and_then(Node::flag) != Some(false),
        tools: selected_tools(node, "tools"),
        ignore: node.get("ignore").and_then(Setting::read).unwrap_or_default(),
    }))
}

impl SuiteSettings for Differential {}

impl CaseSource for Differential {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::cases(planner, template, &Arc::new(self.clone()), offer.catalog)
    }

    fn variants(&self, _: &Planner<'_>) -> BTreeSet<String> {
        cases::JUDGES.map(str::to_owned).into()
    }

    fn snapshot_file(&self) -> Option<&str> {
        Some(&self.file)
    }
}
