//! A server over HTTP that is started here: a process whose port is waited for, ended with the connection.

use std::time::Duration;

use reqwest::Url;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::{Address, link, parsed};
use crate::transport::stdio::{self, Command};
use crate::transport::{ConnectError, Incoming, Link, lines};

/// How often the port is tried.
const PAUSE: Duration = Duration::from_millis(20);

/// How long one try may take.
const TRY: Duration = Duration::from_secs(1);

/// How many lines of the server's log explain why it is not there.
const LOG_LINES: usize = 12;

/// Starts the command, waits until something listens at the address, and connects.
pub async fn start(command: &Command, address: &Address, within: Duration) -> Result<Link, ConnectError> {
    let url = parsed(&address.url)?;
    if listens(&url).await {
        return Err(ConnectError::PortTaken { address: host_and_port(&url) });
    }
    let (from_server, mut incoming) = mpsc::channel(lines::WAITING_LINES);
    let (process, supervising) = stdio::spawn_apart(command, from_server.clone())?;
    let deadline = Instant::now() + within;
    // A server that ended says so in what comes from it.
    while !supervising.is_finished() && !listens(&url).await {
        if Instant::now() >= deadline {
            let log = log_of(&mut incoming);
            drop(incoming);
            process.stop().await;
            return Err(ConnectError::NotListening { address: host_and_port(&url), within, log });
        }
        sleep(PAUSE).await;
    }
    link(address, (from_server, incoming), Some(process))
}

async fn listens(url: &Url) -> bool {
    let Some(port) = url.port_or_known_default() else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    matches!(timeout(TRY, TcpStream::connect((host, port))).await, Ok(Ok(_)))
}

fn host_and_port(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

fn log_of(incoming: &mut mpsc::Receiver<Incoming>) -> Vec<String> {
    let mut log = Vec::new();
    while let Ok(item) = incoming.try_recv() {
        if let Incoming::Stderr(line) = item {
            log.push(String::from_utf8_lossy(&line).into_owned());
        }
    }
    log.split_off(log.len().saturating_sub(LOG_LINES))
}
