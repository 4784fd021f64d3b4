//! The whole run for somebody who reads it in a terminal: servers, suites, failures, totals, what to type next.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use indexmap::IndexMap;

use crate::event::{CaseResult, Exchange, Outcome, Phase, Reason, Section, ServerReady, SuiteScore, UnjudgedTools};
use crate::source::{Style, duration_text, printable, visible_line};
use crate::suite::builtin_name;

use super::super::coverage::{Scope, claimed_line, figures_line, levels, levels_of, suites_table};
use super::super::fold::{Report, SuiteReport, Totals};
use super::super::{headline, wording};
use super::answer::{answer_text, without_envelope};
use super::chosen_tools;
use super::comparison::comparisons;
use super::failure;
use super::groups::{CaseDetail, Groups};
use super::layout::{self, DIM, GREEN, RED, YELLOW};
use super::proof::{self, ProofView, Survivors};
use super::server_ends::server_ends;
use super::view::{Cases, Detail, Details, FailureOrder, Failures, Families, View};
use super::{next, section, table};

/// Suites in which everything passed are listed up to this number of suites.
const SUITES: usize = 4;

/// The last requests of a case that are shown with their answers.
const ANSWERS: usize = 3;

/// The most reasons for which cases are not shown.
const REASONS: usize = 8;

/// The most reasons for which cases were skipped or do not apply that are said though nobody asks.
const FEW_SKIPS: usize = 2;

/// Shows the run; ends with a line break.
pub fn summary(report: &Report, view: View, style: &Style) -> String {
    let suites = report.suites();
    if view.cases == Cases::Failed {
        let mut sections = if view.failures == Failures::Shown { troubles(&suites, view, style) } else { Vec::new() };
        sections.push(total(report, &suites, style));
        return printable(&sections.join("\n"), style.color);
    }
    let mut sections = vec![
        part(report) + &order(report) + &servers(report, view, style) + &suite_lines(report, &suites, view, style),
    ];
    if view.failures == Failures::Shown {
        sections.extend(troubles(&suites, view, style));
    }
    let (shown, hidden) = by_details(report, view.details);
    let reasons = ReasonCounts::of(&suites, view.details);
    sections.push(reasons.lines(style) + &reasons.unsaid(report, &hidden, style));
    sections.push(chosen_tools::left_alone(
        report,
        &|server, tool| reasons.say_that_it_may_change_data(server, tool),
        style,
    ));
    sections.push(stale_snapshots(report, style));
    sections.push(server_ends(report, style));
    sections.extend(comparisons(report, style));
    sections.extend(shown.iter().map(|one| section::section(one, style)));
    sections.push(coverage(report, view.families, style));
    sections.extend(proven(report, view.survivors, style));
    sections.push(total(report, &suites, style));
    sections.retain(|section| !section.is_empty());
    printable(&sections.join("\n"), style.color)
}

/// The part of a run that this is, or the number of parts that it had.
fn part(report: &Report) -> String {
    let Some(run) = report.run_started() else { return String::new() };
    let one = run.shard.as_ref().map(|shard| format!("  part {} of {}\n", shard.number, shard.count));
    one.or_else(|| run.parts.map(|parts| format!("  merged from {}\n", layout::plural(parts, "part"))))
        .unwrap_or_default()
}

/// The seed, at the beginning too: a run that hangs must be repeatable.
fn order(report: &Report) -> String {
    let seed = report.run_started().and_then(|run| run.seed);
    seed.map(|seed| format!("  shuffled with seed {seed}\n")).unwrap_or_default()
}

/// The part of the totals about repetitions and order.
fn repetition(report: &Report) -> String {
    let percent = |share: Option<&f64>| share.map_or(0.0, |share| (share * 100.0).floor());
    let repeated = report.repetition().map(|found| {
        let (first, last) = (percent(found.pass_k.first()), percent(found.pass_k.last()));
        format!("  {0} times each: pass^1 {first} %, pass^{0} {last} %\n", found.times)
    });
    let seed = report.run_started().and_then(|run| run.seed);
    let shuffled = seed.map(|seed| format!("  shuffled; `--shuffle={seed}` gives this order again\n"));
    repeated.into_iter().chain(shuffled).collect()
}

