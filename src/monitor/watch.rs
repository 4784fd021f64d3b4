//! The loop of a monitor: waits until each target is due, lets it run, and hands on what changes.
//!
//! Each target is one task that sleeps between its runs, so that runs of one target never overlap and no target waits for
//! another. All of them live on one thread; the cases of their runs do not.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet, spawn_local};
use tokio::time::{Instant, sleep, sleep_until};

use super::fold::RunObservation;
use super::ledger::{Ledger, RunRecord, TargetName};
use super::run_trace::RunTrace;
use super::schedule::Timetable;
use super::state::StatusChange;
use super::status::TargetStatus;

/// The time after which a run gives its place to the next: it waits for its server, and takes little of the machine.
const SLOT_TIME: Duration = Duration::from_secs(1);

/// The interval at which somebody who waits for all targets looks again.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// One run of a target.
pub type RunFuture = Pin<Box<dyn Future<Output = RunObservation>>>;

/// Runs a target.
pub trait TargetRun {
    /// Begins a run, which ends by itself in limited time. It is over at once if it is dropped.
    fn run(&self) -> RunFuture;
}

/// A target with the way to run it.
pub struct MonitorTarget {
    /// `file@server/revision`.
    pub id: String,
    /// Its names.
    pub name: TargetName,
    /// Runs it.
    pub run: Rc<dyn TargetRun>,
}

/// The pace of a monitor.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// From one run of a target to the next.
    pub every: Duration,
    /// The number of runs that begin at a time.
    pub at_a_time: usize,
    /// The number of runs of each target; `None` for no end.
    pub runs: Option<u64>,
}

/// Told of what happens.
pub trait MonitorListener {
    /// The time of day, as the time since 1970.
    fn unix_now(&self) -> Duration;

    /// A run of a target is over.
    fn on_run(&self, id: &str, observation: &RunObservation);

    /// The status of a target changed.
    fn on_change(&self, id: &str, change: &StatusChange);

    /// What happened when in a run, which is recorded and ended at this time since 1970; only where traces are sent.
    fn on_trace(&self, _id: &str, _trace: RunTrace, _ended: Duration) {}
}

/// Watches targets until it is dropped.
pub struct Monitor {
    pace: Pace,
    ledger: Arc<Mutex<Ledger>>,
    listener: Rc<dyn MonitorListener>,
    slots: Arc<Semaphore>,
    /// The number of runs that are under way.
    running: Rc<Cell<usize>>,
    watched: RefCell<BTreeMap<String, WatchedTarget>>,
}

struct WatchedTarget {
    /// Replaced when suites are read again, and used from the next run on.
    run: Rc<RefCell<Rc<dyn TargetRun>>>,
    task: JoinHandle<()>,
}

impl Drop for WatchedTarget {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Monitor {
    /// A monitor without targets.
    pub fn new(pace: Pace, ledger: Arc<Mutex<Ledger>>, listener: Rc<dyn MonitorListener>) -> Self {
        let slots = Arc::new(Semaphore::new(pace.at_a_time));
        Self { pace, ledger, listener, slots, running: Rc::default(), watched: RefCell::default() }
    }

    /// Watches these targets and no others from now on; must be called on a `LocalSet`. A target that is watched already
    /// keeps its turn and a run that is under way.
    pub fn set_targets(&self, targets: Vec<MonitorTarget>) {
        let startup = startup(targets.len(), self.pace.at_a_time);
        let mut before = std::mem::take(&mut *self.watched.borrow_mut());
        let mut watched = BTreeMap::new();
        for MonitorTarget { id, name, run } in targets {
            if let Some(known) = before.remove(&id) {
                *known.run.borrow_mut() = run;
                watched.insert(id, known);
                continue;
            }
            self.ledger.lock().watch(&id, &name);
            let run = Rc::new(RefCell::new(run));
            let unix_now = self.listener.unix_now();
            let target = TargetTask {
                timetable: Timetable::new(&id, self.pace.every, startup, unix_now),
                begun: Instant::now(),
                id: id.clone(),
                pace: self.pace,
                run: Rc::clone(&run),
                ledger: Arc::clone(&self.ledger),
                listener: Rc::clone(&self.listener),
                slots: Arc::clone(&self.slots),
                running: Rc::clone(&self.running),
            };
            watched.insert(id, WatchedTarget { run, task: spawn_local(target.watch()) });
        }
        for id in before.keys() {
            self.ledger.lock().forget(id);
        }
        *self.watched.borrow_mut() = watched;
    }

