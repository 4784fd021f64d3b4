//! `mcprove tools`: what a server offers, as typed signatures.

use clap::Args;
use serde_json::{Map, json};

use super::visiting::{CurrentStep, VisitWords, VisitedServers, plan_of, visit};
use crate::check::learning::{LearningTask, learn_arguments};
use crate::cli::console::{Console, ListFormat};
use crate::cli::exit::Exit;
use crate::cli::server::{ServerArgs, Verb};
use crate::event::Finding;
use crate::plan::BoxFuture;
use crate::runner::{ServerVisit, Visitor};
use crate::show::ShownOffer;
use crate::suite::AdHocCommand;

const VERB: Verb = Verb { command: AdHocCommand::Tools, does: "list" };

/// Lists what a server offers: tools as typed signatures, resources, templates and prompts; calls nothing, unless
/// `--learned` asks for arguments.
#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// The server: a URL, `demo`, after `--` the command that starts it, or a file with servers.
    #[arg(value_name = "SERVER")]
    words: Vec<String>,
    /// Lists only what has this name or matches this pattern, such as `log_*`; may be given several times.
    #[arg(long, short, value_name = "NAME")]
    name: Vec<String>,
    /// Calls the tools that only read, and shows arguments that each serves, or its refusal.
    #[arg(long)]
    learned: bool,
    /// The format of the list.
    #[arg(long, value_enum, default_value = "text")]
    format: ListFormat,
    #[command(flatten)]
    server: ServerArgs,
}

/// Lists the servers that it visits.
struct Lister {
    learns: bool,
}

impl Visitor for Lister {
    type Output = Option<ShownOffer>;

    fn is_patient(&self) -> bool {
        true
    }

    fn visit<'a>(&'a self, visit: ServerVisit<'a>) -> BoxFuture<'a, Result<Option<ShownOffer>, Finding>> {
        Box::pin(async move {
            let learning =
                if self.learns { Some(learn_arguments(&visit.context, LearningTask::all()).await) } else { None };
            Ok(ShownOffer::of(&visit, learning.as_ref()))
        })
    }
}

pub(crate) fn tools(args: &ToolsArgs, console: &Console) -> Result<Exit, Exit> {
    // Its cases list what is there, and call nothing.
    let members = Map::from_iter([("schema_lint".to_owned(), json!({}))]);
    let plan = plan_of(VERB, &args.words, &args.server, members, console)?;
    let words = VisitWords { undone: "nothing was listed", slow: None };
    let visitor = Lister { learns: args.learned };
    let VisitedServers { outputs, failed } = visit(plan, &visitor, &CurrentStep::default(), words, console)?;
    let mut offers: Vec<ShownOffer> = outputs.into_iter().flatten().collect();
    if offers.is_empty() {
        let message = "nothing was listed: the server speaks none of the revisions that were asked for";
        return Err(console.fail(Exit::Nothing, message, None));
    }
    if !args.name.is_empty() {
        for offer in &mut offers {
            offer.select(&args.name);
        }
        if offers.iter().all(ShownOffer::is_empty) {
            let message = format!("the server offers nothing that is named `{}`", args.name.join("` or `"));
            return Err(console.fail(Exit::Nothing, message, Some("leave out `--name` to list everything")));
        }
    }
    let listed = console.data(&match args.format {
        ListFormat::Text => offers.iter().map(|offer| offer.text(&console.style)).collect::<Vec<_>>().join("\n"),
        ListFormat::Json => {
            let servers: Vec<_> = offers.iter().map(ShownOffer::to_json).collect();
            format!("{:#}\n", json!({"format": 1, "servers": servers}))
        }
    });
    Ok(if failed.is_empty() { listed } else { Exit::Environment })
}
