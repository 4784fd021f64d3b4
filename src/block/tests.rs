//! The cases that blocks plan for a server, one a line.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::event::Reason;
use crate::plan::planner::Planner;
use crate::plan::{Body, Case, CaseSource, Offer, Target};
use crate::source::{Diagnostic, Sources};
use crate::suite::{LoadedSuite, Protocol, Servers, SuiteSource, load};
use crate::wire::{Catalog, Revision, Tool};

/// The file that is the suite, among those of a test.
const SUITE: &str = "suite.yml";

/// A suite, and the files beside it.
pub(crate) fn read_suite(
    suite: &str,
    files: &[(&str, &str)],
    sources: &mut Sources,
) -> Result<LoadedSuite<Arc<dyn CaseSource>>, Vec<Diagnostic>> {
    let read = |path: &Path| {
        let texts = files.iter().copied().chain([(SUITE, suite)]);
        let text = texts.into_iter().find(|(name, _)| path.ends_with(name)).map(|(_, text)| text.to_owned());
        text.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    let from = SuiteSource { path: Path::new(SUITE), servers: Servers::Given, files: &read, grammar: &super::GRAMMAR };
    load(&from, sources, &mut Vec::new())
}

/// The cases of a suite on a server that lists these tools: the name of each, and what becomes of it.
pub(crate) fn planned(suite: &str, files: &[(&str, &str)], tools: &Value) -> Vec<String> {
    let mut sources = Sources::default();
    let read = read_suite(suite, files, &mut sources).unwrap_or_else(|found| panic!("{suite}: {found:?}"));
    let suite = Arc::new(read.suite);
    let server = suite.servers.keys().next().map_or("server", String::as_str).to_owned();
    let target = Target { server, protocol: Protocol::Auto };
    let (blocks, sources, has_only) = (read.blocks.as_slice(), &sources, false);
    let planner = Planner { suite: &suite, blocks, target: &target, index: 0, sources, has_only };
    let tools = tools.as_array().into_iter().flatten().cloned().map(Tool::new).collect();
    let catalog = Catalog { tools, ..Catalog::default() };
    let capabilities = json!({"tools": {}});
    let revision = Some(Revision::V2025_11_25);
    let offer = Offer { catalog: &catalog, capabilities: &capabilities, transport: None, revision };
    let cases = planner.blocks.iter().flat_map(|block| {
        let template = planner.case(block.key, None, block.span, Body::skipped(Reason::NothingExpanded));
        block.settings.cases(&planner, &template, &offer)
    });
    cases.map(|case| line(&case)).collect()
}

fn line(case: &Case) -> String {
    let body = match &case.body {
        Body::Script(script) => format!("{} steps", script.steps.len()),
        Body::Check(_) => "check".to_owned(),
        Body::Scan(_) => "scan".to_owned(),
        Body::Template(_) => "template".to_owned(),
        Body::Skipped(reason) => format!("skipped, {reason}"),
        Body::Failed(mistake) => format!("{}, {}", mistake.code, mistake.message),
    };
    format!("{}: {body}", case.name)
}

/// Compares the beginnings of lines.
pub(crate) fn check_lines(what: &str, actual: &[String], expected: &[&str]) {
    let is_same = actual.len() == expected.len();
    let begins = actual.iter().zip(expected).all(|(line, beginning)| line.starts_with(beginning));
    assert!(is_same && begins, "{what}:\n{}", actual.join("\n"));
}
