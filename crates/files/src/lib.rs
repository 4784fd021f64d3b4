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

//!
//! What systems tell of files in ways of their own is here, too, so that nobody else has to know.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as system;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as system;

mod copy;
mod entry;
mod folder;
mod place;
mod real_path;
mod temporary;
#[cfg(test)]
mod tests;

pub use copy::{Change, CopyError, CopyLimit};
pub use entry::{Entry, Identity, Kind};
pub use folder::{Access, Folder};
pub use place::{FilePlace, FolderPlace};
pub use real_path::real_path;
use system::Handle;
pub use system::{file_number, is_readable_by_others, is_same_file, may_run};
pub use temporary::TemporaryFolder;
