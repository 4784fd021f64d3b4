//! The flags about known failures: the file that is read, and the file that is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::console::Console;
use super::exit::Exit;
use crate::baseline::{self, Baseline, BaselineWriter};
use crate::files::FilePlace;
use crate::report::sink;
use crate::source::file::WRITTEN;

/// Which failures are known.
#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    /// A file of known failures, which do not count; a known failure that no longer occurs fails the run.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Writes the failures of this run as a baseline; the file must not exist yet.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<FilePlace>,
}

impl BaselineArgs {
    /// The files that are read.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.baseline.as_deref().into_iter()
    }

    /// Reads the baseline; `now` is the time since 1970.
    pub(crate) fn load(&self, now: Duration, console: &Console) -> Result<Arc<Baseline>, Exit> {
        if let Some(path) = self.write_baseline.as_ref().filter(|path| path.exists()) {
            let message = format!("`{}` already exists; its reasons would be lost", path.display());
            return Err(console.fail(Exit::Usage, message, Some("move it away, or name another file")));
        }
        let Some(path) = &self.baseline else { return Ok(Arc::default()) };
        let help = "`--write-baseline FILE` writes a baseline of the current failures";
        let (sources, id) = console.read("baseline", path, WRITTEN, Some(help))?;
        let loaded = baseline::load(&sources, id, u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
        let (baseline, warnings) = loaded.map_err(|mistakes| console.refuse(&mistakes, &sources))?;
        console.diagnostics(&warnings, &sources);
        Ok(Arc::new(baseline))
    }

    /// Notes entries that match no case of this run.
    pub(crate) fn note_unmatched(&self, unmatched: usize, console: &Console) {
        let Some(path) = self.baseline.as_ref().filter(|_| unmatched > 0) else { return };
        let entries = if unmatched == 1 { "entry matches" } else { "entries match" };
        console.note(&format!("`{}`: {unmatched} {entries} no case of this run", path.display()));
    }

    /// Writes the failures, if `--write-baseline` asks for it.
    pub(crate) fn write(&self, failures: &BaselineWriter, console: &Console) -> Result<(), Exit> {
        let Some(path) = &self.write_baseline else { return Ok(()) };
        sink::write(path, &failures.text()).map_err(|error| console.fail(Exit::Environment, error, None))?;
        let entries = if failures.len() == 1 { "1 failure".to_owned() } else { format!("{} failures", failures.len()) };
        console.note(&format!("wrote {entries} to `{0}`; with `--baseline {0}` they do not count", path.display()));
        Ok(())
    }
}
