//! One part of a proof that several machines share: each of them tries some of the mutants, and one proof is made of all trials.
//!
//! The trial of a mutant follows from the recording, the suite and the mutant alone, so it does not matter which machine
//! makes it. Everything that looks at several mutants, such as the table of faults and the additions, comes after that.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::mutation_runner::{MutantJob, OperatorTrial};
use super::recording::file::PROGRAM;
use super::recording::{BrokenSeal, Seal, SealedWriter};
use crate::event::Verdict;
use crate::plan::{PartFile, ShardNumber, missing, repeated};
use crate::runner::Options;
use crate::source::{FNV, fnv, hash_text, visible_line};

/// The version of this format.
const FORMAT: u64 = 1;

/// The mutants that one machine tried, and what it found.
#[derive(Debug)]
pub struct ProofPart {
    pub(super) of: PartIdentity,
    pub(super) number: u32,
    pub(super) count: u32,
    /// In the order of the registry.
    pub(super) trials: Vec<OperatorTrial>,
}

/// A part that was read from a file.
#[derive(Debug)]
pub struct NamedPart {
    /// The name of the file.
    pub name: String,
    /// What it holds.
    pub part: ProofPart,
}

/// What all parts of one proof have in common; hashes, but for the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartIdentity {
    program: String,
    recording: String,
    mutants: String,
    /// Those that can kill.
    cases: String,
    baseline: Option<String>,
    /// The time for a case that a flag gives, in milliseconds.
    timeout_ms: Option<u128>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PartLine {
    ProofPart { format: u64, of: PartIdentity, number: u32, count: u32 },
    Trial(Box<OperatorTrial>),
    End(usize),
}

/// The mutants of a part: each N-th, so that every part has some of each family.
pub(super) fn jobs_of<'a>(jobs: &[MutantJob<'a>], part: ShardNumber) -> Vec<MutantJob<'a>> {
    every(jobs.len(), part.number(), part.count()).map(|at| jobs[at]).collect()
}

/// The places of what a part has.
fn every(all: usize, number: u32, count: u32) -> impl Iterator<Item = usize> {
    let index = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    (index(number) - 1..all).step_by(index(count))
}

impl PartIdentity {
    pub(super) fn new(recording: Seal, jobs: &[MutantJob<'_>], cases: &BTreeSet<String>, options: &Options) -> Self {
        let hash = |texts: &mut dyn Iterator<Item = String>| {
            hash_text(texts.fold(FNV, |hash, text| fnv(fnv(hash, text.as_bytes()), &[0])))
        };
        Self {
            program: PROGRAM.to_owned(),
            recording: recording.to_string(),
            mutants: hash(&mut jobs.iter().map(|job| format!("{} {:?}", job.variant.id, job.mutant))),
            cases: hash(&mut cases.iter().cloned()),
            baseline: options.baseline.hash(),
            timeout_ms: options.timeout.map(|time| time.as_millis()),
        }
    }

    /// The way in which a part is one of another proof than this; `None` if it is one of this.
    fn difference(&self, part: &Self) -> Option<String> {
        let Self { program, recording, mutants, cases, baseline, timeout_ms } = self;
        let (other, this) = (visible_line(&part.program), visible_line(program));
        let ways = [
            (program == &part.program, format!("was made by {other}, and this is {this}")),
            (recording == &part.recording, "is part of a proof of another recording".to_owned()),
            (mutants == &part.mutants, "was made with another `--mutant` or `--registry`".to_owned()),
            (timeout_ms == &part.timeout_ms, "was made with another `--timeout`".to_owned()),
            (cases == &part.cases, "was made with another selection of cases".to_owned()),
            (baseline == &part.baseline, "was made with another `--baseline`".to_owned()),
        ];
        ways.into_iter().find(|(is_same, _)| !is_same).map(|(_, way)| way)
    }
}

impl ProofPart {
    /// Its name in sentences: `part 2 of 4`.
    pub fn title(&self) -> String {
        format!("part {} of {}", self.number, self.count)
    }

