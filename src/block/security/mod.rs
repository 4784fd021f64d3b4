//! `security:`, the packs of properties about attacks, instructions to the model and secrets, under one key.
//!
//! The packs are included as `include:` would include them; their cases have the probe `security` besides.

use std::sync::Arc;

use super::Kind;
use crate::plan::planner::{Planner, not_available};
use crate::plan::{Block, Body, Case, CaseSource, Offer};
use crate::source::grammar::{Object, Shape, key};
use crate::source::{Located, Node, Value};
use crate::suite::{BlockReader, SuiteSettings, texts};

pub(super) static KIND: Kind = Kind {
    key: key(
        "security",
        Shape::Either(&[Shape::Flag, Shape::Object(&KEYS)]),
        "Tries known attacks on the server, and looks for secrets and for instructions to the model in its answers.",
    ),
    probes: &["security"],
    example: Some("security: true"),
    read,
    read_in_test: None,
};

static KEYS: Object = Object {
    name: "security",
    doc: "Known attacks on the server, and searches of its answers; `security: true` makes all of them.",
    keys: &[&[
        key("scan", Shape::Flag, "Whether to look for instructions to the model, as the pack `prompt-injection` does.")
            .default("true"),
        key(
            "packs",
            Shape::Set(&Shape::Choice(&["injection", "path-traversal", "secrets", "ssrf"])),
            "The packs; by default `injection`, `path-traversal` and `secrets`. `ssrf` is not available yet: its case is \
             planned and skipped.",
        ),
    ]],
};

/// The built-in suites behind `packs`; all of them by default.
const PACKS: [(&str, &str); 3] = [
    ("injection", "builtin:packs/injection"),
    ("path-traversal", "builtin:packs/path-traversal"),
    ("secrets", "builtin:packs/secrets-leakage"),
];

/// The built-in suite behind `scan`.
const SCAN: &str = "builtin:packs/prompt-injection";

/// The pack that needs a listener for requests of the server, which no step can have yet.
const SSRF: &str = "ssrf";

fn read(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    if !matches!(node.value, Value::Bool(true) | Value::Map(_)) {
        return None;
    }
    let asked = texts(node.get("packs"));
    let is_asked = |name: &str| asked.iter().any(|pack| pack.value == name);
    let has_scan = KEYS.value(node, "scan").and_then(|scan| scan.flag()) == Some(true);
    let packs = PACKS.iter().filter(|(name, _)| asked.is_empty() || is_asked(name)).map(|(_, suite)| *suite);
    for suite in has_scan.then_some(SCAN).into_iter().chain(packs) {
        reader.add_suite(&Located { value: suite.to_owned(), span: node.span }, KIND.probes);
    }
    is_asked(SSRF).then(|| Arc::new(Unavailable) as Arc<dyn CaseSource>)
}

/// A pack that cannot run yet.
#[derive(Debug)]
struct Unavailable;

impl SuiteSettings for Unavailable {}

impl CaseSource for Unavailable {
    fn cases(&self, _: &Planner<'_>, _: &Case, _: &Offer<'_>) -> Vec<Case> {
        Vec::new()
    }

    /// One skipped case, which declares nothing.
    fn known_cases(&self, planner: &Planner<'_>, block: &Block) -> Option<Vec<Case>> {
        let name = format!("{}: {SSRF}", block.key);
        let reason = planner.passed_over().unwrap_or_else(|| not_available(&name));
        Some(vec![planner.case(&name, None, block.span, Body::Skipped(reason))])
    }
}
