//! Writes the reference of suite files, a part of `docs/suites.md`.

use std::fmt::Write as _;

use super::decode::UNAVAILABLE_TEST_KEYS;
use super::grammar::{BLOCKS, BlockState, SUITE};
use crate::source;

/// The reference of suite files in Markdown: what blocks plan, what cannot run yet, and every key.
pub fn manual() -> String {
    let mut text = String::from(
        "\n### Blocks and their probes\n\n\
         A block plans cases with these probes; `fault-coverage` counts the leaves of the probes.\n\
         \n| block | probes | in this version |\n| --- | --- | --- |\n",
    );
    for block in BLOCKS {
        let probes: Vec<String> = block.probes.iter().map(|probe| format!("`{probe}`")).collect();
        let state = match block.state {
            BlockState::Runs => "runs",
            BlockState::NotAvailableYet => "planned and skipped",
        };
        let _ = writeln!(text, "| `{}` | {} | {state} |", block.key, probes.join(", "));
    }
    let listed = |keys: &[&str]| keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let _ = writeln!(
        text,
        "\nCases with the test keys {} are planned and skipped too, with the reason `not available yet`.",
        listed(&UNAVAILABLE_TEST_KEYS),
    );
    text + &source::manual(&SUITE)
}
