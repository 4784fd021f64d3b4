//! Days in virtual time, with runs that are made up.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, yield_now};
use tokio::time::sleep;

use super::fold::RunObservation;
use super::ledger::{Ledger, TargetName};
use super::state::StatusChange;
use super::status::TargetStatus;
use super::watch::{Monitor, MonitorListener, MonitorTarget, Pace, RunFuture, TargetRun};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: u64 = 3600;

/// The behaviour of a target.
#[derive(Clone, Copy)]
enum Behaviour {
    Good,
    /// Every run takes its whole time.
    Hangs,
    /// Every run takes longer than the interval.
    Slow,
    /// Every run has a thousand turns of the loop.
    Floods,
    /// Every second run fails.
    Flaps,
    Gone,
    Panics,
}

struct MadeUp {
    behaviour: Behaviour,
    runs: Cell<u32>,
    is_running: Rc<Cell<bool>>,
}

impl MadeUp {
    fn new(behaviour: Behaviour) -> Rc<Self> {
        Rc::new(Self { behaviour, runs: Cell::new(0), is_running: Rc::default() })
    }
}

impl TargetRun for MadeUp {
    fn run(&self) -> RunFuture {
        let (behaviour, number) = (self.behaviour, self.runs.get());
        self.runs.set(number + 1);
        let is_running = Rc::clone(&self.is_running);
        assert!(!is_running.replace(true), "two runs of a target at once");
        Box::pin(async move {
            let status = match behaviour {
                Behaviour::Good => {
                    sleep(Duration::from_millis(50)).await;
                    TargetStatus::Up
                }
                Behaviour::Hangs => {
                    sleep(Duration::from_secs(30)).await;
                    TargetStatus::Timeout
                }
                Behaviour::Slow => {
                    sleep(Duration::from_secs(150)).await;
                    TargetStatus::Up
                }
                Behaviour::Floods => {
                    for _ in 0..1000 {
                        yield_now().await;
                    }
                    TargetStatus::ProtocolError
                }
                Behaviour::Flaps if number % 2 == 1 => TargetStatus::Failed,
                Behaviour::Flaps => TargetStatus::Up,
                Behaviour::Gone => TargetStatus::ConnectionRefused,
                Behaviour::Panics => {
                    is_running.set(false);
                    panic!("a run that breaks, as one must be able to");
                }
            };
            is_running.set(false);
            RunObservation::of(status, "")
        })
    }
}

/// Counts changes, on a clock that somebody sets twelve hours ahead, and back again.
#[derive(Default)]
struct Listener {
    begun: Cell<Option<tokio::time::Instant>>,
    changes: RefCell<BTreeMap<String, Vec<TargetStatus>>>,
}

impl MonitorListener for Listener {
    fn unix_now(&self) -> Duration {
        let begun = self.begun.get().unwrap_or_else(tokio::time::Instant::now);
        self.begun.set(Some(begun));
        let hour = begun.elapsed().as_secs() / HOUR;
        let ahead = if (6..9).contains(&hour) { 12 * HOUR } else { 0 };
        Duration::from_secs(1_800_000_000 + ahead) + begun.elapsed()
    }

    fn on_run(&self, _: &str, _: &RunObservation) {}

    fn on_change(&self, id: &str, change: &StatusChange) {
        self.changes.borrow_mut().entry(id.to_owned()).or_default().push(change.to);
    }
}

fn target(id: &str, run: &Rc<MadeUp>) -> MonitorTarget {
    let name = TargetName { suite: id.to_owned(), server: "server".to_owned(), revision: "auto".to_owned() };
    MonitorTarget { id: id.to_owned(), name, run: Rc::<MadeUp>::clone(run) }
}

fn in_virtual_time(work: impl Future<Output = ()>) {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, work);
}

fn monitor(at_a_time: usize, runs: Option<u64>) -> (Monitor, Arc<Mutex<Ledger>>, Rc<Listener>) {
    let (ledger, listener) = (Arc::new(Mutex::new(Ledger::default())), Rc::new(Listener::default()));
    let pace = Pace { every: MINUTE, at_a_time, runs };
    (Monitor::new(pace, Arc::clone(&ledger), Rc::<Listener>::clone(&listener)), ledger, listener)
}