fn servers(report: &Report, view: View, style: &Style) -> String {
    let mut started: IndexMap<(&str, &str, &str), Vec<&ServerReady>> = IndexMap::new();
    for ready in report.servers() {
        started.entry((&ready.file, &ready.server, &ready.revision)).or_default().push(ready);
    }
    if started.len() > MOST_SERVERS && view.cases != Cases::All {
        return format!("  {} servers answered\n", started.len());
    }
    let width = started.keys().map(|(_, server, _)| layout::columns(server)).max().unwrap_or(0).min(24);
    let lines: String = started.values().map(|ready| server(ready, width, style)).collect();
    if view.cases == Cases::All { lines + &further_starts(report, style) } else { lines }
}

/// The most servers that are listed with what is known of them.
const MOST_SERVERS: usize = 8;

/// The most starts of servers that are not mentioned.
const FEW_STARTS: usize = 2;

/// The cost of starting servers again and again.
fn further_starts(report: &Report, style: &Style) -> String {
    let starts = report.run_finished().map(|finished| finished.starts).unwrap_or_default();
    if starts.processes <= report.servers().count().max(FEW_STARTS) {
        return String::new();
    }
    let each = starts.waited_us / u64::try_from(starts.processes).unwrap_or(u64::MAX);
    let each = duration_text(Duration::from_micros(each));
    let text = format!("{} starts of servers in all, {each} each on average", starts.processes);
    let lines = layout::wrap(&text, style.width - 2);
    let lines: Vec<String> = lines.iter().map(|line| layout::paint(line, DIM, style)).collect();
    format!("  {}\n", lines.join("\n  "))
}

fn server(ready: &[&ServerReady], width: usize, style: &Style) -> String {
    let [first, ..] = ready else { return String::new() };
    let took = ready.iter().map(|ready| ready.ready_us).max().unwrap_or_default();
    let took = duration_text(Duration::from_micros(took));
    let took = match ready.len() {
        1 => format!("ready in {took}"),
        starts => format!("{starts} starts, ready in {took} or less"),
    };
    let told =
        [first.revision.as_str(), first.transport.as_str(), &took, first.implementation.as_deref().unwrap_or_default()];
    let told: Vec<&str> = told.into_iter().filter(|part| !part.is_empty()).collect();
    let name = layout::crop(&first.server, width);
    let gap = " ".repeat(width - layout::columns(&name));
    let lines = layout::wrap(&told.join(", "), style.width.saturating_sub(width + 5));
    let below = format!("\n{}", " ".repeat(width + 5));
    let told: Vec<String> = lines.iter().map(|line| layout::paint(line, DIM, style)).collect();
    format!("  {name}{gap}   {}\n", told.join(&below))
}

