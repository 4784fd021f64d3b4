//! `mcprove run --shard`: what a part of a run can be asked for.

use super::refused_flag::RefusedFlag;
use super::run::RunArgs;
use crate::cli::console::Console;
use crate::cli::exit::Exit;

/// Refuses what is about a whole run, and notes that a part which nobody records can be part of no verdict.
pub(super) fn check_shard(args: &RunArgs, console: &Console) -> Result<(), Exit> {
    if args.suites.shard.is_none() {
        return Ok(());
    }
    RefusedFlag::refuse(&REFUSED, "--shard", args, console)?;
    if !args.report.iter().any(|(format, _)| format.name == "ndjson") && args.proving.record.is_none() {
        let help = "`--report ndjson=FILE` records it for `mcprove merge`";
        console
            .note(&format!("warning: this part of the run is not recorded, so that no verdict can count it; {help}"));
    }
    Ok(())
}

const REFUSED: [RefusedFlag; 6] = [
    RefusedFlag {
        flag: "--threshold",
        is_given: |args| args.thresholds.is_set(),
        reason: "a threshold is about the coverage of a whole run",
        help: "give it to `mcprove merge`, which judges all parts",
    },
    RefusedFlag {
        flag: "--prove",
        is_given: |args| args.proving.prove,
        reason: "a fault that no case of a part notices may be noticed by one of another part",
        help: "record the suite once, and share the proof: `mcprove prove --recording FILE --shard 1/2 --write-part FILE`",
    },
    RefusedFlag {
        flag: "--write-baseline",
        is_given: |args| args.known.write_baseline.is_some(),
        reason: "a baseline is written once, from a whole run",
        help: "give it to `mcprove merge`",
    },
    RefusedFlag {
        flag: "--last-failed",
        is_given: |args| args.suites.last_failed,
        reason: "each machine remembers its own failures",
        help: "`--filter` selects the same cases on every machine",
    },
    RefusedFlag {
        flag: "--verify-isolation",
        is_given: RunArgs::verifies_isolation,
        reason: "cases that disturb each other may be in different parts",
        help: "run it without `--shard`",
    },
    RefusedFlag {
        flag: "--allow-unjudged",
        is_given: |args| args.allow_unjudged,
        reason: "tools are judged by all parts together",
        help: "give it to `mcprove merge`",
    },
];
