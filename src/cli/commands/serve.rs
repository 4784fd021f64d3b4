//! `mcprove serve`: a server to start with.

use clap::{Args, Subcommand};

use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::demo;

/// Serves an example server over standard input and output.
#[derive(Debug, Args)]
pub(in crate::cli) struct ServeArgs {
    #[command(subcommand)]
    server: Server,
}

#[derive(Debug, Subcommand)]
enum Server {
    /// A server that is correct in every respect: users, a slow tool with progress, resources, prompts.
    Demo,
}

pub(in crate::cli) fn serve(args: &ServeArgs, output: &Output) -> Exit {
    let Server::Demo = args.server;
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output.error(&format!("the server cannot start: {error}"), None);
            return Exit::Environment;
        }
    };
    let served = runtime.block_on(demo::serve(tokio::io::stdin(), tokio::io::stdout()));
    // A thread that waits for input must not hold up the end.
    runtime.shutdown_background();
    match served {
        Ok(()) => Exit::Passed,
        Err(error) => {
            output.error(&error.to_string(), None);
            Exit::Environment
        }
    }
}
