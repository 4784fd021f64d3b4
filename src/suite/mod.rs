//! The YAML a user writes, and what it means.
//!
//! [`load`] reads a suite and what it includes through a reader that is passed in, checks it against [`grammar`] and
//! builds a [`Suite`]; every mistake is collected, and whoever holds a [`Suite`] holds a valid one.
//! Knows nothing about servers that run or about cases; see `plan` for those. Start reading in [`Suite`].

mod bounds;
mod builtin;
mod decode;
mod generating;
pub mod grammar;
mod lint;
mod load;
mod manual;
mod merge;
mod model;
mod packs;
mod recorded;
mod rows;
mod rules;
mod schema;
mod snapshot;
mod strangers;

pub use self::builtin::{builtin_names, pack_names};
pub use self::decode::{
    block_compliance, block_differential, block_fuzz, block_negative_path, block_schema_lint, skip_reason,
};
pub use self::load::{Files, Servers, load, load_with, tidy, why_unreadable};
pub use self::manual::manual;
pub use self::model::{
    Action, AdHocCommand, Allowed, Answers, ArgumentKind, Arguments, Auth, Block, Cancel, CancelWhen, Capture, Carrier,
    ClientCredentials, CommandLine, Compliance, Cuts, Defaults, Differential, Extent, ForEach, Fuzz, Generated,
    Handshake, Hazard, Http, HttpFlavour, IgnoredChange, Level, Loop, MOST_PARALLEL, NamedTool, Need, NegativeCheck,
    NegativePath, Order, Payload, Property, Protocol, RawHttp, RawSend, Recalling, RestartPolicy, Row, Rule,
    RunOptions, SchemaLint, Server, Step, StepNeed, Suite, Target, Test, Then, ToolSelection, Wanted,
};
pub use self::packs::packs_manual;
pub use self::rules::{built_in_rules, rules_manual};
pub use self::schema::json_schema;
pub use self::snapshot::{Per, Snapshot};
