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
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use self::keys::Key;
use self::refusals::refuse_flags;
use self::session::Session;
use super::commands::run::RunArgs;
use super::commands::signals::{SignalKind, Signals};
use super::console::Console;
use super::exit::Exit;
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

/// What other threads must know of runs.
#[derive(Debug, Default)]
struct RunState {
    runs: AtomicBool,
    was_interrupted: AtomicBool,
}

impl RunState {
    fn is_running(&self) -> bool {
        self.runs.load(Ordering::Acquire)
    }

    /// Runs; returns what came of it, and whether Ctrl-C was pressed meanwhile.
    fn during<T>(&self, run: impl FnOnce() -> T) -> (T, bool) {
        self.runs.store(true, Ordering::Release);
        let done = run();
        self.runs.store(false, Ordering::Release);
        (done, self.was_interrupted.swap(false, Ordering::AcqRel))
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
            let Ok(mut signals) = Signals::new() else { return };
            let _ = ready.send(());
            loop {
                let kind = signals.next().await;
                if kind == SignalKind::Interrupt && state.is_running() {
                    state.was_interrupted.store(true, Ordering::Release);
                } else if sender.send(Happening::Quit).is_err() {
                    return;
                }
            }
        });
    });
    // Where the system gives no thread or no signals, the channel closes.
    let _ = listening.recv();
}
