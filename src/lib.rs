//! mcprove runs declarative suites against Model Context Protocol servers and scores which faults they would catch.

pub mod event;
pub mod redact;
pub mod report;
pub mod source;
pub mod wire;
