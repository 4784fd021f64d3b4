//! Includes: the content of the included suite comes first, and the including suite overrides its settings.

use super::block::LoadedSuite;

/// Puts an included suite under the one that includes it.
///
/// Tests, blocks and setup of the included suite come first, its teardown last; its variables, servers, arguments and
/// answers hold unless the including suite says otherwise; its run options do not count.
pub(super) fn under<S>(own: LoadedSuite<S>, included: LoadedSuite<S>) -> LoadedSuite<S> {
    let LoadedSuite { mut suite, blocks: own } = own;
    let LoadedSuite { suite: included, mut blocks } = included;
    blocks.extend(own);
    let variables = included
        .variables
        .into_iter()
        .filter(|(name, _)| !suite.variables.iter().any(|(own, _)| own.value == name.value));
    suite.variables = variables.collect::<Vec<_>>().into_iter().chain(std::mem::take(&mut suite.variables)).collect();
    // An included server is a default for suites that bring none of their own.
    if suite.servers.is_empty() {
        suite.servers = included.servers;
    }
    for (tool, args) in included.arguments {
        suite.arguments.entry(tool).or_insert(args);
    }
    suite.allow.extend(included.allow);
    suite.allow_unjudged.extend(included.allow_unjudged);
    suite.answers.sampling = suite.answers.sampling.or(included.answers.sampling);
    suite.answers.elicitation = suite.answers.elicitation.or(included.answers.elicitation);
    suite.answers.roots = suite.answers.roots.or(included.answers.roots);
    suite.setup = [included.setup, suite.setup].concat();
    suite.teardown = [suite.teardown, included.teardown].concat();
    suite.tests = [included.tests, suite.tests].concat();
    LoadedSuite { suite, blocks }
}
