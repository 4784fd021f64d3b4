//! Faults as data: what they match, and what they do to what a server sends and when.
//!
//! An [`Exchange`] is a message of the client with everything that came because of it; a [`Fault`] strikes some of them
//! and turns their replies into those of a server that is wrong in one way. Mutants, injection and relays use the same.
//! Pure: nothing here reads a clock or talks to anybody. Start reading in [`Fault`].

mod exchange;

pub use self::exchange::{Asked, Ended, Exchange, Known, Reply, What};
