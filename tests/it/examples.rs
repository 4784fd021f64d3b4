//! The suites under `examples/`, all together: their schemas, their coverage, the published table.

use std::fs;

use crate::harness::{Scene, files, root};

#[test]
fn editors_find_the_schema() {
    for path in files("examples", "yml") {
        let text = fs::read_to_string(&path).unwrap();
        let schema = text.lines().next().and_then(|line| line.strip_prefix("# yaml-language-server: $schema="));
        let Some(schema) = schema else { panic!("{} does not begin with its schema", path.display()) };
        assert!(path.parent().unwrap().join(schema).exists(), "{}: there is no {schema}", path.display());
    }
}

#[test]
fn every_family_has_an_example_that_covers_it() {
    let scene = Scene::new("examples/families");
    for family in &mcprove::taxonomy::Registry::builtin().families {
        for leaf in &family.leaves {
            let example = root().join(leaf.example.as_ref().unwrap());
            let seen = scene.run(&format!("fault-coverage {} --format json", example.display()));
            let score: serde_json::Value = serde_json::from_str(&seen.stdout).unwrap();
            let scored = score["families"].as_array().unwrap().iter().find(|one| one["id"] == family.id.as_str());
            assert_eq!(scored.unwrap()["status"], "covered", "{}", example.display());
        }
    }
}

#[test]
fn the_published_table() {
    let scene = Scene::new("examples/published");
    let example = root().join("examples/negative-path.yml");
    let seen = scene.run(&format!("fault-coverage {} --probe fuzz", example.display()));
    let table = "\
family    status     leaves
PROTO     partial    2/3
TOOL      covered    2/2
SCHEMA    partial    2/4
STATE     uncovered  0/2
PROVIDER  n/a        0/2
SECURITY  uncovered  0/2
TIMEOUT   uncovered  0/2
CONFIG    uncovered  0/1

38% of applicable faults exercised; 1 of 7 families fully covered
";
    assert!(seen.stdout.starts_with(table), "{}", seen.text());
}
