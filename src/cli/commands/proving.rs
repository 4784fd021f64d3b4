//! What a run leaves to be played back, and what is proven from it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::coverage::gates;
use crate::event::Proof;
use crate::plan::Plan;
use crate::prove::file::{self, RecordingHeader};
use crate::prove::{
    MISSING_MARK, MissingSuite, ProveError, ProveResult, ProveSettings, RecordedSecrets, RunRecording, missing_suites,
    prove,
};
use crate::redact::Redactor;
use crate::report::Survivors;
use crate::report::sink;
use crate::runner::{Options, Thresholds, redactor};
use crate::source::file::{RECORDED, WRITTEN, read_text};
use crate::source::nearest;
use crate::suite::why_unreadable;
use crate::taxonomy::{Registry, Variant};

/// Whether a run is written down, and what is proven from it.
#[derive(Debug, Args)]
pub(in crate::cli) struct ProvingArgs {
    /// Proves what the suite would catch, once it has run: every fault is imitated in the recorded traffic, and a case must turn red.
    #[arg(long)]
    pub(super) prove: bool,
    /// Writes the run into this file, so that `mcprove prove --recording FILE` needs no server.
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
    /// Tries only these mutants, by name, or all of a variant, a leaf or a family: `TOOL`, `FAULT-TIMEOUT-SLOW`, `answer-late`.
    #[arg(long, value_name = "NAME")]
    mutant: Vec<String>,
    /// Asks the real servers what the recording leaves open: starts them again and again, with a fault in front of them or in how they start.
    #[arg(long)]
    live: bool,
    /// How many survivors are shown with the lines that would kill them.
    #[arg(long, value_name = "WHICH", value_enum, default_value = "worst")]
    survivors: ShownMutants,
    /// Writes what would kill the survivors into this file: a suite that includes the one that was proven.
    #[arg(long, value_name = "FILE")]
    write_missing: Option<PathBuf>,
}

/// Which survivors are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShownMutants {
    /// The worst ten.
    Worst,
    /// All of them.
    All,
}

/// Whether a figure is gated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gating {
    /// By a threshold.
    Threshold,
    /// Not at all.
    None,
}

/// What is wanted of a proof.
pub(super) struct MutantChoice {
    /// The names of the mutants to try; `None` for all.
    pub(super) picks: Option<BTreeSet<String>>,
    pub(super) thresholds: Thresholds,
    pub(super) secrets: RecordedSecrets,
}

impl ProvingArgs {
    /// Whether anything is written down.
    pub(super) fn records(&self) -> bool {
        self.prove || self.record.is_some()
    }

    /// The files that are written.
    pub(super) fn targets(&self) -> impl Iterator<Item = &Path> {
        self.record.as_deref().into_iter().chain(self.write_missing.as_deref())
    }

    pub(super) fn survivors(&self) -> Survivors {
        match self.survivors {
            ShownMutants::Worst => Survivors::Worst,
            ShownMutants::All => Survivors::All,
        }
    }

    /// Writes the suites that kill the survivors; a file that somebody else wrote stays as it is.
    pub(super) fn write_missing(&self, proof: &Proof, plan: &Plan, output: &Output) -> Result<(), ()> {
        let Some(file) = &self.write_missing else { return Ok(()) };
        let suites = missing_suites(proof, plan, file, Path::new(""));
        if suites.is_empty() {
            output.note(&format!("`{}` was not written: no test is known that kills a survivor", file.display()));
        }
        for MissingSuite { path, text } in suites {
            let known = read_text(&path, WRITTEN).unwrap_or_default();
            if !known.is_empty() && !known.starts_with(MISSING_MARK) {
                let help = "it was not written by `--write-missing`; name another file, or move it away";
                output.error(&format!("`{}` is there already", path.display()), Some(help));
                return Err(());
            }
            sink::write(&path, &text).map_err(|error| output.error(&error.to_string(), None))?;
            output.note(&format!("written: {0}; see what it kills with `mcprove prove {0}`", path.display()));
        }
        Ok(())
    }

    /// Refuses what says nothing together.
    pub(super) fn refuse(&self, gate: Gating, output: &Output) -> Result<(), Exit> {
        let idle = [
            ("--mutant", !self.mutant.is_empty()),
            ("--write-missing", self.write_missing.is_some()),
            ("--live", self.live),
        ];
        if let Some((flag, _)) = idle.iter().find(|(_, is_given)| *is_given && !self.prove) {
            output.error(&format!("`{flag}` is about a proof, and nothing is to be proven"), Some("add `--prove`"));
            return Err(Exit::Usage);
        }
        if self.prove && !self.mutant.is_empty() && gate == Gating::Threshold {
            let help = "leave one of them out: the percentage of some mutants says nothing about the suite";
            output.error("`--threshold` cannot be used with `--mutant`", Some(help));
            return Err(Exit::Usage);
        }
        Ok(())
    }