    /// Returns once every target has had its runs; never returns if their number is not limited.
    pub async fn finished(&self) {
        loop {
            let is_over = self.watched.borrow().values().all(|watched| watched.task.is_finished());
            if is_over {
                return;
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Begins no run any more, and returns once those that are under way are over, which must have been asked to end. What
    /// came of them does not count.
    pub async fn stop(&self) {
        self.slots.close();
        while self.running.get() > 0 {
            sleep(POLL_INTERVAL).await;
        }
    }
}

/// A run that is under way.
struct CountedRun(Rc<Cell<usize>>);

impl CountedRun {
    fn new(running: &Rc<Cell<usize>>) -> Self {
        running.set(running.get() + 1);
        Self(Rc::clone(running))
    }
}

impl Drop for CountedRun {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// The time over which first runs are spread, so that no more begin in a second than may begin at a time.
fn startup(targets: usize, at_a_time: usize) -> Duration {
    let many = targets > at_a_time;
    if many { Duration::from_secs(targets.div_ceil(at_a_time.max(1)) as u64) } else { Duration::ZERO }
}

/// The life of one target.
struct TargetTask {
    id: String,
    timetable: Timetable,
    begun: Instant,
    pace: Pace,
    run: Rc<RefCell<Rc<dyn TargetRun>>>,
    ledger: Arc<Mutex<Ledger>>,
    listener: Rc<dyn MonitorListener>,
    slots: Arc<Semaphore>,
    running: Rc<Cell<usize>>,
}

impl TargetTask {
    async fn watch(self) {
        let (mut tick, mut skipped, mut runs) = (0, 0, 0);
        while self.pace.runs.is_none_or(|most| runs < most) {
            let due = self.begun + self.timetable.due(tick);
            sleep_until(due).await;
            let Some((mut observation, lateness)) = self.run_once(due).await else { return };
            runs += 1;
            let ended = self.listener.unix_now();
            self.listener.on_run(&self.id, &observation);
            let (now, trace) = (ended.as_secs(), observation.trace.take());
            let change = self.ledger.lock().record(&self.id, RunRecord { observation, lateness, skipped, now });
            if let Some(change) = change {
                self.listener.on_change(&self.id, &change);
            }
            if let Some(trace) = trace {
                self.listener.on_trace(&self.id, *trace, ended);
            }
            let unreachable = self.ledger.lock().unreachable(&self.id);
            let next = self.timetable.next(tick, self.begun.elapsed(), unreachable);
            (tick, skipped) = (next.tick, next.skipped);
        }
    }

    /// Runs the target once there is room; also returns by how much it began too late. `None` if the monitor ended meanwhile.
    async fn run_once(&self, due: Instant) -> Option<(RunObservation, Duration)> {
        let slot = Arc::clone(&self.slots).acquire_owned().await.ok()?;
        let _counted = CountedRun::new(&self.running);
        let begun = Instant::now();
        // A task of its own, so that a panic is the result of one run.
        let mut running = JoinSet::new();
        running.spawn_local(self.run.borrow().run());
        let ended = tokio::select! {
            ended = running.join_next() => ended,
            () = sleep(SLOT_TIME) => {
                drop(slot);
                running.join_next().await
            }
        };
        let broken = "mcprove broke while it ran this target; please report it";
        let observation = match ended {
            Some(Ok(observation)) => observation,
            Some(Err(_)) | None => RunObservation::of(TargetStatus::Failed, broken),
        };
        let lateness = begun.saturating_duration_since(due);
        let is_over = self.slots.is_closed();
        (!is_over).then(|| (RunObservation { took: begun.elapsed(), ..observation }, lateness))
    }
}
