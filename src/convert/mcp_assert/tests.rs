use serde_json::{Value, json};

use crate::convert::{ConvertOptions, convert};
use crate::source::{SourceFile, Sources, yaml_writer};

/// The suite of some assertions, and the messages about what it lacks.
fn converted(texts: &[&str]) -> (Value, Vec<String>) {
    let mut sources = Sources::default();
    let files: Vec<_> = texts.iter().map(|text| sources.add(SourceFile::new("a.yaml", *text))).collect();
    let options = ConvertOptions { name: "all".to_owned(), ..ConvertOptions::default() };
    let suite = convert(&files, &options, &mut sources).unwrap_or_else(|found| panic!("{}", found[0].message));
    assert_eq!(suite.tool, "mcp-assert");
    let left_out = suite.left_out.into_iter().map(|warning| warning.message).collect();
    (yaml_writer::read_value(&suite.text).unwrap_or_else(|| panic!("{}", suite.text)), left_out)
}

fn expect(block: &str, expect: &str) -> (Value, Vec<String>) {
    let (suite, left_out) = converted(&[&format!("name: n\nserver: {{ command: s }}\n{block}\n  expect: {expect}\n")]);
    (suite["tests"][0]["expect"].clone(), left_out)
}

#[test]
fn expectations_of_a_tool() {
    let any = json!({ "at": "result", "exists": true });
    let at = |path: &str| format!("result.content[0].text.json(){path}");
    for (given, expected) in [
        ("{ not_error: true }", json!([{ "is_error": false }])),
        ("{ is_error: true, not_error: false }", json!([{ "is_error": true }])),
        ("{}", json!([any])),
        ("{ contains: [a, 5] }", json!([{ "text": { "contains": "a" } }, { "text": { "contains": "5" } }])),
        ("{ contains_any: [a, b] }", json!([{ "text": { "any": [{ "contains": "a" }, { "contains": "b" }] } }])),
        (
            "{ not_contains: ['{{fixture}}'] }",
            json!([any, { "text": { "not": { "contains": "{{ '{{' }}fixture}}" } } }]),
        ),
        (
            "{ not_empty: true, not_error: true }",
            json!([{ "text": { "not": { "matches": "^\\s*(null|\\[\\]|\\{\\})?\\s*$" } } }, { "is_error": false }]),
        ),
        (
            "{ not_empty: true, contains: [ul, here] }",
            json!([
                { "text": { "contains": "ul" } }, { "text": { "contains": "here" } },
            ]),
        ),
        (
            "{ not_empty: true, contains: [ul] }",
            json!([
                { "text": { "not": { "matches": "^\\s*(null|\\[\\]|\\{\\})?\\s*$" } } }, { "text": { "contains": "ul" } },
            ]),
        ),
        ("{ equals: ' a.b ' }", json!([{ "text": { "matches": "^\\s*a\\.b\\s*$" } }])),
        ("{ in_order: [a, 'b.'] }", json!([{ "text": { "matches": "(?s)a.*?b\\." } }])),
        ("{ matches_regex: ['^a'] }", json!([{ "text": { "matches": "^a" } }])),
        ("{ json_path: { '$.a.b[0]': 1 } }", json!([{ "at": at(".a.b[0]"), "equals": 1 }])),
        ("{ json_path: { a: '5' } }", json!([{ "at": at(".a"), "one_of": ["5", 5] }])),
        ("{ net_delta: 0 }", json!([{ "at": at(".net_delta"), "equals": 0 }])),
        (
            "{ file_contains: { '{{fixture}}/a': x } }",
            json!([any, { "file": { "path": "{{ fixture }}/a", "contains": "x" } }]),
        ),
        (
            "{ file_not_exists: ['{{fixture}}/a'] }",
            json!([any, { "file": { "path": "{{ fixture }}/a", "exists": false } }]),
        ),
        (
            "{ file_unchanged: ['{{fixture}}/a'] }",
            json!([any, { "file": { "path": "{{ fixture }}/a", "unchanged": true } }]),
        ),
    ] {
        assert_eq!(expect("assert:\n  tool: t", given), (expected, vec![]), "{given}");
    }
}