fn suite_lines(report: &Report, suites: &[SuiteReport<'_>], view: View, style: &Style) -> String {
    if view.cases == Cases::All {
        let width = style.width / 2;
        let with_cases = |suite: &SuiteReport<'_>| suite_line(report, suite, width, style) + &case_lines(suite, style);
        return suites.iter().map(with_cases).collect();
    }
    let clean = |suite: &SuiteReport<'_>| suite_mark(suite).0 == "✓";
    let width = suites.iter().map(|suite| layout::columns(suite.file)).max().unwrap_or(0).min(style.width / 2);
    let shown = suites.iter().filter(|suite| suites.len() <= SUITES || !clean(suite));
    let lines: String = shown.map(|suite| suite_line(report, suite, width, style)).collect();
    let hidden = suites.iter().filter(|suite| clean(suite)).count();
    if suites.len() <= SUITES || hidden == 0 {
        return lines;
    }
    let text = format!("{} in which every case passed", layout::plural(hidden, "suite"));
    lines + &format!("  {} {text}\n", layout::paint("✓", GREEN, style))
}

fn suite_line(report: &Report, suite: &SuiteReport<'_>, width: usize, style: &Style) -> String {
    let (mark, look) = suite_mark(suite);
    let counts = if suite.cases.is_empty() && has_included_cases(report) {
        "no case of its own ran; those of the files that it includes follow".to_owned()
    } else {
        let broken = if has_broken_protocol(suite) { "; the server broke the protocol" } else { "" };
        counts(&suite.totals) + broken
    };
    let file = layout::crop(suite.file, width);
    let gap = " ".repeat(width - layout::columns(&file));
    let time = if suite.cases.is_empty() { String::new() } else { duration_text(suite.duration(report)) };
    let mut rest = format!(" {file}{gap}   {counts}");
    let mut below = String::new();
    // As much as most times take, so that rows are broken alike whatever their cases took.
    let room_of_time = if time.is_empty() { 0 } else { layout::columns(&time).max(8) + 2 };
    if layout::columns(&rest) + 3 + room_of_time > style.width {
        rest = format!(" {file}");
        below = layout::indent(&layout::wrap_some(&counts, style.width - 4, 4), "    ");
    }
    let time = layout::flush_right(&format!("  {mark}{rest}"), &time, style);
    format!("  {}{rest}{}\n{below}", layout::paint(mark, look, style), layout::paint(&time, DIM, style))
}

/// Returns true if cases of files ran that a suite includes.
fn has_included_cases(report: &Report) -> bool {
    let named = report.run_started().map_or(&[][..], |run| &run.suites);
    let is_named = |file: &str| named.iter().any(|suite| suite.file == file);
    report.suites().iter().any(|suite| !is_named(suite.file) && builtin_name(suite.file).is_none())
}

/// Every case of a suite on a line, with its time, and below it what was asked and answered.
fn case_lines(suite: &SuiteReport<'_>, style: &Style) -> String {
    let several = suite.has_several_servers();
    let line = |case: &&CaseResult| {
        let (mark, look) = failure::mark(case);
        let was_run = case.outcome != Outcome::Skipped;
        let time = if was_run { duration_text(Duration::from_micros(case.duration_us)) } else { String::new() };
        // As much as most times take, so that names are broken alike whatever their cases took.
        let room = style.width.saturating_sub(layout::columns(&time).max(8) + 8);
        let name = layout::wrap(&wording::name(&case.case, several), room);
        let time = layout::flush_right(&format!("    {mark} {}", name.last().map_or("", String::as_str)), &time, style);
        let name = name.join("\n      ");
        let line = format!("    {} {name}{}\n", layout::paint(mark, look, style), layout::paint(&time, DIM, style));
        line + &answer_lines(&case.exchanges, style)
    };
    suite.cases.iter().map(line).collect()
}

/// The requests of a case with their answers, each on a line; of many the last ones. A look at the end whether the server
/// still answers says nothing that its outcome does not.
fn answer_lines(exchanges: &[Exchange], style: &Style) -> String {
    let mut own: Vec<&Exchange> = exchanges.iter().filter(|exchange| exchange.phase == Phase::Steps).collect();
    let asks_nothing = |exchange: &mut &Exchange| ["ping", "server/discover"].contains(&exchange.title.as_str());
    while own.len() > 1 && own.pop_if(asks_nothing).is_some() {}
    let left_out = own.len().saturating_sub(ANSWERS);
    let earlier = (left_out > 0).then(|| format!("{left_out} earlier; `--transcript FOLDER` writes every frame"));
    let answered = own[left_out..].iter().map(|exchange| {
        let (room, asked) = (style.width.saturating_sub(9), format!("{} {}", exchange.title, exchange.sent));
        let asked = visible_line(asked.trim_end());
        let answer = layout::crop(
            without_envelope(&answer_text(&exchange.received)),
            room.saturating_sub(layout::columns(&asked)).max(room / 2),
        );
        format!("{} → {answer}", layout::crop(&asked, room.saturating_sub(layout::columns(&answer))))
    });
    let line = |line: String| format!("      {}\n", layout::paint(&line, DIM, style));
    earlier.into_iter().chain(answered).map(line).collect()
}

/// A server of the suite broke a rule of the protocol beside its cases, which fails the run.
fn has_broken_protocol(suite: &SuiteReport<'_>) -> bool {
    suite.sessions.iter().any(|case| case.outcome == Outcome::Failed && !case.is_known())
}

fn suite_mark(suite: &SuiteReport<'_>) -> (&'static str, anstyle::Style) {
    let session = |outcome| suite.sessions.iter().filter(|case| case.outcome == outcome && !case.is_known()).count();
    let mut totals = suite.totals;
    totals.failed += session(Outcome::Failed);
    totals.warned += session(Outcome::Warned);
    totals_mark(&totals)
}

/// The mark of the worst thing that happened.
pub(crate) fn totals_mark(totals: &Totals) -> (&'static str, anstyle::Style) {
    match *totals {
        Totals { failed: 1.., .. } => ("✗", RED),
        Totals { errored: 1.., .. } => ("!", RED),
        Totals { flaky: 1.., .. } | Totals { warned: 1.., .. } | Totals { known: 1.., .. } => ("~", YELLOW),
        Totals { inconclusive: 1.., .. } => ("?", YELLOW),
        Totals { passed: 1.., .. } => ("✓", GREEN),
        Totals { .. } => ("-", DIM),
    }
}

/// What counts for the mark of a whole run beside its cases.
#[derive(Debug, Clone, Copy)]
struct RunEndMark {
    /// It did not come to its end.
    is_cut: bool,
    /// It fails although no case does.
    has_failed: bool,
    /// It has no verdict although no case failed.
    is_undecided: bool,
}

impl RunEndMark {
    /// The mark and colour of a run, which agree with its exit code: green for 0 only, red for a failure. A run does not
    /// record `--fail-on`, so that the mark is that of a run without it.
    fn mark(self, totals: &Totals) -> (&'static str, anstyle::Style) {
        match totals_mark(totals) {
            // A mutant that was not reached may have failed.
            ("✗", look) => ("✗", look),
            _ if self.is_cut => ("!", RED),
            ("!", look) => ("!", look),
            _ if self.has_failed => ("✗", RED),
            ("✓", _) if self.is_undecided => ("?", YELLOW),
            other => other,
        }
    }
}

/// Nothing failed, and something was judged.
fn is_passed(totals: &Totals) -> bool {
    let Totals { passed, flaky, warned, known, failed, errored, .. } = *totals;
    failed + errored == 0 && passed + flaky + warned + known > 0
}

/// `13 passed, 1 failed, 1 flaky, 2 skipped`; what did not happen is left out.
pub(crate) fn counts(totals: &Totals) -> String {
    let named = [
        (totals.passed, "passed"),
        (totals.failed, "failed"),
        (totals.errored, "errored"),
        (totals.warned, "warned"),
        (totals.flaky, "flaky"),
        (totals.inconclusive, "inconclusive"),
        (totals.skipped, SKIPPED),
    ];
    let inapplicable = match totals.inapplicable {
        0 => String::new(),
        more => format!("; {more} {}", do_not_apply(more)),
    };
    let mut told: Vec<String> = named.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}")).collect();
    let of_them = match (totals.failed, totals.known) {
        (_, 0) => None,
        (0, _) => Some(" as known".to_owned()),
        (_, known) => Some(format!(", {known} of them known")),
    };
    if let Some(of_them) = of_them {
        let at = usize::from(totals.passed > 0);
        let failed = format!("{} failed{of_them}", totals.failed + totals.known);
        if totals.failed > 0 { told[at] = failed } else { told.insert(at, failed) }
    }
    if told.is_empty() { "no case ran".to_owned() + &inapplicable } else { told.join(", ") + &inapplicable }
}

