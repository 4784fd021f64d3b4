//! `mcprove serve`: example servers, and this program as a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

use super::parsing::duration;
use super::serve_faulty::{FaultyArgs, faulty};
use super::serve_mcp::serve_mcp;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::loopback::loopback;
use crate::demo::faulty::DemoFault;
use crate::demo::{self, AuthorizationFlaw, AuthorizationSettings, ServeError, Settings};

/// The variable with the token that `--require-token` requires.
const TOKEN: &str = "MCPROVE_DEMO_TOKEN";

/// The variables with the tokens that may be there as well.
const SECOND_TOKEN: &str = "MCPROVE_DEMO_SECOND_TOKEN";
const LOW_SCOPE_TOKEN: &str = "MCPROVE_DEMO_LOW_SCOPE_TOKEN";

/// Serves an example server over standard input and output, or over HTTP; or mcprove itself, for coding agents.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    server: ServedServer,
}

#[derive(Debug, Subcommand)]
enum ServedServer {
    /// The demo server, which has no faults: users, a slow tool with progress, resources, prompts.
    Demo(StartArgs),
    /// The demo server with one fault built in.
    Faulty(FaultyArgs),
    /// mcprove as an MCP server for coding agents, over standard input and output: check, plan, run, tools, call, prove, grow, coverage, findings and explain.
    ///
    /// Whoever may call this server may start programs. Suites and recordings must be in the folder in which it was started, or below.
    Mcp,
}

/// The address and the settings of the server.
#[derive(Debug, Clone, Args)]
pub(crate) struct StartArgs {
    /// Serves streamable HTTP at this loopback address, such as 127.0.0.1:3000; port 0 takes a free port.
    #[arg(long, value_name = "ADDR", value_parser = loopback)]
    pub(crate) http: Option<SocketAddr>,
    /// Serves only clients with the bearer token in the environment variable `MCPROVE_DEMO_TOKEN`; the one in
    /// `MCPROVE_DEMO_SECOND_TOKEN` is for a second user, the one in `MCPROVE_DEMO_LOW_SCOPE_TOKEN` allows no changes.
    #[arg(long, requires = "http")]
    require_token: bool,
    #[command(flatten)]
    authorization: AuthorizationArgs,
    /// Refuses every call that would change the user directory.
    #[arg(long)]
    read_only: bool,
    /// The number of users at most, 1 or more.
    #[arg(long, value_name = "N")]
    max_users: Option<String>,
    /// The only domain that email addresses may have.
    #[arg(long, value_name = "DOMAIN")]
    domain: Option<String>,
    /// Refuses names that contain this word, in upper or lower case.
    #[arg(long, value_name = "WORD")]
    block: Option<String>,
    #[command(flatten)]
    beside: BesideArgs,
}

/// The authorization server of the demo server.
#[derive(Debug, Clone, Args)]
struct AuthorizationArgs {
    /// Serves only clients with a token of the authorization server, which is at the same address; docs/reference/demo-server.md
    /// lists its users and clients.
    #[arg(long, requires = "http", conflicts_with_all = ["require_token", "data"])]
    authorization: bool,
    /// Builds one flaw into the authorization; docs/reference/demo-server.md lists all flaws.
    #[arg(long, value_name = "FLAW", requires = "authorization", value_parser = flaw(), hide_possible_values = true)]
    authorization_flaw: Option<AuthorizationFlaw>,
    /// The lifetime of an access token, such as 1h.
    #[arg(long, value_name = "TIME", requires = "authorization", value_parser = duration, default_value = "1h")]
    token_lifetime: Duration,
}

fn flaw() -> impl TypedValueParser<Value = AuthorizationFlaw> {
    let names = AuthorizationFlaw::ALL.iter().map(|flaw| flaw.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<AuthorizationFlaw>())
}

impl AuthorizationArgs {
    fn settings(&self) -> Option<AuthorizationSettings> {
        let settings = AuthorizationSettings { token_lifetime: self.token_lifetime, flaw: self.authorization_flaw };
        self.authorization.then_some(settings)
    }
}

