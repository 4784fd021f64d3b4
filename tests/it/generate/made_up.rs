//! Schemas that nobody wrote.

use mcprove::generate::Rng;
use serde_json::{Map, Value, json};

/// What schemas that are made up refer to.
const DEFINITIONS: [&str; 2] = ["one", "two"];

/// A whole schema of random keywords in one of three dialects, with definitions that refer to each other.
pub(super) fn document(draw: &mut Rng) -> Value {
    let mut document = schema(draw, 3);
    let dialects = ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema", ""];
    let dialect = dialects[draw.below(6).min(2)];
    if !dialect.is_empty() {
        document["$schema"] = json!(dialect);
    }
    document["$defs"] = DEFINITIONS.iter().map(|name| ((*name).to_owned(), schema(draw, 2))).collect();
    document
}

/// A schema of random keywords, which often cannot be satisfied.
fn schema(draw: &mut Rng, depth: usize) -> Value {
    let mut found = Map::new();
    let kinds = ["string", "integer", "number", "boolean", "null", "array", "object"];
    let kind = kinds[draw.below(if depth == 0 { 5 } else { 7 })];
    if draw.chance(85) {
        found.insert("type".into(), if draw.chance(85) { json!(kind) } else { json!([kind, kinds[draw.below(5)]]) });
    }
    let keywords = match kind {
        "string" => texts(draw),
        "integer" | "number" => numbers(draw),
        "array" => arrays(draw, depth),
        "object" => objects(draw, depth),
        _ => Map::new(),
    };
    found.extend(keywords.into_iter().filter(|_| draw.chance(70)));
    if depth > 0 && draw.chance(25) {
        let keyword = ["anyOf", "oneOf", "allOf"][draw.below(3)];
        found.insert(keyword.into(), json!([schema(draw, depth - 1), schema(draw, depth - 1)]));
    }
    if depth > 0 && draw.chance(8) {
        found.insert("not".into(), schema(draw, depth - 1));
    }
    if depth > 0 && draw.chance(8) {
        found.insert("if".into(), schema(draw, depth - 1));
        found.insert("then".into(), schema(draw, depth - 1));
    }
    if draw.chance(5) {
        found.insert("enum".into(), json!([1, "a", null, [], {"a": 1}]));
    }
    if draw.chance(4) {
        found.insert("const".into(), [json!(1.0), json!("a"), json!([]), json!({"a": 1})][draw.below(4)].clone());
    }
    if depth > 0 && draw.chance(10) {
        let name = DEFINITIONS[draw.below(DEFINITIONS.len())];
        found.insert("$ref".into(), json!(format!("#/$defs/{name}")));
    }
    Value::Object(found)
}

fn texts(draw: &mut Rng) -> Map<String, Value> {
    let pattern = ["^[a-z]+$", "[0-9]", "^a.*z$", "^(x|yy)*$", "é"][draw.below(5)];
    let format = ["email", "uri", "date", "uuid", "unknown"][draw.below(5)];
    let least = draw.below(6);
    let mut keywords = Map::new();
    for (name, value) in [
        ("minLength", json!(least)),
        ("maxLength", json!(least + draw.below(40))),
        ("pattern", json!(pattern)),
        ("format", json!(format)),
    ] {
        if draw.chance(40) {
            keywords.insert(name.into(), value);
        }
    }
    keywords
}

fn numbers(draw: &mut Rng) -> Map<String, Value> {
    let low = i64::try_from(draw.below(40)).unwrap() - 20;
    let width = i64::try_from(draw.below(60)).unwrap();
    let step = [json!(1), json!(3), json!(0.5), json!(0.01), json!(7)][draw.below(5)].clone();
    let mut keywords = Map::new();
    for (name, value) in [
        (["minimum", "exclusiveMinimum"][draw.below(2)], json!(low)),
        (["maximum", "exclusiveMaximum"][draw.below(2)], json!(low + width)),
        ("multipleOf", step),
    ] {
        if draw.chance(50) {
            keywords.insert(name.into(), value);
        }
    }
    keywords
}

fn arrays(draw: &mut Rng, depth: usize) -> Map<String, Value> {
    let least = draw.below(4);
    let mut keywords = Map::new();
    for (name, value) in [
        ("items", schema(draw, depth - 1)),
        ("prefixItems", json!([schema(draw, depth - 1)])),
        ("contains", schema(draw, depth - 1)),
        ("minContains", json!(draw.below(3))),
        ("minItems", json!(least)),
        ("maxItems", json!(least + draw.below(5))),
        ("uniqueItems", json!(draw.chance(50))),
    ] {
        if draw.chance(45) {
            keywords.insert(name.into(), value);
        }
    }
    keywords
}

fn objects(draw: &mut Rng, depth: usize) -> Map<String, Value> {
    let names = ["a", "b", "c", "x y"];
    let properties: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), schema(draw, depth - 1))).collect();
    let required: Vec<&str> = names.into_iter().filter(|_| draw.chance(40)).collect();
    let additional = if draw.chance(50) { json!(false) } else { schema(draw, depth - 1) };
    let mut keywords = Map::new();
    keywords.insert("properties".into(), Value::Object(properties));
    for (name, value) in [
        ("required", json!(required)),
        ("additionalProperties", additional),
        ("minProperties", json!(draw.below(4))),
        ("maxProperties", json!(2 + draw.below(4))),
        ("propertyNames", json!({"maxLength": 1 + draw.below(8)})),
        ("patternProperties", json!({"^[a-b]": schema(draw, depth - 1)})),
        ("dependentRequired", json!({"a": ["b"]})),
        ("dependentSchemas", json!({"b": schema(draw, depth - 1)})),
        ("unevaluatedProperties", json!(false)),
    ] {
        if draw.chance(30) {
            keywords.insert(name.into(), value);
        }
    }
    keywords
}
