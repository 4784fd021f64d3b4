//! The states of a monitor, kept under `.mcprove` over restarts.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

use super::commands::monitor_log::StateSignal;
use super::console::Console;
use super::state::prepare;
use crate::files::{Access, FolderPlace};
use crate::monitor::ledger::Ledger;
use crate::monitor::state::KeptStates;
use crate::source::file::RECORDED;

const FILE: &str = "monitor.json";

/// The least time from one write to the next.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// The same as a multiple of the time that a write takes: the states of many targets are large.
const WRITE_INTERVAL_FACTOR: u32 = 20;

/// The time after which a write that failed is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// The file with the states.
pub(crate) struct StateFile {
    folder: FolderPlace,
    /// As it was read at the start.
    kept: KeptStates,
}

impl StateFile {
    /// Reads the file, if there is one; one that cannot be read is as none.
    pub(crate) fn open(folder: FolderPlace, console: &Console) -> Self {
        let text = folder.open().and_then(|opened| opened.read(FILE, RECORDED));
        let kept = match text {
            Ok(text) => KeptStates::parse(&text).unwrap_or_else(|| {
                let file = folder.join(FILE).display().to_string();
                console.note(&format!("warning: `{file}` is no state of a monitor of this version; it is replaced"));
                KeptStates::default()
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => KeptStates::default(),
            Err(error) => {
                let file = folder.join(FILE).display().to_string();
                console.note(&format!("warning: cannot read the state in `{file}`: {error}; it begins anew"));
                KeptStates::default()
            }
        };
        Self { folder, kept }
    }

    /// The states at the start.
    pub(crate) fn kept(&self) -> &KeptStates {
        &self.kept
    }

    /// Forgets what servers offered when they were first seen.
    pub(crate) fn forget_offers(&mut self) {
        for state in self.kept.targets.values_mut() {
            state.offered = None;
        }
    }

    /// Writes the states whenever something changed, until there will be no other change. A disk that is full is reported
    /// once, and the monitor goes on.
    pub(crate) async fn save_changes(self, ledger: Arc<Mutex<Ledger>>, changes: Rc<StateSignal>, console: Console) {
        let mut has_failed = false;
        loop {
            // What could not be written is tried again although nothing else changes.
            let goes_on = if has_failed {
                timeout(RETRY_INTERVAL, changes.changed()).await.unwrap_or(true)
            } else {
                changes.changed().await
            };
            let begun = Instant::now();
            let states = ledger.lock().states();
            let folder = self.folder.clone();
            let written =
                spawn_blocking(move || write(&folder, &states)).await.unwrap_or_else(|error| Err(error.into()));
            ledger.lock().state_writes.add(written.is_ok());
            if let Err(error) = &written
                && !has_failed
            {
                let folder = self.folder.display();
                console.note(&format!(
                    "warning: cannot write the state to `{folder}`: {error}; the monitor goes on, and reports again after a restart what it has reported (`--state-dir` names another folder)"
                ));
            }
            has_failed = written.is_err();
            if !goes_on {
                return;
            }
            sleep(WRITE_INTERVAL.max(begun.elapsed() * WRITE_INTERVAL_FACTOR)).await;
        }
    }
}

fn write(folder: &FolderPlace, states: &KeptStates) -> io::Result<()> {
    prepare(folder)?.replace(FILE, states.text().as_bytes(), Access::Private)
}
