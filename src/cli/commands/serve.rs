//! `mcprove serve`: a server to start with.

use std::net::SocketAddr;
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::serve_faulty::{FaultyArgs, faulty};
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::demo::faulty::ServerFault;
use crate::demo::{self, ServeError, Settings};

/// The variable with the token that `--require-token` requires.
const TOKEN: &str = "MCPROVE_DEMO_TOKEN";

/// The variables with the tokens that may be there as well.
const SECOND_TOKEN: &str = "MCPROVE_DEMO_SECOND_TOKEN";
const LOW_SCOPE_TOKEN: &str = "MCPROVE_DEMO_LOW_SCOPE_TOKEN";

/// Serves an example server over standard input and output, or over HTTP.
#[derive(Debug, Args)]
pub(in crate::cli) struct ServeArgs {
    #[command(subcommand)]
    server: ServedServer,
}

#[derive(Debug, Subcommand)]
enum ServedServer {
    /// A server that is correct in every respect: users, a slow tool with progress, resources, prompts.
    Demo(StartArgs),
    /// The same server with exactly one fault written into it.
    Faulty(FaultyArgs),
}

/// Where clients find the server, and what it can be told.
#[derive(Debug, Clone, Args)]
pub(super) struct StartArgs {
    /// Serve streamable HTTP at this address of this machine, such as 127.0.0.1:3000; port 0 takes one that is free.
    #[arg(long, value_name = "ADDR", value_parser = loopback)]
    pub(super) http: Option<SocketAddr>,
    /// Serves only clients with the bearer token in the environment variable `MCPROVE_DEMO_TOKEN`; a second user may
    /// have the one in `MCPROVE_DEMO_SECOND_TOKEN`, and the one in `MCPROVE_DEMO_LOW_SCOPE_TOKEN` allows no changes.
    #[arg(long, requires = "http")]
    require_token: bool,
    /// Refuses every call that would change the directory.
    #[arg(long)]
    read_only: bool,
    /// How many users there may be, from 1.
    #[arg(long, value_name = "N")]
    max_users: Option<String>,
    /// The only domain that addresses may have.
    #[arg(long, value_name = "DOMAIN")]
    domain: Option<String>,
    /// Refuses names with this word in them, in upper and lower case.
    #[arg(long, value_name = "WORD")]
    block: Option<String>,
    #[command(flatten)]
    beside: BesideArgs,
}

/// What the server has beside the directory.
#[derive(Debug, Clone, Args)]
struct BesideArgs {
    /// Lets calls go on as tasks: the capability of 2025-11-25 and the extension of 2026-07-28.
    #[arg(long)]
    tasks: bool,
    /// Offers, besides the directory, what the official conformance suite asks for.
    #[arg(long)]
    conformance_fixtures: bool,
}

impl StartArgs {
    fn settings(&self, environment: &Environment) -> Result<Settings, ServeFailure> {
        let token = |name| environment.get(name).filter(|_| self.require_token).map(str::to_owned);
        let (second_token, low_scope_token) = (token(SECOND_TOKEN), token(LOW_SCOPE_TOKEN));
        let token = token(TOKEN);
        if self.require_token && token.is_none() {
            return Err(ServeFailure {
                exit: Exit::Usage,
                message: format!("`--require-token` needs a token in the environment variable `{TOKEN}`"),
                help: Some(format!("use `{TOKEN}=…` before the command")),
            });
        }
        Ok(Settings {
            tasks: self.beside.tasks,
            read_only: self.read_only,
            max_users: self.max_users.clone(),
            domain: self.domain.clone(),
            blocked: self.block.clone(),
            token,
            conformance_fixtures: self.beside.conformance_fixtures,
            second_token,
            low_scope_token,
            ..Settings::default()
        })
    }
}

/// Why a server ended, and what to do about it.
struct ServeFailure {
    exit: Exit,
    message: String,
    help: Option<String>,
}

