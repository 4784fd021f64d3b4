//! Which cases run, in which order, on which server: a suite with every choice made.
//!
//! [`build()`] needs no server and decides what a suite declares; what depends on the server's tools stays a
//! [`Body::Template`] until [`expand()`] has a catalog.
//! Nothing here is optional that a runner would have to decide. Start reading in [`Plan`].

pub mod arguments;
mod block;
mod build;
mod case;
mod check_servers;
mod check_trait;
mod chosen_tools;
mod expand;
mod filter;
pub(crate) mod generated;
pub(crate) mod needs;
mod offer;
mod order;
mod parts;
pub(crate) mod planner;
mod probe;
mod property;
pub(crate) mod put;
mod raw;
mod records;
mod rounds;
mod select;
mod serving;
mod shard;
mod shared_names;
mod snapshot;
mod target;
mod tool_settings;
mod unmatched;
mod valid;
pub(crate) mod witness;

pub use self::block::{Block, CaseSource, GeneratedCalls, ListedTools};
pub use self::build::{Declaration, build, collect_declaration};
pub use self::case::{Body, Case, Mistake, MustServe, Place, Plan, Script, SessionNeed, SuitePlan, Template};
pub use self::check_servers::{
    BoxFuture, CaseStore, CloseServer, ClosedServer, FreshServers, OpenServer, RunningServer, ServerChoice, SuiteSetup,
};
pub use self::check_trait::{Check, CheckContext, CheckMachine, StepOutcome, StepRunner};
pub use self::chosen_tools::{ChosenTools, chosen_tools};
pub use self::expand::expand;
pub use self::filter::Filter;
pub use self::offer::Offer;
pub(crate) use self::offer::is_authorized;
pub use self::order::{replan, shuffle};
pub(crate) use self::parts::{PartFile, missing, repeated};
pub use self::probe::{TargetPlan, by_target};
pub use self::property::Rounds;
pub use self::rounds::{Values, ValuesError};
pub use self::select::{Failed, LineSelection, Selection};
pub use self::serving::GeneratedCases;
pub use self::shard::{CaseUnit, Shard, ShardNumber};
pub use self::shared_names::SharedNames;
pub use self::snapshot::{SnapshotFiles, SnapshotScope, snapshot_files};
pub use self::target::Target;
pub use self::tool_settings::invalid_tool_settings;
pub use self::unmatched::{unmatched_places, unmatched_words};
pub use self::valid::{is_called_by_generated, must_serve, rests_on_valid_calls};
pub(crate) use self::witness::expects_success;
