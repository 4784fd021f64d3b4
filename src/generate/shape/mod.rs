//! The possible values of a schema: a graph of nodes, each with the shapes that its values can take.
//!
//! A node stands for subschemas that all judge one place. Its shapes have no alternatives left: `anyOf`, `oneOf`, `if`
//! and `not` are decided, `allOf` and references are merged. Knows which alternatives stand together, not how values are made.

mod build;
mod members;
mod search;
mod size;

use std::collections::BTreeMap;

use serde_json::Value;

use super::GeneratorLimits;
use crate::schema::{MergedRules, SchemaId, Schemas, TypeSet};

pub(super) use size::{ENDLESS, LARGEST};

/// A node of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeId(usize);

/// The subschemas of one place, and the shapes of its values.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) ids: Vec<SchemaId>,
    pub(super) shapes: Vec<Shape>,
    /// Values that the schema shows and that fit: examples, defaults.
    pub(super) shown: Vec<Value>,
    /// Whether values have to be looked at, since shapes do not say everything.
    pub(super) checked: bool,
    /// How many values the smallest value holds.
    pub(super) size: u64,
    /// Why there is no shape.
    pub(super) why: Option<String>,
}

/// One way in which values can look.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) flat: Vec<SchemaId>,
    pub(super) plain: MergedRules,
    /// The kinds that its keywords talk about, where they are allowed.
    pub(super) meant: TypeSet,
    pub(super) items: Items,
    pub(super) members: MemberRules,
    pub(super) size: u64,
}

impl Shape {
    /// The kinds to make values of; others are allowed at most.
    pub(super) fn meant_kinds(&self) -> TypeSet {
        if self.meant.is_empty() { self.plain.kinds } else { self.meant }
    }
}

/// The items of arrays.
#[derive(Clone, Debug, Default)]
pub(super) struct Items {
    pub(super) prefix: Vec<NodeId>,
    /// Further items; `None` where there may be none.
    pub(super) rest: Option<NodeId>,
    pub(super) min: usize,
    pub(super) max: Option<usize>,
    pub(super) contains: Vec<Contained>,
    pub(super) size: u64,
}

impl Items {
    /// The node of the item at a place.
    pub(super) fn slot(&self, at: usize) -> Option<NodeId> {
        self.prefix.get(at).copied().or(self.rest)
    }
}

/// Items that have to be there.
#[derive(Clone, Debug)]
pub(super) struct Contained {
    pub(super) min: usize,
    /// The item at each place of the prefix, then the item anywhere behind it.
    pub(super) prefix: Vec<NodeId>,
    pub(super) rest: Option<NodeId>,
}

/// The members of objects.
#[derive(Clone, Debug, Default)]
pub(super) struct MemberRules {
    pub(super) known: Vec<MemberRule>,
    /// Members that the schema does not list, but allows.
    pub(super) extra: Vec<MemberRule>,
    /// Whether the schema says itself that there may be others.
    pub(super) open: bool,
    pub(super) min: usize,
    pub(super) max: Option<usize>,
    /// Members that need others.
    pub(super) dependent: Vec<(String, Vec<String>)>,
    pub(super) size: u64,
}

/// A member of an object.
#[derive(Clone, Debug)]
pub(super) struct MemberRule {
    pub(super) name: String,
    pub(super) node: NodeId,
    pub(super) required: bool,
}

/// All nodes of a schema.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) schemas: Schemas,
    pub(super) limits: GeneratorLimits,
    nodes: Vec<Node>,
    index: BTreeMap<Vec<SchemaId>, NodeId>,
    /// Nodes before this one are built.
    built: usize,
    /// How many steps searches may still take.
    steps: usize,
    /// Whether a search ended before it had tried everything, with nothing found.
    pub(super) gave_up: bool,
}

impl Graph {
    /// The graph of a schema, and the node of its root.
    pub(super) fn new(schemas: Schemas, limits: GeneratorLimits) -> (Self, NodeId) {
        let root = schemas.root();
        let (nodes, index) = (Vec::new(), BTreeMap::new());
        let mut graph = Self { schemas, limits, nodes, index, built: 0, steps: search::ALL_STEPS, gave_up: false };
        let root = graph.grow(vec![root]);
        (graph, root)
    }

    /// The node of subschemas that judge one place, with everything below it.
    pub(super) fn grow(&mut self, ids: Vec<SchemaId>) -> NodeId {
        let node = self.node_of(ids);
        self.build_all();
        self.measure();
        node
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }
}
