//! Values made from schemas: the shapes in `tests/generate/`, and schemas that nobody wrote.
//!
//! What is asserted is said by the `jsonschema` crate alone: valid values validate, and a violation does so as soon as
//! the keyword that it claims is taken out of the schema. What is found of each shape stands in its file; `UPDATE=1`
//! rewrites it.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod claim;
mod made_up;

use std::fs;

use mcprove::generate::{BranchSet, Generator, Rng, valid};
use mcprove::reproduce::shrink;
use mcprove::schema::{UnusableSchema, satisfies};
use serde_json::{Value, json};

use crate::harness::{files, is_update};

/// How many random values are made of a shape.
const VALUES: u64 = 200;

/// How many schemas are made up.
const SCHEMAS: u64 = 400;

#[test]
fn every_shape_is_made() {
    let mut shapes = 0;
    for (name, shape) in shapes_on_disk() {
        let made = Generator::new(&shape["schema"]);
        match (shape["unusable"].as_str(), made) {
            (None, Ok(maker)) => {
                assert!(jsonschema::is_valid(&shape["schema"], maker.smallest()), "{name}: {}", maker.smallest());
                check(&name, &shape["schema"], &maker, VALUES);
                check_found(&name, shape.clone(), &maker);
                shapes += 1;
            }
            (None, Err(why)) => panic!("{name}: {why}"),
            (Some(_), Ok(maker)) => panic!("{name}: {} was made of what cannot be", maker.smallest()),
            (Some(kind), Err(why)) => assert_eq!(kind, kind_of(&why), "{name}: {why}"),
        }
    }
    assert!(shapes >= 35, "only {shapes} shapes");
}

#[test]
fn schemas_that_nobody_wrote_are_made_or_refused() {
    let mut made = 0;
    for seed in 0..SCHEMAS {
        let schema = made_up::document(&mut Rng::new(seed));
        if let Ok(maker) = Generator::new(&schema) {
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
        let maker = Generator::new(&shape["schema"]).unwrap();
        let mut seen = BranchSet::default();
        let mut draw = Rng::new(5);
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
    let maker = Generator::new(&schema).unwrap();
    let large = json!({"l": [5, 600, 7], "t": "a long text"});
    let keeps = |value: &Value| {
        maker.is_valid(value)
            && value["l"].as_array().is_some_and(|items| items.iter().any(|item| item.as_i64() > Some(100)))
    };
    assert_eq!(shrink(&large, &mut { keeps }), json!({"l": [101]}));
}

#[test]
fn sentences_name_the_place_whatever_its_name() {
    let schema = json!({
        "type": "object",
        "properties": {"q{}": {"type": "string", "pattern": "^(\\{})*x$", "maxLength": 9}},
        "required": ["q{}"],
    });
    let maker = Generator::new(&schema).unwrap();
    let said: Vec<String> = maker.violations(&json!({"q{}": "{}x"})).into_iter().map(|one| one.says).collect();
    for sentence in ["`q{}` is missing", "`q{}` does not match `^(\\{})*x$`", "`q{}` is longer than `maxLength` 9"] {
        assert!(said.iter().any(|one| one == sentence), "{sentence}: {said:#?}");
    }
}

#[test]
fn keywords_of_other_drafts_say_nothing() {
    let old = "http://json-schema.org/draft-07/schema#";
    let middle = "https://json-schema.org/draft/2019-09/schema";
    let never = json!({"a": false});
    for (dialect, keyword, means, value) in [
        (old, "prefixItems", json!([false]), json!([1])),
        (middle, "prefixItems", json!([false]), json!([1])),
        (old, "dependentRequired", json!({"a": ["b"]}), json!({"a": 1})),
        (old, "dependentSchemas", never, json!({"a": 1})),
        (old, "unevaluatedProperties", json!(false), json!({"a": 1})),
        (old, "unevaluatedItems", json!(false), json!([1])),
        ("http://json-schema.org/draft-06/schema#", "if", json!(true), json!(1)),
        ("http://json-schema.org/draft-04/schema#", "const", json!(2), json!(1)),
    ] {
        let then = if keyword == "if" { json!(false) } else { json!(true) };
        let schema = json!({"$schema": dialect, "enum": [value], keyword: means, "then": then});
        let maker = Generator::new(&schema).unwrap_or_else(|why| panic!("{schema}: {why}"));
        assert_eq!(maker.smallest(), &value, "{schema}");
    }
}

/// Compares what is broken, and how many edges there are, with what the file of a shape says.
fn check_found(name: &str, mut shape: Value, maker: &Generator) {
    let violations = maker.violations(maker.smallest());
    let breaks = violations.iter().map(|one| format!("{} {} {}", one.breach.as_str(), one.keyword, one.at));
    let breaks: Vec<String> = breaks.map(|line| line.trim_end().to_owned()).collect();
    let edges = maker.boundaries().len();
    let known = shape.clone();
    shape["edges"] = json!(edges);
    shape["breaks"] = json!(breaks);
    if is_update() && known != shape {
        let text = serde_json::to_string_pretty(&shape).unwrap() + "\n";
        fs::write(format!("tests/generate/{name}.json"), text).unwrap();
        return;
    }
    assert_eq!(known["breaks"], shape["breaks"], "{name}: what is broken");
    assert_eq!(known["edges"], shape["edges"], "{name}: how many edges");
}

fn check(name: &str, schema: &Value, maker: &Generator, values: u64) {
    let judge = jsonschema::options().should_validate_formats(false).build(schema).unwrap();
    assert!(judge.is_valid(maker.smallest()), "{name}: smallest {}", maker.smallest());
    assert_eq!(Generator::new(schema).unwrap().smallest(), maker.smallest(), "{name}");
    let mut seen = BranchSet::default();
    for boundary in maker.boundaries() {
        assert!(judge.is_valid(&boundary.value), "{name}: {boundary:?}");
        assert!(boundary.value.pointer(&boundary.at).is_some(), "{name}: {boundary:?}");
    }
    for seed in 0..values {
        let value = maker.random(&mut Rng::new(seed));
        assert!(judge.is_valid(&value), "{name}: {value}");
        assert_eq!(maker.random(&mut Rng::new(seed)), value, "{name}");
        maker.mark(&value, &mut seen);
    }
    assert!(seen.count() <= maker.branches(), "{name}: {} of {}", seen.count(), maker.branches());
    let wide = maker.random(&mut Rng::new(1));
    for violation in maker.violations(maker.smallest()).into_iter().chain(maker.violations(&wide)) {
        claim::check(name, schema, &violation);
    }
}

fn kind_of(why: &UnusableSchema) -> &'static str {
    match why {
        UnusableSchema::NotASchema(_) => "not a schema",
        UnusableSchema::Unsatisfiable(_) => "unsatisfiable",
        UnusableSchema::NotFound(_) => "not found",
        UnusableSchema::Endless(_) => "endless",
    }
}

fn shapes_on_disk() -> Vec<(String, Value)> {
    let read = |path: std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap())
    };
    files("tests/generate", "json").into_iter().map(read).collect()
}
