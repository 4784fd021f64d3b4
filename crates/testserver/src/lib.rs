//! The demo server: a small user directory that is right in every respect, on rmcp.
//!
//! It is what `mcprove serve demo` runs and what mcprove measures itself against, so a finding about it is a bug here or
//! in the check. [`serve`] holds one conversation over any pair of byte streams, in both eras of the protocol, and knows
//! nothing about suites; [`http`] serves any number of them over streamable HTTP. A message travels through
//! `mcprove-server` (lines and envelopes) → `era` (which era, is it open) → `server` (rmcp's handler) → `tools`,
//! `resources` or `prompts`.
//! [`faulty`] are the faults that can be built into it, and `fixtures` is what the official conformance suite asks for.
#![cfg_attr(
    not(feature = "http"),
    expect(dead_code, reason = "what its sessions over HTTP need stands beside what it needs everywhere")
)]

mod authorization_flaw;
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
mod server;
mod settings;
mod store;
mod tasks;
mod tools;

#[cfg(all(test, feature = "http"))]
mod tests;

use std::io;
use std::sync::Arc;

use mcprove_server::converse;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

pub use mcprove_server::{ConversationError, DRAIN_TIMEOUT, ignore_closed_client};

pub use self::authorization_flaw::AuthorizationFlaw;
pub use self::settings::{AuthorizationSettings, DamagedData, Settings, Spelling};

use self::faulty::ServerFault;
use self::fixtures::Fixtures;
use self::store::Store;

/// Why a conversation ended before its input did.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The input or the output failed, or the task that serves the conversation panicked.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
    /// No more connections can be accepted.
    #[error("failed to accept connections: {0}")]
    Accept(io::Error),
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
    let crash = fault.clone();
    let serving =
        converse(reader, writer, fault, |ended| era::Eras::new(server::Demo::new(conduct.directory(), ended, conduct)));
    tokio::select! {
        served = serving => Ok(served?),
        () = crash.wait_for_crash() => Err(ServeError::FellOver),
    }
}

/// The behaviour of a server under settings and with what it does wrong.
fn conduct(settings: Settings, fault: &Arc<ServerFault>) -> Result<server::Conduct, ServeError> {
    let rules = fault.settings(settings).check().map_err(ServeError::Setting)?;
    let fixtures = rules.wants_fixtures().then(|| Fixtures::new(&rules)).transpose().map_err(ServeError::Setting)?;
    let stored = rules.data_file().map(Store::open).transpose().map_err(ServeError::Setting)?;
    let data = stored.map(|store| Arc::new(Mutex::new(store)));
    let (rules, fixtures) = (Arc::new(rules), fixtures.map(Arc::new));
    Ok(server::Conduct { rules, fault: fault.clone(), fixtures, data, tasks: Arc::default() })
}
