//! `mcprove relay`: faults between any client and any server, over streams and over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

use super::parsing::duration;
use super::relay_log::RelayLog;
use super::relay_streams::{ClientStreams, client_gone};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::loopback::loopback;
use crate::cli::system_signals::{SystemSignals, survive_full_files};
use crate::cli::written_files;
use crate::fault::{self, Fault, ServerEnd};
use crate::files::FilePlace;
use crate::relay::streams::{self, StreamsEnd};
use crate::relay::{EXIT_TIMEOUT, Relay, RelayStop, RelayedServer, Upstream, UpstreamAddress};
use crate::source::file::WRITTEN;
use crate::transport::orphans;

/// The time for the rest of the output once the server is gone.
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// Why a strict relay fails.
const NOT_ACCEPTED: &str = "`--strict` does not accept this";

/// Stands between a client and a server, and makes the faults of a plan happen on the way.
#[derive(Debug, Args)]
pub(crate) struct RelayArgs {
    #[command(subcommand)]
    relay: RelayTransport,
}

#[derive(Debug, Subcommand)]
enum RelayTransport {
    /// Starts the server, and speaks to it and to the client over standard input and output.
    ///
    /// The server has the environment, the folder and the standard error of the relay, and the relay ends as the server
    /// ends: with its status, or with 128 and the number of the signal.
    Stdio(StdioRelayArgs),
    /// Listens for clients, and sends what they send to a server on this machine.
    Http(HttpRelayArgs),
}

#[derive(Debug, Args)]
struct StdioRelayArgs {
    #[command(flatten)]
    settings: RelaySettings,
    /// The command that starts the server.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Args)]
struct HttpRelayArgs {
    #[command(flatten)]
    settings: RelaySettings,
    /// The loopback address for clients; port 0 takes a free port.
    #[arg(long, value_name = "ADDR", value_parser = loopback, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The address of the server, such as `http://127.0.0.1:3000/mcp`.
    #[arg(long, value_name = "URL", value_parser = UpstreamAddress::parse)]
    upstream: UpstreamAddress,
}

/// The settings of both relays.
#[derive(Debug, Args)]
pub(crate) struct RelaySettings {
    /// A YAML file with the faults; without it, messages pass as they are. See docs/reference/fault-language.md.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Writes every change and every call of a tool to this file, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<FilePlace>,
    /// Serves counters for Prometheus at `/metrics` of this loopback address.
    #[arg(long, value_name = "ADDR", value_parser = loopback)]
    metrics: Option<SocketAddr>,
    /// A good answer that comes later is no success in the figures.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) deadline: Option<Duration>,
    /// Ends the relay where a fault finds nothing to change or events cannot be written, and fails if a fault changed
    /// nothing in the end.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Writes neither changes nor figures to standard error.
    #[arg(long)]
    pub(crate) quiet: bool,
}

impl RelaySettings {
    fn faults(&self, console: &Console) -> Result<Vec<Fault>, Exit> {
        let Some(file) = &self.plan else { return Ok(Vec::new()) };
        let (sources, source) = console.read("plan", file, WRITTEN, None)?;
        fault::load(&sources, source).map_err(|mistakes| console.refuse(&mistakes, &sources))
    }

    /// True if messages are watched; a relay without watchers only copies.
    fn is_watched(&self) -> bool {
        let wants_figures = self.deadline.is_some() || self.strict;
        wants_figures || self.plan.is_some() || self.events.is_some() || self.metrics.is_some()
    }
}

/// A relay that is ready, and its log.
struct ReadyRelay<'a> {
    relay: Arc<Relay>,
    log: Option<Arc<RelayLog>>,
    settings: &'a RelaySettings,
    console: &'a Console,
}

impl<'a> ReadyRelay<'a> {
    fn new(settings: &'a RelaySettings, transport: &str, console: &'a Console) -> Result<Self, Exit> {
        let inputs = settings.plan.as_deref().into_iter();
        let places = written_files::check(settings.events.as_deref(), inputs);
        places.map_err(|reason| console.fail(Exit::Usage, reason, None))?;
        let faults = settings.faults(console)?;
        if !settings.is_watched() {
            return Ok(Self { relay: Arc::new(Relay::new(faults)), log: None, settings, console });
        }
        let names: Vec<&str> = faults.iter().map(Fault::name).collect();
        let log = Arc::new(RelayLog::new(settings, transport, &names, console)?);
        let relay = Relay::new(faults).with_watcher(Arc::<RelayLog>::clone(&log), settings.strict);
        Ok(Self { relay: Arc::new(relay), log: Some(log), settings, console })
    }

