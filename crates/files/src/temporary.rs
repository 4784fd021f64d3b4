//! Folders that last as long as somebody needs them.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::entry::Kind;
use crate::folder::{Access, Folder};

/// The waits between attempts to remove everything: a program that was just killed, or a copy that is being made, may add
/// to a folder while it is emptied.
const WAITS: [Duration; 4] =
    [Duration::from_millis(1), Duration::from_millis(5), Duration::from_millis(25), Duration::from_millis(100)];

/// A fresh folder, which is removed with everything that appeared in it when this value goes away. A server may put
/// something else in its place: that is neither read nor removed.
#[derive(Debug)]
pub struct TemporaryFolder {
    parent: Folder,
    name: OsString,
    path: PathBuf,
    access: Access,
    /// `None` while it is removed.
    folder: Option<Folder>,
}

impl TemporaryFolder {
    /// Makes a folder that nobody has.
    ///
    /// # Errors
    ///
    /// Fails where the name is taken, whatever by, and where the system refuses.
    pub fn create(parent: &Path, name: impl AsRef<OsStr>, access: Access) -> io::Result<Self> {
        let (name, path) = (name.as_ref().to_owned(), parent.join(name.as_ref()));
        let parent = Folder::open(parent)?;
        let folder = Some(parent.create_folder(&name, access)?);
        Ok(Self { parent, name, path, access, folder })
    }

    /// The path that led to it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder, as long as its path leads to it.
    pub fn folder(&self) -> Option<&Folder> {
        let there = self.parent.identity_of(&self.name).ok()?;
        self.folder.as_ref().filter(|folder| folder.identity().is_ok_and(|own| own == there))
    }

    /// The kind of what somebody has put in the place of this folder.
    pub fn replacement(&self) -> Option<Kind> {
        self.parent.kind(&self.name).filter(|_| self.folder().is_none())
    }

    /// The folder, made again if somebody removed it.
    ///
    /// # Errors
    ///
    /// Fails where something else is in its place.
    pub fn folder_again(&mut self) -> io::Result<&Folder> {
        if self.folder().is_none() {
            self.folder = Some(self.parent.create_folder(&self.name, self.access)?);
        }
        self.folder().ok_or_else(|| io::Error::other("something else is in the place of the folder"))
    }

    /// Removes it now; returns true if nothing is left at its path.
    #[expect(
        clippy::disallowed_methods,
        reason = "nothing tells when the last program that writes to a folder is gone"
    )]
    pub fn remove(&mut self) -> bool {
        if let Some(folder) = self.folder() {
            empty(folder, std::thread::sleep);
            // Some systems remove no folder that is open.
            self.folder = None;
            let _ = self.parent.remove_folder(&self.name);
        }
        self.parent.kind(&self.name).is_none()
    }

    /// Leaves it where it is, for people to look at.
    pub fn leave(mut self) -> PathBuf {
        self.folder = None;
        self.path.clone()
    }
}

/// Empties a folder as [`Folder::clear`] does, again after each wait for as long as something is in it.
pub(crate) fn empty(folder: &Folder, mut wait: impl FnMut(Duration)) {
    folder.clear();
    for pause in WAITS {
        if folder.is_empty() {
            return;
        }
        wait(pause);
        folder.clear();
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        self.remove();
    }
}
