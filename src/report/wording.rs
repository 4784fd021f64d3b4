//! The name of a case in documents, its failure in one sentence, and the place of it.

use crate::event::{CaseInfo, CaseResult, Finding, MutantResult, Outcome, Reason};

use super::fold::Report;

/// The name of a case with its row, and with its server where there are several.
pub(crate) fn name(info: &CaseInfo, several_servers: bool) -> String {
    let row = info.row.as_ref().map(|row| format!(" [{row}]")).unwrap_or_default();
    let server = if several_servers { format!(" @{}/{}", info.server, info.revision) } else { String::new() };
    format!("{}{row}{server}", info.name)
}

/// The server and the revision, as far as anybody chose them: one server without a revision needs no name.
pub(crate) fn target(info: &CaseInfo) -> Option<String> {
    match (info.server.as_str(), info.revision.as_str()) {
        ("server" | "", "auto" | "") => None,
        (server, "auto" | "") => Some(server.to_owned()),
        (server, revision) => Some(format!("{server}, {revision}")),
    }
}

/// The failure class, or the code of what was expected.
pub(crate) fn kind(findings: &[Finding], outcome: Outcome) -> String {
    match findings.first() {
        Some(Finding { class: Some(class), .. }) => class.as_str().to_owned(),
        Some(finding) => finding.code.to_string(),
        None if outcome == Outcome::Errored => "errored".to_owned(),
        None => "failed".to_owned(),
    }
}

/// The first finding, or why a case did not end as it should.
pub(crate) fn message(findings: &[Finding], reason: Option<&Reason>) -> String {
    match findings {
        [] => reason.map_or("no reason given".to_owned(), ToString::to_string),
        [only] => only.message.clone(),
        [first, more @ ..] => format!("{} (and {} more)", first.message, more.len()),
    }
}

/// The place of something, for programs that open files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceLocation<'a> {
    pub(crate) file: &'a str,
    /// Counted from one, like the columns, which count characters.
    pub(crate) line: usize,
    pub(crate) column: Option<usize>,
    /// The column after the last one that is marked.
    pub(crate) end_column: Option<usize>,
}

/// The line of the expectation, or that of the test; of what is built in, the suite that includes it. The file is empty
/// where nobody wrote any of them.
pub(crate) fn place<'a>(
    report: &'a Report,
    result: &'a CaseResult,
    finding: Option<&'a Finding>,
) -> SourceLocation<'a> {
    let info = &result.case;
    if let Some(quote) = finding.and_then(|finding| finding.quote.as_ref()).filter(|quote| is_file(&quote.file)) {
        let (start, end) = quote.marked;
        let marked = quote.text.get(start..end).map_or(0, |text| text.chars().count());
        let end_column = (marked > 0).then_some(quote.column + marked);
        return SourceLocation { file: &quote.file, line: quote.line, column: Some(quote.column), end_column };
    }
    if is_file(&info.file) && !info.from_command_line {
        return SourceLocation { file: &info.file, line: info.line, column: Some(info.column), end_column: None };
    }
    let suites =
        || report.run_started().into_iter().flat_map(|run| &run.suites).filter(|suite| is_written(report, &suite.file));
    let named = suites().find(|suite| suite.name == info.suite).or_else(|| suites().next());
    SourceLocation { file: named.map_or("", |suite| &suite.file), line: 1, column: None, end_column: None }
}

/// The suite that does not notice a mutant: the one that has to grow, or the only one.
pub(crate) fn suite_of<'a>(report: &'a Report, mutant: &'a MutantResult) -> Option<&'a str> {
    let named = mutant.missing.iter().map(|missing| missing.file.as_str());
    let suites = report.run_started().into_iter().flat_map(|run| &run.suites).map(|suite| suite.file.as_str());
    named.chain(suites).find(|file| is_written(report, file))
}

/// The place of a case, as people read it; `None` if it is written in no file.
pub(crate) fn line(info: &CaseInfo) -> Option<String> {
    (!info.from_command_line).then(|| format!("{}:{}", info.file, info.line))
}

/// A suite is a file that somebody wrote.
pub(crate) fn is_written(report: &Report, file: &str) -> bool {
    let mut suites = report.run_started().into_iter().flat_map(|run| &run.suites);
    is_file(file) && !suites.any(|suite| suite.file == file && suite.from_command_line)
}

fn is_file(name: &str) -> bool {
    !name.is_empty() && !name.starts_with("builtin:") && !name.starts_with('<')
}
