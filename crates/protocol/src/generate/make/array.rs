//! Arrays: prefix, rest, items that have to be there, items that have to differ.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::generate::shape::{Items, NodeId, ValueShape};
use crate::schema::canonical_text;

use super::{ValueBuilder, Variety};

/// The number of times that an item is made anew until it differs from the others.
const TRIES: usize = 24;

impl ValueBuilder<'_> {
    pub(crate) fn array(&mut self, shape: &ValueShape) -> Vec<Value> {
        let items = &shape.items;
        let slots = self.slots(items);
        let mut made: Vec<Value> = Vec::with_capacity(slots.len());
        let mut others = BTreeSet::new();
        for slot in slots {
            let item = if shape.plain.unique { self.different(slot, &mut others) } else { Some(self.value(slot)) };
            match item {
                Some(item) => made.push(item),
                // No further item differs: fewer have to do.
                None => break,
            }
        }
        made
    }

    /// The node of each item.
    fn slots(&mut self, items: &Items) -> Vec<NodeId> {
        let needed = items.contains.iter().fold(0_usize, |sum, contained| sum.saturating_add(contained.min));
        let most = items.max.unwrap_or(usize::MAX);
        let most = if items.rest.is_none() { most.min(items.prefix.len()) } else { most };
        let least = items.min.max(needed.min(most));
        let length = self.length(least, most);
        let whole = items.prefix.len().saturating_add(needed);
        let behind = needed > 0 && whole <= most && items.rest.is_some() && self.fits_in(items, least, whole);
        let least = if behind { least.max(whole) } else { least };
        let length = length.max(least);
        let length = (least..length).find(|at| !self.fits_in(items, *at, at + 1)).unwrap_or(length);
        let mut slots: Vec<NodeId> = (0..length).map_while(|at| items.slot(at)).collect();
        let mut at = if behind { items.prefix.len() } else { 0 };
        for contained in &items.contains {
            for _ in 0..contained.min {
                let node = contained.prefix.get(at).copied().or(contained.rest);
                if let (Some(slot), Some(node)) = (slots.get_mut(at), node) {
                    *slot = node;
                }
                at += 1;
            }
        }
        slots
    }

    /// Takes room for items beyond the fewest that there may be; whether there was enough.
    fn fits_in(&mut self, items: &Items, from: usize, to: usize) -> bool {
        let sizes = (from..to).map_while(|at| items.slot(at)).map(|slot| self.graph.node(slot).size);
        let more = sizes.fold(0, u64::saturating_add);
        self.take_room(more)
    }

    fn length(&mut self, min: usize, most: usize) -> usize {
        if self.is_plain() || self.is_late() || most <= min {
            return min;
        }
        let longer = match self.rng.below(16) {
            0..=2 => 0,
            3..=12 => self.rng.between(1, 3),
            13..=14 => self.rng.between(4, 8),
            _ => most.min(40).saturating_sub(min),
        };
        min.saturating_add(longer).min(most)
    }

    /// An item that differs from all others.
    fn different(&mut self, slot: NodeId, others: &mut BTreeSet<String>) -> Option<Value> {
        let variety = self.variety;
        let mut found = None;
        for _ in 0..TRIES {
            let item = self.value(slot);
            if others.insert(canonical_text(&item)) {
                found = Some(item);
                break;
            }
            self.variety = if variety == Variety::Plain { Variety::Small } else { Variety::Wide };
        }
        self.variety = variety;
        found
    }
}
