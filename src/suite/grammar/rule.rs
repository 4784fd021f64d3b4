//! The key of a test that stands for a rule of a specification, and what tests need.

use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::template::Expression;
use crate::source::{Diagnostic, Located, Node, settings};
use crate::suite::model::{Carrier, NeededVariable, Rule, Step};

settings! {
    /// A test that stands for a rule.
    pub(crate) struct RuleKeys as "a test of a rule" {
        /// The rule of the specification that the test checks.
        pub(crate) rule: Option<Rule>,
    }
}

settings! {
    /// Conditions of a test; if one does not hold, the test is skipped.
    pub(crate) struct Condition as "a condition" {
        /// A hint under `compliance: { hints: … }`, such as `slow_tool`.
        pub(crate) hint: Option<String> => alternative() cure("write for example `{ capability: tools }`"),
        /// A capability that the server declares, such as `resources.subscribe`.
        pub(crate) capability: Option<String> => alternative(),
        /// A capability that the server does not declare.
        pub(crate) no_capability: Option<String> => alternative(),
        /// The transport.
        pub(crate) over: Option<Carrier> => alternative(),
        /// An expression that must hold; `offer` has the server's lists and capabilities.
        pub(crate) assert: Option<Expression> => alternative(),
        /// The reason that is reported if `assert` does not hold.
        pub(crate) reason as "else": Option<String> => beside(&["assert"]),
    }
}

/// A need of a test: `env.NAME`, or a condition.
#[derive(Debug, Clone)]
pub(crate) enum RuleNeed {
    Variable(NeededVariable),
    Condition(Condition),
}

impl Setting for RuleNeed {
    const SHAPE: Shape = Shape::Either(&[NeededVariable::SHAPE, Condition::SHAPE]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        match node.text() {
            Some(_) => NeededVariable::decode(node, found).map(Self::Variable),
            None => Condition::decode(node, found).map(Self::Condition),
        }
    }
}

settings! {
    /// What must be there before a test judges a server.
    pub(crate) struct NeedKeys as "a test with conditions" {
        /// Conditions, or variables of the environment, such as `env.TOKEN`; if one does not hold or is not set, the test is
        /// skipped.
        pub(crate) needs: Vec<RuleNeed> => shape(Shape::Either(&[NeededVariable::SHAPE, Shape::List(&RuleNeed::SHAPE)])),
        /// Steps that must succeed first, such as a valid call of the tool that must refuse another one. If they fail, the
        /// test is inconclusive.
        pub(crate) preconditions as "witness": Vec<Step>,
        /// In place of steps: scans that must find nothing in any session of the suite.
        pub(crate) scan: Vec<Located<String>> => alternative()
            shape(Shape::Either(&[Shape::Text, Shape::NonEmpty(&Shape::List(&Shape::Text))])),
        /// `false` begins a session without a handshake; the steps send everything, and the suite's setup is left out.
        pub(crate) handshake: bool => default("true"),
    }
}
