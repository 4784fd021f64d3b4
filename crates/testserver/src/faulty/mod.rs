//! The faults inside the server: hooks at the places where it goes wrong, by the variant that then shows.
//!
//! `hooks` names the places and [`ServerFault`] is what the server asks there. Everything else stays as right as the
//! server is.

mod calls;
mod hooks;
mod security;
mod server_fault;
mod shell;
mod sql;
mod state;

pub(crate) use self::hooks::{HookedRequest, ToolCall};
pub use self::server_fault::{FaultEnvironment, ServerFault};

use self::hooks::{Hooks, SOUND};

/// The hooks of the server that shows a variant; those of a correct one where nothing goes wrong inside.
fn hooks_of(variant: &str) -> &'static Hooks {
    let mut inside = [calls::HOOKS, state::HOOKS, security::HOOKS].into_iter().flatten();
    inside.find(|(known, _)| *known == variant).map_or(&SOUND, |(_, hooks)| hooks)
}
