//! Findings that outlive their run: kept, shown, seen again, made small, compared.
//!
//! A [`Keeper`] watches a run and makes a [`Stored`] of everything that went wrong; [`again()`] plays one to fresh servers;
//! [`minimised()`] leaves out what is not needed; [`regression()`] is the test that a suite should gain; [`compare()`] tells
//! two runs apart.
//! Knows nothing of files: whoever calls reads and writes. Start reading in [`Stored`].

mod again;
mod calls;
mod compare;
mod ddmin;
mod keeper;
mod minimise;
mod regression;
pub mod replay;
mod restore;
mod sequence;
mod start;
mod stored;

pub use self::again::{ReplayResult, again};
pub use self::compare::{Compared, compare};
pub use self::keeper::{Keeper, KeptFinding};
pub use self::minimise::{Minimised, minimised};
pub use self::regression::regression;
pub use self::restore::{Restored, restored, wanted};
pub use self::start::ServerStart;
pub use self::stored::{FORMAT, FindingPlace, Stored, json_schema};