    /// The number of operators that were tried, or need no trial.
    pub fn tried_count(&self) -> usize {
        self.trials.len() - self.untried_count()
    }

    /// The number of operators for which there was no time.
    pub fn untried_count(&self) -> usize {
        self.trials.iter().filter(|trial| trial.result.verdict == Verdict::Untried).count()
    }

    /// Its text.
    pub fn text(self) -> String {
        let Self { of, number, count, trials } = self;
        let mut sealed = SealedWriter::default();
        let tried = trials.len();
        sealed.line(PartLine::ProofPart { format: FORMAT, of, number, count });
        for trial in trials {
            sealed.line(PartLine::Trial(Box::new(trial)));
        }
        sealed.line(PartLine::End(tried));
        sealed.text
    }

    /// Reads the text of a part.
    ///
    /// # Errors
    ///
    /// Fails with the reason, as the end of a sentence about the file.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut seal = Seal::default();
        let mut lines = text.lines().enumerate().map(|(at, line)| {
            let unsealed = seal.take_off(line).map_err(|broken| match broken {
                BrokenSeal::Cut => CUT.to_owned(),
                BrokenSeal::Changed => format!("was changed in line {} after it was written", at + 1),
            });
            unsealed.and_then(|line| serde_json::from_str::<PartLine>(&line).map_err(|_| NO_PART.to_owned()))
        });
        if !text.starts_with("{\"proof-part\":") {
            return Err(NO_PART.to_owned());
        }
        let Some(PartLine::ProofPart { format: FORMAT, of, number, count }) = lines.next().transpose()? else {
            return Err("was made by another version of mcprove".to_owned());
        };
        let mut trials = Vec::new();
        while let Some(line) = lines.next() {
            match line? {
                PartLine::Trial(trial) => trials.push(*trial),
                PartLine::End(tried) if tried == trials.len() && lines.next().is_none() => {
                    return Ok(Self { of, number, count, trials });
                }
                PartLine::End(_) | PartLine::ProofPart { .. } => return Err(NO_PART.to_owned()),
            }
        }
        Err(CUT.to_owned())
    }
}

const NO_PART: &str =
    "is no part of a proof; `mcprove prove --recording FILE --shard 1/4 --write-part FILE` writes one";
const CUT: &str = "has no end: the run that wrote it was cut off, or the file was";

