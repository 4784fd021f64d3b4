//! Schemas and tools that break the specification.

use serde_json::{Value, json};

use super::super::look::{ToolMember, places_within};
use super::super::{Lint, LintFinding, LintLevel, LintRule, LintSubject};
use super::{ERROR, INVALID, REJECTED, TOOLS, WARNING};
use crate::wire::Tool;
use crate::wire::format::{SchemaError, flaw};

pub(crate) static LINTS: &[Lint] = &[
    Lint {
        id: "no-name",
        variant: INVALID,
        says: "a tool has no name",
        why: "no client can call it",
        cure: "give it a `name`, a text that is not empty",
        link: TOOLS,
        good: r#"{"name": "find_notes"}"#,
        bad: r#"{"name": null}"#,
        rule: LintRule::List(no_name),
        ..ERROR
    },
    Lint {
        id: "no-input-schema",
        variant: INVALID,
        says: "the `inputSchema` is missing or not an object",
        why: "a client cannot tell which arguments the tool takes, and many refuse the whole list",
        cure: "declare `{\"type\": \"object\", \"properties\": {}}` for a tool without arguments",
        link: TOOLS,
        good: r#"{"inputSchema": {"type": "object", "properties": {}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": null}"#,
        rule: LintRule::Tool(|tool| {
            let says = match tool.raw.get("inputSchema") {
                None => "the tool declares no `inputSchema`".to_owned(),
                Some(Value::Object(_)) => return None,
                Some(other) => format!("the `inputSchema` is {other}, not an object"),
            };
            Some(("inputSchema".to_owned(), says))
        }),
        ..ERROR
    },
    Lint {
        id: "schema-not-object",
        variant: INVALID,
        says: "the `inputSchema` does not say `\"type\": \"object\"`",
        why: "arguments are an object, and clients that validate lists refuse the whole list",
        cure: "add `\"type\": \"object\"` to the outermost level",
        link: TOOLS,
        good: r#"{"inputSchema": {"type": "object", "properties": {}, "additionalProperties": false}}"#,
        bad: r#"{"inputSchema": {"properties": {}, "additionalProperties": false}}"#,
        rule: LintRule::Tool(|tool| {
            let schema = tool.input_schema().as_object()?;
            let says = match schema.get("type") {
                Some(Value::String(name)) if name == "object" => return None,
                None => "the `inputSchema` has no `type`, which must be `object`".to_owned(),
                Some(other) => format!("the `type` of the `inputSchema` is {other}, but must be `object`"),
            };
            Some(("inputSchema.type".to_owned(), says))
        }),
        ..ERROR
    },
    Lint {
        id: "invalid-schema",
        variant: INVALID,
        says: "a schema is invalid in its dialect",
        why: "clients cannot compile it, so that every call of the tool fails",
        cure: "validate it against the meta-schema of its dialect (2020-12 without `$schema`)",
        link: "https://modelcontextprotocol.io/specification/2025-11-25/basic#schema-validation",
        good: r#"{"outputSchema": {"type": "object", "properties": {"found": {"type": "integer"}}}}"#,
        bad: r#"{"outputSchema": {"type": "object", "properties": {"found": {"type": "int"}}}}"#,
        rule: LintRule::Tool(|tool| {
            let own = |schema: &Value| dangling(schema, "").or_else(|| unreadable_pattern(schema, "")).is_none();
            let (member, _, reason) = all_broken(tool).find(|(_, schema, _)| own(schema))?;
            Some((member.key().to_owned(), format!("the `{}` is not a valid JSON Schema: {reason}", member.key())))
        }),
        ..ERROR
    },
    Lint {
        id: "dangling-ref",
        variant: INVALID,
        says: "a `$ref` points to nothing",
        why: "the schema does not compile; most often the definitions were lost when a part of a document became a schema",
        cure: "put the referenced schema under `$defs` of the same schema, or write it in place",
        link: "https://json-schema.org/draft/2020-12/json-schema-core#section-8.2.3",
        good: r##"{"outputSchema": {"type": "object", "properties": {"note": {"$ref": "#/$defs/Note"}}, "$defs": {"Note": {"type": "string"}}}}"##,
        bad: r##"{"outputSchema": {"type": "object", "properties": {"note": {"$ref": "#/$defs/Note"}}}}"##,
        rule: LintRule::Tool(|tool| all_broken(tool).find_map(|(member, schema, _)| dangling(schema, member.key()))),
        ..ERROR
    },
    Lint {
        id: "circular-ref",
        variant: INVALID,
        level: LintLevel::Warning,
        says: "a `$ref` leads back to itself without saying anything",
        why: "such a schema has no meaning: some validators accept everything, others never end",
        cure: "let one of the references lead to a schema with a `type`; a `$ref` below `properties` or `items` may lead back",
        link: "https://json-schema.org/draft/2020-12/json-schema-core#section-9.4.1",
        good: r##"{"outputSchema": {"type": "object", "properties": {"note": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}}}}}}"##,
        bad: r##"{"outputSchema": {"type": "object", "properties": {"note": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}}"##,
        rule: LintRule::Tool(|tool| {
            ToolMember::BOTH.iter().find_map(|member| circular(tool.raw.get(member.key())?, member.key()))
        }),
        ..ERROR
    },
    Lint {
        id: "bad-pattern",
        variant: INVALID,
        says: "a `pattern` is not a valid regular expression",
        why: "the schema does not compile, or values that the pattern should refuse are accepted",
        cure: "close every bracket and parenthesis, and escape literal ones",
        link: "https://json-schema.org/draft/2020-12/json-schema-validation#section-6.3.3",
        good: r#"{"outputSchema": {"type": "object", "properties": {"id": {"type": "string", "pattern": "^[a-z]+$"}}}}"#,
        bad: r#"{"outputSchema": {"type": "object", "properties": {"id": {"type": "string", "pattern": "^[a-z+$"}}}}"#,
        rule: LintRule::Tool(|tool| {
            all_broken(tool).find_map(|(member, schema, _)| unreadable_pattern(schema, member.key()))
        }),
        ..ERROR
    },
    Lint {
        id: "output-dialect",
        variant: REJECTED,
        says: "an `outputSchema` declares another dialect than 2020-12",
        why: "clients with a recent official SDK for TypeScript, among them Claude Desktop, validate results in 2020-12 only, \
              and refuse every call of such a tool before it is sent",
        cure: "leave out `$schema`, or declare `https://json-schema.org/draft/2020-12/schema`",
        link: "https://github.com/anthropics/claude-code/issues/90549",
        good: r#"{"outputSchema": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"found": {"type": "integer"}}}}"#,
        bad: r#"{"outputSchema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"found": {"type": "integer"}}}}"#,
        rule: LintRule::Tool(|tool| {
            let dialect = tool.output_schema()?["$schema"].as_str()?;
            let is_known = dialect.trim_end_matches('#') == "https://json-schema.org/draft/2020-12/schema";
            let says =
                || ("outputSchema.$schema".to_owned(), format!("the `outputSchema` is in the dialect `{dialect}`"));
            (!is_known).then(says)
        }),
        ..WARNING
    },
];

