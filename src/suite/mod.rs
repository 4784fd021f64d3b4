//! The YAML a user writes, and what it means.
//!
//! [`load()`] reads a suite and what it includes through a reader that is passed in, checks it against [`grammar`] and
//! builds a [`Suite`]; every mistake is collected, and whoever holds a [`Suite`] holds a valid one.
//! Knows nothing about servers that run or about cases; see `plan` for those. Start reading in [`Suite`].

mod block;
mod builtin;
mod decode;
mod files;
mod foreign_template;
mod generating;
pub mod grammar;
mod lint;
mod load;
mod merge;
mod model;
mod rows;
mod server_file;
mod snapshot;
mod unused_overrides;

pub use self::block::{BlockKind, BlockReader, DecodeInTest, LoadedSuite, SuiteBlock, SuiteGrammar, SuiteSettings};
#[cfg(test)]
pub(crate) use self::builtin::rule_books;
pub use self::builtin::{builtin_file, builtin_name, builtin_names, is_builtin, pack_names, text as builtin_text};
pub(crate) use self::decode::{NamedFaults, injected, test};
pub(crate) use self::files::absolute_path;
pub use self::files::{Files, normalize_path, why_unreadable};
pub(crate) use self::grammar::INJECTED;
pub use self::load::{Servers, SuiteSource, load};
pub use self::model::{
    Action, AdHocCommand, Answers, ArgumentKind, Arguments, Auth, AuthorizationCode, Awaited, Cancel, CancelWhen,
    Capture, Carrier, ChangingList, ClientCredentials, CommandLine, Cuts, Defaults, DeviceCode, Extent, Fixture,
    ForEach, Generated, Handshake, Hazard, HeaderValue, Http, HttpCredentials, HttpFlavour, HttpUser, Listen,
    LoginStep, Loop, MOST_PARALLEL, NamePattern, NamedTool, NeededVariable, NewStore, NotificationFilter, Order,
    Payload, Property, Protocol, RawHttp, RawSend, Recovery, RecoveryLimit, RestartPolicy, Row, Rule, RuleLevel,
    RunOptions, Server, ServerKind, SkipReason, StartChanges, Step, StepNeed, Store, Suite, TaskCall, Test, TestExtras,
    TestNeed, Then, ToolNames, ToolSelection, Wanted, is_named,
};
pub(crate) use self::rows::mask_csv;
pub use self::server_file::{Inputs, ServerFile};
pub use self::snapshot::{Per, Snapshot};
