//! The display while a run lasts: a bar, the cases that run, and failures as they come.
//!
//! Draws only where standard error is a terminal; logs get a few lines every few seconds, and the summary at the end.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::event::{CaseResult, CaseStarted, Event, Outcome, ToolsChosen};
use crate::source::{Color, Style};

use super::fold::protocol_case;
use super::progress::Progress;
use super::terminal::{self, CaseDetail, Cases, FailureOrder, Failures, Groups, View};

/// The time after which the bar is redrawn while nothing happens, so that a hang differs from a crash of this program.
const TICK: Duration = Duration::from_millis(200);

/// The progress of one run.
#[derive(Debug)]
pub struct Live {
    style: Style,
    bar: ProgressBar,
    /// The lines for a log; `None` if a bar is drawn, or the run has not begun.
    log: Option<Progress>,
    running: Vec<CaseStarted>,
    groups: Groups,
    failures: Failures,
    cases: Cases,
}

impl Live {
    /// Begins to show a run of that many cases.
    pub fn new(style: Style, total: usize) -> Self {
        let is_terminal = stderr().is_terminal();
        // A log that standard output is sent to must hold the failures too, so there they are left to the summary.
        let failures = if is_terminal && stdout().is_terminal() { Failures::SeenLive } else { Failures::Shown };
        let target = if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self::drawing_to(target, style, total, failures)
    }

    fn drawing_to(target: ProgressDrawTarget, style: Style, total: usize, failures: Failures) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total as u64), target).with_style(look(style));
        if !bar.is_hidden() {
            bar.enable_steady_tick(TICK);
        }
        Self {
            style,
            bar,
            log: None,
            running: Vec::new(),
            groups: Groups::default(),
            failures,
            cases: Cases::NotPassed,
        }
    }

    /// Says which cases are shown while the run lasts.
    pub fn show(&mut self, view: View) {
        self.cases = view.cases;
        self.groups = Groups::of(view.cases);
        // Which is the worst is known at the end.
        if view.order == FailureOrder::WorstFirst {
            self.failures = Failures::Shown;
        }
    }

    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        if let Event::ToolsChosen(chosen) = event {
            self.warn_of_writing(chosen);
        }
        if self.bar.is_hidden() {
            self.log(event);
            return;
        }
        match event {
            Event::RunStarted(started) => self.bar.set_length(started.planned as u64),
            Event::CaseStarted(started) => self.on_started(started),
            Event::CaseFinished(result) => self.on_finished(result),
            Event::SessionJudged(judged) if !judged.findings.is_empty() => self.print(&protocol_case(judged)),
            Event::SessionJudged(_)
            | Event::SessionTraced(_)
            | Event::ServerReady(_)
            | Event::ToolsChosen(_)
            | Event::RunFinished(_) => {}
        }
    }

    /// Takes in that blocks became that many more cases.
    pub fn on_planned(&self, more: usize) {
        self.bar.inc_length(more as u64);
        if let Some(log) = &self.log {
            log.on_planned(more);
        }
    }

    fn log(&mut self, event: &Event) {
        if let Event::RunStarted(started) = event
            && self.cases != Cases::Failed
        {
            self.log = Some(Progress::begin(self.style, started.planned));
        }
        let Some(log) = &self.log else { return };
        match event {
            Event::CaseStarted(started) => log.on_started(started),
            Event::CaseFinished(result) => log.on_finished(result),
            Event::SessionJudged(judged) if !judged.findings.is_empty() => log.on_judged(&protocol_case(judged)),
            Event::RunFinished(_) => self.log = None,
            Event::RunStarted(_)
            | Event::SessionJudged(_)
            | Event::SessionTraced(_)
            | Event::ServerReady(_)
            | Event::ToolsChosen(_) => {}
        }
    }

    /// Clears the bar; the answer says what the summary has to show.
    pub fn finish(mut self) -> Failures {
        self.log = None;
        if self.failures == Failures::SeenLive {
            let more = self.groups.all_more(&self.style);
            if !more.is_empty() {
                self.print_above(&more);
            }
        }
        self.bar.finish_and_clear();
        self.failures
    }

    /// Says before the first call which tools may change what nobody meant to be changed.
    fn warn_of_writing(&self, chosen: &ToolsChosen) {
        if !chosen.writing.is_empty() {
            self.print_above(&terminal::writing(chosen, &self.style));
        }
    }

    fn on_started(&mut self, started: &CaseStarted) {
        if !self.running.iter().any(|running| running.id == started.id) {
            self.running.push(started.clone());
        }
        self.tell_running();
    }

    fn on_finished(&mut self, result: &CaseResult) {
        self.running.retain(|running| running.id != result.case.id);
        // Verdicts on the suite itself are no planned cases.
        if self.bar.length().is_some_and(|length| self.bar.position() >= length) {
            self.bar.inc_length(1);
        }
        self.bar.inc(1);
        self.tell_running();
        let is_failure = matches!(result.outcome, Outcome::Failed | Outcome::Errored);
        if terminal::is_trouble(result) && (is_failure || self.cases != Cases::Failed) {
            self.print(result);
        }
    }

    fn print(&mut self, result: &CaseResult) {
        if self.failures == Failures::Shown {
            return;
        }
        let text = match self.groups.admit(result) {
            CaseDetail::Full(known) => terminal::further(result, &known, FailureOrder::Declared, &self.style),
            CaseDetail::Line => terminal::line(result, &self.style),
            CaseDetail::Name => return,
        };
        self.print_above(&text);
    }

    /// Written by ourselves, since the bar would fill every line with spaces, which are a nuisance when copied.
    fn print_above(&self, text: &str) {
        // Nobody can be told that standard error is closed.
        self.bar.suspend(|| stderr().write_all(format!("{text}\n").as_bytes()).unwrap_or_default());
    }

    fn tell_running(&self) {
        let names: Vec<&str> = self.running.iter().map(|running| running.name.as_str()).collect();
        // Many terminals draw the parts of a joined emoji side by side, and a line that wraps is drawn anew below itself.
        let names = names.join(", ").replace('\u{200d}', "");
        let rest = bar_width(self.style) + COUNTS;
        self.bar.set_message(terminal::crop(&names, self.style.width.saturating_sub(rest)));
    }
}

/// The columns for the counts, the time, and the gaps beside them.
const COUNTS: usize = 20;

/// The columns of the bar itself; on a narrow terminal the names are worth more.
fn bar_width(style: Style) -> usize {
    if style.width < 60 { 8 } else { 20 }
}

fn look(style: Style) -> ProgressStyle {
    let width = bar_width(style);
    let template = match style.color {
        Color::Always => format!("  {{bar:{width}.green}} {{pos}}/{{len}}  {{elapsed}}  {{msg:.dim}}"),
        Color::Never => format!("  {{bar:{width}}} {{pos}}/{{len}}  {{elapsed}}  {{msg}}"),
    };
    ProgressStyle::with_template(&template)
        .map_or_else(|_| ProgressStyle::default_bar(), |look| look.progress_chars("━━─"))
}
