//! Findings that outlive their run: stored, listed, replayed, minimised, compared.
//!
//! A [`Keeper`] watches a run and makes a [`Stored`] of every failure; [`replay()`] replays one on fresh servers,
//! [`rerun()`] with the block that found it;
//! [`minimise()`] leaves out requests that are not needed; [`regression()`] is the test that a suite should gain;
//! [`compare()`] compares two runs.
//! Knows nothing of files: whoever calls reads and writes. Start reading in [`Stored`].

mod calls;
mod compare;
mod keeper;
mod minimise;
mod regression;
mod replay;
mod rerun;
mod restore;
mod sequence;
mod start;
mod stored;

pub use self::compare::{Compared, compare};
pub use self::keeper::{Keeper, KeptFinding};
pub use self::minimise::{Minimised, minimise};
pub use self::regression::regression;
pub use self::replay::{ReplayResult, ReplayStage, replay};
pub use self::rerun::rerun;
pub use self::restore::{Restored, replay_environment, restore_secrets, unset_secrets};
pub use self::start::ServerStart;
pub use self::stored::{FORMAT, FindingPlace, Stored, json_schema};
