//! Visits the servers of a plan, without running any case: what is waited for is shown, and signals end it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::signals::{self, RunEnding, RunningTask, SignalScope, Urgency};
use crate::block;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::server::{AdHocServer, ServerArgs, Verb, is_suite};
use crate::cli::suites::{ChosenRegistry, refuse_bad_stores};
use crate::event::Finding;
use crate::plan::{self, CaseSource, Plan, Selection};
use crate::report::Ticker;
use crate::runner::{self, Options, Stop, Visited, Visitor, remove_run_folders};
use crate::source::file::{WRITTEN, read_text};
use crate::source::{Diagnostic, Sources, duration_text, visible_line};
use crate::suite::LoadedSuite;
use crate::transport::http::finish_refreshes;

/// After how long the user learns why nothing is shown.
const SILENCE: Duration = Duration::from_secs(5);

/// The step that a visit is at, for those who wait.
#[derive(Debug, Clone, Default)]
pub(crate) struct CurrentStep(Arc<Mutex<String>>);

impl CurrentStep {
    pub(crate) fn set(&self, step: String) {
        *self.0.lock() = step;
    }
}

/// The sentences about a visit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VisitWords {
    /// The work that an error prevents: `nothing was recorded`.
    pub(crate) undone: &'static str,
    /// Why it takes long, where it does.
    pub(crate) slow: Option<&'static str>,
}

/// The servers that were visited.
pub(crate) struct VisitedServers<T> {
    pub(crate) outputs: Vec<T>,
    /// Those that failed, which was shown.
    pub(crate) failed: Vec<FailedServer>,
}

/// A server that could not be visited.
pub(crate) struct FailedServer {
    pub(crate) name: String,
    pub(crate) finding: Finding,
}

/// The plan of the servers that words name, as a suite with these members or as the suite that is there.
pub(crate) fn plan_of(
    verb: Verb,
    words: &[String],
    server: &ServerArgs,
    members: Map<String, Value>,
    console: &Console,
) -> Result<Plan, Exit> {
    let suite = words.first().filter(|word| words.len() == 1 && is_suite(word));
    let Some(suite) = suite else { return plan_of_server(server.target(verb, words, console)?, members, console) };
    if let Some(flag) = server.flags().first() {
        let message = format!("`{flag}` is about a server of the command line, and `{suite}` has its own");
        return Err(console.fail(Exit::Usage, message, Some("write into the suite what the flag says")));
    }
    let mut sources = Sources::default();
    let files = |file: &Path| read_text(file, WRITTEN);
    let loaded = block::load(Path::new(suite), &files, &mut sources, &mut Vec::new());
    plan_of_suite(loaded, sources, console)
}

/// The plan of servers of the command line, as a suite with these members.
pub(crate) fn plan_of_server(
    server: AdHocServer,
    members: Map<String, Value>,
    console: &Console,
) -> Result<Plan, Exit> {
    let mut sources = Sources::default();
    let loaded = server.suite(members, &[]).load(&mut sources, console);
    plan_of_suite(loaded, sources, console)
}

/// The plan of a suite that was loaded; its mistakes are shown.
pub(crate) fn plan_of_suite(
    loaded: Result<LoadedSuite<Arc<dyn CaseSource>>, Vec<Diagnostic>>,
    sources: Sources,
    console: &Console,
) -> Result<Plan, Exit> {
    let loaded = loaded.map_err(|found| console.refuse(&found, &sources))?;
    let (sources, registry) = (Arc::new(sources), ChosenRegistry::BUILTIN.get());
    let plan = plan::build(vec![loaded], Selection::default(), registry, Arc::clone(&sources));
    let plan = plan.map_err(|found| console.refuse(&found, &sources))?;
    refuse_bad_stores(&plan, console).map(|()| plan)
}

