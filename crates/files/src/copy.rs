//! Copies of files and folders.
//!
//! Links stay links, and only those are copied that lead to somewhere within what is copied: whoever writes through the
//! copy must not reach anything else. Pipes, sockets and devices are left out.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Component, Path, PathBuf};

use crate::entry::Kind;
use crate::folder::{Access, Folder};
use crate::system::take_file_permissions;

/// The greatest depth of folders that are copied.
const DEEPEST: usize = 64;

/// The size of everything that may be copied.
#[derive(Debug, Clone, Copy)]
pub struct CopyLimit {
    /// The bytes of all files together.
    pub bytes: u64,
    /// The number of files and folders.
    pub entries: u64,
}

/// Why something is not copied.
#[derive(Debug)]
pub enum CopyError {
    /// The files have too many bytes, are too many, or lie too deep.
    TooLarge,
    /// A link leads out of what is copied.
    LinkOut {
        /// The link, seen from what is copied.
        link: PathBuf,
        /// The path that it holds.
        target: PathBuf,
    },
    /// It is neither a file nor a folder.
    NotPlain(Kind),
    /// The system refuses.
    System {
        /// The file, seen from what is copied; empty for that itself.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

impl fmt::Display for CopyError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => to.write_str("it is too large"),
            Self::LinkOut { link, target } => {
                write!(to, "the link `{}` in it leads out of it, to `{}`", link.display(), target.display())
            }
            Self::NotPlain(Kind::Link) => to.write_str("it is a link to nothing"),
            Self::NotPlain(_) => to.write_str("it is a pipe, a socket or a device"),
            Self::System { path, error } if path.as_os_str().is_empty() => write!(to, "{error}"),
            Self::System { path, error } => write!(to, "`{}`: {error}", path.display()),
        }
    }
}

impl std::error::Error for CopyError {}

impl Folder {
    /// Copies a file, or a folder with everything in it, from another folder into this one, where the new name must be free.
    ///
    /// # Errors
    ///
    /// Fails as the error says; what was copied until then is left to whoever removes this folder.
    pub fn copy_from(&self, source: &Self, from: &OsStr, to: &OsStr, limit: CopyLimit) -> Result<(), CopyError> {
        let mut copying = Copying { left: limit };
        copying.entry(
            EntryPlace { folder: source, name: from },
            EntryPlace { folder: self, name: to },
            Path::new(""),
            0,
        )
    }
}

/// A difference between two names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Only the other one is there.
    Added,
    /// They differ.
    Changed,
    /// Only this one is there.
    Removed,
}

impl Folder {
    /// The first difference of a file, a link or a folder from another one, as a path in it. Pipes, sockets and devices,
    /// which are not copied, count as nothing.
    ///
    /// # Errors
    ///
    /// Fails where one of both cannot be read.
    pub fn compare(&self, name: &OsStr, other: &Self, other_name: &OsStr) -> io::Result<Option<(PathBuf, Change)>> {
        compare(EntryPlace { folder: self, name }, EntryPlace { folder: other, name: other_name }, Path::new(""), 0)
    }
}

fn compare(
    one: EntryPlace<'_>,
    other: EntryPlace<'_>,
    path: &Path,
    depth: usize,
) -> io::Result<Option<(PathBuf, Change)>> {
    let kind = |place: EntryPlace<'_>| place.folder.kind(place.name).filter(|kind| *kind != Kind::Other);
    let change = |change| Ok(Some((path.to_owned(), change)));
    match (kind(one), kind(other)) {
        (None, None) => Ok(None),
        (None, Some(_)) => change(Change::Added),
        (Some(_), None) => change(Change::Removed),
        (Some(Kind::File), Some(Kind::File)) => {
            let [one, other] = [one, other].map(|place| place.folder.open_to_read(place.name));
            if is_same(one?, other?)? { Ok(None) } else { change(Change::Changed) }
        }
        (Some(Kind::Link), Some(Kind::Link)) => {
            let is_same = one.folder.read_link(one.name)? == other.folder.read_link(other.name)?;
            if is_same { Ok(None) } else { change(Change::Changed) }
        }
        (Some(Kind::Folder), Some(Kind::Folder)) if depth < DEEPEST => {
            let (one, other) = (one.folder.open_folder(one.name)?, other.folder.open_folder(other.name)?);
            let names: BTreeSet<OsString> =
                one.entries()?.into_iter().chain(other.entries()?).map(|entry| entry.name).collect();
            for name in &names {
                let [one, other] = [&one, &other].map(|folder| EntryPlace { folder, name });
                if let Some(found) = compare(one, other, &path.join(name), depth + 1)? {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        }
        (Some(_), Some(_)) => change(Change::Changed),
    }
}

/// Returns true if two files hold the same.
fn is_same(one: File, other: File) -> io::Result<bool> {
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (BufReader::new(one), BufReader::new(other));
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let length = left.len().min(right.len());
        if length == 0 {
            return Ok(left.len() == right.len());
        }
        if left[..length] != right[..length] {
            return Ok(false);
        }
        one.consume(length);
        other.consume(length);
    }
}

struct Copying {
    left: CopyLimit,
}

/// A name in a folder.
#[derive(Clone, Copy)]
struct EntryPlace<'a> {
    folder: &'a Folder,
    name: &'a OsStr,
}

