//! The servers of a suite that grows: runs of a text that need not be in the file yet, proofs of them, and what the
//! servers answer to calls that no test makes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use super::parsing::now;
use super::signals::{self, RunEnding, SignalScope, Urgency};
use super::visiting::plan_of_suite;
use crate::block;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::event::{Event, Finding, Outcome, Proof};
use crate::init::{Observations, observe};
use crate::plan::{BoxFuture, CaseSource, Plan};
use crate::prove::{ProveSettings, RecordedSecrets, RunRecorder, RunRecording, prove};
use crate::recorded;
use crate::redact::Redactor;
use crate::report::Ticker;
use crate::runner::{
    self, Observer, Options, Purpose, ServerVisit, SessionFrames, Snapshots, Stop, Summary, Visitor, redactor,
};
use crate::source::file::{WRITTEN, read_text};
use crate::source::{Diagnostic, Sources, duration_text};
use crate::suite::LoadedSuite;
use crate::taxonomy::Registry;
use crate::transport::http::finish_refreshes;
use crate::wire::Catalog;

/// The time in which tasks that hold servers end.
const SHUTDOWN: Duration = Duration::from_millis(200);

/// Runs and proves, until the user stops it.
pub(crate) struct GrowServers<'a> {
    console: &'a Console,
    stop: Stop,
    urgency: watch::Receiver<Urgency>,
}

/// A case that did not pass.
#[derive(Debug, Clone)]
pub(crate) struct RedCase {
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    /// The expectations that did not hold, as far as they are known.
    pub(crate) broken: Vec<Value>,
    pub(crate) message: String,
}

/// A run that is over.
pub(crate) struct EndedRun {
    pub(crate) recording: RunRecording,
    pub(crate) red: Vec<RedCase>,
    pub(crate) summary: Summary,
}

/// What a server showed, with its name in the suite.
pub(crate) struct ObservedServer {
    pub(crate) name: String,
    pub(crate) catalog: Catalog,
    pub(crate) seen: Observations,
}

impl<'a> GrowServers<'a> {
    pub(crate) fn new(console: &'a Console) -> Self {
        let (wish, stop) = Stop::new();
        let urgency = signals::listen(wish, RunEnding::Plain, SignalScope::Program, None, None);
        Self { console, stop, urgency }
    }

    /// The plan of a suite whose file would hold this text; its mistakes are shown.
    pub(crate) fn plan(&self, file: &Path, text: &str) -> Result<Plan, Exit> {
        let mut sources = Sources::default();
        let loaded = load(file, text, &mut sources).map(|mut loaded| {
            loaded.suite.environment = Some(Arc::clone(&self.console.environment.variables));
            loaded
        });
        plan_of_suite(loaded, sources, self.console)
    }

    /// Runs all cases once; `what` is shown while it takes long.
    pub(crate) fn run(&self, plan: &Plan, what: &str) -> Result<EndedRun, Exit> {
        let options = self.options(plan);
        let mut observer = GrowObserver::default();
        let _ticker = ticker(what);
        let mut urgency = self.urgency.clone();
        let runtime = self.runtime()?;
        let summary = runtime.block_on(async {
            let summary = tokio::select! {
                summary = runner::run(plan.clone(), options.clone(), Registry::builtin(), &mut observer) => Some(summary),
                _ = urgency.wait_for(|urgency| *urgency >= Urgency::Now) => None,
            };
            finish_refreshes().await;
            summary
        });
        // Servers end with the tasks that hold them.
        runtime.shutdown_timeout(SHUTDOWN);
        options.run_folder.finish(false);
        let Some(summary) = summary.filter(|summary| !summary.interrupted && !self.stop.is_set()) else {
            return Err(Exit::Interrupted);
        };
        let GrowObserver { recorder, red } = observer;
        Ok(EndedRun { recording: recorder.finish(), red, summary })
    }

    /// Proves what a run would have caught.
    pub(crate) fn prove(&self, plan: &Plan, recording: RunRecording) -> Result<Proof, Exit> {
        let options = &self.options(plan);
        let _ticker = ticker("proving the suite");
        let proven = prove(
            recording,
            &ProveSettings {
                plan,
                options,
                registry: Registry::builtin(),
                redactor: redactor(plan, options),
                secrets: RecordedSecrets::Kept,
                workers: options.processors,
                picks: None,
                live: false,
                time: None,
            },
        );
        let proven = proven.map_err(|error| {
            if self.stop.is_set() {
                Exit::Interrupted
            } else {
                self.console.fail(Exit::Internal, format!("nothing was proven: {error}"), None)
            }
        })?;
        Ok(proven.proof)
    }

