//! The recording of a run, and the proof from it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Take};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::fault_coverage::ThresholdArgs;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::recorded_suites::RecordedSuites;
use crate::coverage::gates;
use crate::event::{Gate, Proof};
use crate::files::FilePlace;
use crate::plan::{Plan, ShardNumber};
use crate::prove::file::{self, RecordedParts, RecordedText, RecordingHeader, RecordingReader};
use crate::prove::{
    MISSING_MARK, MissingSuite, NamedPart, ProofPart, ProveError, ProveResult, ProveSettings, RecordedSecrets,
    RunRecording, missing_suites, prove, prove_from_parts, try_part,
};
use crate::redact::Redactor;
use crate::report::sink;
use crate::report::{MutantCounts, Survivors, Ticker};
use crate::runner::{Options, Thresholds, redactor, variables_in};
use crate::source::file::{RECORDED, WRITTEN, open, read_text};
use crate::source::{duration_text, nearest, visible_line};
use crate::suite::why_unreadable;
use crate::taxonomy::score::Score;
use crate::taxonomy::{Registry, Variant};

/// Recording and proof of a run.
#[derive(Debug, Args)]
pub(crate) struct ProvingArgs {
    /// After the run, proves which faults the suite would catch: imitates each of them in the recorded traffic and checks that a case fails.
    #[arg(long)]
    pub(crate) prove: bool,
    /// Records the run in this file, without secrets, for `report`, `mock`, `diff` and `prove --recording`, which need no server.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<FilePlace>,
    /// Tries only the mutants with this name, or those of this variant, leaf or family: `TOOL`, `FAULT-TIMEOUT-SLOW`, `answer-late`.
    #[arg(long, value_name = "NAME")]
    mutant: Vec<String>,
    /// Runs the mutants that the recording cannot decide against the real servers, which are restarted for each of them.
    #[arg(long)]
    pub(crate) live: bool,
    /// Which survivors are shown with the lines that would kill them; the worst by default.
    #[arg(long, value_name = "WHICH", value_enum)]
    survivors: Option<ShownMutants>,
    /// Writes the tests that would kill the survivors into this file: a suite that includes the proven one.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_missing: Option<FilePlace>,
}

/// Which survivors are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShownMutants {
    /// The worst ten.
    Worst,
    /// All of them.
    All,
}

/// A recording that is to be proven.
pub(crate) struct ProofRequest<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) registry: &'a Registry,
    pub(crate) options: &'a Options,
    /// The names of the mutants to try; `None` for all.
    pub(crate) mutants: Option<BTreeSet<String>>,
    pub(crate) secrets: RecordedSecrets,
    /// The time for mutants; `None` for all that it takes.
    pub(crate) time: Option<Duration>,
}

impl<'a> ProofRequest<'a> {
    fn settings(self, live: bool) -> ProveSettings<'a> {
        let Self { plan, registry, options, mutants: picks, secrets, time } = self;
        let (redactor, workers) = (redactor(plan, options), options.processors);
        ProveSettings { plan, options, registry, redactor, secrets, workers, picks, live, time }
    }
}

impl ProvingArgs {
    /// Returns true if the run is recorded.
    pub(crate) fn records(&self) -> bool {
        self.prove || self.record.is_some()
    }

