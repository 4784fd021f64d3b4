//! The examples are the tests; what real servers do right is not found fault with.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

/// The limits of the examples about cost.
const LIMITS: LintLimits = LintLimits { max_tokens: 3_500 };

fn found(tools: &[Tool], provider: Option<Provider>) -> BTreeSet<&'static str> {
    let asked = |lint: &&Lint| lint.provider.is_none() || provider.is_some_and(|own| own.is_subject_of(lint));
    lints().filter(asked).filter(|lint| !lint.judge(tools, LIMITS).is_empty()).map(|lint| lint.id).collect()
}

#[test]
fn every_lint_finds_its_bad_example_and_no_other_lint_does() {
    let mut wrong = Vec::new();
    for lint in lints() {
        let also: BTreeSet<&str> = lint.also().iter().copied().collect();
        let bad = found(&lint.bad(), lint.provider);
        let wanted: BTreeSet<&str> = also.iter().copied().chain([lint.id]).collect();
        if bad != wanted {
            wrong.push(format!("{}: the bad example shows {bad:?}", lint.id));
        }
        let good: BTreeSet<&str> = found(&lint.good(), lint.provider).difference(&also).copied().collect();
        if !good.is_empty() {
            wrong.push(format!("{}: the good example shows {good:?}", lint.id));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ids_are_unique_and_texts_are_sentences() {
    let mut seen = BTreeSet::new();
    for lint in lints() {
        assert!(seen.insert(lint.id), "{} is there twice", lint.id);
        for text in [lint.says, lint.why, lint.cure] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text}", lint.id);
        }
        assert!(lint.link.starts_with("https://"), "{}", lint.id);
        assert!(lint.level != LintLevel::Error || lint.variant.is_some(), "{}", lint.id);
        assert!(lint.provider.is_none_or(|provider| lint.id.starts_with(provider.as_str())), "{}", lint.id);
    }
}

/// Checks what is found in an otherwise right tool; providers are left out.
fn check(change: &Value, expected: &[&str]) {
    let mut raw = example::example_base();
    for (member, value) in change.as_object().cloned().unwrap_or_default() {
        raw[member] = value;
    }
    let expected: BTreeSet<&str> = expected.iter().copied().collect();
    assert_eq!(found(&[Tool::new(raw)], None), expected, "{change}");
}

fn parameters(properties: &Value) -> Value {
    json!({"inputSchema": {"type": "object", "properties": properties, "additionalProperties": false}})
}

#[test]
fn what_is_right_is_let_be() {
    for properties in [
        json!({"word": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "description": "What to look for"}}),
        json!({"word": {"type": "string", "default": null, "description": "What to look for"}}),
        json!({"order": {"enum": ["new", "old"]}}),
        json!({"word": {"$ref": "#/$defs/Nowhere-in-here", "description": "What to look for"}}),
    ] {
        let own = if properties.to_string().contains("Nowhere") { &["dangling-ref"][..] } else { &[] };
        check(&parameters(&properties), own);
    }
    // The description of the tool names its parameters.
    let named = json!({"description": "Adds `left` to `right`.", "inputSchema": {"type": "object", "additionalProperties": false,
        "properties": {"left": {"type": "number"}, "right": {"type": "number"}}}});
    check(&named, &[]);
    // Properties that the branches of a choice require are declared beside them.
    let choice = json!({"inputSchema": {"type": "object", "additionalProperties": false, "properties": {
        "word": {"type": "string", "description": "What to look for"}, "id": {"type": "string", "description": "Which"}},
        "anyOf": [{"required": ["word"]}, {"required": ["id"]}]}});
    check(&choice, &[]);
    // Other scripts have no spaces.
    check(&json!({"description": "特定の単語を含むメモを検索します。"}), &[]);
    // An emoji is joined by what cannot be seen.
    check(&json!({"description": "Finds notes whose text holds a word. 👩\u{200d}🚀"}), &[]);
    // Words in backticks may be anything.
    check(&json!({"description": "Finds notes whose `text` holds a word, as `grep` does; `worlds` are none."}), &[]);
    // One word is like another, and means something else.
    let pages = json!({"word": {"type": "string", "description": "What to look for"}, "perPage": {"type": "integer", "minimum": 1, "description": "Notes a page"}});
    let mut numbered = parameters(&pages);
    numbered["description"] = "Finds notes page by page, with `prevPage` and `nextPage` in the answer.".into();
    check(&numbered, &[]);
    // Whoever says so may mean any value.
    check(&parameters(&json!({"word": {"description": "Any JSON value"}})), &[]);
    // A tool that is hard to read is not judged by how it would read.
    check(&json!({"inputSchema": {"type": "object", "properties": {"word": {"type": "txt"}}}}), &["invalid-schema"]);
}

#[test]
fn references_and_recursion_are_walked_once() {
    let tree = json!({"inputSchema": {"type": "object", "additionalProperties": false,
        "properties": {"tree": {"$ref": "#/$defs/Tree", "description": "What to plant"}},
        "$defs": {"Tree": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}}}});
    check(&tree, &[]);
}

#[test]
fn no_tool_makes_a_lint_panic() {
    let odd = [
        json!(null),
        json!("tool"),
        json!({"name": 7, "description": [], "inputSchema": "object", "annotations": "none"}),
        json!({"name": "a", "inputSchema": {"type": 7, "properties": [], "required": {}, "enum": 1}}),
        json!({"name": "b", "inputSchema": {"type": "object", "properties": {"": true, "a\u{0}": false}, "items": true}}),
        json!({"name": "", "inputSchema": {"$ref": "#"}, "outputSchema": []}),
    ];
    let tools: Vec<Tool> = odd.into_iter().map(Tool::new).collect();
    for lint in lints() {
        lint.judge(&tools, LIMITS);
    }
    for provider in Provider::ALL {
        provider.refusals(&tools);
    }
}
