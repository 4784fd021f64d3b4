//! Matchers of one value.

use serde_json::json;

use super::super::MismatchWeight;
use super::{Step, check, check_message};
use crate::wire::Tool;

/// Looks at `result.structuredContent` with the given matchers.
#[track_caller]
fn at(matchers: &str, value: serde_json::Value, expected: &str) {
    check(&format!("{{ at: result.structuredContent, {matchers} }}"), &Step::value(value), expected);
}

#[test]
fn equals() {
    at("equals: 1", json!(1.0), "");
    at("equals: { a: 1, b: [x] }", json!({"b": ["x"], "a": 1}), "");
    at("equals: 18446744073709551615", json!(u64::MAX), "");
    at(
        "equals: 9007199254740993",
        json!(9_007_199_254_740_992_i64),
        "equals [9007199254740993] found 9007199254740992",
    );
    at("equals: Ann", json!("Bob"), "equals [Ann] found \"Bob\"");
    at("equals: ~", json!(null), "");
    at("equals: 1", json!("1"), "equals [1] found \"1\"");
    at("equals: { a: 1 }", json!({"a": 2, "c": 3}), "equals [equals] `a` is 2, not 1; `c` is not expected");
    at("equals: [1, 2]", json!([1]), "equals [equals] the array has 1 element, not 2");
    at("equals: { a: [{ b: 1 }] }", json!({"a": [{"b": 2}]}), "equals [equals] `a[0].b` is 2, not 1");
    check_message("{ at: result.x, equals: 5 }", &Step::result(json!({"x": 6})), "`result.x` is 6, not 5");
}

#[test]
fn includes() {
    at("includes: { name: Ann }", json!({"name": "Ann", "age": 3}), "");
    at("includes: { tags: [{ id: 2 }, { id: 1 }] }", json!({"tags": [{"id": 1, "x": 0}, {"id": 2}, {"id": 3}]}), "");
    at(
        "includes: { name: Ann, mail: a }",
        json!({"name": "Bob"}),
        "includes [includes] `name` is \"Bob\", not \"Ann\"; `mail` is missing",
    );
    at("includes: [1, 9]", json!([1, 2]), "includes [includes] no element is 9");
    at("includes: { a: [9] }", json!({"a": [1]}), "includes [includes] no element of `a` is 9");
    at("includes: { a: 1 }", json!("text"), "includes [includes] found \"text\"");
    let answered = Step::result(json!({"x": "Hello, Ann!"}));
    let longer = "`result.x` is a longer text: use `contains` to look for a part of a text";
    check_message("{ at: result.x, includes: Ann }", &answered, longer);
    check_message("{ at: result.x, includes: Bob }", &answered, "`result.x` does not include every listed part");
}

#[test]
fn contains() {
    at("contains: nn", json!("Ann"), "");
    at("contains: 2", json!([1, 2.0]), "");
    at("contains: 42", json!("a 42 b"), "");
    at("contains: x", json!("Ann"), "contains [x] not found in 3 characters");
    at("contains: { a: 1 }", json!([{"a": 1, "b": 2}]), "contains [contains] not found in 1 element");
    at("contains: a", json!({"a": 1}), "contains [a] found an object; for fields write `includes`");
    at("contains: 1", json!(12), "contains [1] found 12; `contains` checks texts and arrays");
}

#[test]
fn matches() {
    at("matches: ^u\\d+$", json!("u12"), "");
    at("matches: ^1", json!(12), "");
    at("matches: ^u", json!("x"), "matches [^u] found \"x\"");
    at("matches: u", json!(["u"]), "matches [u] found an array; `matches` checks texts");
}

#[test]
fn schema() {
    at("schema: { type: object, required: [id] }", json!({"id": 1}), "");
    at(
        "schema: { type: object, properties: { id: { type: string }, n: { minimum: 3 } } }",
        json!({"id": 1, "n": 2}),
        "schema [schema] `id`: 1 is not of type \"string\"; `n`: 2 is less than the minimum of 3",
    );
    at(
        "schema: { $defs: { s: { type: string } }, items: { $ref: '#/$defs/s' } }",
        json!([1]),
        "schema [schema] `0`: 1 is not of type \"string\"",
    );
}