fn no_name(subject: &LintSubject<'_>) -> Vec<LintFinding> {
    let nameless = subject.tools.iter().enumerate().filter(|(_, tool)| tool.name.is_empty());
    let sentence = |number: usize| format!("tool {} of the list has no name", number + 1);
    nameless
        .map(|(number, _)| LintFinding { tool: String::new(), at: "name".to_owned(), says: sentence(number) })
        .collect()
}

/// Why a schema does not compile.
fn broken(schema: &Value) -> Option<String> {
    match flaw(schema)? {
        SchemaError::Broken(reason) => Some(reason),
        SchemaError::Unjudged(_) => None,
    }
}

/// The schemas of a tool that do not compile: their place, and why.
fn all_broken(tool: &Tool) -> impl Iterator<Item = (ToolMember, &Value, String)> {
    ToolMember::BOTH.iter().filter_map(|member| {
        let schema = tool.raw.get(member.key()).filter(|schema| schema.is_object())?;
        Some((*member, schema, broken(schema)?))
    })
}

/// A local reference to a place that is not there; other references are checked when the schema is compiled.
fn dangling(root: &Value, at: &str) -> Option<(String, String)> {
    places_within(root, at).into_iter().find_map(|place| {
        let reference = place.schema["$ref"].as_str()?;
        let pointer = reference.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        let is_plain = !pointer.contains('%');
        let leads = root.pointer(pointer).is_some();
        (is_plain && !leads).then(|| (place.at, format!("`{reference}` points to nothing")))
    })
}

/// A local reference that only leads to references, and back to itself.
fn circular(root: &Value, at: &str) -> Option<(String, String)> {
    let target = |schema: &Value| {
        let pointer = schema["$ref"].as_str()?.strip_prefix('#').filter(|pointer| !pointer.contains('%'))?;
        root.pointer(pointer)
    };
    places_within(root, at).into_iter().find_map(|place| {
        let mut seen: Vec<*const Value> = Vec::new();
        let mut schema = place.schema;
        while let Some(next) = target(schema) {
            if seen.contains(&std::ptr::from_ref(next)) {
                let reference = place.schema["$ref"].as_str().unwrap_or_default();
                return Some((place.at, format!("`{reference}` leads in a circle of references")));
            }
            seen.push(std::ptr::from_ref(next));
            schema = next;
        }
        None
    })
}

fn unreadable_pattern(root: &Value, at: &str) -> Option<(String, String)> {
    places_within(root, at).into_iter().find_map(|place| {
        let own = place.schema["pattern"].as_str().into_iter();
        let keys = place.schema["patternProperties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        let wrong = own.chain(keys).find(|pattern| broken(&json!({"pattern": pattern})).is_some())?;
        Some((place.at, format!("`{wrong}` is not a valid regular expression")))
    })
}