    /// Serves the counters, if anybody wants them; returns once somebody can ask.
    async fn serve_metrics(&self) -> Result<(), Exit> {
        let (Some(address), Some(log)) = (self.settings.metrics, &self.log) else { return Ok(()) };
        let listener = self.listen(address, "--metrics").await?;
        let at = listener.local_addr().map_or_else(|_| address.to_string(), |address| address.to_string());
        self.tell(&format!("metrics at http://{at}/metrics"));
        let log = Arc::clone(log);
        tokio::spawn(async move {
            let _ = axum::serve(listener, super::relay_log::router(log)).await;
        });
        Ok(())
    }

    /// Writes a line above the view, if there is one.
    fn tell(&self, text: &str) {
        self.log.as_ref().map_or_else(|| self.console.note(text), |log| log.tell(text));
    }

    async fn listen(&self, address: SocketAddr, flag: &str) -> Result<TcpListener, Exit> {
        TcpListener::bind(address).await.map_err(|error| {
            let message = format!("the relay cannot listen at `{address}`: {error}");
            self.console.fail(Exit::Environment, message, Some(&format!("use `{flag} 127.0.0.1:0` for a free port")))
        })
    }

    /// The exit code where nothing else decides it, after the figures.
    fn conclude(&self) -> Exit {
        self.relay.give_up_interrupted();
        let idle = self.relay.idle_faults();
        let finished = self.log.as_ref().map_or(Ok(()), |log| log.finish(&idle));
        // A server that ended at the same time does not make it good.
        match self.relay.stop_reason() {
            Some(RelayStop::Refused(problem)) => self.console.fail(Exit::Findings, problem, Some(NOT_ACCEPTED)),
            Some(RelayStop::Ended(_)) | None if self.settings.strict && finished.is_err() => {
                self.console.fail(Exit::Findings, finished.err().unwrap_or_default(), Some(NOT_ACCEPTED))
            }
            Some(RelayStop::Ended(_)) | None if self.settings.strict && !idle.is_empty() => {
                let names: Vec<String> = idle.iter().map(|name| format!("`{name}`")).collect();
                let message = format!("faults of the plan changed nothing: {}", names.join(", "));
                self.console.fail(Exit::Findings, message, Some("send what they are about, or change their `on`"))
            }
            Some(RelayStop::Ended(_)) | None => Exit::Passed,
        }
    }
}

pub(crate) fn relay(args: &RelayArgs, console: &Console) -> ExitCode {
    let done = match &args.relay {
        RelayTransport::Stdio(args) => stdio(args, console),
        RelayTransport::Http(args) => http(args, console).map(ExitCode::from),
    };
    done.unwrap_or_else(ExitCode::from)
}

fn stdio(args: &StdioRelayArgs, console: &Console) -> Result<ExitCode, Exit> {
    let ready = ReadyRelay::new(&args.settings, "stdio", console)?;
    let runtime = runtime(Builder::new_current_thread(), console)?;
    let ended = runtime.block_on(relay_stdio(&args.command, &ready));
    // Also those that left the group of the server.
    orphans::kill_all_children();
    // A thread that waits for input must not delay the exit. Calls without an answer are over with this.
    runtime.shutdown_background();
    let ended = ended?;
    Ok(exit_of(ended, ready.conclude()))
}

