//! Whose request it was that ended a server to which several cases spoke at once.

use std::future::Future;

use super::attempt::{Attempted, ended_the_server};
use super::lane::{Lane, Opened};
use crate::event::Outcome;

/// Why a case has no verdict whose server ended under the requests of several.
const NOT_ALONE: &str = "the server ended while requests of several cases were under way, and alone with a fresh \
                         server this case passes";

/// The attempt itself where it is clear what ended the server; elsewhere the case is tried again alone with a fresh one.
///
/// A case is only to blame if it ends the fresh server too. Where nobody does, the end of the shared server is told for
/// itself, so that the run does not pass. Suites with a setup are left as they are: it ran in the shared server.
pub(super) async fn unless_clear(
    lane: &Lane,
    opened: &Opened,
    attempted: Attempted,
    alone: impl Future<Output = Attempted>,
) -> Attempted {
    let session = &opened.session;
    let can_start_again = session.server.transport == "stdio" && lane.planned().suite.setup.is_empty();
    if !(ended_the_server(&attempted) && session.ended_among_several() && can_start_again) || lane.stop.is_set() {
        return attempted;
    }
    let again = alone.await;
    match again.outcome {
        Outcome::Failed if ended_the_server(&again) => {
            session.explain_end(true);
            again
        }
        Outcome::Passed | Outcome::Warned => {
            session.explain_end(false);
            let reason = Some(NOT_ALONE.to_owned());
            Attempted { outcome: Outcome::Inconclusive, reason, findings: Vec::new(), ..again }
        }
        Outcome::Failed | Outcome::Skipped | Outcome::Inconclusive | Outcome::Errored => attempted,
    }
}
