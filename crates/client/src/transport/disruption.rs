//! Disruptions of a connection, in their place among the messages: the process of the server is killed or stands still,
//! and nothing is read for a while.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::process_tree::CAN_PAUSE;

/// Something done to a connection, in its place among the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disruption {
    /// The process of the server is killed, with all that it started.
    Kill,
    /// The process stands still for that time.
    Pause(Duration),
    /// Nothing is read for that time.
    Unread(Duration),
}

/// An order to a server, and the sender that is notified once it is done.
type GivenOrder = (ProcessOrder, oneshot::Sender<()>);

/// An order to the process of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessOrder {
    Kill,
    Pause(Duration),
}

/// The way to the process of a server.
#[derive(Debug, Clone)]
pub(crate) struct ProcessControl(mpsc::UnboundedSender<GivenOrder>);

/// The orders to a process.
#[derive(Debug)]
pub(crate) struct ProcessOrders(mpsc::UnboundedReceiver<GivenOrder>);

impl ProcessControl {
    pub(crate) fn new() -> (Self, ProcessOrders) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), ProcessOrders(receiver))
    }

    /// Returns when it is done, or when the process is gone.
    pub(crate) async fn give(&self, order: ProcessOrder) {
        let (done, is_done) = oneshot::channel();
        if self.0.send((order, done)).is_ok() {
            let _ = is_done.await;
        }
    }
}

impl ProcessOrders {
    /// The next order, which is done when the sender is used or dropped; never returns where no order can come.
    pub(crate) async fn next(&mut self) -> GivenOrder {
        match self.0.recv().await {
            Some(given) => given,
            None => std::future::pending().await,
        }
    }
}

/// Lets a reader wait while nothing is to be read.
#[derive(Debug, Default)]
pub(crate) struct ReadGate {
    is_shut: AtomicBool,
    until: Mutex<Option<Instant>>,
}

impl ReadGate {
    /// Shuts it for that time.
    pub(crate) fn shut_for(&self, time: Duration) {
        let mut until = self.until.lock();
        *until = (*until).max(Some(Instant::now() + time));
        self.is_shut.store(true, Ordering::Release);
    }

    /// Waits until it is open.
    pub(crate) async fn open(&self) {
        if let Some(until) = self.shut_until() {
            sleep_until(until).await;
        }
    }

    /// When it opens; `None` if it never was shut.
    fn shut_until(&self) -> Option<Instant> {
        if !self.is_shut.load(Ordering::Acquire) {
            return None;
        }
        *self.until.lock()
    }
}

/// A reader that takes no byte while its gate is shut, not even the rest of a line.
pub(crate) struct GatedReader<R> {
    reader: R,
    gate: Arc<ReadGate>,
    wait: Option<Pin<Box<Sleep>>>,
}

impl<R> GatedReader<R> {
    pub(crate) fn new(reader: R, gate: Arc<ReadGate>) -> Self {
        Self { reader, gate, wait: None }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for GatedReader<R> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some(until) = self.gate.shut_until().filter(|until| *until > Instant::now()) {
            let mut wait = self.wait.take().unwrap_or_else(|| Box::pin(sleep_until(until)));
            wait.as_mut().reset(until);
            if wait.as_mut().poll(context).is_pending() {
                self.wait = Some(wait);
                return Poll::Pending;
            }
        }
        Pin::new(&mut self.reader).poll_read(context, bytes)
    }
}

/// The means of a stream's writer to disrupt the other side.
#[derive(Debug, Clone)]
pub(crate) struct StreamControl {
    /// Nothing where the server is no process and no task of ours.
    pub process: Option<ProcessControl>,
    pub gate: Arc<ReadGate>,
}

impl StreamControl {
    pub(crate) async fn disrupt(&self, disruption: Disruption) {
        match (disruption, &self.process) {
            (Disruption::Unread(time), _) => self.gate.shut_for(time),
            (Disruption::Kill, Some(process)) => process.give(ProcessOrder::Kill).await,
            (Disruption::Pause(time), Some(process)) if CAN_PAUSE => process.give(ProcessOrder::Pause(time)).await,
            // The server does not see what is not written.
            (Disruption::Pause(time), _) => sleep(time).await,
            (Disruption::Kill, None) => {}
        }
    }
}
