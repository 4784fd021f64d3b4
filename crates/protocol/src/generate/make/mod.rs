//! Values from nodes and shapes. What comes out fits nearly always; the caller looks.

mod array;
mod format;
mod number;
mod object;
mod pattern;
mod text;

use serde_json::{Map, Value};

use super::rng::Rng;
use super::shape::{Graph, LARGEST, NodeId, ShapeNode, ValueShape};
use crate::schema::TypeSet;

pub(crate) use number::{SAFE, number_near, whole_value};
pub(crate) use object::with;
pub use text::PLACEHOLDER;
pub(crate) use text::{text, text_of_length};

/// The number of times that a place is made anew until it fits.
const TRIES: usize = 16;

/// Nodes of which the smallest value holds this many values are not made anew that often.
const LARGE: u64 = 100;

/// The greatest depth of values: readers of JSON refuse deeper ones.
const DEEPEST: usize = 100;

/// The variety of generated values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variety {
    /// Small, plain and the same every time, as far as the schema leaves a choice.
    Plain,
    /// Small, but different each time.
    Small,
    /// Anything that fits.
    Wide,
}

/// One value in the making.
pub(crate) struct ValueBuilder<'a> {
    graph: &'a Graph,
    rng: &'a mut Rng,
    variety: Variety,
    /// The number of values that may be made before only the smallest are.
    left: usize,
    /// By how many values the whole may outgrow the smallest one.
    room: u64,
    depth: usize,
    /// The nodes on the way here, as far as plain values need them.
    stack: Vec<NodeId>,
}

/// A value of a node; `Null` where nothing can be made.
pub(crate) fn value(graph: &Graph, node: NodeId, variety: Variety, rng: &mut Rng) -> Value {
    making(graph, variety, rng).value(node)
}

/// A value of one shape.
pub(crate) fn value_of_shape(graph: &Graph, shape: &ValueShape, variety: Variety, rng: &mut Rng) -> Value {
    making(graph, variety, rng).make_shape(shape)
}

/// The plainest value of one shape that is of one kind.
pub(crate) fn value_of_kind(graph: &Graph, shape: &ValueShape, kind: TypeSet, rng: &mut Rng) -> Value {
    making(graph, Variety::Plain, rng).of_kind(kind, shape)
}

fn making<'a>(graph: &'a Graph, variety: Variety, rng: &'a mut Rng) -> ValueBuilder<'a> {
    ValueBuilder { graph, left: graph.limits.nodes, room: LARGEST, depth: 0, stack: Vec::new(), variety, rng }
}

