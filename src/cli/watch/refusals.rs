//! Flags that make no sense beside `--watch`, each with the reason.

use std::path::Path;

use crate::cli::commands::refused_flag::RefusedFlag;
use crate::cli::commands::run::RunArgs;
use crate::cli::console::Console;
use crate::cli::exit::Exit;

/// Refuses what belongs to one whole run, and what would wait for nobody.
pub(super) fn refuse_flags(args: &RunArgs, console: &Console) -> Result<(), Exit> {
    RefusedFlag::refuse(&REFUSED, "--watch", args, console)?;
    if console.environment.is_ci {
        let reason = "`--watch` waits for changes, and in CI nobody makes any";
        return Err(console.fail(Exit::Usage, reason, Some("leave out `--watch`")));
    }
    Ok(())
}

const REFUSED: [RefusedFlag; 8] = [
    RefusedFlag {
        flag: "--shard",
        is_given: |args| args.suites.shard.is_some(),
        reason: "a part of the cases is for one of several machines",
        help: "choose cases with `--filter`",
    },
    RefusedFlag {
        flag: "--prove",
        is_given: |args| args.proving.prove,
        reason: "a proof is about a whole run, and takes longer than a change",
        help: "prove the suite when it is done: `mcprove prove`",
    },
    RefusedFlag {
        flag: "--record",
        is_given: |args| args.proving.record.is_some(),
        reason: "a recording is one of a whole run, and most reruns are a part of one",
        help: "record a run without `--watch`",
    },
    RefusedFlag {
        flag: "--threshold",
        is_given: |args| args.thresholds.threshold.is_some() || args.thresholds.threshold_weighted.is_some(),
        reason: "a threshold is about the coverage of a whole run, and most reruns are a part of one",
        help: "leave it to a run without `--watch`, for example in CI",
    },
    RefusedFlag {
        flag: "--write-baseline",
        is_given: |args| args.known.write_baseline.is_some(),
        reason: "a baseline is written once, from a whole run",
        help: "write it in a run without `--watch`; `--baseline` goes with it",
    },
    RefusedFlag {
        flag: "--update",
        is_given: |args| args.recording.update,
        reason: "it would write the snapshots of every wrong answer while you work",
        help: "press `u` when the answers are right",
    },
    RefusedFlag {
        flag: "--keep",
        is_given: |args| args.keep,
        reason: "every rerun that fails would leave a folder",
        help: "keep the folder of a run without `--watch`",
    },
    RefusedFlag {
        flag: "--report FORMAT=-",
        is_given: |args| args.report.iter().any(|(_, place)| **place == *Path::new("-")),
        reason: "standard output would hold a document for each rerun",
        help: "write the report into a file, which each rerun writes anew",
    },
];
