//! Mutants in front of the real server: for those that a recording leaves undecided, and those that change how it starts.

mod tampering;

use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Builder, Runtime};

use self::tampering::{Surroundings, Tampering};
use super::plant::Bed;
use super::replay::Log;
use super::rerun::{Rerun, Telling, once, seen};
use crate::fault::Fault;
use crate::plan::Plan;
use crate::runner::{Options, Tamper};
use crate::taxonomy::Registry;
use crate::transport::relay::relayed;

/// A runtime in which real servers run.
pub(super) fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Runs cases against their servers, with a mutant in front of them.
pub(super) fn run(
    runtime: &Runtime,
    plan: Plan,
    fault: &Fault,
    beds: &[Bed<'_>],
    (options, registry): (&Options, &Registry),
) -> Rerun {
    let log: Arc<Mutex<Log>> = Arc::default();
    let around: Vec<(String, Surroundings)> = beds
        .iter()
        .map(|bed| {
            let around = Surroundings {
                fault: fault.clone(),
                catalog: bed.catalog.clone(),
                capabilities: bed.capabilities.clone(),
                exchanges: Arc::new(bed.recorded.exchanges.clone()),
                log: Arc::clone(&log),
            };
            (bed.name.to_owned(), around)
        })
        .collect();
    let tamper = Tamper::new(
        |_, _| {},
        move |lane, link| match around.iter().find(|(name, _)| name == lane) {
            Some((_, around)) => {
                let transport = link.transport;
                relayed(link, Tampering::new(around.clone(), transport))
            }
            None => link,
        },
    );
    let options = Options { tamper: Some(tamper), ..once(options) };
    let rerun = seen(runtime, plan, (&options, registry), Telling::Verdicts);
    let log = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Rerun { log, ..rerun }
}
