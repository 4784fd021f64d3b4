//! A target and a matcher as an expectation.

use regex::{Regex, escape};
use serde_json::{Map, Value, json};

use crate::source::Node;
use crate::source::template::literal_text;

use super::super::references::{literal_value, path_within};

/// Fills variables into a value.
type Fill<'a> = &'a dyn Fn(Value) -> Value;

/// An expectation of the value at a target.
///
/// # Errors
///
/// The reason for which there is none.
pub(super) fn expectation(target: &str, matcher: &str, argument: &Node, fill: Fill<'_>) -> Result<Value, String> {
    let at = path(target)?;
    // What `isError` says has a matcher of its own.
    if at == "result.isError" && matcher == "exact" && argument.flag().is_some() {
        return Ok(json!({ "is_error": argument.to_json() }));
    }
    if matcher == "is-json" {
        let mut item = json!({ "at": format!("{at}.json()") });
        match argument.get("schema") {
            Some(schema) => item["schema"] = literal_value(schema.to_json()),
            None => item["exists"] = true.into(),
        }
        return Ok(item);
    }
    let matchers = matchers(matcher, argument, fill)?;
    let mut item = json!({ "at": at });
    if let Some(item) = item.as_object_mut() {
        item.extend(matchers);
    }
    Ok(item)
}

/// The path that a target stands for.
fn path(target: &str) -> Result<String, String> {
    let bare = target.trim().trim_start_matches("$.").trim_start_matches('$');
    let root = bare.split(['.', '[']).next().unwrap_or_default();
    match (root, bare.contains(['*', '?']) || bare.contains("..")) {
        ("result" | "error", false) => {
            let at = path_within("", &format!("$.{bare}")).map(|at| at.trim_start_matches('.').to_owned());
            at.ok_or_else(|| format!("`{target}` is no path that mcprove knows"))
        }
        ("result" | "error", true) => Ok(format!("$.{bare}")),
        ("", false) => Ok("result".to_owned()),
        _ => Err(format!("`{target}` is neither of the result nor of the error")),
    }
}

/// The matchers that stand for one of mcptest.
fn matchers(matcher: &str, argument: &Node, fill: Fill<'_>) -> Result<Map<String, Value>, String> {
    let filled = || fill(argument.to_json());
    let text = || filled().as_str().map_or_else(|| argument.to_text(), str::to_owned);
    let pattern = |pattern: String| {
        let readable = Regex::new(&pattern).map(|_| pattern.clone());
        readable.map_err(|_| format!("`{pattern}` is no regular expression that mcprove knows"))
    };
    let made = match matcher {
        "exact" => json!({ "equals": filled() }),
        "contains" => match argument.kind() {
            "text" => json!({ "contains": filled() }),
            "a list" | "a mapping" => json!({ "includes": filled() }),
            _ => json!({ "equals": filled() }),
        },
        "subset" => json!({ "includes": filled() }),
        "regex" => json!({ "matches": literal_text(&pattern(argument.to_text())?) }),
        "schema" => json!({ "schema": literal_value(argument.to_json()) }),
        "contains-all" | "contains-any" => {
            let parts = filled().as_array().cloned().unwrap_or_default();
            let parts: Vec<Value> = parts.into_iter().map(|part| json!({ "contains": part })).collect();
            json!({ (if matcher == "contains-all" { "all" } else { "any" }): parts })
        }
        "icontains" => json!({ "matches": literal_text(&format!("(?i){}", escape(&argument.to_text()))) }),
        "starts-with" => json!({ "matches": literal_text(&format!("\\A{}", escape(&text()))) }),
        "is-valid-tools-call" => {
            let arguments = argument.get("schema").map_or_else(|| json!({ "type": "object" }), Node::to_json);
            let properties = json!({ "name": { "type": "string" }, "arguments": arguments });
            json!({ "schema": { "type": "object", "required": ["name", "arguments"], "properties": properties } })
        }
        "not" => json!({ "not": inner(argument, fill)? }),
        "anyOf" | "allOf" => {
            let inner: Result<Vec<_>, _> = argument.items().iter().map(|item| self::inner(item, fill)).collect();
            json!({ (if matcher == "allOf" { "all" } else { "any" }): inner? })
        }
        "oneOf" => return Err("nothing asks for exactly one of several; see `any`".to_owned()),
        "cel" => return Err("write an expression under `assert`".to_owned()),
        "levenshtein" => return Err("texts are not compared by distance; see `matches`".to_owned()),
        "is-xml" | "is-sql" => return Err("texts are parsed as JSON only".to_owned()),
        "llm-judge"
        | "llm-jury"
        | "similar"
        | "citation"
        | "factuality"
        | "answer-relevance"
        | "context-faithfulness" => return Err("answers are not graded by a model".to_owned()),
        _ => return Err("mcptest has no such matcher".to_owned()),
    };
    Ok(made.as_object().cloned().unwrap_or_default())
}

