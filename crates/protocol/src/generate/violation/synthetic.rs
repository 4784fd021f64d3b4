//! Broken values made from the opposite of one keyword and everything else that judges their place.

use serde_json::Value;

use crate::generate::make::{self, Variety};
use crate::generate::rng::Rng;
use crate::generate::shape::{Graph, LARGEST};
use crate::schema::{ContainsRule, SchemaId, SchemaRules};

use super::candidate::InvalidCandidate;
use super::{Breach, BreakableValue};

/// The number of values that are tried.
const TRIES: usize = 12;

/// The greatest length of required texts.
const LONGEST: usize = 60_000;

/// The number of pairs of alternatives that are tried at a place.
const MOST_PAIRS: usize = 12;

/// A keyword that is to be broken.
pub(crate) struct BreachClaim {
    breach: Breach,
    keyword: &'static str,
    says: String,
    /// The subschema that has the keyword.
    owner: SchemaId,
    /// The replacement.
    instead: SchemaRules,
    /// Further subschemas that must match.
    further: Vec<SchemaId>,
}

impl BreachClaim {
    fn new(breach: Breach, keyword: &'static str, says: String, owner: SchemaId, instead: SchemaRules) -> Self {
        Self { breach, keyword, says, owner, instead, further: Vec::new() }
    }

    pub(crate) fn as_candidate(&self, value: Value) -> InvalidCandidate {
        InvalidCandidate::new(self.breach, self.keyword, &self.says, value)
    }
}

/// The keywords of a place that can be turned around.
pub(crate) fn claims(graph: &Graph, spot: &BreakableValue) -> Vec<BreachClaim> {
    let mut claims = Vec::new();
    for id in &spot.judges {
        let rules = graph.schemas.rules(*id);
        match &spot.value {
            Value::String(_) => claims.extend(texts(*id, rules, &spot.name)),
            Value::Number(_) => claims.extend(numbers(*id, rules, &spot.name)),
            Value::Array(_) => claims.extend(lists(*id, rules, &spot.name)),
            Value::Null | Value::Bool(_) | Value::Object(_) => {}
        }
        claims.extend(claims_of_combinators(*id, rules, &spot.name));
    }
    claims
}

/// Values that break what is claimed, and hopefully nothing else.
pub(crate) fn values(graph: &mut Graph, spot: &BreakableValue, claim: &BreachClaim) -> Vec<Value> {
    let mut ids = claim.further.clone();
    for id in &spot.judges {
        let rules = if *id == claim.owner { claim.instead.clone() } else { (**graph.schemas.rules(*id)).clone() };
        // The alternatives that the value takes are judges themselves.
        let decided = SchemaRules { all: Vec::new(), any: Vec::new(), one: Vec::new(), condition: None, ..rules };
        ids.push(graph.schemas.add(decided));
    }
    let node = graph.grow(ids);
    if graph.node(node).size > LARGEST {
        return Vec::new();
    }
    let mut rng = Rng::new(17);
    let variety = |at: usize| if at == 0 { Variety::Plain } else { Variety::Small };
    (0..TRIES).map(|at| make::value(graph, node, variety(at), &mut rng)).collect()
}

fn texts(owner: SchemaId, rules: &SchemaRules, place: &str) -> Vec<BreachClaim> {
    let same = || rules.clone();
    let mut turned = Vec::new();
    if let Some(min) = rules.min_length.filter(|min| *min > 0) {
        let instead = SchemaRules { min_length: None, max_length: Some(min - 1), ..same() };
        turned.push(BreachClaim::new(
            Breach::TooShort,
            "minLength",
            format!("{place} is shorter than `minLength` {min}"),
            owner,
            instead,
        ));
    }
    if let Some(max) = rules.max_length.filter(|max| *max < LONGEST) {
        let instead = SchemaRules { min_length: Some(max + 1), max_length: None, ..same() };
        turned.push(BreachClaim::new(
            Breach::TooLong,
            "maxLength",
            format!("{place} is longer than `maxLength` {max}"),
            owner,
            instead,
        ));
    }
    if let Some(pattern) = &rules.pattern {
        let instead = SchemaRules { pattern: None, format: None, ..same() };
        turned.push(BreachClaim::new(
            Breach::Pattern,
            "pattern",
            format!("{place} does not match `{pattern}`"),
            owner,
            instead,
        ));
    }
    turned
}

fn numbers(owner: SchemaId, rules: &SchemaRules, place: &str) -> Vec<BreachClaim> {
    let mut turned = Vec::new();
    for bound in &rules.low {
        let keyword = if bound.exclusive { "exclusiveMinimum" } else { "minimum" };
        let instead = SchemaRules { low: Vec::new(), high: vec![bound.opposite()], ..rules.clone() };
        turned.push(BreachClaim::new(
            Breach::OutOfRange,
            keyword,
            format!("{place} is below `{keyword}` {}", bound.number),
            owner,
            instead,
        ));
    }
    for bound in &rules.high {
        let keyword = if bound.exclusive { "exclusiveMaximum" } else { "maximum" };
        let instead = SchemaRules { high: Vec::new(), low: vec![bound.opposite()], ..rules.clone() };
        turned.push(BreachClaim::new(
            Breach::OutOfRange,
            keyword,
            format!("{place} is above `{keyword}` {}", bound.number),
            owner,
            instead,
        ));
    }
    turned
}

fn lists(owner: SchemaId, rules: &SchemaRules, place: &str) -> Vec<BreachClaim> {
    let Some(contains) = &rules.contains else { return Vec::new() };
    let instead = |contains| SchemaRules { contains: Some(contains), ..rules.clone() };
    let mut turned = Vec::new();
    for keyword in ["contains", "minContains"].into_iter().filter(|_| contains.min > 0) {
        let fewer = ContainsRule { min: 0, max: Some(contains.min - 1), ..contains.clone() };
        let says = format!("{place} has too few of the items that it has to contain");
        turned.push(BreachClaim::new(Breach::Contains, keyword, says, owner, instead(fewer)));
    }
    if let Some(max) = contains.max {
        let more = ContainsRule { min: max.saturating_add(1), max: None, ..contains.clone() };
        let says = format!("{place} has more than `maxContains` {max} of the items that it has to contain");
        turned.push(BreachClaim::new(Breach::Contains, "maxContains", says, owner, instead(more)));
    }
    turned
}

/// Values excluded by `not` and `oneOf`.
fn claims_of_combinators(owner: SchemaId, rules: &SchemaRules, place: &str) -> Vec<BreachClaim> {
    let mut claims = Vec::new();
    if let Some(not) = rules.not {
        let instead = SchemaRules { not: None, ..rules.clone() };
        let says = format!("{place} is what `not` excludes");
        let claim = BreachClaim::new(Breach::Forbidden, "not", says, owner, instead);
        claims.push(BreachClaim { further: vec![not], ..claim });
    }
    for (at, one) in rules.one.iter().enumerate() {
        let left = MOST_PAIRS.saturating_sub(claims.len());
        for other in rules.one[at + 1..].iter().take(left) {
            let says = format!("{place} fits two alternatives of `oneOf`");
            let claim = BreachClaim::new(Breach::SeveralAlternatives, "oneOf", says, owner, rules.clone());
            claims.push(BreachClaim { further: vec![*one, *other], ..claim });
        }
    }
    claims.truncate(MOST_PAIRS);
    claims
}
