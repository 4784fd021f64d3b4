//! `mcprove run --watch`: runs suites again while somebody works on them, or on their servers.
//!
//! [`events`] says that something changed, [`debounce`] waits until it has settled, [`watched`] finds out which files it
//! was, [`affected`] decides what to run, and [`session`] runs it, one run after another, as `mcprove run` does.
//! Start reading in [`watch`].

mod affected;
mod debounce;
mod events;
mod keys;
mod outline;
mod own_changes;
mod refusals;
mod session;
mod source_glob;
mod watched;

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use parking_lot::Mutex;

use self::keys::Key;
use self::refusals::refuse_flags;
use self::session::Session;
use super::commands::run::RunArgs;
use super::console::Console;
use super::exit::Exit;
use super::system_signals::{SystemSignal, SystemSignals};
use super::terminal;

/// What a watch waits for.
#[derive(Debug)]
enum Happening {
    /// Something changed in a folder.
    Change,
    Key(Key),
    /// The filter that the user typed.
    Filter(String),
    /// The user, or the system, wants the program to end.
    Quit,
}

/// What the threads of a watch must know of runs.
#[derive(Debug, Default)]
struct RunState(Mutex<RunSignals>);

#[derive(Debug, Default)]
struct RunSignals {
    runs: bool,
    was_interrupted: bool,
    /// A run was ended by a Ctrl-C that the watch has yet to hear of: both listen, each in a thread of its own.
    is_owed: bool,
}

impl RunState {
    fn is_running(&self) -> bool {
        self.0.lock().runs
    }

    /// Runs; returns the exit code, and whether Ctrl-C was pressed meanwhile.
    fn during(&self, run: impl FnOnce() -> Exit) -> (Exit, bool) {
        self.0.lock().runs = true;
        let exit = run();
        let mut signals = self.0.lock();
        signals.runs = false;
        let was_interrupted = std::mem::take(&mut signals.was_interrupted);
        signals.is_owed |= exit == Exit::Interrupted && !was_interrupted;
        (exit, was_interrupted)
    }

    /// Hears of Ctrl-C; returns true if it is for a run.
    fn interrupt(&self) -> bool {
        let mut signals = self.0.lock();
        if std::mem::take(&mut signals.is_owed) {
            return true;
        }
        signals.was_interrupted |= signals.runs;
        signals.runs
    }
}

/// Runs, and runs again after every change, until the user quits; returns the exit code of the last run.
pub(crate) fn watch(args: RunArgs, console: &Console) -> Result<Exit, Exit> {
    refuse_flags(&args, console)?;
    let (sender, happenings) = channel();
    let state = Arc::new(RunState::default());
    forward_signals(sender.clone(), Arc::clone(&state));
    let mut session = Session::new(args, sender.clone(), Arc::clone(&state), console)?;
    session.begin()?;
    // Given back when this ends.
    let keys = if console.environment.can_ask { terminal::take_keys() } else { None };
    if keys.is_some() {
        std::thread::spawn(move || keys::read(&sender, &state));
    }
    Ok(session.follow(&happenings, keys.is_some()))
}

/// Has signals end the watch. Ctrl-C during a run ends the run.
fn forward_signals(sender: Sender<Happening>, state: Arc<RunState>) {
    let (ready, listening) = channel();
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let mut signals = SystemSignals::listen();
            let _ = ready.send(());
            loop {
                let kind = signals.next().await;
                let is_for_run = kind == SystemSignal::Interrupt && state.interrupt();
                if !is_for_run && sender.send(Happening::Quit).is_err() {
                    return;
                }
            }
        });
    });
    // Where the system gives no thread or no signals, the channel closes.
    let _ = listening.recv();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ctrl-C during a run, and the moment at which the watch hears of it: before the run ends, or after.
    #[test]
    fn the_signal_that_ended_a_run_does_not_end_the_watch() {
        let state = RunState::default();
        let hear_in_time = || {
            assert!(state.interrupt());
            Exit::Interrupted
        };
        assert_eq!(state.during(hear_in_time), (Exit::Interrupted, true));
        assert!(!state.interrupt(), "the next one is for the watch");
        assert_eq!(state.during(|| Exit::Interrupted), (Exit::Interrupted, false));
        assert!(state.interrupt(), "it is the one that ended the run");
        assert!(!state.interrupt(), "the next one is for the watch");
        assert_eq!(state.during(|| Exit::Interrupted), (Exit::Interrupted, false));
        let hear_late = || {
            assert!(state.interrupt(), "it is the one that ended the run before");
            Exit::Passed
        };
        assert_eq!(state.during(hear_late), (Exit::Passed, false));
    }
}
