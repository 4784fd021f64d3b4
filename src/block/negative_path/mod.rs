//! `negative_path:`, calls that must be refused, derived from the schemas that tools declare.
//!
//! A test may have it too, for the tools that it calls.

mod as_text;
mod cases;
mod envelope;
mod forbidden;
mod malformed;
mod title;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Kind;
use crate::plan::planner::Planner;
use crate::plan::witness::called_tool;
use crate::plan::{Case, CaseSource, GeneratedCalls, Offer};
use crate::source::grammar::{Key, Shape, key};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Node, choice, settings};
use crate::suite::{BlockReader, SuiteSettings, Test, ToolSelection};

pub(crate) static KIND: Kind = Kind {
    key: key("negative_path", FLAG_OR_KEYS, "Derives calls that must be refused from the tools' schemas."),
    probes: &["negative-path"],
    example: "negative_path: { tools: \"*\" }",
    decode,
    decode_in_test: Some(decode_in_test),
};

/// The same key in a test.
pub(crate) static TEST_KEYS: &[Key] = &[key(
    "negative_path",
    FLAG_OR_KEYS,
    "Derives calls that must be refused from the schemas of the tools that the test calls.",
)];

/// `true` is the block with its defaults.
const FLAG_OR_KEYS: Shape = Shape::Either(&[Shape::Flag, NegativePath::SHAPE]);

settings! {
    /// Calls that the server must refuse; a refusal counts only if the server serves a valid call of the same tool.
    struct NegativePath as "negative_path", at span {
        /// The tools: all by default, or a list of names and patterns such as `get_*`.
        tools: ToolSelection,
        /// The checks; all by default, and in a test all except `unknown_method`, `unknown_value`, `malformed_envelope` and
        /// `malformed_arguments`, which apply to the whole server.
        checks: BTreeSet<NegativeCheck>,
        /// The largest number of calls of each tool, some of each kind.
        cases: usize => default("24"),
    }
}

/// The checks that are about a tool.
const OF_TOOLS: [NegativeCheck; 5] = [
    NegativeCheck::UnknownTool,
    NegativeCheck::MissingRequired,
    NegativeCheck::WrongType,
    NegativeCheck::OutOfRange,
    NegativeCheck::ExtraProperty,
];

choice! {
    /// One kind of call that must be refused.
    enum NegativeCheck {
        /// A tool that does not exist.
        UnknownTool = "unknown_tool",
        /// A method that does not exist.
        UnknownMethod = "unknown_method",
        /// A call without a required argument.
        MissingRequired = "missing_required",
        /// A call with an argument of a wrong type.
        WrongType = "wrong_type",
        /// A call with an argument out of its range.
        OutOfRange = "out_of_range",
        /// A call with an argument that the schema forbids.
        ExtraProperty = "extra_property",
        /// A message that is no JSON-RPC.
        MalformedEnvelope = "malformed_envelope",
        /// A call whose arguments are no object, or hold one name twice.
        MalformedArguments = "malformed_arguments",
        /// A prompt with values that name nothing.
        UnknownValue = "unknown_value",
    }
}

impl NegativeCheck {
    /// The variants that its cases judge.
    fn judges(self) -> &'static [&'static str] {
        match self {
            Self::UnknownTool => &["TOOL-UNKNOWN-ACCEPTED", "TOOL-ERROR-AS-SUCCESS"],
            Self::UnknownMethod => &["PROTO-WRONG-ERROR-CODE"],
            Self::MissingRequired | Self::WrongType | Self::ExtraProperty => {
                &["SCHEMA-INPUT-NOT-VALIDATED", "TOOL-ERROR-AS-SUCCESS"]
            }
            Self::OutOfRange => &["SCHEMA-CONSTRAINT-NOT-ENFORCED", "TOOL-ERROR-AS-SUCCESS"],
            Self::MalformedEnvelope => &["PROTO-MALFORMED-ENVELOPE", "PROTO-BAD-INPUT-FATAL"],
            // What the specification leaves open proves nothing.
            Self::MalformedArguments | Self::UnknownValue => &[],
        }
    }

    /// It calls the tools of a server, and not only what no server has.
    fn is_of_tools(self) -> bool {
        match self {
            Self::MissingRequired | Self::WrongType | Self::OutOfRange | Self::ExtraProperty => true,
            Self::UnknownTool
            | Self::UnknownMethod
            | Self::MalformedEnvelope
            | Self::MalformedArguments
            | Self::UnknownValue => false,
        }
    }
}

