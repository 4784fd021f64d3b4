//! The demo server over streamable HTTP, with its faults.

use std::io;
use std::net::SocketAddr;

use super::edge;
use super::faulty::DemoFault;
use super::{ServeError, Settings};

/// A server that has its port and answers nothing yet.
pub struct BoundServer {
    server: mcprove_testserver::http::BoundServer,
    fault: DemoFault,
}

impl BoundServer {
    /// Takes the port at `address`; port 0 takes any that is free.
    pub async fn new(address: SocketAddr) -> io::Result<Self> {
        let server = mcprove_testserver::http::BoundServer::new(address).await?;
        Ok(Self { server, fault: DemoFault::none() })
    }

    /// The same server under settings and with what it does wrong.
    pub fn with(self, settings: Settings, fault: &DemoFault) -> Result<Self, ServeError> {
        Ok(Self { server: self.server.with(settings, &fault.inside)?, fault: fault.clone() })
    }

    /// The address at which clients find the server.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Answers until the future is dropped, or the server falls over; no client can end one that is right.
    pub async fn serve(self) -> Result<(), ServeError> {
        let DemoFault { inside, edge } = self.fault;
        match edge {
            Some(relay) => self.server.serve_within(|server| edge::surround(server, inside, relay)).await,
            None => self.server.serve().await,
        }
    }
}