    /// The files that are written.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &Path> {
        self.record.as_deref().into_iter().chain(self.write_missing.as_deref())
    }

    /// Returns true if a flag says which survivors are shown.
    pub(crate) fn has_survivors(&self) -> bool {
        self.survivors.is_some()
    }

    pub(crate) fn survivors(&self) -> Survivors {
        match self.survivors {
            Some(ShownMutants::Worst) | None => Survivors::Worst,
            Some(ShownMutants::All) => Survivors::All,
        }
    }

    /// Writes the suites that kill the survivors; a file that was not written by this flag stays as it is.
    pub(crate) fn write_missing(&self, proof: &Proof, plan: &Plan, console: &Console) -> Result<(), Exit> {
        let Some(file) = &self.write_missing else { return Ok(()) };
        let suites = missing_suites(proof, plan, file, Path::new(""));
        if suites.is_empty() {
            console.note(&format!("`{}` was not written: mcprove knows no test that kills a survivor", file.display()));
        }
        for MissingSuite { path, text } in suites {
            let is_file = *path == **file;
            let place = if is_file { file.clone() } else { file.beside(path.file_name().unwrap_or_default()) };
            let known = read_text(&path, WRITTEN).unwrap_or_default();
            if !known.is_empty() && !known.starts_with(MISSING_MARK) {
                let help = "it was not written by `--write-missing`; name another file, or move it away";
                return Err(console.fail(Exit::Usage, format!("`{}` already exists", path.display()), Some(help)));
            }
            sink::write(&place, &text).map_err(|error| console.fail(Exit::Environment, error, None))?;
            console.note(&format!("wrote `{0}`; `mcprove prove {0}` shows the mutants that it kills", path.display()));
        }
        Ok(())
    }

    /// Refuses flags that have no effect together.
    pub(crate) fn check(&self, thresholds: &ThresholdArgs, console: &Console) -> Result<(), Exit> {
        let only_with_proof = [
            ("--mutant", !self.mutant.is_empty()),
            ("--write-missing", self.write_missing.is_some()),
            ("--live", self.live),
            ("--survivors", self.survivors.is_some()),
        ];
        if let Some((flag, _)) = only_with_proof.iter().find(|(_, is_given)| *is_given && !self.prove) {
            return Err(console.fail(Exit::Usage, format!("`{flag}` needs `--prove`"), Some("add `--prove`")));
        }
        if self.prove && !self.mutant.is_empty() && thresholds.is_set() {
            let help = "remove one of them: the percentage of some mutants says nothing about the suite";
            return Err(console.fail(Exit::Usage, "`--threshold` cannot be used with `--mutant`", Some(help)));
        }
        Ok(())
    }

    /// The names of the mutants to try; `None` for all.
    pub(crate) fn mutants(&self, registry: &Registry, console: &Console) -> Result<Option<BTreeSet<String>>, Exit> {
        let mut mutants = BTreeSet::new();
        for word in &self.mutant {
            let named = mutants_named(word, registry);
            if let Some(variant) = registry.variant(word).filter(|_| named.is_empty()) {
                let message = format!("the variant `{word}` has no mutants, so `--mutant` cannot pick it");
                return Err(console.fail(Exit::Usage, message, variant.unplanted.as_deref()));
            }
            if named.is_empty() {
                let help = nearest(word, names(registry)).map(|name| format!("did you mean `{name}`?"));
                let help =
                    help.unwrap_or_else(|| "`mcprove serve faulty --list` lists variants that can be named".to_owned());
                let message = format!("there is no mutant, variant, leaf or family `{word}`");
                return Err(console.fail(Exit::Usage, message, Some(&help)));
            }
            mutants.extend(named);
        }
        Ok((!self.mutant.is_empty()).then_some(mutants))
    }

    /// Proves what can be proven from a recording.
    pub(crate) fn prove_recording(
        &self,
        recording: RunRecording,
        request: ProofRequest<'_>,
        thresholds: &ThresholdArgs,
        console: &Console,
    ) -> Result<ProveResult, Exit> {
        let proven = prove(recording, &request.settings(self.live)).map_err(|error| unproven(error, console))?;
        Ok(gated(proven, thresholds))
    }

    /// Makes one proof of what several machines found, from the same recording.
    pub(crate) fn prove_from_parts(
        &self,
        recording: RunRecording,
        parts: Vec<NamedPart>,
        request: ProofRequest<'_>,
        thresholds: &ThresholdArgs,
        console: &Console,
    ) -> Result<ProveResult, Exit> {
        let proven = prove_from_parts(recording, &request.settings(self.live), parts);
        Ok(gated(proven.map_err(|error| unproven(error, console))?, thresholds))
    }

    /// Tries the mutants of one part of a proof.
    pub(crate) fn try_part(
        &self,
        recording: RunRecording,
        number: ShardNumber,
        request: ProofRequest<'_>,
        console: &Console,
    ) -> Result<ProofPart, Exit> {
        try_part(recording, &request.settings(self.live), number).map_err(|error| unproven(error, console))
    }

    /// Proves in a line what can be proven in this time; the line says what to do next.
    pub(crate) fn prove_briefly(
        &self,
        recording: RunRecording,
        request: ProofRequest<'_>,
        thresholds: &ThresholdArgs,
        console: &Console,
    ) -> Result<(), Exit> {
        let suite = request.plan.suites.first().map(|planned| planned.suite.file.clone()).unwrap_or_default();
        let _ticker = Ticker::start(|elapsed| format!("… {}: proving the suite\n", duration_text(elapsed)));
        let ProveResult { proof, .. } = self.prove_recording(recording, request, thresholds, console)?;
        let line = proof_line(MutantCounts::of(&proof.mutants), &suite);
        line.map_or(Ok(()), |line| console.part(&line))
    }

    /// Writes the recording, if `--record` asks for it; says if messages are missing in it.
    pub(crate) fn write_recording(
        &self,
        (plan, registry): (&Plan, &Registry),
        recording: RunRecording,
        events: &str,
        redactor: &Redactor,
        console: &Console,
    ) -> Result<(), Exit> {
        let Some(path) = &self.record else { return Ok(()) };
        let texts: Vec<RecordedText> =
            suite_texts(plan).filter_map(|(file, text)| RecordedText::without_secrets(file, text, redactor)).collect();
        let recording = &recording.without_secrets(redactor);
        let header = RecordingHeader { taxonomy: registry.taxonomy.to_string(), ..header(plan) };
        let text = file::write(&header, RecordedParts { texts: &texts, recording, events });
        sink::write(path, &text).map_err(|error| console.fail(Exit::Environment, error, None))?;
        if let Some(lack) = recording.lack() {
            let path = path.display().to_string();
            console.note(&format!("`{}` {lack}; `--filter` records the suite in parts", visible_line(&path)));
        }
        Ok(())
    }
}

