//! Values made from a JSON Schema: valid ones, ones at the edges, and ones that break exactly one keyword.
//!
//! What is made is checked with the `jsonschema` crate before it is handed out, so a caller never has to wonder.
//! Knows nothing about tools. Start reading in [`Generator`].

mod boundary;
mod branches;
mod draw;
mod edge;
mod judge;
mod lookaround;
mod make;
mod maker;
mod pattern;
mod question;
mod schema;
mod shape;
mod shrink;
mod violation;

pub use boundary::Boundary;
pub use branches::BranchSet;
pub use draw::Rng;
pub use judge::{Formats, Judge, compile};
pub use make::PLACEHOLDER;
pub use maker::{Generator, GeneratorLimits, Unusable};
pub use question::{objection, refuses, satisfies, valid};
pub use schema::{References, compare, written};
pub use shrink::shrink;
pub use violation::{Breach, InvalidValue};
