//! `mcprove schema`: the JSON Schemas of what the program reads and writes.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::baseline;
use crate::block::json_schema;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::drift;
use crate::findings;
use crate::report::{schema_of_event, schema_of_report};
use crate::taxonomy::REGISTRY;

/// Prints the JSON Schema of a suite or of another file.
#[derive(Debug, Args)]
pub(in crate::cli) struct SchemaArgs {
    /// Of what.
    #[arg(value_enum, default_value = "suite", value_name = "WHAT")]
    of: SchemaDocument,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SchemaDocument {
    /// A suite file; for editors.
    Suite,
    /// The JSON report.
    Report,
    /// One line of a recorded run.
    Events,
    /// A fault registry.
    Registry,
    /// A baseline of known failures.
    Baseline,
    /// Recorded servers.
    Snapshot,
    /// A kept finding.
    Finding,
}

pub(in crate::cli) fn schema(args: &SchemaArgs, output: &Output) -> Exit {
    let schema = match args.of {
        SchemaDocument::Suite => json_schema(),
        SchemaDocument::Report => schema_of_report(),
        SchemaDocument::Events => schema_of_event(),
        SchemaDocument::Registry => registry_schema(),
        SchemaDocument::Baseline => baseline::json_schema(),
        SchemaDocument::Snapshot => drift::json_schema(),
        SchemaDocument::Finding => findings::json_schema(),
    };
    output.data(&format!("{schema:#}\n"))
}

fn registry_schema() -> serde_json::Value {
    let mut definitions = BTreeMap::new();
    let root = REGISTRY.json_schema(&mut definitions);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mcprove fault registry",
        "$ref": root["$ref"],
        "$defs": definitions,
    })
}
