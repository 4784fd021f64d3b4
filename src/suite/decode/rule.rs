//! Rules, and what tests need.

use std::sync::Arc;

use crate::source::Located;
use crate::suite::grammar::{Condition, RuleNeed};
use crate::suite::model::{NeededVariable, Rule, TestNeed};
use crate::wire::Revision;

/// The rule for which a test stands, with the revisions in which it holds, oldest first.
pub(crate) fn rule(mut rule: Rule) -> Arc<Rule> {
    if rule.revisions.is_empty() {
        rule.revisions.extend(Revision::ALL);
    }
    rule.revisions.sort_unstable();
    Arc::new(rule)
}

/// The variables and the other needs of a test.
pub(crate) fn needs(written: Vec<RuleNeed>) -> (Vec<NeededVariable>, Vec<TestNeed>) {
    let (mut variables, mut needs) = (Vec::new(), Vec::new());
    for one in written {
        match one {
            RuleNeed::Variable(variable) => variables.push(variable),
            RuleNeed::Condition(condition) => needs.extend(test_needs(condition)),
        }
    }
    (variables, needs)
}

fn test_needs(condition: Condition) -> impl Iterator<Item = TestNeed> {
    let Condition { hint, capability, no_capability, over, assert, reason } = condition;
    let because = |expression: Located<String>| TestNeed::Assert {
        reason: reason.unwrap_or_else(|| format!("it needs `{}`", expression.value)),
        expression,
    };
    let needs = [
        hint.map(TestNeed::Hint),
        capability.map(TestNeed::Capability),
        no_capability.map(TestNeed::NoCapability),
        over.map(TestNeed::Over),
        assert.map(|expression| because(expression.0)),
    ];
    needs.into_iter().flatten()
}
