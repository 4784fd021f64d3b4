//! `mcprove monitor`: suites as probes of servers in production.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

use super::monitor_log::MonitorLog;
use super::monitor_otlp::{OtlpArgs, OtlpExporter};
use super::monitor_server::{Heartbeat, router};
use super::monitor_webhook::{Webhook, WebhookArgs};
use super::parsing::{duration, positive};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::monitor_state::StateFile;
use crate::cli::suites::{AllowedCalls, ChosenRegistry, SuiteArgs, refuse_only};
use crate::cli::system_signals::{SystemSignal, SystemSignals, survive_full_files};
use crate::drift::ChangeLevel;
use crate::event::RunEnd;
use crate::monitor::ledger::{Ledger, StateRules, TargetName};
use crate::monitor::lists::{self, OfferCheck};
use crate::monitor::probe::{ProbeSettings, SuiteProbe};
use crate::monitor::status::TargetStatus;
use crate::monitor::watch::{Monitor, MonitorTarget, Pace};
use crate::plan::{Check, Plan, TargetPlan, by_target};
use crate::report::terminal::plural;
use crate::runner::{Stop, remove_run_folders};
use crate::source::{duration_text, visible_line};
use crate::transport::http::finish_refreshes;
use crate::transport::orphans;

/// The time for runs that are under way to end their servers.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Watches servers in production: runs the tests marked `probe: true` again and again, and serves metrics for Prometheus.
///
/// A server without such a test is only asked what it offers. Nothing that may change data is called unless
/// `--allow-changes` is given. SIGHUP reads the suites again.
#[derive(Debug, Args)]
pub(crate) struct MonitorArgs {
    #[command(flatten)]
    suites: SuiteArgs,
    /// The time from one run of a target to the next; a target that cannot be reached is asked less often, down to every tenth time.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = interval)]
    every: Duration,
    /// The time for one run of a target.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    timeout: Duration,
    /// The address at which `/metrics` and `/healthz` are served; port 0 takes a free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9464", value_parser = address)]
    listen: SocketAddr,
    /// The number of runs that begin at a time; a run that takes longer than a second gives its place to the next.
    #[arg(long, value_name = "N", default_value = "16", value_parser = positive::<NonZero<u16>>)]
    at_a_time: NonZero<u16>,
    /// The number of failed runs in a row after which a target counts as down.
    #[arg(long, value_name = "N", default_value = "1", value_parser = positive::<NonZero<u32>>)]
    failures: NonZero<u32>,
    /// The least severe change of what a server offers that counts as drift.
    #[arg(long, value_name = "LEVEL", default_value = "compatible", value_parser = ["breaking", "compatible", "cosmetic"])]
    drift: String,
    /// Takes what the servers offer now as what they are to offer.
    #[arg(long)]
    accept_drift: bool,
    /// Calls what the suites allow, and not only tools that change nothing.
    #[arg(long)]
    allow_changes: bool,
    #[command(flatten)]
    webhook: WebhookArgs,
    #[command(flatten)]
    otlp: OtlpArgs,
    /// Ends after N runs of each target: with exit code 1 if one is not up.
    #[arg(long, value_name = "N", value_parser = positive::<NonZero<u64>>)]
    runs: Option<NonZero<u64>>,
    /// Ends after this time: with exit code 1 if a target is not up.
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    lasts: Option<Duration>,
}

/// An interval for which there is a use, and whose times can be counted for years.
fn interval(text: &str) -> Result<Duration, String> {
    let every = duration(text)?;
    if every < Duration::from_millis(10) || every > Duration::from_secs(30 * 24 * 3600) {
        return Err("write a time from `10ms` to `720h`".to_owned());
    }
    Ok(every)
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let address = text.strip_prefix("localhost:").map_or(text.to_owned(), |port| format!("127.0.0.1:{port}"));
    address.parse().map_err(|_| "write an IP address and a port, such as `127.0.0.1:9464`".to_owned())
}

