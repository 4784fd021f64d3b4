//! The files of a run, as a matcher looks at them.

use std::fmt::Debug;

/// The files in the folder of a run.
pub trait RunFiles: Debug + Sync {
    /// What is at a path in that folder; the error says why it cannot be looked at.
    fn find(&self, path: &str) -> Result<FoundFile, String>;

    /// The text of the file at a path; the error says why it cannot be read.
    fn read(&self, path: &str) -> Result<String, String>;

    /// The first difference between a file or folder and what was copied to its place; `None` where there is none. The error
    /// says why they cannot be compared.
    fn change(&self, path: &str) -> Result<Option<String>, String>;

    /// The path without the part that differs from run to run.
    fn short<'a>(&self, path: &'a str) -> &'a str;
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundFile {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder,
    /// A file.
    File,
}
