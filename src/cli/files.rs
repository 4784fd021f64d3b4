//! The disk, for the layers that must not touch it.

use std::io;
use std::path::Path;

use crate::source::file;
use crate::suite::Files;

/// Reads suites and what they include.
pub(super) struct SuiteFiles;

impl Files for SuiteFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        file::read_text(path, file::WRITTEN)
    }
}
