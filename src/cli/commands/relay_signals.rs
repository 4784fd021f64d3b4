//! The signals of a relay, which are for its server.

#[cfg(unix)]
pub(crate) struct RelaySignals {
    heard: Vec<(i32, tokio::signal::unix::Signal)>,
}

#[cfg(unix)]
impl RelaySignals {
    /// Listens from now on.
    pub(crate) fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()];
        // A signal that the system does not give ends the program, as it would end the server.
        Self { heard: kinds.into_iter().filter_map(|kind| Some((kind.as_raw_value(), signal(kind).ok()?))).collect() }
    }

    /// The number of the next one.
    pub(crate) async fn next(&mut self) -> i32 {
        use std::future::poll_fn;
        use std::task::Poll;
        poll_fn(|context| {
            for (number, signal) in &mut self.heard {
                if signal.poll_recv(context).is_ready() {
                    return Poll::Ready(*number);
                }
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(not(unix))]
pub(crate) struct RelaySignals;

#[cfg(not(unix))]
impl RelaySignals {
    pub(crate) fn new() -> Self {
        Self
    }

    /// The number of SIGINT: Ctrl-C is the only one there is.
    pub(crate) async fn next(&mut self) -> i32 {
        let _ = tokio::signal::ctrl_c().await;
        2
    }
}
