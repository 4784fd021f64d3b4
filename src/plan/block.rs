//! Blocks, and the cases that follow from them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use super::Offer;
use super::case::{Body, Case, Template};
use super::planner::Planner;
use super::shared_names::SharedNames;
use crate::event::{CaseResult, Section};
use crate::source::Node;
use crate::suite::{self, Server, StartChanges, SuiteSettings, Test};
use crate::wire::Tool;

/// A block of a suite, with settings that make cases.
pub type Block = suite::SuiteBlock<Arc<dyn CaseSource>>;

/// Settings of a block, and the cases that follow from them.
pub trait CaseSource: SuiteSettings + Debug + Send + Sync {
    /// The cases on a server that has said what it offers.
    ///
    /// `template` is the case that stands for the block in the plan until then.
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case>;

    /// The cases of a block that needs no server to know them; `None` for all others.
    fn known_cases(&self, _planner: &Planner<'_>, _block: &Block) -> Option<Vec<Case>> {
        None
    }

    /// The variants that its cases on a server can judge, whatever the server offers: what the block declares.
    fn variants(&self, _planner: &Planner<'_>) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// The part that generated calls of tools have in its cases.
    fn generated_calls(&self) -> GeneratedCalls {
        GeneratedCalls::None
    }

    /// Returns true if it makes calls of a tool that nobody wrote.
    fn calls(&self, _tool: &str) -> bool {
        false
    }

    /// Returns true if it calls a tool that the server may hide from the token of the suite.
    fn calls_hidden(&self, _tool: &str) -> bool {
        false
    }

    /// Values for templates by name: `{{ hints.slow_tool }}`.
    fn hints(&self) -> Option<&BTreeMap<String, Node>> {
        None
    }

    /// Returns true if machines that share a run may share its cases, too: none of them needs to know of another one.
    fn is_divisible(&self) -> bool {
        true
    }

    /// A section about the tools that a server lists, once all cases are over.
    fn section_of_tools(&self, _target: &ListedTools<'_>) -> Option<Section> {
        None
    }

    /// Returns true if its sections need the result of a case, without what was found and said.
    fn keeps(&self, _result: &CaseResult) -> bool {
        false
    }

    /// The sections about cases: `results` are those of the run that some block keeps.
    fn section_of_cases(&self, _results: &[CaseResult]) -> Vec<Section> {
        Vec::new()
    }

    /// The ways in which it starts a server, beside the written one.
    fn start_changes(&self, _server: &Server) -> Vec<StartChanges> {
        Vec::new()
    }

    /// The file of the recorded server that it names, as written.
    fn snapshot_file(&self) -> Option<&str> {
        None
    }
}

/// A server in one revision, with the tools that it lists.
#[derive(Debug, Clone, Copy)]
pub struct ListedTools<'a> {
    /// The suite's file.
    pub file: &'a str,
    /// The server's name in the suite.
    pub server: &'a str,
    /// The revision that was spoken.
    pub revision: &'a str,
    /// The tools.
    pub tools: &'a [Tool],
}

/// The part that generated calls have in cases; such cases prove nothing if the server refuses all of the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeneratedCalls {
    /// They do not, though some cases may call tools.
    None,
    /// They begin with valid calls of tools, and are inconclusive where these are refused.
    BeginCases,
    /// The same, beside cases that need no tool.
    BeginSomeCases,
    /// They are such calls themselves, and judge the refusal of a valid one.
    AreCases,
}

/// The case of a block that is written in a test.
pub(crate) fn case_of_test(planner: &Planner<'_>, test: &Test, block: &Block) -> Case {
    let body = Body::Template(Box::new(Template::Block(block.clone())));
    let mut case = planner.test_case(test, None, body);
    case.name = format!("{} / {}", case.name, block.key.replace('_', " "));
    case.id = planner.id(&case.name, None);
    case.span = block.span;
    case.probes = block.probes.iter().map(|probe| (*probe).to_owned()).collect();
    case.variants = block.settings.variants(planner).into_iter().collect();
    case.claims = SharedNames::default();
    case
}

/// The cases of a block before the server has said what it offers.
pub(crate) fn cases(planner: &Planner<'_>, block: &Block) -> Vec<Case> {
    if let Some(known) = block.settings.known_cases(planner, block) {
        return known;
    }
    let body = match planner.passed_over().or_else(|| planner.reason_against_all()) {
        Some(reason) => Body::skipped(reason),
        None => Body::Template(Box::new(Template::Block(block.clone()))),
    };
    let mut case = planner.case(block.key, None, block.span, body);
    case.probes.extend(block.probes.iter().map(|probe| (*probe).to_owned()));
    case.variants.extend(block.settings.variants(planner));
    vec![case]
}