#[test]
fn kind() {
    at("type: integer", json!(1.0), "");
    at("type: number", json!(1), "");
    at("type: 'null'", json!(null), "");
    at("type: integer", json!(1.5), "type [integer] found 1.5");
    at("type: array", json!({}), "type [array] found {}");
    at("type: string", json!(1), "type [string] found 1");
    check_message(
        "{ at: result.x, type: array }",
        &Step::result(json!({"x": "a"})),
        "`result.x` is a string, not an array",
    );
    check_message(
        "{ at: result.x, type: integer }",
        &Step::result(json!({"x": true})),
        "`result.x` is a boolean, not an integer",
    );
}

#[test]
fn format() {
    at("format: base64", json!("aGk="), "");
    at("format: base64", json!("aGk"), "format [base64] found \"aGk\"");
    at("format: uri", json!("a:b"), "");
    at("format: uri", json!(7), "format [uri] found 7");
    at("format: json-schema", json!({"type": "object"}), "");
    at("format: json-schema", json!({"type": "record"}), "format [json-schema] found {\"type\":\"record\"}");
    check_message(
        "{ at: result.x, format: date-time }",
        &Step::result(json!({"x": "today"})),
        "`result.x` is not a date and time of RFC 3339",
    );
}

#[test]
fn length() {
    at("length: 2", json!("éé"), "");
    at("length: { min: 1, max: 3 }", json!([1, 2, 3]), "");
    at("length: { max: 1 }", json!({"a": 1}), "");
    at("length: 1", json!([1, 2]), "length [1] found 2 elements");
    at("length: { min: 5 }", json!("abc"), "length [length] found 3 characters");
    at("length: 1", json!(7), "length [1] found 7");
    check_message(
        "{ at: result.x, length: { min: 2, max: 4 } }",
        &Step::result(json!({"x": {"a": 1}})),
        "`result.x` has 1 field, not 2 to 4",
    );
}

#[test]
fn comparisons() {
    at("greater_than: 1, at_least: 2, less_than: 3, at_most: 2", json!(2), "");
    at("greater_than: 2", json!(2), "greater-than [2] found 2");
    at("at_least: 2.5", json!(2), "at-least [2.5] found 2");
    at("less_than: 2", json!(2.0), "less-than [2] found 2.0");
    at("at_most: -1", json!(0), "at-most [-1] found 0");
    at("at_most: 1", json!("0"), "at-most [1] found \"0\"");
    at("greater_than: 1, less_than: 1", json!(1), "greater-than [1] found 1\nless-than [1] found 1");
}

#[test]
fn one_of() {
    at("one_of: [1, 2]", json!(2.0), "");
    at("one_of: [a, b]", json!("c"), "one-of [one_of] found \"c\"");
    at("one_of: '{{ words }}'", json!("b"), "");
    at("one_of: '{{ words }}'", json!("c"), "one-of [one_of] found \"c\"");
}

#[test]
fn exists() {
    at("exists: true", json!(null), "");
    at("exists: false", json!(1), "exists [false] found 1");
    check("{ at: result.nope, exists: false }", &Step::value(json!(1)), "");
    check("{ at: result.nope, exists: true }", &Step::value(json!(1)), "missing-value [result.nope] finds nothing");
    check("{ at: result.nope, not: { exists: true } }", &Step::value(json!(1)), "");
    check(
        "{ at: result.nope, not: { exists: false } }",
        &Step::value(json!(1)),
        "missing-value [result.nope] finds nothing",
    );
    check(
        "{ at: result.nope, not: { contains: x } }",
        &Step::value(json!(1)),
        "missing-value [result.nope] finds nothing",
    );
    check("{ at: result.nope, any: [{ exists: false }, { equals: 1 }] }", &Step::value(json!(1)), "");
    check(
        "{ at: result.nope, all: [{ exists: false }, { equals: 1 }] }",
        &Step::value(json!(1)),
        "missing-value [result.nope] finds nothing",
    );
}

#[test]
fn combinations() {
    at("not: { equals: 1 }", json!(2), "");
    at("not: { at_least: 1, at_most: 3 }", json!(2), "not [not] found 2");
    at("all: [{ at_least: 1 }, { at_most: 3 }]", json!(9), "at-most [3] found 9");
    at("any: [{ equals: 1 }, { type: string }]", json!("x"), "");
    at(
        "any: [{ equals: 1 }, { type: string }]",
        json!(2),
        "any [any] `result.structuredContent` is 2, not 1; `result.structuredContent` is a number, not a string",
    );
    at("not: { any: [{ equals: 1 }, { equals: 2 }] }", json!(2), "not [not] found 2");
}

