//! Builds nodes: their shapes, and the nodes of what is inside.

use crate::schema::{ContainsRule, MergedRules, SchemaId, SchemaRules, TypeSet};

use super::search::COMBINATIONS;
use super::{Contained, Graph, Items, MemberRules, NodeId, ShapeNode, ValueShape};

/// The number of nodes of a graph; values of later ones are made as if anything were allowed, and checked.
const MOST_NODES: usize = 3_000;

/// The number of examples that are kept of a node.
const MOST_SHOWN: usize = 16;

/// The number of places of a prefix that have rules of their own.
const LONGEST_PREFIX: usize = 64;

impl Graph {
    /// The node of subschemas that judge one place; it is built later.
    pub(crate) fn node_of(&mut self, mut ids: Vec<SchemaId>) -> NodeId {
        ids.sort_unstable();
        ids.dedup();
        if self.nodes.len() >= MOST_NODES && !self.index.contains_key(&ids) {
            ids.clear();
        }
        if let Some(known) = self.index.get(&ids) {
            return *known;
        }
        let id = NodeId(self.nodes.len());
        self.nodes.push(ShapeNode { ids: ids.clone(), ..ShapeNode::default() });
        self.index.insert(ids, id);
        id
    }

    /// Builds every node that is not built yet, and those that they need.
    pub(crate) fn build_all(&mut self) {
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
        let shown = self.examples(&ids, &shapes);
        let checked = shapes.iter().flat_map(|shape| &shape.flat).any(|id| has_to_be_checked(self.schemas.rules(*id)));
        self.nodes[id.0] = ShapeNode { ids, shapes, shown, checked, size: super::ENDLESS, why };
    }

    fn shape(&mut self, flat: Vec<SchemaId>) -> Result<ValueShape, String> {
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
        Ok(ValueShape { flat, plain, meant, items, members, size: super::ENDLESS })
    }

    fn items(&mut self, flat: &[SchemaId], plain: &MergedRules) -> Items {
        let all: Vec<ContainsRule> = flat.iter().filter_map(|id| self.schemas.rules(*id).contains.clone()).collect();
        // Items beyond those that are asked for must not be of the kind that is limited.
        let limited: Vec<SchemaId> =
            all.iter().filter(|contains| contains.max.is_some()).map(|contains| contains.schema).collect();
        let others: Vec<SchemaId> = limited.into_iter().map(|schema| self.schemas.negate(schema)).collect();
        let length = flat.iter().map(|id| self.schemas.rules(*id).prefix.len()).max().unwrap_or(0).min(LONGEST_PREFIX);
        let prefix = (0..length).map(|at| self.item(flat, at, &others)).collect();
        let rest = Some(self.item(flat, usize::MAX, &others));
        let needed = all.iter().map(|contains| contains.min).max().unwrap_or(0);
        let contains = all
            .iter()
            .filter(|contains| contains.min > 0)
            .map(|contains| Contained {
                min: contains.min,
                prefix: (0..length).map(|at| self.item(flat, at, &[contains.schema])).collect(),
                rest: Some(self.item(flat, usize::MAX, &[contains.schema])),
            })
            .collect();
        Items { prefix, rest, min: plain.min_items.max(needed), max: plain.max_items, contains, size: super::ENDLESS }
    }

    /// The node of an item at a place, which further subschemas judge as well.
    fn item(&mut self, flat: &[SchemaId], at: usize, further: &[SchemaId]) -> NodeId {
        let mut ids = further.to_vec();
        let mut evaluated = false;
        for id in flat {
            let rules = self.schemas.rules(*id);
            let judge = rules.prefix.get(at).copied().or(rules.items);
            evaluated |= judge.is_some();
            ids.extend(judge);
        }
        if !evaluated {
            ids.extend(flat.iter().filter_map(|id| self.schemas.rules(*id).unevaluated_items));
        }
        self.node_of(ids)
    }

    /// The examples of the schema that it accepts itself.
    fn examples(&self, ids: &[SchemaId], shapes: &[ValueShape]) -> Vec<serde_json::Value> {
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

/// Values of a shape can break these rules all the same.
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
