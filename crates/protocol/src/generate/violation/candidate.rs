//! Broken values of one place, the most telling first.

use serde_json::{Value, json};

use crate::generate::shape::Graph;
use crate::schema::SchemaRules;

use super::{Breach, BreakableValue, lists, scalars};

/// A value that may break one keyword.
pub(crate) struct InvalidCandidate {
    pub breach: Breach,
    pub keyword: String,
    /// The fault.
    pub says: String,
    /// Distinguishes it from others of the same breach at the same place.
    pub detail: String,
    /// The replacement value.
    pub value: Value,
}

impl InvalidCandidate {
    pub(crate) fn new(breach: Breach, keyword: &str, says: &str, value: Value) -> Self {
        Self { breach, keyword: keyword.to_owned(), says: says.to_owned(), detail: String::new(), value }
    }

    pub(crate) fn of(self, detail: &str) -> Self {
        Self { detail: detail.to_owned(), ..self }
    }
}

/// Candidates that break the same keyword.
pub(crate) fn group(
    breach: Breach,
    keyword: &str,
    says: &str,
    values: impl IntoIterator<Item = Value>,
) -> Vec<InvalidCandidate> {
    values.into_iter().map(|value| InvalidCandidate::new(breach, keyword, says, value)).collect()
}

/// Candidates in groups: of each group, the first that holds is enough.
pub(crate) fn direct(graph: &Graph, spot: &BreakableValue) -> Vec<Vec<InvalidCandidate>> {
    let mut groups = vec![wrong_types(&spot.name), vec![null(&spot.name)], vec![nest(spot)]];
    for id in &spot.judges {
        let rules = graph.schemas.rules(*id);
        groups.extend(scalars::broken(rules, spot, graph.limits));
        groups.extend(lists::broken(rules, spot));
        groups.extend(alternatives(rules, &spot.name));
    }
    groups
}

/// Values that no server can coerce to the right type come first.
fn wrong_types(place: &str) -> Vec<InvalidCandidate> {
    let wrong = [
        ("a number", json!(42)),
        ("a text", json!("not a value of this type")),
        ("an object", json!({"unexpected": true})),
        ("an array", json!([[]])),
        ("a boolean", json!(true)),
        ("a fraction", json!(0.5)),
    ];
    wrong
        .map(|(kind, value)| InvalidCandidate::new(Breach::WrongType, "type", &format!("{place} is {kind}"), value))
        .into()
}

fn null(place: &str) -> InvalidCandidate {
    InvalidCandidate::new(Breach::Null, "type", &format!("{place} is null"), Value::Null)
}

fn nest(spot: &BreakableValue) -> InvalidCandidate {
    let says = format!("{} is inside an array", spot.name);
    InvalidCandidate::new(Breach::WrongNesting, "type", &says, json!([spot.value]))
}

/// Values that fit no alternative.
fn alternatives(rules: &SchemaRules, place: &str) -> Vec<Vec<InvalidCandidate>> {
    let of = |keyword: &str| {
        let wrong =
            [json!(42), json!("fits nothing"), json!({"unexpected": true}), json!([[]]), json!(true), Value::Null];
        let says = format!("{place} fits no alternative of `{keyword}`");
        group(Breach::NoAlternative, keyword, &says, wrong)
    };
    let written = [("anyOf", &rules.any), ("oneOf", &rules.one)].into_iter().filter(|(_, members)| !members.is_empty());
    written.map(|(keyword, _)| of(keyword)).collect()
}
