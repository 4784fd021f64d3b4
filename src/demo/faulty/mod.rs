//! The faulty servers: the demo server with exactly one fault, one for each variant of the taxonomy that a server of its
//! own can have.
//!
//! `servers.yml` lists them. Most are the correct server behind faults at its edge; the others go wrong inside, where the
//! server itself has hooks. Everything else stays as right as the demo is.
//! Knows nothing about suites, nor about how faults are imitated.

use std::sync::{Arc, LazyLock};

use mcprove_testserver::faulty::ServerFault;

pub use mcprove_testserver::faulty::FaultEnvironment;

use crate::fault::{Fault, decode_all};
use crate::relay::Relay;
use crate::source::{Node, SourceFile, Sources, parse};
use crate::taxonomy::{Registry, Transport};

/// One faulty server.
pub struct FaultyServer {
    /// The variant of the taxonomy.
    pub variant: &'static str,
    /// The fault: the rest of a sentence that begins with "it".
    pub wrong: &'static str,
    edge: Option<Vec<Fault>>,
}

/// The fault of a demo server, inside or at its edge, if it has one; all conversations of a server share it.
#[derive(Clone)]
pub struct DemoFault {
    pub(crate) inside: Arc<ServerFault>,
    pub(crate) edge: Option<Arc<Relay>>,
}

impl DemoFault {
    /// A server that does everything right.
    pub fn none() -> Self {
        Self { inside: Arc::new(ServerFault::none()), edge: None }
    }

    /// A server that does one thing wrong.
    pub fn of(server: &FaultyServer, environment: FaultEnvironment) -> Self {
        let edge = server.edge.clone().map(|faults| Arc::new(Relay::new(faults)));
        Self { inside: Arc::new(ServerFault::of(server.variant, environment)), edge }
    }

    /// A server that does everything right inside, with faults at its edge.
    pub fn at_edge(faults: Vec<Fault>) -> Self {
        Self { edge: Some(Arc::new(Relay::new(faults))), ..Self::none() }
    }
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
    assert!(found.is_empty(), "the fault of `{variant}` has mistakes: {found:?}");
    FaultyServer { wrong: text("wrong"), edge, variant }
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
