//! mcprove runs declarative suites against Model Context Protocol servers and scores which faults they would catch.
//!
//! The library's API is [`testing`]. The other modules are the program; they are public for its own tests only, and
//! change without notice. Without the default feature `cli`, only what [`testing`] needs is compiled.

pub mod testing;

#[doc(hidden)]
pub mod baseline;
#[doc(hidden)]
pub mod block;
#[doc(hidden)]
pub mod carrier;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod chaos;
#[doc(hidden)]
pub mod check;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod convert;
#[doc(hidden)]
pub mod coverage;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod demo;
#[doc(hidden)]
pub mod diagnosis;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod diff;
#[cfg(feature = "cli")]
mod doctor;
#[doc(hidden)]
pub mod drift;
#[doc(hidden)]
pub mod event;
#[doc(hidden)]
pub mod fault;
#[doc(hidden)]
pub mod findings;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod init;
#[doc(hidden)]
pub mod lint;
#[doc(hidden)]
pub mod matching;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod merge;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod mock;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod monitor;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod prove;
#[doc(hidden)]
pub mod recorded;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod relay;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod reproduce;
#[doc(hidden)]
pub mod runner;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod show;
#[doc(hidden)]
pub mod suite;
#[doc(hidden)]
pub mod taxonomy;

#[doc(hidden)]
pub use mcprove_client::{session, transport};
#[doc(hidden)]
pub use mcprove_files as files;
#[doc(hidden)]
pub use mcprove_protocol::{apps, generate, injection, path, redact, reliability, schema, wire};
#[cfg(feature = "cli")]
#[doc(hidden)]
pub use mcprove_server as server;
#[doc(hidden)]
pub use mcprove_source as source;
#[doc(hidden)]
pub use mcprove_testserver as testserver;