/// The words for cases about something that the server does not have.
fn do_not_apply(count: usize) -> &'static str {
    if count == 1 { INAPPLICABLE } else { "do not apply" }
}

/// The cases that need attention, the worst kind first, each in declared order.
fn troubles(suites: &[SuiteReport<'_>], view: View, style: &Style) -> Vec<String> {
    let all = || suites.iter().flat_map(|suite| suite.sessions.iter().chain(suite.cases.iter().copied()));
    let kinds = [Outcome::Failed, Outcome::Errored, Outcome::Warned, Outcome::Inconclusive, Outcome::Passed];
    let kinds = if view.cases == Cases::Failed { &kinds[..2] } else { &kinds[..] };
    let troubled = kinds.iter().flat_map(|kind| all().filter(|case| case.outcome == *kind && is_trouble(case)));
    let mut troubled: Vec<&CaseResult> = troubled.collect();
    if view.order == FailureOrder::WorstFirst {
        // Of equally severe ones, the declared order stays.
        troubled.sort_by_key(|case| (kinds.iter().position(|kind| *kind == case.outcome), Reverse(case.how_bad())));
    }
    let mut groups = Groups::of(view.cases).knowing(troubled.iter().copied());
    let admitted: Vec<(&CaseResult, CaseDetail)> =
        troubled.into_iter().map(|case| (case, groups.admit(case))).collect();
    let mut shown: Vec<String> =
        admitted.iter().filter_map(|(case, shown)| trouble(case, shown, view.order, &groups, style)).collect();
    shown.extend(Some(groups.unshown(style)).filter(|text| !text.is_empty()));
    shown
}

/// A case is shown at all.
pub(crate) fn is_trouble(case: &CaseResult) -> bool {
    match case.outcome {
        Outcome::Failed => !case.is_known(),
        Outcome::Errored | Outcome::Warned | Outcome::Inconclusive => true,
        Outcome::Passed => case.is_flaky(),
        Outcome::Skipped => false,
    }
}

fn trouble(
    case: &CaseResult,
    shown: &CaseDetail,
    order: FailureOrder,
    groups: &Groups,
    style: &Style,
) -> Option<String> {
    let text = match shown {
        CaseDetail::Full(known) => failure::further(case, known, order, style),
        CaseDetail::Line => failure::line(case, style),
        CaseDetail::Name => return None,
    };
    Some(text + &groups.more(case, style))
}

/// The word for a case about something that the server does not have.
pub(crate) const INAPPLICABLE: &str = "does not apply";

/// The word for a case that could have run.
pub(crate) const SKIPPED: &str = "skipped";

/// The kind and reason of a case that is not shown: it was skipped or recorded, or its failure is known.
pub(crate) fn hidden_reason(case: &CaseResult) -> Option<(&'static str, Cow<'_, str>)> {
    if let Some(reason) = case.baseline_reason() {
        return Some(("known", reason.into()));
    }
    match (case.outcome, &case.reason) {
        (Outcome::Passed, Some(Reason::Recorded)) => {
            Some(("recorded", "the snapshots do not have these answers yet, so nothing was compared".into()))
        }
        (Outcome::Passed, Some(Reason::Changed(changes))) => Some(("changed", changes.into())),
        (Outcome::Skipped, Some(reason)) if reason.is_inapplicable() => Some((INAPPLICABLE, reason.to_string().into())),
        (Outcome::Skipped, Some(reason)) => Some((SKIPPED, reason.to_string().into())),
        (Outcome::Skipped, None) => Some((SKIPPED, "no reason given".into())),
        _ => None,
    }
}

/// The sections that are shown, and the details that those are which are not.
fn by_details(report: &Report, details: Details) -> (Vec<&Section>, Vec<Detail>) {
    let about = report.run_started().into_iter().flat_map(|run| &run.suites).find_map(|suite| suite.command);
    let about = about.and_then(Detail::of_command);
    let (mut shown, mut hidden) = (Vec::new(), Vec::new());
    for section in report.run_finished().map_or(&[][..], |finished| &finished.sections) {
        match Detail::of_block(&section.block) {
            Some(detail) if !details.has(detail) && about != Some(detail) => hidden.push(detail),
            Some(_) | None => shown.push(section),
        }
    }
    hidden.dedup();
    (shown, hidden)
}

/// Why cases are not shown, and how many for each reason.
struct ReasonCounts<'a> {
    told: BTreeMap<(&'static str, Cow<'a, str>), ReasonCases<'a>>,
    /// The reasons for skipped cases are left to whoever asks.
    are_skips_hidden: bool,
}

