//! The folder of a run, `{{ run.dir }}`: fresh for each run, and removed when it is over.
//!
//! Nothing is made until something needs it. It stays where it is only if the user asks for that and the run fails.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use crate::files::{Access, Change, Folder, Kind, TemporaryFolder, real_path};
use crate::matching::{FoundFile, RunFiles};

/// The largest file that is looked at, in bytes.
const LARGEST: u64 = 16 << 20;

/// The folders that were made and may still be there, for a program that ends at once; `None` once it does, and nothing
/// more is made.
static MADE: Mutex<Option<Vec<MadeFolder>>> = Mutex::new(Some(Vec::new()));

/// The time that a program which ends at once has for a folder that somebody uses.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Whether a folder is there. Whoever makes or removes it holds the lock.
type MadeFolder = Arc<Mutex<Making>>;

/// Whether the folder of a run is there.
#[derive(Debug, Default)]
enum Making {
    /// Nothing needed it yet.
    #[default]
    Unmade,
    Made(TemporaryFolder),
    /// The run is over. A copy that is still being made then makes no folder again.
    Over,
}

impl Making {
    fn folder(&self) -> Option<&Folder> {
        match self {
            Self::Made(made) => made.folder(),
            Self::Unmade | Self::Over => None,
        }
    }

    /// Ends it; returns the folder that is there.
    fn end(&mut self) -> Option<TemporaryFolder> {
        match std::mem::replace(self, Self::Over) {
            Self::Made(made) => Some(made),
            Self::Unmade | Self::Over => None,
        }
    }
}

/// The folder of a run.
#[derive(Debug, Default)]
pub struct RunFolder {
    /// True if it stays after a run that fails.
    keeps: bool,
    path: OnceLock<PathBuf>,
    made: MadeFolder,
    /// What was copied to paths in it.
    copied: Mutex<BTreeMap<PathBuf, PathBuf>>,
}

impl RunFolder {
    /// A folder that is not there yet; `keeps` says that it stays after a run that fails.
    pub fn new(keeps: bool) -> Self {
        Self { keeps, path: OnceLock::new(), made: MadeFolder::default(), copied: Mutex::default() }
    }

    /// Its path, which is chosen at first use.
    pub(crate) fn path(&self) -> &Path {
        self.path.get_or_init(|| {
            let parent = std::env::temp_dir();
            let parent = real_path(&parent).unwrap_or(parent);
            parent.join(format!("mcprove-run-{:016x}", RandomState::new().hash_one(())))
        })
    }

    /// Makes it, unless it is there.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses, and where somebody put something else in its place.
    pub(crate) fn make(&self) -> io::Result<()> {
        self.with(|_| Ok(()))
    }

    /// Makes a folder in it, of the first of these names that is free.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses.
    pub(crate) fn create(&self, names: impl Iterator<Item = String>) -> io::Result<(Folder, PathBuf)> {
        self.with(|folder| {
            for name in names {
                match folder.create_folder(&name, Access::Private) {
                    Ok(made) => return Ok((made, self.path().join(name))),
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                }
            }
            Err(io::ErrorKind::AlreadyExists.into())
        })
    }

    /// Removes a folder in it that is not needed any more, unless everything stays.
    pub(crate) fn remove(&self, path: &Path) {
        if !self.keeps {
            self.discard(path);
        }
    }

    /// Removes a folder in it.
    pub(crate) fn discard(&self, path: &Path) {
        if let (Some(folder), Some(name)) = (self.made.lock().folder(), path.file_name()) {
            folder.remove(name);
        }
    }

    /// Takes note of what was copied to a path in it.
    pub(crate) fn note_copy(&self, copy: &Path, source: &Path) {
        self.copied.lock().insert(copy.to_owned(), source.to_owned());
    }