#[test]
fn elements() {
    at("each: { type: integer }", json!([1, 2]), "");
    at("each: { type: integer }", json!([]), "each [each] there is no element to check");
    at("each: { type: integer }", json!(1), "each [each] found 1");
    at("each: { at_most: 1 }", json!([1, 2, 3]), "at-most [1] found 2\nat-most [1] found 3");
    at(
        "each: { equals: 0 }",
        json!([1, 2, 3, 4, 5]),
        "equals [0] found 1\nequals [0] found 2\nequals [0] found 3\neach [each] the first 3 are shown",
    );
    at("some: { includes: { id: 2 } }", json!([{"id": 1}, {"id": 2}]), "");
    at("some: { equals: 2 }", json!([]), "some [some] there is no element to check");
    at("some: { equals: 2 }", json!([1]), "some [some] `result.structuredContent[0]` is 1, not 2");
    check_message(
        "{ at: result.a, each: { each: { equals: 0 } } }",
        &Step::result(json!({"a": [[0, 1]]})),
        "`result.a[0][1]` is 1, not 0",
    );
}

#[test]
fn missing_values_name_what_is_there() {
    let step = Step::value(json!({"name": "Ann", "id": 7}));
    let nothing = |path: &str| format!("missing-value [{path}] finds nothing");
    check(
        "{ at: result.structuredContent.nme, equals: 1, type: string }",
        &step,
        &nothing("result.structuredContent.nme"),
    );
    check_message(
        "{ at: result.structuredContent.nme, equals: 1 }",
        &step,
        "`result.structuredContent` has no field `nme`; its fields are `name`, `id`; did you mean `name`?",
    );
    check_message(
        "{ at: result.structuredContent, equals: 1 }",
        &Step::error(-32602, "unknown tool"),
        "the answer has no `result`, it is the JSON-RPC error -32602 \"unknown tool\"",
    );
    check_message(
        "{ at: '$.result[?@.x].y', equals: 1 }",
        &step,
        "`$.result[?@.x].y` matches nothing; the fields of `result` are `content`, `structuredContent`",
    );
}

#[test]
fn texts() {
    let step = Step::result(json!({"content": [
        {"type": "text", "text": "one"},
        {"type": "image", "data": "x", "text": "no"},
        {"type": "text", "text": "two"},
    ]}));
    check("text: { equals: \"one\\ntwo\", length: 7 }", &step, "");
    check("text: { contains: no }", &step, "contains [no] not found in 7 characters");
    check(
        "text: { matches: ^x, contains: y }",
        &step,
        "matches [^x] found \"one\\ntwo\"\ncontains [y] not found in 7 characters",
    );
    check("text: { not: { contains: one } }", &step, "not [not] found \"one\\ntwo\"");
    check_message("text: { contains: no }", &step, "the text does not contain \"no\"");
    let resource = Step::result(json!({"contents": [{"uri": "a://b", "text": "body"}]}));
    check("text: { equals: body }", &resource, "");
    let prompt = Step::result(json!({"messages": [
        {"role": "user", "content": {"type": "text", "text": "hi"}},
        {"role": "user", "content": [{"type": "text", "text": "you"}]},
    ]}));
    check("text: { equals: \"hi\\nyou\" }", &prompt, "");
    check("text: { exists: false }", &Step::value(json!(1)), "");
    check_message("text: { contains: x }", &Step::value(json!(1)), "the answer has no text");
    check(
        "text: { contains: x }",
        &Step::error(-32602, "bad"),
        "missing-value [text] got JSON-RPC error -32602, message \"bad\"",
    );
}

#[test]
fn long_values_show_a_difference() {
    let users = |name: &str| json!({"users": [{"name": "Ann", "mail": "ann@example.com"}, {"name": name, "mail": "bob@example.com"}]});
    let yaml = format!("{{ at: result.structuredContent, equals: {} }}", users("Bob"));
    let mismatch = super::evaluate(&yaml, &Step::value(users("Bo"))).1.remove(0);
    assert_eq!(mismatch.label, "`users[1].name` is \"Bo\", not \"Bob\"");
    assert_eq!(
        mismatch.diff.unwrap(),
        "     },\n     {\n-      \"name\": \"Bob\",\n+      \"name\": \"Bo\",\n       \"mail\": \"bob@example.com\"\n     }"
    );
    let long = "x".repeat(1000);
    let mismatch = super::evaluate(
        &format!("{{ at: result.structuredContent, equals: {long} }}"),
        &Step::value(json!("x".repeat(999) + "y")),
    )
    .1
    .remove(0);
    assert_eq!(mismatch.label, "found 1000 characters that differ from character 1000 on");
    assert!(mismatch.actual.unwrap().contains("… (1002 characters) …"));
}

