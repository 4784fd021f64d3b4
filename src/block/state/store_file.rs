//! The data file of a server: how it is damaged, and how it gets back what it held.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use crate::files::{Access, Folder, FolderPlace, Kind};

/// The largest data file, in bytes.
const LARGEST: u64 = 16 << 20;

/// The line that is appended: no format takes it.
const BROKEN_LINE: &str = "{\"mcprove\": \"broken";

/// A data file, with what it held before anybody wrote to it. It gets that back when this value goes away, however that
/// comes about: a case that ends, one that is interrupted, or a panic.
pub(crate) struct StoreFile {
    /// The path as the suite writes it.
    pub(crate) name: String,
    /// The folder of the suite.
    suite: Folder,
    /// The path from there to the folder of the file, in which no link is followed.
    below: PathBuf,
    file_name: OsString,
    /// `None` where there was no file.
    before: Option<Vec<u8>>,
}

impl StoreFile {
    /// A file in a folder, which need not be there yet.
    ///
    /// # Errors
    ///
    /// Fails with a sentence where the file must not be written or cannot be read.
    pub(crate) fn new(name: String, folder: &FolderPlace) -> Result<Self, String> {
        let unusable = |error: io::Error| format!("`{name}` cannot be used: {error}");
        let written = Path::new(&name);
        let file_name = written.file_name().unwrap_or_default().to_owned();
        let below = written.parent().unwrap_or(Path::new("")).to_owned();
        let suite = folder.open().map_err(unusable)?;
        let before = match suite.open_below(&below).map_err(unusable)?.read(&file_name, LARGEST) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(unusable(error)),
        };
        Ok(Self { name, suite, below, file_name, before })
    }

    /// Its last name, which an error may mention.
    pub(crate) fn file_name(&self) -> String {
        self.file_name.to_string_lossy().into_owned()
    }

    /// Its current content.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses, and for links and everything else that is no plain file.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        self.folder()?.read(&self.file_name, LARGEST)
    }

    /// Has it hold something else.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::read`] does, and for files with several names.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let folder = self.folder()?;
        match folder.kind(&self.file_name) {
            Some(_) => folder.overwrite(&self.file_name, bytes, LARGEST),
            None => folder.create(&self.file_name, bytes, Access::Shared),
        }
    }

    /// Gives it back what it held.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::write`] does.
    pub(crate) fn restore(&self) -> io::Result<()> {
        let Some(bytes) = &self.before else {
            let folder = self.folder()?;
            return match folder.kind(&self.file_name) {
                Some(Kind::File) => folder.remove_file(&self.file_name),
                Some(_) => Err(elsewhere()),
                None => Ok(()),
            };
        };
        self.write(bytes)
    }

    /// The folder that holds it. A server may have put a link in its place, so it is opened anew each time.
    fn folder(&self) -> io::Result<Folder> {
        self.suite.open_below(&self.below)
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = self.restore();
    }
}

/// A path that is written in a suite stays in the folder of the suite, as far as its words tell.
pub(crate) fn stays_in_folder(written: &str) -> bool {
    let is_inner = |component: Component<'_>| matches!(component, Component::Normal(_) | Component::CurDir);
    Path::new(written).components().all(is_inner)
}

fn elsewhere() -> io::Error {
    let why = "it must be a plain file in the folder of the suite, no link, and its folder must be there";
    io::Error::new(ErrorKind::Unsupported, why)
}

/// The damage that is done to a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FileDamage {
    /// A line is appended that cannot be read.
    BrokenLine,
    /// The end of the last line is missing, as after a crash in the middle of a write.
    CutLine,
}

impl FileDamage {
    pub(crate) const ALL: [Self; 2] = [Self::BrokenLine, Self::CutLine];

    /// The condition of the server, in words.
    pub(crate) fn says(self) -> &'static str {
        match self {
            Self::BrokenLine => "with a broken line at the end of the file",
            Self::CutLine => "with the last line of the file cut off",
        }
    }

    /// The content with the damage.
    pub(crate) fn of(self, content: &[u8]) -> Vec<u8> {
        let whole = content.trim_ascii_end();
        match self {
            Self::BrokenLine => [whole, b"\n", BROKEN_LINE.as_bytes(), b"\n"].concat(),
            Self::CutLine => {
                let line = whole.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                whole[..usize::midpoint(line, whole.len())].to_vec()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn with_folder(name: &str, test: impl FnOnce(&Path)) {
        let folder = std::env::temp_dir().join(format!("mcprove-store-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("data")).unwrap();
        test(&folder);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_line_is_appended_or_cut() {
        let lines = b"{\"a\":1}\n{\"b\":2}\n";
        assert_eq!(FileDamage::BrokenLine.of(lines), b"{\"a\":1}\n{\"b\":2}\n{\"mcprove\": \"broken\n");
        assert_eq!(FileDamage::CutLine.of(lines), b"{\"a\":1}\n{\"b");
        assert_eq!(FileDamage::CutLine.of(b"[1, 2]"), b"[1,");
        assert_eq!(FileDamage::CutLine.of(b""), b"");
    }

    #[test]
    fn only_files_in_the_folder_of_the_suite_are_damaged() {
        with_folder("below", |folder| {
            let is_usable = |name: &str| StoreFile::new(name.to_owned(), &FolderPlace::resolve(folder)).is_ok();
            assert!(is_usable("data/new.jsonl"));
            assert!(!is_usable("data/../../other.jsonl"));
            assert!(!is_usable("none/new.jsonl"));
            assert!(!is_usable("data"));
            assert!(!is_usable("/etc/hostname"));
        });
        assert!(stays_in_folder("./data/notes.jsonl"));
        assert!(!stays_in_folder("../notes.jsonl") && !stays_in_folder("/notes.jsonl"));
    }

    #[test]
    fn a_file_is_restored_when_it_goes_away() {
        with_folder("restored", |folder| {
            fs::write(folder.join("old"), "kept").unwrap();
            for (name, after) in [("old", Some("kept")), ("new", None)] {
                let damaged = std::panic::catch_unwind(|| {
                    let file = StoreFile::new(name.to_owned(), &FolderPlace::resolve(folder)).unwrap();
                    file.write(b"damaged").unwrap();
                    panic!("a case breaks");
                });
                assert!(damaged.is_err());
                assert_eq!(fs::read_to_string(folder.join(name)).ok().as_deref(), after);
            }
        });
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_file_is_not_followed() {
        with_folder("link", |folder| {
            let other = folder.join("other");
            fs::write(&other, "other").unwrap();
            let place = FolderPlace::resolve(folder);
            let file = StoreFile::new("data/notes".to_owned(), &place).unwrap();
            std::os::unix::fs::symlink(&other, folder.join("data/notes")).unwrap();
            assert!(file.write(b"damaged").is_err() && file.restore().is_err() && file.read().is_err());
            drop(file);
            assert!(StoreFile::new("data/notes".to_owned(), &place).is_err());
            fs::create_dir(folder.join("elsewhere")).unwrap();
            fs::rename(folder.join("data"), folder.join("moved")).unwrap();
            std::os::unix::fs::symlink("elsewhere", folder.join("data")).unwrap();
            assert!(StoreFile::new("data/new".to_owned(), &place).is_err());
            assert_eq!(fs::read_to_string(other).unwrap(), "other");
        });
    }
}
