//! Expectations that no answer can break, and those beside them that some answer can.

use super::{EXPECTATION, Expectation};
use crate::matching::GuaranteedValue;
use crate::source::grammar::{self, Shape};
use crate::source::{SourceFile, Sources, parse};

const GUARANTEED: [GuaranteedValue; 2] =
    [GuaranteedValue { path: "result", kind: Some("object") }, GuaranteedValue { path: "id", kind: None }];

fn compiled(yaml: &str) -> Expectation {
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new("expect.yml", yaml));
    let node = parse(&sources, id).unwrap();
    let mut found = grammar::check(&node, &Shape::Object(&EXPECTATION));
    let built = Expectation::build(&node, &mut found);
    assert!(found.is_empty(), "{yaml}: {found:?}");
    built.unwrap()
}

#[test]
fn no_answer_can_break_these() {
    for yaml in [
        "{ at: result.x, matches: '.*' }",
        "{ at: result.x, matches: 'a*' }",
        "{ at: result.x, matches: '^' }",
        "{ at: result.x, matches: '(foo)?$' }",
        "{ at: result.x, matches: '^[\\s\\S]*$' }",
        "{ at: result.x, matches: '(?s)^(.*)$' }",
        "{ at: result.x, matches: 'a|b*' }",
        "{ text: { matches: '.*' } }",
        "{ at: result.x, length: { max: 99999999999999 } }",
        "{ at: result.x, at_most: 1e18 }",
        "{ at: result.x, greater_than: -9000000000000000 }",
        "{ at: result.x, any: [{ equals: 1 }, { less_than: 1e300 }] }",
        "{ latency: { under: 24h } }",
        "{ at: result.x, any: [{ equals: 1 }, { not: { equals: 1 } }] }",
        "{ at: result.x, any: [{ not: { equals: 1 } }, { not: { equals: 2 } }] }",
        "{ at: result.x, any: [{ not: { equals: 1 } }, { type: integer }] }",
        "{ at: result.x, any: [{ exists: true }, { equals: 1 }] }",
        "{ at: result.x, any: [{ less_than: 5 }, { at_least: 5 }] }",
        "{ at: result.x, any: [{ type: string }, { type: number }, { type: boolean }, { type: 'null' }, { type: array }, { type: object }] }",
        "{ at: result.x, not: { equals: 1, type: string } }",
        "{ at: result.x, not: { all: [{ contains: a }, { not: { contains: a } }] } }",
        "{ at: result.x, not: { matches: '[^\\s\\S]' } }",
        "{ at: result.x, all: [{ matches: '.*' }, { schema: { title: anything } }] }",
        "{ at: result.x, schema: { description: whatever, type: [string, number, boolean, 'null', array, object] } }",
        "{ at: result.x, schema: { anyOf: [{ type: string }, {}], items: true, minLength: 0 } }",
        "{ at: result.x, any: [{ equals: '{{ x }}' }, { not: { equals: '{{ x }}' } }] }",
        "{ any: [{ is_error: true }, { not: { is_error: true } }] }",
        "{ any: [{ is_error: true }, { is_error: false }, { error: true }] }",
        "{ not: { all: [{ is_error: true }, { not: { is_error: true } }] } }",
        "{ at: result, exists: true }",
        "{ at: $.result, type: object }",
        "{ at: id, exists: true }",
    ] {
        assert!(compiled(yaml).always_holds(&GUARANTEED), "{yaml}");
        assert!(compiled(yaml).judges().is_empty() || yaml.contains("result, ") || yaml.contains(": id"), "{yaml}");
    }
}

#[test]
fn some_answer_breaks_these() {
    for yaml in [
        "{ at: result.x, exists: true }",
        "{ at: result.x, not: { exists: false } }",
        "{ at: result.x, exists: false }",
        "{ at: result.x, type: object }",
        "{ at: result.x, matches: '.+' }",
        "{ at: result.x, matches: '^$' }",
        "{ at: result.x, matches: '^.*$' }",
        "{ at: result.x, matches: '^a*$' }",
        "{ at: result.x, matches: '\\b' }",
        "{ at: result.x, matches: '{{ pattern }}' }",
        "{ at: result.x, length: { min: 1 } }",
        "{ at: result.x, length: { max: 1000 } }",
        "{ at: result.x, each: { matches: '.*' } }",
        "{ at: result.x, any: [{ equals: 1 }, { not: { equals: 2 } }] }",
        "{ at: result.x, any: [{ equals: 1 }, { equals: 2 }] }",
        "{ at: result.x, any: [{ less_than: 5 }, { greater_than: 5 }] }",
        "{ at: result.x, any: [{ type: string }, { type: number }] }",
        "{ at: result.x, not: { equals: 1, type: integer } }",
        "{ at: result.x, not: { all: [{ contains: a }, { not: { contains: b } }] } }",
        "{ at: result.x, schema: { type: string } }",
        "{ at: result.x, schema: { anyOf: [{ type: string }, { type: number }] } }",
        "{ at: result.x, equals: 1, matches: '.*' }",
        "{ is_error: false, text: { matches: '.*' } }",
        "{ any: [{ is_error: true }, { is_error: false }] }",
        "{ at: result, type: array }",
        "{ at: result, exists: false }",
        "{ at: result, equals: {} }",
    ] {
        assert!(!compiled(yaml).always_holds(&GUARANTEED), "{yaml}");
    }
}

#[test]
fn what_always_holds_judges_nothing_beside_what_does_not() {
    let judges = |yaml: &str| compiled(yaml).judges().into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(judges("{ is_error: false, text: { matches: '.*' } }"), "TOOL-SPURIOUS-ERROR");
    assert_eq!(judges("{ at: result.x, exists: true, matches: '.*' }"), "TOOL-RESULT-LOST");
    assert_eq!(judges("{ at: result.x, each: { matches: '.*' } }"), "TOOL-RESULT-LOST");
    assert_eq!(
        judges("{ at: result.x, all: [{ matches: '.*' }, { equals: 1 }] }"),
        "TOOL-RESULT-LOST TOOL-WRONG-RESULT"
    );
    assert_eq!(judges("{ at: result.isError, matches: '.*' }"), "");
}
