//! Valid values at the edges of what a schema allows.

use std::collections::BTreeSet;

use serde_json::{Number, Value, json};

use super::GeneratorLimits;
use super::make::{self, SAFE, Variety, text_of_length, whole_value, with};
use super::rng::Rng;
use super::shape::{Graph, Items, LARGEST, MemberRules, NodeId, ValueShape};
use crate::schema::{MergedRules, NumberLimit, TypeSet, canonical_text, token, whole_bounds};

/// The number of boundary values.
const MOST: usize = 400;

/// Nodes of which the smallest value holds this many values have few edges.
const LARGE: u64 = 1_000;
const FEW: usize = 12;

/// The number of values that all edges may hold together: every edge is a whole value, and large ones cost.
const WORK: u64 = 1_000_000;

/// The depth to which edges are looked for.
const DEEPEST: usize = 6;

/// Arrays at their greatest length, where that is no burden.
const LONGEST: usize = 200;

/// A whole valid value, one place of which is at an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Boundary {
    /// JSON pointer to the place.
    pub at: String,
    /// The edge, such as `the shortest text`.
    pub what: String,
    /// The whole value.
    pub value: Value,
}

impl Boundary {
    fn here(what: &str, value: Value) -> Self {
        Self { at: String::new(), what: what.to_owned(), value }
    }

    fn below(self, name: &str) -> Self {
        Self { at: format!("/{}{}", token(name), self.at), ..self }
    }
}

/// Values at the edges that pass a test, each once.
pub(crate) fn boundaries(graph: &Graph, root: NodeId, is_valid: &dyn Fn(&Value) -> bool) -> Vec<Boundary> {
    let mut edges = Edges { graph, stack: Vec::new(), spent: 0 };
    let mut met = BTreeSet::new();
    let found = edges.of_node(root);
    found.into_iter().filter(|edge| is_valid(&edge.value) && met.insert(edge.value.to_string())).take(MOST).collect()
}

struct Edges<'a> {
    graph: &'a Graph,
    /// The nodes on the way here.
    stack: Vec<NodeId>,
    /// The number of values in the edges found so far.
    spent: u64,
}