    /// A name in it and the folder of that name, by an absolute path; `None` in the place of the folder where that is not
    /// there. The error says why nothing can be looked at.
    fn locate(&self, path: &str) -> Result<(Option<Folder>, OsString), String> {
        let refused = || {
            format!(
                "`{path}` is not in the folder of this run: begin it with `{{{{ store }}}}`, `{{{{ fixture }}}}` or `{{{{ run.dir }}}}`"
            )
        };
        let below = Path::new(path).strip_prefix(self.path()).map_err(|_| refused())?;
        let name = below.file_name().ok_or_else(refused)?.to_owned();
        let made = self.made.lock();
        let Some(folder) = made.folder() else { return Ok((None, name)) };
        match folder.open_below(below.parent().unwrap_or(Path::new(""))) {
            Ok(folder) => Ok((Some(folder), name)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((None, name)),
            Err(error) => Err(format!("`{}` cannot be looked at: {error}", self.short(path))),
        }
    }

    /// Removes it at the end of a run, or leaves it after one that failed if the user asked for that; returns the path of
    /// what is left.
    pub fn finish(&self, has_failed: bool) -> Option<PathBuf> {
        // Held until it is gone: a signal may end the program meanwhile.
        let mut made = self.made.lock();
        if self.keeps && has_failed {
            return made.end().map(TemporaryFolder::leave);
        }
        let mut ended = made.end()?;
        let is_gone = ended.remove();
        (!is_gone).then(|| ended.path().to_owned())
    }

    /// Lets whoever ends the program know of it, who then waits for the lock of what is made.
    fn announce(&self) -> io::Result<()> {
        let mut all = MADE.lock();
        let all = all.as_mut().ok_or(io::ErrorKind::Interrupted)?;
        // Nobody else holds those of runs that are over.
        all.retain(|folder| Arc::strong_count(folder) > 1);
        all.push(Arc::clone(&self.made));
        Ok(())
    }

    fn with<T>(&self, work: impl FnOnce(&Folder) -> io::Result<T>) -> io::Result<T> {
        let mut made = self.made.lock();
        match &*made {
            Making::Made(_) => {}
            Making::Over => return Err(io::ErrorKind::Interrupted.into()),
            Making::Unmade => {
                let (parent, name) = (self.path().parent(), self.path().file_name());
                self.announce()?;
                let (parent, name) = (parent.unwrap_or(Path::new("/")), name.unwrap_or_default());
                *made = Making::Made(TemporaryFolder::create(parent, name, Access::Private)?);
            }
        }
        work(
            made.folder()
                .ok_or_else(|| io::Error::other("something else is in the place of the folder of this run"))?,
        )
    }
}

/// A folder that nobody finished is removed under the lock, too: a program that ends meanwhile waits for that.
impl Drop for RunFolder {
    fn drop(&mut self) {
        drop(self.made.lock().end());
    }
}

impl RunFiles for RunFolder {
    fn find(&self, path: &str) -> Result<FoundFile, String> {
        let (Some(folder), name) = self.locate(path)? else { return Ok(FoundFile::Nothing) };
        match folder.kind(&name) {
            None => Ok(FoundFile::Nothing),
            Some(Kind::Folder) => Ok(FoundFile::Folder),
            Some(Kind::File) => Ok(FoundFile::File),
            Some(Kind::Link) => Err(format!("`{}` is a link, which is not followed", self.short(path))),
            Some(Kind::Other) => Err(format!("`{}` is a pipe, a socket or a device", self.short(path))),
        }
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let unread = |error: io::Error| format!("`{}` cannot be read: {error}", self.short(path));
        let (Some(folder), name) = self.locate(path)? else { return Err(unread(io::ErrorKind::NotFound.into())) };
        let bytes = folder.read(&name, LARGEST).map_err(unread)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn change(&self, path: &str) -> Result<Option<String>, String> {
        let short = self.short(path);
        let untold = || format!("nothing was copied to `{short}`, so nothing says whether it is unchanged");
        let source = {
            let copied = self.copied.lock();
            let inside =
                copied.iter().filter_map(|(copy, source)| Some((Path::new(path).strip_prefix(copy).ok()?, source)));
            // The longest rest belongs to the outermost folder; there is one at most.
            inside
                .map(|(rest, source)| if rest.as_os_str().is_empty() { source.clone() } else { source.join(rest) })
                .next()
        };
        let source = source.ok_or_else(untold)?;
        let unreadable = |error: io::Error| format!("`{short}` cannot be compared: {error}");
        let (parent, name) = (source.parent().unwrap_or(Path::new("/")), source.file_name().unwrap_or_default());
        let (Some(now), name_now) = self.locate(path)? else { return Ok(Some(format!("`{short}` was removed"))) };
        let before = match Folder::open(parent) {
            Ok(before) => before,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(format!("`{short}` was created"))),
            Err(error) => return Err(unreadable(error)),
        };
        let change = before.compare(name, &now, &name_now).map_err(unreadable)?;
        Ok(change.map(|(inner, change)| {
            let inner =
                if inner.as_os_str().is_empty() { short.to_owned() } else { format!("{short}/{}", inner.display()) };
            let verb = match change {
                Change::Added => "created",
                Change::Changed => "changed",
                Change::Removed => "removed",
            };
            format!("`{inner}` was {verb}")
        }))
    }

    fn short<'a>(&self, path: &'a str) -> &'a str {
        let below = self.path().to_str().and_then(|own| path.strip_prefix(own)?.strip_prefix('/'));
        below.and_then(|below| Some(below.split_once('/')?.1)).unwrap_or(path)
    }
}

/// Removes the folders of all runs that are over, or were given up.
pub fn remove_run_folders() {
    let made = MADE.lock().as_mut().map(std::mem::take);
    remove_all(made.unwrap_or_default());
}

/// Removes the folders of all runs, for a program that ends at once; no run makes one after that.
pub fn end_run_folders() {
    let made = MADE.lock().take();
    remove_all(made.unwrap_or_default());
}

fn remove_all(folders: Vec<MadeFolder>) {
    for folder in folders {
        // Whoever holds it may be removing it. Held until it is gone, as in `RunFolder::finish`.
        if let Some(mut made) = folder.try_lock_for(LONGEST_WAIT) {
            drop(made.end());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_lasts_as_long_as_its_run() {
        let parent = std::env::temp_dir();
        for (keeps, has_failed, stays) in
            [(false, false, false), (false, true, false), (true, false, false), (true, true, true)]
        {
            let folder = Arc::new(RunFolder::new(keeps));
            assert!(!folder.path().exists(), "nothing is made before it is needed");
            let (made, path) = folder.create(["a", "b"].map(str::to_owned).into_iter()).unwrap();
            made.create("file", b"text", Access::Shared).unwrap();
            assert_eq!((path.exists(), path.starts_with(real_path(&parent).unwrap())), (true, true));
            let left = folder.finish(has_failed);
            assert!(folder.make().is_err(), "nothing makes the folder of a run that is over");
            assert_eq!((left.is_some(), path.exists()), (stays, stays), "{keeps} {has_failed}");
            if let Some(left) = left {
                std::fs::remove_dir_all(left).unwrap();
            }
        }
    }
}
