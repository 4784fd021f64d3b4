//! Which cases rest on calls that nobody wrote: they say nothing about a server that serves no call at all.

use std::collections::{BTreeMap, BTreeSet};

use super::block::GeneratedCalls;
use super::case::{Body, Plan, Template};
use super::witness::expects_success;
use crate::suite::{Step, Test, ToolNames};

/// The places of the cases that rest on generated calls.
#[derive(Debug, Clone, Default)]
pub struct GeneratedCases {
    /// The places of the cases, with the probes that tell them from others of the same place; an empty one where there are
    /// no others.
    origins: BTreeMap<Origin, Vec<&'static str>>,
    /// Tools that need not be judged, with the file of their suite.
    unjudged: Vec<(String, ToolNames)>,
    /// The servers whose tools some block calls, each with the file of its suite.
    with_tools: BTreeSet<(String, String)>,
}

/// A test, property or block on a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Origin {
    file: String,
    line: usize,
    server: String,
}

impl GeneratedCases {
    /// Those of a plan. Tests whose steps somebody wrote are not among them, nor are properties that expect refusals
    /// only, which a correct server may answer with nothing else.
    pub fn of(plan: &Plan) -> Self {
        let mut origins: BTreeMap<Origin, Vec<&'static str>> = BTreeMap::new();
        for planned in &plan.suites {
            for case in &planned.cases {
                let Body::Template(template) = &case.body else { continue };
                let server = &planned.targets[case.target].server;
                if let Some(probe) = probe(template) {
                    origins.entry(Origin::new(&case.place.file, case.place.line, server)).or_default().push(probe);
                }
            }
        }
        let suites = plan.suites.iter().map(|planned| &planned.suite);
        let unjudged = suites.map(|suite| (suite.file.clone(), suite.allow_unjudged.clone()));
        let with_tools = plan.suites.iter().flat_map(|planned| {
            let calling =
                planned.cases.iter().filter(|case| matches!(&case.body, Body::Template(of) if calls_tools(of)));
            calling.map(|case| (planned.suite.file.clone(), planned.targets[case.target].server.clone()))
        });
        Self { origins, unjudged: unjudged.collect(), with_tools: with_tools.collect() }
    }

    /// Returns true if there are none, and no block that would call tools.
    pub fn is_empty(&self) -> bool {
        self.origins.is_empty() && self.with_tools.is_empty()
    }

    /// Returns true if the suite says that a tool need not be judged.
    pub fn may_be_unjudged(&self, file: &str, tool: &str) -> bool {
        self.unjudged.iter().any(|(of, tools)| of == file && tools.has(tool))
    }

    /// Returns true if blocks would call the tools of a server, if it had any.
    pub fn calls_tools(&self, file: &str, server: &str) -> bool {
        self.with_tools.iter().any(|known| (known.0.as_str(), known.1.as_str()) == (file, server))
    }

    /// Returns true if a case that stands there on this server, with these probes, is one of them.
    pub fn has(&self, file: &str, line: usize, server: &str, probes: &[String]) -> bool {
        if self.origins.is_empty() {
            return false;
        }
        let marks = self.origins.get(&Origin::new(file, line, server));
        let is_marked = |mark: &&str| mark.is_empty() || probes.iter().any(|probe| probe == mark);
        marks.is_some_and(|marks| marks.iter().any(is_marked))
    }
}

impl Origin {
    fn new(file: &str, line: usize, server: &str) -> Self {
        Self { file: file.to_owned(), line, server: server.to_owned() }
    }
}

/// The mark of the cases of a template; `None` where they do not rest on generated calls.
fn probe(template: &Template) -> Option<&'static str> {
    match template {
        Template::Block(block) if block.settings.generated_calls() == GeneratedCalls::None => None,
        // A test has cases of its own beside those of its blocks.
        Template::Block(block) if block.test.is_some() => block.probes.first().copied(),
        Template::Block(_) => Some(""),
        Template::ForEach(test) | Template::Particular(test) => rests_on_served(test).then_some(""),
    }
}

/// Returns true if a block comes to nothing of its own where a server has no tools.
fn calls_tools(template: &Template) -> bool {
    match template {
        Template::Block(block) => match block.settings.generated_calls() {
            GeneratedCalls::BeginCases | GeneratedCalls::AreCases => block.test.is_none(),
            GeneratedCalls::BeginSomeCases | GeneratedCalls::None => false,
        },
        Template::ForEach(_) | Template::Particular(_) => false,
    }
}

/// Returns true if a test is a property that a server which serves nothing would not show to hold.
fn rests_on_served(test: &Test) -> bool {
    let calls = |steps: &[Step]| steps.iter().any(|step| step.action.as_call().is_some());
    test.extras.property.is_some() && (calls(&test.extras.preconditions) || test.steps.iter().all(expects_success))
}
