//! A folder that stays the same one, whatever its path leads to meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Read as _, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Handle;
use crate::entry::{About, Entry, Identity, Kind};

/// The greatest depth of folders that are removed.
const DEEPEST: usize = 100;

/// The number of names of a folder that are looked at.
const MOST_NAMES: usize = 100_000;

/// Who may read a new file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Whoever the system lets.
    Shared,
    /// Only its owner.
    Private,
}

/// The way in which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    Read,
    /// For reading and writing, with its content.
    Overwrite,
    /// It must not exist.
    Create(Access),
    /// For writing to a pipe or a device, which may wait for the other end.
    Device,
}

/// An open folder, and the path that led to it.
#[derive(Debug)]
pub struct Folder {
    handle: Handle,
    path: PathBuf,
    /// When the folder was opened or made, by the clock of its file system.
    since: [i128; 2],
}

impl Folder {
    /// Opens a folder that the user chose, links followed.
    ///
    /// # Errors
    ///
    /// Fails where there is none.
    pub fn open(path: &Path) -> io::Result<Self> {
        let shown = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Self::of(Handle::open(shown)?, path.to_owned())
    }

    /// Opens a folder in this one.
    ///
    /// # Errors
    ///
    /// Fails where there is none, and for links.
    pub fn open_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = single(name.as_ref())?;
        // The system says of a link only that it is no folder.
        let is_link = || self.handle.about(name).is_ok_and(|about| about.kind == Kind::Link);
        let opened = self.handle.open_folder(name);
        let opened = opened.map_err(|error| if is_link() { refuse_link(name) } else { error })?;
        Self::of(opened, self.path.join(name))
    }

    /// Opens a folder below this one by a path of plain names; none of them may be a link.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::open_folder`] does.
    pub fn open_below(&self, path: &Path) -> io::Result<Self> {
        let own = Self::of(self.handle.open_folder(OsStr::new("."))?, self.path.clone())?;
        path.components().try_fold(own, |folder, part| match part {
            Component::CurDir => Ok(folder),
            Component::Normal(name) => folder.open_folder(name),
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => Err(refuse_name(path.as_os_str())),
        })
    }

    /// Makes a folder that was not there.
    ///
    /// # Errors
    ///
    /// Fails where the name is taken, whatever by.
    pub fn create_folder(&self, name: impl AsRef<OsStr>, access: Access) -> io::Result<Self> {
        let name = single(name.as_ref())?;
        self.handle.make_folder(name, access)?;
        let made = self.open_folder(name)?;
        // Another folder was put there meanwhile.
        if !made.handle.names(1)?.is_empty() {
            return Err(io::Error::new(ErrorKind::AlreadyExists, format!("`{}` is not empty", name.display())));
        }
        Ok(made)
    }

    /// Opens a folder in this one, or makes it.
    ///
    /// # Errors
    ///
    /// Fails where the name is taken by something else, links among it.
    pub fn open_or_create_folder(&self, name: impl AsRef<OsStr>, access: Access) -> io::Result<Self> {
        let name = name.as_ref();
        match self.handle.make_folder(single(name)?, access) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => self.open_folder(name),
        }
    }

    /// The path that led to it, for messages and for other programs.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder itself, whatever its path is.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses.
    pub fn identity(&self) -> io::Result<Identity> {
        Ok(self.handle.about_self()?.identity)
    }

    /// The entries, by name; the first of very many.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut names = self.handle.names(MOST_NAMES)?;
        names.sort_unstable();
        let entry = |name: OsString| {
            let about = self.handle.about(&name).ok()?;
            Some(Entry { name, kind: about.kind, is_older: about.changed < self.since })
        };
        // What is gone already is no entry.
        Ok(names.into_iter().filter_map(entry).collect())
    }

    /// The kind of a name; `None` where there is nothing.
    pub fn kind(&self, name: impl AsRef<OsStr>) -> Option<Kind> {
        Some(self.about(name.as_ref()).ok()?.kind)
    }

    /// The file that a name stands for.
    ///
    /// # Errors
    ///
    /// Fails where there is none.
    pub fn identity_of(&self, name: impl AsRef<OsStr>) -> io::Result<Identity> {
        Ok(self.about(name.as_ref())?.identity)
    }

    /// Reads a plain file of at most so many bytes.
    ///
    /// # Errors
    ///
    /// Fails for links, pipes and devices, and for larger files.
    pub fn read(&self, name: impl AsRef<OsStr>, limit: u64) -> io::Result<Vec<u8>> {
        let file = self.open_plain(name.as_ref(), Opening::Read)?.0;
        read_all(&file, limit)
    }

    /// Opens a plain file for reading.
    ///
    /// # Errors
    ///
    /// Fails for everything else, links among it.
    pub fn open_to_read(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        Ok(self.open_plain(name.as_ref(), Opening::Read)?.0)
    }

    /// Opens a plain file that may be locked, and makes it if it is not there; its content stays.
    ///
    /// # Errors
    ///
    /// Fails for everything else, links among it.
    pub fn open_lock(&self, name: impl AsRef<OsStr>, access: Access) -> io::Result<File> {
        match self.create_open(name.as_ref(), access) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Ok(self.open_plain(name.as_ref(), Opening::Overwrite)?.0)
            }
            made => made,
        }
    }

    /// Makes a file that was not there, and keeps it open.
    pub(crate) fn create_open(&self, name: &OsStr, access: Access) -> io::Result<File> {
        self.handle.open_file(single(name)?, Opening::Create(access))
    }

    /// Empties a plain file, if it is this one, and keeps it open.
    pub(crate) fn open_emptied(&self, name: &OsStr, identity: Identity) -> io::Result<File> {
        let (file, about) = self.open_plain(name, Opening::Overwrite)?;
        require_same(name, about, identity)?;
        file.set_len(0)?;
        Ok(file)
    }

    /// Opens a pipe or a device for writing, if it is this one.
    pub(crate) fn open_device(&self, name: &OsStr, identity: Identity) -> io::Result<File> {
        require_same(name, self.about(name)?, identity)?;
        let file = self.handle.open_file(name, Opening::Device)?;
        require_same(name, Handle::about_file(&file)?, identity)?;
        Ok(file)
    }

    /// Writes a file that was not there.
    ///
    /// # Errors
    ///
    /// Fails where the name is taken, whatever by; nothing half is left.
    pub fn create(&self, name: impl AsRef<OsStr>, bytes: &[u8], access: Access) -> io::Result<()> {
        let name = single(name.as_ref())?;
        let mut file = self.handle.open_file(name, Opening::Create(access))?;
        // The error of writing is reported, not that of removing the file.
        file.write_all(bytes).inspect_err(|_| drop(self.handle.remove_file(name)))
    }

    /// Has a name stand for a new file, which appears whole or not at all. A link is replaced, not what it points at.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses; then everything is as before.
    pub fn replace(&self, name: impl AsRef<OsStr>, bytes: &[u8], access: Access) -> io::Result<()> {
        self.replace_after(name.as_ref(), bytes, access, |_| Ok(()))
    }

    /// Does so, with these permissions, and has the content outlast a power cut.
    pub(crate) fn replace_durably(
        &self,
        name: &OsStr,
        bytes: &[u8],
        permissions: Option<Permissions>,
    ) -> io::Result<()> {
        // Nobody else reads a draft of what was private.
        let access = if permissions.is_some() { Access::Private } else { Access::Shared };
        self.replace_after(name, bytes, access, |file| {
            // Some file systems know no permissions.
            let _ = permissions.map(|permissions| file.set_permissions(permissions));
            file.sync_all()
        })
    }

    /// The permissions of a file, if it is that one and may be read.
    pub(crate) fn permissions_of(&self, name: &OsStr, identity: Identity) -> Option<Permissions> {
        let is_same = self.identity_of(name).is_ok_and(|now| now == identity);
        let file = is_same.then(|| self.open_to_read(name).ok()).flatten()?;
        Some(file.metadata().ok()?.permissions())
    }

    fn replace_after(
        &self,
        name: &OsStr,
        bytes: &[u8],
        access: Access,
        finish: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        let name = single(name)?;
        let mut draft = OsString::from(".");
        draft.push(name);
        draft.push(format!(".{}-{}.part", std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed)));
        // Left by an earlier run, or put there by somebody.
        let _ = self.handle.remove_file(&draft);
        let mut file = self.handle.open_file(&draft, Opening::Create(access))?;
        let written = file.write_all(bytes).and_then(|()| finish(&file));
        let moved = written.and_then(|()| self.handle.rename(&draft, name));
        moved.inspect_err(|_| drop(self.handle.remove_file(&draft)))
    }

    /// Writes into a plain file that has no other name. If not everything can be written, it holds what it held before;
    /// that is at most `limit` bytes. What is longer is written first: there the system refuses, if it does.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses, for larger files, and for everything that is no such file.
    pub fn overwrite(&self, name: impl AsRef<OsStr>, bytes: &[u8], limit: u64) -> io::Result<()> {
        let (mut file, about) = self.open_plain(name.as_ref(), Opening::Overwrite)?;
        if about.names > 1 {
            let why = format!("`{}` has another name", name.as_ref().display());
            return Err(io::Error::new(ErrorKind::Unsupported, why));
        }
        let before = read_all(&file, limit)?;
        refill(&mut file, &before, bytes)
    }

    /// Makes a symbolic link where nothing was.
    ///
    /// # Errors
    ///
    /// Fails where the name is taken, and where the system has no such links.
    pub fn link(&self, target: &Path, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.handle.link(target, single(name.as_ref())?)
    }

    /// The path that a link holds.
    ///
    /// # Errors
    ///
    /// Fails for everything else.
    pub fn read_link(&self, name: impl AsRef<OsStr>) -> io::Result<PathBuf> {
        self.handle.read_link(single(name.as_ref())?)
    }

    /// Removes a name that is no folder; what a link points at stays.
    ///
    /// # Errors
    ///
    /// Fails where there is nothing, and for folders.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.handle.remove_file(single(name.as_ref())?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    ///
    /// Fails for folders that are not empty, and for everything else.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.handle.remove_folder(single(name.as_ref())?)
    }

    /// Removes everything that appeared in this folder since it was opened or made: links, but not what they point at,
    /// and nothing of other file systems. Older files, which somebody moved here, stay with their folders.
    pub fn clear(&self) {
        if let Ok(own) = self.identity() {
            self.clear_newer(&Clearing { device: own.device, since: self.since }, DEEPEST);
        }
    }

    /// Returns true if nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.handle.names(1).is_ok_and(|names| names.is_empty())
    }

    /// Removes a name with everything below it, as [`Self::clear`] does.
    pub fn remove(&self, name: impl AsRef<OsStr>) {
        if let Ok(own) = self.identity() {
            self.remove_newer(name.as_ref(), &Clearing { device: own.device, since: self.since }, DEEPEST);
        }
    }

    fn clear_newer(&self, clearing: &Clearing, depth: usize) {
        for name in self.handle.names(MOST_NAMES).unwrap_or_default() {
            self.remove_newer(&name, clearing, depth);
        }
    }

    fn remove_newer(&self, name: &OsStr, clearing: &Clearing, depth: usize) {
        let Ok(about) = self.about(name) else { return };
        if about.kind != Kind::Folder {
            if about.changed >= clearing.since {
                let _ = self.handle.remove_file(name);
            }
            return;
        }
        let Some(depth) = depth.checked_sub(1) else { return };
        if let Ok(folder) = self.open_folder(name)
            && folder.identity().is_ok_and(|own| own.device == clearing.device)
        {
            folder.clear_newer(clearing, depth);
            drop(folder);
            let _ = self.handle.remove_folder(name);
        }
    }

    /// Gives this folder the permissions of another one.
    pub(crate) fn take_permissions(&self, other: &Self) -> io::Result<()> {
        self.handle.take_permissions(&other.handle)
    }

    fn of(handle: Handle, path: PathBuf) -> io::Result<Self> {
        let since = handle.about_self()?.changed;
        Ok(Self { handle, path, since })
    }

    fn about(&self, name: &OsStr) -> io::Result<About> {
        self.handle.about(single(name)?)
    }

    /// Opens a plain file. It is looked at before, since opening a device can have effects, and after, since it may be
    /// another one by then.
    fn open_plain(&self, name: &OsStr, opening: Opening) -> io::Result<(File, About)> {
        require_plain(name, self.about(name)?)?;
        let file = self.handle.open_file(name, opening)?;
        let about = require_plain(name, Handle::about_file(&file)?)?;
        Ok((file, about))
    }
}

