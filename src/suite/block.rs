//! Blocks, as the loader knows them: a key, what may be written under it, and what reads it.
//!
//! Which kinds there are is not known here: `block` lists them, and [`load`](super::load) takes the list. `S` is what
//! the settings of a block become.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::decode::NamedFaults;
use super::model::{Suite, Test};
use crate::source::grammar::{Key, Object};
use crate::source::{Diagnostic, Located, Node, Span};

/// The grammar of suite files, and the readers of their blocks.
#[derive(Debug)]
pub struct SuiteGrammar<S: 'static> {
    /// Every key of a suite file.
    pub file: &'static Object,
    /// Every kind of block, in the order in which blocks run.
    pub blocks: &'static [&'static BlockKind<S>],
}

/// One kind of block.
#[derive(Debug)]
pub struct BlockKind<S: 'static> {
    /// Its key in a suite file.
    pub key: Key,
    /// The probes of its cases.
    pub probes: &'static [&'static str],
    /// A block of this kind in one line.
    pub example: &'static str,
    /// Decodes its settings, unless they are `false`; `None` where a mistake was reported, or where all that it says is added to the suite.
    pub decode: fn(&Node, &mut dyn BlockReader) -> Option<S>,
    /// Decodes the same key of a test.
    pub decode_in_test: Option<DecodeInTest<S>>,
}

/// Decodes a block in a test.
pub type DecodeInTest<S> = fn(&Node, &Arc<Test>, &mut dyn BlockReader) -> Option<S>;

/// The access of a block to its suite while it is decoded.
pub trait BlockReader {
    /// Reports a mistake.
    fn report(&mut self, mistake: Diagnostic);

    /// The mistakes that were reported before.
    fn mistakes(&mut self) -> &mut Vec<Diagnostic>;

    /// The suite's file, as the user knows it.
    fn suite_file(&self) -> String;

    /// The suite's folder, where its paths begin.
    fn folder(&self) -> &Path;

    /// The text of a file whose path is relative to the suite's folder.
    fn file(&self, path: &Path) -> io::Result<String>;

    /// The content of a YAML file whose path is relative to the suite's folder; `None` where a mistake was reported.
    fn document(&mut self, file: &Located<String>) -> Option<Node>;

    /// The faults that the suite names.
    fn faults(&self) -> &NamedFaults;

    /// The tests of another suite: a file beside this one, or `builtin:NAME`.
    fn tests_of(&mut self, suite: &Located<String>) -> Vec<Test>;

    /// The tests of every built-in rule book.
    fn rule_books(&mut self) -> Vec<Test>;

    /// Adds another suite as `include` does; cases of its tests get these probes.
    fn add_suite(&mut self, suite: &Located<String>, probes: &'static [&'static str]);

    /// Adds a test to the suite, with the rows that are written in its node.
    fn add_test(&mut self, test: Test, node: &Node);
}

/// Settings that can be checked against the suite they stand in.
pub trait SuiteSettings {
    /// Tests that the block brings, which are checked like the suite's own.
    fn tests(&self) -> &[Arc<Test>] {
        &[]
    }

    /// Reports mistakes that only the whole suite shows.
    fn check(&self, _suite: &Suite, _found: &mut Vec<Diagnostic>) {}
}

impl<S: SuiteSettings + ?Sized> SuiteSettings for Arc<S> {
    fn tests(&self) -> &[Arc<Test>] {
        (**self).tests()
    }

    fn check(&self, suite: &Suite, found: &mut Vec<Diagnostic>) {
        (**self).check(suite, found);
    }
}

/// One block of a suite.
#[derive(Debug, Clone)]
pub struct SuiteBlock<S> {
    /// Its key.
    pub key: &'static str,
    /// The place of its key.
    pub span: Span,
    /// The probes of its cases.
    pub probes: &'static [&'static str],
    /// The test in which it is written; `None` for a block of the suite.
    pub test: Option<Span>,
    /// Its settings.
    pub settings: S,
}

/// A suite with its blocks.
#[derive(Debug, Clone)]
pub struct LoadedSuite<S> {
    /// The suite.
    pub suite: Suite,
    /// Its blocks in the order in which they run.
    pub blocks: Vec<SuiteBlock<S>>,
}

impl<S: SuiteSettings> SuiteBlock<S> {
    /// The block as far as it can be checked with its suite.
    pub(crate) fn as_settings(&self) -> SuiteBlock<&dyn SuiteSettings> {
        let Self { key, span, probes, test, settings } = self;
        SuiteBlock { key, span: *span, probes, test: *test, settings }
    }
}
