//! The flags about known failures: the file that is read, and the file that is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::exit::Exit;
use super::output::Output;
use crate::baseline::{self, Baseline, Writer};
use crate::report::sink;
use crate::source::{SourceFile, Sources, file};
use crate::suite::why_unreadable;

/// Which failures are known.
#[derive(Debug, Args)]
pub(super) struct BaselineArgs {
    /// Known failures that do not count; an entry that is no longer true fails the run.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Writes what fails in this run as a baseline; the file must not be there yet.
    #[arg(long, value_name = "FILE")]
    pub(super) write_baseline: Option<PathBuf>,
}

impl BaselineArgs {
    /// The files that are read.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.baseline.as_deref().into_iter()
    }

    /// Reads the baseline; what is wrong is shown. `now` is the time since 1970.
    pub(super) fn load(&self, now: Duration, output: &Output) -> Result<Arc<Baseline>, Exit> {
        if let Some(path) = self.write_baseline.as_ref().filter(|path| path.exists()) {
            let message =
                format!("`{}` is there already, and reasons that somebody wrote are not replaced", path.display());
            output.error(&message, Some("move it away, or name another file"));
            return Err(Exit::Usage);
        }
        let mut sources = Sources::default();
        let Some(path) = &self.baseline else {
            return Ok(Arc::default());
        };
        let text = file::read_text(path, file::WRITTEN).map_err(|error| {
            output.error(
                &format!("cannot read the baseline `{}`: {}", path.display(), why_unreadable(&error)),
                Some("`--write-baseline FILE` makes one of what fails now"),
            );
            Exit::Usage
        })?;
        let id = sources.add(SourceFile::new(path.display().to_string(), text));
        match baseline::load(&sources, id, u64::try_from(now.as_millis()).unwrap_or(u64::MAX)) {
            Ok((baseline, warnings)) => {
                output.diagnostics(&warnings, &sources);
                Ok(Arc::new(baseline))
            }
            Err(mistakes) => {
                output.diagnostics(&mistakes, &sources);
                Err(Exit::Usage)
            }
        }
    }

    /// Tells of entries that this run could not be held against.
    pub(super) fn tell(&self, unmatched: usize, output: &Output) {
        let Some(path) = self.baseline.as_ref().filter(|_| unmatched > 0) else { return };
        let (entries, name) = if unmatched == 1 { ("entry", "names") } else { ("entries", "name") };
        output.note(&format!("{unmatched} {entries} of `{}` {name} no case of this run", path.display()));
    }

    /// Writes what failed, where that was asked for.
    pub(super) fn write(&self, failures: &Writer, output: &Output) -> Result<(), ()> {
        let Some(path) = &self.write_baseline else { return Ok(()) };
        if let Err(error) = sink::write(path, &failures.text()) {
            output.error(&error.to_string(), None);
            return Err(());
        }
        let entries = if failures.len() == 1 { "1 failure".to_owned() } else { format!("{} failures", failures.len()) };
        output.note(&format!("{entries} written to `{0}`; `--baseline {0}` does not count them", path.display()));
        Ok(())
    }
}
