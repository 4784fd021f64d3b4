//! mcprove runs declarative suites against Model Context Protocol servers and scores which faults they would catch.

pub mod event;
pub mod matching;
pub mod redact;
pub mod source;
pub mod wire;
