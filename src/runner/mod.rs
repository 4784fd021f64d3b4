//! Runs a plan against its servers and tells what happens, event by event.
//!
//! Suites run one after another; within a suite, cases begin in declared order, as many at a time as allowed, and a
//! panic or a hang of one ends that one only.
//! Knows nothing about reports: whoever watches is an [`Observer`]. Start reading in [`run`].

mod again;
mod attempt;
mod case;
mod exchange;
mod finding;
mod judge;
mod lane;
mod names;
mod options;
mod phases;
mod resolve;
mod suite;

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::Instant;

use self::judge::Judge;
use self::suite::SuiteRun;
use crate::event::{Event, FORMAT, Outcome, RunFinished, RunStarted, SuiteInfo};
use crate::plan::{Body, Plan};
use crate::redact::Redactor;
use crate::taxonomy::Registry;
use crate::taxonomy::score::Score;

pub use self::options::{Bail, InProcess, Observer, Options, SessionFrames, Stop};

/// What a run comes to; the exit code follows from it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// Cases that failed, sessions with violations included.
    pub failed: usize,
    /// Cases that the environment or this program broke.
    pub errored: usize,
    /// Cases that this program broke.
    pub internal: usize,
    /// Cases that ran to passed, warned or failed.
    pub judged: usize,
    /// Whether somebody stopped the run.
    pub interrupted: bool,
    /// The coverage that was declared and exercised.
    pub coverage: Option<(Score, Score)>,
    /// The ids of the cases that did not pass.
    pub not_passed: Vec<String>,
}

/// What tasks tell the one that tells the observer.
enum Message {
    Event(Event),
    Session(SessionFrames),
}

/// The way from tasks to the observer.
#[derive(Clone)]
struct Emitter(mpsc::UnboundedSender<Message>);

impl Emitter {
    fn event(&self, event: Event) {
        // The receiver lives as long as the run.
        let _ = self.0.send(Message::Event(event));
    }

    fn session(&self, frames: SessionFrames) {
        let _ = self.0.send(Message::Session(frames));
    }
}

/// Runs every case of `plan`; `observer` is told everything in one order, from one task, without secrets.
pub async fn run(plan: Plan, options: Options, registry: &Registry, observer: &mut dyn Observer) -> Summary {
    let begun = Instant::now();
    let plan = Arc::new(plan);
    let redactor = names::redactor(&plan, &options);
    let mut watch = Watch { judge: Judge::new(&plan), summary: Summary::default(), redactor, observer };
    watch.event(&Event::RunStarted(started(&plan, &options)));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let stop = options.stop.clone();
    let suites = async {
        let emitter = Emitter(sender);
        let mut not_run = 0;
        let options = Arc::new(options);
        for index in 0..plan.suites.len() {
            not_run += SuiteRun::new(&plan, index, &options, &emitter).run().await;
        }
        not_run
    };
    let mut suites = std::pin::pin!(suites);
    let not_run = loop {
        tokio::select! {
            biased;
            Some(message) = receiver.recv() => watch.message(message),
            not_run = &mut suites => break not_run,
        }
    };
    while let Ok(message) = receiver.try_recv() {
        watch.message(message);
    }
    watch.summary.interrupted = stop.is_set();
    let coverage = watch.judge.score(registry);
    watch.summary.coverage = Some((coverage.declared.clone(), coverage.exercised.clone()));
    watch.event(&Event::RunFinished(RunFinished {
        duration_us: micros(begun.elapsed()),
        interrupted: watch.summary.interrupted,
        not_run,
        coverage: Some(coverage),
    }));
    watch.summary
}

fn started(plan: &Plan, options: &Options) -> RunStarted {
    let suites = plan
        .suites
        .iter()
        .map(|planned| SuiteInfo { file: planned.suite.file.clone(), name: planned.suite.name.value.clone() });
    RunStarted {
        format: FORMAT,
        program: concat!("mcprove ", env!("CARGO_PKG_VERSION")).to_owned(),
        started_unix_ms: options.started_unix_ms,
        suites: suites.collect(),
        planned: plan.cases().filter(|case| !matches!(case.body, Body::Template(_))).count(),
    }
}

/// Sees every message once, in order.
struct Watch<'a> {
    judge: Judge,
    summary: Summary,
    redactor: Redactor,
    observer: &'a mut dyn Observer,
}

impl Watch<'_> {
    fn message(&mut self, message: Message) {
        match message {
            Message::Event(event) => {
                self.count(&event);
                self.event(&event);
            }
            Message::Session(frames) => {
                self.judge.session(&frames);
                self.observer.session(&frames, &self.redactor);
            }
        }
    }

    fn event(&mut self, event: &Event) {
        if self.redactor.is_empty() {
            return self.observer.event(event);
        }
        let mut hidden = event.clone();
        hidden.change_texts(&|text| self.redactor.text(text));
        self.observer.event(&hidden);
    }

    fn count(&mut self, event: &Event) {
        match event {
            Event::CaseFinished(result) => {
                self.judge.case(result);
                match result.outcome {
                    Outcome::Failed => self.summary.failed += 1,
                    Outcome::Errored => self.summary.errored += 1,
                    Outcome::Passed | Outcome::Warned | Outcome::Skipped | Outcome::Inconclusive => {}
                }
                if matches!(result.outcome, Outcome::Passed | Outcome::Warned | Outcome::Failed) {
                    self.summary.judged += 1;
                }
                if result.findings.iter().any(|finding| finding.class == Some(crate::event::FailureClass::Internal)) {
                    self.summary.internal += 1;
                }
                let has_failed = matches!(result.outcome, Outcome::Failed | Outcome::Errored | Outcome::Inconclusive);
                if has_failed || case::is_unreached(result) {
                    self.summary.not_passed.push(result.case.id.clone());
                }
            }
            Event::SessionJudged(judged) => self.summary.failed += usize::from(!judged.findings.is_empty()),
            Event::ServerReady(ready) => self.judge.ready(ready),
            Event::RunStarted(_) | Event::CaseStarted(_) | Event::RunFinished(_) => {}
        }
    }
}

fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
