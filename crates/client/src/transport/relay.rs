//! A link with an interceptor that sees every message and may change the server's.

use tokio::sync::{mpsc, oneshot};

use super::schedule::{Schedule, Scheduled};
use super::{Incoming, Link, Outgoing, Stopper, lines};

/// Sees the messages between a client and its server.
pub trait Interceptor: Send + 'static {
    /// Sees a sent message; returns what the server gets instead, and items to deliver in addition to the server's.
    fn on_sent(&mut self, outgoing: Outgoing) -> Passed;

    /// Sees a received item; returns the items to deliver instead, and what the server gets because of it.
    fn on_received(&mut self, incoming: Incoming) -> Passed;
}

/// The messages that a message becomes.
#[derive(Debug, Default)]
pub struct Passed {
    /// Messages that go on to the server.
    pub onward: Vec<Outgoing>,
    /// Items for the client, beside those of the server.
    pub back: Vec<Scheduled>,
}

impl Passed {
    /// Items for the client, and nothing for the server.
    pub fn back(back: Vec<Scheduled>) -> Self {
        Self { onward: Vec::new(), back }
    }
}

/// Returns the link with an interceptor in the middle. What is still to be delivered when the server was stopped is
/// dropped: nobody waits for it.
pub fn intercept(link: Link, mut between: impl Interceptor) -> Link {
    let Link { outgoing: to_server, incoming: mut from_server, stop: stop_server, transport, endpoint, processes } =
        link;
    let (stop, asked_to_stop) = Stopper::new();
    let (stopping, mut stopped) = oneshot::channel::<()>();
    tokio::spawn(async move {
        stop_server.forward(asked_to_stop.await);
        drop(stopping);
    });
    let (outgoing, mut asked) = mpsc::unbounded_channel();
    let (sender, incoming) = mpsc::channel(lines::QUEUED_LINES);
    tokio::spawn(async move {
        let (mut waiting, mut to_server) = (Schedule::default(), Some(to_server));
        let (mut is_open, mut is_stopped) = (true, false);
        while is_open || !(waiting.is_empty() || is_stopped) {
            tokio::select! {
                biased;
                _ = &mut stopped, if !is_stopped => is_stopped = true,
                outgoing = asked.recv(), if to_server.is_some() => match (outgoing, &to_server) {
                    (Some(outgoing), Some(server)) => {
                        let passed = between.on_sent(outgoing);
                        waiting.add(passed.back);
                        for onward in passed.onward {
                            // A server that is gone shows in what it sends, or does not.
                            let _ = server.send(onward);
                        }
                    }
                    // Closing the link closes the server's input.
                    (None, _) | (_, None) => to_server = None,
                },
                () = waiting.due() => {
                    let Some(next) = waiting.next() else { continue };
                    if sender.send(next).await.is_err() {
                        return;
                    }
                }
                came = from_server.recv(), if is_open => match came {
                    Some(came) => {
                        let passed = between.on_received(came);
                        waiting.add(passed.back);
                        for onward in passed.onward {
                            let _ = to_server.as_ref().map(|server| server.send(onward));
                        }
                    }
                    None => is_open = false,
                },
            }
        }
    });
    Link { outgoing, incoming, stop, transport, endpoint, processes }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::super::memory;
    use super::*;
    use crate::transport::Owner;

    struct Late;

    impl Interceptor for Late {
        fn on_sent(&mut self, outgoing: Outgoing) -> Passed {
            let back = vec![Scheduled { after: Duration::ZERO, incoming: Incoming::Stderr(b"asked".to_vec()) }];
            Passed { onward: vec![outgoing], back }
        }

        fn on_received(&mut self, incoming: Incoming) -> Passed {
            Passed::back(vec![Scheduled { after: Duration::from_secs(60), incoming }])
        }
    }

    /// A server that echoes what it is sent, a minute late, and when it was sent something.
    async fn late_echo() -> (Link, Instant) {
        let link = memory::host(|stream| async move {
            let (mut reader, mut writer) = tokio::io::split(stream);
            tokio::io::copy(&mut reader, &mut writer).await.map(drop).map_err(|error| error.to_string())
        });
        let mut link = intercept(link, Late);
        let begun = Instant::now();
        link.outgoing.send(Outgoing::Raw { pieces: vec![b"hello\n".to_vec()], owner: Owner::Session }).unwrap();
        assert_eq!(link.incoming.recv().await, Some(Incoming::Stderr(b"asked".to_vec())));
        (link, begun)
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_can_come_later() {
        let (mut link, begun) = late_echo().await;
        assert_eq!(link.incoming.recv().await, Some(Incoming::Line(b"hello".to_vec())));
        assert_eq!(begun.elapsed().as_secs(), 60);
        link.stop.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_waited_for_once_the_server_is_stopped() {
        let (mut link, begun) = late_echo().await;
        link.stop.stop().await;
        assert_eq!(link.incoming.recv().await, None);
        assert!(begun.elapsed().as_secs() < 60);
    }
}
