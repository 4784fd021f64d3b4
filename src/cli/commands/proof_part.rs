//! `mcprove prove --shard`: one part of a proof from a recording, and one proof of all parts.

use std::path::{Path, PathBuf};

use clap::Args;

use super::refused_flag::RefusedFlag;
use super::run::RunArgs;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::files::FilePlace;
use crate::plan::ShardNumber;
use crate::prove::{NamedPart, ProofPart};
use crate::report::sink;
use crate::source::file::{RECORDED, read_text};
use crate::source::visible_line;
use crate::suite::why_unreadable;

/// A proof that several machines share.
#[derive(Debug, Args)]
pub(crate) struct ProofPartArgs {
    /// Tries the I-th of N parts of the mutants, so that N machines share a proof of one recording; `--parts` makes one proof of what they found.
    #[arg(long, value_name = "I/N", value_parser = ShardNumber::parse, requires_all = ["recording", "write_part"])]
    shard: Option<ShardNumber>,
    /// Writes what this part found into this file, for `--parts`.
    #[arg(long, value_name = "FILE", requires = "shard")]
    write_part: Option<FilePlace>,
    /// Makes one proof of these files, which `--write-part` wrote on every machine; tries no mutant again.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "recording", conflicts_with = "shard")]
    parts: Vec<PathBuf>,
}

impl ProofPartArgs {
    /// The part that is asked for, and the file for what it finds.
    pub(crate) fn wanted(&self) -> Option<(ShardNumber, &FilePlace)> {
        self.shard.zip(self.write_part.as_ref())
    }

    /// The file that is written.
    pub(crate) fn target(&self) -> Option<&Path> {
        self.write_part.as_deref()
    }

    /// The files that are read.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().map(PathBuf::as_path)
    }

    /// Refuses what is about a whole proof beside a part of one.
    pub(crate) fn check(&self, args: &RunArgs, console: &Console) -> Result<(), Exit> {
        match (&self.shard, self.parts.is_empty()) {
            (Some(_), _) => RefusedFlag::refuse(&BESIDE_SHARD, "--shard", args, console),
            (None, false) => RefusedFlag::refuse(&[LIVE, BUDGET], "--parts", args, console),
            (None, true) => Ok(()),
        }
    }

    /// The parts that other runs wrote.
    pub(crate) fn read(&self, console: &Console) -> Result<Vec<NamedPart>, Exit> {
        let read = self.parts.iter().map(|path| {
            let name = visible_line(&path.display().to_string()).into_owned();
            let text = read_text(path, RECORDED)
                .map_err(|error| format!("`{name}` cannot be read: {}", why_unreadable(&error)));
            let part = text.and_then(|text| ProofPart::parse(&text).map_err(|reason| format!("`{name}` {reason}")));
            match part {
                Ok(part) => Ok(NamedPart { name, part }),
                Err(reason) => Err(console.fail(Exit::Usage, reason, None)),
            }
        });
        read.collect()
    }
}

const LIVE: RefusedFlag = RefusedFlag {
    flag: "--live",
    is_given: |args| args.proving.live,
    reason: "the real servers have to answer one machine",
    help: "prove with `--live` in a job of its own",
};

const BUDGET: RefusedFlag = RefusedFlag {
    flag: "--budget",
    is_given: |args| args.budget.is_some(),
    reason: "no mutant is tried again",
    help: "give it to every part, with `--shard`",
};

const BESIDE_SHARD: [RefusedFlag; 5] = [
    LIVE,
    RefusedFlag {
        flag: "--threshold",
        is_given: |args| args.thresholds.is_set(),
        reason: "a threshold is about the whole proof",
        help: "give it to `mcprove prove --parts`, which has all parts",
    },
    RefusedFlag {
        flag: "--report",
        is_given: |args| !args.report.is_empty(),
        reason: "a report is about the whole proof",
        help: "give it to `mcprove prove --parts`, which has all parts",
    },
    RefusedFlag {
        flag: "--survivors",
        is_given: |args| args.proving.has_survivors(),
        reason: "survivors are shown once all parts are together",
        help: "give it to `mcprove prove --parts`",
    },
    RefusedFlag {
        flag: "--write-missing",
        is_given: |args| args.proving.write_missing.is_some(),
        reason: "which tests kill the most survivors follows from all parts",
        help: "give it to `mcprove prove --parts`",
    },
];

/// Writes what a part found, and says what makes a proof of it.
pub(crate) fn write_part(found: ProofPart, file: &FilePlace, console: &Console) -> Result<Exit, Exit> {
    let (title, tried, untried) = (found.title(), found.tried_count(), found.untried_count());
    sink::write(file, &found.text()).map_err(|error| console.fail(Exit::Environment, error, None))?;
    let late = if untried == 0 { String::new() } else { format!(", {untried} not, since `--budget` was over") };
    let tried = if tried == 1 {
        "1 kind of mutants was tried".to_owned()
    } else {
        format!("{tried} kinds of mutants were tried")
    };
    console.part(&format!(
        "{title} of the proof: {tried}{late}\n\
         next: the same command with `--parts FILES`, the files of all parts, instead of `--shard` and `--write-part`\n"
    ))?;
    Ok(Exit::Passed)
}
