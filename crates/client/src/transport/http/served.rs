//! A server over HTTP that is started here: a process whose port is waited for, ended with the connection.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Url;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::failure::host_and_port;
use super::{HttpAddress, HttpServerProcess, link, parse_address};
use crate::transport::stdio::{self, ApartProcess, ServerCommand};
use crate::transport::{ConnectError, Incoming, Link, lines};

/// The interval at which the port is tried.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The time for one try.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// The number of lines of the server's log that explain a failed start.
const LOG_LINES: usize = 12;

/// The number of the last lines before the first listener that are kept.
const MAX_STARTUP_LINES: usize = lines::QUEUED_LINES / 2;

/// Starts the command, waits until something listens at the address, and connects.
pub async fn start(command: &ServerCommand, address: &HttpAddress, within: Duration) -> Result<Link, ConnectError> {
    let url = parse_address(&address.url)?;
    if listens(&url).await {
        return Err(ConnectError::PortTaken { address: host_and_port(&url) });
    }
    let (from_server, mut incoming) = mpsc::channel(lines::QUEUED_LINES);
    let process = stdio::spawn_apart(command, from_server.clone())?;
    let deadline = Instant::now() + within;
    let mut early = StartupLog::default();
    // A server that ended says so in what comes from it.
    while !process.supervising.is_finished() && !listens(&url).await {
        // One that nobody listens to would wait until somebody does.
        early.take(&mut incoming);
        if Instant::now() >= deadline {
            drop(incoming);
            process.stop.stop().await;
            return Err(ConnectError::NotListening { address: host_and_port(&url), within, log: early.log() });
        }
        sleep(POLL_INTERVAL).await;
    }
    early.take(&mut incoming);
    early.give(&from_server);
    let ApartProcess { stop, control, processes, supervising } = process;
    let exit = Arc::new(OnceLock::new());
    let address = &HttpAddress { exit: Some(Arc::clone(&exit)), ..address.clone() };
    tokio::spawn(async move {
        if let Ok(ended) = supervising.await {
            exit.get_or_init(|| ended);
        }
    });
    link(address, from_server, incoming, Some(HttpServerProcess { stop, control, processes }))
}

/// The output of a server before it listened.
#[derive(Default)]
struct StartupLog {
    lines: VecDeque<Vec<u8>>,
    rest: Vec<Incoming>,
}

impl StartupLog {
    fn take(&mut self, incoming: &mut mpsc::Receiver<Incoming>) {
        while let Ok(item) = incoming.try_recv() {
            if let Incoming::Stderr(line) = item {
                self.lines.push_back(line);
            } else {
                self.rest.push(item);
            }
            if self.lines.len() > MAX_STARTUP_LINES {
                self.lines.pop_front();
            }
        }
    }

    /// Puts it where it came from, which is empty and has room for more.
    fn give(self, from_server: &mpsc::Sender<Incoming>) {
        for item in self.lines.into_iter().map(Incoming::Stderr).chain(self.rest) {
            // A line that has no room is one of many.
            let _ = from_server.try_send(item);
        }
    }

    /// The last lines.
    fn log(&self) -> Vec<String> {
        let last = self.lines.iter().skip(self.lines.len().saturating_sub(LOG_LINES));
        last.map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }
}

async fn listens(url: &Url) -> bool {
    let Some(port) = url.port_or_known_default() else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    matches!(timeout(CONNECT_TIMEOUT, TcpStream::connect((host, port))).await, Ok(Ok(_)))
}
