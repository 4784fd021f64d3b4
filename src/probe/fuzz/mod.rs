//! Calls with generated arguments, several under way at a time.

use super::{Ground, Probed};
use crate::event::Outcome;
use crate::suite::Fuzz;

pub(super) async fn run(_settings: &Fuzz, tools: &[String], ground: &Ground<'_>) -> Probed {
    match ground.servers.open().await {
        Err(found) => Probed { findings: vec![found.clone()], ..Probed::because(Outcome::Errored, found.message) },
        Ok(session) => {
            ground.servers.close(session).await;
            Probed::because(Outcome::Inconclusive, format!("nothing was sent to {}", tools.join(", ")))
        }
    }
}
