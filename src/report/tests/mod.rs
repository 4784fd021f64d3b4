//! One recording in which everything happens, in every format.

mod documents;
mod files;
pub(crate) mod fixture;
pub(crate) mod machines;
mod parity;
pub(crate) mod proofs;
mod walls;

use std::path::{Path, PathBuf};

use crate::source::{SourceFile, Sources};

use super::{Report, ndjson};

/// The folder of the crate.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compares a file of the project with what the code makes; `UPDATE=1` writes it.
pub(crate) fn check_generated(path: &str, text: &str) {
    let path: PathBuf = root().join(path);
    #[expect(clippy::disallowed_methods, reason = "how a person asks a test to write what it makes")]
    if std::env::var("UPDATE").is_ok() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "{} differs from what the code makes; run again with UPDATE=1", path.display());
}

/// Reads a recording, as `mcprove report` does.
fn read(text: &str) -> Result<ndjson::EventRecording, String> {
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new("events.ndjson", text));
    ndjson::read_events(id, &sources).map_err(|problems| {
        let style = crate::source::Style::PLAIN;
        problems.iter().map(|problem| crate::source::render(problem, &sources, style)).collect()
    })
}

/// The report of the recording in `tests/fixtures`.
pub(crate) fn rich() -> Report {
    let text: String = fixture::events().iter().map(ndjson::line).collect();
    Report::of(&read(&text).unwrap().events)
}