/// A check that gives up neither holds nor fails, in any nesting.
#[test]
fn what_cannot_be_judged_is_neither_right_nor_wrong() {
    let long = json!({"a": "a".repeat(100_000)});
    let step = Step::value(long.clone());
    let schema = "schema: { properties: { a: { pattern: '(?=.*c)a' } } }";
    let at = "at: result.structuredContent";
    let check = |yaml: &str, expected: &[MismatchWeight]| {
        let found: Vec<MismatchWeight> = super::evaluate(yaml, &step).1.iter().map(|it| it.weight).collect();
        assert_eq!(found, expected, "{yaml}");
    };
    let unjudged = [MismatchWeight::Unjudged];
    check(&format!("{{ {at}, {schema} }}"), &unjudged);
    check(&format!("{{ {at}, not: {{ {schema} }} }}"), &unjudged);
    check(&format!("not: {{ {at}, {schema} }}"), &unjudged);
    check(&format!("not: {{ not: {{ {at}, {schema} }} }}"), &unjudged);
    check(&format!("{{ {at}, any: [{{ type: string }}, {{ {schema} }}] }}"), &unjudged);
    check(&format!("{{ {at}, any: [{{ {schema} }}, {{ type: object }}] }}"), &[]);
    check(&format!("any: [{{ is_error: true }}, {{ {at}, {schema} }}]"), &unjudged);
    check(&format!("any: [{{ {at}, {schema} }}, {{ is_error: false }}]"), &[]);
    check(
        &format!("all: [{{ {at}, {schema} }}, {{ is_error: true }}]"),
        &[MismatchWeight::Unjudged, MismatchWeight::Fails],
    );
    check(&format!("not: {{ all: [{{ {at}, {schema} }}, {{ is_error: true }}] }}"), &[]);

    let step = Step::value(json!([long]));
    let check = |yaml: &str, expected: &[MismatchWeight]| {
        let found: Vec<MismatchWeight> = super::evaluate(yaml, &step).1.iter().map(|it| it.weight).collect();
        assert_eq!(found, expected, "{yaml}");
    };
    check(&format!("{{ {at}, each: {{ {schema} }} }}"), &unjudged);
    check(&format!("{{ {at}, some: {{ {schema} }} }}"), &unjudged);
    check(
        &format!("{{ {at}, each: {{ {schema}, type: string }} }}"),
        &[MismatchWeight::Fails, MismatchWeight::Unjudged],
    );
}

#[test]
fn a_pattern_that_gives_up_says_nothing() {
    let step = Step::value(json!("a".repeat(40) + "c"));
    for schema in
        [r#"{ pattern: "^(((?!x)a|a(?!y))+b|a{40}c)$" }"#, r#"{ not: { pattern: "^(((?!x)a|a(?!y))+b|a{40}c)$" } }"#]
    {
        let yaml = format!("{{ at: result.structuredContent, schema: {schema} }}");
        let found = super::evaluate(&yaml, &step).1;
        assert_eq!(found.iter().map(|it| it.weight).collect::<Vec<_>>(), [MismatchWeight::Unjudged], "{yaml}");
    }
}

#[test]
fn a_schema_that_leads_elsewhere_may_be_right() {
    let elsewhere = json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}});
    let step = Step::value(elsewhere.clone());
    let found = super::evaluate("{ at: result.structuredContent, format: json-schema }", &step).1;
    assert_eq!(found.iter().map(|it| it.weight).collect::<Vec<_>>(), [MismatchWeight::Unjudged]);
    let mut step = Step::value(json!({"a": 1}));
    step.catalog.tools[0] = Tool::new(json!({"name": "get_user", "inputSchema": {}, "outputSchema": elsewhere}));
    let found = super::evaluate("output_schema: true", &step).1;
    assert_eq!(found.iter().map(|it| it.weight).collect::<Vec<_>>(), [MismatchWeight::Unjudged], "{found:?}");
}