impl Edges<'_> {
    fn of_node(&mut self, id: NodeId) -> Vec<Boundary> {
        let graph = self.graph;
        if self.stack.len() > DEEPEST || self.stack.contains(&id) {
            return Vec::new();
        }
        self.stack.push(id);
        let node = graph.node(id);
        let mut found = vec![Boundary::here("the plainest value", plain(graph, id))];
        found.extend(node.shown.iter().map(|shown| Boundary::here("a value that the schema shows", shown.clone())));
        let shapes = if node.size > LARGE { 1 } else { node.shapes.len() };
        for (at, shape) in node.shapes.iter().enumerate().take(shapes) {
            self.spent += shape.size;
            if node.shapes.len() > 1 {
                let value = make::value_of_shape(graph, shape, Variety::Plain, &mut Rng::new(0));
                found.push(Boundary::here(&format!("alternative {} of {}", at + 1, node.shapes.len()), value));
            }
            found.extend(self.of_shape(shape));
            if found.len() > MOST * 4 || self.spent > WORK {
                break;
            }
        }
        self.stack.pop();
        found.retain(|edge| graph.schemas.fits_all(&node.ids, &edge.value));
        found.truncate(if node.size > LARGE { FEW } else { MOST });
        found
    }

    fn of_shape(&mut self, shape: &ValueShape) -> Vec<Boundary> {
        let mut found = scalars(shape, self.graph.limits);
        if shape.plain.values.is_some() {
            return found;
        }
        let meant = shape.meant_kinds();
        if meant.has(TypeSet::OBJECT) {
            found.extend(self.objects(&shape.members, shape));
        }
        if meant.has(TypeSet::ARRAY) {
            found.extend(self.arrays(&shape.items, shape));
        }
        found
    }

    fn objects(&mut self, members: &MemberRules, shape: &ValueShape) -> Vec<Boundary> {
        let graph = self.graph;
        let Value::Object(least) = of_kind(graph, shape, TypeSet::OBJECT) else { return Vec::new() };
        let mut all = least.clone();
        let mut room = LARGEST;
        for member in members.known.iter().filter(|member| !least.contains_key(&member.name)) {
            let size = graph.node(member.node).size;
            if size <= room {
                room -= size;
                all.insert(member.name.clone(), plain(graph, member.node));
            }
        }
        let mut found =
            vec![Boundary::here("only the required members", json!(least)), Boundary::here("every member", json!(all))];
        for member in members.known.iter().filter(|member| !least.contains_key(&member.name)) {
            let name = &member.name;
            // Both with it alone and with everything else.
            self.spent += shape.members.size * 2 + graph.node(member.node).size + LARGEST - room;
            if self.spent > WORK {
                break;
            }
            let value = all.get(name).cloned().unwrap_or_else(|| plain(graph, member.node));
            let only = with(&least, name, value);
            found.push(Boundary::here(&format!("`{name}` is there"), only));
            let mut others = all.clone();
            others.shift_remove(name);
            found.push(Boundary::here(&format!("`{name}` is absent"), json!(others)));
        }
        let open = members.open || members.known.is_empty();
        for member in members.extra.iter().filter(|_| open).take(3) {
            let what = format!("`{}`, which is not listed", member.name);
            found.push(Boundary::here(&what, with(&least, &member.name, plain(graph, member.node))));
        }
        for member in &members.known {
            if self.spent > WORK {
                break;
            }
            for inner in self.of_node(member.node) {
                self.spent += shape.members.size + graph.node(member.node).size;
                let value = with(&least, &member.name, inner.value.clone());
                found.push(Boundary { value, ..inner }.below(&member.name));
            }
        }
        found
    }

    fn arrays(&mut self, items: &Items, shape: &ValueShape) -> Vec<Boundary> {
        let graph = self.graph;
        let Value::Array(least) = of_kind(graph, shape, TypeSet::ARRAY) else { return Vec::new() };
        let mut found = vec![Boundary::here("the fewest items", json!(least))];
        let item = items.rest.or(items.prefix.first().copied()).map_or(1, |item| graph.node(item).size);
        let longest = usize::try_from(LARGEST / item.max(1)).map_or(LONGEST, |most| most.min(LONGEST));
        let most = items.max.filter(|max| *max <= longest);
        let one_more = (least.len() < items.max.unwrap_or(usize::MAX)).then_some(least.len() + 1);
        for (what, length) in [("one item more", one_more), ("the most items", most)] {
            found.extend(length.map(|length| Boundary::here(what, json!(fill(graph, &least, length, shape)))));
        }
        let host = if least.is_empty() && one_more.is_some() { fill(graph, &least, 1, shape) } else { least };
        for at in 0..host.len().min(items.prefix.len().max(1)) {
            let Some(node) = items.slot(at) else { continue };
            for inner in self.of_node(node) {
                let mut host = host.clone();
                host[at] = inner.value.clone();
                found.push(Boundary { value: Value::Array(host), ..inner }.below(&at.to_string()));
            }
        }
        found
    }
}

/// A list filled up to a length.
fn fill(graph: &Graph, least: &[Value], length: usize, shape: &ValueShape) -> Vec<Value> {
    let unique = shape.plain.unique;
    let variety = if unique { Variety::Wide } else { Variety::Plain };
    let mut items = least.to_vec();
    let mut met: BTreeSet<String> = items.iter().map(canonical_text).collect();
    let mut rng = Rng::new(5);
    for _ in 0..length * 8 {
        if items.len() >= length {
            break;
        }
        let Some(node) = shape.items.slot(items.len()) else { break };
        let item = make::value(graph, node, variety, &mut rng);
        if met.insert(canonical_text(&item)) || !unique {
            items.push(item);
        }
    }
    items
}

fn plain(graph: &Graph, node: NodeId) -> Value {
    make::value(graph, node, Variety::Plain, &mut Rng::new(0))
}

/// The plainest value of a shape of one kind.
fn of_kind(graph: &Graph, shape: &ValueShape, kind: TypeSet) -> Value {
    make::value_of_kind(graph, shape, kind, &mut Rng::new(0))
}

/// The number of values of an enumeration that are edges.
const MOST_VALUES: usize = 400;