/// The cases with one reason.
#[derive(Default)]
struct ReasonCases<'a> {
    count: usize,
    servers: BTreeSet<&'a str>,
}

impl<'a> ReasonCounts<'a> {
    fn of(suites: &'a [SuiteReport<'_>], details: Details) -> Self {
        let mut told: BTreeMap<_, ReasonCases<'a>> = BTreeMap::new();
        let cases = suites.iter().flat_map(|suite| suite.sessions.iter().chain(suite.cases.iter().copied()));
        for (case, reason) in cases.filter_map(|case| Some((case, hidden_reason(case)?))) {
            let found = told.entry(reason).or_default();
            found.count += 1;
            found.servers.insert(&case.case.server);
        }
        let skips = told.keys().filter(|(word, _)| is_skip(word)).count();
        Self { told, are_skips_hidden: skips > FEW_SKIPS && !details.has(Detail::Skips) }
    }

    /// The reasons that are not left to whoever asks, the most frequent first.
    fn said(&self) -> Vec<(&(&'static str, Cow<'a, str>), &ReasonCases<'a>)> {
        let is_said = |(word, _): &(&str, Cow<'_, str>)| !(self.are_skips_hidden && is_skip(word));
        let mut reasons: Vec<_> = self.told.iter().filter(|(reason, _)| is_said(reason)).collect();
        reasons.sort_by_key(|(reason, cases)| (Reverse(cases.count), *reason));
        reasons
    }

    /// The cases that are not shown by reason, the most frequent first.
    fn lines(&self, style: &Style) -> String {
        let reasons = self.said();
        let line = |((word, reason), cases): &(&(&str, Cow<'_, str>), &ReasonCases<'_>)| {
            let count = cases.count;
            let word = if *word == INAPPLICABLE { do_not_apply(count) } else { word };
            let text = layout::wrap_some(&visible_line(&format!("{count} {word}: {reason}")), style.width - 2, 4);
            format!("{} {}\n", layout::paint("-", DIM, style), text.replace('\n', "\n  "))
        };
        let text: String = reasons.iter().take(REASONS).map(line).collect();
        match reasons.len().saturating_sub(REASONS) {
            0 => text,
            more => text + &format!("- and {} more\n", layout::plural(more, "reason")),
        }
    }

    /// A reason that is shown says that a tool of a server may change data, and how to allow that.
    fn say_that_it_may_change_data(&self, server: &str, tool: &str) -> bool {
        let sentence = format!("`{tool}` may change data");
        let shown = self.said();
        shown.iter().take(REASONS).any(|((word, reason), cases)| {
            is_skip(word) && cases.servers.contains(server) && reason.contains(&sentence)
        })
    }

    /// The number of cases whose reasons are hidden, and what shows them and the hidden sections.
    fn unsaid(&self, report: &Report, hidden: &[Detail], style: &Style) -> String {
        let mut parts = hidden.to_vec();
        let mut told = Vec::new();
        if self.are_skips_hidden {
            parts.insert(0, Detail::Skips);
            let Totals { skipped, inapplicable, .. } = report.totals();
            told.extend((skipped > 0).then(|| format!("{skipped} skipped")));
            told.extend((inapplicable > 0).then(|| format!("{inapplicable} {}", do_not_apply(inapplicable))));
        }
        if parts.is_empty() {
            return String::new();
        }
        let parts: Vec<&str> = parts.into_iter().map(Detail::as_str).collect();
        told.push(format!("`--details {}` shows more", parts.join(",")));
        let text = layout::wrap_some(&told.join(", "), style.width - 2, 4);
        format!("{} {}\n", layout::paint("-", DIM, style), text.replace('\n', "\n  "))
    }
}

fn is_skip(word: &str) -> bool {
    matches!(word, SKIPPED | INAPPLICABLE)
}

/// Recorded answers that no test uses any more.
fn stale_snapshots(report: &Report, style: &Style) -> String {
    let unused = report.run_finished().map_or(&[][..], |finished| finished.stale_snapshots.as_slice());
    let line = |name: &String| {
        let text = layout::crop(&format!("no test uses `{name}`; `--update` removes it"), style.width - 2);
        format!("{} {text}\n", layout::paint("-", DIM, style))
    };
    let text: String = unused.iter().take(REASONS).map(line).collect();
    match unused.len().saturating_sub(REASONS) {
        0 => text,
        more => text + &format!("- and {} more\n", layout::plural(more, "snapshot")),
    }
}

/// The fault coverage of the run, and the result of the proof.
fn coverage(report: &Report, families: Families, style: &Style) -> String {
    let Some(finished) = report.run_finished() else { return String::new() };
    // The figures of a part say nothing about the run.
    if report.run_started().is_some_and(|run| run.shard.is_some()) {
        return String::new();
    }
    let (scores, gates) = levels_of(finished);
    let (mut claimed, mut suites): (&[String], &[SuiteScore]) = (&[], &[]);
    if let Some(found) = &finished.coverage {
        (claimed, suites) = (&found.claimed, &found.suites);
    }
    let claims = claimed_line(claimed, style);
    let Some(proof) = &finished.proof else {
        let is_gated = !gates.is_empty() || suites.iter().any(|suite| !suite.gates.is_empty());
        let scope = if suites.is_empty() { Scope::One } else { Scope::Total };
        if families != Families::Shown && !is_gated {
            return figures_line(&scores, scope, style) + &claims;
        }
        return suite_scores(suites, style) + &levels(&scores, gates, style) + &claims;
    };
    let best = proof::best(proof, style);
    let gap = if best.is_empty() { "" } else { "\n" };
    best + gap + &suite_scores(suites, style) + &levels(&scores, gates, style) + &claims + &proof::figures(proof, style)
}

/// The scores of each suite, if there are several, and that the score below them is none of theirs.
fn suite_scores(suites: &[SuiteScore], style: &Style) -> String {
    if suites.is_empty() {
        return String::new();
    }
    let scores = suites_table(suites);
    table::table(&scores, table::named(&scores), style)
        + "  total of all suites and servers, which no threshold is about:\n"
}

/// The verdicts on the mutants.
fn proven(report: &Report, survivors: Survivors, style: &Style) -> Vec<String> {
    let Some(proof) = report.run_finished().and_then(|finished| finished.proof.as_deref()) else { return Vec::new() };
    proof::parts(proof, &ProofView { survivors, command: &next::prove_again(report) }, style)
}

fn total(report: &Report, suites: &[SuiteReport<'_>], style: &Style) -> String {
    let mut all = report.totals();
    let mut told = format!("{}: {}", layout::plural(all.cases(), "case"), counts(&all));
    let is_left_alone = |case: &&&CaseResult| matches!(case.reason, Some(Reason::ReadOnly(_)));
    let left_alone = suites.iter().flat_map(|suite| &suite.cases).filter(is_left_alone).count();
    if left_alone > 0 {
        told = format!("{told} ({left_alone} for `--read-only`)");
    }
    let sessions = suites
        .iter()
        .flat_map(|suite| &suite.sessions)
        .filter(|case| case.outcome == Outcome::Failed && !case.is_known())
        .count();
    if sessions > 0 {
        told = format!("{told}; {} broke the protocol", layout::plural(sessions, "server"));
        all.failed += sessions;
    }
    let flaw = headline::failure_beyond_cases(report).filter(|_| is_passed(&all));
    if let Some(flaw) = &flaw {
        told = format!("{told}; {flaw}");
    }
    told.push_str(&ending(report));
    let end = RunEndMark {
        is_cut: report.run_finished().is_none_or(|run| run.interrupted),
        has_failed: flaw.is_some(),
        is_undecided: headline::is_undecided(report),
    };
    let (mark, look) = end.mark(&all);
    let lines = layout::wrap(&told, style.width - 2);
    let time = report.duration().map(duration_text).unwrap_or_default();
    let time = layout::flush_right(&format!("  {}", lines.last().map_or("", String::as_str)), &time, style);
    let (mark, time) = (layout::paint(mark, look, style), layout::paint(&time, DIM, style));
    let next = next::command(report, &all, suites, style);
    format!("{mark} {}{time}\n{}{next}", lines.join("\n  "), repetition(report))
}

/// The tools that were not judged and what would change that, for a document: at the end of a run, its error says so.
pub(crate) fn unjudged(report: &Report, style: &Style) -> String {
    let line = |tools: &UnjudgedTools| {
        let text = format!("{}; {}", visible_line(&tools.to_text()), visible_line(&tools.help));
        let lines = layout::wrap(&text, style.width - 2).join("\n  ");
        format!("{} {lines}\n", layout::paint("?", YELLOW, style))
    };
    printable(&report.unjudged().iter().map(line).collect::<String>(), style.color)
}

/// The work that an unfinished run left undone.
fn ending(report: &Report) -> String {
    let end = if report.is_out_of_time() { "the time of `--budget` was over" } else { "interrupted" };
    match report.run_finished() {
        None if report.is_cut_off() => match &report.running()[..] {
            [] => format!("; {end}"),
            [one] => format!("; {end} while `{one}` was running"),
            [first, more @ ..] => {
                format!("; {end} while `{first}` and {} were running", layout::plural(more.len(), "other case"))
            }
        },
        None => "; the recording ends before the run does".to_owned(),
        // Cases that were not reached are among the skipped ones, with the reason.
        Some(finished) if finished.interrupted => format!("; {end}"),
        Some(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reasons_that_are_shown_say_what_may_change_data() {
        let reason = |at: usize| (SKIPPED, Cow::from(format!("`tool{at}` may change data")));
        let told = (0..=REASONS).map(|at| (reason(at), ReasonCases { count: 1, servers: ["shop"].into() }));
        let reasons = ReasonCounts { told: told.collect(), are_skips_hidden: false };
        for (server, tool, expected) in [("shop", "tool0", true), ("other", "tool0", false), ("shop", "tool8", false)] {
            assert_eq!(reasons.say_that_it_may_change_data(server, tool), expected, "{server} {tool}");
        }
        let hidden = ReasonCounts { are_skips_hidden: true, ..reasons };
        assert!(!hidden.say_that_it_may_change_data("shop", "tool0"));
    }

    #[test]
    fn the_mark_of_a_run_agrees_with_its_exit_code() {
        let passed = Totals { passed: 2, ..Totals::default() };
        let flaky = Totals { flaky: 1, ..passed };
        let warned = Totals { warned: 1, ..passed };
        let failed = Totals { failed: 1, ..passed };
        let errored = Totals { errored: 1, ..passed };
        let skipped = Totals { skipped: 2, ..Totals::default() };
        for (totals, is_cut, has_failed, is_undecided, expected) in [
            (passed, false, false, false, ("✓", GREEN)),
            (flaky, false, false, false, ("~", YELLOW)),
            (warned, false, false, false, ("~", YELLOW)),
            // A threshold was missed, or flaky cases count.
            (passed, false, true, false, ("✗", RED)),
            (warned, false, true, true, ("✗", RED)),
            (flaky, false, true, false, ("✗", RED)),
            // A tool or a threshold was not judged.
            (passed, false, false, true, ("?", YELLOW)),
            (errored, false, true, true, ("!", RED)),
            (failed, true, false, true, ("✗", RED)),
            (passed, true, true, false, ("!", RED)),
            (skipped, false, false, true, ("-", DIM)),
        ] {
            let end = RunEndMark { is_cut, has_failed, is_undecided };
            assert_eq!(end.mark(&totals), expected, "{totals:?} {end:?}");
        }
    }
}
