//! Folders and files whose content must not change: names, sizes and contents, bounded; links are not followed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::source::{FNV, fnv};

/// The number of files that are read.
const MOST_FILES: usize = 2_000;

/// The number of bytes that are read of all of them.
const MOST_BYTES: u64 = 64 << 20;

/// The content of each file, as a hash.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WatchedFiles(BTreeMap<PathBuf, u64>);

impl WatchedFiles {
    /// Reads everything below some paths, which are relative to a folder.
    ///
    /// # Errors
    ///
    /// There is too much to read, or something cannot be read.
    pub(crate) fn read(folder: &Path, watch: &[String]) -> Result<Self, String> {
        let mut reading = Reading { files: BTreeMap::new(), bytes: 0 };
        for path in watch {
            let unreadable = |error: io::Error| format!("`{path}` under `watch` cannot be read: {error}");
            match reading.add(&folder.join(path)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                    return Err(format!(
                        "`{path}` under `watch` has more than {MOST_FILES} files or {} MB; watch a smaller folder",
                        MOST_BYTES >> 20
                    ));
                }
                Err(error) => return Err(unreadable(error)),
            }
        }
        Ok(Self(reading.files))
    }

    /// Files with these hashes of their contents.
    #[cfg(test)]
    pub(crate) fn of_test(contents: &[(&str, u64)]) -> Self {
        Self(contents.iter().map(|(path, hash)| (PathBuf::from(path), *hash)).collect())
    }

    /// The paths that differ in another reading, those that are there only once included.
    pub(crate) fn changes(&self, after: &Self) -> Vec<PathBuf> {
        let all = self.0.keys().chain(after.0.keys());
        let mut changed: Vec<PathBuf> = all.filter(|path| self.0.get(*path) != after.0.get(*path)).cloned().collect();
        changed.sort();
        changed.dedup();
        changed
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }
}

struct Reading {
    files: BTreeMap<PathBuf, u64>,
    bytes: u64,
}

impl Reading {
    /// Adds what is at a path; a path at which there is nothing may get something later.
    fn add(&mut self, path: &Path) -> io::Result<()> {
        let kind = match fs::symlink_metadata(path) {
            Ok(found) => found.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if self.files.len() >= MOST_FILES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let hash = if kind.is_symlink() {
            fnv(FNV, fs::read_link(path)?.to_string_lossy().as_bytes())
        } else if kind.is_dir() {
            let mut inside: Vec<PathBuf> = Vec::new();
            for entry in fs::read_dir(path)?.take(MOST_FILES + 1) {
                inside.push(entry?.path());
            }
            inside.sort();
            inside.iter().try_for_each(|path| self.add(path))?;
            FNV
        } else if kind.is_file() {
            self.content(path)?
        } else {
            // Reading a pipe or a device could wait forever.
            FNV
        };
        self.files.insert(path.to_owned(), hash);
        Ok(())
    }

    fn content(&mut self, path: &Path) -> io::Result<u64> {
        let mut file = File::open(path)?;
        let (mut hash, mut buffer) = (FNV, vec![0; 64 << 10]);
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok(hash);
            }
            self.bytes += u64::try_from(read).unwrap_or(u64::MAX);
            if self.bytes > MOST_BYTES {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            hash = fnv(hash, &buffer[..read]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_a_folder_are_compared() {
        let folder = std::env::temp_dir().join(format!("mcprove-watched-{}", std::process::id()));
        fs::create_dir_all(folder.join("data/inner")).unwrap();
        fs::write(folder.join("data/inner/a.txt"), "one").unwrap();
        let read = || WatchedFiles::read(&folder, &["data".to_owned(), "none".to_owned()]).unwrap();
        let before = read();
        assert_eq!((before.count(), before.changes(&read())), (3, Vec::new()));
        fs::write(folder.join("data/inner/a.txt"), "two").unwrap();
        fs::write(folder.join("none"), "").unwrap();
        assert_eq!(before.changes(&read()), ["data/inner/a.txt", "none"].map(|path| folder.join(path)));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(read().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_compared_and_not_followed() {
        let folder = std::env::temp_dir().join(format!("mcprove-watched-links-{}", std::process::id()));
        fs::create_dir_all(folder.join("data")).unwrap();
        fs::write(folder.join("outside"), "one").unwrap();
        std::os::unix::fs::symlink("../outside", folder.join("data/link")).unwrap();
        let read = || WatchedFiles::read(&folder, &["data".to_owned()]).unwrap();
        let before = read();
        fs::write(folder.join("outside"), "two").unwrap();
        assert_eq!(before.changes(&read()), Vec::<PathBuf>::new(), "what a link leads to is not watched");
        fs::remove_file(folder.join("data/link")).unwrap();
        std::os::unix::fs::symlink("../other", folder.join("data/link")).unwrap();
        assert_eq!(before.changes(&read()), [folder.join("data/link")]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_there_only_once_has_changed() {
        for (before, after, changed) in [
            (&[("a", 1), ("b", 2)][..], &[("a", 1), ("b", 2)][..], &[][..]),
            (&[("a", 1)], &[("a", 2)], &["a"]),
            (&[("a", 1)], &[("b", 1)], &["a", "b"]),
            (&[], &[("a", 1)], &["a"]),
        ] {
            let changes = WatchedFiles::of_test(before).changes(&WatchedFiles::of_test(after));
            assert_eq!(changes, changed.iter().map(PathBuf::from).collect::<Vec<_>>(), "{before:?} {after:?}");
        }
    }
}