    /// The names of the mutants that are to be tried.
    pub(super) fn wanted(&self, registry: &Registry, output: &Output) -> Result<Option<BTreeSet<String>>, Exit> {
        if self.mutant.is_empty() {
            return Ok(None);
        }
        let mut picks = BTreeSet::new();
        for word in &self.mutant {
            let named = mutants_named(word, registry);
            if named.is_empty() {
                let help = nearest(word, names(registry)).map(|name| format!("did you mean `{name}`?"));
                let help = help.or_else(|| Some("`docs/reference/faults.md` lists all of them".to_owned()));
                output.error(&format!("there is no mutant, variant, leaf or family `{word}`"), help.as_deref());
                return Err(Exit::Usage);
            }
            picks.extend(named);
        }
        Ok(Some(picks))
    }

    /// Proves what can be proven from a recording.
    pub(super) fn proven(
        &self,
        recording: RunRecording,
        (plan, registry): (&Plan, &Registry),
        (options, wanted): (&Options, MutantChoice),
        output: &Output,
    ) -> Result<ProveResult, Exit> {
        let MutantChoice { picks, thresholds, secrets } = wanted;
        let (redactor, workers) = (redactor(plan, options), options.processors);
        let proving = ProveSettings { plan, options, registry, redactor, workers, picks, secrets, live: self.live };
        let mut proven = prove(recording, &proving).map_err(|error| {
            output.error(&format!("nothing was proven: {error}"), None);
            if matches!(error, ProveError::Interrupted) { Exit::Interrupted } else { Exit::Internal }
        })?;
        proven.proof.gates = gates(&proven.proof.proven, thresholds.plain, thresholds.weighted);
        Ok(proven)
    }

    /// Writes the recording where one is wanted.
    pub(super) fn write(
        &self,
        plan: &Plan,
        (recording, redactor): (&RunRecording, &Redactor),
        output: &Output,
    ) -> Result<(), ()> {
        let Some(path) = &self.record else { return Ok(()) };
        let recording = recording.clone().without_secrets(redactor);
        sink::write(path, &file::write(&of(plan), &recording)).map_err(|error| {
            output.error(&error.to_string(), None);
        })
    }
}

/// What a plan is a plan of.
fn of(plan: &Plan) -> RecordingHeader {
    let suites = plan.suites.iter().map(|planned| planned.suite.file.clone()).collect();
    // What was typed to pick cases is no part of a suite.
    let texts = plan.sources.names().zip(plan.sources.texts()).filter(|(name, _)| !name.starts_with('<'));
    // A checkout with other line ends is the same suite.
    let texts: Vec<String> = texts.map(|(_, text)| text.replace("\r\n", "\n")).collect();
    RecordingHeader { suites, fingerprint: file::fingerprint(texts.iter().map(String::as_str)) }
}

/// The suites that a file is a recording of.
pub(super) fn suites_of(path: &Path, output: &Output) -> Result<(String, Vec<String>), Exit> {
    let refused = |reason: &str| {
        output.error(&format!("`{}` cannot be used: {reason}", path.display()), None);
        Exit::Usage
    };
    let text = read_text(path, RECORDED).map_err(|error| refused(&why_unreadable(&error)))?;
    let of = file::head(&text).map_err(|reason| refused(&reason))?;
    Ok((text, of.suites))
}

/// The recording in a file, if it is one of this plan.
pub(super) fn recording_of(path: &Path, text: &str, plan: &Plan, output: &Output) -> Result<RunRecording, Exit> {
    file::read(text, &of(plan).fingerprint).map_err(|reason| {
        output.error(&format!("`{}` cannot be used: {reason}", path.display()), None);
        Exit::Usage
    })
}

/// The mutants that a word names: one, or those of a variant, a leaf or a family.
fn mutants_named(word: &str, registry: &Registry) -> Vec<String> {
    let mut named = Vec::new();
    for family in &registry.families {
        for leaf in &family.leaves {
            for variant in &leaf.variants {
                let is_all = [&family.id, &leaf.id, &variant.id].into_iter().any(|id| id.eq_ignore_ascii_case(word));
                let mutants = variant.mutants().iter().filter(|mutant| is_all || mutant.id == word);
                named.extend(mutants.map(|mutant| mutant.id.clone()));
            }
        }
    }
    named
}

fn names(registry: &Registry) -> impl Iterator<Item = &str> {
    let leaves = || registry.families.iter().flat_map(|family| &family.leaves);
    let variants = || leaves().flat_map(|leaf| &leaf.variants);
    let mutants = variants().flat_map(Variant::mutants).map(|mutant| mutant.id.as_str());
    let families = registry.families.iter().map(|family| family.id.as_str());
    mutants.chain(families).chain(leaves().map(|leaf| leaf.id.as_str())).chain(variants().map(|one| one.id.as_str()))
}
