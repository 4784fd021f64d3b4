//! Replays a recorded server in virtual time.
//!
//! Knows nothing of what is played: whoever has a recording is a [`RecordedServer`].

use tokio::sync::mpsc;

use super::schedule::{Schedule, Scheduled};
use super::{Incoming, Link, Outgoing, OutgoingMessage, Owner, Stopper, TransportKind, lines};

/// Says what comes for what is sent.
pub trait RecordedServer: Send + 'static {
    /// Returns the answers to a message.
    fn on_message(&mut self, message: &OutgoingMessage) -> Vec<Scheduled>;

    /// Returns the answers to raw bytes of a case.
    fn on_raw(&mut self, owner: &Owner, bytes: &[u8]) -> Vec<Scheduled>;
}

/// Connects to a recorded server; `transport` names the one of the recording.
pub fn connect(transport: TransportKind, player: impl RecordedServer) -> Link {
    let (outgoing, asked) = mpsc::unbounded_channel();
    let (sender, incoming) = mpsc::channel(lines::QUEUED_LINES);
    let (stop, mut stopped) = Stopper::new();
    tokio::spawn(async move {
        let mut stage = Playback { player, sender, waiting: Schedule::default() };
        tokio::select! {
            // A session may end before everything was played.
            done = &mut stopped => drop(done),
            () = stage.play(asked) => drop(stopped.await),
        }
    });
    Link { outgoing, incoming, stop, transport, endpoint: None, processes: None }
}

struct Playback<P> {
    player: P,
    sender: mpsc::Sender<Incoming>,
    waiting: Schedule,
}

impl<P: RecordedServer> Playback<P> {
    /// Plays until nobody asks any more, or the server that is played is gone.
    async fn play(&mut self, mut asked: mpsc::UnboundedReceiver<Outgoing>) {
        loop {
            tokio::select! {
                biased;
                outgoing = asked.recv() => match outgoing {
                    Some(outgoing) => self.ask(&outgoing),
                    None => return,
                },
                () = self.waiting.due() => {
                    let Some(next) = self.waiting.next() else { continue };
                    let is_last = matches!(next, Incoming::Exited(_));
                    if self.sender.send(next).await.is_err() || is_last {
                        return;
                    }
                }
            }
        }
    }

    fn ask(&mut self, outgoing: &Outgoing) {
        self.waiting.add(match outgoing {
            Outgoing::Message(message) => self.player.on_message(message),
            Outgoing::Raw { pieces, owner } => self.player.on_raw(owner, &pieces.concat()),
            Outgoing::End | Outgoing::Abandon { .. } | Outgoing::Disruption(_) => Vec::new(),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::transport::ServerExit;

    struct Echo;

    impl RecordedServer for Echo {
        fn on_message(&mut self, _: &OutgoingMessage) -> Vec<Scheduled> {
            Vec::new()
        }

        /// `late` comes after an hour, `bye` ends the server, everything else comes at once.
        fn on_raw(&mut self, _: &Owner, bytes: &[u8]) -> Vec<Scheduled> {
            let after = Duration::from_secs(if bytes == b"late" { 3600 } else { 0 });
            let incoming =
                if bytes == b"bye" { Incoming::Exited(ServerExit::Status(3)) } else { Incoming::Line(bytes.into()) };
            vec![Scheduled { after, incoming }]
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_due_first_comes_first() {
        let mut link = connect(TransportKind::Stdio, Echo);
        for word in ["late", "one", "two"] {
            link.outgoing.send(Outgoing::Raw { pieces: vec![word.into()], owner: Owner::Session }).unwrap();
        }
        for expected in ["one", "two", "late"] {
            assert_eq!(link.incoming.recv().await, Some(Incoming::Line(expected.into())));
        }
        link.outgoing.send(Outgoing::Raw { pieces: vec!["bye".into()], owner: Owner::Session }).unwrap();
        assert_eq!(link.incoming.recv().await, Some(Incoming::Exited(ServerExit::Status(3))));
        link.stop.stop().await;
    }
}