pub(crate) fn monitor(args: &MonitorArgs, console: &Console) -> Result<Exit, Exit> {
    let webhook = args.webhook.read(console)?;
    let otlp = args.otlp.read(console)?;
    let plan = args.plan(console)?;
    if plan.suites.iter().all(|planned| planned.targets.is_empty()) {
        let help = "write `server:` into a suite, such as `server: { url: \"https://example.org/mcp\" }`";
        return Err(console.fail(Exit::Nothing, "there is nothing to watch: the suites name no server", Some(help)));
    }
    let first = plan.suites.first().map_or("", |planned| planned.suite.file.as_str());
    let mut state = StateFile::open(args.suites.state_folder(Path::new(first)), console);
    if args.accept_drift {
        state.forget_offers();
    }
    let cannot_start = |error| console.fail(Exit::Environment, format!("the monitor cannot start: {error}"), None);
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(cannot_start)?;
    let local = LocalSet::new();
    let (wish, stop) = Stop::new();
    let settings = ProbeSettings {
        timeout: args.timeout,
        environment: Arc::clone(&console.environment.variables),
        registry: ChosenRegistry::BUILTIN.get(),
        stop,
        is_traced: otlp.as_ref().is_some_and(OtlpExporter::takes_traces),
    };
    let session = MonitorSession { args, console, settings };
    let ended = runtime.block_on(local.run_until(session.watch(plan, state, Receivers { webhook, otlp }, wish)));
    drop(local);
    runtime.block_on(finish_refreshes());
    // Servers end with the tasks that hold them.
    runtime.shutdown_timeout(Duration::from_millis(200));
    remove_run_folders();
    orphans::kill_all_children();
    ended
}

impl MonitorArgs {
    fn plan(&self, console: &Console) -> Result<Plan, Exit> {
        let calls = if self.allow_changes { AllowedCalls::AsSuitesSay } else { AllowedCalls::OnlyReading };
        let plan = self.suites.plan(ChosenRegistry::BUILTIN, calls, console)?;
        refuse_only(&plan, console)?;
        Ok(plan)
    }

    fn pace(&self) -> Pace {
        Pace { every: self.every, at_a_time: self.at_a_time.get().into(), runs: self.runs.map(NonZero::get) }
    }

    fn rules(&self) -> StateRules {
        let drift = ChangeLevel::parse(&self.drift).unwrap_or(ChangeLevel::Compatible);
        StateRules { failures: self.failures.get(), drift }
    }
}

/// Why a monitor ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MonitorEnd {
    /// It has done what was asked for.
    Done,
    /// A signal asked it to.
    Signal,
}

/// Who is told beside the log.
struct Receivers {
    webhook: Option<Webhook>,
    otlp: Option<OtlpExporter>,
}

struct MonitorSession<'a> {
    args: &'a MonitorArgs,
    console: &'a Console,
    settings: ProbeSettings,
}

