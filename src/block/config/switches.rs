//! Arguments that may lift a setting: a call is repeated with each boolean turned, and with each value of a choice.

use serde_json::{Value, json};

use crate::schema::{below, objection, put_at};

/// The number of ways in which one call is changed.
const MOST: usize = 32;

/// The depth of objects in which arguments are looked for.
const DEEPEST: usize = 2;

/// A call with one argument that is another one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SwitchedCall {
    /// The argument, as in `readOnly: false`.
    pub(crate) switch: String,
    pub(crate) arguments: Value,
}

/// The calls that are like one, but for a boolean or a choice, as far as the schema takes them.
pub(crate) fn switched_calls(schema: &Value, arguments: &Value) -> Vec<SwitchedCall> {
    let mut found = Vec::new();
    collect(schema, "", DEEPEST, arguments, &mut found);
    found.retain(|call| call.arguments != *arguments && objection(schema, &call.arguments).is_none());
    found.truncate(MOST);
    found
}

fn collect(schema: &Value, at: &str, depth: usize, arguments: &Value, found: &mut Vec<SwitchedCall>) {
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let place = below(at, name);
        for value in values_of(member) {
            let mut switched = arguments.clone();
            if put_at(&mut switched, &place, value.clone()) {
                let switch = format!("{}: {value}", place.trim_start_matches('/').replace('/', "."));
                found.push(SwitchedCall { switch, arguments: switched });
            }
        }
        let mut inside = arguments.clone();
        let is_object = inside.pointer(&place).is_some_and(Value::is_object) || put_at(&mut inside, &place, json!({}));
        if member["properties"].is_object() && is_object && depth > 0 {
            collect(member, &place, depth - 1, &inside, found);
        }
    }
}

/// The values of a boolean or a choice; none of any other argument.
fn values_of(schema: &Value) -> Vec<Value> {
    let alternatives = ["anyOf", "oneOf"].iter().filter_map(|key| schema[*key].as_array()).flatten();
    let takes_flag = |schema: &Value| {
        schema["type"] == "boolean" || schema["type"].as_array().is_some_and(|kinds| kinds.contains(&json!("boolean")))
    };
    let mut values: Vec<Value> = Vec::new();
    for schema in alternatives.chain([schema]) {
        match schema["enum"].as_array() {
            Some(choice) => values.extend(choice.iter().cloned()),
            None if takes_flag(schema) => values.extend([json!(false), json!(true)]),
            None => values.extend(schema.get("const").cloned()),
        }
    }
    values.retain(|value| value.is_string() || value.is_number() || value.is_boolean());
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_and_choices_are_turned_where_the_schema_takes_it() {
        let schema = json!({
            "type": "object",
            "required": ["query", "kind"],
            "properties": {
                "query": {"type": "string"},
                "kind": {"enum": ["add", "drop"]},
                "readOnly": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
                "level": {"oneOf": [{"const": "low"}, {"const": "high"}]},
                "sure": {"type": "boolean", "const": true},
                "options": {"type": "object", "properties": {"force": {"type": ["boolean", "string"]}}},
                "count": {"type": "integer"},
            },
        });
        let arguments = json!({"query": "ADD a", "kind": "add", "readOnly": true});
        let switches: Vec<String> = switched_calls(&schema, &arguments).into_iter().map(|call| call.switch).collect();
        let expected = [
            "kind: \"drop\"",
            "readOnly: false",
            "level: \"low\"",
            "level: \"high\"",
            "sure: true",
            "options.force: false",
            "options.force: true",
        ];
        assert_eq!(switches, expected);
        let first = switched_calls(&schema, &arguments).swap_remove(5);
        assert_eq!(first.arguments["options"], json!({"force": false}));
        assert_eq!(switched_calls(&json!({"type": "object"}), &arguments), []);
        assert_eq!(switched_calls(&json!(true), &json!(null)), []);
    }

    #[test]
    fn a_switch_inside_of_an_object_leaves_its_other_members() {
        let flag = json!({"type": "boolean"});
        let inner = json!({"type": "object", "properties": {"force": flag, "name": {"type": "string"}}});
        let deep = json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": inner}}}});
        for (what, schema, arguments, expected) in [
            (
                "beside a member that is given",
                json!({"type": "object", "properties": {"options": inner}}),
                json!({"options": {"name": "x"}}),
                vec![
                    json!({"options": {"name": "x", "force": false}}),
                    json!({"options": {"name": "x", "force": true}}),
                ],
            ),
            (
                "beside its value that is given",
                json!({"type": "object", "properties": {"options": inner}}),
                json!({"options": {"force": true}}),
                vec![json!({"options": {"force": false}})],
            ),
            (
                "two objects deep",
                deep,
                json!({}),
                vec![json!({"a": {"b": {"force": false}}}), json!({"a": {"b": {"force": true}}})],
            ),
            (
                "that would lack what its object requires",
                json!({"type": "object", "properties": {"options": {"type": "object", "required": ["name"], "properties": {
                    "force": flag,
                }}}}),
                json!({}),
                vec![],
            ),
            (
                "that nothing but its value forbids",
                json!({"type": "object", "properties": {"kind": {"enum": ["add", null, {"x": 1}]}}}),
                json!({"kind": null}),
                vec![json!({"kind": "add"})],
            ),
        ] {
            let made: Vec<Value> = switched_calls(&schema, &arguments).into_iter().map(|call| call.arguments).collect();
            assert_eq!(made, expected, "a switch {what}");
        }
    }
}
