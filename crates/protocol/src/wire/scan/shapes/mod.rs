//! The published message schemas, as far as they say what a server may send, and the walk of a message along them.
//!
//! `table.txt` holds the facts of all revisions; `compile` makes it from a clone of the specification. [`Shapes`] is that
//! table for one revision, [`Walk`] follows a value and reports each kind of mismatch once, and `rules` names
//! the rules of their own that some members have.

mod report;
mod rules;
mod table;
mod walk;

pub(crate) use self::table::{MessageShape, Shapes};
pub(crate) use self::walk::{Walk, WalkStart};
