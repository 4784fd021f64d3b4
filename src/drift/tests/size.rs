//! Schemas so large that comparing them, or looking for examples, would have no end.

use serde_json::{Map, Value, json};

use super::schemas::{BREAKS, worst};
use crate::drift::{ChangeLevel, SchemaDirection, compare_schemas};

/// Compares them for both sides, and gives what is sent.
fn compared(before: &Value, after: &Value) -> Vec<crate::drift::ServerChange> {
    assert_eq!(worst(&compare_schemas(SchemaDirection::Read, before, after, "")), BREAKS);
    compare_schemas(SchemaDirection::Sent, before, after, "")
}

/// Definitions of which each leads to the next, and the last of which is a property of some type.
fn chain(length: usize, step: impl Fn(Value) -> Value, last: &str) -> Value {
    let mut definitions = Map::new();
    for number in 0..length {
        let next = json!({"$ref": format!("#/$defs/{}", number + 1)});
        definitions.insert(number.to_string(), step(next));
    }
    definitions.insert(length.to_string(), json!({"type": "object", "properties": {"z": {"type": last}}}));
    json!({"type": "object", "$ref": "#/$defs/0", "$defs": definitions})
}

#[test]
fn references_that_multiply_are_compared() {
    let steps: [fn(Value) -> Value; 4] = [
        |next| json!({"anyOf": [next, next]}),
        |next| json!({"anyOf": [next, {"type": "object", "properties": {"y": next}}]}),
        |next| json!({"allOf": [next, next]}),
        |next| json!({"not": {"allOf": [next, next]}}),
    ];
    for step in steps {
        let [before, after] = ["string", "integer"].map(|last| chain(40, step, last));
        assert_eq!(worst(&compared(&before, &after)), BREAKS);
        let mut other = before.clone();
        other["$defs"]["7"]["description"] = "a word".into();
        assert!(worst(&compare_schemas(SchemaDirection::Sent, &before, &other, "")) != BREAKS);
    }
}

#[test]
fn what_is_not_written_out_is_compared_all_the_same() {
    let many = |last: &str, more: &str| {
        let mut properties: Map<String, Value> =
            (0..3_000).map(|number| (format!("p{number}"), json!({"$ref": "#/$defs/a"}))).collect();
        properties.insert(more.to_owned(), json!({"$ref": "#/$defs/b"}));
        json!({"properties": properties, "$defs": {"a": {"properties": {"q": true}}, "b": {"type": last}}})
    };
    let found = compared(&many("string", "z"), &many("integer", "z"));
    let [change] = found.as_slice() else { panic!("{found:#?}") };
    let says = "the schema it refers to changed, which cannot be shown to be compatible";
    assert_eq!((change.says.as_str(), change.at.as_str()), (says, "/z"));

    let mut more = many("string", "z");
    more["properties"]["new"] = json!({"type": "string"});
    let found = compare_schemas(SchemaDirection::Sent, &many("string", "z"), &more, "");
    assert_eq!((found.len(), worst(&found)), (1, ChangeLevel::Compatible.as_str()));
}

#[test]
fn large_unions_are_compared() {
    let union = |letter: &str| {
        let branch =
            |number| json!({"type": "object", "properties": {format!("{letter}{number}"): {"type": "string"}}});
        json!({"properties": {"x": {"anyOf": (0..100).map(branch).collect::<Vec<_>>()}}})
    };
    assert_eq!(worst(&compared(&union("a"), &union("b"))), BREAKS);
}

#[test]
fn large_enumerations_are_compared() {
    let among = |values: std::ops::Range<u32>| json!({"enum": values.collect::<Vec<_>>()});
    let found = compared(&among(0..60_000), &among(30_000..90_000));
    assert_eq!((found.len(), worst(&found)), (2, BREAKS));
    assert_eq!(found[0].example, Some(json!(0)));
    assert!(found[0].says.ends_with("and 29980 more are no longer allowed"), "{}", found[0].says);
}

#[test]
fn no_change_that_breaks_somebody_is_lost_among_others() {
    let mut properties: Map<String, Value> = (0..300).map(|number| (format!("p{number}"), json!({}))).collect();
    properties.insert("z".to_owned(), json!({"items": {"type": "string"}}));
    let before = json!({"properties": {"z": {"items": {"type": "string"}}}, "minProperties": 1});
    let after = json!({"properties": properties, "minProperties": 1, "dependentRequired": {"z": ["a"]}});
    assert_eq!(worst(&compare_schemas(SchemaDirection::Sent, &before, &after, "")), BREAKS);
}