    /// Asks the servers what they offer, with calls that read only unless the suite allows others.
    pub(crate) fn observe(&self, plan: Plan) -> Result<Vec<ObservedServer>, Exit> {
        let options = self.options(&plan);
        let _ticker = ticker("calling what no test calls");
        let mut urgency = self.urgency.clone();
        let runtime = self.runtime()?;
        let visited = runtime.block_on(async {
            let visited = tokio::select! {
                visited = runner::visit_servers(plan, options, &|_| {}, &OfferObserver) => Some(visited),
                _ = urgency.wait_for(|urgency| *urgency >= Urgency::Soon) => None,
            };
            finish_refreshes().await;
            visited
        });
        runtime.shutdown_timeout(SHUTDOWN);
        runner::remove_run_folders();
        let Some(visited) = visited.filter(|_| !self.stop.is_set()) else { return Err(Exit::Interrupted) };
        let failed = |found: Finding| {
            let message = format!("nothing was added: {}", found.message);
            self.console.fail(Exit::Environment, message, found.help.as_deref())
        };
        visited.into_iter().map(|visited| visited.result.map_err(failed)).collect()
    }

    fn options(&self, plan: &Plan) -> Options {
        let environment = &self.console.environment;
        let snapshots = Snapshots { known: recorded::read_texts(plan), purpose: Purpose::Compare };
        Options {
            processors: environment.processors,
            environment: Arc::clone(&environment.variables),
            // A test that passes only sometimes is not stable.
            retries: Some(0),
            snapshots: snapshots.into(),
            ..Options::new(u64::try_from(now().as_millis()).unwrap_or(u64::MAX), self.stop.clone())
        }
    }

    fn runtime(&self) -> Result<tokio::runtime::Runtime, Exit> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|_| self.console.fail(Exit::Internal, "the system provides no async runtime", None))
    }
}

/// Says from time to time what is under way.
fn ticker(what: &str) -> Ticker {
    let what = what.to_owned();
    Ticker::start(move |elapsed| format!("… {}: {what}\n", duration_text(elapsed)))
}

/// The suite in a file that would hold this text; what it includes is read from the disk.
fn load(file: &Path, text: &str, sources: &mut Sources) -> Result<LoadedSuite<Arc<dyn CaseSource>>, Vec<Diagnostic>> {
    let files = |path: &Path| if path == file { Ok(text.to_owned()) } else { read_text(path, WRITTEN) };
    block::load(file, &files, sources, &mut Vec::new())
}

/// True if the text is a suite without mistakes.
pub(crate) fn is_valid(file: &Path, text: &str) -> bool {
    load(file, text, &mut Sources::default()).is_ok()
}

#[derive(Default)]
struct GrowObserver {
    recorder: RunRecorder,
    red: Vec<RedCase>,
}

impl Observer for GrowObserver {
    fn event(&mut self, event: &Event) {
        self.recorder.event(event);
        let Event::CaseFinished(result) = event else { return };
        match result.outcome {
            Outcome::Passed | Outcome::Warned | Outcome::Skipped | Outcome::Inconclusive => {}
            Outcome::Failed | Outcome::Errored => {
                let broken = |finding: &Finding| Some(finding.expect.as_ref()?.expected.clone());
                let reason = || result.reason.as_ref().map(ToString::to_string).unwrap_or_default();
                self.red.push(RedCase {
                    name: result.case.name.clone(),
                    outcome: result.outcome,
                    broken: result.findings.iter().filter_map(broken).collect(),
                    message: result.findings.first().map_or_else(reason, |finding| finding.message.clone()),
                });
            }
        }
    }

    fn session(&mut self, session: &SessionFrames, _: &Redactor) {
        self.recorder.session(session);
    }
}

struct OfferObserver;

impl Visitor for OfferObserver {
    type Output = ObservedServer;

    fn visit<'a>(&'a self, visit: ServerVisit<'a>) -> BoxFuture<'a, Result<ObservedServer, Finding>> {
        Box::pin(async move {
            let ServerVisit { context, redactor, .. } = visit;
            let seen = observe(&context, redactor, &|_| {}).await;
            Ok(ObservedServer { name: context.server_name.to_owned(), catalog: context.catalog.clone(), seen })
        })
    }
}
