//! A listener on this machine with addresses that nobody else knows: whoever visits one was sent there.

use std::collections::BTreeSet;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The time for the head of a request, and its largest size in bytes.
const HEAD_TIMEOUT: Duration = Duration::from_secs(2);
const LARGEST_HEAD: usize = 4096;

/// The most visitors that are answered; later ones wait in vain.
const MOST_VISITS: usize = 1000;

/// Listens until it is dropped.
#[derive(Debug)]
pub(crate) struct LoopbackListener {
    pub(crate) port: u16,
    visited: Arc<Mutex<BTreeSet<String>>>,
    task: JoinHandle<()>,
}

impl LoopbackListener {
    /// Listens on all addresses `127.0.0.0/8` of a free port.
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let visited: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let seen = Arc::clone(&visited);
        let task = tokio::spawn(async move {
            for _ in 0..MOST_VISITS {
                let Ok((stream, _)) = listener.accept().await else { continue };
                tokio::spawn(answer(stream, Arc::clone(&seen), port));
            }
        });
        Ok(Self { port, visited, task })
    }

    /// Somebody requested a path with this text.
    pub(crate) fn is_visited(&self, token: &str) -> bool {
        self.visited.lock().contains(token)
    }
}

impl Drop for LoopbackListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Notes the last step of the path, and serves a short page; below `/redirect/` a redirect to it.
async fn answer(mut stream: TcpStream, visited: Arc<Mutex<BTreeSet<String>>>, port: u16) {
    let mut head = Vec::new();
    let read = timeout(HEAD_TIMEOUT, async {
        let mut buffer = [0; 1024];
        while head.len() < LARGEST_HEAD && !head.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(count) => head.extend_from_slice(&buffer[..count]),
            }
        }
    });
    let _ = read.await;
    let head = String::from_utf8_lossy(&head);
    let RequestedPage { token, is_redirect } = RequestedPage::of(&head);
    let reply = if is_redirect {
        format!("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{port}/{token}\r\nContent-Length: 0\r\n")
    } else {
        visited.lock().insert(token.to_owned());
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n".to_owned()
    };
    let body = if is_redirect { "" } else { "mcprove" };
    let _ = stream.write_all(format!("{reply}Connection: close\r\n\r\n{body}").as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// The page that a request asks for.
#[derive(Debug, PartialEq, Eq)]
struct RequestedPage<'a> {
    /// The last step of its path.
    token: &'a str,
    /// It leads to the page itself.
    is_redirect: bool,
}

impl<'a> RequestedPage<'a> {
    fn of(head: &'a str) -> Self {
        let path = head.split_whitespace().nth(1).unwrap_or_default();
        let token = path.split(['?', '#']).next().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        Self { token, is_redirect: path.starts_with("/redirect/") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_is_known_by_the_last_step_of_its_path() {
        for (line, token, is_redirect) in [
            ("GET /abc HTTP/1.1", "abc", false),
            ("HEAD /abc?x=/y HTTP/1.1", "abc", false),
            ("GET /redirect/abc HTTP/1.1", "abc", true),
            // Through a proxy.
            ("GET http://127.0.0.1:80/abc#top HTTP/1.1", "abc", false),
            ("GET / HTTP/1.1", "", false),
            ("", "", false),
        ] {
            assert_eq!(RequestedPage::of(line), RequestedPage { token, is_redirect }, "{line}");
        }
    }
}
