//! Values made from schemas: the shapes in `tests/generate/`, and schemas that nobody wrote.
//!
//! What is asserted is said by the `jsonschema` crate alone: valid values validate, and a violation's errors blame the
//! keyword and the place that it claims, and nothing else.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use mcprove::generate::{Draw, Maker, Seen, Unusable, Violation, satisfies, shrink, valid};
use serde_json::{Map, Value, json};

use crate::harness::files;

/// How many random values are made of a shape.
const VALUES: u64 = 200;

/// How many schemas are made up.
const SCHEMAS: u64 = 400;

#[test]
fn every_shape_is_made() {
    let mut shapes = 0;
    for (name, shape) in shapes_on_disk() {
        let made = Maker::new(&shape["schema"]);
        match (shape["unusable"].as_str(), made) {
            (None, Ok(maker)) => check(&name, &shape["schema"], &maker, VALUES),
            (None, Err(why)) => panic!("{name}: {why}"),
            (Some(_), Ok(maker)) => panic!("{name}: {} was made of what cannot be", maker.smallest()),
            (Some(kind), Err(why)) => assert_eq!(kind, kind_of(&why), "{name}: {why}"),
        }
        shapes += usize::from(shape.get("unusable").is_none());
    }
    assert!(shapes >= 35, "only {shapes} shapes");
}

#[test]
fn schemas_that_nobody_wrote_are_made_or_refused() {
    let mut made = 0;
    for seed in 0..SCHEMAS {
        let schema = made_up(&mut Draw::new(seed), 3);
        if let Ok(maker) = Maker::new(&schema) {
            made += 1;
            check(&format!("seed {seed}: {schema}"), &schema, &maker, 25);
        }
    }
    assert!(made > SCHEMAS / 2, "only {made} of {SCHEMAS} could be made");
}

#[test]
fn random_values_take_every_branch() {
    let mut missed = Vec::new();
    for (name, shape) in shapes_on_disk().into_iter().filter(|(_, shape)| shape.get("unusable").is_none()) {
        let maker = Maker::new(&shape["schema"]).unwrap();
        let mut seen = Seen::default();
        let mut draw = Draw::new(5);
        for _ in 0..1_500 {
            maker.mark(&maker.random(&mut draw), &mut seen);
        }
        // Alternatives that nothing can take are branches as well.
        let beyond_reach = usize::try_from(shape["beyond reach"].as_u64().unwrap_or(0)).unwrap();
        if seen.count() + beyond_reach != maker.branches() {
            missed.push(format!("{name}: {} of {}", seen.count(), maker.branches()));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn what_the_old_interface_says() {
    let schema =
        json!({"type": "object", "properties": {"t": {"type": "string", "minLength": 300}}, "required": ["t"]});
    assert!(satisfies(&schema, &valid(&schema).unwrap()));
    assert_eq!(valid(&json!({"type": "object", "required": ["self"], "properties": {"self": {"$ref": "#"}}})), None);
    assert!(!satisfies(&json!({"type": "nonsense"}), &json!(1)));
}

#[test]
fn values_shrink_within_their_schema() {
    let schema = json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}, "t": {"type": "string"}}});
    let maker = Maker::new(&schema).unwrap();
    let large = json!({"l": [5, 600, 7], "t": "a long text"});
    let keeps = |value: &Value| {
        maker.is_valid(value)
            && value["l"].as_array().is_some_and(|items| items.iter().any(|item| item.as_i64() > Some(100)))
    };
    assert_eq!(shrink(&large, &mut { keeps }), json!({"l": [101]}));
}

fn check(name: &str, schema: &Value, maker: &Maker, values: u64) {
    let validator = jsonschema::options().build(schema).unwrap();
    let judge = jsonschema::options().should_validate_formats(false).build(schema).unwrap();
    assert!(validator.is_valid(maker.smallest()), "{name}: smallest {}", maker.smallest());
    assert_eq!(Maker::new(schema).unwrap().smallest(), maker.smallest(), "{name}");
    let mut seen = Seen::default();
    for boundary in maker.boundaries() {
        assert!(judge.is_valid(&boundary.value), "{name}: {boundary:?}");
        assert!(boundary.value.pointer(&boundary.at).is_some(), "{name}: {boundary:?}");
    }
    for seed in 0..values {
        let value = maker.random(&mut Draw::new(seed));
        assert!(judge.is_valid(&value), "{name}: {value}");
        assert_eq!(maker.random(&mut Draw::new(seed)), value, "{name}");
        maker.mark(&value, &mut seen);
    }
    assert!(seen.count() <= maker.branches(), "{name}: {} of {}", seen.count(), maker.branches());
    let wide = maker.random(&mut Draw::new(1));
    for violation in maker.violations(maker.smallest()).into_iter().chain(maker.violations(&wide)) {
        check_violation(name, &judge, &violation);
    }
}

fn check_violation(name: &str, validator: &Validator, violation: &Violation) {
    let errors: Vec<ValidationError<'_>> = validator.iter_errors(&violation.value).collect();
    let shown: Vec<String> = errors.iter().map(|error| format!("{}: {error}", error.schema_path())).collect();
    assert!(explains(&errors, violation), "{name}: {violation:?} has the errors {shown:#?}");
    assert!(!violation.says.is_empty() && !violation.says.contains("{}"), "{name}: {violation:?}");
}