/// The kinds of entries that may be removed.
struct Clearing {
    device: i128,
    since: [i128; 2],
}

fn require_plain(name: &OsStr, about: About) -> io::Result<About> {
    match about.kind {
        Kind::File => Ok(about),
        Kind::Folder => Err(ErrorKind::IsADirectory.into()),
        Kind::Link => Err(refuse_link(name)),
        Kind::Other => Err(io::Error::new(ErrorKind::Unsupported, format!("`{}` is no plain file", name.display()))),
    }
}

fn require_same(name: &OsStr, about: About, identity: Identity) -> io::Result<()> {
    if about.identity == identity {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::Unsupported, format!("`{}` was replaced meanwhile", name.display())))
}

fn read_all(file: &File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= limit) {
        return Ok(bytes);
    }
    Err(io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {limit} bytes")))
}

/// Puts bytes in the place of those that a file holds, or leaves it as it is.
fn refill(file: &mut (impl Write + Seek + Resize), before: &[u8], bytes: &[u8]) -> io::Result<()> {
    let (over, beyond) = bytes.split_at(before.len().min(bytes.len()));
    file.seek(SeekFrom::Start(before.len() as u64))?;
    file.write_all(beyond).inspect_err(|_| drop(file.resize(before.len())))?;
    file.rewind()?;
    let written = file.write_all(over).and_then(|()| file.resize(bytes.len()));
    written.inspect_err(|_| {
        let _ = file.rewind().and_then(|()| file.write_all(before)).and_then(|()| file.resize(before.len()));
    })
}

