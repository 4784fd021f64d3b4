//! `mcprove doctor`: why a server does not work, and what to do about it.

use clap::Args;
use serde_json::{Map, Value, json};

use super::visiting::{CurrentStep, FailedServer, FailedServers, VisitWords, plan_of, work_with};
use crate::cli::console::{Console, ListFormat};
use crate::cli::exit::Exit;
use crate::cli::server::{ServerArgs, Verb};
use crate::doctor::{Checkup, ExaminationVerdict};
use crate::runner;
use crate::show::checkup_text;
use crate::source::visible_line;
use crate::suite::AdHocCommand;

const VERB: Verb = Verb { command: AdHocCommand::Doctor, does: "examine" };

/// Examines a server from its program or address to its end: what is wrong, and what to do about it; calls no tool.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The server: a URL, `demo`, after `--` the command that starts it, or a file with servers.
    #[arg(value_name = "SERVER")]
    words: Vec<String>,
    /// The format of the result.
    #[arg(long, value_enum, default_value = "text")]
    format: ListFormat,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) fn doctor(args: &DoctorArgs, console: &Console) -> Result<Exit, Exit> {
    // Only so that the servers are in the plan: none of its cases is run.
    let members = Map::from_iter([("schema_lint".to_owned(), json!({}))]);
    let plan = plan_of(VERB, &args.words, &args.server, members, console)?;
    let words = VisitWords { undone: "nothing was examined", slow: None };
    let (current, failures) = (CurrentStep::default(), FailedServers::AreReturned);
    let examined = work_with(plan, &current, words, failures, console, async |plan, options, doing| {
        Box::pin(runner::examine_servers(plan, options, doing)).await
    })?;
    let (checkups, failed) = (examined.outputs, examined.failed);
    let shown = console.data(&match args.format {
        ListFormat::Text => {
            let text = |checkup: &Checkup| {
                let text = checkup_text(checkup, &console.style);
                let name = visible_line(&checkup.server);
                if checkups.len() == 1 { text } else { format!("{name}\n{text}") }
            };
            checkups.iter().map(text).collect::<Vec<_>>().join("\n")
        }
        ListFormat::Json => {
            let examined = checkups.iter().map(Checkup::to_json);
            let servers: Vec<_> = examined.chain(failed.iter().map(failed_as_json)).collect();
            format!("{:#}\n", json!({"format": 1, "servers": servers}))
        }
    });
    let is_wrong = checkups.iter().any(|checkup| checkup.verdict() == ExaminationVerdict::Wrong);
    let verdict = match (!failed.is_empty(), is_wrong) {
        (true, _) => Exit::Environment,
        (false, true) => Exit::Findings,
        (false, false) => Exit::Passed,
    };
    Ok(if shown == Exit::Passed { verdict } else { shown })
}

/// A server whose settings cannot be used, in the form of a checkup.
fn failed_as_json(failed: &FailedServer) -> Value {
    let FailedServer { name, finding } = failed;
    json!({
        "name": name,
        "verdict": "not examined",
        "conclusion": finding.message,
        "next": finding.help,
        "examinations": [],
        "not_reached": [],
    })
}
