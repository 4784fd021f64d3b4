//! The setup of a suite that is made from the command line, found by calling the server before the run is planned.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::visiting::{CurrentStep, FailedServers, VisitWords, plan_of_server, work_with};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::AdHocServer;
use crate::event::Finding;
use crate::init::{FoundSetup, find_setup};
use crate::plan::BoxFuture;
use crate::runner::{self, ServerVisit, Visitor};
use crate::source::visible_line;

const WORDS: VisitWords = VisitWords { undone: "nothing was run", slow: None };

/// The most time for it, and the share of a run's time.
const TIME: Duration = Duration::from_secs(40);
const SHARE: u32 = 3;

/// Looks for the setup of the servers that it visits.
struct SetupFinder {
    current: CurrentStep,
    time: Duration,
}

impl Visitor for SetupFinder {
    type Output = FoundSetup;

    fn visit<'a>(&'a self, visit: ServerVisit<'a>) -> BoxFuture<'a, Result<FoundSetup, Finding>> {
        Box::pin(async move {
            let doing = |step| self.current.set(step);
            Ok(find_setup(&visit.context, visit.redactor, self.time, &doing).await)
        })
    }
}

/// The setup of a server that `members` allow to call, and the time that it took, of which `budget` is left for the run. A
/// server that cannot be used has none: the run says why.
pub(crate) fn setup_of(
    server: AdHocServer,
    mut members: Map<String, Value>,
    budget: Option<Duration>,
    console: &Console,
) -> Result<(FoundSetup, Duration), Exit> {
    let begun = Instant::now();
    // Its cases list what is there, and call nothing.
    members.insert("schema_lint".to_owned(), json!({}));
    let plan = plan_of_server(server, members, console)?;
    let current = CurrentStep::default();
    let time = budget.map_or(TIME, |budget| TIME.min(budget / SHARE));
    let finder = SetupFinder { current: current.clone(), time };
    let found = work_with(plan, &current, WORDS, FailedServers::AreLeftOut, console, async |plan, options, tell| {
        runner::visit_servers(plan, options, tell, &finder).await
    })?;
    Ok((found.outputs.into_iter().next().unwrap_or_default(), begun.elapsed()))
}

/// The calls of a setup in a sentence.
pub(crate) fn sentence(setup: &FoundSetup) -> String {
    let named = |names: &mut dyn Iterator<Item = &str>| names.map(visible_line).collect::<Vec<_>>().join(", ");
    let made = named(&mut setup.steps.iter().filter_map(|step| step["call"].as_str()));
    let served = named(&mut setup.arguments.keys().map(String::as_str));
    format!("  made first in each session, because other tools need it: {made}; then these serve calls: {served}")
}
