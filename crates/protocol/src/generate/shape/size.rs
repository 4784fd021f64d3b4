//! The number of values in the smallest value of each shape; a shape without an end, or with one too far away, is
//! dropped.

use crate::schema::{MergedRules, TypeSet};

use super::members::MOST_NAMELESS;
use super::{Graph, Items, MemberRules, NodeId, ValueShape};

/// The size of what has no smallest value.
pub(crate) const ENDLESS: u64 = u64::MAX;

/// The number of values in the smallest value of a shape; shapes that need more are not made.
pub(crate) const LARGEST: u64 = 20_000;

impl Graph {
    /// Measures every node, and drops shapes without values.
    pub(crate) fn measure(&mut self) {
        let mut changed = true;
        let members = |shape: &ValueShape| 1 + shape.members.known.len() / 4;
        let round = self.nodes.iter().map(|node| node.shapes.iter().map(members).sum::<usize>()).sum();
        while changed {
            self.schemas.charge(round);
            changed = false;
            // Inner nodes come behind outer ones, so most sizes are known after one round.
            for at in (0..self.nodes.len()).rev() {
                changed |= self.measure_node(at);
            }
        }
        for at in 0..self.nodes.len() {
            self.explain(at);
        }
        let sizes: Vec<u64> = self.nodes.iter().map(|node| node.size).collect();
        for node in &mut self.nodes {
            node.shapes.retain(|shape| shape.size <= LARGEST);
            node.shapes.iter_mut().for_each(|shape| drop_too_large(shape, &sizes));
        }
    }

    /// Measures a node anew; true if it is smaller than was known.
    fn measure_node(&mut self, at: usize) -> bool {
        let mut shapes = std::mem::take(&mut self.nodes[at].shapes);
        for shape in &mut shapes {
            shape.items.size = self.items_size(&shape.items);
            shape.members.size = self.members_size(&shape.members);
            shape.size = shape_size(shape);
        }
        let size = shapes.iter().map(|shape| shape.size).min().unwrap_or(ENDLESS);
        let node = &mut self.nodes[at];
        node.shapes = shapes;
        let smaller = size < node.size;
        node.size = size;
        smaller
    }

    fn items_size(&self, items: &Items) -> u64 {
        let of = |node: &NodeId| self.nodes[node.0].size;
        let rest = items.rest.as_ref().map_or(ENDLESS, of);
        let mut size: u64 = 1;
        for item in items.prefix.iter().take(items.min) {
            size = plus(size, of(item));
        }
        let behind = items.min.saturating_sub(items.prefix.len()) as u64;
        if behind > 0 {
            size = plus(size, times(rest, behind));
        }
        for contained in &items.contains {
            let rest = contained.rest.as_ref().map_or(ENDLESS, of);
            let best = contained.prefix.iter().map(of).min().unwrap_or(ENDLESS).min(rest);
            size = plus(size, times(best, contained.min as u64));
        }
        size
    }

    fn members_size(&self, members: &MemberRules) -> u64 {
        let of = |node: NodeId| self.nodes[node.0].size;
        let required = members.known.iter().filter(|member| member.required);
        let mut size = required.clone().fold(1_u64, |size, member| plus(size, of(member.node)));
        let missing = members.min.saturating_sub(required.count());
        let mut optional: Vec<u64> = members
            .known
            .iter()
            .filter(|member| !member.required)
            .chain(&members.extra)
            .map(|member| of(member.node))
            .collect();
        optional.sort_unstable();
        if optional.len() < missing {
            // There may be names enough, but not so many were looked for.
            return if missing > MOST_NAMELESS { ENDLESS - 1 } else { ENDLESS };
        }
        for next in optional.into_iter().take(missing) {
            size = plus(size, next);
        }
        size
    }

