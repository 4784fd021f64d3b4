//! Files that the code produces are what the code produces; `UPDATE=1 cargo test generated` rewrites them.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use crate::documents::with_contents;
use crate::harness::{is_update, root};
use crate::manual;

/// A file, and what makes the text that it must hold.
type Generated = (&'static str, fn() -> String);

const GENERATED: &[Generated] = &[
    ("schema/suite.schema.json", || pretty(&mcprove::block::json_schema())),
    ("schema/baseline.schema.json", || pretty(&mcprove::baseline::json_schema())),
    ("schema/snapshot.schema.json", || pretty(&mcprove::drift::json_schema())),
    ("schema/finding.schema.json", || pretty(&mcprove::findings::json_schema())),
    ("schema/registry.schema.json", || pretty(&mcprove::taxonomy::json_schema())),
    ("docs/reference/lints.md", || with_contents(&manual::lints::page())),
    ("docs/reference/packs.md", || with_contents(&manual::packs::page())),
    ("docs/reference/rules.md", || with_contents(&manual::rules::page())),
    ("docs/reference/scans.md", || with_contents(&manual::scans::page())),
    ("docs/reference/faults.md", || {
        let served = mcprove::demo::faulty::all().map(|entry| entry.variant).collect();
        with_contents(&manual::faults::page(mcprove::taxonomy::Registry::builtin(), &served))
    }),
];

#[test]
fn generated_files_are_up_to_date() {
    let mut stale = Vec::new();
    for (file, produce) in GENERATED {
        let (path, wanted) = (root().join(file), produce());
        if fs::read_to_string(&path).is_ok_and(|found| found == wanted) {
            continue;
        }
        if is_update() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, wanted).unwrap();
        } else {
            stale.push(*file);
        }
    }
    assert!(stale.is_empty(), "out of date: {}; run `UPDATE=1 cargo test generated`", stale.join(", "));
}

fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}
