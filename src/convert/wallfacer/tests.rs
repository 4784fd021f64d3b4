use serde_json::{Value, json};

use crate::convert::{ConvertOptions, ConvertedSuite, convert};
use crate::source::{SourceFile, Sources, yaml_writer};

fn converted(texts: &[&str]) -> ConvertedSuite {
    let mut sources = Sources::default();
    let files: Vec<_> = texts.iter().map(|text| sources.add(SourceFile::new("invariants.yaml", *text))).collect();
    let options = ConvertOptions { name: "all".to_owned(), ..ConvertOptions::default() };
    convert(&files, &options, &mut sources).unwrap_or_else(|found| panic!("{}", found[0].message))
}

/// The suite of a file, and why parts of it are left out.
fn suite(text: &str) -> (Value, Vec<String>) {
    let suite = converted(&[text]);
    let left_out = suite.left_out.into_iter().map(|why| why.message).collect();
    (yaml_writer::read_value(&suite.text).unwrap_or_else(|| panic!("{}", suite.text)), left_out)
}

/// The property that one invariant becomes, and why parts of it are left out.
fn invariant(text: &str) -> (Value, Vec<String>) {
    let text = format!("version: 2\ninvariants:\n  - {{ name: it holds, tool: search, {text} }}\n");
    let (suite, left_out) = suite(&text);
    (suite.pointer("/properties/0").cloned().unwrap_or_default(), left_out)
}

