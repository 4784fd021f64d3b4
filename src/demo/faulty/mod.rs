//! The faulty servers: the demo server with exactly one fault written into it, one for each variant of the taxonomy
//! that a server of its own can have.
//!
//! `hooks` names the places where the demo can go wrong, [`Fault`] is what the demo asks there, and each file of a
//! family holds a table: the variant, one sentence about what this server does wrong, and the hooks that do it.
//! Everything else stays as right as the demo is. Knows nothing about suites, nor about how faults are imitated.

mod config;
mod edits;
mod fault;
mod hooks;
mod proto;
mod provider;
mod schema;
mod security;
mod state;
mod timeout;
mod tool;

pub use self::fault::{Fault, Heard, Surroundings};
pub(super) use self::hooks::{Call, Check, Request};

use self::hooks::Hooks;
use crate::taxonomy::{Registry, Transport};

/// One faulty server.
pub struct Entry {
    /// The variant of the taxonomy.
    pub variant: &'static str,
    /// What the server does wrong: what follows "it".
    pub wrong: &'static str,
    hooks: Hooks,
}

const FAMILIES: [&[Entry]; 8] = [
    proto::ENTRIES,
    tool::ENTRIES,
    schema::ENTRIES,
    state::ENTRIES,
    provider::ENTRIES,
    security::ENTRIES,
    timeout::ENTRIES,
    config::ENTRIES,
];

/// Variants that no server here has, and why.
pub const ABSENT: &[(&str, &str)] = &[("SECURITY-TOOL-SHADOWING", "it takes a second server whose tool is shadowed")];

/// All faulty servers, family by family.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    FAMILIES.into_iter().flatten()
}

/// The server with the fault of that variant.
pub fn find(variant: &str) -> Option<&'static Entry> {
    all().find(|entry| entry.variant == variant)
}

/// What a faulty server can be reached over; over anything else it would be right.
pub fn transports(entry: &Entry) -> &'static [Transport] {
    Registry::builtin().variant(entry.variant).map_or(&[], |variant| &variant.transports)
}
