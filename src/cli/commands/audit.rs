//! `mcprove audit`: everything that mcprove can find out about a server that nobody wrote a suite for.
//!
//! It is the run of the ready-made suites that apply, with a proof at the end.

use clap::Args;

use super::adhoc::{AT_A_TIME, AdHocSettings, CallingArgs, key};
use super::ci::{CI_SUITES, ReadyMadeArgs};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::Verb;
use crate::files::FilePlace;
use crate::report::FailureOrder;
use crate::suite::AdHocCommand;

const VERB: Verb = Verb { command: AdHocCommand::Audit, does: "examine" };

/// The ready-made suites beside those of `mcprove ci`.
const MORE_SUITES: [&str; 4] = ["timeouts", "torture", "config", "faults"];

/// Examines a server with everything that needs no suite, and proves which faults that would catch.
///
/// Runs what `mcprove ci` runs, calls at a time, calls that are cancelled, hints of tools, and faults of the network; then
/// imitates faults in the recorded traffic, to show which of them nothing here would see. The worst findings come first,
/// each with its evidence and the command that shows it again; what was not judged is named with the flag that would
/// change that.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    ready_made: ReadyMadeArgs,
    /// Writes the suite that is run into this file, for `mcprove run FILE`; a file that is there is never changed.
    #[arg(long, value_name = "FILE")]
    save: Option<FilePlace>,
    /// Leaves out the proof.
    #[arg(long)]
    no_prove: bool,
    #[command(flatten)]
    on: CallingArgs,
}

pub(crate) fn audit(args: AuditArgs, console: &Console) -> Result<Exit, Exit> {
    let AuditArgs { ready_made, save, no_prove, mut on } = args;
    let mut own = AdHocSettings {
        serving: on.serving_of_all(),
        order: FailureOrder::WorstFirst,
        save,
        is_set_up: true,
        ..AdHocSettings::default()
    };
    own.block("run_options", [key("parallel", AT_A_TIME)]);
    own.ready_made(&CI_SUITES);
    own.ready_made(&MORE_SUITES);
    ready_made.apply_to(&mut own, console)?;
    own.flags.extend(no_prove.then(|| "--no-prove".to_owned()));
    on.run.proving.prove = !no_prove;
    on.run_with(VERB, own, console)
}
