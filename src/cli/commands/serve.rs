//! `mcprove serve`: a server to start with.

use std::future::Future;

use clap::{Args, Subcommand};

use super::serve_faulty::{FaultyArgs, faulty};
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::demo::{self, ServeError, Settings};

/// Serves an example server over standard input and output.
#[derive(Debug, Args)]
pub(in crate::cli) struct ServeArgs {
    #[command(subcommand)]
    server: Server,
}

#[derive(Debug, Subcommand)]
enum Server {
    /// A server that is correct in every respect: users, a slow tool with progress, resources, prompts.
    Demo(SettingArgs),
    /// The same server with exactly one fault written into it.
    Faulty(FaultyArgs),
}

/// What the server can be told.
#[derive(Debug, Clone, Args)]
pub(super) struct SettingArgs {
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
}

impl SettingArgs {
    pub(super) fn settings(&self) -> Settings {
        Settings {
            read_only: self.read_only,
            max_users: self.max_users.clone(),
            domain: self.domain.clone(),
            blocked: self.block.clone(),
            ..Settings::default()
        }
    }
}

pub(in crate::cli) fn serve(args: &ServeArgs, environment: &Environment, output: &Output) -> Exit {
    match &args.server {
        Server::Demo(settings) => {
            let fault = demo::faulty::Fault::none().into();
            until_the_end(demo::serve_with(settings.settings(), fault, tokio::io::stdin(), tokio::io::stdout()), output)
        }
        Server::Faulty(args) => faulty(args, environment, output),
    }
}

/// Runs a server on one thread.
pub(super) fn until_the_end(serving: impl Future<Output = Result<(), ServeError>>, output: &Output) -> Exit {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output.error(&format!("the server cannot start: {error}"), None);
            return Exit::Environment;
        }
    };
    let served = runtime.block_on(serving);
    // A thread that waits for input must not hold up the end.
    runtime.shutdown_background();
    let Err(error) = served else {
        return Exit::Passed;
    };
    output.error(&error.to_string(), None);
    match error {
        ServeError::Setting(_) => Exit::Usage,
        ServeError::Read(_) | ServeError::Write(_) | ServeError::Stopped(_) | ServeError::FellOver => Exit::Environment,
    }
}
