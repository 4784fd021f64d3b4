//! Paths that a user chose, followed once.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::ops::Deref;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::entry::Identity;
use crate::folder::{Access, Folder};
use crate::real_path::real_path;

/// The largest file that is written in place, since it must get back what it held where that fails.
const LARGEST_IN_PLACE: u64 = 64 << 20;

/// A folder, as its path led to it when this value was made; as a [`Path`], it is the path as it was given. It need not be
/// there yet.
#[derive(Debug, Clone)]
pub struct FolderPlace {
    path: PathBuf,
    found: Arc<io::Result<FoundFolder>>,
    /// Folders below it, which are no choice of the user's: a link in the place of one is refused.
    below: Vec<OsString>,
}

#[derive(Debug)]
struct FoundFolder {
    /// The nearest folder that was there.
    nearest: Folder,
    missing: Vec<OsString>,
}

impl FolderPlace {
    /// Follows a path. Why that failed is said when the folder is used.
    pub fn resolve(path: &Path) -> Self {
        Self { path: path.to_owned(), found: Arc::new(find_folder(path)), below: Vec::new() }
    }

    /// A folder in this one, which is never reached through a link.
    #[must_use]
    pub fn below(&self, name: impl AsRef<OsStr>) -> Self {
        let mut place = self.clone();
        place.path.push(name.as_ref());
        place.below.push(name.as_ref().to_owned());
        place
    }

    /// Opens the folder.
    ///
    /// # Errors
    ///
    /// Fails where it is not there, and where a part of it has become a link.
    pub fn open(&self) -> io::Result<Folder> {
        self.walk(|folder, name| folder.open_folder(name))
    }

    /// Opens the folder, and makes what is missing of it.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses, and where a part of it has become a link.
    pub fn create(&self, access: Access) -> io::Result<Folder> {
        self.walk(|folder, name| folder.open_or_create_folder(name, access))
    }

    fn walk(&self, mut step: impl FnMut(&Folder, &OsStr) -> io::Result<Folder>) -> io::Result<Folder> {
        let found = self.found.as_ref().as_ref().map_err(copy)?;
        let own = found.nearest.open_below(Path::new(""))?;
        found.missing.iter().chain(&self.below).try_fold(own, |folder, name| step(&folder, name))
    }
}

/// A file that is written, as its path led to it when this value was made; as a [`Path`], it is the path as it was given.
/// It need not be there yet.
#[derive(Debug, Clone)]
pub struct FilePlace {
    path: PathBuf,
    target: Arc<io::Result<WriteTarget>>,
}

#[derive(Debug)]
enum WriteTarget {
    /// Standard output, by way of `/dev/stdout` or `/dev/fd/1`, or what a shell has opened for this program.
    Open(File),
    /// A file, a named pipe or a device.
    Named { folder: FolderPlace, name: OsString, before: Option<Before> },
}

/// The file that was there.
#[derive(Debug, Clone, Copy)]
struct Before {
    identity: Identity,
    is_plain: bool,
}

impl FilePlace {
    /// Follows a path. Why that failed is said when the file is written.
    pub fn resolve(path: &Path) -> Self {
        Self { path: path.to_owned(), target: Arc::new(find_file(path)) }
    }

    /// A file of another name in the same folder.
    #[must_use]
    pub fn beside(&self, name: &OsStr) -> Self {
        let target = match self.target.as_ref() {
            Ok(WriteTarget::Named { folder, .. }) => {
                Ok(WriteTarget::Named { folder: folder.clone(), name: name.to_owned(), before: None })
            }
            Ok(WriteTarget::Open(_)) => Err(ErrorKind::NotADirectory.into()),
            Err(error) => Err(copy(error)),
        };
        Self { path: self.path.with_file_name(name), target: Arc::new(target) }
    }

