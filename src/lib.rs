//! mcprove runs declarative suites against Model Context Protocol servers and scores which faults they would catch.

pub mod baseline;
pub mod block;
pub mod cli;
pub mod coverage;
pub mod demo;
pub mod diagnosis;
pub mod drift;
pub mod event;
pub mod fault;
pub mod findings;
pub mod generate;
pub mod lint;
pub mod matching;
pub mod plan;
pub mod prove;
pub mod recorded;
pub mod redact;
pub mod report;
pub mod runner;
pub mod session;
pub mod suite;
pub mod taxonomy;
pub mod testing;
pub mod transport;
pub mod wire;

pub use mcprove_source as source;
