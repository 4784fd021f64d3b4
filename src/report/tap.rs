//! TAP 14: a line for each case, with what went wrong as YAML below it.

use std::fmt::Write as _;

use crate::event::{CaseResult, Outcome};
use crate::source::{Color, Style, visible, visible_line};
use crate::taxonomy::score::Score;

use super::coverage::percent;
use super::fold::Report;
use super::json_text::{self, Layout};
use super::{Format, limit, proven, terminal, wording};

pub(crate) const FORMAT: Format = Format {
    name: "tap",
    about: "TAP 14, for harnesses that read the Test Anything Protocol",
    shows_passed: false,
    render: |report, _| render(report),
};

/// Wide enough for excerpts.
const WIDTH: usize = 100;

fn render(report: &Report) -> String {
    let mut lines = String::new();
    let mut number = 0;
    for suite in report.suites() {
        let several = suite.has_several_servers();
        for case in suite.sessions.iter().chain(suite.cases.iter().copied()) {
            number += 1;
            lines += &test_point(number, case, &wording::name(&case.case, several));
        }
    }
    let plan = if number == 0 { "1..0 # SKIP no case ran".to_owned() } else { format!("1..{number}") };
    let ending = match report.run_finished() {
        None => "Bail out! the recording ends before the run does\n",
        Some(run) if run.interrupted && report.is_out_of_time() => "Bail out! the time of `--budget` was over\n",
        Some(run) if run.interrupted => "Bail out! the run was interrupted\n",
        Some(_) => "",
    };
    format!("TAP version 14\n{plan}\n{lines}{}{}{ending}", coverage(report), proof(report))
}

/// A comment for each suite on each server, since a figure is no test.
fn coverage(report: &Report) -> String {
    let Some(coverage) = report.run_finished().and_then(|run| run.coverage.as_ref()) else { return String::new() };
    let (declared, exercised) = (&coverage.declared, &coverage.exercised);
    let line = |what: &str, declared: &Score, exercised: &Score| {
        let (declared, exercised) = (percent(declared.percent, None), percent(exercised.percent, None));
        format!("# {}\n", escape(&format!("{what}: {declared} of faults declared, {exercised} exercised")))
    };
    let of_suites = coverage.suites.iter().map(|suite| line(&suite.name(), &suite.declared, &suite.exercised));
    let total = if coverage.suites.is_empty() { "coverage" } else { "total of all suites and servers" };
    let taxonomy = format!("# taxonomy {}\n", escape(&declared.taxonomy.to_string()));
    of_suites.chain([line(total, declared, exercised), taxonomy]).collect()
}

/// A comment, since a mutant is no test.
fn proof(report: &Report) -> String {
    let proof = report.run_finished().and_then(|run| run.proof.as_deref());
    proof.map(|proof| format!("# {}\n", escape(&proven::sentence(proof)))).unwrap_or_default()
}

fn test_point(number: usize, case: &CaseResult, name: &str) -> String {
    let verdict = match case.outcome {
        Outcome::Passed | Outcome::Warned | Outcome::Skipped | Outcome::Inconclusive => "ok",
        Outcome::Failed | Outcome::Errored => "not ok",
    };
    let name = escape(&format!("{}: {name}", case.case.file));
    format!("{verdict} {number} - {name}{}\n{}", directive(case), diagnostics(case))
}

fn directive(case: &CaseResult) -> String {
    if let Some(reason) = case.baseline_reason() {
        return format!(" # TODO known failure: {}", escape(reason));
    }
    let reason = wording::message(&case.findings, case.reason.as_ref());
    match case.outcome {
        Outcome::Skipped => format!(" # SKIP {}", escape(&reason)),
        // A case that was not judged must not count as passed.
        Outcome::Inconclusive => format!(" # SKIP inconclusive: {}", escape(&reason)),
        Outcome::Passed | Outcome::Failed | Outcome::Warned | Outcome::Errored => String::new(),
    }
}

fn diagnostics(case: &CaseResult) -> String {
    if !terminal::is_trouble(case) && !case.is_known() {
        return String::new();
    }
    let info = &case.case;
    let severity = match case.outcome {
        Outcome::Failed if case.is_known() => "todo",
        Outcome::Failed => "fail",
        Outcome::Errored => "error",
        Outcome::Warned => "warning",
        Outcome::Passed => "flaky",
        Outcome::Skipped | Outcome::Inconclusive => "inconclusive",
    };
    let earlier = case.earlier.first().map(|attempt| attempt.findings.as_slice()).unwrap_or_default();
    let findings = if case.is_flaky() { earlier } else { &case.findings };
    let told = limit::cut(&terminal::failure(case, &Style::new(Color::Never, WIDTH))).into_owned();
    let mut text = "  ---\n".to_owned();
    for (key, value) in [
        ("message", wording::message(findings, case.reason.as_ref())),
        ("severity", severity.to_owned()),
        ("code", findings.first().map(|finding| finding.code.to_string()).unwrap_or_default()),
        ("file", if info.from_command_line { String::new() } else { info.file.clone() }),
        ("id", info.id.clone()),
        ("again", case.rerun_command.clone()),
        ("details", told),
    ] {
        if !value.is_empty() {
            let _ = writeln!(text, "  {key}: {}", quote(&value));
        }
    }
    if !info.from_command_line {
        let _ = writeln!(text, "  line: {}", info.line);
    }
    let _ = writeln!(text, "  duration_us: {}\n  ...", case.duration_us);
    text
}

/// A text as JSON, which is YAML as well; no log takes it for a command.
fn quote(text: &str) -> String {
    json_text::write(&visible(text), Layout::Line)
}

/// A description, in which `#` would begin a directive.
fn escape(text: &str) -> String {
    visible_line(&limit::cut_to(text, 512)).replace('\\', "\\\\").replace('#', "\\#")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_log_takes_a_text_for_a_command() {
        assert_eq!(quote("##[error]x"), r###""##\u005berror]x""###);
        assert_eq!(escape("##[group]\n::error::y"), r"\#\#[group]\\u{a}::error::y");
    }
}
