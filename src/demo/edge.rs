//! Faults at the edge of the demo server: a relay stands around the correct server, in the same process.
//!
//! Where there is no fault, none of this is on the way.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use mcprove_testserver::faulty::ServerFault;
use mcprove_testserver::{DRAIN_TIMEOUT, ignore_closed_client, serve_with};
use tokio::io::{AsyncRead, AsyncWrite, duplex, split};
use tokio::time::timeout;

use super::{ServeError, Settings};
use crate::relay::http::RequestPlace;
use crate::relay::streams::{self, StreamsEnd};
use crate::relay::{Relay, http};

/// The number of bytes that wait between the faults and the correct server.
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
    let serving = serve_with(settings, fault, server_reader, server_writer);
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
        StreamsEnd::ClientGone(error) => Ok(ignore_closed_client(Err(error))?),
        StreamsEnd::Stopped(_) => Err(ServeError::FellOver),
    }
}

/// Puts faults around the correct server: they answer with what it makes of what it hears.
pub(crate) fn surround(server: Router, fault: Arc<ServerFault>, relay: Arc<Relay>) -> Router {
    server.layer(from_fn(move |request: Request, next: Next| {
        let (fault, relay) = (Arc::clone(&fault), Arc::clone(&relay));
        async move { answer(&fault, &relay, request, next).await }
    }))
}

async fn answer(fault: &ServerFault, relay: &Arc<Relay>, request: Request, next: Next) -> Response {
    let place = RequestPlace { is_endpoint: request.uri().path() == PATH, reset: None };
    tokio::select! {
        response = http::answer(relay, request, place, |request| next.clone().run(request)) => response,
        _ = relay.wait_for_stop() => {
            fault.crash();
            pending().await
        }
    }
}
