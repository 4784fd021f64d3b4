//! One case that needs attention: what happened, where, and what to type next.

use std::collections::BTreeSet;
use std::time::Duration;

use indexmap::{IndexMap, IndexSet};

use crate::event::{Attempt, CaseInfo, CaseResult, Code, Exchange, Finding, Outcome, Phase, StepProblem};
use crate::report::cause::{self, Cause};
use crate::report::wording;
use crate::source::{Style, duration_text, printable, visible_line};

use super::answer::answer_text;
use super::finding::finding;
use super::layout::{self, BOLD, DIM, GREEN, RED, YELLOW};
use super::view::FailureOrder;

/// The most findings that are quoted for one case.
const FINDINGS: usize = 5;
/// No further finding of a case is quoted below this many lines.
const LINES: usize = 40;
/// The most requests that are shown for one case.
const REQUESTS: usize = 3;
/// Below this width a request is broken into lines, since little of it would be left on one.
const NARROW: usize = 60;
/// The most lines of a request then.
const SENT_LINES: usize = 6;
/// The longest name; rows are named by their values, which can be long.
const NAME: usize = 160;

/// Shows a case that did not simply pass; ends with a line break.
///
/// Also fit for XML and HTML once escaped: with [`Style::PLAIN`] it holds no control character but the line break.
pub fn failure(result: &CaseResult, style: &Style) -> String {
    further(result, &[], FailureOrder::Declared, style)
}

/// Shows a case without the findings whose causes the reader has seen already.
pub(crate) fn further(result: &CaseResult, known: &[Cause], order: FailureOrder, style: &Style) -> String {
    printable(&render_failure(result, known, order, style), style.color)
}

/// The same without the line that names the case.
pub(crate) fn untitled(result: &CaseResult, known: &[Cause], style: &Style) -> String {
    printable(&evidence(result, known, FailureOrder::Declared, style), style.color)
}

fn render_failure(result: &CaseResult, known: &[Cause], order: FailureOrder, style: &Style) -> String {
    title(result, style) + &evidence(result, known, order, style)
}

fn evidence(result: &CaseResult, known: &[Cause], order: FailureOrder, style: &Style) -> String {
    let mut text = String::new();
    if result.is_flaky() {
        text.push_str(&attempts(result, style));
        return text;
    }
    text.push_str(&reason(result, style));
    let shown = Selected::of(result, known);
    text.push_str(&findings(result, &shown, style));
    text.push_str(&requests(result, &shown, style));
    text.push_str(&rule(result, style));
    if order == FailureOrder::WorstFirst {
        text.push_str(&impact(result, style));
    }
    text.push_str(&circumstances(result, style));
    if !result.rerun_command.is_empty() {
        text.push_str(&label_line("again", &visible_line(&result.rerun_command), style));
    }
    text
}

/// A case on one line, where there are too many to quote each.
pub(crate) fn line(result: &CaseResult, style: &Style) -> String {
    let said = summarize(result).map(|said| {
        let values = result.findings.first().map(values).unwrap_or_default();
        format!("  {}\n", layout::crop(&format!("{said}{values}"), style.width - 2))
    });
    printable(&(title(result, style) + &said.unwrap_or_default()), style.color)
}

/// What was expected and found, where the message does not say so itself.
fn values(finding: &Finding) -> String {
    let named = [("expected", &finding.expected), ("found", &finding.actual)];
    let unsaid = named.iter().filter_map(|(name, value)| {
        let value = value.as_ref().filter(|value| !finding.message.contains(value.as_str()))?;
        Some(format!("; {name} {}", visible_line(value)))
    });
    unsaid.collect()
}

/// The mark of an outcome; flaky and warned share one, since both are passes with a doubt.
pub(crate) fn mark(result: &CaseResult) -> (&'static str, anstyle::Style) {
    match result.outcome {
        Outcome::Passed if result.is_flaky() => ("~", YELLOW),
        Outcome::Passed => ("✓", GREEN),
        Outcome::Failed => ("✗", RED),
        Outcome::Warned => ("~", YELLOW),
        Outcome::Skipped => ("-", DIM),
        Outcome::Inconclusive => ("?", YELLOW),
        Outcome::Errored => ("!", RED),
    }
}

/// The name of a case with its row.
pub(crate) fn name(info: &CaseInfo) -> String {
    let row = info.row.as_ref().map(|row| format!(" [{row}]")).unwrap_or_default();
    layout::crop(&format!("{}{row}", info.name), NAME)
}

/// The headline of a case: its first finding, or why it did not end as it should.
pub(crate) fn summarize(result: &CaseResult) -> Option<String> {
    let first = |findings: &[Finding]| findings.first().map(|finding| format!("{}: {}", finding.code, finding.message));
    let earlier = || result.earlier.first().and_then(|attempt| first(&attempt.findings));
    first(&result.findings).or_else(|| result.reason.as_ref().map(ToString::to_string)).or_else(earlier)
}