impl Copying {
    /// Copies one name; `path` is where it lies in what is copied, and `depth` the number of folders of that around it.
    fn entry(&mut self, from: EntryPlace<'_>, to: EntryPlace<'_>, path: &Path, depth: usize) -> Result<(), CopyError> {
        let system = |error: io::Error| CopyError::System { path: path.to_owned(), error };
        self.left.entries = self.left.entries.checked_sub(1).ok_or(CopyError::TooLarge)?;
        match from.folder.kind(from.name) {
            Some(Kind::File) => {
                let left = self.left.bytes;
                let copied = copy_file(from, to, left).map_err(system)?;
                self.left.bytes = left.checked_sub(copied).ok_or(CopyError::TooLarge)?;
            }
            Some(Kind::Folder) if depth < DEEPEST => {
                let inner = from.folder.open_folder(from.name).map_err(system)?;
                let made = to.folder.create_folder(to.name, Access::Shared).map_err(system)?;
                for entry in inner.entries().map_err(system)? {
                    let [from, to] = [&inner, &made].map(|folder| EntryPlace { folder, name: &entry.name });
                    self.entry(from, to, &path.join(&entry.name), depth + 1)?;
                }
                made.take_permissions(&inner).map_err(system)?;
            }
            Some(Kind::Folder) => return Err(CopyError::TooLarge),
            Some(kind) if depth == 0 => return Err(CopyError::NotPlain(kind)),
            Some(Kind::Link) => {
                let target = from.folder.read_link(from.name).map_err(system)?;
                if !stays_within(&target, depth - 1) {
                    return Err(CopyError::LinkOut { link: path.to_owned(), target });
                }
                to.folder.link(&target, to.name).map_err(system)?;
            }
            None if depth == 0 => return Err(system(io::ErrorKind::NotFound.into())),
            // A socket of a server that has ended is of no use to the next one; and what is gone is gone.
            Some(Kind::Other) | None => {}
        }
        Ok(())
    }
}

/// Copies the content and the permissions of a file; returns the number of bytes, at most one more than the limit.
fn copy_file(from: EntryPlace<'_>, to: EntryPlace<'_>, limit: u64) -> io::Result<u64> {
    let source = from.folder.open_to_read(from.name)?;
    let mut made = to.folder.create_open(to.name, Access::Private)?;
    let copied = io::copy(&mut (&source).take(limit.saturating_add(1)), &mut made)?;
    take_file_permissions(&made, &source)?;
    Ok(copied)
}

/// Returns true if a link in so many folders below a root leads to somewhere below that root, whatever other links there do
/// that stay below it, too. The way up comes first: behind a name, it would depend on where that leads.
fn stays_within(target: &Path, depth: usize) -> bool {
    let mut parts = target.components().filter(|part| *part != Component::CurDir).peekable();
    let mut up = 0;
    while parts.next_if_eq(&Component::ParentDir).is_some() {
        up += 1;
    }
    up <= depth && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_stay_within() {
        for (target, depth, expected) in [
            ("notes.json", 0, true),
            ("./notes.json", 0, true),
            ("../notes.json", 1, true),
            ("../../a/b", 2, true),
            ("../notes.json", 0, false),
            ("../../notes.json", 1, false),
            // The name may be a link that leads up.
            ("a/../notes.json", 3, false),
            ("/etc/passwd", 5, false),
        ] {
            assert_eq!(stays_within(Path::new(target), depth), expected, "{target} {depth}");
        }
    }
}
