//! Faults at the edge of the demo server: a relay stands around the correct server, in the same process.
//!
//! Where there is no fault, none of this is on the way.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use tokio::io::{AsyncRead, AsyncWrite, duplex, split};
use tokio::time::timeout;

use super::faulty::ServerFault;
use super::{DRAIN_TIMEOUT, ServeError, Settings, converse, only_real_failures};
use crate::relay::http::RequestPlace;
use crate::relay::streams::{self, StreamsEnd};
use crate::relay::{Relay, http};

/// How many bytes wait between the faults and the correct server.
const PIPE: usize = 64 * 1024;

/// The one path at which the server serves the protocol: faults that name no other are about this one.
const PATH: &str = "/mcp";

/// Serves one conversation with faults around it.
pub(crate) async fn serve<R, W>(
    settings: Settings,
    fault: Arc<ServerFault>,
    relay: Arc<Relay>,
    (reader, writer): (R, W),
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (near, far) = duplex(PIPE);
    let (server_reader, server_writer) = split(far);
    let serving = converse(settings, fault, server_reader, server_writer);
    let mut relaying = pin!(streams::relay_streams(relay, (reader, writer), split(near)));
    tokio::select! {
        served = serving => served?,
        end = &mut relaying => return result_of(end),
    }
    match timeout(DRAIN_TIMEOUT, relaying).await {
        Ok(end) => result_of(end),
        Err(_) => Ok(()),
    }
}

fn result_of(end: StreamsEnd) -> Result<(), ServeError> {
    match end {
        StreamsEnd::Closed => Ok(()),
        StreamsEnd::ClientGone(error) => only_real_failures(Err(error)),
        StreamsEnd::Stopped(_) => Err(ServeError::FellOver),
    }
}

/// Answers a request with what `next`, the correct server, makes of what it hears.
pub(crate) async fn answer<F>(
    fault: &ServerFault,
    relay: &Arc<Relay>,
    request: Request,
    next: impl Fn(Request) -> F,
) -> Response
where
    F: Future<Output = Response>,
{
    let place = RequestPlace { is_endpoint: request.uri().path() == PATH, reset: None };
    tokio::select! {
        response = http::answer(relay, request, place, next) => response,
        _ = relay.wait_for_stop() => {
            fault.crash();
            pending().await
        }
    }
}