#[test]
fn expectations_of_other_answers() {
    for (block, given, expected) in [
        ("assert_resources:\n  list: {}", "{ contains: [a] }", json!([{ "assert": "\"a\" in (result | tojson)" }])),
        (
            "assert_resources:\n  list: {}",
            "{ json_path: { '$.resources[0].name': a } }",
            json!([{ "at": "result.resources[0].name", "equals": "a" }]),
        ),
        ("assert_resources:\n  read: x://y", "{ contains: [a] }", json!([{ "text": { "contains": "a" } }])),
        (
            "assert_prompts:\n  get: { name: p }",
            "{ contains: [a] }",
            json!([{ "any": [{ "text": { "contains": "a" } }, { "at": "result.description", "contains": "a" }] }]),
        ),
        (
            "assert_notifications:\n  tool: t",
            "{ min_count: 2, not_methods: [m] }",
            json!([
                { "at": "result", "exists": true },
                { "notifications": { "count": { "min": 2 } } },
                { "notifications": { "method": "m", "count": 0 } },
            ]),
        ),
    ] {
        assert_eq!(expect(block, given), (expected, vec![]), "{block}: {given}");
    }
}

#[test]
fn what_has_no_counterpart_says_why() {
    for (given, why) in [
        ("{ contians: [a] }", "`contians` is left out: mcp-assert has no such expectation"),
        ("{ contains: a }", "`contains` is left out: a list of texts is expected"),
        ("{ not_error: 1 }", "`not_error` is left out: `true` or `false` is expected"),
        ("{ matches_regex: ['(?!a)'] }", "`matches_regex` is left out: `(?!a)` is no regular expression"),
        ("{ json_path: { '$.a[*]': 1 } }", "`json_path` is left out: `$.a[*]` is more than names and indexes"),
        ("{ file_contains: { /etc/x: y } }", "`file_contains` is left out: `/etc/x` is not in the fixture"),
        ("{ min_progress: 1 }", "`min_progress` is left out: mcp-assert counts progress only"),
    ] {
        let (_, left_out) = expect("assert:\n  tool: t", given);
        assert!(left_out.len() == 1 && left_out[0].starts_with(why), "{given}: {left_out:?}");
    }
}

#[test]
fn several_assertions_share_what_is_the_same() {
    let with = |name: &str, timeout: &str, env: &str| {
        format!(
            "name: {name}\nserver: {{ command: s, env: {{ TOKEN: '${{{env}}}' }} }}\nskip_unless_env: KEY\n\
             assert: {{ tool: t, expect: {{ not_error: true }} }}\ntimeout: {timeout}\n"
        )
    };
    let (suite, _) = converted(&[&with("a", "15s", "KEY"), &with("a", "1m30s", "KEY")]);
    assert_eq!(
        suite["server"],
        json!({ "command": ["s"], "env": { "TOKEN": "{{ env.KEY }}", "KEY": "{{ env.KEY }}" } })
    );
    assert_eq!(suite["needs"], "env.KEY");
    let options =
        json!({ "restart_policy": "per_test", "timeout": "90s", "start_timeout": "90s", "request_timeout": "90s" });
    assert_eq!(suite["run_options"], options);
    let test = |name: &str, timeout: Option<&str>| {
        let mut test = json!({ "name": name, "call": "t", "expect": [{ "is_error": false }] });
        if let Some(timeout) = timeout {
            test["timeout"] = timeout.into();
        }
        test
    };
    assert_eq!(suite["tests"], json!([test("a", Some("15s")), test("a (2)", None)]));
    let (suite, _) = converted(&[&with("a", "15s", "ONE"), &with("b", "15s", "TWO")]);
    assert_eq!(suite["servers"]["s_2"]["env"]["TOKEN"], "{{ env.TWO | default('') }}");
    assert_eq!(suite["tests"][1]["server"], "s_2");
}