/// A proof that is held to thresholds.
fn gated(mut proven: ProveResult, thresholds: &ThresholdArgs) -> ProveResult {
    let Thresholds { plain, weighted } = thresholds.values();
    let proof = &mut proven.proof;
    let is_open = proof.untried_count() > 0;
    let gates_of = |score: &Score| -> Vec<Gate> {
        let found = gates(score, plain, weighted).into_iter();
        found.map(|gate| if is_open { gate.with_more_to_come() } else { gate }).collect()
    };
    if proof.suites.is_empty() {
        proof.gates = gates_of(&proof.proven);
    }
    for suite in &mut proof.suites {
        suite.gates = gates_of(&suite.proven);
    }
    proven
}

fn unproven(error: ProveError, console: &Console) -> Exit {
    match error {
        ProveError::NotTheParts(reasons) => {
            for reason in reasons {
                console
                    .error(&reason, Some("every part needs the same recording and flags, and its file is named once"));
            }
            Exit::Usage
        }
        ProveError::Interrupted => console.fail(Exit::Interrupted, format!("nothing was proven: {error}"), None),
        ProveError::NoRuntime(_) => console.fail(Exit::Internal, format!("nothing was proven: {error}"), None),
    }
}

/// How many mutants were killed, and the command that shows the others; `None` where none was decided.
fn proof_line(counts: MutantCounts, suite: &str) -> Option<String> {
    let is_whole = counts.untried == 0;
    let (killed, decided) = (counts.killed_count(), counts.killed_count() + counts.survived);
    let tried = if is_whole { "" } else { " that were tried" };
    let suite = shell_words::quote(suite);
    let next = match (counts.survived, is_whole) {
        (0, true) => return (decided > 0).then(|| format!("proven: {killed} of {decided} mutants killed\n")),
        (0, false) => format!("`mcprove prove {suite}` tries all of them"),
        (_, true) => format!("`mcprove prove {suite}` shows the survivors, and tests that would kill them"),
        (_, false) => format!("`mcprove prove {suite}` tries all, and suggests tests that would kill the survivors"),
    };
    (decided > 0).then(|| format!("proven: {killed} of {decided} mutants{tried} killed; {next}\n"))
}

fn header(plan: &Plan) -> RecordingHeader {
    // A checkout with other line ends is the same suite.
    let texts: Vec<String> = suite_texts(plan).map(|(_, text)| text.replace("\r\n", "\n")).collect();
    let variables: BTreeSet<String> = texts.iter().flat_map(|text| variables_in(text)).collect();
    RecordingHeader {
        suites: plan.suites.iter().map(|planned| planned.suite.file.clone()).collect(),
        fingerprint: file::fingerprint(texts.iter().map(String::as_str)),
        environment: variables.into_iter().collect(),
        ..RecordingHeader::default()
    }
}