#[test]
fn in_a_day_no_target_delays_another() {
    in_virtual_time(async {
        let (monitor, ledger, listener) = monitor(4, None);
        let odd = [
            ("floods", Behaviour::Floods),
            ("gone", Behaviour::Gone),
            ("hangs 1", Behaviour::Hangs),
            ("hangs 2", Behaviour::Hangs),
            ("hangs 3", Behaviour::Hangs),
            ("hangs 4", Behaviour::Hangs),
            ("hangs 5", Behaviour::Hangs),
            ("flaps", Behaviour::Flaps),
            ("panics", Behaviour::Panics),
            ("slow", Behaviour::Slow),
        ];
        let mut runs: BTreeMap<String, Rc<MadeUp>> =
            odd.iter().map(|(name, behaviour)| ((*name).to_owned(), MadeUp::new(*behaviour))).collect();
        runs.extend((0..40).map(|number| (format!("good {number}"), MadeUp::new(Behaviour::Good))));
        monitor.set_targets(runs.iter().map(|(id, run)| target(id, run)).collect());
        sleep(Duration::from_secs(24 * HOUR)).await;
        let count = |name: &str| runs[name].runs.get();
        for number in 0..40 {
            let runs = count(&format!("good {number}"));
            assert!((1440..=1441).contains(&runs), "good {number}: {runs}");
        }
        for name in ["floods", "flaps", "panics"] {
            assert!((1440..=1441).contains(&count(name)), "{name}: {}", count(name));
        }
        // 2, 4 and 8 intervals, and then ten each.
        for name in ["gone", "hangs 1", "hangs 5"] {
            assert!((145..=147).contains(&count(name)), "{name}: {}", count(name));
        }
        // A run takes two and a half intervals, so that two of three ticks fall into it.
        assert!((479..=481).contains(&count("slow")), "{}", count("slow"));
        let ledger = ledger.lock();
        assert!((957..=963).contains(&ledger.targets["slow"].skipped), "{}", ledger.targets["slow"].skipped);
        assert_eq!(ledger.targets["hangs 1"].skipped, 0);
        assert!(ledger.lateness.count_above(1.0) * 1000 < ledger.lateness.total(), "{:?}", ledger.lateness);
        let changes = listener.changes.borrow();
        assert_eq!(changes["good 7"], [TargetStatus::Up]);
        assert_eq!(changes["gone"], [TargetStatus::ConnectionRefused]);
        assert_eq!(changes["hangs 1"], [TargetStatus::Timeout]);
        assert_eq!(changes["panics"], [TargetStatus::Failed]);
        assert_eq!(changes["flaps"].len(), usize::try_from(count("flaps")).unwrap());
        drop(monitor);
    });
}

#[test]
fn a_monitor_ends_after_the_runs_that_were_asked_for() {
    in_virtual_time(async {
        let (monitor, ledger, _) = monitor(16, Some(3));
        let (good, hangs) = (MadeUp::new(Behaviour::Good), MadeUp::new(Behaviour::Hangs));
        monitor.set_targets(vec![target("good", &good), target("hangs", &hangs)]);
        monitor.finished().await;
        assert_eq!((good.runs.get(), hangs.runs.get()), (3, 3));
        assert_eq!(ledger.lock().targets.len(), 2);
    });
}

#[test]
fn suites_that_are_read_again_keep_the_turn_of_what_stays() {
    in_virtual_time(async {
        let (monitor, ledger, listener) = monitor(16, None);
        let (stays, goes, comes) =
            (MadeUp::new(Behaviour::Good), MadeUp::new(Behaviour::Hangs), MadeUp::new(Behaviour::Good));
        monitor.set_targets(vec![target("stays", &stays), target("goes", &goes)]);
        sleep(MINUTE * 10).await;
        let after = MadeUp::new(Behaviour::Gone);
        monitor.set_targets(vec![target("stays", &after), target("comes", &comes)]);
        let gone = goes.runs.get();
        sleep(MINUTE * 10).await;
        assert_eq!(goes.runs.get(), gone);
        assert!(stays.runs.get() >= 10 && comes.runs.get() >= 10);
        let ids: Vec<String> = ledger.lock().targets.keys().cloned().collect();
        assert_eq!(ids, ["comes", "stays"]);
        assert_eq!(listener.changes.borrow()["stays"], [TargetStatus::Up, TargetStatus::ConnectionRefused]);
    });
}

#[test]
fn a_monitor_that_stops_reports_nothing_of_runs_that_were_cut_off() {
    in_virtual_time(async {
        let (monitor, ledger, listener) = monitor(16, None);
        let hangs = MadeUp::new(Behaviour::Hangs);
        monitor.set_targets(vec![target("hangs", &hangs)]);
        sleep(Duration::from_secs(1)).await;
        assert!(hangs.is_running.get());
        monitor.stop().await;
        assert!(!hangs.is_running.get());
        assert!(listener.changes.borrow().is_empty() && ledger.lock().targets["hangs"].runs.is_empty());
    });
}