fn title(result: &CaseResult, style: &Style) -> String {
    let (mark, look) = mark(result);
    let (name, place) = (name(&result.case), wording::line(&result.case).unwrap_or_default());
    let lines = layout::wrap(&name, style.width - 2);
    let last = lines.last().map_or("", String::as_str);
    let place = layout::flush_right(&format!("{mark} {last}"), &visible_line(&place), style);
    let lines: Vec<String> = lines.iter().map(|line| layout::paint(line, BOLD, style)).collect();
    format!("{} {}{}\n", layout::paint(mark, look, style), lines.join("\n  "), layout::paint(&place, DIM, style))
}

fn reason(result: &CaseResult, style: &Style) -> String {
    let Some(reason) = result.reason.as_ref().map(ToString::to_string) else { return String::new() };
    if result.findings.iter().any(|finding| finding.message == reason) {
        return String::new();
    }
    let said = match result.outcome {
        Outcome::Inconclusive => format!("not judged: {reason}"),
        Outcome::Skipped => format!("skipped: {reason}"),
        Outcome::Passed | Outcome::Failed | Outcome::Warned | Outcome::Errored => reason,
    };
    let width = style.width - 2;
    layout::indent(&layout::wrap_some(&said, width, layout::lines_in(6, width)), "  ")
}

/// The findings of a case that are shown: the first with each cause that the reader has not seen.
struct Selected<'a> {
    findings: Vec<&'a Finding>,
    /// The number of further findings of each code within this case.
    repeated: IndexMap<&'a Code, usize>,
    /// The codes of what was shown with an earlier case.
    shown_before: IndexSet<&'a Code>,
}

impl<'a> Selected<'a> {
    fn of(result: &'a CaseResult, known: &[Cause]) -> Self {
        let mut seen: Vec<Cause> = Vec::new();
        let mut selected = Self { findings: Vec::new(), repeated: IndexMap::new(), shown_before: IndexSet::new() };
        for finding in &result.findings {
            let cause = cause::of_finding(result, finding);
            if known.contains(&cause) {
                selected.shown_before.insert(&finding.code);
            } else if cause.is_general && seen.contains(&cause) {
                *selected.repeated.entry(&finding.code).or_default() += 1;
            } else {
                selected.findings.push(finding);
                seen.push(cause);
            }
        }
        selected
    }

    /// The other findings.
    fn others(&self) -> String {
        let times = |count: usize| if count == 1 { "once".to_owned() } else { format!("{count} times") };
        let repeated = self.repeated.iter().map(|(code, count)| format!("  {code} {} more\n", times(*count)));
        let before = self.shown_before.iter().map(|code| format!("  {code} as well, which is shown above\n"));
        repeated.chain(before).collect()
    }
}

fn findings(result: &CaseResult, selected: &Selected<'_>, style: &Style) -> String {
    let all = &selected.findings;
    let within = &all[..all.len().min(FINDINGS)];
    let (mut text, mut shown) = (String::new(), 0);
    for (at, found) in within.iter().enumerate() {
        if text.lines().count() > LINES {
            break;
        }
        // Findings about one answer show it once, below the last of them.
        let told = within[at + 1..].iter().any(|later| later.exchange == found.exchange);
        let answered = if told { None } else { exchange_of(result, found) };
        text.push_str(&finding(found, answered, style));
        shown += 1;
    }
    text.push_str(&selected.others());
    if shown == all.len() {
        return text;
    }
    let findings = layout::plural(all.len() - shown, "finding");
    text + &format!("  and {findings} more; `--report json=report.json` writes all of them\n")
}

/// The exchange whose answer a finding is about; of a broken conversation it is the last one, if nothing came back.
///
/// None where a finding already says what was answered.
fn exchange_of<'a>(result: &'a CaseResult, found: &Finding) -> Option<&'a Exchange> {
    let Some(at) = found.exchange else {
        let last = result.exchanges.last().filter(|last| last.frame > 0 && last.received.is_empty());
        return last.filter(|_| found.class.is_some());
    };
    result.exchanges.get(at).filter(|exchange| {
        let answer = Some(answer_text(&exchange.received));
        let is_quoted = exchange.received.is_empty() && found.evidence.iter().any(|(name, _)| name == "body");
        exchange.frame > 0
            && !is_quoted
            && !result.findings.iter().any(|other| other.exchange == found.exchange && other.actual == answer)
    })
}

