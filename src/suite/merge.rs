//! Includes: the content of the included suite comes first, and the including suite overrides its settings.

use super::block::LoadedSuite;
use crate::source::template::names_of;
use crate::source::{Located, Node};

/// Puts an included suite under the one that includes it.
///
/// Tests, blocks and setup of the included suite come first, its teardown last; its variables, servers, arguments and
/// answers hold unless the including suite says otherwise; what it needs is needed; its run options do not count.
pub(crate) fn under<S>(own: LoadedSuite<S>, included: LoadedSuite<S>) -> LoadedSuite<S> {
    let LoadedSuite { mut suite, blocks: own } = own;
    let LoadedSuite { suite: included, mut blocks } = included;
    blocks.extend(own);
    let variables = included
        .variables
        .into_iter()
        .filter(|(name, _)| !suite.variables.iter().any(|(own, _)| own.value == name.value));
    let variables = variables.collect::<Vec<_>>().into_iter().chain(std::mem::take(&mut suite.variables));
    suite.variables = in_order_of_use(variables.collect());
    // An included server is a default for suites that bring none of their own.
    if suite.servers.is_empty() {
        suite.servers = included.servers;
    }
    suite.needs.extend(included.needs);
    suite.fixture = suite.fixture.or(included.fixture);
    for (tool, args) in included.arguments {
        suite.arguments.entry(tool).or_insert(args);
    }
    suite.allow.0.extend(included.allow.0);
    suite.never.0.extend(included.never.0);
    suite.allow_unjudged.0.extend(included.allow_unjudged.0);
    suite.answers = suite.answers.or(&included.answers).into();
    suite.setup = [included.setup, suite.setup].concat();
    suite.teardown = [suite.teardown, included.teardown].concat();
    suite.tests = [included.tests, suite.tests].concat();
    LoadedSuite { suite, blocks }
}

/// Variables so that each comes after those that it uses, since they are filled in their order: an override comes before
/// what the included suite makes of it. Those that use one another keep their order.
fn in_order_of_use(variables: Vec<(Located<String>, Node)>) -> Vec<(Located<String>, Node)> {
    let used = |node: &Node| names_of(&node.to_json().to_string());
    let mut left: Vec<_> = variables.into_iter().map(|variable| (used(&variable.1), variable)).collect();
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let is_next = |at: &usize| {
            let mut others = left.iter().enumerate().filter(|(other, _)| other != at);
            !others.any(|(_, (_, (name, _)))| left[*at].0.contains(&name.value))
        };
        let next = (0..left.len()).find(is_next).unwrap_or(0);
        ordered.push(left.remove(next).1);
    }
    ordered
}
