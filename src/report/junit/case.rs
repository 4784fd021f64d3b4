//! One case as a `testcase` element.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestRerun, XmlString};

use crate::event::{Attempt, CaseResult, Exchange, Outcome, Phase, RuleInfo};
use crate::source::{Color, Style};

use super::super::limit::{self, TEXT_LIMIT};
use super::super::{terminal, wording};
use super::{property, text};

/// Wide enough for excerpts, narrow enough for the boxes in which CI shows them.
const WIDTH: usize = 100;
/// The longest request or answer in `system-out`; the JSON report has more.
const EXCHANGE_LIMIT: usize = 1024;

/// Turns a case into an element.
pub(crate) fn test_case(result: &CaseResult, several_servers: bool) -> TestCase {
    let info = &result.case;
    let mut element = TestCase::new(text::attribute(&wording::name(info, several_servers)), status(result));
    element.set_classname(text::attribute(&text::classname(&info.file)));
    element.set_time(Duration::from_micros(result.duration_us));
    if !info.from_command_line {
        element.extra.insert(XmlString::new("file"), text::attribute(&info.file));
        element.extra.insert(XmlString::new("line"), text::attribute(&info.line.to_string()));
    }
    for (name, value) in properties(result) {
        element.add_property(property(name, &value));
    }
    let (out, err) = (system_out(result), system_err(result));
    if !out.is_empty() {
        element.set_system_out(text::element(&out));
    }
    if !err.is_empty() {
        element.set_system_err(text::element(&err));
    }
    element
}