impl MonitorSession<'_> {
    async fn watch(
        &self,
        plan: Plan,
        state: StateFile,
        receivers: Receivers,
        wish: tokio::sync::watch::Sender<Option<RunEnd>>,
    ) -> Result<Exit, Exit> {
        let (args, console) = (self.args, self.console);
        survive_full_files();
        let mut signals = SystemSignals::listen();
        let ledger = Arc::new(Mutex::new(Ledger { rules: args.rules(), ..Ledger::default() }));
        let listener = self.listen().await?;
        let at = listener.local_addr().map_or_else(|_| args.listen.to_string(), |address| address.to_string());
        let heartbeat = Heartbeat::default();
        let metrics = router(Arc::clone(&ledger), heartbeat.clone());
        tokio::spawn(async move { axum::serve(listener, metrics).await });
        spawn_local(heartbeat.beat());
        if let Some(otlp) = &receivers.otlp {
            otlp.introduce(console);
        }
        let (traces, exports) = receivers.otlp.map(|otlp| otlp.start(&ledger, console)).unzip();
        let (log, delivery) = MonitorLog::new(console.clone(), Arc::clone(&ledger), receivers.webhook, traces);
        let log = Rc::new(log);
        ledger.lock().kept = state.kept().clone();
        let saving = spawn_local(state.save_changes(Arc::clone(&ledger), log.dirty(), console.clone()));
        let monitor = Monitor::new(args.pace(), Arc::clone(&ledger), Rc::<MonitorLog>::clone(&log));
        let targets = self.targets(&plan);
        self.introduce(&targets, &at);
        monitor.set_targets(targets.targets);
        let end = {
            let mut work = std::pin::pin!(self.work(&monitor));
            loop {
                tokio::select! {
                    () = &mut work => break MonitorEnd::Done,
                    signal = signals.next() => match signal {
                        SystemSignal::Interrupt | SystemSignal::Terminate => break MonitorEnd::Signal,
                        SystemSignal::Hangup => {
                            self.reload(&monitor, &ledger);
                            log.dirty().notify_one();
                        }
                    },
                }
            }
        };
        if end == MonitorEnd::Signal {
            console.note("stopping: servers are ended; send the signal again to stop at once");
        }
        let _ = wish.send(Some(RunEnd::Interrupted));
        tokio::select! {
            _ = timeout(SHUTDOWN_TIMEOUT, monitor.stop()) => {}
            _ = signals.next() => {}
        }
        log.finish();
        let _ = timeout(SHUTDOWN_TIMEOUT, saving).await;
        drop(monitor);
        drop(log);
        if let Some(delivery) = delivery {
            let _ = timeout(SHUTDOWN_TIMEOUT, delivery).await;
        }
        if let Some(exports) = exports {
            tokio::select! {
                () = exports.finish(SHUTDOWN_TIMEOUT) => {}
                _ = signals.next() => {}
            }
        }
        Ok(if end == MonitorEnd::Done { self.conclude(&ledger.lock()) } else { Exit::Passed })
    }

    /// Returns once the monitor has done what was asked for.
    async fn work(&self, monitor: &Monitor) {
        let over = async {
            match self.args.lasts {
                Some(time) => sleep(time).await,
                None => std::future::pending().await,
            }
        };
        let ran = async {
            match self.args.runs {
                Some(_) => monitor.finished().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = over => {}
            () = ran => {}
        }
    }

    async fn listen(&self) -> Result<TcpListener, Exit> {
        let address = self.args.listen;
        TcpListener::bind(address).await.map_err(|error| {
            let message = format!("metrics cannot be served at `{address}`: {error}");
            self.console.fail(Exit::Environment, message, Some("use `--listen 127.0.0.1:0` for a free port"))
        })
    }

    /// The targets of a plan, each once.
    fn targets(&self, plan: &Plan) -> PlannedTargets {
        let mut checks: Vec<OfferCheck> = Vec::new();
        let plans = by_target(plan, lists::NAME, || {
            let check = OfferCheck::default();
            checks.push(check.clone());
            let check: Arc<dyn Check> = Arc::new(check);
            check
        });
        let mut by_id = BTreeMap::new();
        let mut without_probes = 0;
        for (TargetPlan { id, file, target, plan, has_probes }, lists) in plans.into_iter().zip(checks) {
            let name = TargetName { suite: file, server: target.server, revision: target.protocol.as_str().to_owned() };
            let run = Rc::new(SuiteProbe { plan, lists, settings: self.settings.clone() });
            if by_id.insert(id.clone(), MonitorTarget { id: id.clone(), name, run }).is_some() {
                self.console.note(&format!("warning: `{}` is named twice; it is watched once", visible_line(&id)));
            } else {
                without_probes += usize::from(!has_probes);
            }
        }
        PlannedTargets { targets: by_id.into_values().collect(), without_probes }
    }

    fn introduce(&self, planned: &PlannedTargets, at: &str) {
        let count = planned.targets.len();
        let every = duration_text(self.args.every);
        self.console.note(&format!("watching {} every {every}", plural(count, "target")));
        if planned.without_probes > 0 {
            let of = match (count, planned.without_probes) {
                (1, _) => "it has".to_owned(),
                (_, 1) => "1 of them has".to_owned(),
                (_, some) => format!("{some} of them have"),
            };
            let so = "only what the server offers is looked at";
            self.console.note(&format!("{of} no test that is marked `probe: true`: {so}"));
        }
        // Scripts wait for this line; standard error is not buffered.
        self.console.note(&format!("metrics at http://{at}/metrics"));
    }

    /// Reads the suites again; if they have mistakes, nothing changes.
    fn reload(&self, monitor: &Monitor, ledger: &Mutex<Ledger>) {
        let read = self.args.plan(self.console);
        ledger.lock().reloads.add(read.is_ok());
        let Ok(plan) = read else {
            self.console.note("the suites were not taken over; the monitor goes on with those that it has");
            return;
        };
        let planned = self.targets(&plan);
        self.console.note(&format!("read the suites again: {}", plural(planned.targets.len(), "target")));
        monitor.set_targets(planned.targets);
    }

    /// The exit code of a monitor that was to end.
    fn conclude(&self, ledger: &Ledger) -> Exit {
        let statuses = || ledger.targets.values().map(|figures| figures.state.status);
        if statuses().flatten().any(|status| status != TargetStatus::Up) {
            Exit::Findings
        } else if ledger.targets.values().any(|figures| figures.last.is_none()) {
            let help = Some("give it more time, or let targets run more often with `--every`");
            self.console.fail(Exit::Nothing, "some targets had no turn", help)
        } else {
            Exit::Passed
        }
    }
}

/// The targets of a plan.
struct PlannedTargets {
    targets: Vec<MonitorTarget>,
    /// The number of those without a marked test.
    without_probes: usize,
}
