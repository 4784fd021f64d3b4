//! The signals of a monitor: SIGHUP reads the suites again, all others end it.

/// The meaning of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MonitorSignal {
    /// The suites are read again.
    Reload,
    /// The monitor ends.
    End,
}

/// Listens without a gap between one signal and the next.
#[cfg(unix)]
pub(crate) struct MonitorSignals {
    heard: Vec<(MonitorSignal, tokio::signal::unix::Signal)>,
}

#[cfg(unix)]
impl MonitorSignals {
    /// Listens from now on.
    pub(crate) fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [
            (MonitorSignal::End, SignalKind::interrupt()),
            (MonitorSignal::End, SignalKind::terminate()),
            (MonitorSignal::Reload, SignalKind::hangup()),
        ];
        Self { heard: kinds.into_iter().filter_map(|(meaning, kind)| Some((meaning, signal(kind).ok()?))).collect() }
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> MonitorSignal {
        use std::task::Poll;
        std::future::poll_fn(|context| {
            let mut heard = self.heard.iter_mut();
            let ready = heard.find_map(|(meaning, signal)| signal.poll_recv(context).is_ready().then_some(*meaning));
            ready.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

#[cfg(not(unix))]
pub(crate) struct MonitorSignals;

#[cfg(not(unix))]
impl MonitorSignals {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) async fn next(&mut self) -> MonitorSignal {
        let _ = tokio::signal::ctrl_c().await;
        MonitorSignal::End
    }
}
