//! Builds nodes: their shapes, and the nodes of what is inside.

use crate::schema::{SchemaId, SchemaRules, TypeSet};

use super::merge::MergedRules;
use super::search::COMBINATIONS;
use super::{Graph, Items, MemberRules, Node, NodeId, Shape};

/// How many nodes a graph may have; what comes later is made as if anything were allowed, and checked.
const MOST_NODES: usize = 3_000;

/// How many shown values are kept of a node.
const MOST_SHOWN: usize = 16;

impl Graph {
    /// The node of subschemas that judge one place; it is built later.
    pub(super) fn node_of(&mut self, mut ids: Vec<SchemaId>) -> NodeId {
        ids.sort_unstable();
        ids.dedup();
        if self.nodes.len() >= MOST_NODES && !self.index.contains_key(&ids) {
            ids.clear();
        }
        if let Some(known) = self.index.get(&ids) {
            return *known;
        }
        let id = NodeId(self.nodes.len());
        self.nodes.push(Node { ids: ids.clone(), ..Node::default() });
        self.index.insert(ids, id);
        id
    }

    /// Builds every node that is not built yet, and those that they need.
    pub(super) fn build_all(&mut self) {
        while self.built < self.nodes.len() {
            let id = NodeId(self.built);
            self.built += 1;
            self.build(id);
        }
    }

    fn build(&mut self, id: NodeId) {
        let ids = self.nodes[id.0].ids.clone();
        let mut shapes = Vec::new();
        let mut why = None;
        match self.combinations(&ids) {
            Ok(combinations) => {
                let most = combinations.len() >= COMBINATIONS;
                for flat in combinations {
                    match self.shape(flat) {
                        Ok(shape) => shapes.push(shape),
                        Err(reason) => why = why.or(Some(reason)),
                    }
                }
                // There may be combinations that were not looked at.
                self.gave_up |= most && shapes.is_empty();
            }
            Err(reason) => why = reason,
        }
        let shown = self.shown(&ids, &shapes);
        let checked = shapes.iter().flat_map(|shape| &shape.flat).any(|id| has_to_be_checked(self.schemas.rules(*id)));
        self.nodes[id.0] = Node { ids, shapes, shown, checked, size: super::ENDLESS, why };
    }

    fn shape(&mut self, flat: Vec<SchemaId>) -> Result<Shape, String> {
        let plain = MergedRules::of(&self.schemas, &flat)?;
        let talks = flat.iter().map(|id| self.schemas.rules(*id).talks_of()).reduce(TypeSet::or);
        let meant = talks.unwrap_or(TypeSet::ALL).and(plain.kinds);
        let listed = plain.values.is_some();
        let items =
            if plain.kinds.has(TypeSet::ARRAY) && !listed { self.items(&flat, &plain) } else { Items::default() };
        let members = if plain.kinds.has(TypeSet::OBJECT) && !listed {
            self.members(&flat, &plain)
        } else {
            MemberRules::default()
        };
        Ok(Shape { flat, plain, meant, items, members, size: super::ENDLESS })
    }

    /// What the schema shows and takes itself.
    fn shown(&self, ids: &[SchemaId], shapes: &[Shape]) -> Vec<serde_json::Value> {
        let mut seen: Vec<SchemaId> = Vec::new();
        let mut shown: Vec<serde_json::Value> = Vec::new();
        for id in shapes.iter().flat_map(|shape| &shape.flat) {
            if seen.contains(id) {
                continue;
            }
            seen.push(*id);
            for value in self.schemas.rules(*id).shown.iter().take(MOST_SHOWN) {
                if shown.len() < MOST_SHOWN && !shown.contains(value) && self.schemas.fits_all(ids, value) {
                    shown.push(value.clone());
                }
            }
        }
        shown
    }
}

/// Whether values of a shape can break this all the same.
fn has_to_be_checked(rules: &SchemaRules) -> bool {
    !rules.one.is_empty()
        || rules.not.is_some()
        || rules.reject.is_some()
        || rules.condition.is_some()
        || rules.step.is_some()
        || rules.pattern.is_some()
        || rules.contains.is_some()
        || !rules.forbidden.is_empty()
        || rules.unevaluated_properties.is_some()
}