/// Whether errors are the claimed one; composition wraps it, and then one alternative has to fail for it alone.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the kinds of another crate, of which new ones blame their own keyword"
)]
fn explains(errors: &[ValidationError<'_>], violation: &Violation) -> bool {
    let claimed = |error: &ValidationError<'_>| {
        if error.instance_path().as_str() != violation.at {
            return false;
        }
        let path = error.schema_path().as_str();
        let keyword = violation.keyword.as_str();
        let last = path.rsplit('/').next().unwrap_or_default();
        match error.kind() {
            ValidationErrorKind::FalseSchema => keyword == "false",
            ValidationErrorKind::PropertyNames { .. } => keyword == "propertyNames",
            // Whatever has the wrong type is in no enumeration either.
            ValidationErrorKind::Enum { .. } | ValidationErrorKind::Constant { .. } => {
                [last, "type"].contains(&keyword)
            }
            _ => {
                last == keyword
                    || path.contains("/dependencies/") && keyword == "dependencies"
                    || path.contains("/dependentRequired/") && keyword == "dependentRequired"
            }
        }
    };
    !errors.is_empty()
        && errors.iter().all(|error| {
            claimed(error)
                || match error.kind() {
                    ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                        context.iter().any(|errors| explains(errors, violation))
                    }
                    _ => false,
                }
        })
}

fn kind_of(why: &Unusable) -> &'static str {
    match why {
        Unusable::NotASchema(_) => "not a schema",
        Unusable::Unsatisfiable(_) => "unsatisfiable",
        Unusable::NotFound(_) => "not found",
    }
}

fn shapes_on_disk() -> Vec<(String, Value)> {
    let read = |path: std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap())
    };
    files("tests/generate", "json").into_iter().map(read).collect()
}

/// A schema of random keywords, which often cannot be satisfied.
fn made_up(draw: &mut Draw, depth: usize) -> Value {
    let mut schema = Map::new();
    let kinds = ["string", "integer", "number", "boolean", "null", "array", "object"];
    let kind = kinds[draw.below(if depth == 0 { 5 } else { 7 })];
    if draw.chance(85) {
        schema.insert("type".into(), if draw.chance(85) { json!(kind) } else { json!([kind, kinds[draw.below(5)]]) });
    }
    let keywords = match kind {
        "string" => texts(draw),
        "integer" | "number" => numbers(draw),
        "array" => arrays(draw, depth),
        "object" => objects(draw, depth),
        _ => Map::new(),
    };
    schema.extend(keywords.into_iter().filter(|_| draw.chance(70)));
    if depth > 0 && draw.chance(25) {
        let keyword = ["anyOf", "oneOf", "allOf"][draw.below(3)];
        schema.insert(keyword.into(), json!([made_up(draw, depth - 1), made_up(draw, depth - 1)]));
    }
    if depth > 0 && draw.chance(8) {
        schema.insert("not".into(), made_up(draw, depth - 1));
    }
    if depth > 0 && draw.chance(8) {
        schema.insert("if".into(), made_up(draw, depth - 1));
        schema.insert("then".into(), made_up(draw, depth - 1));
    }
    if draw.chance(5) {
        schema.insert("enum".into(), json!([1, "a", null, [], {"a": 1}]));
    }
    Value::Object(schema)
}

fn texts(draw: &mut Draw) -> Map<String, Value> {
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

fn numbers(draw: &mut Draw) -> Map<String, Value> {
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

fn arrays(draw: &mut Draw, depth: usize) -> Map<String, Value> {
    let least = draw.below(4);
    let mut keywords = Map::new();
    for (name, value) in [
        ("items", made_up(draw, depth - 1)),
        ("prefixItems", json!([made_up(draw, depth - 1)])),
        ("contains", made_up(draw, depth - 1)),
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

fn objects(draw: &mut Draw, depth: usize) -> Map<String, Value> {
    let names = ["a", "b", "c", "x y"];
    let properties: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), made_up(draw, depth - 1))).collect();
    let required: Vec<&str> = names.into_iter().filter(|_| draw.chance(40)).collect();
    let additional = if draw.chance(50) { json!(false) } else { made_up(draw, depth - 1) };
    let mut keywords = Map::new();
    keywords.insert("properties".into(), Value::Object(properties));
    for (name, value) in [
        ("required", json!(required)),
        ("additionalProperties", additional),
        ("minProperties", json!(draw.below(4))),
        ("maxProperties", json!(2 + draw.below(4))),
        ("propertyNames", json!({"maxLength": 1 + draw.below(8)})),
        ("patternProperties", json!({"^[a-b]": made_up(draw, depth - 1)})),
        ("dependentRequired", json!({"a": ["b"]})),
        ("unevaluatedProperties", json!(false)),
    ] {
        if draw.chance(30) {
            keywords.insert(name.into(), value);
        }
    }
    keywords
}
