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
            let texts: Vec<String> = checkups.iter().map(text).chain(of_several(&checkups)).collect();
            texts.join("\n")
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

/// The servers that are not ready, where several were examined.
fn of_several(checkups: &[Checkup]) -> Option<String> {
    let is_wrong = |checkup: &&Checkup| checkup.verdict() == ExaminationVerdict::Wrong;
    let wrong: Vec<_> = checkups.iter().filter(is_wrong).map(|checkup| visible_line(&checkup.server)).collect();
    let names = wrong.join(", ");
    let found = match wrong.len() {
        0 => "all are ready".to_owned(),
        1 => format!("1 is not ready: {names}"),
        many => format!("{many} are not ready: {names}"),
    };
    (checkups.len() > 1).then(|| format!("{} servers: {found}\n", checkups.len()))
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::doctor::Examination;

    #[test]
    fn several_servers_are_summed_up() {
        let checkup = |verdict, server: &str| {
            let examination = Examination {
                name: "start",
                verdict,
                sentence: String::new(),
                cure: None,
                evidence: Vec::new(),
                figures: BTreeMap::new(),
            };
            Checkup { server: server.to_owned(), examinations: vec![examination], not_reached: Vec::new() }
        };
        let fine = |server: &str| checkup(ExaminationVerdict::Fine, server);
        let wrong = |server: &str| checkup(ExaminationVerdict::Wrong, server);
        for (checkups, expected) in [
            (vec![wrong("a")], None),
            (vec![fine("a"), fine("b")], Some("2 servers: all are ready\n")),
            (vec![fine("a"), wrong("b")], Some("2 servers: 1 is not ready: b\n")),
            (vec![wrong("a"), fine("b"), wrong("c")], Some("3 servers: 2 are not ready: a, c\n")),
        ] {
            assert_eq!(of_several(&checkups).as_deref(), expected);
        }
    }
}
