//! One JSON document that holds everything, and the schemas of what this program writes.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::Value;

use crate::event::{
    CaseResult, Coverage, Event, IsolationReport, Section, ServerEnd, ServerReady, SessionJudged, UnjudgedTools,
};
use crate::source::schema_address;

use super::Format;
use super::fold::{Report, SuiteReport, Totals};
use super::json_text::{self, Layout};
use super::parity::{self, Parity};
use super::proven;
use super::repetition::Repetition;

pub(crate) const FORMAT: Format = Format {
    name: "json",
    about: "one document with everything; `schema/report.schema.json` describes it",
    shows_passed: true,
    render: |report, _| json_text::write(&document(report), Layout::Indented) + "\n",
};

/// The version of the document.
const VERSION: u32 = 1;

/// A run with all of its cases, in declared order.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "mcprove report")]
struct ReportDocument<'a> {
    /// The version of this document; a higher one may mean something else.
    format: u32,
    /// The program and its version.
    program: &'a str,
    /// When the run began, in milliseconds since 1970.
    started_unix_ms: u64,
    /// From the first to the last event, in microseconds; nothing where the run's end is not recorded.
    duration_us: Option<u64>,
    /// The user or the system stopped it.
    interrupted: bool,
    /// The number of cases that were planned and not reached.
    not_run: usize,
    /// The number of cases by outcome.
    totals: Totals,
    /// Tools that were not judged, the reason that weighs most first: a run with some has no verdict although nothing failed.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unjudged: &'a [UnjudgedTools],
    /// The servers that answered.
    servers: Vec<&'a ServerReady>,
    /// How the run ended for each of its servers; only where it has several.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    by_server: &'a [ServerEnd],
    /// The suites, in the order of the command line.
    suites: Vec<SuiteDocument<'a>>,
    /// The fault coverage of the run.
    coverage: Option<&'a Coverage>,
    /// Recorded answers that no test uses any more.
    stale_snapshots: &'a [String],
    /// The seed of the order where it was shuffled.
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    /// The share of passes of cases that ran more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    repetition: Option<Repetition>,
    /// The verdicts of three ways to run the cases, if `--verify-isolation` asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    isolation: Option<&'a IsolationReport>,
    /// The sections that blocks add to the summary, each with its own figures under `data`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sections: &'a [Section],
    /// The result of a proof, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<proven::ProofDocument<'a>>,
}

/// The cases of one file.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Suite")]
struct SuiteDocument<'a> {
    /// The file as the user knows it.
    file: &'a str,
    /// The suite's name.
    name: &'a str,
    /// The number of its cases by outcome.
    totals: Totals,
    /// Its cases, in declared order.
    cases: Vec<&'a CaseResult>,
    /// The findings outside of any case.
    sessions: Vec<&'a SessionJudged>,
    /// The differences between servers and revisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    parity: Option<Parity>,
}

fn document(report: &Report) -> ReportDocument<'_> {
    let (started, finished) = (report.run_started(), report.run_finished());
    ReportDocument {
        format: VERSION,
        program: started.map_or("", |run| run.program.as_str()),
        started_unix_ms: started.map_or(0, |run| run.started_unix_ms),
        duration_us: finished.map(|run| run.duration_us),
        interrupted: finished.is_some_and(|run| run.interrupted),
        not_run: finished.map_or(0, |run| run.not_run),
        totals: report.totals(),
        unjudged: report.unjudged(),
        servers: report.servers().collect(),
        by_server: finished.map_or(&[], |run| run.servers.as_slice()),
        suites: report.suites().into_iter().map(|suite| suite_document(report, suite)).collect(),
        coverage: finished.and_then(|run| run.coverage.as_ref()),
        stale_snapshots: finished.map_or(&[], |run| run.stale_snapshots.as_slice()),
        seed: started.and_then(|run| run.seed),
        repetition: report.repetition(),
        isolation: finished.and_then(|run| run.isolation.as_ref()),
        sections: finished.map_or(&[], |run| run.sections.as_slice()),
        proof: finished.and_then(|run| run.proof.as_deref()).map(proven::ProofDocument::of),
    }
}

fn suite_document<'a>(report: &'a Report, suite: SuiteReport<'a>) -> SuiteDocument<'a> {
    let parity = parity::of(&suite);
    let SuiteReport { file, name, cases, totals, .. } = suite;
    let sessions = report.judgements().filter(|judged| judged.file == file).collect();
    SuiteDocument { file, name, totals, cases, sessions, parity }
}

/// The JSON Schema of the JSON report.
pub fn schema_of_report() -> Value {
    schema::<ReportDocument<'static>>("report")
}

/// The JSON Schema of one line of a recording.
pub fn schema_of_event() -> Value {
    schema::<Event>("events")
}

fn schema<T: JsonSchema>(kind: &str) -> Value {
    let schema: Schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    schema["$id"] = schema_address(kind).into();
    schema
}