#[test]
fn servers_and_answers() {
    for (server, expected) in [
        ("{ command: npx, args: [a, '{{fixture}}/b'] }", json!({ "command": ["npx", "a", "{{ fixture }}/b"] })),
        (
            "{ command: s, env: { A: '$B-${C}', D: 1 } }",
            json!({ "command": ["s"], "env": { "A": "{{ env.B | default('') }}-{{ env.C | default('') }}", "D": "1" } }),
        ),
        (
            "{ command: s, docker: i, env: { A: b } }",
            json!({ "command": ["docker", "run", "--rm", "-i", "-e", "A=b", "i", "s"] }),
        ),
        ("{ transport: sse, url: 'http://h/sse' }", json!({ "url": "http://h/sse", "transport": "sse" })),
        (
            "{ transport: http, url: 'http://h/mcp', headers: { X: $K } }",
            json!({ "url": "http://h/mcp", "transport": "streamable-http", "headers": { "X": "{{ env.K | default('') }}" } }),
        ),
    ] {
        let (suite, left_out) = converted(&[&format!("server: {server}\nassert: {{ tool: t, expect: {{}} }}\n")]);
        assert_eq!((&suite["server"], left_out), (&expected, vec![]), "{server}");
    }
    for (capabilities, expected) in [
        ("elicitation: { a: 1 }", json!({ "elicitation": { "action": "accept", "content": { "a": 1 } } })),
        ("elicitation: { action: decline }", json!({ "elicitation": { "action": "decline" } })),
        ("sampling: { text: hi }", json!({ "sampling": "hi" })),
        ("roots: ['{{fixture}}', /tmp]", json!({ "roots": ["{{ fixture }}", { "uri": "file:///tmp" }] })),
    ] {
        let server = format!("server: {{ command: s, client_capabilities: {{ {capabilities} }} }}");
        let (suite, _) = converted(&[&format!("{server}\nassert: {{ tool: t, expect: {{}} }}\n")]);
        assert_eq!(suite["answers"], expected, "{capabilities}");
    }
}

#[test]
fn a_setup_captures() {
    let (suite, _) = converted(&["server: { command: s }\nsetup:\n  - { tool: a, capture: { my-id: $.s.id } }\n\
                                   assert: { tool: b, args: { id: '{{my-id}}' }, expect: { not_error: true } }\n"]);
    assert_eq!(suite["tests"][0]["setup"][0]["capture"], json!({ "my_id": "result.content[0].text.json().s.id" }));
    assert_eq!(suite["tests"][0]["args"], json!({ "id": "{{ my_id }}" }));
}

#[test]
fn servers_are_named_after_what_they_start() {
    for (command, name) in [
        (json!(["npx", "-y", "@modelcontextprotocol/server-memory@latest", "--x"]), "server-memory"),
        (json!(["uvx", "mcp-server-git"]), "mcp-server-git"),
        (json!(["go", "run", "github.com/a/examples/everything@v0.49.0"]), "everything"),
        (json!(["dotnet", "run", "--project", "samples/Weather.csproj"]), "Weather"),
        (json!(["/tmp/mcp_server.sh", "{{ fixture }}"]), "mcp_server"),
        (json!(["node", "{{ fixture }}/x.js"]), "node"),
        (json!(["./1st"]), "server_1st"),
    ] {
        assert_eq!(super::server::server_name(&json!({ "command": command })), name);
    }
    assert_eq!(super::server::server_name(&json!({ "url": "http://127.0.0.1/mcp" })), "server");
}

#[test]
fn npx_asks_nowhere_if_it_does_not_ask_somewhere() {
    let with = |arguments: &str| {
        format!(
            "server: {{ command: npx, args: [{arguments}] }}\nassert: {{ tool: t, expect: {{ not_error: true }} }}\n"
        )
    };
    let (suite, _) = converted(&[&with("server-memory"), &with("-y, server-memory")]);
    assert_eq!(suite["server"], json!({ "command": ["npx", "-y", "server-memory"] }));
    let (suite, _) = converted(&[&with("server-memory"), &with("-y, server-git")]);
    assert_eq!(suite["servers"]["server-memory"], json!({ "command": ["npx", "server-memory"] }));
}

#[test]
fn comments_stay_where_they_stand() {
    let text = "# what it is\nname: n\nserver: { command: s }\nsetup:\n  # first\n  - tool: a\n    args: { long: \"a text that \
                leaves no room for the step on the line of its key, which needs more than a hundred letters in all\" }\n  \
                - tool: b # second\nassert: # then\n  tool: c\n  # well\n  expect:\n    contains:\n      - x # ends\ntimeout: 1s # soon\n";
    let mut sources = Sources::default();
    let file = sources.add(SourceFile::new("a.yaml", text));
    let suite = convert(&[file], &ConvertOptions::default(), &mut sources);
    let suite = suite.unwrap_or_else(|found| panic!("{}", found[0].message)).text;
    insta::assert_snapshot!(suite);
}