    /// Writes the file, and makes its folder. It appears whole or not at all, with the permissions of the one that was
    /// there; devices and pipes are written to.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses; then a file is as before.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let (folder, name, before) = match self.target.as_ref().as_ref().map_err(copy)? {
            WriteTarget::Open(file) => return (&*file).write_all(bytes),
            WriteTarget::Named { folder, name, before } => (folder.create(Access::Shared)?, name, before),
        };
        match before {
            Some(before) if !before.is_plain => folder.open_device(name, before.identity)?.write_all(bytes),
            before => {
                let permissions = before.and_then(|before| folder.permissions_of(name, before.identity));
                let Err(reason) = folder.replace_durably(name, bytes, permissions) else { return Ok(()) };
                // A file that is mounted, or in a folder that may not be changed, can still be written in place.
                let is_same =
                    before.is_some_and(|before| folder.identity_of(name).is_ok_and(|now| now == before.identity));
                if is_same && is_refused_beside(reason.kind()) {
                    return folder.overwrite(name, bytes, LARGEST_IN_PLACE);
                }
                Err(reason)
            }
        }
    }

    /// Makes the folder of the file.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses.
    pub fn create_folder(&self) -> io::Result<()> {
        match self.target.as_ref().as_ref().map_err(copy)? {
            WriteTarget::Open(_) => Ok(()),
            WriteTarget::Named { folder, .. } => folder.create(Access::Shared).map(drop),
        }
    }

    /// Empties the file, and opens it for writing.
    ///
    /// # Errors
    ///
    /// Fails where the system refuses, and where its folder is missing.
    pub fn create(&self) -> io::Result<File> {
        let (folder, name, before) = match self.target.as_ref().as_ref().map_err(copy)? {
            WriteTarget::Open(file) => return file.try_clone(),
            WriteTarget::Named { folder, name, before } => (folder.open()?, name, before),
        };
        match before {
            Some(before) if !before.is_plain => folder.open_device(name, before.identity),
            Some(before) => folder.open_emptied(name, before.identity),
            None => folder.create_open(name, Access::Shared),
        }
    }
}

impl Deref for FilePlace {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl Deref for FolderPlace {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl From<OsString> for FilePlace {
    fn from(path: OsString) -> Self {
        Self::resolve(Path::new(&path))
    }
}

impl From<OsString> for FolderPlace {
    fn from(path: OsString) -> Self {
        Self::resolve(Path::new(&path))
    }
}

/// A file beside another one, or its move, was refused for reasons that do not concern the other one.
fn is_refused_beside(kind: ErrorKind) -> bool {
    use ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    [CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy].contains(&kind)
}

fn find_folder(path: &Path) -> io::Result<FoundFolder> {
    let mut nearest = PathBuf::new();
    let mut missing = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir if !missing.is_empty() => drop(missing.pop()),
            Component::Normal(name) if !missing.is_empty() => missing.push(name.to_owned()),
            Component::CurDir => {}
            Component::Normal(name) if is_nothing(&nearest.join(name)) => missing.push(name.to_owned()),
            Component::Prefix(_) | Component::RootDir | Component::ParentDir | Component::Normal(_) => {
                nearest.push(part);
            }
        }
    }
    Ok(FoundFolder { nearest: Folder::open(&nearest)?, missing })
}

fn is_nothing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

fn find_file(path: &Path) -> io::Result<WriteTarget> {
    // A link stays a link; what it points at is written.
    let known = real_path(path);
    if known.is_err() && fs::metadata(path).is_ok_and(|found| !found.is_dir()) {
        // The system knows where it leads, and no path does.
        return Ok(WriteTarget::Open(OpenOptions::new().write(true).open(path)?));
    }
    let path = known.unwrap_or_else(|_| path.to_owned());
    if path.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    let name = path.file_name().ok_or(ErrorKind::IsADirectory)?.to_owned();
    let folder = FolderPlace::resolve(path.parent().unwrap_or(Path::new("")));
    let before = folder.open().and_then(|folder| folder.identity_of(&name)).ok();
    let before = before.map(|identity| Before { identity, is_plain: path.is_file() });
    Ok(WriteTarget::Named { folder, name, before })
}

fn copy(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| io::Error::new(error.kind(), error.to_string()), io::Error::from_raw_os_error)
}