    /// Finds words for a node that nothing can be made of.
    fn explain(&mut self, at: usize) {
        let node = &self.nodes[at];
        if node.size < ENDLESS || node.why.is_some() {
            return;
        }
        let mut why = None;
        for shape in &node.shapes {
            let of = |node: NodeId| &self.nodes[node.0];
            let required = shape.members.known.iter().filter(|member| member.required);
            let inner = required
                .filter(|member| of(member.node).size == ENDLESS)
                .map(|member| (format!("`{}`", member.name), member.node));
            let items = shape.items.prefix.iter().chain(&shape.items.rest).filter(|item| of(**item).size == ENDLESS);
            for (name, inner) in inner.chain(items.map(|item| ("its items".to_owned(), *item))) {
                let reason = self.reason(inner, 0);
                why = why.or_else(|| Some(format!("{name} cannot be made: {reason}")));
            }
            why = why.or_else(|| Some("it requires more members than are allowed".to_owned()));
        }
        self.nodes[at].why = why;
    }

    fn reason(&self, node: NodeId, depth: usize) -> String {
        let node = &self.nodes[node.0];
        if let Some(why) = &node.why {
            return why.clone();
        }
        let inner = node.shapes.iter().flat_map(|shape| {
            let members = shape.members.known.iter().filter(|member| member.required).map(|member| member.node);
            members.chain(shape.items.rest)
        });
        let endless = inner.into_iter().find(|inner| self.nodes[inner.0].size == ENDLESS);
        match endless {
            Some(inner) if depth < 20 => self.reason(inner, depth + 1),
            _ => "it contains itself without end".to_owned(),
        }
    }
}

/// A sum that has an end as long as both parts have one.
fn plus(one: u64, other: u64) -> u64 {
    if one == ENDLESS || other == ENDLESS { ENDLESS } else { one.saturating_add(other).min(ENDLESS - 1) }
}

fn times(size: u64, count: u64) -> u64 {
    if size == ENDLESS && count > 0 { ENDLESS } else { size.saturating_mul(count).min(ENDLESS - 1) }
}

fn shape_size(shape: &ValueShape) -> u64 {
    let plain = &shape.plain;
    if plain.values.is_some() {
        return 1;
    }
    let of = |kinds: TypeSet, size: u64| if plain.kinds.has(kinds) { size } else { ENDLESS };
    let simple = TypeSet::NULL.or(TypeSet::BOOLEAN).or(TypeSet::NUMBER);
    of(simple, 1)
        .min(of(TypeSet::TEXT, text_size(plain)))
        .min(of(TypeSet::ARRAY, shape.items.size))
        .min(of(TypeSet::OBJECT, shape.members.size))
}

/// The size of the shortest text.
fn text_size(plain: &MergedRules) -> u64 {
    // A character has up to four bytes.
    let asked = plain.patterns.iter().map(|pattern| pattern.least / 4).max().unwrap_or(0);
    1 + plain.min_length.max(asked) as u64 / 64
}

/// Removes the kinds and members of a shape that only values that are too large could have.
fn drop_too_large(shape: &mut ValueShape, sizes: &[u64]) {
    let too_large = |node: &NodeId| sizes[node.0] > LARGEST;
    let plain = &mut shape.plain;
    if plain.values.is_none() {
        if text_size(plain) > LARGEST {
            plain.kinds = plain.kinds.but(TypeSet::TEXT);
        }
        if shape.items.size > LARGEST {
            plain.kinds = plain.kinds.but(TypeSet::ARRAY);
        }
        if shape.members.size > LARGEST {
            plain.kinds = plain.kinds.but(TypeSet::OBJECT);
        }
    }
    shape.meant = shape.meant.and(plain.kinds);
    shape.members.known.retain(|member| !too_large(&member.node));
    shape.members.extra.retain(|member| !too_large(&member.node));
    let items = &mut shape.items;
    if let Some(end) = items.prefix.iter().position(too_large) {
        items.max = Some(items.max.unwrap_or(usize::MAX).min(end));
    }
    if items.rest.as_ref().is_some_and(too_large) {
        items.rest = None;
        items.max = Some(items.max.unwrap_or(usize::MAX).min(items.prefix.len()));
    }
    for contained in &mut items.contains {
        contained.rest = contained.rest.filter(|rest| !too_large(rest));
    }
}
