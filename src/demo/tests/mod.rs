//! Faulty servers beside the correct one, over in-memory streams on a paused clock, and over sockets.

#[path = "../../../crates/testserver/src/tests/client.rs"]
mod client;
mod edge;
mod faulty;
mod faulty_http;
