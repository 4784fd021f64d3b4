//! The demo server of `mcprove-testserver`, and the faults around it.
//!
//! [`faulty`] are its twins with one fault each, [`mod@reference`] the servers on which a rule can be seen to hold or to be
//! broken, and `edge` a relay that stands around the server, in the same process. Faults inside the server are the
//! server's own; those at its edge are written in the language of `fault`, of which the server knows nothing.

mod edge;
pub mod faulty;
pub mod http;
pub mod reference;

#[cfg(test)]
mod tests;

use tokio::io::{AsyncRead, AsyncWrite};

pub use mcprove_testserver::{
    AuthorizationFlaw, AuthorizationSettings, DamagedData, ServeError, Settings, Spelling, serve,
};

use self::faulty::DemoFault;

/// Serves one conversation under settings, with what the server does wrong.
pub async fn serve_with<R, W>(settings: Settings, fault: DemoFault, reader: R, writer: W) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    match fault.edge {
        Some(relay) => edge::serve(settings, fault.inside, relay, (reader, writer)).await,
        None => mcprove_testserver::serve_with(settings, fault.inside, reader, writer).await,
    }
}
