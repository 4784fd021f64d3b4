//! Names within an open folder, by the system calls that end in `at`.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions, metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{self as system, AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};

use crate::entry::{About, Identity, Kind};
use crate::folder::{Access, Opening};

/// An open folder.
#[derive(Debug)]
pub(crate) struct Handle(OwnedFd);

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Handle {
    /// Opens a folder by its path, links followed.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(system::openat(CWD, path, FOLDER, Mode::empty())?))
    }

    /// Opens a folder in this one.
    pub(crate) fn open_folder(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self(system::openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?))
    }

    pub(crate) fn make_folder(&self, name: &OsStr, access: Access) -> io::Result<()> {
        let mode = match access {
            Access::Shared => 0o777,
            Access::Private => 0o700,
        };
        Ok(system::mkdirat(&self.0, name, Mode::from(mode))?)
    }

    /// Opens a file. Only a device may wait.
    pub(crate) fn open_file(&self, name: &OsStr, opening: Opening) -> io::Result<File> {
        let flags = match opening {
            Opening::Read => OFlags::RDONLY,
            Opening::Overwrite => OFlags::RDWR,
            Opening::Create(_) => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
            Opening::Device => OFlags::WRONLY,
        };
        let waits = if opening == Opening::Device { OFlags::empty() } else { OFlags::NONBLOCK };
        let mode = if opening == Opening::Create(Access::Private) { 0o600 } else { 0o666 };
        let flags = flags | waits | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(File::from(system::openat(&self.0, name, flags, Mode::from(mode))?))
    }

    /// The properties of a name, links not followed.
    pub(crate) fn about(&self, name: &OsStr) -> io::Result<About> {
        Ok(about(&system::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// The properties of this folder.
    pub(crate) fn about_self(&self) -> io::Result<About> {
        Ok(about(&system::fstat(&self.0)?))
    }

    /// Gives this folder the permissions of another one; its owner may change it in any case, so that it can be removed.
    pub(crate) fn take_permissions(&self, other: &Self) -> io::Result<()> {
        let bits = system::fstat(&other.0)?.st_mode & 0o777 | 0o700;
        Ok(system::fchmod(&self.0, Mode::from(bits))?)
    }

    pub(crate) fn about_file(file: &File) -> io::Result<About> {
        Ok(about(&system::fstat(file)?))
    }

    /// The first names in the folder.
    pub(crate) fn names(&self, most: usize) -> io::Result<Vec<OsString>> {
        let names =
            Dir::read_from(&self.0)?.map(|entry| Ok(OsString::from_vec(entry?.file_name().to_bytes().to_vec())));
        let is_entry = |name: &io::Result<OsString>| name.as_ref().map_or(true, |name| name != "." && name != "..");
        names.filter(is_entry).take(most).collect()
    }

    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(system::renameat(&self.0, from, &self.0, to)?)
    }

    /// Removes a name that is no folder.
    pub(crate) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(system::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub(crate) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(system::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// The path in a symbolic link.
    pub(crate) fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        let path = system::readlinkat(&self.0, name, Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
    }

    /// Makes a symbolic link.
    pub(crate) fn link(&self, target: &Path, name: &OsStr) -> io::Result<()> {
        Ok(system::symlinkat(target, &self.0, name)?)
    }
}

fn about(stat: &Stat) -> About {
    let found = FileType::from_raw_mode(stat.st_mode);
    let kinds = [(found.is_file(), Kind::File), (found.is_dir(), Kind::Folder), (found.is_symlink(), Kind::Link)];
    let kind = kinds.into_iter().find_map(|(is_it, kind)| is_it.then_some(kind)).unwrap_or(Kind::Other);
    let identity = Identity { device: number(stat.st_dev), number: number(stat.st_ino) };
    About { kind, identity, names: number(stat.st_nlink), changed: [number(stat.st_mtime), number(stat.st_mtime_nsec)] }
}

/// The types of these numbers differ from system to system.
fn number(number: impl Into<i128>) -> i128 {
    number.into()
}

/// Gives a file the permissions of another one.
pub(crate) fn take_file_permissions(file: &File, other: &File) -> io::Result<()> {
    let bits = other.metadata()?.permissions().mode() & 0o777;
    file.set_permissions(Permissions::from_mode(bits))
}

/// A file may be run, by whoever it is.
pub fn may_run(path: &Path) -> bool {
    metadata(path).is_ok_and(|about| about.permissions().mode() & 0o111 != 0)
}

/// Others than its owner can read a file.
pub fn is_readable_by_others(file: &File) -> bool {
    file.metadata().is_ok_and(|about| about.permissions().mode() & 0o077 != 0)
}

/// Both names stand for one file, as hard links do.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| metadata(path).ok().map(|found| (found.dev(), found.ino()));
    identity(one).is_some_and(|one| Some(one) == identity(other))
}

/// A number that another file in the place of this one would not have.
pub fn file_number(about: &Metadata) -> u64 {
    about.ino()
}
