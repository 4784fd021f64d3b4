//! The demo server: a small user directory that is right in every respect, on rmcp.
//!
//! It is what `mcprove serve demo` runs and what mcprove measures itself against, so a finding about it is a bug here or
//! in the check. [`serve`] holds one conversation over any pair of byte streams, in both eras of the protocol, and knows
//! nothing about suites; [`http`] serves any number of them over streamable HTTP. A message travels `transport` (lines
//! and envelopes) → `era` (which era, is it open) → `server` (rmcp's handler) → `tools`, `resources` or `prompts`.
//! [`faulty`] are the faults that can be built into it, and `fixtures` is what the official conformance suite asks for.
#![cfg_attr(
    not(feature = "http"),
    expect(dead_code, reason = "what its sessions over HTTP need stands beside what it needs everywhere")
)]

mod catalog;
mod data_file;
mod era;
pub mod faulty;
mod fixtures;
#[cfg(feature = "http")]
pub mod http;
mod prompts;
pub mod random;
mod resources;
mod schema;
mod server;
mod settings;
mod store;
mod tasks;
mod tools;
mod transport;

#[cfg(all(test, feature = "http"))]
mod tests;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::service::serve_directly;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinError;
use tokio::time::timeout;

pub use self::settings::{DamagedData, Settings, Spelling};

use self::faulty::ServerFault;
use self::fixtures::Fixtures;
use self::store::Store;

/// The time that the last messages may take to be written to a client that stopped reading.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Lines that are written at once at most; a flush follows each time.
const LINES_AT_ONCE: usize = 256;

/// Why a conversation ended before its input did.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The input failed.
    #[error("failed to read a request: {0}")]
    Read(io::Error),
    /// The output failed; a client that closed it is not an error.
    #[error("failed to write an answer: {0}")]
    Write(io::Error),
    /// No more connections can be accepted.
    #[error("failed to accept connections: {0}")]
    Accept(io::Error),
    /// The task that serves the conversation panicked.
    #[error("the demo server stopped: {0}")]
    Stopped(JoinError),
    /// It is a faulty server, and this is its fault.
    #[error("the server fell over, as this fault has it")]
    FellOver,
    /// A setting makes no sense.
    #[error("{0}")]
    Setting(String),
}

/// Serves one conversation over any byte stream pair until end of input.
///
/// Every call is a fresh server with no users. On a current-thread runtime, requests are worked on in the order in which
/// they came, so that the first `create_user` gives `u1` even with many in flight. Dropping the future ends the conversation.
pub async fn serve<R, W>(reader: R, writer: W) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    serve_with(Settings::default(), Arc::new(ServerFault::none()), reader, writer).await
}

/// Serves one conversation as [`serve`] does, under settings and with what the server does wrong.
pub async fn serve_with<R, W>(
    settings: Settings,
    fault: Arc<ServerFault>,
    reader: R,
    writer: W,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let conduct = conduct(settings, &fault)?;
    let (answers, lines) = mpsc::unbounded_channel();
    let (end, ended) = watch::channel(transport::Input::Open);
    let transport = transport::Lines::new(reader, answers, end, fault.clone());
    let service = era::Eras::new(server::Demo::new(conduct.directory(), ended.clone(), conduct));
    // rmcp's own handshake ends the server at a notification that comes too early; `era` opens sessions instead.
    let running = serve_directly(service, transport, None);
    let stop = running.cancellation_token();
    let mut serving = pin!(running.waiting());
    let mut writing = pin!(write(lines, writer));

    let written = tokio::select! {
        served = &mut serving => {
            served.map_err(ServeError::Stopped)?;
            timeout(DRAIN_TIMEOUT, writing).await.unwrap_or(Ok(()))
        }
        written = &mut writing => {
            stop.cancel();
            serving.await.map_err(ServeError::Stopped)?;
            written
        }
        () = fault.wait_for_crash() => return Err(ServeError::FellOver),
    };
    if let transport::Input::Failed(error) = &*ended.borrow() {
        return Err(ServeError::Read(io::Error::new(error.kind(), error.to_string())));
    }
    ignore_closed_client(written)
}

/// Drops the failure to write to a client that went away.
pub fn ignore_closed_client(written: io::Result<()>) -> Result<(), ServeError> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(ServeError::Write(error)),
        Err(_) | Ok(()) => Ok(()),
    }
}

/// The behaviour of a server under settings and with what it does wrong.
fn conduct(settings: Settings, fault: &Arc<ServerFault>) -> Result<server::Conduct, ServeError> {
    let rules = fault.settings(settings).check().map_err(ServeError::Setting)?;
    let fixtures = rules.wants_fixtures().then(Fixtures::new).transpose().map_err(ServeError::Setting)?;
    let stored = rules.data_file().map(Store::open).transpose().map_err(ServeError::Setting)?;
    let data = stored.map(|store| Arc::new(Mutex::new(store)));
    let (rules, fixtures) = (Arc::new(rules), fixtures.map(Arc::new));
    Ok(server::Conduct { rules, fault: fault.clone(), fixtures, data, tasks: Arc::default() })
}

/// Writes every line that is queued; ends when the transport is gone and the queue is empty.
async fn write<W: AsyncWrite + Unpin>(mut lines: mpsc::UnboundedReceiver<Vec<u8>>, mut writer: W) -> io::Result<()> {
    let mut ready = Vec::new();
    while lines.recv_many(&mut ready, LINES_AT_ONCE).await > 0 {
        let bytes = ready.concat();
        ready.clear();
        writer.write_all(&bytes).await?;
        writer.flush().await?;
    }
    writer.shutdown().await
}
