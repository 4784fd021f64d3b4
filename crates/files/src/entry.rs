//! What a name in a folder stands for.

use std::ffi::OsString;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A plain file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, which was not followed.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// The file itself, whatever its names are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub(crate) device: i128,
    pub(crate) number: i128,
}

/// The properties of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    pub(crate) kind: Kind,
    pub(crate) identity: Identity,
    /// The number of its names.
    pub(crate) names: i128,
    /// When its content changed last, in seconds and nanoseconds of the system's clock.
    pub(crate) changed: [i128; 2],
}

/// A name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name, without a folder.
    pub name: OsString,
    /// The kind of the file.
    pub kind: Kind,
    /// The file is older than the folder was when it was opened or made: it was moved here.
    pub is_older: bool,
}