fn properties(result: &CaseResult) -> Vec<(&'static str, String)> {
    let info = &result.case;
    let rule = |part: fn(&RuleInfo) -> String| info.rule.as_deref().map(part).unwrap_or_default();
    let all = [
        ("id", info.id.clone()),
        ("probes", info.probes.join(",")),
        ("tags", info.tags.join(",")),
        ("server", info.server.clone()),
        (
            "revision",
            if result.protocol_revision.is_empty() { info.revision.clone() } else { result.protocol_revision.clone() },
        ),
        ("rule", rule(|rule| rule.id.clone())),
        ("level", rule(|rule| rule.level.as_str().to_owned())),
        ("specification", rule(|rule| rule.link.clone())),
        ("judged", result.judged.join(",")),
        ("known", result.baseline_reason().unwrap_or_default().to_owned()),
        ("again", result.rerun_command.clone()),
        ("findings", findings(result)),
        ("repetitions", result.passed_of().map(|(passed, of)| format!("passed {passed} of {of}")).unwrap_or_default()),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// The names under which `mcprove findings` knows what is wrong.
fn findings(result: &CaseResult) -> String {
    let found = result.findings.iter().filter(|_| result.outcome == Outcome::Failed);
    let ids: BTreeSet<String> = found.map(|finding| result.identity(finding).id).collect();
    ids.into_iter().collect::<Vec<_>>().join(",")
}

fn status(result: &CaseResult) -> TestCaseStatus {
    if let Some(reason) = result.baseline_reason() {
        let mut status = TestCaseStatus::skipped();
        status.set_message(text::attribute(&format!("known failure: {reason}")));
        status.set_description(text::element(&body(result)));
        return status;
    }
    let mut status = match result.outcome {
        Outcome::Passed | Outcome::Warned => TestCaseStatus::success(),
        Outcome::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Outcome::Errored => TestCaseStatus::non_success(NonSuccessKind::Error),
        Outcome::Skipped | Outcome::Inconclusive => TestCaseStatus::skipped(),
    };
    match result.outcome {
        Outcome::Passed | Outcome::Warned => {}
        Outcome::Failed | Outcome::Errored => {
            status.set_type(text::attribute(&wording::kind(&result.findings, result.outcome)));
            status.set_message(text::attribute(&wording::message(&result.findings, result.reason.as_ref())));
            status.set_description(text::element(&body(result)));
        }
        Outcome::Skipped => {
            status.set_message(text::attribute(&wording::message(&[], result.reason.as_ref())));
        }
        Outcome::Inconclusive => {
            let message = wording::message(&result.findings, result.reason.as_ref());
            status.set_message(text::attribute(&format!("inconclusive: {message}")));
            status.set_description(text::element(&body(result)));
        }
    }
    status.add_reruns(result.earlier.iter().chain(other_repetitions(result)).map(|attempt| rerun(result, attempt)));
    status
}

/// The text that the terminal shows.
fn body(result: &CaseResult) -> String {
    limit::cut(&format!("\n{}", terminal::failure(result, &Style::new(Color::Never, WIDTH)))).into_owned()
}

/// The repetitions that did not pass, but for the one that the case shows.
fn other_repetitions(result: &CaseResult) -> impl Iterator<Item = &Attempt> {
    let shown = result.repetitions.iter().position(|run| run.outcome == result.outcome);
    let others = result.repetitions.iter().enumerate().filter(move |(at, _)| Some(*at) != shown);
    others.map(|(_, run)| run).filter(|run| !matches!(run.outcome, Outcome::Passed | Outcome::Warned))
}

/// An earlier attempt, shown like a case of its own.
fn rerun(result: &CaseResult, attempt: &Attempt) -> TestRerun {
    let kind_of_run = match attempt.outcome {
        Outcome::Errored => NonSuccessKind::Error,
        Outcome::Passed | Outcome::Failed | Outcome::Warned | Outcome::Skipped | Outcome::Inconclusive => {
            NonSuccessKind::Failure
        }
    };
    let alone = CaseResult {
        outcome: attempt.outcome,
        duration_us: attempt.duration_us,
        findings: attempt.findings.clone(),
        earlier: Vec::new(),
        repetitions: Vec::new(),
        // Exchanges are kept for the last attempt only.
        exchanges: Vec::new(),
        reason: None,
        ..result.clone()
    };
    let mut rerun = TestRerun::new(kind_of_run);
    rerun.set_time(Duration::from_micros(attempt.duration_us));
    rerun.set_type(text::attribute(&wording::kind(&attempt.findings, attempt.outcome)));
    rerun.set_message(text::attribute(&wording::message(&attempt.findings, None)));
    rerun.set_description(text::element(&body(&alone)));
    rerun
}

/// The messages that were sent and answered, the last exchanges if there are many.
fn system_out(result: &CaseResult) -> String {
    if !terminal::is_trouble(result) && !result.is_known() {
        return String::new();
    }
    let mut text = String::new();
    if result.outcome == Outcome::Warned {
        text = limit::cut(&format!("passed with a warning\n{}", body(result).trim_start())).into_owned();
    }
    let told: Vec<String> = result.exchanges.iter().map(exchange).collect();
    let mut size = 0;
    let kept = told.iter().rev().take_while(|exchange| {
        size += exchange.len();
        size <= TEXT_LIMIT
    });
    let kept = kept.count().max(told.len().min(1));
    if kept < told.len() {
        let _ = writeln!(text, "{} earlier exchanges left out; the JSON report has them", told.len() - kept);
    }
    text + &told[told.len() - kept..].concat()
}

fn exchange(exchange: &Exchange) -> String {
    let Exchange { phase, title, sent, received, frame, answer_frame, .. } = exchange;
    let phase = if *phase == Phase::Steps { String::new() } else { format!("[{}] ", phase.as_str()) };
    let [title, sent, received] = [title, sent, received].map(|text| limit::cut_to(text, EXCHANGE_LIMIT));
    let answer = answer_frame.map_or("no answer".to_owned(), |frame| format!("frame {frame}"));
    format!("{phase}> {title} {sent}  (frame {frame})\n{phase}< {received}  ({answer})\n")
}

/// The evidence, standard error above all.
fn system_err(result: &CaseResult) -> String {
    let evidence = result.findings.iter().flat_map(|finding| &finding.evidence);
    // Servers on Windows end lines with two characters, which `lines` takes for one.
    let lines = |text: &str| text.trim_end().lines().collect::<Vec<_>>().join("\n");
    let told: Vec<String> = evidence.map(|(name, text)| format!("{name}: {}\n", lines(text))).collect();
    limit::cut(&told.concat()).into_owned()
}
