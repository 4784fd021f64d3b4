//! `output_schema:`, structured content against the schemas that tools declare.

mod cases;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Kind;
use crate::plan::generated::OUTPUT_SCHEMA_JUDGES;
use crate::plan::planner::Planner;
use crate::plan::{Case, CaseSource, GeneratedCalls, Offer};
use crate::source::grammar::{Shape, key};
use crate::source::settings::Setting;
use crate::source::{Node, settings};
use crate::suite::{BlockReader, SuiteSettings, ToolSelection};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "output_schema",
        Shape::Either(&[Shape::Flag, OutputSchema::SHAPE]),
        "Checks structured content against the tools' declared schemas.",
    ),
    probes: &["output-schema"],
    example: "output_schema: { tools: \"*\" }",
    decode,
    decode_in_test: None,
};

settings! {
    /// Checks structured content against the tools' declared schemas.
    struct OutputSchema as "output_schema" {
        /// The tools: all by default, or a list of names and patterns such as `get_*`.
        tools: ToolSelection,
    }
}

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    Some(Arc::new(OutputSchema::decode(node, reader.mistakes())?))
}

impl SuiteSettings for OutputSchema {}

impl CaseSource for OutputSchema {
    fn cases(&self, planner: &Planner<'_>, template: &Case, offer: &Offer<'_>) -> Vec<Case> {
        cases::cases(planner, template, &self.tools, offer.catalog)
    }

    fn variants(&self, _: &Planner<'_>) -> BTreeSet<String> {
        OUTPUT_SCHEMA_JUDGES.map(str::to_owned).into()
    }

    fn generated_calls(&self) -> GeneratedCalls {
        GeneratedCalls::BeginCases
    }

    fn calls(&self, tool: &str) -> bool {
        self.tools.selects(tool)
    }
}
