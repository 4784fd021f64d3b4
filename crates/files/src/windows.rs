//! Names within a folder for systems without calls that take a handle of a folder and a name.
//!
//! The folder stays open in a way that lets nobody move or remove it, or a folder above it, so that its path leads to it
//! as long as the handle lives. Links are looked for before a name is used, and files are opened without following one.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::windows::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::entry::{About, Identity, Kind};
use crate::folder::{Access, Opening};
use crate::real_path::real_path;

/// `FILE_SHARE_READ` and `FILE_SHARE_WRITE`, without `FILE_SHARE_DELETE`.
const STAYS: u32 = 0x1 | 0x2;

/// `FILE_FLAG_BACKUP_SEMANTICS`: folders can be opened.
const FOLDER: u32 = 0x0200_0000;

/// `FILE_FLAG_OPEN_REPARSE_POINT`: a link is opened itself.
const NO_LINK: u32 = 0x0020_0000;

/// `FILE_ATTRIBUTE_REPARSE_POINT`: links, junctions and mounted folders.
const LINK: u32 = 0x400;

/// An open folder.
#[derive(Debug)]
pub(crate) struct Handle {
    path: PathBuf,
    file: File,
}

impl Handle {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::open_at(real_path(path)?)
    }

    pub(crate) fn open_folder(&self, name: &OsStr) -> io::Result<Self> {
        Self::open_at(self.path.join(name))
    }

    fn open_at(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).share_mode(STAYS).custom_flags(FOLDER | NO_LINK).open(&path)?;
        if about(&file.metadata()?).kind != Kind::Folder {
            return Err(ErrorKind::NotADirectory.into());
        }
        Ok(Self { path, file })
    }

    pub(crate) fn make_folder(&self, name: &OsStr, _: Access) -> io::Result<()> {
        fs::create_dir(self.path.join(name))
    }

    pub(crate) fn open_file(&self, name: &OsStr, opening: Opening) -> io::Result<File> {
        let mut options = OpenOptions::new();
        match opening {
            Opening::Read => options.read(true),
            Opening::Overwrite => options.read(true).write(true),
            Opening::Create(_) => options.read(true).write(true).create_new(true),
            Opening::Device => options.write(true),
        };
        options.custom_flags(NO_LINK).open(self.path.join(name))
    }

    pub(crate) fn about(&self, name: &OsStr) -> io::Result<About> {
        let path = self.path.join(name);
        Ok(about(&fs::symlink_metadata(&path)?))
    }

    pub(crate) fn about_self(&self) -> io::Result<About> {
        Ok(about(&self.file.metadata()?))
    }

    /// Permissions of folders are inherited here.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "other systems can fail")]
    pub(crate) fn take_permissions(&self, _: &Self) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn about_file(file: &File) -> io::Result<About> {
        Ok(about(&file.metadata()?))
    }

    pub(crate) fn names(&self, most: usize) -> io::Result<Vec<OsString>> {
        fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name())).take(most).collect()
    }

    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    pub(crate) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        let path = self.path.join(name);
        // A link to a folder is removed like a folder, and what it points at stays.
        if fs::symlink_metadata(&path)?.file_attributes() & LINK != 0 {
            return fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
        }
        fs::remove_file(path)
    }

    pub(crate) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_dir(self.path.join(name))
    }

    pub(crate) fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        fs::read_link(self.path.join(name))
    }

    pub(crate) fn link(&self, _: &Path, _: &OsStr) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}

fn about(metadata: &Metadata) -> About {
    let kind = if metadata.file_attributes() & LINK != 0 {
        Kind::Link
    } else if metadata.is_dir() {
        Kind::Folder
    } else if metadata.is_file() {
        Kind::File
    } else {
        Kind::Other
    };
    let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let changed = [i128::from(changed.as_secs()), i128::from(changed.subsec_nanos())];
    // Files of one folder differ in when they were made, and a folder that is open stays where it is.
    let identity = Identity { device: 0, number: i128::from(metadata.creation_time()) };
    About { kind, identity, names: 1, changed }
}

/// Permissions of files are inherited here.
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail")]
pub(crate) fn take_file_permissions(_: &File, _: &File) -> io::Result<()> {
    Ok(())
}

/// A file may be run: its name says so, and whoever looks knows that name.
pub fn may_run(path: &Path) -> bool {
    path.is_file()
}

/// The folder of a user is closed to others by its own rules.
pub fn is_readable_by_others(_: &File) -> bool {
    false
}

/// Nothing but the names tells.
pub fn is_same_file(_: &Path, _: &Path) -> bool {
    false
}

/// A number that another file in the place of this one would not have: the time at which it was made.
pub fn file_number(about: &Metadata) -> u64 {
    about.creation_time()
}