/// Features beside the user directory.
#[derive(Debug, Clone, Args)]
struct BesideArgs {
    /// Offers tasks: the capability of 2025-11-25 and the extension of 2026-07-28.
    #[arg(long)]
    tasks: bool,
    /// Keeps the users in this file, one a line, so that they outlive the server; all sessions share them.
    #[arg(long, value_name = "FILE", conflicts_with = "require_token")]
    data: Option<PathBuf>,
    /// Offers the tools, resources and prompts that the official conformance suite needs.
    #[arg(long)]
    conformance_fixtures: bool,
}

impl StartArgs {
    fn settings(&self, console: &Console) -> Result<Settings, Exit> {
        let token = |name| console.environment.get(name).filter(|_| self.require_token).map(str::to_owned);
        if self.require_token && token(TOKEN).is_none() {
            let message = format!("`--require-token` needs a token in the environment variable `{TOKEN}`");
            return Err(console.fail(Exit::Usage, message, Some(&format!("write `{TOKEN}=…` before the command"))));
        }
        Ok(Settings {
            tasks: self.beside.tasks,
            data: self.beside.data.clone(),
            read_only: self.read_only,
            max_users: self.max_users.clone(),
            domain: self.domain.clone(),
            blocked: self.block.clone(),
            token: token(TOKEN),
            authorization: self.authorization.settings(),
            conformance_fixtures: self.beside.conformance_fixtures,
            second_token: token(SECOND_TOKEN),
            low_scope_token: token(LOW_SCOPE_TOKEN),
            ..Settings::default()
        })
    }
}

pub(crate) fn serve(args: &ServeArgs, console: &Console) -> Result<Exit, Exit> {
    match &args.server {
        ServedServer::Demo(args) => start(args, Settings::default(), DemoFault::none(), console),
        ServedServer::Faulty(args) => faulty(args, console),
        ServedServer::Mcp => serve_mcp(console),
    }
}

/// Runs a server on one thread, until its input or a signal ends it; flags only add to the settings of `reference`.
pub(crate) fn start(args: &StartArgs, reference: Settings, fault: DemoFault, console: &Console) -> Result<Exit, Exit> {
    let own = args.settings(console)?;
    let settings = Settings {
        conformance_fixtures: own.conformance_fixtures || reference.conformance_fixtures,
        tasks: own.tasks || reference.tasks,
        token: own.token.or(reference.token),
        second_token: own.second_token.or(reference.second_token),
        low_scope_token: own.low_scope_token.or(reference.low_scope_token),
        ..own
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let no_runtime = |error| console.fail(Exit::Environment, format!("the server cannot start: {error}"), None);
    let runtime = runtime.map_err(no_runtime)?;
    let served = runtime.block_on(async {
        if let Some(address) = args.http {
            return serve_http(address, settings, &fault, console).await;
        }
        let (input, answers) = (tokio::io::stdin(), tokio::io::stdout());
        demo::serve_with(settings, fault, input, answers).await.map_err(|error| report_failure(&error, console))
    });
    // A thread that waits for input must not delay the exit.
    runtime.shutdown_background();
    served.map(|()| Exit::Passed)
}

fn report_failure(error: &ServeError, console: &Console) -> Exit {
    let exit = if matches!(error, ServeError::Setting(_)) { Exit::Usage } else { Exit::Environment };
    console.fail(exit, error, None)
}

/// Serves until a signal ends the program.
async fn serve_http(address: SocketAddr, settings: Settings, fault: &DemoFault, console: &Console) -> Result<(), Exit> {
    let bound = demo::http::BoundServer::new(address).await.map_err(|error| {
        let message = format!("the server cannot listen at `{address}`: {error}");
        console.fail(Exit::Environment, message, Some("use `--http 127.0.0.1:0` for a free port"))
    })?;
    let bound = bound.with(settings, fault).map_err(|error| report_failure(&error, console))?;
    // Scripts wait for this line; standard error is not buffered.
    console.note(&format!("serving {}", bound.url()));
    tokio::select! {
        served = bound.serve() => served.map_err(|error| report_failure(&error, console)),
        // Scripts start servers in the background, where shells have Ctrl-C ignored.
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}