const TEXTS: [(&str, &str); 6] = [
    ("a text with spaces", " a  b "),
    ("a text with quotes", "\"a\" 'b' \\ /"),
    ("a text of two lines", "a\nb"),
    ("a text in other scripts", "Ünï日本语 ключ"),
    ("a text with emoji", "👩\u{200d}👧 e\u{301}"),
    ("a text like a number", "007"),
];

/// Listed values, or the edges of each kind that the shape talks about.
fn scalars(shape: &ValueShape, limits: GeneratorLimits) -> Vec<Boundary> {
    let plain = &shape.plain;
    if let Some(values) = &plain.values {
        let shown = values.iter().take(MOST_VALUES);
        return shown.map(|value| Boundary::here(&format!("the value {value}"), value.clone())).collect();
    }
    let meant = shape.meant_kinds();
    let mut found = Vec::new();
    if meant.has(TypeSet::NULL) {
        found.push(Boundary::here("null", Value::Null));
    }
    if meant.has(TypeSet::BOOLEAN) {
        found.extend([true, false].map(|value| Boundary::here(&value.to_string(), Value::Bool(value))));
    }
    if meant.has(TypeSet::INTEGER) {
        found.extend(whole(plain));
    }
    if meant.has(TypeSet::FRACTION) {
        found.extend(fractions(plain));
    }
    if meant.has(TypeSet::TEXT) {
        found.extend(texts(plain, limits));
    }
    found
}

fn texts(plain: &MergedRules, limits: GeneratorLimits) -> Vec<Boundary> {
    let (min, max) = (plain.min_length, plain.max_length.unwrap_or(usize::MAX));
    if !plain.patterns.is_empty() || plain.format.is_some() {
        let mut rng = Rng::new(11);
        let mut one = || Boundary::here("a text of its pattern or format", json!(make::text(plain, &mut rng, limits)));
        return (0..8).map(|_| one()).collect();
    }
    if min > limits.longest_text {
        return Vec::new();
    }
    let mut found = vec![Boundary::here("the shortest text", json!(text_of_length("", min, max)))];
    if max <= limits.text {
        found.push(Boundary::here("the longest text", json!(text_of_length("", max, max))));
    }
    found.extend(TEXTS.map(|(what, word)| Boundary::here(what, json!(text_of_length(word, min, max)))));
    found
}

fn whole(plain: &MergedRules) -> Vec<Boundary> {
    let (low, high) = whole_bounds(plain);
    let step = plain.steps.iter().filter_map(Number::as_i128).max().unwrap_or(1);
    let first = low + (-low).rem_euclid(step);
    let last = high - high.rem_euclid(step);
    let candidates = [
        ("the least number", first),
        ("the greatest number", last),
        ("one above the least number", first + step),
        ("one below the greatest number", last - step),
        ("zero", 0),
        ("minus one", -step),
        ("the greatest number of 32 bits", i128::from(i32::MAX)),
        ("one more than 32 bits hold", i128::from(i32::MAX) + 1),
        ("the greatest number that is safe everywhere", SAFE),
        ("the least number that is safe everywhere", -SAFE),
    ];
    let sensible = |number: i128| (low..=high).contains(&number) && number.unsigned_abs() < (1 << 90);
    let inside = candidates.into_iter().filter(|(_, number)| sensible(*number));
    inside.map(|(what, number)| Boundary::here(what, whole_value(number))).collect()
}

fn fractions(plain: &MergedRules) -> Vec<Boundary> {
    let number = |bound: Option<&NumberLimit>| bound.and_then(|bound| bound.number.as_f64());
    let (low, high) = (number(plain.low.as_ref()), number(plain.high.as_ref()));
    let candidates = [
        ("the least number", low),
        ("just above the least number", low.map(f64::next_up)),
        ("the greatest number", high),
        ("just below the greatest number", high.map(f64::next_down)),
        ("a half", Some(0.5)),
        ("a small fraction", Some(1e-7)),
        ("a negative fraction", Some(-2.5)),
    ];
    let known =
        candidates.into_iter().filter_map(|(what, number)| Some((what, number.filter(|number| number.is_finite())?)));
    let mut found: Vec<Boundary> = known.map(|(what, number)| Boundary::here(what, json!(number))).collect();
    found.extend(plain.steps.iter().map(|step| Boundary::here("the step itself", Value::Number(step.clone()))));
    found
}
