//! Values that break exactly one keyword at one place, derived from a valid one.
//!
//! The `jsonschema` crate decides what a candidate breaks; one with any other error is dropped.

mod breach;
mod candidate;
mod lists;
mod scalars;
mod surroundings;
mod synthetic;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::shape::Graph;
use crate::schema::{Judges, SchemaId, each_place, name_of};

pub use breach::{Breach, InvalidValue};
use candidate::InvalidCandidate;

/// The number of violations.
const MOST: usize = 500;

/// The number of values that are looked at in all: every violation is a whole value, and large ones cost.
const WORK: usize = 200_000;

/// The number of values in all candidates together.
const MOST_TRIED: usize = 500_000;

/// The number of steps for all of them; later ones are left out.
const MOST_STEPS: usize = 1_000_000;

/// Violations of what a valid value holds, and of what it could hold.
pub(crate) fn violations(graph: &Graph, judge: &Judges, base: &Value) -> Vec<InvalidValue> {
    let weight = weight(base);
    let (found, values, met) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut graph = graph.clone();
    let most = graph.schemas.count_steps() + MOST_STEPS;
    // Values with additions get only a part of the steps, so that the base value gets its share.
    let hosts = surroundings::hosts(&mut graph, judge, base, WORK / 500 / weight, most - MOST_STEPS / 2);
    let mut search = ViolationSearch { graph, judge, most, left: MOST_TRIED, found, values, met };
    for host in hosts {
        search.visit(&host.value, &host.below);
    }
    search.found
}

/// A part of a value that is to be made invalid.
struct BreakableValue {
    at: String,
    /// The place as sentences name it.
    name: String,
    value: Value,
    judges: Vec<SchemaId>,
}

struct ViolationSearch<'a> {
    graph: Graph,
    judge: &'a Judges,
    /// The number of steps after which nothing more is tried.
    most: usize,
    /// The number of values that candidates may still hold.
    left: usize,
    found: Vec<InvalidValue>,
    /// The hashes of the values that were found.
    values: BTreeSet<u64>,
    /// Breaches so far: the breach, the keyword, the place and the detail.
    met: BTreeSet<(Breach, String, String, String)>,
}

impl ViolationSearch<'_> {
    /// Breaks every place of a value that is at or below a pointer.
    fn visit(&mut self, whole: &Value, below: &str) {
        if self.is_done() {
            return;
        }
        let most = (WORK / 100 / weight(whole)).clamp(4, 400);
        let mut spots = Vec::new();
        each_place(&self.graph.schemas, whole, &mut |place| {
            if spots.len() < most && is_at_or_below(place.at, below) && is_among_the_first(place.at) {
                let (at, value) = (place.at.to_owned(), place.value.clone());
                spots.push(BreakableValue { at, name: subject(place.at), value, judges: place.judges.to_vec() });
            }
        });
        for spot in spots {
            self.break_spot(whole, &spot);
        }
    }

    /// There is enough, or it took long enough.
    fn is_done(&self) -> bool {
        self.found.len() >= MOST || self.graph.schemas.count_steps() >= self.most
    }

    fn break_spot(&mut self, whole: &Value, spot: &BreakableValue) {
        for group in candidate::direct(&self.graph, spot) {
            self.first_that_holds(whole, spot, group);
        }
        for claim in synthetic::claims(&self.graph, spot) {
            if !self.is_done() && self.left > 0 && !self.knows(&claim.as_candidate(Value::Null), &spot.at) {
                let values = synthetic::values(&mut self.graph, spot, &claim);
                let group = values.into_iter().map(|value| claim.as_candidate(value)).collect();
                self.first_that_holds(whole, spot, group);
            }
        }
    }

    fn knows(&self, candidate: &InvalidCandidate, at: &str) -> bool {
        let InvalidCandidate { breach, keyword, detail, .. } = candidate;
        self.met.contains(&(*breach, keyword.clone(), at.to_owned(), detail.clone()))
    }

    /// Keeps the first of several candidates that breaks what it claims and nothing else.
    fn first_that_holds(&mut self, whole: &Value, spot: &BreakableValue, group: Vec<InvalidCandidate>) {
        for candidate in group {
            if self.is_done() || self.knows(&candidate, &spot.at) {
                return;
            }
            let InvalidCandidate { breach, keyword, says, detail, value } = candidate;
            let Some(left) = self.left.checked_sub(weight(whole) + weight(&value)) else { return };
            self.left = left;
            let mut broken = whole.clone();
            let Some(target) = broken.pointer_mut(&spot.at) else { return };
            *target = value;
            // The same value may break a wrapping keyword, which says nothing new.
            if self.values.contains(&hash(&broken)) {
                continue;
            }
            let (breaks, steps) = breaks_only(self.judge, &broken, &keyword, &spot.at);
            self.graph.schemas.charge(steps + weight(whole));
            if breaks {
                self.met.insert((breach, keyword.clone(), spot.at.clone(), detail));
                self.values.insert(hash(&broken));
                self.found.push(InvalidValue { breach, keyword, at: spot.at.clone(), says, value: broken });
                return;
            }
        }
    }
}

