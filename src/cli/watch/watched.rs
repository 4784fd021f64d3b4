//! The files that are watched, and which of them changed.
//!
//! The system only says that something changed somewhere: then the files are looked at. So saving by renaming, lost events
//! and folders that come and go make no difference.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use walkdir::WalkDir;

use super::outline::SuiteOutline;
use super::source_glob::{IGNORED, SourceGlob};
use crate::files::file_number;
use crate::suite::normalize_path;

/// What is watched.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// Folders in which suites may appear.
    pub(super) suite_folders: Vec<PathBuf>,
    /// Suites, and the files that they read.
    pub(super) files: BTreeSet<PathBuf>,
    /// Sources of servers.
    pub(super) sources: Vec<SourceGlob>,
    /// Files and folders that runs write.
    pub(super) written: Vec<PathBuf>,
}

impl Watched {
    pub(super) fn set_suites(&mut self, suites: &[SuiteOutline]) {
        self.files = suites.iter().flat_map(|suite| suite.reads.iter().cloned()).collect();
        self.sources = suites.iter().flat_map(|suite| suite.sources.iter().cloned()).collect();
    }

    /// Looks at everything that is watched.
    pub(super) fn look(&self) -> FileStates {
        let mut found = FileStates::default();
        for file in &self.files {
            found.add_file(file, fs::metadata(file).ok().as_ref());
        }
        for folder in &self.suite_folders {
            found.walk(folder, None, |path| path.extension().is_some_and(|end| end == "yml" || end == "yaml"));
        }
        for glob in &self.sources {
            match fs::symlink_metadata(or_here(&glob.base)) {
                Ok(metadata) if metadata.is_dir() => found.walk(&glob.base, glob.depth, |path| glob.is_match(path)),
                metadata => found.add_file(&glob.base, metadata.ok().as_ref()),
            }
        }
        found.files.retain(|path, _| !self.written.iter().any(|written| path.starts_with(written)));
        found
    }
}

/// The state of files, and the folders in which they are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileStates {
    /// `None` for a file that is not there.
    files: BTreeMap<PathBuf, Option<FileState>>,
    /// Each folder with what tells it from one that takes its place.
    pub(super) folders: BTreeMap<PathBuf, u64>,
}

/// What differs after a file was written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    modified: Option<SystemTime>,
    length: u64,
    number: u64,
}

impl FileStates {
    /// The files that are new, gone or different in a later state.
    pub(super) fn changes(&self, after: &Self) -> BTreeSet<PathBuf> {
        let paths = self.files.keys().chain(after.files.keys());
        let state = |states: &Self, path: &PathBuf| states.files.get(path).cloned().flatten();
        paths.filter(|path| state(self, path) != state(after, path)).cloned().collect()
    }

    /// Adds what only a later look found, because more is watched now.
    pub(super) fn add_new(&mut self, later: Self) {
        for (path, state) in later.files {
            self.files.entry(path).or_insert(state);
        }
        self.folders = later.folders;
    }

    /// Leaves out a file that is not watched any more.
    pub(super) fn forget(&mut self, file: &Path) {
        self.files.remove(file);
    }

    /// The number of files of which something is true.
    pub(super) fn count(&self, is_counted: impl Fn(&Path) -> bool) -> usize {
        self.files.iter().filter(|(path, state)| state.is_some() && is_counted(path)).count()
    }

    fn add_file(&mut self, path: &Path, metadata: Option<&Metadata>) {
        let state = metadata.map(|metadata| FileState {
            modified: metadata.modified().ok(),
            length: metadata.len(),
            number: file_number(metadata),
        });
        self.files.insert(path.to_owned(), state);
        // Of a file that is not there, the nearest folder tells that it came.
        for folder in path.ancestors().skip(1) {
            if self.add_folder(or_here(folder)) {
                break;
            }
        }
    }

    fn add_folder(&mut self, folder: &Path) -> bool {
        let metadata = fs::metadata(folder).ok().filter(Metadata::is_dir);
        let Some(metadata) = metadata else { return false };
        self.folders.insert(folder.to_owned(), file_number(&metadata));
        true
    }

    /// Adds the files below a folder that are wanted; links are not followed.
    fn walk(&mut self, folder: &Path, depth: Option<usize>, is_wanted: impl Fn(&Path) -> bool) {
        let walk =
            WalkDir::new(or_here(folder)).max_depth(depth.unwrap_or(usize::MAX)).into_iter().filter_entry(|entry| {
                let is_ignored = IGNORED.iter().any(|name| entry.file_name() == *name);
                entry.depth() == 0 || !(is_ignored && entry.file_type().is_dir())
            });
        for entry in walk.filter_map(Result::ok) {
            let path = normalize_path(entry.path());
            let kind = entry.file_type();
            if kind.is_dir() {
                self.add_folder(or_here(&path));
            } else if kind.is_file() && is_wanted(&path) {
                self.add_file(&path, entry.metadata().ok().as_ref());
            }
        }
    }
}

/// The path; the empty one is the current folder.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}
