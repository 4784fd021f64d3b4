//! Values made from a JSON Schema: valid ones, ones at the edges, and ones that break exactly one keyword.
//!
//! Every value is validated with the `jsonschema` crate before it is returned.
//! Knows nothing about tools. Start reading in [`Generator`].

mod boundary;
mod branches;
mod edge;
mod generator;
mod judge;
mod lookaround;
mod make;
mod pattern;
mod rng;
mod schema;
mod shape;
mod shrink;
mod validate;
mod violation;

pub use boundary::Boundary;
pub use branches::BranchSet;
pub use generator::{Generator, GeneratorLimits, Unusable};
pub use judge::{Formats, Judge, compile};
pub use make::PLACEHOLDER;
pub use rng::Rng;
pub use schema::{References, compare, written};
pub use shrink::shrink;
pub use validate::{objection, refuses, satisfies, valid};
pub use violation::{Breach, InvalidValue};
