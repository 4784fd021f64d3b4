//! The faulty servers: the demo server with exactly one fault, one for each variant of the taxonomy that a server of its
//! own can have.
//!
//! `servers.yml` lists them. Most are the correct server behind faults at its edge; the others go wrong inside, where
//! `hooks` names the places and [`ServerFault`] is what the demo asks there. Everything else stays as right as the demo is.
//! Knows nothing about suites, nor about how faults are imitated.

mod calls;
mod hooks;
mod security;
mod server_fault;
mod shell;
mod sql;
mod state;

use std::sync::LazyLock;

pub(crate) use self::hooks::{HookedRequest, ToolCall};
pub use self::server_fault::{FaultEnvironment, ServerFault};

use self::hooks::{Hooks, SOUND};
use crate::fault::{Fault, decode_all};
use crate::source::{Node, SourceFile, Sources, parse};
use crate::taxonomy::{Registry, Transport};

/// One faulty server.
pub struct FaultyServer {
    /// The variant of the taxonomy.
    pub variant: &'static str,
    /// The fault: the rest of a sentence that begins with "it".
    pub wrong: &'static str,
    hooks: &'static Hooks,
    edge: Option<Vec<Fault>>,
}

/// Variants that no server here has, and why.
pub const ABSENT: &[(&str, &str)] = &[("SECURITY-TOOL-SHADOWING", "it takes a second server whose tool is shadowed")];

static SERVERS: LazyLock<Vec<FaultyServer>> = LazyLock::new(|| {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("<faulty servers>", include_str!("servers.yml")));
    let list = parse(&sources, source).unwrap_or_else(|mistake| panic!("{mistake:?}"));
    list.items().iter().map(server).collect()
});

fn server(node: &Node) -> FaultyServer {
    // They live as long as the list, which is never dropped.
    let text = |key: &str| node.get(key).and_then(Node::text).unwrap_or_default().to_owned().leak();
    let mut found = Vec::new();
    let edge = node.get("faults").map(|faults| decode_all(faults, &mut found));
    let variant: &str = text("variant");
    let mut inside = [calls::HOOKS, state::HOOKS, security::HOOKS].into_iter().flatten();
    let hooks = inside.find(|(known, _)| *known == variant).map_or(&SOUND, |(_, hooks)| hooks);
    assert!(found.is_empty(), "the fault of `{variant}` has mistakes: {found:?}");
    FaultyServer { wrong: text("wrong"), hooks, edge, variant }
}

/// All faulty servers, family by family.
pub fn all() -> impl Iterator<Item = &'static FaultyServer> {
    SERVERS.iter()
}

/// The server with the fault of that variant.
pub fn find(variant: &str) -> Option<&'static FaultyServer> {
    all().find(|server| server.variant == variant)
}

/// The transports over which a faulty server is faulty.
pub fn transports(server: &FaultyServer) -> &'static [Transport] {
    Registry::builtin().variant(server.variant).map_or(&[], |variant| &variant.transports)
}
