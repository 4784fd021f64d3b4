//! Writes the reference of suite files, the pages `suite-file.md`, `steps.md`, `matchers.md` and `blocks.md` in
//! `docs/reference/`.

use std::fmt::Write as _;

use super::{KINDS, SUITE};
use crate::source::ManualReference;
use crate::source::grammar::{Object, Shape};

const SUITE_FILE: &str = "suite-file.md";
const STEPS: &str = "steps.md";
const MATCHERS: &str = "matchers.md";
const BLOCKS_PAGE: &str = "blocks.md";

/// One page of the reference of suite files in Markdown, without its title.
pub fn manual(page: &str) -> String {
    let keys = reference().page(page).replace("\n### ", "\n## ");
    if page == BLOCKS_PAGE { probes() + &keys } else { keys }
}

fn reference() -> ManualReference {
    let mut reference = ManualReference::new(&SUITE);
    let suite_keys = || SUITE.all_keys().filter(|key| !is_block(key.name));
    let block_keys = || SUITE.all_keys().filter(|key| is_block(key.name));
    let tests = suite_keys().find(|key| key.name == "tests").and_then(|key| object(&key.shape));
    let steps = suite_keys().find(|key| key.name == "setup").and_then(|key| object(&key.shape));
    let expectations = steps.and_then(|step| step.all_keys().find(|key| key.name == "expect"));
    if let Some(expectation) = expectations.and_then(|key| object(&key.shape)) {
        reference.place_all(expectation, MATCHERS);
    }
    if let Some(step) = steps {
        reference.place_all(step, STEPS);
    }
    // A test has some settings of blocks, and a property is a test with more keys.
    for block in block_keys().filter_map(|key| object(&key.shape)) {
        reference.place(block, BLOCKS_PAGE);
    }
    if let Some(test) = tests {
        reference.place_all(test, SUITE_FILE);
    }
    for block in block_keys().filter_map(|key| object(&key.shape)) {
        reference.place_all(block, BLOCKS_PAGE);
    }
    reference.place_all(&SUITE, SUITE_FILE);
    reference
}

fn is_block(key: &str) -> bool {
    KINDS.iter().any(|kind| kind.key.name == key)
}

/// The mapping that a value is, or that its items are.
fn object(shape: &Shape) -> Option<&'static Object> {
    shape.object().or_else(|| shape.parts().iter().find_map(object))
}

/// Which probes blocks plan.
fn probes() -> String {
    let mut text = String::from(
        "\n## Blocks and their probes\n\n\
         A block plans cases with these probes; `fault-coverage` counts the leaves of the probes.\n\
         \n| block | probes | example |\n| --- | --- | --- |\n",
    );
    for kind in KINDS {
        let probes: Vec<String> = kind.probes.iter().map(|probe| format!("`{probe}`")).collect();
        let _ = writeln!(text, "| `{}` | {} | `{}` |", kind.key.name, probes.join(", "), kind.example);
    }
    text
}
