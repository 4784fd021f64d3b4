//! The files of a run, as a matcher looks at them.

use std::fmt::Debug;

/// The files in the folder of a run.
pub trait RunFiles: Debug + Sync {
    /// The file at a path in that folder; the error says why it cannot be looked at.
    fn find(&self, path: &str) -> Result<FoundFile, String>;

    /// The first difference between a file or folder and what was copied to its place; `None` where there is none. The error
    /// says why they cannot be compared.
    fn change(&self, path: &str) -> Result<Option<String>, String>;

    /// The path without the part that differs from run to run.
    fn short<'a>(&self, path: &'a str) -> &'a str;
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundFile {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder,
    /// A file with this text.
    Text(String),
}
