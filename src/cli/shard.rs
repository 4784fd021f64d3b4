//! The part of a run that one of several machines runs, as flags name it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::commands::report::recorded_run;
use super::console::Console;
use super::exit::Exit;
use crate::event::{CaseResult, Event, ShardUnit};
use crate::plan::{CaseUnit, Shard, ShardNumber};

/// One part of a run.
#[derive(Debug, Args)]
pub(crate) struct ShardArgs {
    /// Runs the I-th of N parts of the cases, so that N machines share a run; `mcprove merge` makes one run of their recordings.
    #[arg(long, value_name = "I/N", value_parser = ShardNumber::parse)]
    shard: Option<ShardNumber>,
    /// What stays in one part: each case goes by itself, or all cases of a server name or of a suite file together.
    #[arg(
        long,
        value_name = "UNIT",
        value_enum,
        default_value = "case",
        hide_default_value = true,
        requires = "shard"
    )]
    shard_by: ShardUnit,
    /// Makes the parts equally long by the times in this recording of an earlier run; cases that it does not know are divided by a hash of their id.
    #[arg(long, value_name = "RECORDING", requires = "shard")]
    shard_times: Option<PathBuf>,
}

impl ShardArgs {
    /// The part that is asked for.
    pub(crate) fn shard(&self, console: &Console) -> Result<Option<Arc<Shard>>, Exit> {
        let Some(number) = self.shard else { return Ok(None) };
        let times = match &self.shard_times {
            Some(recording) => Some(times(&recorded_run(recording, console)?)),
            None => None,
        };
        Ok(Some(Arc::new(Shard::new(number, self.shard_by, times.as_ref()))))
    }
}

/// The times of recorded cases, in microseconds.
fn times(events: &[Event]) -> BTreeMap<CaseUnit, u64> {
    let results = events.iter().filter_map(|event| {
        let Event::CaseFinished(result) = event else { return None };
        Some(&**result)
    });
    results.map(|result| (unit(result), result.duration_us)).collect()
}

fn unit(result: &CaseResult) -> CaseUnit {
    let case = &result.case;
    // The file of a case may be one that the suite includes.
    let suite = case.id.split_once("::").map_or(case.file.as_str(), |(suite, _)| suite);
    CaseUnit { id: case.id.clone(), server: case.server.clone(), suite: suite.to_owned() }
}
