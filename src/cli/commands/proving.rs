//! What a run leaves to be played back, and what is proven from it.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::plan::Plan;
use crate::prove::file::{self, Of};
use crate::prove::{Proven, Proving, Recording, prove};
use crate::report::sink;
use crate::runner::{Options, redactor};
use crate::taxonomy::Registry;

/// Whether a run is written down, and what is proven from it.
#[derive(Debug, Args)]
pub(in crate::cli) struct ProvingArgs {
    /// Proves what the suite would catch, once it has run: every fault is imitated in the recorded traffic, and a case must turn red.
    #[arg(long)]
    pub(super) prove: bool,
    /// Writes the run into this file, so that `mcprove prove --recording FILE` needs no server.
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
}

impl ProvingArgs {
    /// Whether anything is written down.
    pub(super) fn records(&self) -> bool {
        self.prove || self.record.is_some()
    }

    /// Writes the recording where one is wanted.
    pub(super) fn write(&self, plan: &Plan, recording: &Recording, output: &Output) -> Result<(), ()> {
        let Some(path) = &self.record else { return Ok(()) };
        sink::write(path, &file::write(&of(plan), recording)).map_err(|error| {
            output.error(&error.to_string(), None);
        })
    }
}

/// What a plan is a plan of.
fn of(plan: &Plan) -> Of {
    let suites = plan.suites.iter().map(|planned| planned.suite.file.clone()).collect();
    // What was typed to pick cases is no part of a suite.
    let texts = plan.sources.names().zip(plan.sources.texts()).filter(|(name, _)| !name.starts_with('<'));
    Of { suites, fingerprint: file::fingerprint(texts.map(|(_, text)| text)) }
}

/// The suites that a file is a recording of.
pub(super) fn suites_of(path: &Path, output: &Output) -> Result<(String, Vec<String>), Exit> {
    let refused = |reason: &str| {
        output.error(&format!("`{}` cannot be used: {reason}", path.display()), None);
        Exit::Usage
    };
    let text = fs::read_to_string(path).map_err(|error| refused(&error.to_string()))?;
    let of = file::head(&text).map_err(|reason| refused(&reason))?;
    Ok((text, of.suites))
}

/// The recording in a file, if it is one of this plan.
pub(super) fn recording_of(path: &Path, text: &str, plan: &Plan, output: &Output) -> Result<Recording, Exit> {
    file::read(text, &of(plan).fingerprint).map_err(|reason| {
        output.error(&format!("`{}` cannot be used: {reason}", path.display()), None);
        Exit::Usage
    })
}

/// Proves what can be proven from a recording.
pub(super) fn proven(
    recording: Recording,
    (plan, registry): (&Plan, &Registry),
    options: &Options,
    output: &Output,
) -> Result<Proven, Exit> {
    let proving = Proving { plan, options, registry, redactor: redactor(plan, options), workers: options.processors };
    prove(recording, proving).map_err(|error| {
        output.error(&format!("nothing can be proven: the system gives no runtime ({error})"), None);
        Exit::Internal
    })
}
