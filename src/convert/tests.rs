use super::{ConvertOptions, ConvertedSuite, convert};
use crate::source::{Diagnostic, SourceFile, Sources, format_yaml, parse};

fn converted(texts: &[&str]) -> Result<ConvertedSuite, Vec<Diagnostic>> {
    let mut sources = Sources::default();
    let files: Vec<_> = texts.iter().map(|text| sources.add(SourceFile::new("a.yaml", *text))).collect();
    let options = ConvertOptions { name: "all".to_owned(), ..ConvertOptions::default() };
    convert(&files, &options, &mut sources)
}

const ASSERTION: &str = "# Reads a file.\nname: n # own\nserver: { command: s }\n\
                         assert: { tool: t, expect: { contains: [x], contians: [y] } } # last\n";
const MCPTEST: &str = "# yaml-language-server: $schema=x\n# head\nservers: { s: { command: [s] } }\ntools:\n  # first\n  \
                       - { name: a, server: s, tool: t, args: { q: '${x}' } } # own\n  # second\n  - name: b\n    server: s\n    \
                       tool: t\n    expect: [{ target: result.x, matcher: { cel: v } }]\n";
const PROBE: &str = "server: { command: s }\ntests:\n  # lists\n  - { name: l, call: tools/list, expect: { tool_count: 2 } }\n  \
                     - { name: c, call: tools/call, params: { name: t }, expect: { status: ok } }\n";
const AUTOTEST: &str = "# first\ncase: l\nin: {jsonrpc: '2.0', method: tools/list, id: 1}\n\
                        out: {jsonrpc: '2.0', id: 1, result: {tools: [{name: !!ere 'a/b+/'}]}}\n---\n# second\ncase: c\n\
                        in: {jsonrpc: '2.0', method: ping, id: 2}\nout: {jsonrpc: '2.0', id: 2, result: {}}\n";
const POSTMAN: &str = r#"{"info": {"name": "P", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
 "variable": [{"key": "base", "value": "http://h"}],
 "item": [{"name": "Start", "request": {"body": {"raw": "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"initialize\"}"}}},
  {"name": "My tools", "item": [{"name": "Add", "event": [{"listen": "test", "script": {"exec": [
    "pm.test(\"sums\", function () {", "  pm.expect(json.result.structuredContent.sum).to.eql(3);", "  magic();", "});"]}}],
   "request": {"method": "POST", "url": {"raw": "{{base}}/mcp"}, "header": [{"key": "X-Key", "value": "{{key}}"}],
    "body": {"raw": "{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"tools/call\", \"params\": {\"name\": \"add\", \"arguments\": {\"a\": 1}}}"}}}]}]}"#;

#[test]
fn files_are_told_apart_and_keep_their_comments() {
    for text in [ASSERTION, MCPTEST, PROBE, AUTOTEST, POSTMAN] {
        let suite = converted(&[text]).unwrap_or_else(|found| panic!("{}: {text}", found[0].message));
        insta::assert_snapshot!(suite.tool, &suite.text);
    }
}

#[test]
fn suites_have_the_layout_of_fmt() {
    for text in [ASSERTION, MCPTEST, PROBE, AUTOTEST, POSTMAN] {
        let suite = converted(&[text, text]).or_else(|_| converted(&[text]));
        let text = suite.map_or_else(|found| panic!("{}", found[0].message), |suite| suite.text);
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("suite.yml", text.clone()));
        assert!(parse(&sources, source).is_ok(), "{text}");
        assert_eq!(format_yaml(&sources, source).ok().flatten(), Some(text));
    }
}

#[test]
fn other_files_are_refused() {
    for (texts, message) in [
        (vec!["a: 1\n"], "no tool is known whose tests look like this"),
        (vec!["suite: s\nserver: { builtin: demo }\ntests: []\n"], "no tool is known whose tests look like this"),
        (vec![""], "the file is empty"),
        (vec!["- [a"], "the file is not valid YAML: unclosed bracket"),
        (vec![ASSERTION, PROBE], "this file is for mcp-probe, and another one for mcp-assert"),
        (vec![MCPTEST, MCPTEST], "suites of mcptest are converted one at a time"),
        (
            vec!["{\"info\": {\"schema\": \"postman\"}, \"item\": []}"],
            "no request of the collection carries a JSON-RPC message of MCP",
        ),
        (vec!["{\"a\": "], "the file is not valid JSON"),
    ] {
        let found = converted(&texts).err().unwrap_or_default();
        let seen = found.first().map(|mistake| mistake.message.as_str()).unwrap_or_default();
        assert!(seen.starts_with(message), "{texts:?}: {seen}");
    }
}

#[test]
fn broken_files_end_in_a_message_or_in_a_suite() {
    for text in [ASSERTION, MCPTEST, PROBE, AUTOTEST, POSTMAN] {
        for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            let cut = &text[..at];
            let without = format!("{}{}", &text[..at], text[at..].chars().skip(3).collect::<String>());
            for broken in [cut, without.as_str()] {
                if let Ok(suite) = converted(&[broken]) {
                    let mut sources = Sources::default();
                    let source = sources.add(SourceFile::new("suite.yml", suite.text.clone()));
                    assert!(parse(&sources, source).is_ok(), "{broken}\n{}", suite.text);
                }
            }
        }
    }
}
