//! The demo server, driven with raw lines over an in-memory stream, in both eras.
//!
//! The clock is paused: what takes seconds on the server takes none here. `http`, `http_abuse`, `authorization` and
//! `tasks_http` use sockets, so theirs runs.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]

mod authorization;
mod authorization_server;
mod catalog;
mod client;
mod data_file;
mod ends;
mod fixtures;
mod fixtures_http;
mod http;
mod http_abuse;
mod lifecycle;
mod peer;
mod robustness;
mod slow;
mod tasks;
mod tasks_http;
mod tools;
