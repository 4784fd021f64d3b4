//! A file that keeps the users beyond the end of the server: one a line, as JSON, below a line that says how many there were.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::settings::DamagedData;
use super::store::User;
use mcprove_files::{Access, Folder};

/// The file in which the users are kept.
#[derive(Clone, Debug)]
pub(crate) struct DataFile {
    path: PathBuf,
    damaged: DamagedData,
}

/// The content of a data file.
#[derive(Debug, Default)]
pub(crate) struct StoredUsers {
    pub(crate) users: Vec<User>,
    /// The number of users that were ever created.
    pub(crate) created: u64,
}

impl DataFile {
    pub(crate) fn new(path: PathBuf, damaged: DamagedData) -> Self {
        Self { path, damaged }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The users in the file; nobody where there is none.
    ///
    /// # Errors
    ///
    /// The system's, where there is a file that it does not let us read.
    pub(crate) fn read(&self) -> io::Result<StoredUsers> {
        let bytes = match fs::read(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        let mut stored = StoredUsers::default();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            let value: Value = serde_json::from_slice(line).unwrap_or_default();
            if let Some(created) = value["created"].as_u64() {
                stored.created = created;
            } else if let Some(user) = User::from_json(&value) {
                stored.users.push(user);
            } else if self.damaged == DamagedData::ForgetsAll {
                return Ok(StoredUsers::default());
            }
        }
        Ok(stored)
    }

    /// Replaces the content at once, so that a crash leaves the old one or the new one.
    ///
    /// # Errors
    ///
    /// The system's, where it does not let us write.
    pub(crate) fn write<'a>(&self, users: impl Iterator<Item = &'a User>, created: u64) -> io::Result<()> {
        let lines = [json!({ "created": created })].into_iter().chain(users.map(User::to_json));
        let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
        let folder = Folder::open(self.path.parent().unwrap_or(Path::new("")))?;
        let name = self.path.file_name().unwrap_or_default();
        folder.replace(name, (lines.join("\n") + "\n").as_bytes(), Access::Shared)
    }
}
