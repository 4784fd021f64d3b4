//! The progress of a run, for a log: a few lines on standard error every few seconds, if nothing can be drawn.
//!
//! A run that is over sooner says nothing here; its summary follows.

use std::fmt::Write as _;
use std::io::{Write as _, stderr};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::event::{CaseResult, CaseStarted};
use crate::source::{Style, duration_text, visible_line, without_commands};
use crate::suite::builtin_name;

use super::fold::Totals;
use super::terminal::{self, CaseDetail, Groups};
use super::wording;

/// The time between two lines.
const INTERVAL: Duration = Duration::from_secs(5);
/// The beginning of every line, which sets it apart from the summary.
const MARK: &str = "…";
/// The most names of running cases.
const RUNNING: usize = 3;

/// Writes what a function says every few seconds, until it is dropped.
#[derive(Debug)]
pub struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Begins; the function is told how long that is ago.
    pub fn start(mut text: impl FnMut(Duration) -> String + Send + 'static) -> Self {
        let (stop, stopped) = channel();
        let begun = Instant::now();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let seconds = Duration::from_secs(begun.elapsed().as_secs());
                // Nobody can be told that standard error is closed.
                let _ = stderr().write_all(text(seconds).as_bytes());
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop = None;
        // Joined, so that nothing is written between the lines of what follows.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The lines that a log receives while a run lasts.
#[derive(Debug)]
pub(crate) struct Progress {
    state: Arc<Mutex<ProgressState>>,
    _ticker: Ticker,
}

#[derive(Debug)]
struct ProgressState {
    style: Style,
    total: usize,
    totals: Totals,
    running: Vec<CaseStarted>,
    /// The file of the suite that runs, and how its cases ended.
    suite: Option<(String, Totals)>,
    groups: Groups,
    /// The lines that have not been written yet.
    news: String,
}

impl Progress {
    /// Begins to write about a run of that many cases.
    pub(crate) fn begin(style: Style, total: usize) -> Self {
        let state = Arc::new(Mutex::new(ProgressState::new(style, total)));
        let told = Arc::clone(&state);
        let text = move |elapsed| told.lock().take_text(elapsed);
        Self { state, _ticker: Ticker::start(text) }
    }

    /// More cases are known.
    pub(crate) fn on_planned(&self, more: usize) {
        self.with(|state| state.total += more);
    }

    /// A case begins.
    pub(crate) fn on_started(&self, started: &CaseStarted) {
        self.with(|state| state.on_started(started));
    }

    /// A case is decided.
    pub(crate) fn on_finished(&self, result: &CaseResult) {
        self.with(|state| state.on_finished(result));
    }

    /// A server broke the protocol outside of cases.
    pub(crate) fn on_judged(&self, result: &CaseResult) {
        self.with(|state| state.tell(result));
    }

    fn with(&self, change: impl FnOnce(&mut ProgressState)) {
        change(&mut self.state.lock());
    }
}

impl ProgressState {
    fn new(style: Style, total: usize) -> Self {
        let (totals, running, suite) = (Totals::default(), Vec::new(), None);
        Self { style, total, totals, running, suite, groups: Groups::once(), news: String::new() }
    }

    fn on_started(&mut self, started: &CaseStarted) {
        self.end_suite_unless(&started.file);
        if !self.running.iter().any(|running| running.id == started.id) {
            self.running.push(started.clone());
        }
    }

    fn on_finished(&mut self, result: &CaseResult) {
        self.running.retain(|running| running.id != result.case.id);
        let file = &result.case.file;
        self.end_suite_unless(file);
        if builtin_name(file).is_none() {
            self.suite.get_or_insert_with(|| (file.clone(), Totals::default()));
        }
        if let Some((_, totals)) = &mut self.suite {
            totals.count(result);
        }
        self.totals.count(result);
        self.tell(result);
    }

    /// Suites run one after another: the one before is over where a case of another one is met. The cases of built-in
    /// packs run between those of the suite that uses them.
    fn end_suite_unless(&mut self, file: &str) {
        if builtin_name(file).is_some() {
            return;
        }
        if let Some((file, totals)) = self.suite.take_if(|(known, _)| known != file) {
            self.say(&format!("{} {file}: {}", terminal::totals_mark(&totals).0, terminal::counts(&totals)));
        }
    }

    /// The failures, each cause once.
    fn tell(&mut self, result: &CaseResult) {
        if !terminal::is_trouble(result) || self.groups.admit(result) == CaseDetail::Name {
            return;
        }
        let place = wording::line(&result.case).map(|place| format!("{place} ")).unwrap_or_default();
        let (name, said) = (wording::name(&result.case, false), terminal::summarize(result).unwrap_or_default());
        // Lints are named by their codes.
        let code = result.findings.first().map(|finding| finding.code.as_str()).filter(|code| name.ends_with(code));
        let said = code.and_then(|code| said.strip_prefix(code)?.strip_prefix(": ")).unwrap_or(&said);
        self.say(&format!("{} {place}{name}: {said}", terminal::mark(result).0));
    }

    fn say(&mut self, text: &str) {
        let line = terminal::crop(&format!("{MARK} {}", visible_line(text)), self.style.width);
        self.news.push_str(&without_commands(&line));
        self.news.push('\n');
    }

    /// The next line to write.
    fn take_text(&mut self, elapsed: Duration) -> String {
        let Totals { failed, errored, .. } = self.totals;
        let done = self.totals.with_inapplicable();
        let elapsed = duration_text(elapsed);
        if self.total.max(done) == 0 && self.running.is_empty() {
            // Cases are made of what servers list.
            self.say(&format!("{elapsed}: waiting for the server to start and to list what it offers"));
            return std::mem::take(&mut self.news);
        }
        let total = terminal::plural(self.total.max(done), "case");
        let mut text = format!("{elapsed}: {done} of {total} done");
        for (count, word) in [(failed, "failed"), (errored, "errored")] {
            if count > 0 {
                let _ = write!(text, ", {count} {word}");
            }
        }
        let names: Vec<&str> = self.running.iter().take(RUNNING).map(|running| running.name.as_str()).collect();
        if !names.is_empty() {
            let _ = write!(text, "; running: {}", names.join(", "));
        } else if self.total <= done {
            text += "; finishing: proofs, servers, reports";
        }
        if self.running.len() > RUNNING {
            let _ = write!(text, " and {} more", self.running.len() - RUNNING);
        }
        self.say(&text);
        std::mem::take(&mut self.news)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fixture::{failed, passed};
    use super::*;
    use crate::event::Finding;

    #[test]
    fn a_log_is_told_what_is_new() {
        let mut state = ProgressState::new(Style::PLAIN, 0);
        let text = state.take_text(Duration::from_secs(5));
        assert_eq!(text, "… 5 s: waiting for the server to start and to list what it offers\n");
        state.total = 2;
        let (file, name) = ("a.yml".to_owned(), "slow[n=1]".to_owned());
        state.on_started(&CaseStarted { id: "a.yml::slow[n=1]@server/auto".to_owned(), file, name, attempt: 1 });
        assert_eq!(state.take_text(Duration::from_secs(5)), "… 5 s: 0 of 2 cases done; running: slow[n=1]\n");
        let broken = failed(passed(3, "broken", None), vec![Finding::new("equals", "::error:: differs")]);
        state.on_finished(&broken);
        let mut same = broken.clone();
        (same.case.file, same.case.id) = ("other.yml".to_owned(), "other".to_owned());
        state.on_finished(&same);
        state.running.clear();
        let text = state.take_text(Duration::from_secs(10));
        insta::assert_snapshot!(text, @r"
        … ✗ examples/users.yml:3 broken: equals: ::error:: differs
        … ✗ examples/users.yml: 1 failed
        … 10 s: 2 of 2 cases done, 2 failed; finishing: proofs, servers, reports
        ");
        state.total += 7;
        assert_eq!(state.take_text(Duration::from_secs(65)), "… 1 min 5 s: 2 of 9 cases done, 2 failed\n");
    }
}
