//! `mcprove mock`: a server that answers as a recorded one did.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use super::proving::RecordingFile;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::loopback::loopback;
use crate::fault::ServerEnd;
use crate::mock::{LinesEnd, MockServer, http, serve_lines};
use crate::source::visible_line;

/// Serves the answers of a recording over standard input and output, or over HTTP, without the recorded server.
///
/// A request that was never recorded fails, and names what was. Equal requests get their answers in the recorded order,
/// and the last one from then on.
#[derive(Debug, Args)]
pub(crate) struct MockArgs {
    /// The recording that `mcprove run --record FILE` wrote.
    recording: PathBuf,
    /// Serves streamable HTTP at this loopback address; without an address at a free port.
    #[arg(long, value_name = "ADDR", value_parser = loopback, num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    http: Option<SocketAddr>,
    /// The server to imitate, as the suite names it, where several were recorded.
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
}

pub(crate) fn mock(args: &MockArgs, console: &Console) -> ExitCode {
    serve(args, console).unwrap_or_else(ExitCode::from)
}

fn serve(args: &MockArgs, console: &Console) -> Result<ExitCode, Exit> {
    let recording = RecordingFile::open(&args.recording, console)?.run(console)?;
    let server = MockServer::new(recording, args.server.as_deref()).map_err(|unclear| {
        let names: Vec<String> = unclear.names.iter().map(|name| format!("`{}`", visible_line(name))).collect();
        let message = match (&args.server, names.len()) {
            (_, 0) => "the recording has no server".to_owned(),
            (Some(name), _) => format!("the recording has no server `{name}`"),
            (None, count) => format!("the recording has {count} servers"),
        };
        let help = format!("choose one with `--server NAME`: {}", names.join(", "));
        console.fail(Exit::Usage, message, Some(help.as_str()).filter(|_| !names.is_empty()))
    })?;
    match args.http {
        Some(address) => over_http(server, address, console).map(|()| ExitCode::SUCCESS),
        None => over_lines(server, console),
    }
}

/// Ends as the recorded server did.
fn over_lines(server: Arc<MockServer>, console: &Console) -> Result<ExitCode, Exit> {
    let end = serve_lines(server, io::stdin().lock(), io::stdout().lock(), io::stderr().lock());
    let end = end.map_err(|error| console.fail(Exit::Environment, format!("the mock stopped: {error}"), None))?;
    Ok(match end {
        LinesEnd::Closed | LinesEnd::Ended(ServerEnd::Closed) => ExitCode::SUCCESS,
        LinesEnd::Ended(ServerEnd::Status(status)) => ExitCode::from(u8::try_from(status & 0xff).unwrap_or(1)),
        LinesEnd::Ended(ServerEnd::Signal(signal)) => ExitCode::from(u8::try_from(128 + (signal & 0x7f)).unwrap_or(1)),
    })
}

/// Serves until a signal ends the program.
fn over_http(server: Arc<MockServer>, address: SocketAddr, console: &Console) -> Result<(), Exit> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let no_runtime = |error| console.fail(Exit::Environment, format!("the mock cannot start: {error}"), None);
    runtime.map_err(no_runtime)?.block_on(async {
        let bound = async {
            let listener = TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            io::Result::Ok((listener, address))
        };
        let (listener, address) = bound.await.map_err(|error| {
            let message = format!("the mock cannot listen at `{address}`: {error}");
            console.fail(Exit::Environment, message, Some("use `--http` without an address for a free port"))
        })?;
        // Scripts wait for this line; standard error is not buffered.
        console.note(&format!("serving http://{address}{}", http::PATH));
        tokio::select! {
            end = http::serve(server, listener) => {
                end.map_err(|error| console.fail(Exit::Environment, format!("the mock stopped: {error}"), None))
            }
            // Scripts start servers in the background, where shells have Ctrl-C ignored.
            _ = tokio::signal::ctrl_c() => Ok(()),
        }
    })
}
