//! Files of servers, and the servers that they describe.

use serde_json::json;

use super::*;
use crate::source::SourceFile;

/// The description of a server, or the mistakes and warnings about it.
fn describe(path: &str, text: &str, name: Option<&str>) -> Result<serde_json::Value, Vec<String>> {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new(path, text));
    let asked = Span { source, start: 0, end: 0 };
    let messages = |found: Vec<Diagnostic>| found.into_iter().map(|mistake| mistake.message).collect::<Vec<_>>();
    let file = ServerFile::parse(Path::new(path), &sources, source).map_err(messages)?;
    let files = |path: &Path| {
        let is_known = path == Path::new("project/.env");
        is_known.then(|| "KEY=s3cr3t-0f-mine\nA=from the file\n".to_owned()).ok_or(std::io::ErrorKind::NotFound.into())
    };
    let name = name.map(|name| Located::new(name.to_owned(), asked));
    let mut found = Vec::new();
    let described = file.server(name.as_ref(), asked, &files, &mut found);
    match described {
        Some(described) if found.is_empty() => Ok(described.node.to_json()),
        _ => Err(messages(found)),
    }
}

#[test]
fn clients_describe_servers() {
    for (path, text, expected) in [
        (
            "mcp.json",
            r#"{"mcpServers": {"a": {"command": "node", "args": ["a.js", 7], "autoApprove": ["x"], "timeout": 3}}}"#,
            Ok(json!({"command": ["node", "a.js", "7"]})),
        ),
        (
            "project/.vscode/mcp.json",
            "{\n\t// a comment\n\t\"servers\": {\"a\": {\"type\": \"stdio\", \"command\": \"x\", \"env\": {\"TOKEN\": \"${input:token}\", \"A\": \"b\", \"GONE\": null}, \"cwd\": \"sub\", \"envFile\": \".env\", \"dev\": {}},},\n}",
            Ok(json!({
                "command": ["x"],
                "secrets": ["KEY"],
                "env": {"TOKEN": "{{ env.INPUT_TOKEN }}", "A": "b", "KEY": "s3cr3t-0f-mine"},
                "cwd": "sub",
            })),
        ),
        (
            "mcp.json",
            r#"{"mcpServers": {"a": {"command": "x", "env": {"API_KEY": "sk-1234567890abcdef"}}}}"#,
            Ok(json!({"command": ["x"], "secrets": ["API_KEY"], "env": {"API_KEY": "sk-1234567890abcdef"}})),
        ),
        (
            ".cursor/mcp.json",
            r#"{"mcpServers": {"a": {"url": "http://h/mcp", "headers": {"Authorization": "Bearer ${env:T}"}}}}"#,
            Ok(json!({"url": "http://h/mcp", "headers": {"Authorization": "Bearer {{ env.T }}"}})),
        ),
        (
            "mcp.json",
            r#"{"servers": {"a": {"type": "sse", "url": "http://h/sse"}}}"#,
            Ok(json!({"url": "http://h/sse", "transport": "sse"})),
        ),
        ("mcp.json", r#"{"mcpServers": {"a": {"serverUrl": "http://h"}}}"#, Ok(json!({"url": "http://h"}))),
        (
            "mcp.json",
            r#"{"mcpServers": {"a": {"command": "x", "commnd": 1}}}"#,
            Err("the setting `commnd` is not known, and is ignored"),
        ),
        (
            "mcp.json",
            r#"{"mcpServers": {"a": {"command": 5}}}"#,
            Err("expected text or a list of text or a number or `true` or `false`, found a number"),
        ),
        ("mcp.json", r#"{"mcpServers": {"a": {}}}"#, Err("a server of a client needs a `command` or a `url`")),
        (
            "mcp.json",
            r#"{"mcpServers": {"a": {"type": "http", "command": "x"}}}"#,
            Err("a server of this `type` needs a `url`"),
        ),
        (
            "mcp.json",
            r#"{"mcpServers": {"a": {"type": "ws", "url": "x"}}}"#,
            Err("the transport `ws` is not supported"),
        ),
        ("mcp.json", r#"{"mcpServers": {"b": {"command": "x"}}}"#, Err("`mcp.json` describes no server `a`")),
        ("mcp.json", r#"{"mcpServers": {"a": {"command": "x"}, "a": {}}}"#, Err("the key `a` is written twice")),
        ("mcp.json", r#"{"mcpServers": []}"#, Err("expected a mapping, found a list")),
        ("mcp.json", "{}", Err("`mcp.json` describes no servers")),
        ("mcp.json", "", Err("`mcp.json` is empty")),
        ("a.yml", "suite: a\nservers:\n  a: { url: 'http://h' }\n", Ok(json!({"url": "http://h"}))),
        ("a.yml", "suite: a\n", Err("`a.yml` describes no servers")),
        (
            "mcp.json",
            r#"{"mcpServers": {"a": {"command": "x", "envFile": "gone"}}}"#,
            Err("cannot read `gone`: there is no such file"),
        ),
    ] {
        let expected = expected.map_err(|message| vec![message.to_owned()]);
        assert_eq!(describe(path, text, Some("a")), expected, "{text}");
    }
}

#[test]
fn only_servers_need_no_name() {
    let one = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    let two = r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}"#;
    assert_eq!(describe("mcp.json", one, None), Ok(json!({"command": ["x"]})));
    assert_eq!(
        describe("mcp.json", two, None),
        Err(vec!["`mcp.json` describes several servers; name one of them".to_owned()])
    );
}

#[test]
fn the_registry_describes_packages() {
    let npm = json!({
        "registryType": "npm", "identifier": "@a/b", "version": "1.2.0", "transport": {"type": "stdio"},
        "runtimeArguments": [{"type": "positional", "value": "-y"}],
        "packageArguments": [
            {"type": "named", "name": "--root", "isRequired": true},
            {"type": "named", "name": "--level", "default": "info"},
            {"type": "named", "name": "--optional"},
            {"type": "positional", "value": "{kind}s", "variables": {"kind": {"default": "user"}}},
        ],
        "environmentVariables": [
            {"name": "B_TOKEN", "isRequired": true, "isSecret": true, "description": "A token"},
            {"name": "B_HINT"},
        ],
    });
    let npm_words = json!([
        "npx",
        "-y",
        "@a/b@1.2.0",
        "--root",
        "{{ env.INPUT_ROOT }}",
        "--level",
        "{{ env.INPUT_LEVEL | default(\"info\") }}",
        "{{ env.INPUT_KIND | default(\"user\") }}s",
    ]);
    let oci = json!({
        "registryType": "oci", "identifier": "ghcr.io/a/b", "version": "1.0", "transport": {"type": "stdio"},
        "environmentVariables": [{"name": "LEVEL", "value": "3"}],
    });
    let served = json!({
        "registryType": "pypi", "identifier": "b", "version": "2.0", "runtimeHint": "uvx",
        "transport": {"type": "streamable-http", "url": "http://127.0.0.1:{port}/mcp"},
        "packageArguments": [{"type": "named", "name": "--port", "value": "8123"}],
    });
    let remote = json!({
        "type": "sse", "url": "https://{tenant}.h/sse", "variables": {"tenant": {"isRequired": true}},
        "headers": [{"name": "X-Key", "isRequired": true, "isSecret": true}],
    });
    let file = json!({
        "name": "io.github.a/b",
        "packages": [npm, oci, served, {"registryType": "mcpb", "identifier": "b.mcpb"}],
        "remotes": [remote],
    });
    let file = file.to_string();
    for (name, expected) in [
        ("npm", Ok(json!({"command": npm_words, "secrets": ["B_TOKEN"], "env": {"B_TOKEN": "{{ env.B_TOKEN }}"}}))),
        (
            "oci",
            Ok(json!({
                "command": ["docker", "run", "-i", "--rm", "-e", "LEVEL", "ghcr.io/a/b:1.0"],
                "env": {"LEVEL": "3"},
            })),
        ),
        ("pypi", Ok(json!({"command": ["uvx", "b@2.0", "--port", "8123"], "url": "http://127.0.0.1:8123/mcp"}))),
        (
            "sse",
            Ok(json!({
                "url": "https://{{ env.INPUT_TENANT }}.h/sse", "transport": "sse",
                "headers": {"X-Key": "{{ env.INPUT_X_KEY }}"},
            })),
        ),
        ("mcpb", Err("a package of the kind `mcpb` cannot be started by a command")),
    ] {
        let expected = expected.map_err(|message| vec![message.to_owned()]);
        assert_eq!(describe("server.json", &file, Some(name)), expected, "{name}");
    }
}