#[test]
fn assertions_become_expectations() {
    for (assertion, expected) in [
        (
            "equals, lhs: $.response.structuredContent.n, rhs: 1",
            json!({"at": "result.structuredContent.n", "equals": 1}),
        ),
        ("equals, lhs: { value: 1 }, rhs: { path: $.response.n }", json!({"at": "result.n", "equals": 1})),
        ("equals, lhs: $.response.text, rhs: $.input.q", json!({"at": "result.text", "equals": "milk"})),
        ("equals, lhs: $.response.isError, rhs: false", json!({"is_error": false})),
        ("not_equals, lhs: $.response.isError, rhs: false", json!({"any": [{"is_error": true}, {"error": true}]})),
        ("not_equals, lhs: $.response.n, rhs: 1", json!({"at": "result.n", "not": {"equals": 1}})),
        ("equals, lhs: $.response.a, rhs: '$.response.b[0]'", json!({"assert": "result.a == result.b[0]"})),
        ("at_most, path: $.response.n, value: $.response.limit", json!({"assert": "result.n <= result.limit"})),
        ("at_least, path: $.response.n, value: { value: 3 }", json!({"at": "result.n", "at_least": 3})),
        ("length_eq, path: $.response.items, value: 2", json!({"at": "result.items", "length": 2})),
        ("length_at_most, path: $.response.items, value: 2", json!({"at": "result.items", "length": {"max": 2}})),
        ("length_at_least, path: $.response.items, value: 0", json!({"at": "result.items", "exists": true})),
        ("is_type, path: $.response.n, type: integer", json!({"at": "result.n", "type": "integer"})),
        (
            "matches_regex, path: '$.response.content[0].text', pattern: ^a",
            json!({"at": "result.content[0].text", "matches": "^a"}),
        ),
        (
            "matches_schema, path: $.response, schema: { type: object }",
            json!({"any": [{"at": "result", "schema": {"type": "object"}}, {"error": true}]}),
        ),
        (
            "matches_schema, path: $.response, schema: { required: [structuredContent] }",
            json!({"at": "result", "schema": {"required": ["structuredContent"]}}),
        ),
        (
            "matches_regex, path: $.tool.description, pattern: ^a",
            json!({"assert": "tool.description is defined and tool.description is matching(\"^a\")"}),
        ),
        (
            "not, assertion: { kind: any_of, assert: [{ kind: equals, lhs: $.response.n, rhs: 1 }] }",
            json!({"not": {"any": [{"at": "result.n", "equals": 1}]}}),
        ),
        (
            "for_each, path: '$.response.items[*]', assert: [{ kind: is_type, path: $.item.id, type: integer }]",
            json!({"at": "result.items", "schema": {"type": "array", "items": {
                "type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}}}),
        ),
        (
            "for_each, path: '$.response.a[*].b', assert: [{ kind: not_equals, lhs: $.item, rhs: 0 }, \
             { kind: length_at_most, path: $.item, value: 3 }]",
            json!({"at": "result.a", "schema": {"type": "array", "items": {
                "type": "object", "required": ["b"], "properties": {"b": {"allOf": [
                    {"not": {"const": 0}},
                    {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "array", "maxItems": 3}]}]}}}}}),
        ),
    ] {
        let (property, left_out) = invariant(&format!("fixed: {{ q: milk }}, assert: [{{ kind: {assertion} }}]"));
        assert_eq!(property["expect"], json!([expected]), "{assertion}: {left_out:?}");
        assert_eq!((&property["call"], &property["args"]), (&json!("search"), &json!({"q": "milk"})));
    }
}

#[test]
fn what_has_no_counterpart_is_left_out_or_skipped() {
    for (assertion, why) in [
        ("equals, lhs: { value: 1 }, rhs: { value: 1 }", "it looks at nothing of the answer"),
        ("equals, lhs: '$.response.items[*].id', rhs: 1", "stands for several values"),
        ("equals, lhs: $..id, rhs: 1", "is more than names, indexes"),
        ("equals, lhs: $.response.n, rhs: $.input.gone", "the arguments have no value at this path"),
        ("sounds_like, path: $.response.n", "there is no assertion of the kind `sounds_like`"),
        ("length_eq, path: $.response.a, value: $.response.n", "a length is compared with a value of the same answer"),
        (
            "matches_regex, path: $.response.n, pattern: '^(?!a)'",
            "is no regular expression that mcprove knows: look-around",
        ),
        ("is_type, type: integer", "the assertion has no `path`"),
        (
            "for_each, path: '$.response.a[*]', assert: [{ kind: equals, lhs: $.item, rhs: $.response.n }]",
            "an element is compared with another part of the answer",
        ),
    ] {
        let both = format!("[{{ kind: {assertion} }}, {{ kind: is_type, path: $.response.n, type: integer }}]");
        let text = format!("version: 2\ninvariants: [{{ name: it holds, tool: t, fixed: {{}}, assert: {both} }}]");
        let (with_other, left_out) = suite(&text);
        assert!(left_out.len() == 1 && left_out[0].contains(why), "{assertion}: {left_out:?}");
        assert_eq!(with_other["properties"][0]["expect"], json!([{"at": "result.n", "type": "integer"}]));
        let text = text.replace(", { kind: is_type, path: $.response.n, type: integer }", "");
        let (alone, _) = suite(&text);
        let skip = alone["tests"][0]["skip"].as_str().unwrap();
        assert!(skip.starts_with("not converted: ") && skip.contains(why), "{skip}");
    }
}

#[test]
fn arguments_are_fixed_or_generated() {
    let generated = "generate: { q: { type: string, min_length: 1, max_length: 9 }, n: { type: integer, min: 0, max: 5 }, \
                     l: { type: array, items: { type: boolean }, max_items: 2 } }, cases: 7";
    let (property, _) =
        invariant(&format!("{generated}, assert: [{{ kind: equals, lhs: $.response.n, rhs: $.input.n }}]"));
    assert_eq!(
        property,
        json!({
            "name": "it holds", "call": "search", "args": "{{ input }}",
            "generate": {"input": {
                "type": "object",
                "properties": {
                    "q": {"type": "string", "minLength": 1, "maxLength": 9},
                    "n": {"type": "integer", "minimum": 0, "maximum": 5},
                    "l": {"type": "array", "maxItems": 2, "items": {"type": "boolean"}},
                },
                "required": ["q", "n", "l"], "additionalProperties": false,
            }},
            "cases": 7, "expect": [{"at": "result.n", "equals": "{{ input.n }}"}],
        })
    );
    let (property, _) = invariant("fixed: { q: '{{ 7 * 7 }}' }, assert: []");
    assert_eq!(property["args"], json!({"q": "{{ '{{' }} 7 * 7 }}"}));
    let (property, left_out) = invariant("generate: { q: { type: string, pattern: a } }, assert: []");
    assert_eq!(
        (property, left_out[0].as_str()),
        (Value::Null, "`pattern` is left out: a generated string of mcp-wallfacer has no such key")
    );
}

#[test]
fn loops_over_tools_keep_their_conditions() {
    let of = |condition: &str| {
        let text = format!(
            "version: 3\ninvariants: []\nfor_each_tool:\n  - name: 'ok.{{{{tool_name}}}}'\n    where: {{ {condition} }}\n    \
             apply: {{ input: schema_valid, assert: [{{ kind: equals, lhs: $.response.isError, rhs: false }}] }}"
        );
        let (suite, left_out) = suite(&text);
        (suite["properties"][0].clone(), left_out.into_iter().next())
    };
    for (condition, expected) in [
        (
            "annotations: { readOnlyHint: true, openWorldHint: false }",
            "tool.annotations is defined and tool.annotations.readOnlyHint is defined and tool.annotations.readOnlyHint and \
             tool.annotations is defined and tool.annotations.openWorldHint is defined and not tool.annotations.openWorldHint",
        ),
        ("name_matches: ^read_", "tool.name is startingwith(\"read_\")"),
        ("name_matches: '^(get|list)_.*$'", r#"tool.name is matching("^(get|list)_.*$")"#),
        ("name_matches: '^get_\\w+s$'", r#"tool.name is matching("^get_\\w+s$")"#),
        ("name_matches: '^(?!get)'", ""),
        ("name_matches: '^(get|list)$'", "(tool.name == \"get\" or tool.name == \"list\")"),
        ("name_matches: 'user$'", "tool.name is endingwith(\"user\")"),
        ("description_matches: file", "tool.description is defined and \"file\" in tool.description"),
    ] {
        let (property, left_out) = of(condition);
        if expected.is_empty() {
            assert!(
                property.is_null()
                    && left_out.unwrap().contains("is no regular expression that mcprove knows: look-around"),
                "{condition}"
            );
            continue;
        }
        assert_eq!(property["where"], json!(expected), "{condition}");
        assert_eq!(property["name"], json!("ok.{{ tool.name }}"));
        assert_eq!(
            (&property["args"], &property["generate"]),
            (&json!("{{ input }}"), &json!({"input": {"tool": "{{ tool.name }}"}}))
        );
    }
}

#[test]
fn sequences_pass_answers_on() {
    let text = "
version: 3
metadata: { name: cards, extends: [stateful, security, injection-sql, mcp-spec-conformance], parameters: { create_tool: { default: put } } }
invariants: []
sequences:
  - name: gone
    steps:
      - { call: '{{create_tool}}', with: { label: milk }, bind: made }
      - { call: drop, with: { id: '{{steps.made.response.structuredContent.id}}', why: 'as {{steps.made.input.label}}' } }
      - { call: show, with: { id: '{{ steps.made.response.structuredContent.id }}' }, expect: error }
  - name: whole
    steps: [{ call: put, bind: made }, { call: show, with: { all: '{{steps.made}}' } }]
  - name: unbound
    steps: [{ call: show, with: { id: '{{steps.other.response.id}}' } }]
";
    let (suite, left_out) = suite(text);
    let id = json!("{{ made.structuredContent.id }}");
    assert_eq!(
        suite["properties"],
        json!([{"name": "gone", "steps": [
            {"call": "put", "args": {"label": "milk"}, "expect": [{"is_error": false}], "capture": {"made": "result"}},
            {"call": "drop", "args": {"id": id, "why": "as milk"}, "expect": [{"is_error": false}]},
            {"call": "show", "args": {"id": id}, "expect": [{"any": [{"is_error": true}, {"error": true}]}]},
        ]}])
    );
    let packs = ["crud", "auth", "path-traversal", "injection", "prompt-injection", "secrets-leakage"];
    let packs = packs.map(|pack| format!("builtin:packs/{pack}"));
    let included = packs.into_iter().chain(["builtin:compliance".to_owned(), "builtin:packs/idempotency".to_owned()]);
    assert_eq!(suite["include"], included.collect::<Value>());
    assert_eq!(
        left_out,
        [
            "`extends` is left out: mcprove has no pack for the purpose of `authorization`",
            "`with` is left out: `steps.made` is a whole step, with arguments and answer",
            "`with` is left out: no earlier step is bound to `other`",
        ]
    );
    assert_eq!(suite["tests"].as_array().map(Vec::len), Some(2));
}

#[test]
fn files_become_one_suite_with_their_comments() {
    let first = "# Users\nversion: 3\nmetadata:\n  name: users\n  description: |\n    What holds\n    of users.\n  tags: [a, b]\n\
                 invariants:\n  # Nobody is called null.\n  - name: names\n    tool: '{{ tool }}'\n    fixed: {}\n    assert:\n      \
                 # not even once\n      - { kind: is_type, path: $.response.name, type: string }\n    test_fixtures: [{ name: n }]\n";
    let first = first.replacen("  tags", "  parameters: { tool: { default: whoami } }\n  tags", 1);
    let second = "version: 1\ninvariants:\n  - { name: names, tool: t, fixed: {}, assert: [{ kind: odd }] }\n";
    insta::assert_snapshot!(converted(&[&first, second]).text);
}
