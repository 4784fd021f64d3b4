//! The files that suites are read from, and the words where one cannot be read.

use std::io;
use std::path::{Component, Path, PathBuf, absolute};

/// The source of files: the disk, or a test's memory.
pub trait Files {
    /// The text of a file.
    fn read(&self, path: &Path) -> io::Result<String>;
}

impl<F: Fn(&Path) -> io::Result<String>> Files for F {
    fn read(&self, path: &Path) -> io::Result<String> {
        self(path)
    }
}

/// Why a file cannot be read, in words for users.
pub fn why_unreadable(error: &io::Error) -> String {
    let known = [
        (io::ErrorKind::NotFound, "there is no such file"),
        (io::ErrorKind::IsADirectory, "it is a folder"),
        (io::ErrorKind::InvalidData, "the file is not UTF-8 text"),
    ];
    let words = known.iter().find(|(kind, _)| *kind == error.kind()).map(|(_, words)| (*words).to_owned());
    words.unwrap_or_else(|| error.to_string())
}

/// The path without `.` and resolvable `..`, so that two spellings of one file are one.
pub fn normalize_path(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(normalized.components().next_back(), Some(Component::Normal(_))) => {
                normalized.pop();
            }
            Component::ParentDir | Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                normalized.push(part);
            }
        }
    }
    normalized
}

/// A path that is relative to a folder, as one from the root, without `.` and `..`.
pub(crate) fn absolute_path(written: &str, folder: &Path) -> PathBuf {
    let joined = folder.join(written);
    let joined = if joined.as_os_str().is_empty() { PathBuf::from(".") } else { joined };
    // Without the trailing slash, and without parts that lead nowhere.
    normalize_path(&absolute(&joined).unwrap_or(joined)).components().collect()
}
