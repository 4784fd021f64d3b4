//! Documents made from what happened.

pub mod coverage;
