//! The only place where mcprove changes the disk.
//!
//! A server runs with the rights of its tester, and can put a link in the place of any file or folder at any time. So a
//! path is followed once, when the user's choice is read, before a server runs ([`FilePlace`], [`FolderPlace`]). From then on, files and folders are
//! reached by the handle of an open [`Folder`] and a single name in it, and a name that has become a link is an error:
//!
//! - files are created anew ([`Folder::create`]), or written beside their place and moved there ([`Folder::replace`]);
//!   nothing is written through a name that exists, except by [`Folder::overwrite`], which refuses links, files with
//!   several names, and everything that is no plain file;
//! - only plain files are read, up to a limit, and opening one never waits;
//! - removing a folder never leaves it: links in it are removed, and what they point at is not; neither are other file
//!   systems, and what is older than the folder ([`Folder::clear`]).
//!
//! Where a system lacks such handles (`windows.rs`), a folder stays open, which keeps it from being moved or removed, and
//! each name is checked before it is used.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix::Handle;

#[cfg(not(unix))]
mod windows;
#[cfg(not(unix))]
use windows::Handle;

mod copy;
mod entry;
mod folder;
mod place;
mod temporary;
#[cfg(test)]
mod tests;

pub use copy::{Change, CopyError, CopyLimit};
pub use entry::{Entry, Identity, Kind};
pub use folder::{Access, Folder};
pub use place::{FilePlace, FolderPlace};
pub use temporary::TemporaryFolder;
