//! The pages of a monitor: `/metrics` for Prometheus, `/healthz` for whoever restarts it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use parking_lot::Mutex;
use tokio::time::sleep;

use crate::monitor::exposition;
use crate::monitor::ledger::Ledger;

/// The interval at which the monitor shows that it goes on.
const BEAT_INTERVAL: Duration = Duration::from_secs(1);

/// The time without a sign of life after which it counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(30);

/// Shows whether the loop of the monitor goes on.
#[derive(Debug, Clone)]
pub(crate) struct Heartbeat {
    begun: Instant,
    /// The seconds from then to the last sign of life.
    last: Arc<AtomicU64>,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self { begun: Instant::now(), last: Arc::default() }
    }
}

impl Heartbeat {
    /// Shows for ever that it goes on; must run where the monitor does.
    pub(crate) async fn beat(self) {
        loop {
            self.last.store(self.begun.elapsed().as_secs(), Ordering::Relaxed);
            sleep(BEAT_INTERVAL).await;
        }
    }

    fn is_alive(&self) -> bool {
        let last = Duration::from_secs(self.last.load(Ordering::Relaxed));
        self.begun.elapsed().saturating_sub(last) < STUCK_AFTER
    }
}

/// The pages.
pub(crate) fn router(ledger: Arc<Mutex<Ledger>>, heartbeat: Heartbeat) -> Router {
    let figures = get(|State(ledger): State<Arc<Mutex<Ledger>>>| async move {
        ([(CONTENT_TYPE, exposition::CONTENT_TYPE)], exposition::exposition(&ledger.lock()))
    });
    let health = get(move || async move {
        if heartbeat.is_alive() {
            (StatusCode::OK, "ok\n")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "the monitor is stuck; restart it\n")
        }
    });
    Router::new().route("/metrics", figures).route("/healthz", health).with_state(ledger)
}
