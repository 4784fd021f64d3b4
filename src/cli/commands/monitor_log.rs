//! What a monitor tells: a line for each change, messages to a webhook, traces of runs, and notes about what was not run.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::mpsc::{Sender, channel, error::TrySendError};
use tokio::task::JoinHandle;

use super::monitor_otlp::SpanSender;
use super::monitor_webhook::{Webhook, WebhookMessage};
use super::parsing::now;
use crate::cli::console::Console;
use crate::monitor::fold::RunObservation;
use crate::monitor::ledger::{Ledger, TargetName};
use crate::monitor::run_trace::RunTrace;
use crate::monitor::spans::TracedRun;
use crate::monitor::state::StatusChange;
use crate::monitor::watch::MonitorListener;
use crate::source::{shorten, visible_line};

/// The most messages that wait for a receiver.
const MOST_WAITING: usize = 1000;

/// The longest explanation of a line, in characters.
const LONGEST_DETAIL: usize = 300;

/// The log of a monitor.
pub(crate) struct MonitorLog {
    console: Console,
    ledger: Arc<Mutex<Ledger>>,
    webhook: Option<Sender<WebhookMessage>>,
    traces: Option<SpanSender>,
    dirty: Rc<StateSignal>,
    /// The targets of which it was said that probes are not run.
    noted: RefCell<BTreeSet<String>>,
}

/// Says that states are to be written.
#[derive(Default)]
pub(crate) struct StateSignal {
    notify: Notify,
    is_over: Cell<bool>,
}

impl StateSignal {
    pub(crate) fn notify_one(&self) {
        self.notify.notify_one();
    }

    /// Waits for the next change; returns false if there will be no other.
    pub(crate) async fn changed(&self) -> bool {
        self.notify.notified().await;
        !self.is_over.get()
    }
}

impl MonitorLog {
    /// A log, and the task that delivers its messages.
    pub(crate) fn new(
        console: Console,
        ledger: Arc<Mutex<Ledger>>,
        webhook: Option<Webhook>,
        traces: Option<SpanSender>,
    ) -> (Self, Option<JoinHandle<()>>) {
        let (mut sender, mut delivery) = (None, None);
        if let Some(webhook) = webhook {
            let (messages, waiting) = channel(MOST_WAITING);
            sender = Some(messages);
            delivery = Some(tokio::spawn(webhook.deliver_all(waiting, Arc::clone(&ledger), console.clone())));
        }
        let log = Self { console, ledger, webhook: sender, traces, dirty: Rc::default(), noted: RefCell::default() };
        (log, delivery)
    }

    /// Says that states are to be written.
    pub(crate) fn dirty(&self) -> Rc<StateSignal> {
        Rc::clone(&self.dirty)
    }

    /// Has the states written for the last time.
    pub(crate) fn finish(&self) {
        self.dirty.is_over.set(true);
        self.dirty.notify_one();
    }

    fn name_of(&self, id: &str) -> Option<TargetName> {
        let ledger = self.ledger.lock();
        let figures = ledger.targets.get(id)?;
        let (suite, server, revision) = (figures.suite.clone(), figures.server.clone(), figures.revision.clone());
        Some(TargetName { suite, server, revision })
    }
}

/// A time of day in RFC 3339.
pub(crate) fn rfc3339(since_1970: Duration) -> String {
    let time = i64::try_from(since_1970.as_secs()).ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    time.map(|time| time.format("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default()
}

/// The line about a change.
fn line(at: &str, id: &str, change: &StatusChange) -> String {
    let detail = shorten(&visible_line(&change.detail), LONGEST_DETAIL);
    let detail = if detail.is_empty() { detail } else { format!(": {detail}") };
    format!("{at}  {}  {}{detail}\n", visible_line(id), change.to)
}

impl MonitorListener for MonitorLog {
    fn unix_now(&self) -> Duration {
        now()
    }

    fn on_run(&self, id: &str, observation: &RunObservation) {
        let is_first = self.ledger.lock().targets.get(id).is_some_and(|figures| figures.state.offered.is_none());
        if is_first && observation.offered.is_some() {
            self.dirty.notify_one();
        }
        if let Some(case) = observation.not_allowed.first()
            && self.noted.borrow_mut().insert(id.to_owned())
        {
            let (id, case) = (visible_line(id), visible_line(case));
            self.console.note(&format!(
                "`{id}`: `{case}` is not run, because it calls a tool that may change data; `--allow-changes` allows what the suite allows"
            ));
        }
    }

    fn on_change(&self, id: &str, change: &StatusChange) {
        let at = rfc3339(now());
        // A reader that went away does not end the monitor.
        let _ = self.console.part(&line(&at, id, change));
        self.dirty.notify_one();
        let (Some(webhook), Some(target)) = (&self.webhook, self.name_of(id)) else { return };
        if !change.is_news() {
            return;
        }
        let message = WebhookMessage { target, change: change.clone(), at };
        if let Err(TrySendError::Full(_)) = webhook.try_send(message) {
            self.ledger.lock().webhooks.add(false);
        }
    }

    fn on_trace(&self, id: &str, trace: RunTrace, ended: Duration) {
        let (Some(traces), Some(name)) = (&self.traces, self.name_of(id)) else { return };
        let run = {
            let ledger = self.ledger.lock();
            let Some(figures) = ledger.targets.get(id) else { return };
            let Some(last) = &figures.last else { return };
            TracedRun {
                id: id.to_owned(),
                name,
                verdict: last.verdict.clone(),
                number: figures.runs.values().sum(),
                failures: figures.state.failures,
                ended,
                took: last.took,
                trace,
            }
        };
        traces.send(&run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::status::TargetStatus;

    #[test]
    fn lines() {
        let at = rfc3339(Duration::from_secs(1_796_000_000));
        assert_eq!(at, "2026-11-30T00:53:20Z");
        for (to, detail, expected) in [
            (TargetStatus::Up, "", "T  a.yml@b/auto  up\n"),
            (TargetStatus::Failed, "`x`: a\nb", "T  a.yml@b/auto  failed: `x`: a\\u{a}b\n"),
        ] {
            let change = StatusChange { from: None, to, detail: detail.to_owned(), lasted: None };
            assert_eq!(line("T", "a.yml@b/auto", &change), expected);
        }
    }
}
