//! Values made from a JSON Schema: valid ones, ones at the edges, and ones that break exactly one keyword.
//!
//! Every value is validated with the `jsonschema` crate before it is returned.
//! Knows nothing about tools. Start reading in [`Generator`].

mod boundary;
mod branches;
mod generator;
mod make;
mod rng;
mod shape;
mod violation;

pub use boundary::Boundary;
pub use branches::BranchSet;
pub use generator::{Generator, GeneratorLimits, valid};
pub use make::PLACEHOLDER;
pub use rng::Rng;
pub use violation::{Breach, InvalidValue};