/// The files of a plan's suites, with their texts.
fn suite_texts(plan: &Plan) -> impl Iterator<Item = (&str, &str)> {
    // Filters of the command line are no part of a suite.
    plan.sources.names().zip(plan.sources.texts()).filter(|(name, _)| !name.starts_with('<'))
}

/// A recording whose first line was read, before its plan is known.
pub(crate) struct RecordingFile<'a> {
    path: &'a Path,
    reader: RecordingReader<BufReader<Take<File>>>,
}

impl<'a> RecordingFile<'a> {
    pub(crate) fn open(path: &'a Path, console: &Console) -> Result<Self, Exit> {
        let file = open(path, RECORDED).map_err(|error| unusable(path, &why_unreadable(&error), console))?;
        let reader = RecordingReader::new(BufReader::new(file)).map_err(|reason| unusable(path, &reason, console))?;
        Ok(Self { path, reader })
    }

    /// The suites that were recorded, with the files that they are made of; refuses a recording of another program.
    pub(crate) fn recorded_suites(&mut self, console: &Console) -> Result<RecordedSuites, Exit> {
        let texts = self.reader.require_this_program().and_then(|()| self.reader.texts());
        let texts = texts.map_err(|reason| unusable(self.path, &reason, console))?;
        let texts = texts.into_iter().map(|recorded| (PathBuf::from(recorded.file), recorded.text)).collect();
        let RecordingHeader { suites, fingerprint, .. } = &self.reader.header;
        Ok(RecordedSuites {
            files: suites.iter().map(PathBuf::from).collect(),
            fingerprint: fingerprint.clone(),
            texts,
        })
    }

    /// The recording of a run, whatever its suite; says if messages are missing.
    pub(crate) fn run(self, console: &Console) -> Result<RunRecording, Exit> {
        let run = self.reader.run().map_err(|reason| unusable(self.path, &reason, console))?;
        if let Some(lack) = run.lack() {
            console.note(&format!("`{}` {lack}", visible_line(&self.path.display().to_string())));
        }
        Ok(run)
    }

    /// The events of a run, one a line.
    pub(crate) fn events(self, console: &Console) -> Result<String, Exit> {
        self.reader.events().map_err(|reason| unusable(self.path, &reason, console))
    }

    /// The recording of its own suites.
    pub(crate) fn recording_of_own_suites(self, console: &Console) -> Result<RunRecording, Exit> {
        self.reader.run().map_err(|reason| unusable(self.path, &reason, console))
    }

    /// The recording, if it is one of this plan.
    pub(crate) fn recording(self, plan: &Plan, console: &Console) -> Result<RunRecording, Exit> {
        let is_ours = self.reader.require_this_program();
        let read = is_ours.and_then(|()| file::parse_recording(self.reader, &header(plan).fingerprint));
        read.map_err(|reason| unusable(self.path, &reason, console))
    }
}

fn unusable(path: &Path, reason: &str, console: &Console) -> Exit {
    console.fail(Exit::Usage, format!("`{}` cannot be used: {reason}", visible_line(&path.display().to_string())), None)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_killed_and_what_to_do_next() {
        let line = |killed_by_expectations, survived, untried| {
            let counts = MutantCounts { killed_by_expectations, survived, untried, ..MutantCounts::default() };
            proof_line(counts, "my users.yml")
        };
        for (killed, survived, untried, expected) in [
            (0, 0, 0, None),
            (0, 0, 9, None),
            (4, 0, 0, Some("4 of 4 mutants killed")),
            (4, 0, 9, Some("4 of 4 mutants that were tried killed; `mcprove prove 'my users.yml'` tries all of them")),
            (
                3,
                1,
                0,
                Some(
                    "3 of 4 mutants killed; `mcprove prove 'my users.yml'` shows the survivors, and tests that would kill them",
                ),
            ),
        ] {
            let expected = expected.map(|expected| format!("proven: {expected}\n"));
            assert_eq!(line(killed, survived, untried), expected);
        }
    }
}
