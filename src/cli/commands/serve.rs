//! `mcprove serve`: a server to start with.

use std::io;
use std::net::SocketAddr;

use clap::{Args, Subcommand};

use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::demo;

/// Serves an example server over standard input and output, or over HTTP.
#[derive(Debug, Args)]
pub(in crate::cli) struct ServeArgs {
    #[command(subcommand)]
    server: Server,
}

#[derive(Debug, Subcommand)]
enum Server {
    /// A server that is correct in every respect: users, a slow tool with progress, resources, prompts.
    Demo(Place),
}

/// Where clients find a server.
#[derive(Debug, Args)]
struct Place {
    /// Serve streamable HTTP at this address of this machine, such as 127.0.0.1:3000; port 0 takes one that is free.
    #[arg(long, value_name = "ADDR", value_parser = loopback)]
    http: Option<SocketAddr>,
}

pub(in crate::cli) fn serve(args: &ServeArgs, output: &Output) -> Exit {
    let Server::Demo(place) = &args.server;
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output.error(&format!("the server cannot start: {error}"), None);
            return Exit::Environment;
        }
    };
    let served = match place.http {
        Some(address) => runtime.block_on(serve_http(address)),
        None => runtime
            .block_on(demo::serve(tokio::io::stdin(), tokio::io::stdout()))
            .map_err(|error| Failure { message: error.to_string(), help: None }),
    };
    // A thread that waits for input must not hold up the end.
    runtime.shutdown_background();
    match served {
        Ok(()) => Exit::Passed,
        Err(failure) => {
            output.error(&failure.message, failure.help.as_deref());
            Exit::Environment
        }
    }
}

/// Why a server ended, and what to do about it.
struct Failure {
    message: String,
    help: Option<String>,
}

/// Serves until a signal ends the program.
async fn serve_http(address: SocketAddr) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure {
        message: format!("the server cannot listen at `{address}`: {error}"),
        help: Some("use `--http 127.0.0.1:0` for a port that is free".to_owned()),
    };
    let bound = demo::http::Bound::new(address).await.map_err(failed)?;
    // Scripts wait for this line; standard error is not buffered.
    announce(&bound.url());
    tokio::select! {
        served = bound.serve() => served.map_err(failed),
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
