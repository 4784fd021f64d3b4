//! Flags that make no sense beside `--watch`, each with the reason.

use std::path::Path;

use crate::cli::commands::run::RunArgs;
use crate::cli::console::Console;
use crate::cli::exit::Exit;

/// Refuses what belongs to one whole run, and what would wait for nobody.
pub(super) fn refuse_flags(args: &RunArgs, console: &Console) -> Result<(), Exit> {
    let refused = REFUSALS.iter().find(|refusal| (refusal.is_given)(args));
    let reason = match refused {
        Some(Refusal { flag, reason, .. }) => format!("`{flag}` does not go with `--watch`: {reason}"),
        None if console.environment.is_ci => "`--watch` waits for changes, and in CI nobody makes any".to_owned(),
        None => return Ok(()),
    };
    let help = refused.map_or("leave out `--watch`", |refusal| refusal.help);
    Err(console.fail(Exit::Usage, reason, Some(help)))
}

struct Refusal {
    flag: &'static str,
    is_given: fn(&RunArgs) -> bool,
    reason: &'static str,
    help: &'static str,
}

const REFUSALS: [Refusal; 7] = [
    Refusal {
        flag: "--prove",
        is_given: |args| args.proving.prove,
        reason: "a proof is about a whole run, and takes longer than a change",
        help: "prove the suite when it is done: `mcprove prove`",
    },
    Refusal {
        flag: "--record",
        is_given: |args| args.proving.record.is_some(),
        reason: "a recording is one of a whole run, and most reruns are a part of one",
        help: "record a run without `--watch`",
    },
    Refusal {
        flag: "--threshold",
        is_given: |args| args.thresholds.threshold.is_some() || args.thresholds.threshold_weighted.is_some(),
        reason: "a threshold is about the coverage of a whole run, and most reruns are a part of one",
        help: "leave it to a run without `--watch`, for example in CI",
    },
    Refusal {
        flag: "--write-baseline",
        is_given: |args| args.known.write_baseline.is_some(),
        reason: "a baseline is written once, from a whole run",
        help: "write it in a run without `--watch`; `--baseline` goes with it",
    },
    Refusal {
        flag: "--update",
        is_given: |args| args.recording.update,
        reason: "it would write the snapshots of every wrong answer while you work",
        help: "press `u` when the answers are right",
    },
    Refusal {
        flag: "--keep",
        is_given: |args| args.keep,
        reason: "every rerun that fails would leave a folder",
        help: "keep the folder of a run without `--watch`",
    },
    Refusal {
        flag: "--report FORMAT=-",
        is_given: |args| args.report.iter().any(|(_, place)| **place == *Path::new("-")),
        reason: "standard output would hold a document for each rerun",
        help: "write the report into a file, which each rerun writes anew",
    },
];
