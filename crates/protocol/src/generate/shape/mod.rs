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

pub(crate) use size::{ENDLESS, LARGEST};

/// A node of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeId(usize);

/// The subschemas of one place, and the shapes of its values.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShapeNode {
    pub ids: Vec<SchemaId>,
    pub shapes: Vec<ValueShape>,
    /// Values that the schema shows and that fit: examples, defaults.
    pub shown: Vec<Value>,
    /// Values have to be checked, since shapes do not say everything.
    pub(crate) checked: bool,
    /// The number of values in the smallest value.
    pub size: u64,
    /// Why there is no shape.
    pub why: Option<String>,
}

/// One way in which values can look.
#[derive(Clone, Debug)]
pub(crate) struct ValueShape {
    pub(crate) flat: Vec<SchemaId>,
    pub plain: MergedRules,
    /// The kinds that its keywords talk about, where they are allowed.
    pub(crate) meant: TypeSet,
    pub items: Items,
    pub members: MemberRules,
    pub size: u64,
}

impl ValueShape {
    /// The kinds to make values of; others are allowed at most.
    pub(crate) fn meant_kinds(&self) -> TypeSet {
        if self.meant.is_empty() { self.plain.kinds } else { self.meant }
    }
}

/// The items of arrays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Items {
    pub prefix: Vec<NodeId>,
    /// Further items; `None` where there may be none.
    pub rest: Option<NodeId>,
    pub min: usize,
    pub max: Option<usize>,
    pub contains: Vec<Contained>,
    pub size: u64,
}

impl Items {
    /// The node of the item at a place.
    pub(crate) fn slot(&self, at: usize) -> Option<NodeId> {
        self.prefix.get(at).copied().or(self.rest)
    }
}

/// Items that have to be there.
#[derive(Clone, Debug)]
pub(crate) struct Contained {
    pub min: usize,
    /// The item at each place of the prefix, then the item anywhere behind it.
    pub prefix: Vec<NodeId>,
    pub rest: Option<NodeId>,
}

/// The members of objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemberRules {
    pub known: Vec<MemberRule>,
    /// Members that the schema does not list, but allows.
    pub extra: Vec<MemberRule>,
    /// The schema says itself that there may be others.
    pub open: bool,
    pub min: usize,
    pub max: Option<usize>,
    /// Members that need others.
    pub dependent: Vec<(String, Vec<String>)>,
    pub size: u64,
}

/// A member of an object.
#[derive(Clone, Debug)]
pub(crate) struct MemberRule {
    pub name: String,
    pub node: NodeId,
    pub required: bool,
}

/// All nodes of a schema.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub schemas: Schemas,
    pub limits: GeneratorLimits,
    nodes: Vec<ShapeNode>,
    index: BTreeMap<Vec<SchemaId>, NodeId>,
    /// Nodes before this one are built.
    built: usize,
    /// The number of steps that searches may still take.
    steps: usize,
    /// A search ended with nothing found before it had tried everything.
    pub(crate) gave_up: bool,
}

impl Graph {
    /// The graph of a schema, and the node of its root.
    pub(crate) fn new(schemas: Schemas, limits: GeneratorLimits) -> (Self, NodeId) {
        let root = schemas.root();
        let (nodes, index) = (Vec::new(), BTreeMap::new());
        let mut graph = Self { schemas, limits, nodes, index, built: 0, steps: search::ALL_STEPS, gave_up: false };
        let root = graph.grow(vec![root]);
        (graph, root)
    }

    /// The node of subschemas that judge one place, with everything below it.
    pub(crate) fn grow(&mut self, ids: Vec<SchemaId>) -> NodeId {
        let node = self.node_of(ids);
        self.build_all();
        self.measure();
        node
    }

    pub(crate) fn node(&self, id: NodeId) -> &ShapeNode {
        &self.nodes[id.0]
    }
}
