//! Mistakes in the YAML, found when it is loaded.

use super::build;

/// Asserts every mistake: one line `code [marked text]` for each.
#[track_caller]
fn check(yaml: &str, expected: &str) {
    let (sources, expectation, found) = build(yaml);
    let marked = |diagnostic: &crate::source::Diagnostic| {
        diagnostic.label.as_ref().map(|label| sources.text(label.span).to_owned()).unwrap_or_default()
    };
    let lines: Vec<String> = found.iter().map(|it| format!("{} [{}]", it.code, marked(it))).collect();
    assert_eq!(lines.join("\n"), expected, "\n{yaml}\n{found:#?}");
    assert!(expectation.is_some() || !found.is_empty(), "{yaml}");
}

/// Asserts the sentence and the help of the only mistake.
#[track_caller]
fn check_words(yaml: &str, message: &str, help: &str) {
    let found = build(yaml).2;
    assert_eq!(found.len(), 1, "{yaml}: {found:#?}");
    assert_eq!((found[0].message.as_str(), found[0].help.as_deref().unwrap_or_default()), (message, help));
}

#[test]
fn nothing_is_expected() {
    check("{}", "missing-key [{}]");
    check("at: result", "useless-key [at]");
    check("{ at: result, is_error: true }", "useless-key [at]");
    check("text: {}", "missing-key [{}]");
    check("{ at: result, each: {} }", "missing-key [{}]");
    check("{ at: result, contains: '' }", "empty-list ['']");
    check("{ at: result, matches: '' }", "empty-list ['']");
    check("{ at: result, any: [] }", "empty-list [[]]");
    check("{ at: result, all: [{}] }", "missing-key [{}]");
    check("{ at: result, one_of: [] }", "empty-list [[]]");
    check("{ at: result, length: {} }", "missing-key [{}]");
    check("{ at: result, length: { min: 0 } }", "bad-number [0]");
    check("not: {}", "missing-key [{}]");
    check("all: []", "empty-list [[]]");
    check("error: {}", "missing-key [{}]");
    check("error: false", "wrong-type [false]");
    check("refused: false", "wrong-type [false]");
    check("refused_or_ignored: false", "wrong-type [false]");
    check("output_schema: false", "wrong-type [false]");
    check("readable_error: false", "wrong-type [false]");
    check("tools: {}", "missing-key [{}]");
    check("latency: {}", "missing-key [{}]");
    check("notifications: { some: { at: params } }", "missing-key [{ at: params }]");
    check("notifications: { at: params, each: { exists: true } }", "useless-key [at]");
}

#[test]
fn a_value_matcher_needs_a_value() {
    check("equals: 1", "useless-key [equals]");
    check("{ is_error: false, each: { type: string } }", "useless-key [each]");
    check("not: { contains: x }", "useless-key [contains]");
    check("{ at: result, not: { is_error: true } }", "unknown-key [is_error]");
    check("{ at: result, equals: 1, not: { any: [{ equals: 1, text: { equals: 1 } }] } }", "unknown-key [text]");
    check_words(
        "equals: 1",
        "`equals` does nothing without `at`",
        "add `at:` with a path such as `result.structuredContent`, or put the matcher under `text:`",
    );
}

#[test]
fn bad_patterns_paths_schemas_and_expressions() {
    check("{ at: result, matches: '[' }", "bad-regex ['[']");
    check("text: { any: [{ matches: '(' }, { matches: ')' }] }", "bad-regex ['(']\nbad-regex [')']");
    check("{ at: 'result..x', equals: 1 }", "bad-path ['result..x']");
    check("{ at: '$.result[', equals: 1 }", "bad-path ['$.result[']");
    check("{ at: '', equals: 1 }", "bad-path ['']");
    check("notifications: { at: 'a[', equals: 1 }", "bad-path ['a[']");
    check("{ at: result, schema: { type: strng } }", "bad-schema [strng]");
    check("{ at: result, schema: { properties: { a: { minimum: x } } } }", "bad-schema [x]");
    check(
        "{ at: result, schema: { $ref: 'https://example.com/s.json' } }",
        "bad-schema [{ $ref: 'https://example.com/s.json' }]",
    );
    check("{ at: result, schema: { pattern: '[' } }", "bad-schema ['[']");
    check("assert: 'result ==='", "bad-expression ['result ===']");
    check("not: { assert: 'a b' }", "bad-expression ['a b']");
    check("{ at: result, length: { min: 3, max: 1 } }", "empty-range [length]");
    check_words(
        "{ at: result, matches: 'a(' }",
        "invalid regular expression: unclosed group",
        "special characters such as `(` and `[` are written `\\(` and `\\[`",
    );
}

#[test]
fn every_mistake_at_once_templates_beside_them() {
    check(
        "{ at: 'result.{{ x }}', matches: '[', schema: { type: x }, equals: '{{ y }}', is_error: false }",
        "bad-regex ['[']\nbad-schema [x]",
    );
    check("{ at: 'result.{{ x }}', matches: '{{ y }}[', schema: { type: '{{ z }}' }, length: { min: '{{ n }}' } }", "");
    check("{ latency: { under: '{{ t }}' }, assert: '{{ a }} == 1', readable_error: { names: '{{ b }}' } }", "");
}

#[test]
fn wrong_shapes() {
    check("{ at: result, equls: 1 }", "unknown-key [equls]");
    check("is_error: maybe", "wrong-type [maybe]");
    check("{ at: result, type: text }", "unknown-choice [text]");
    check("{ at: result, at_least: x }", "wrong-type [x]");
    check("latency: { under: 5 }", "bad-duration [5]");
    check("error: { code: x }", "wrong-type [x]");
    check("input_schema: { tool: a }", "missing-key [{ tool: a }]");
    check("tools: { includes: [1] }", "wrong-type [1]");
}
