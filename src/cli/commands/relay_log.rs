//! The log of a relay: lines while it runs, a file with all events, counters, and figures at the end.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::relay::RelaySettings;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::relay::{MessageChange, RelayMetrics, RelayWatcher, RelayedCall};
use crate::reliability::{Reliability, ReliabilityFigures};
use crate::report::terminal::crop;
use crate::source::{Color, visible_line};

/// The most changes that are shown while the relay runs.
const MOST_SHOWN: u64 = 200;

/// The interval at which the view is drawn.
const REDRAW: Duration = Duration::from_millis(200);

/// The version of the form of the events.
const VERSION: u64 = 1;

/// The log of one relay.
pub(crate) struct RelayLog {
    console: Console,
    is_quiet: bool,
    is_strict: bool,
    begun: Instant,
    /// The figures so far, drawn where standard error is a terminal.
    view: ProgressBar,
    state: Mutex<LogState>,
}

struct LogState {
    events: Option<EventFile>,
    /// Why events are missing.
    problem: Option<String>,
    reliability: Reliability,
    metrics: RelayMetrics,
    shown: u64,
    /// When the view was drawn last.
    drawn: Option<Instant>,
}

struct EventFile {
    path: PathBuf,
    file: File,
    /// The number of bytes of whole events in it.
    length: u64,
}

impl EventFile {
    /// Writes one event, or nothing of it.
    fn write(&mut self, event: &Value) -> io::Result<()> {
        let line = format!("{event}\n");
        let written = self.file.write_all(line.as_bytes());
        match written {
            Ok(()) => self.length += line.len() as u64,
            // Half a line stays only where the file is none that can be cut.
            Err(_) => drop(self.file.set_len(self.length)),
        }
        written
    }
}

impl RelayLog {
    /// Begins the file of events, if there is one, with the faults of the plan.
    pub(crate) fn new(
        settings: &RelaySettings,
        transport: &str,
        faults: &[&str],
        console: &Console,
    ) -> Result<Self, Exit> {
        let unwritten = |path: &Path, error: &io::Error| {
            let message = format!("cannot write the events to `{}`: {error}", path.display());
            console.fail(Exit::Environment, message, None)
        };
        let mut events = None;
        if let Some(place) = &settings.events {
            let file = place.create().map_err(|error| unwritten(place, &error))?;
            events = Some(EventFile { path: place.to_path_buf(), file, length: 0 });
        }
        let log = Self {
            console: console.clone(),
            is_quiet: settings.quiet,
            is_strict: settings.strict,
            begun: Instant::now(),
            view: view(!settings.quiet && io::stderr().is_terminal(), console.error_style.color),
            state: Mutex::new(LogState {
                events,
                problem: None,
                reliability: Reliability::new(settings.deadline),
                metrics: RelayMetrics::default(),
                shown: 0,
                drawn: None,
            }),
        };
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let first = json!({
            "type": "relay",
            "version": VERSION,
            "transport": transport,
            "faults": faults,
            "started_unix_ms": u64::try_from(started).unwrap_or_default(),
        });
        if let Some(events) = &mut log.state.lock().events {
            events.write(&first).map_err(|error| unwritten(&events.path, &error))?;
        }
        Ok(log)
    }

    /// Writes the last event, and shows the figures; fails if events are missing.
    pub(crate) fn finish(&self, idle: &[&str]) -> Result<(), String> {
        let mut state = self.state.lock();
        let figures = state.reliability.figures();
        // Whoever wanted to know has been told.
        let _ = self.write(&mut state, json!({ "type": "end", "figures": figures.json(), "idle_faults": idle }));
        state.events = None;
        self.view.finish_and_clear();
        if !self.is_quiet {
            self.tell(text(&figures).trim_end());
            for fault in idle {
                self.tell(&format!("warning: the fault `{}` changed nothing", visible_line(fault)));
            }
        }
        state.problem.clone().map_or(Ok(()), Err)
    }

    /// Writes one event; after a failure, nothing more is written.
    fn write(&self, state: &mut LogState, mut event: Value) -> Result<(), String> {
        let Some(events) = &mut state.events else { return Ok(()) };
        let at = self.begun.elapsed().as_secs_f64() * 1000.0;
        event["at_ms"] = ((at * 1000.0).round() / 1000.0).into();
        let Err(error) = events.write(&event) else { return Ok(()) };
        let problem = format!("cannot write the events to `{}`: {error}", events.path.display());
        state.events = None;
        state.problem = Some(problem.clone());
        if !self.is_strict {
            let help = "no more events are written; messages still pass";
            self.view.suspend(|| self.console.error(&problem, Some(help)));
        }
        Err(problem)
    }

    fn show(&self, state: &mut LogState, change: &MessageChange) {
        if self.is_quiet || state.shown > MOST_SHOWN {
            return;
        }
        state.shown += 1;
        if state.shown > MOST_SHOWN {
            return self.tell("more changes are not shown; `--events FILE` keeps all of them");
        }
        let mut asked = change.method.clone().unwrap_or_else(|| "a message".to_owned());
        if let Some(tool) = &change.tool {
            asked = format!("{asked} {tool}");
        }
        let session = if change.session > 0 { format!(", session {}", change.session) } else { String::new() };
        let (faults, changes) = (change.faults.join(", "), change.changes.join("; "));
        self.tell(&visible_line(&format!("{faults}: {asked}{session}: {changes}")));
    }