/// The refusals that a test asks for.
#[derive(Debug)]
struct NegativeTest {
    test: Arc<Test>,
    settings: NegativePath,
}

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    Some(Arc::new(read_settings(node, NegativeCheck::ALL.into(), reader.mistakes())?))
}

/// Checks that are about the server as a whole are made only if the test says so.
fn decode_in_test(node: &Node, test: &Arc<Test>, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let settings = read_settings(node, OF_TOOLS.into(), reader.mistakes())?;
    Some(Arc::new(NegativeTest { test: Arc::clone(test), settings }))
}

/// Reads the settings; `default` are the checks if none are named.
fn read_settings(node: &Node, default: BTreeSet<NegativeCheck>, found: &mut Vec<Diagnostic>) -> Option<NegativePath> {
    let settings = NegativePath::decode(node, found)?;
    Some(if settings.checks.is_empty() { NegativePath { checks: default, ..settings } } else { settings })
}

impl SuiteSettings for NegativePath {}

impl CaseSource for NegativePath {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::block_cases(planner, template, self, offer)
    }

    fn variants(&self, _: &Planner<'_>) -> BTreeSet<String> {
        self.checks.iter().flat_map(|check| check.judges()).map(|variant| (*variant).to_owned()).collect()
    }

    fn generated_calls(&self) -> GeneratedCalls {
        let is_of_tools = self.checks.iter().any(|check| check.is_of_tools());
        if is_of_tools { GeneratedCalls::BeginCases } else { GeneratedCalls::BeginSomeCases }
    }

    fn calls(&self, tool: &str) -> bool {
        self.tools.selects(tool)
    }
}

impl SuiteSettings for NegativeTest {}

impl CaseSource for NegativeTest {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::test_cases(planner, template, self, offer)
    }

    fn variants(&self, planner: &Planner<'_>) -> BTreeSet<String> {
        self.settings.variants(planner)
    }

    fn generated_calls(&self) -> GeneratedCalls {
        GeneratedCalls::BeginCases
    }

    fn calls(&self, tool: &str) -> bool {
        self.settings.tools.selects(tool) && self.test.steps.iter().filter_map(called_tool).any(|called| called == tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::node;

    #[test]
    fn a_test_makes_no_calls_about_the_whole_server_unless_it_says_so() {
        use NegativeCheck::{
            MalformedArguments, MalformedEnvelope, MissingRequired, UnknownMethod, UnknownTool, UnknownValue,
        };
        for (settings, is_in_test, asked, unasked) in [
            ("{ cases: 9 }", false, &[UnknownMethod, MalformedEnvelope, MalformedArguments, UnknownValue][..], &[][..]),
            (
                "{ cases: 9 }",
                true,
                &[UnknownTool, MissingRequired],
                &[UnknownMethod, MalformedEnvelope, MalformedArguments, UnknownValue],
            ),
            ("{ checks: [unknown_method] }", true, &[UnknownMethod], &[UnknownTool, MissingRequired]),
            ("true", false, &NegativeCheck::ALL, &[]),
        ] {
            let default = if is_in_test { OF_TOOLS.into() } else { NegativeCheck::ALL.into() };
            let checks = read_settings(&node(settings), default, &mut Vec::new()).unwrap().checks;
            assert!(asked.iter().all(|check| checks.contains(check)), "{settings}: {checks:?}");
            assert!(!unasked.iter().any(|check| checks.contains(check)), "{settings}: {checks:?}");
        }
    }
}
