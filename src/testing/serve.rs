//! Connectors: from what a test has to what the runner takes.

use std::panic::resume_unwind;
use std::sync::Arc;

use rmcp::service::QuitReason;
use rmcp::{RoleServer, Service, serve_server};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, split};
use tokio::task::JoinError;

use crate::runner::InProcess;
use crate::transport::memory;

/// Serves every session with a fresh service; one that cannot be made counts as a server that panicked.
pub(crate) fn service<F, S>(make: F) -> InProcess
where
    F: Fn() -> S + Send + Sync + 'static,
    S: Service<RoleServer>,
{
    let make = Arc::new(make);
    InProcess::new(move || {
        let make = Arc::clone(&make);
        memory::host(move |stream| async move { serve(make(), stream).await })
    })
}

/// Connects every session to the other end of a fresh pair of streams.
pub(crate) fn streams<F, R, W>(open: F) -> InProcess
where
    F: Fn() -> (R, W) + Send + Sync + 'static,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    InProcess::new(move || {
        let (reader, writer) = open();
        memory::connect(reader, writer)
    })
}

async fn serve<S: Service<RoleServer>>(service: S, stream: DuplexStream) -> Result<(), String> {
    let running = serve_server(service, split(stream)).await.map_err(|error| error.to_string())?;
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => resume_panic(error),
        Ok(_) => Ok(()),
    }
}

/// A panic goes on; whoever hosts the server tells of it.
fn resume_panic(error: JoinError) -> Result<(), String> {
    match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(error) => Err(error.to_string()),
    }
}