/// A pointer leads to the target of another, or inside of it.
fn is_at_or_below(at: &str, other: &str) -> bool {
    at.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A place is in none but the first items of arrays: those behind are judged alike.
fn is_among_the_first(at: &str) -> bool {
    at.split('/').all(|step| step.parse::<usize>().is_ok_and(|index| index < 4) || step.parse::<usize>().is_err())
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The number of values in a value, itself included; long texts count for several.
fn weight(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => members.values().map(weight).sum(),
        Value::String(text) => text.len() / 64,
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// A place as people write it: `a.b[0]`.
fn subject(at: &str) -> String {
    let mut written = String::new();
    for step in at.split('/').skip(1) {
        let step = name_of(step);
        let is_index = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
        let (before, after) = match (is_index, written.is_empty()) {
            (true, _) => ("[", "]"),
            (false, true) => ("", ""),
            (false, false) => (".", ""),
        };
        written.push_str(before);
        written.push_str(&step);
        written.push_str(after);
    }
    if at.is_empty() { "the value".to_owned() } else { format!("`{written}`") }
}

/// Judges that a value breaks one keyword at one place and nothing else, and counts the steps of that.
fn breaks_only(judge: &Judges, value: &Value, keyword: &str, at: &str) -> (bool, usize) {
    let (errors, steps) = judge.errors(value);
    (all_blame(&errors, keyword, at), steps)
}

/// There are errors, and all of them blame the claimed keyword at the claimed place.
fn all_blame(errors: &[ValidationError<'_>], keyword: &str, at: &str) -> bool {
    let mut claimed = false;
    errors.iter().all(|error| {
        let blames = blames(error, keyword, at);
        claimed |= blames && !is_consequence(error, keyword, at);
        blames
    }) && claimed
}

fn blames(error: &ValidationError<'_>, keyword: &str, at: &str) -> bool {
    let here = error.instance_path().as_str() == at;
    if (here && keyword_of(error) == keyword) || is_consequence(error, keyword, at) {
        return true;
    }
    // Composition wraps what went wrong inside: the alternative that was meant has to blame the claimed keyword alone.
    if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } = error.kind() {
        return context.iter().any(|errors| all_blame(errors, keyword, at));
    }
    false
}

/// A value of the wrong type is in no enumeration either.
fn is_consequence(error: &ValidationError<'_>, keyword: &str, at: &str) -> bool {
    keyword == "type" && error.instance_path().as_str() == at && ["enum", "const"].contains(&keyword_of(error))
}

/// The keyword that an error is about.
fn keyword_of<'a>(error: &'a ValidationError<'_>) -> &'a str {
    let path = error.schema_path().as_str();
    if matches!(error.kind(), ValidationErrorKind::FalseSchema) {
        // An object that has no properties at all is closed in this way.
        let closed = path.strip_suffix("/additionalProperties").is_some_and(|of| !of.ends_with("/properties"));
        return if closed { "additionalProperties" } else { "false" };
    }
    if matches!(error.kind(), ValidationErrorKind::Required { .. }) && !path.ends_with("/required") {
        let known = ["dependentRequired", "dependencies"];
        return known.into_iter().find(|known| path.contains(known)).unwrap_or("required");
    }
    if matches!(error.kind(), ValidationErrorKind::Contains) {
        return path.rsplit('/').next().unwrap_or("contains");
    }
    error.kind().keyword()
}
