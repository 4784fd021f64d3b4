//! Schemas before and after: the worst level for those who send and for those who read.

use serde_json::{Value, json};

use super::pairs::{LIMITS, ONE_OF, PATTERNS, REFERENCES, TOGETHER};
use crate::drift::{ChangeLevel, SchemaDirection, ServerChange, compare_schemas, counterexample};

/// The schema before, the schema after, the worst change for who sends it, and for who reads it.
pub(crate) type Line = (&'static str, &'static str, &'static str, &'static str);

pub(crate) const SAME: &str = "same";
pub(crate) const COSMETIC: &str = "cosmetic";
pub(crate) const FINE: &str = "compatible";
pub(crate) const BREAKS: &str = "breaking";

const PROPERTIES: &[Line] = &[
    (r"{}", r"{}", SAME, SAME),
    (r#"{"type":"object"}"#, r#"{"type":["object"]}"#, SAME, SAME),
    (r#"{"properties":{"a":{}}}"#, r#"{"properties":{"a":true}}"#, SAME, SAME),
    (r#"{"properties":{"a":{}}}"#, r#"{"properties":{"a":{},"b":{}}}"#, FINE, FINE),
    (r#"{"properties":{"a":{}}}"#, r#"{"properties":{"a":{},"b":{}},"required":["b"]}"#, BREAKS, FINE),
    (r#"{"properties":{"a":{},"b":{}}}"#, r#"{"properties":{"a":{}}}"#, BREAKS, BREAKS),
    (r#"{"properties":{"a":{}},"additionalProperties":false}"#, r#"{"additionalProperties":false}"#, BREAKS, BREAKS),
    (r#"{"properties":{"a":{}}}"#, r#"{"properties":{"a":{}},"required":["a"]}"#, BREAKS, FINE),
    (r#"{"properties":{"a":{}},"required":["a"]}"#, r#"{"properties":{"a":{}}}"#, FINE, BREAKS),
    (r#"{"required":["a","b"]}"#, r#"{"required":["b","a"]}"#, SAME, SAME),
    (r#"{"required":["a"]}"#, r#"{"required":["a","b"]}"#, BREAKS, FINE),
    (r#"{"properties":{"a":{}}}"#, r#"{"properties":{"a":{}},"additionalProperties":false}"#, BREAKS, FINE),
    (r#"{"properties":{"a":{}},"additionalProperties":false}"#, r#"{"properties":{"a":{}}}"#, FINE, FINE),
    (r#"{"additionalProperties":{}}"#, r"{}", SAME, SAME),
    (r#"{"additionalProperties":{"type":"string"}}"#, r"{}", FINE, BREAKS),
    (r#"{"additionalProperties":{"type":"integer"}}"#, r#"{"additionalProperties":{"type":"number"}}"#, FINE, BREAKS),
    (r#"{"patternProperties":{"^a":{"type":"string"}}}"#, r"{}", FINE, BREAKS),
    (r#"{"dependentRequired":{"a":["b"]}}"#, r"{}", FINE, BREAKS),
    (r#"{"dependencies":{"a":["b"]}}"#, r#"{"dependentRequired":{"a":["b"]}}"#, SAME, SAME),
    (r#"{"dependentRequired":{"a":["b"]}}"#, r#"{"dependentRequired":{"a":["c"]}}"#, BREAKS, BREAKS),
    (r#"{"properties":{"a":{"properties":{"b":{}}}}}"#, r#"{"properties":{"a":{"properties":{}}}}"#, BREAKS, BREAKS),
    (r#"{"minProperties":1}"#, r#"{"minProperties":2}"#, BREAKS, FINE),
    (r#"{"properties":{"a":{"default":1}}}"#, r#"{"properties":{"a":{"default":2}}}"#, BREAKS, COSMETIC),
    (r#"{"properties":{"a":{}}}"#, r#"{"properties":{"a":{"default":2}}}"#, FINE, COSMETIC),
    (r#"{"properties":{"a":false}}"#, r#"{"properties":{"a":{}}}"#, FINE, BREAKS),
];

const VALUES: &[Line] = &[
    (r#"{"type":"string"}"#, r#"{"type":"integer"}"#, BREAKS, BREAKS),
    (r#"{"type":"integer"}"#, r#"{"type":"number"}"#, FINE, BREAKS),
    (r#"{"type":"number"}"#, r#"{"type":"integer"}"#, BREAKS, FINE),
    (r#"{"type":"string"}"#, r#"{"type":["string","null"]}"#, FINE, BREAKS),
    (r#"{"type":["string","null"]}"#, r#"{"type":"string"}"#, BREAKS, FINE),
    (r#"{"type":"string"}"#, r"{}", FINE, BREAKS),
    (r"{}", r#"{"type":"string"}"#, BREAKS, FINE),
    (r#"{"enum":["a","b"]}"#, r#"{"enum":["b","a"]}"#, SAME, SAME),
    (r#"{"enum":["a"]}"#, r#"{"enum":["a","b"]}"#, FINE, BREAKS),
    (r#"{"enum":["a","b"]}"#, r#"{"enum":["a"]}"#, BREAKS, FINE),
    (r#"{"enum":["a"]}"#, r#"{"enum":["b"]}"#, BREAKS, BREAKS),
    (r#"{"enum":["a"]}"#, r#"{"const":"a"}"#, SAME, SAME),
    (r#"{"enum":["a"],"type":"string"}"#, r#"{"enum":["a"]}"#, SAME, SAME),
    (r#"{"type":"string"}"#, r#"{"enum":["a","b"]}"#, BREAKS, FINE),
    (r#"{"enum":["a","b"]}"#, r#"{"type":"string"}"#, FINE, BREAKS),
    (r#"{"enum":["a"]}"#, r#"{"enum":["a",null]}"#, FINE, BREAKS),
    (r#"{"type":"boolean"}"#, r#"{"enum":[true,false]}"#, SAME, SAME),
    (r#"{"minimum":0}"#, r#"{"minimum":1}"#, BREAKS, FINE),
    (r#"{"minimum":1}"#, r#"{"minimum":0}"#, FINE, BREAKS),
    (r#"{"maximum":10}"#, r#"{"maximum":5}"#, BREAKS, FINE),
    (r#"{"maximum":10}"#, r"{}", FINE, BREAKS),
    (r"{}", r#"{"exclusiveMinimum":0}"#, BREAKS, FINE),
    (r#"{"minimum":0}"#, r#"{"exclusiveMinimum":0}"#, BREAKS, FINE),
    (r#"{"exclusiveMaximum":9}"#, r#"{"maximum":9}"#, FINE, BREAKS),
    (r#"{"minimum":0,"exclusiveMinimum":true}"#, r#"{"exclusiveMinimum":0}"#, SAME, SAME),
    (r#"{"multipleOf":2}"#, r#"{"multipleOf":4}"#, BREAKS, FINE),
    (r#"{"multipleOf":4}"#, r#"{"multipleOf":2}"#, FINE, BREAKS),
    (r#"{"multipleOf":2}"#, r#"{"multipleOf":3}"#, BREAKS, BREAKS),
    (r#"{"maxLength":10}"#, r#"{"maxLength":5}"#, BREAKS, FINE),
    (r#"{"maxLength":5}"#, r#"{"maxLength":10}"#, FINE, BREAKS),
    (r#"{"minLength":0}"#, r"{}", SAME, SAME),
    (r"{}", r#"{"pattern":"^a"}"#, BREAKS, FINE),
    (r#"{"pattern":"^a"}"#, r"{}", FINE, BREAKS),
    (r#"{"pattern":"^a"}"#, r#"{"pattern":"^b"}"#, BREAKS, BREAKS),
    (r#"{"type":"string"}"#, r#"{"type":"string","format":"date"}"#, BREAKS, FINE),
    (r#"{"type":"string","format":"date"}"#, r#"{"type":"string"}"#, FINE, BREAKS),
    (r#"{"title":"a","description":"b"}"#, r#"{"title":"c"}"#, COSMETIC, COSMETIC),
    (r#"{"examples":[1]}"#, r#"{"examples":[2]}"#, COSMETIC, COSMETIC),
    (r#"{"x-order":1}"#, r#"{"x-order":2}"#, SAME, SAME),
    (r#"{"not":{"type":"null"}}"#, r#"{"not":{"type":"null","title":"t"}}"#, SAME, SAME),
    (r#"{"not":{"type":"null"}}"#, r#"{"not":{"type":"string"}}"#, BREAKS, BREAKS),
];

const LISTS_AND_UNIONS: &[Line] = &[
    (r#"{"items":{"type":"integer"}}"#, r#"{"items":{"type":"number"}}"#, FINE, BREAKS),
    (r#"{"items":{"type":"integer"}}"#, r"{}", FINE, BREAKS),
    (r#"{"items":{}}"#, r"{}", SAME, SAME),
    (r#"{"minItems":1}"#, r#"{"minItems":2}"#, BREAKS, FINE),
    (r#"{"maxItems":3}"#, r#"{"maxItems":2}"#, BREAKS, FINE),
    (r#"{"uniqueItems":true}"#, r"{}", FINE, BREAKS),
    (r#"{"uniqueItems":false}"#, r"{}", SAME, SAME),
    (r#"{"items":[{"type":"string"}]}"#, r#"{"prefixItems":[{"type":"string"}]}"#, SAME, SAME),
    (r#"{"prefixItems":[{"type":"string"}]}"#, r#"{"prefixItems":[{"type":"string"},{"type":"null"}]}"#, BREAKS, FINE),
    (r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#, r#"{"type":["null","string"]}"#, SAME, SAME),
    (
        r#"{"anyOf":[{"type":"string","maxLength":3},{"type":"null"}]}"#,
        r#"{"type":"string","maxLength":3}"#,
        BREAKS,
        FINE,
    ),
    (
        r#"{"type":"string","maxLength":3}"#,
        r#"{"anyOf":[{"type":"string","maxLength":3},{"type":"null"}]}"#,
        FINE,
        BREAKS,
    ),
    (r#"{"anyOf":[{"enum":["a"]},{"type":"null"}]}"#, r#"{"enum":["a",null]}"#, SAME, SAME),
    (r#"{"oneOf":[{"const":"a"},{"const":"b"}]}"#, r#"{"oneOf":[{"const":"b"},{"const":"a"}]}"#, SAME, SAME),
    (r#"{"anyOf":[{"minimum":1},{"maxLength":2}]}"#, r#"{"anyOf":[{"minimum":1}]}"#, BREAKS, FINE),
    (r#"{"anyOf":[{"minimum":1},{"maxLength":2}]}"#, r#"{"anyOf":[{"minimum":1},{"maxLength":3}]}"#, FINE, BREAKS),
    (
        r#"{"anyOf":[{"minimum":1},{"maxLength":2}]}"#,
        r#"{"anyOf":[{"minimum":1},{"maxLength":2},{"maxItems":1}]}"#,
        FINE,
        BREAKS,
    ),
    (r#"{"allOf":[{"minimum":1},{"maximum":5}]}"#, r#"{"minimum":1,"maximum":5}"#, SAME, SAME),
    (r#"{"allOf":[{"required":["a"]}],"required":["b"]}"#, r#"{"required":["a","b"]}"#, SAME, SAME),
    (r##"{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}"##, r#"{"type":"string"}"#, SAME, SAME),
    (
        r##"{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}"##,
        r##"{"$ref":"#/definitions/b","definitions":{"b":{"type":"string"}}}"##,
        SAME,
        SAME,
    ),
    (
        r##"{"$ref":"#/$defs/a","$defs":{"a":{"minimum":1}}}"##,
        r##"{"$ref":"#/$defs/a","$defs":{"a":{"minimum":2}}}"##,
        BREAKS,
        FINE,
    ),
    (r##"{"properties":{"next":{"$ref":"#"}}}"##, r##"{"properties":{"next":{"$ref":"#"}}}"##, SAME, SAME),
    (
        r##"{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"}}}}}"##,
        r##"{"$ref":"#/$defs/m","$defs":{"m":{"properties":{"next":{"$ref":"#/$defs/m"}}}}}"##,
        SAME,
        SAME,
    ),
    (r##"{"properties":{"next":{"$ref":"#"}}}"##, r##"{"properties":{"next":{"$ref":"#"},"a":{}}}"##, FINE, FINE),
    (r#"{"if":{"minimum":1},"then":{"maximum":5}}"#, r#"{"if":{"minimum":1},"then":{"maximum":4}}"#, BREAKS, BREAKS),
    (r#"{"contains":{"type":"string"}}"#, r#"{"contains":{"type":"null"}}"#, BREAKS, BREAKS),
    (
        r#"{"anyOf":[{"properties":{"k":{"const":1}}},{"properties":{"k":{"const":2},"x":{"minimum":1}}}]}"#,
        r#"{"anyOf":[{"properties":{"k":{"const":1}}},{"properties":{"k":{"const":2},"x":{"minimum":0}}}]}"#,
        FINE,
        BREAKS,
    ),
];

#[test]
fn every_change_has_the_level_that_callers_give_it() {
    let mut wrong = Vec::new();
    let plain = PROPERTIES.iter().chain(VALUES).chain(LISTS_AND_UNIONS);
    for (before, after, sent, read) in
        plain.chain(REFERENCES).chain(TOGETHER).chain(PATTERNS).chain(ONE_OF).chain(LIMITS)
    {
        let [before, after] = [before, after].map(|text| serde_json::from_str::<Value>(text).unwrap());
        for (direction, expected) in [(SchemaDirection::Sent, sent), (SchemaDirection::Read, read)] {
            let found = compare_schemas(direction, &before, &after, "");
            if worst(&found) != *expected {
                wrong.push(format!("{before} → {after}, {direction:?}: {}, not {expected}: {found:#?}", worst(&found)));
            }
        }
        // A compatible change must have no example of a caller that it breaks.
        if *sent != BREAKS {
            let shown = counterexample(&before, &after);
            let shown =
                shown.filter(|value| !new_properties(&before, &after).iter().any(|name| value.get(name).is_some()));
            if let Some(value) = shown {
                wrong.push(format!("{before} → {after}: {value} was valid"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn new_properties(before: &Value, after: &Value) -> Vec<String> {
    let names = after["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone());
    names.filter(|name| before["properties"].get(name).is_none()).collect()
}

pub(crate) fn worst(found: &[ServerChange]) -> &'static str {
    found.iter().map(|change| change.level).max().map_or(SAME, ChangeLevel::as_str)
}

#[test]
fn breaking_changes_come_with_an_example() {
    let check = |before: Value, after: Value, expected: Value| {
        let found = compare_schemas(SchemaDirection::Sent, &before, &after, "");
        let examples: Vec<_> = found.iter().filter_map(|change| change.example.clone()).collect();
        assert_eq!(examples, [expected], "{before} → {after}: {found:#?}");
    };
    check(json!({"minimum": 0}), json!({"minimum": 1}), json!(0));
    check(json!({"type": "string", "maxLength": 5}), json!({"type": "string", "maxLength": 2}), json!("xxx"));
    check(json!({"type": ["string", "null"]}), json!({"type": "string"}), json!(null));
    check(json!({"enum": ["a", "bb"]}), json!({"enum": ["a"]}), json!("bb"));
    check(
        json!({"if": {"minimum": 1}, "then": {"maximum": 9}}),
        json!({"if": {"minimum": 1}, "then": {"maximum": 8}}),
        json!(9),
    );
    check(
        json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        json!({}),
    );
}

#[test]
fn what_cannot_be_decided_says_so() {
    let found =
        compare_schemas(SchemaDirection::Sent, &json!({"format": "date"}), &json!({"format": "time"}), "tools/t/input");
    let [change] = found.as_slice() else { panic!("{found:#?}") };
    let expected = "`format` changed from `\"date\"` to `\"time\"`, which cannot be shown to be compatible";
    assert_eq!(
        (change.level, change.says.as_str(), change.at.as_str()),
        (ChangeLevel::Breaking, expected, "tools/t/input")
    );
}

#[test]
fn schemas_without_end_are_compared_in_time() {
    // Each definition refers twice to the next: inlined, they would be a billion.
    let chain = |last: &str| {
        let mut defs = serde_json::Map::new();
        for number in 0..30 {
            let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
            defs.insert(format!("d{number}"), json!({"properties": {"a": next, "b": next}}));
        }
        defs.insert("d30".to_owned(), json!({"type": last}));
        json!({"$ref": "#/$defs/d0", "$defs": defs})
    };
    assert!(compare_schemas(SchemaDirection::Sent, &chain("string"), &chain("string"), "").is_empty());
    assert!(!compare_schemas(SchemaDirection::Sent, &chain("string"), &chain("integer"), "").is_empty());
    let deep = |bottom: Value| (0..60).fold(bottom, |inner, _| json!({"items": inner}));
    assert_eq!(
        worst(&compare_schemas(SchemaDirection::Read, &deep(json!({})), &deep(json!({"minimum": 1})), "")),
        FINE
    );
}
