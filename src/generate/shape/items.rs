//! Builds the items of array shapes.

use crate::schema::{ContainsRule, SchemaId};

use super::{Contained, Graph, Items, MergedRules, NodeId};

/// How many places of a prefix are told apart.
const LONGEST_PREFIX: usize = 64;

impl Graph {
    pub(super) fn items(&mut self, flat: &[SchemaId], plain: &MergedRules) -> Items {
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
}