async fn relay_stdio(command: &[String], ready: &ReadyRelay<'_>) -> Result<ServerEnd, Exit> {
    let [program, arguments @ ..] = command else { return Err(Exit::Usage) };
    ready.serve_metrics().await?;
    survive_full_files();
    let mut signals = SystemSignals::listen();
    let inherited = ready.console.environment.variables.iter();
    let inherited: Vec<(String, String)> = inherited.map(|(name, value)| (name.clone(), value.clone())).collect();
    let started = RelayedServer::start(program, arguments, &inherited);
    let (mut process, server) = started.map_err(|error| {
        let message = format!("the server `{program}` cannot be started: {error}");
        ready.console.fail(Exit::Environment, message, None)
    })?;
    let client = ClientStreams::open();
    let client_streams = (client.input, client.output);
    let mut relaying = std::pin::pin!(streams::relay_streams(Arc::clone(&ready.relay), client_streams, server));
    // A server whose client died may wait for something else than its input, and write nothing that would show it.
    let mut abandoned = std::pin::pin!(async {
        client_gone().await;
        sleep(EXIT_TIMEOUT).await;
    });
    let (mut is_over, mut is_abandoned) = (false, false);
    let end = loop {
        tokio::select! {
            end = &mut relaying => break end,
            // Once the server is gone, nobody but the relay can take a signal.
            signal = signals.next() => {
                if is_over {
                    break StreamsEnd::Closed;
                }
                process.signal(signal.number());
            }
            _ = process.wait(), if !is_over => is_over = true,
            () = &mut abandoned, if !is_abandoned => {
                is_abandoned = true;
                process.kill();
            }
            // A process that the server left behind may hold its output open for ever.
            () = sleep(DRAIN_TIME), if is_over => {
                if !ready.relay.has_late_messages() {
                    break StreamsEnd::Closed;
                }
            }
        }
    };
    let stop = match end {
        StreamsEnd::Stopped(stop) => Some(stop),
        StreamsEnd::Closed | StreamsEnd::ClientGone(_) => None,
    };
    let own_end = match stop {
        None => None,
        Some(stop) => {
            process.kill();
            Some(if let RelayStop::Ended(end) = stop { end } else { ServerEnd::Closed })
        }
    };
    let ended = process.wait_or_kill().await;
    Ok(own_end.unwrap_or(ended))
}

/// The status of the server, unless the relay has one of its own.
fn exit_of(server: ServerEnd, own: Exit) -> ExitCode {
    match server {
        _ if own != Exit::Passed => own.into(),
        ServerEnd::Closed => ExitCode::SUCCESS,
        ServerEnd::Status(status) => ExitCode::from(u8::try_from(status & 0xff).unwrap_or(1)),
        ServerEnd::Signal(signal) => ExitCode::from(u8::try_from(128 + (signal & 0x7f)).unwrap_or(1)),
    }
}

fn http(args: &HttpRelayArgs, console: &Console) -> Result<Exit, Exit> {
    let ready = ReadyRelay::new(&args.settings, "http", console)?;
    let runtime = runtime(Builder::new_multi_thread(), console)?;
    let ended = runtime.block_on(relay_http(args, &ready));
    // Requests under way are over with this.
    runtime.shutdown_timeout(DRAIN_TIME);
    ended.map(|()| ready.conclude())
}

async fn relay_http(args: &HttpRelayArgs, ready: &ReadyRelay<'_>) -> Result<(), Exit> {
    ready.serve_metrics().await?;
    let listener = ready.listen(args.listen, "--listen").await?;
    let at = listener.local_addr().map_or_else(|_| args.listen.to_string(), |address| address.to_string());
    survive_full_files();
    let mut signals = SystemSignals::listen();
    // Scripts wait for this line; standard error is not buffered.
    ready.tell(&format!("relaying http://{at}{} to {}", args.upstream.path(), args.upstream));
    let serving = Upstream::new(args.upstream.clone(), Arc::clone(&ready.relay)).serve(listener);
    let stop = tokio::select! {
        served = serving => Some(served.map_err(|error| {
            ready.console.fail(Exit::Environment, format!("the relay cannot accept clients: {error}"), None)
        })?),
        _ = signals.next() => None,
    };
    if let Some(RelayStop::Ended(_)) = &stop {
        ready.tell("a fault ended the server: the relay ends, so that every client sees it go");
    }
    Ok(())
}

fn runtime(mut builder: Builder, console: &Console) -> Result<Runtime, Exit> {
    let started = builder.enable_all().build();
    started.map_err(|error| console.fail(Exit::Environment, format!("the relay cannot start: {error}"), None))
}
