//! Faults of data and schemas.

use rmcp::model::ContentBlock;
use serde_json::Value;

use super::Entry;
use super::edits::{is_failure, parameter};
use super::hooks::{Hooks, SOUND};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        variant: "SCHEMA-INPUT-NOT-VALIDATED",
        wrong: "takes calls without required arguments and with arguments of another type",
        hooks: Hooks {
            rules: Some(|schema| {
                drop_keywords(schema, &["required", "minProperties"]);
                for_each_parameter(schema, |rule| drop_keywords(rule, &["type"]));
            }),
            ..SOUND
        },
    },
    Entry {
        variant: "SCHEMA-CONSTRAINT-NOT-ENFORCED",
        wrong: "takes arguments outside of the lengths, bounds, patterns and options that it declares",
        hooks: Hooks {
            rules: Some(|schema| {
                let keywords = ["minLength", "maxLength", "minimum", "maximum", "pattern", "enum"];
                for_each_parameter(schema, |rule| drop_keywords(rule, &keywords));
            }),
            ..SOUND
        },
    },
    Entry {
        variant: "SCHEMA-OUTPUT-MISMATCH",
        wrong: "gives `total` of `list_users` as text, where the output schema says integer",
        hooks: Hooks {
            value: |tool, value| {
                if tool == "list_users" {
                    value["total"] = value["total"].to_string().into();
                }
            },
            ..SOUND
        },
    },
    Entry {
        variant: "SCHEMA-MISSING-STRUCTURED",
        wrong: "answers `list_users` without `structuredContent`, although it declares an output schema",
        hooks: Hooks {
            result: |_, tool, result| {
                if tool == "list_users" {
                    result.structured_content = None;
                }
            },
            ..SOUND
        },
    },
    Entry {
        variant: "SCHEMA-TEXT-DIVERGENCE",
        wrong: "says the sum 0 in the text of `add`, whatever its structured content says",
        hooks: Hooks {
            result: |_, tool, result| {
                if tool == "add" && !is_failure(result) {
                    result.content = vec![ContentBlock::text(r#"{"sum":0}"#)];
                }
            },
            ..SOUND
        },
    },
    Entry {
        variant: "SCHEMA-INVALID-CONTENT-BLOCK",
        wrong: "answers `echo` with an image besides, whose data is not base64",
        hooks: Hooks {
            result: |_, tool, result| {
                if tool == "echo" && !is_failure(result) {
                    result.content.push(ContentBlock::image("not base64!", "image/png"));
                }
            },
            ..SOUND
        },
    },
    Entry {
        variant: "SCHEMA-INVALID-DECLARATION",
        wrong: "declares the type of `limit` of `list_users` as `int`, which JSON Schema does not know",
        hooks: Hooks {
            tools: |_, list| parameter(list, "list_users", "limit", |rule| rule["type"] = "int".into()),
            ..SOUND
        },
    },
    Entry {
        variant: "SCHEMA-DRIFT",
        wrong: "declares another maximum for `limit` of `list_users` in every second list of tools",
        hooks: Hooks {
            tools: |memory, list| {
                if memory.count("lists") % 2 == 0 {
                    parameter(list, "list_users", "limit", |rule| rule["maximum"] = 50.into());
                }
            },
            ..SOUND
        },
    },
];

fn for_each_parameter(schema: &mut Value, change: impl Fn(&mut Value)) {
    let rules = schema.get_mut("properties").and_then(Value::as_object_mut);
    rules.into_iter().flat_map(|rules| rules.values_mut()).for_each(change);
}

fn drop_keywords(schema: &mut Value, keywords: &[&str]) {
    if let Some(schema) = schema.as_object_mut() {
        schema.retain(|keyword, _| !keywords.contains(&keyword.as_str()));
    }
}
