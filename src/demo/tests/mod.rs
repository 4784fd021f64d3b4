//! The demo server, driven with raw lines over an in-memory stream, in both eras.
//!
//! The clock is paused: what takes seconds on the server takes none here.

mod catalog;
mod ends;
mod faulty;
mod lifecycle;
mod peer;
mod robustness;
mod slow;
mod tools;
