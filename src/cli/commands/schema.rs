//! `mcprove schema`: the JSON Schemas of the files that mcprove reads and writes.

use clap::{Args, ValueEnum};

use crate::baseline;
use crate::block::json_schema;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::drift;
use crate::findings;
use crate::report::{schema_of_event, schema_of_report};
use crate::taxonomy;

/// Prints the JSON Schema of a suite, or of another kind of file.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The file that the schema is for.
    #[arg(value_enum, default_value = "suite", value_name = "FILE_KIND")]
    of: SchemaSubject,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SchemaSubject {
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

pub(crate) fn schema(args: &SchemaArgs, console: &Console) -> Exit {
    let schema = match args.of {
        SchemaSubject::Suite => json_schema(),
        SchemaSubject::Report => schema_of_report(),
        SchemaSubject::Events => schema_of_event(),
        SchemaSubject::Registry => taxonomy::json_schema(),
        SchemaSubject::Baseline => baseline::json_schema(),
        SchemaSubject::Snapshot => drift::json_schema(),
        SchemaSubject::Finding => findings::json_schema(),
    };
    console.data(&format!("{schema:#}\n"))
}
