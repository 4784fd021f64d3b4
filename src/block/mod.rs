//! Blocks: checks that mcprove derives from what a server says of itself.
//!
//! A folder is a kind of block, and holds all that is particular to it: its key and what may be written under it, its
//! settings, the cases that follow from them, and what runs where YAML cannot say it. [`KINDS`] lists the kinds.

mod agents;
mod authorization;
pub mod campaign;
pub mod compliance;
mod config;
pub mod differential;
mod fuzz;
mod manual;
mod negative_path;
mod output_schema;
mod performance;
pub mod properties;
mod schema_lint;
mod security;
mod state;
#[cfg(test)]
mod tests;
mod timeouts;
mod torture;
mod trust_boundary;

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::plan::CaseSource;
use crate::source::grammar::{Key, Object, Shape, key};
use crate::source::{Diagnostic, Sources};
use crate::suite::grammar::{ExchangeKeys, NeedKeys, RuleKeys, SuiteKeys, TestKeys};
use crate::suite::{self, BlockKind, Files, LoadedSuite, Servers, SuiteGrammar, SuiteSource};

pub use self::authorization::manual as authorization_manual;
pub use self::manual::manual;

/// A kind of block, with settings that make cases.
pub type Kind = BlockKind<Arc<dyn CaseSource>>;

/// Every kind of block, in the order in which blocks run: a folder and a line here.
pub static KINDS: &[&Kind] = &[
    &properties::KIND,
    &compliance::KIND,
    &negative_path::KIND,
    &output_schema::KIND,
    &schema_lint::KIND,
    &fuzz::KIND,
    &differential::KIND,
    &performance::KIND,
    &security::KIND,
    &state::KIND,
    &torture::KIND,
    &timeouts::KIND,
    &campaign::KIND,
    &config::KIND,
    &trust_boundary::KIND,
    &authorization::KIND,
    &agents::KIND,
];

/// The grammar of suite files.
pub static GRAMMAR: SuiteGrammar<Arc<dyn CaseSource>> = SuiteGrammar { file: &SUITE, blocks: KINDS };

/// A whole suite file.
static SUITE: Object =
    Object { name: "a suite", doc: "One file of tests and blocks for one or more MCP servers.", keys: &SUITE_GROUPS };

static SUITE_GROUPS: [&[Key]; KINDS.len() + 2] = {
    let mut groups = [SuiteKeys::TABLE; KINDS.len() + 2];
    groups[1] = TESTS;
    let mut at = 0;
    while at < KINDS.len() {
        groups[at + 2] = std::slice::from_ref(&KINDS[at].key);
        at += 1;
    }
    groups
};

static TESTS: &[Key] =
    &[key("tests", Shape::List(&Shape::Object(&TEST)), "The tests, in the order in which they run.")];

/// The keys of a test that a property has not.
static TEST_ONLY_KEYS: [&[Key]; 2] = [RuleKeys::TABLE, negative_path::TEST_KEYS];

/// A test.
static TEST: Object = Object {
    name: "a test",
    doc: "One thing that can pass or fail; the keys of a single step may stand here without `steps`.",
    keys: &[TestKeys::TABLE, RuleKeys::TABLE, NeedKeys::TABLE, ExchangeKeys::TABLE, negative_path::TEST_KEYS],
};

/// Reads a suite file that names its servers; see [`suite::load`].
pub fn load(
    path: &Path,
    files: &dyn Files,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
) -> Result<LoadedSuite<Arc<dyn CaseSource>>, Vec<Diagnostic>> {
    load_with(Servers::Written, path, files, sources, warnings)
}

/// Reads a suite file whose servers come from there.
pub(crate) fn load_with(
    servers: Servers,
    path: &Path,
    files: &dyn Files,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
) -> Result<LoadedSuite<Arc<dyn CaseSource>>, Vec<Diagnostic>> {
    suite::load(&SuiteSource { path, servers, files, grammar: &GRAMMAR }, sources, warnings)
}

/// The JSON Schema (2020-12) of a suite file, made from the grammar that checks it.
pub fn json_schema() -> Value {
    Shape::Object(&SUITE).json_schema_file("suite", "mcprove suite")
}