impl ValueBuilder<'_> {
    fn is_plain(&self) -> bool {
        self.variety != Variety::Wide
    }

    fn is_late(&self) -> bool {
        self.left == 0 || self.depth > self.graph.limits.depth
    }

    fn value(&mut self, id: NodeId) -> Value {
        let graph = self.graph;
        let node = graph.node(id);
        self.left = self.left.saturating_sub(1);
        let shown = if self.is_plain() { node.shown.first() } else { self.shown_sometimes(node) };
        if let Some(shown) = shown {
            return shown.clone();
        }
        if self.depth >= DEEPEST {
            return Value::Null;
        }
        self.depth += 1;
        self.stack.push(id);
        let value = self.fitting(node);
        self.stack.pop();
        self.depth -= 1;
        value
    }

    /// Takes room for what is larger than it has to be; whether there was enough.
    fn take_room(&mut self, more: u64) -> bool {
        let enough = more <= self.room;
        self.room -= if enough { more } else { 0 };
        enough
    }

    fn shown_sometimes<'n>(&mut self, node: &'n ShapeNode) -> Option<&'n Value> {
        if node.shown.is_empty() || !self.rng.chance(10) { None } else { self.rng.pick(&node.shown) }
    }

    fn fitting(&mut self, node: &ShapeNode) -> Value {
        let tries = match (node.checked, node.size > LARGE) {
            (true, false) => TRIES,
            (true, true) => 2,
            (false, _) => 1,
        };
        let variety = self.variety;
        let mut made = Value::Null;
        for attempt in 0..tries {
            let Some(shape) = self.pick(node, attempt) else { break };
            let smallest = node.shapes.iter().min_by_key(|shape| shape.size).unwrap_or(shape);
            let shape = if self.take_room(shape.size - smallest.size) { shape } else { smallest };
            made = self.make_shape(shape);
            if !node.checked || self.graph.schemas.fits_all(&node.ids, &made) {
                break;
            }
            // The plainest value did not fit, so others have to be tried.
            self.variety = match attempt {
                0..=1 => variety,
                2..=9 if variety != Variety::Wide => Variety::Small,
                _ => Variety::Wide,
            };
        }
        self.variety = variety;
        made
    }

    fn pick<'n>(&mut self, node: &'n ShapeNode, attempt: usize) -> Option<&'n ValueShape> {
        let again = self.is_plain() && self.stack.split_last().is_some_and(|(id, before)| before.contains(id));
        if self.is_late() || (again && attempt == 0) {
            return node.shapes.iter().min_by_key(|shape| shape.size);
        }
        if self.is_plain() {
            let mut order: Vec<&ValueShape> = node.shapes.iter().collect();
            // Shapes that are as small as others come in the order of the schema, `null` after the rest.
            order.sort_by_key(|shape| (shape.plain.kinds == TypeSet::NULL, shape.size.min(1_000) / 32));
            return order.get(attempt % order.len().max(1)).copied();
        }
        self.rng.pick(&node.shapes)
    }

    fn make_shape(&mut self, shape: &ValueShape) -> Value {
        if let Some(values) = &shape.plain.values {
            let chosen = if self.variety == Variety::Plain { values.first() } else { self.rng.pick(values) };
            return chosen.cloned().unwrap_or(Value::Null);
        }
        let kind = self.kind(shape);
        self.of_kind(kind, shape)
    }

    fn kind(&mut self, shape: &ValueShape) -> TypeSet {
        let kinds = shape.plain.kinds;
        let within = |wanted: TypeSet| TypeSet::EACH.into_iter().filter(move |kind| wanted.has(*kind));
        let size = |kind: &TypeSet| match *kind {
            TypeSet::ARRAY => shape.items.size,
            TypeSet::OBJECT => shape.members.size,
            _ => 0,
        };
        if self.is_late() {
            return within(kinds).min_by_key(size).unwrap_or(TypeSet::NULL);
        }
        let meant = shape.meant_kinds();
        let kind = if self.is_plain() {
            within(meant).next()
        } else {
            let from = if self.rng.chance(85) { meant } else { kinds };
            let choices: Vec<TypeSet> = within(from).collect();
            self.rng.pick(&choices).copied()
        };
        let kind = kind.unwrap_or(TypeSet::NULL);
        let smallest = within(kinds).min_by_key(size).unwrap_or(kind);
        if self.take_room(size(&kind).saturating_sub(size(&smallest))) { kind } else { smallest }
    }

    fn of_kind(&mut self, kind: TypeSet, shape: &ValueShape) -> Value {
        let plain = &shape.plain;
        match kind {
            TypeSet::BOOLEAN => Value::Bool(self.variety == Variety::Plain || self.rng.chance(50)),
            TypeSet::INTEGER => number::whole(plain, self.variety, self.rng),
            TypeSet::FRACTION => number::fraction(plain, self.variety, self.rng),
            TypeSet::TEXT if self.variety == Variety::Plain => {
                Value::String(text::plain_text(plain, self.rng, self.graph.limits))
            }
            TypeSet::TEXT if self.variety == Variety::Small => {
                Value::String(text::small_text(plain, self.rng, self.graph.limits))
            }
            TypeSet::TEXT => Value::String(text(plain, self.rng, self.graph.limits)),
            TypeSet::ARRAY if shape.items.size <= LARGEST => Value::Array(self.array(shape)),
            TypeSet::OBJECT if shape.members.size <= LARGEST => Value::Object(self.object(&shape.members)),
            TypeSet::ARRAY => Value::Array(Vec::new()),
            TypeSet::OBJECT => Value::Object(Map::new()),
            _ => Value::Null,
        }
    }
}