/// A matcher within another one.
fn inner(node: &Node, fill: Fill<'_>) -> Result<Value, String> {
    let (key, argument) = node.entries().first().ok_or("there is no matcher within")?;
    Ok(matchers(&key.value, argument, fill)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SourceFile, Sources, parse};

    #[test]
    fn matchers_become_matchers() {
        for (assertion, expected) in [
            ("result.isError, exact: true", Ok(json!({ "is_error": true }))),
            ("$.result.a[0].b, exact: 1", Ok(json!({ "at": "result.a[0].b", "equals": 1 }))),
            ("result.t, contains: x", Ok(json!({ "at": "result.t", "contains": "x" }))),
            ("result.o, contains: { a: 1 }", Ok(json!({ "at": "result.o", "includes": { "a": 1 } }))),
            ("result.o, subset: { a: 1 }", Ok(json!({ "at": "result.o", "includes": { "a": 1 } }))),
            ("result.t, regex: '^a'", Ok(json!({ "at": "result.t", "matches": "^a" }))),
            ("result.t, icontains: 'A.b'", Ok(json!({ "at": "result.t", "matches": "(?i)A\\.b" }))),
            ("result.t, starts-with: a+", Ok(json!({ "at": "result.t", "matches": "\\Aa\\+" }))),
            ("result.t, is-json: ~", Ok(json!({ "at": "result.t.json()", "exists": true }))),
            ("result.t, not: { contains: x }", Ok(json!({ "at": "result.t", "not": { "contains": "x" } }))),
            (
                "result.t, contains-any: [a, b]",
                Ok(json!({ "at": "result.t", "any": [{ "contains": "a" }, { "contains": "b" }] })),
            ),
            (
                "result.t, allOf: [{ exact: a }, { not: { exact: b } }]",
                Ok(json!({ "at": "result.t", "all": [{ "equals": "a" }, { "not": { "equals": "b" } }] })),
            ),
            ("result.t, exact: '{{ x }}'", Ok(json!({ "at": "result.t", "equals": "{{ '{{' }} x }}" }))),
            ("result.t, regex: '(?!a)'", Err("`(?!a)` is no regular expression that mcprove knows")),
            ("result.t, cel: value > 1", Err("write an expression under `assert`")),
            ("agent.text, exact: x", Err("`agent.text` is neither of the result nor of the error")),
            ("result.t, sounds-like: x", Err("mcptest has no such matcher")),
        ] {
            let (target, matcher) = assertion.split_once(", ").unwrap();
            let mut sources = Sources::default();
            let source = sources.add(SourceFile::new("m.yml", matcher));
            let node = parse(&sources, source).unwrap();
            let (key, argument) = &node.entries()[0];
            let made = expectation(target, &key.value, argument, &literal_value);
            assert_eq!(made.as_ref().map_err(String::as_str), expected.as_ref().map_err(|why| *why), "{assertion}");
        }
    }
}