/// A file that can be cut.
trait Resize {
    fn resize(&mut self, length: usize) -> io::Result<()>;
}

impl Resize for File {
    fn resize(&mut self, length: usize) -> io::Result<()> {
        self.set_len(length as u64)
    }
}

fn refuse_link(name: &OsStr) -> io::Error {
    io::Error::new(ErrorKind::Unsupported, format!("`{}` is a link, which is not followed", name.display()))
}

fn refuse_name(name: &OsStr) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, format!("`{}` is no name in a folder", name.display()))
}

/// A name without a folder: the system follows links in all parts of a path but the last.
fn single(name: &OsStr) -> io::Result<&OsStr> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(part)), None) if part == name => Ok(name),
        _ => Err(refuse_name(name)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A file of which so many bytes can be written at a place, and none behind a length.
    struct Disk {
        file: Cursor<Vec<u8>>,
        room: usize,
        /// The number of bytes after which writing fails for another reason.
        budget: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let at = usize::try_from(self.file.position()).unwrap_or(usize::MAX);
            let fits = bytes.len().min(self.room.saturating_sub(at)).min(self.budget);
            // What cannot be written once can be written later, as with a quota.
            if fits == 0 && !bytes.is_empty() {
                self.budget = usize::MAX;
                return Err(ErrorKind::QuotaExceeded.into());
            }
            self.budget -= fits;
            self.file.write(&bytes[..fits])
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Disk {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.file.seek(to)
        }
    }

    impl Resize for Disk {
        fn resize(&mut self, length: usize) -> io::Result<()> {
            self.file.get_mut().resize(length, 0);
            Ok(())
        }
    }

    #[test]
    fn a_file_that_cannot_be_filled_holds_what_it_held() {
        let rows = [
            ("old", "a longer one", 99, 99, "a longer one"),
            ("the old report", "new", 99, 99, "new"),
            ("", "new", 99, 99, "new"),
            // There is no room for more.
            ("old", "a longer one", 3, 99, "old"),
            ("old", "a longer one", 5, 99, "old"),
            // Writing fails in the middle.
            ("the old report", "new text", 99, 3, "the old report"),
            ("old", "a longer one", 99, 10, "old"),
        ];
        for (before, new, room, budget, expected) in rows {
            let mut disk = Disk { file: Cursor::new(before.as_bytes().to_vec()), room, budget };
            let written = refill(&mut disk, before.as_bytes(), new.as_bytes());
            assert_eq!(std::str::from_utf8(disk.file.get_ref()), Ok(expected), "{before} -> {new}");
            assert_eq!(written.is_ok(), new == expected, "{before} -> {new}");
        }
    }
}