/// The trials of all parts in the order of the mutants; every reason why they make no proof, where they make none.
pub(super) fn join(
    parts: Vec<NamedPart>,
    of: &PartIdentity,
    jobs: &[MutantJob<'_>],
) -> Result<Vec<OperatorTrial>, Vec<String>> {
    let files: Vec<PartFile<'_>> = parts
        .iter()
        .map(|NamedPart { name, part }| PartFile { name, number: part.number, count: part.count })
        .collect();
    let first = files.first().map_or(0, |file| file.count);
    let mut mistakes: Vec<String> = parts
        .iter()
        .zip(&files)
        .filter_map(|(NamedPart { name, part }, file)| {
            let way = of.difference(&part.of).or_else(|| {
                let is_odd = file.count != first;
                is_odd.then(|| format!("is one of {} parts, and `{}` one of {first}", file.count, files[0].name))
            });
            let tried = || part.trials.iter().map(|trial| trial.result.id.as_str());
            let own = || every(jobs.len(), part.number, part.count).map(|at| jobs[at].mutant.id.as_str());
            let is_complete = || file.is_possible() && own().eq(tried());
            let way = way.or_else(|| (!is_complete()).then(|| "does not have the mutants of its part".to_owned()))?;
            Some(format!("`{name}` {way}"))
        })
        .collect();
    if mistakes.is_empty() {
        mistakes.extend(repeated(&files));
        mistakes.extend(missing(&files));
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let mut trials: Vec<Option<OperatorTrial>> = jobs.iter().map(|_| None).collect();
    for NamedPart { part, .. } in parts {
        for (at, trial) in every(jobs.len(), part.number, part.count).zip(part.trials) {
            trials[at] = Some(trial);
        }
    }
    Ok(trials.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::MutantResult;
    use crate::runner::Stop;

    fn identity() -> PartIdentity {
        PartIdentity::new(Seal::default(), &[], &BTreeSet::new(), &Options::new(0, Stop::new().1))
    }

    fn part(number: u32, count: u32, trials: Vec<OperatorTrial>) -> ProofPart {
        ProofPart { of: identity(), number, count, trials }
    }

    fn trial(verdict: Verdict) -> OperatorTrial {
        let result = MutantResult {
            id: "answer-late".to_owned(),
            meaning: String::new(),
            variant: String::new(),
            leaf: String::new(),
            verdict,
            live: false,
            only_on_stderr: false,
            reason: None,
            change: Vec::new(),
            mutants: Vec::new(),
            missing: Vec::new(),
        };
        OperatorTrial { result, sites: Vec::new(), gaps: Vec::new() }
    }

    #[test]
    fn what_is_written_can_be_read_and_what_was_touched_is_refused() {
        let text = part(2, 3, vec![trial(Verdict::Survived), trial(Verdict::Untried)]).text();
        let read = ProofPart::parse(&text).unwrap();
        assert_eq!((read.title().as_str(), read.tried_count(), read.untried_count()), ("part 2 of 3", 1, 1));
        let lines: Vec<&str> = text.lines().collect();
        for (text, expected) in [
            (text.replace("survived", "killed"), "was changed in line 2 after it was written"),
            ([lines[0], lines[2], lines[3]].join("\n"), "was changed in line 2 after it was written"),
            (lines[..3].join("\n"), CUT),
            (text[..text.len() - 9].to_owned(), CUT),
            (text.repeat(2), NO_PART),
            (text.replacen("\"format\":1", "\"format\":2", 1), "was changed in line 1 after it was written"),
            ("suite: a\n".to_owned(), NO_PART),
            (String::new(), NO_PART),
        ] {
            assert_eq!(ProofPart::parse(&text).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn every_operator_is_in_one_part() {
        for (all, count) in [(0, 3), (1, 3), (7, 3), (9, 1), (3, u32::MAX)] {
            let mut places: Vec<usize> = (1..=count.min(9)).flat_map(|number| every(all, number, count)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..all).collect::<Vec<_>>(), "{all} {count}");
        }
    }

    #[test]
    fn parts_of_something_else_are_refused() {
        let named = |name: &str, part: ProofPart| NamedPart { name: name.to_owned(), part };
        let of_other = |change: fn(&mut PartIdentity)| {
            let mut other = part(1, 1, Vec::new());
            change(&mut other.of);
            other
        };
        for (parts, expected) in [
            (vec![("a", part(1, 1, Vec::new()))], Ok(0)),
            (vec![("a", part(1, 2, Vec::new())), ("b", part(2, 2, Vec::new()))], Ok(0)),
            (vec![("a", part(1, 2, Vec::new()))], Err("part 2 of 2 is missing")),
            (vec![("a", part(0, 2, Vec::new()))], Err("`a` does not have the mutants of its part")),
            (vec![("a", part(1, 1, vec![trial(Verdict::Killed)]))], Err("`a` does not have the mutants of its part")),
            (
                vec![("a", part(1, 1, Vec::new())), ("b", part(1, 2, Vec::new()))],
                Err("`b` is one of 2 parts, and `a` one of 1"),
            ),
            (
                vec![("a", of_other(|of| of.recording = String::new()))],
                Err("`a` is part of a proof of another recording"),
            ),
            (vec![("a", of_other(|of| of.timeout_ms = Some(3)))], Err("`a` was made with another `--timeout`")),
            (
                vec![("a", of_other(|of| of.baseline = Some(String::new())))],
                Err("`a` was made with another `--baseline`"),
            ),
            (vec![("a", of_other(|of| of.cases = String::new()))], Err("`a` was made with another selection of cases")),
        ] {
            let parts = parts.into_iter().map(|(name, part)| named(name, part)).collect();
            let joined = join(parts, &identity(), &[]).map(|trials| trials.len()).map_err(|reasons| reasons.join("; "));
            assert_eq!(joined, expected.map_err(str::to_owned));
        }
    }
}
