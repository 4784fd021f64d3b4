//! Word from the system that something changed in a folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, recommended_watcher};

use super::Happening;

/// The folders that the system tells of.
pub(super) struct FolderEvents {
    watcher: RecommendedWatcher,
    folders: BTreeMap<PathBuf, u64>,
    /// True while nobody has taken note of the last change: however much happens meanwhile is one message.
    is_told: Arc<AtomicBool>,
}

impl FolderEvents {
    /// Fails where the system tells nothing.
    pub(super) fn new(sender: Sender<Happening>) -> notify::Result<Self> {
        let is_told = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_told);
        let watcher = recommended_watcher(move |event: notify::Result<Event>| {
            // An error, such as a queue that is full, may stand for changes.
            let is_change = event.map_or(true, |event| is_change(event.kind));
            if is_change && !told.swap(true, Ordering::AcqRel) {
                let _ = sender.send(Happening::Change);
            }
        })?;
        Ok(Self { watcher, folders: BTreeMap::new(), is_told })
    }

    /// Lets the next change be told.
    pub(super) fn listen_again(&self) {
        self.is_told.store(false, Ordering::Release);
    }

    /// Follows these folders, and no others. A folder that took the place of another one is another one.
    pub(super) fn follow(&mut self, wanted: &BTreeMap<PathBuf, u64>) -> notify::Result<()> {
        let is_kept = |path: &Path, number: &u64| wanted.get(path) == Some(number);
        let (kept, left): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.folders).into_iter().partition(|(path, number)| is_kept(path, number));
        self.folders = kept;
        if left.is_empty() && self.folders.len() == wanted.len() {
            return Ok(());
        }
        // All at once: some systems begin anew with every folder.
        let mut paths = self.watcher.paths_mut();
        for path in left.keys() {
            // The system forgets by itself what is gone.
            let _ = paths.remove(path);
        }
        for (path, number) in wanted {
            if !self.folders.contains_key(path) {
                paths.add(path, RecursiveMode::NonRecursive)?;
                self.folders.insert(path.clone(), *number);
            }
        }
        paths.commit()
    }
}

/// Returns true if something may be different; reading a file changes nothing.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Other => true,
    }
}