/// Visits all servers of a plan and returns what the visitor made of each; the errors of others are shown, and end the
/// command unless the visitor is patient and something was made.
pub(crate) fn visit<V: Visitor>(
    plan: Plan,
    visitor: &V,
    current: &CurrentStep,
    words: VisitWords,
    console: &Console,
) -> Result<VisitedServers<V::Output>, Exit> {
    let failures = if visitor.is_patient() { FailedServers::AreShown } else { FailedServers::EndTheCommand };
    work_with(plan, current, words, failures, console, async |plan, options, tell| {
        runner::visit_servers(plan, options, tell, visitor).await
    })
}

/// The meaning of servers that failed, where others did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailedServers {
    /// Nothing is shown of the others.
    EndTheCommand,
    /// They are shown beside the others.
    AreShown,
    /// The same, even if there are no others.
    AreReturned,
    /// They are neither shown nor an error: a run of the same servers follows.
    AreLeftOut,
}

/// Does some work with the servers of a plan; errors are shown.
pub(crate) fn work_with<T>(
    plan: Plan,
    current: &CurrentStep,
    words: VisitWords,
    failures: FailedServers,
    console: &Console,
    work: impl AsyncFnOnce(Plan, Options, &(dyn Fn(String) + Sync)) -> Vec<Visited<T>>,
) -> Result<VisitedServers<T>, Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let no_runtime = |_| console.fail(Exit::Internal, "the system provides no async runtime", None);
    let runtime = runtime.map_err(no_runtime)?;
    let (wish, stop) = Stop::new();
    let running = RunningTask { runtime: runtime.handle().clone(), cleanup: Box::new(|| 0) };
    let mut urgency = signals::listen(wish, RunEnding::Plain, SignalScope::Program, Some(running), None);
    let environment = Arc::clone(&console.environment.variables);
    let options = Options { environment, ..Options::new(0, stop.clone()) };
    let shown = current.clone();
    let _ticker = Ticker::start(move |elapsed| {
        let text = shown.0.lock();
        if text.is_empty() {
            return String::new();
        }
        format!("… {}: {}\n", duration_text(elapsed), visible_line(&text))
    });
    let tell = |text| current.set(text);
    let ran = runtime.block_on(async {
        let ran = tokio::select! {
            ran = work(plan, options, &tell) => Some(ran),
            _ = urgency.wait_for(|urgency| *urgency == Urgency::Now) => None,
            () = explain_silence(words.slow, console) => None,
        };
        finish_refreshes().await;
        ran
    });
    // Servers end with the tasks that hold them.
    runtime.shutdown_timeout(Duration::from_millis(200));
    remove_run_folders();
    let undone = words.undone;
    let Some(visited) = ran else { return Err(Exit::Interrupted) };
    if stop.is_set() {
        return Err(console.fail(Exit::Interrupted, format!("{undone}: the command was interrupted"), None));
    }
    let several = visited.len() > 1;
    let mut servers = VisitedServers { outputs: Vec::new(), failed: Vec::new() };
    for Visited { server, result } in visited {
        match result {
            Ok(output) => servers.outputs.push(output),
            Err(_) if failures == FailedServers::AreLeftOut => {}
            Err(found) => {
                let of = if several { format!(" of `{}`", visible_line(&server)) } else { String::new() };
                console.error(format!("{undone}{of}: {}", found.message), found.help.as_deref());
                found.evidence.iter().for_each(|(name, text)| console.note(&format!("{name}: {text}")));
                servers.failed.push(FailedServer { name: server, finding: found });
            }
        }
    }
    let is_lost = !servers.failed.is_empty()
        && match failures {
            FailedServers::EndTheCommand => true,
            FailedServers::AreShown => servers.outputs.is_empty(),
            FailedServers::AreReturned | FailedServers::AreLeftOut => false,
        };
    if is_lost { Err(Exit::Environment) } else { Ok(servers) }
}

/// Explains after a while why nothing is shown; never returns.
async fn explain_silence(words: Option<&str>, console: &Console) {
    if let Some(words) = words {
        tokio::time::sleep(SILENCE).await;
        console.note(words);
    }
    std::future::pending::<()>().await;
}