impl From<ServeError> for ServeFailure {
    fn from(error: ServeError) -> Self {
        let exit = match error {
            ServeError::Setting(_) => Exit::Usage,
            ServeError::Read(_)
            | ServeError::Write(_)
            | ServeError::Accept(_)
            | ServeError::Stopped(_)
            | ServeError::FellOver => Exit::Environment,
        };
        Self { exit, message: error.to_string(), help: None }
    }
}

pub(in crate::cli) fn serve(args: &ServeArgs, environment: &Environment, output: &Output) -> Exit {
    match &args.server {
        ServedServer::Demo(args) => start(args, ServerFault::none(), environment, output),
        ServedServer::Faulty(args) => faulty(args, environment, output),
    }
}

/// Runs a server on one thread, until its input or a signal ends it.
pub(super) fn start(args: &StartArgs, fault: ServerFault, environment: &Environment, output: &Output) -> Exit {
    started(args.http, args.settings(environment), fault, output)
}

/// The same with settings that flags only add to.
pub(super) fn start_with(
    args: &StartArgs,
    reference: Settings,
    fault: ServerFault,
    environment: &Environment,
    output: &Output,
) -> Exit {
    let settings = args.settings(environment).map(|own| Settings {
        conformance_fixtures: own.conformance_fixtures || reference.conformance_fixtures,
        tasks: own.tasks || reference.tasks,
        token: own.token.clone().or(reference.token),
        second_token: own.second_token.clone().or(reference.second_token),
        low_scope_token: own.low_scope_token.clone().or(reference.low_scope_token),
        ..own
    });
    started(args.http, settings, fault, output)
}

fn started(
    address: Option<SocketAddr>,
    settings: Result<Settings, ServeFailure>,
    fault: ServerFault,
    output: &Output,
) -> Exit {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output.error(&format!("the server cannot start: {error}"), None);
            return Exit::Environment;
        }
    };
    let served = settings.and_then(|settings| {
        runtime.block_on(async {
            if let Some(address) = address {
                return serve_http(address, settings, fault.into()).await;
            }
            let (input, answers) = (tokio::io::stdin(), tokio::io::stdout());
            Ok(demo::serve_with(settings, fault.into(), input, answers).await?)
        })
    });
    // A thread that waits for input must not hold up the end.
    runtime.shutdown_background();
    match served {
        Ok(()) => Exit::Passed,
        Err(failure) => {
            output.error(&failure.message, failure.help.as_deref());
            failure.exit
        }
    }
}

/// Serves until a signal ends the program.
async fn serve_http(address: SocketAddr, settings: Settings, fault: Arc<ServerFault>) -> Result<(), ServeFailure> {
    let bound = demo::http::Bound::new(address).await.map_err(|error| ServeFailure {
        exit: Exit::Environment,
        message: format!("the server cannot listen at `{address}`: {error}"),
        help: Some("use `--http 127.0.0.1:0` for a port that is free".to_owned()),
    })?;
    let bound = bound.with(settings, &fault)?;
    // Scripts wait for this line; standard error is not buffered.
    announce(&bound.url());
    tokio::select! {
        served = bound.serve() => Ok(served?),
        // Scripts start servers in the background, where shells have Ctrl-C ignored.
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

#[expect(clippy::print_stderr, reason = "whoever started the server needs its address")]
fn announce(url: &str) {
    eprintln!("serving {url}");
}

/// An address that other machines cannot reach: the demo server trusts everybody.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address = text.strip_prefix("localhost:").map_or(text.to_owned(), |port| format!("127.0.0.1:{port}"));
    let address: SocketAddr =
        address.parse().map_err(|_| "an address is an IP address and a port, such as `127.0.0.1:3000`".to_owned())?;
    if !address.ip().is_loopback() {
        return Err("other machines could reach it, and it trusts everybody; use `127.0.0.1` or `[::1]`".to_owned());
    }
    Ok(address)
}