    /// Writes a line above the view.
    pub(crate) fn tell(&self, text: &str) {
        self.view.suspend(|| self.console.note(text));
    }

    /// Draws the figures so far, not too often.
    fn draw(&self, state: &mut LogState) {
        if self.view.is_hidden() || state.drawn.is_some_and(|drawn| drawn.elapsed() < REDRAW) {
            return;
        }
        state.drawn = Some(Instant::now());
        let figures = state.reliability.figures();
        let ReliabilityFigures { calls, struck, failed_tasks, tasks, .. } = figures;
        let (eta, tcaf) = (share(figures.effective_availability), share(figures.amplification));
        let line = format!(
            "{}, {struck} struck · ETA {eta} · TCAF {tcaf} · {failed_tasks} of {} failed",
            count(calls, "call"),
            count(tasks, "task")
        );
        self.view.set_message(crop(&line, self.console.error_style.width.saturating_sub(12)));
    }

    fn metrics(&self) -> String {
        let state = self.state.lock();
        state.metrics.text(&state.reliability.figures())
    }
}

impl RelayWatcher for RelayLog {
    fn on_change(&self, change: &MessageChange) -> Result<(), String> {
        let mut state = self.state.lock();
        state.metrics.count_change(change);
        self.show(&mut state, change);
        self.draw(&mut state);
        let MessageChange { session, direction, method, tool, faults, changes } = change;
        let direction = direction.word();
        self.write(
            &mut state,
            json!({
                "type": "change",
                "session": session,
                "direction": direction,
                "method": method,
                "tool": tool,
                "faults": faults,
                "changes": changes,
            }),
        )
    }

    fn on_call(&self, call: &RelayedCall) -> Result<(), String> {
        let mut state = self.state.lock();
        state.metrics.count_call(call);
        state.reliability.add(&call.record);
        self.draw(&mut state);
        let record = &call.record;
        let took = (record.took.as_secs_f64() * 1_000_000.0).round() / 1000.0;
        self.write(
            &mut state,
            json!({
                "type": "call",
                "session": call.session,
                "task": record.task,
                "tool": record.tool,
                "intent": record.intent,
                "outcome": record.outcome.word(),
                "took_ms": took,
                "heard": record.heard,
                "is_struck": record.is_struck,
                "conforms": record.conforms,
            }),
        )
    }

    fn note(&self, text: &str) -> Result<(), String> {
        if !self.is_quiet {
            self.tell(&format!("warning: {}", visible_line(text)));
        }
        self.write(&mut self.state.lock(), json!({ "type": "note", "text": text }))
    }
}

/// The server of the counters.
pub(crate) fn router(log: Arc<RelayLog>) -> Router {
    let shown = async |State(log): State<Arc<RelayLog>>| ([(CONTENT_TYPE, "text/plain; version=0.0.4")], log.metrics());
    Router::new().route("/metrics", get(shown)).with_state(log)
}

/// `1 call`, `2 calls`.
fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn share(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{share:.3}"))
}

/// A line that is drawn again and again, below what is told.
fn view(is_drawn: bool, color: Color) -> ProgressBar {
    let target = if is_drawn { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let template = if color == Color::Always { "  {elapsed}  {msg:.dim}" } else { "  {elapsed}  {msg}" };
    let look = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let view = ProgressBar::with_draw_target(None, target).with_style(look);
    if !view.is_hidden() {
        view.set_message("no tool was called yet");
        view.enable_steady_tick(REDRAW);
    }
    view
}

/// The figures for people.
fn text(figures: &ReliabilityFigures) -> String {
    let ReliabilityFigures { calls, intents, tasks, struck, failed_tasks, .. } = figures;
    if *calls == 0 {
        return "no tool was called".to_owned();
    }
    let mut lines = vec![
        format!(
            "{} for {} in {}; faults struck {struck} of the calls",
            count(*calls, "call"),
            count(*intents, "intent"),
            count(*tasks, "task")
        ),
        format!(
            "  availability {}, correctness {}, ETA {}",
            share(figures.availability),
            share(figures.correctness),
            share(figures.effective_availability)
        ),
        format!(
            "  TCSR {}, TCAF {}, schema conformance {}",
            share(figures.success_rate),
            share(figures.amplification),
            share(figures.conformance)
        ),
    ];
    if figures.heard != *calls || figures.heard_again > 0 {
        lines.push(format!(
            "  the server heard {}, {} of them again; TCAF at the server {}",
            count(figures.heard, "call"),
            figures.heard_again,
            share(figures.amplification_at_server)
        ));
    }
    if let Some(blast) = figures.blast_radius {
        lines.push(format!(
            "  blast radius {:.3} ({:.3} to {:.3}): {failed_tasks} of {} failed",
            blast.share,
            blast.low,
            blast.high,
            count(*tasks, "task")
        ));
    }
    if *struck > 0 {
        let (safely, silently) = (figures.failed_safely, figures.failed_silently);
        lines.push(format!("  of the struck calls, {safely} failed safely and {silently} silently"));
    }
    lines.join("\n")
}