/// The requests that the findings name, or the last one before the failure.
fn requests(result: &CaseResult, selected: &Selected<'_>, style: &Style) -> String {
    let shown = selected.findings.iter().take(FINDINGS);
    let named: BTreeSet<usize> = shown.filter_map(|found| found.exchange).collect();
    let mut exchanges: Vec<&Exchange> = named.iter().filter_map(|at| result.exchanges.get(*at)).collect();
    if exchanges.is_empty() && matches!(result.outcome, Outcome::Failed | Outcome::Errored) {
        exchanges.extend(result.exchanges.last());
    }
    // The excerpt shows the template for which nothing was sent.
    let is_of_template = selected.findings.iter().take(FINDINGS).any(|found| is_of_template(found));
    exchanges.retain(|exchange| exchange.frame > 0 || !is_of_template);
    exchanges.into_iter().take(REQUESTS).map(|exchange| request(exchange, style)).collect()
}

/// Nothing was sent, since a template could not be filled in.
fn is_of_template(found: &Finding) -> bool {
    matches!(found.step_problem.as_deref(), Some(StepProblem::Unfilled | StepProblem::MissingValue(_)))
}

fn request(exchange: &Exchange, style: &Style) -> String {
    let took = duration_text(Duration::from_micros(exchange.elapsed_us));
    let right = match exchange.frame {
        0 => "not sent".to_owned(),
        // A request that was cut off has no duration.
        frame if exchange.elapsed_us == 0 => format!("frame {frame}"),
        frame => format!("frame {frame}, {took}"),
    };
    let phase = if exchange.phase == Phase::Steps { String::new() } else { format!("{}: ", exchange.phase.as_str()) };
    let left = format!("{phase}{} {}", exchange.title, exchange.sent);
    let room = style.width.saturating_sub(right.len() + 11);
    if style.width < NARROW && layout::columns(left.trim_end()) > room {
        let left = layout::wrap_some(left.trim_end(), style.width - 9, SENT_LINES);
        return label_line("sent", &left.replace('\n', "\n         "), style) + &label_line("", &right, style);
    }
    let left = layout::crop(left.trim_end(), room);
    let right = layout::flush_right(&format!("  sent   {left}"), &right, style);
    format!("  {}   {left}{}\n", layout::paint("sent", DIM, style), layout::paint(&right, DIM, style))
}

/// Details that the title leaves out: the server if a revision was asked for, and the attempts.
fn circumstances(result: &CaseResult, style: &Style) -> String {
    let mut parts: Vec<String> = wording::target(&result.case).into_iter().collect();
    if !result.earlier.is_empty() {
        let attempts = result.earlier.len() + 1;
        parts.push(format!("attempt {attempts} of {attempts}"));
    }
    if parts.is_empty() {
        return String::new();
    }
    label_line("on", &layout::crop(&parts.join(", "), style.width.saturating_sub(9)), style)
}

/// The sentence of the rule that a case stands for, and where it is written.
fn rule(result: &CaseResult, style: &Style) -> String {
    let Some(rule) = &result.case.rule else { return String::new() };
    let quote = layout::wrap_some(&format!("{}: “{}”", rule.level.as_str(), rule.quote), style.width - 9, 5);
    let quote = quote.trim_end().replace('\n', "\n         ");
    label_line("rule", &quote, style) + &label_line("see", &rule.link, style)
}

/// How severe it is, and why it matters.
fn impact(result: &CaseResult, style: &Style) -> String {
    let worst = result
        .findings
        .iter()
        .filter(|finding| finding.baseline_reason.is_none())
        .max_by_key(|finding| finding.how_bad());
    let Some(worst) = worst.filter(|_| result.outcome == Outcome::Failed) else { return String::new() };
    let why = worst.kind().impact().map(|why| format!(": {why}")).unwrap_or_default();
    let said = format!("{}{why}", worst.how_bad().as_str());
    let said = layout::wrap_some(&said, style.width - 9, 3);
    label_line("impact", &said.trim_end().replace('\n', "\n         "), style)
}

fn label_line(label: &str, text: &str, style: &Style) -> String {
    format!("  {}{}{text}\n", layout::paint(label, DIM, style), " ".repeat(7 - label.len()))
}

fn attempts(result: &CaseResult, style: &Style) -> String {
    let last = result.earlier.len() + 1;
    let on = wording::target(&result.case).map(|target| format!(" on {target}")).unwrap_or_default();
    let told = result.earlier.iter().enumerate().take(3).map(|(at, attempt)| attempt_text(at + 1, attempt));
    let parts: Vec<String> = std::iter::once(format!("passed on attempt {last} of {last}{on}")).chain(told).collect();
    layout::indent(&layout::wrap_some(&parts.join("; "), style.width - 2, 6), "  ")
}

fn attempt_text(number: usize, attempt: &Attempt) -> String {
    let said = match attempt.findings.first() {
        Some(found) => found.message.clone(),
        None => format!("no finding after {}", duration_text(Duration::from_micros(attempt.duration_us))),
    };
    format!("attempt {number}: {said}")
}
