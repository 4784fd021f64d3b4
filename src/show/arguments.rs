//! Arguments as people type them, `name=value`, read as the schema of a tool says.

use serde_json::{Map, Value};

use crate::schema::{References, TypeSet};
use crate::source::did_you_mean;

/// The arguments of a call, and what is doubtful about them.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TypedArguments {
    pub(crate) arguments: Map<String, Value>,
    /// Sentences; the call is made all the same, since somebody may want to see how it is refused.
    pub(crate) doubts: Vec<String>,
}

/// Reads one JSON object, or words of the form `name=value`; the error says how to write them.
pub(crate) fn read_arguments(words: &[String], schema: &Value) -> Result<TypedArguments, String> {
    let arguments = match words {
        [word] if word.trim_start().starts_with('{') => match serde_json::from_str(word) {
            Ok(Value::Object(members)) => members,
            Ok(_) => return Err(format!("`{word}` is no JSON object")),
            Err(error) => return Err(format!("`{word}` is no JSON: {error}")),
        },
        _ => {
            let mut arguments = Map::new();
            for word in words {
                let (name, text) = word.split_once('=').ok_or_else(|| {
                    format!("`{word}` has no `=`; write `name=value`, or all arguments as one JSON object")
                })?;
                arguments.insert(name.to_owned(), coerce(text, name, schema));
            }
            arguments
        }
    };
    let doubts = doubts(&arguments, schema);
    Ok(TypedArguments { arguments, doubts })
}

/// A text as a value of the type that the schema wants; a text where nothing else fits.
pub(crate) fn coerce(text: &str, name: &str, schema: &Value) -> Value {
    let references = References::new(schema);
    let declared = references.resolve(schema);
    let own = references.resolve(&declared["properties"][name]);
    let types = types_of(own);
    let read: Option<Value> = serde_json::from_str(text).ok();
    let is_wanted = |value: &Value| if types.is_empty() { !value.is_string() } else { types.has(TypeSet::of(value)) };
    // `"5"` in quotes is a text where a number would be one as well.
    let quoted = read.clone().filter(|value| value.is_string() && !is_only_text(types));
    read.filter(|value| !value.is_string() && is_wanted(value) && !is_only_text(types))
        .or(quoted)
        .unwrap_or_else(|| Value::from(text))
}

fn is_only_text(types: TypeSet) -> bool {
    types == TypeSet::from_name("string")
}

/// The types that a schema allows, as far as it says so itself or in its branches; empty where it does not.
fn types_of(schema: &Value) -> TypeSet {
    let mut types = TypeSet::NONE;
    let branches = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    for own in branches.chain([schema]).filter_map(|schema| schema.get("type")) {
        types = types.or(TypeSet::from_names(own));
    }
    for choice in schema["enum"].as_array().into_iter().flatten().chain(schema.get("const")) {
        types = types.or(TypeSet::of(choice));
    }
    types
}

fn doubts(arguments: &Map<String, Value>, schema: &Value) -> Vec<String> {
    let references = References::new(schema);
    let declared = references.resolve(schema);
    let known: Vec<&str> = declared["properties"].as_object().into_iter().flatten().map(|(name, _)| &**name).collect();
    let mut doubts = Vec::new();
    for name in arguments.keys().filter(|name| !known.is_empty() && !known.contains(&name.as_str())) {
        let help = did_you_mean(name, known.iter().copied()).map(|help| format!("; {help}")).unwrap_or_default();
        doubts.push(format!("the tool declares no argument `{name}`{help}"));
    }
    let required = declared["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in required.filter(|name| !arguments.contains_key(*name)) {
        doubts.push(format!("the required argument `{name}` is missing"));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_read_as_the_schema_says() {
        let schema = json!({"properties": {
            "text": {"type": "string"}, "count": {"type": "integer"}, "flag": {"type": "boolean"},
            "tags": {"type": "array"}, "mixed": {"type": ["string", "number"]}, "size": {"enum": [1, 2]}, "any": {},
            "optional": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        }});
        for (word, expected) in [
            ("text=5", json!("5")),
            ("text=\"a\"", json!("\"a\"")),
            ("count=5", json!(5)),
            ("count=five", json!("five")),
            ("flag=true", json!(true)),
            ("tags=[1, 2]", json!([1, 2])),
            ("mixed=5", json!(5)),
            ("mixed=\"5\"", json!("5")),
            ("size=2", json!(2)),
            ("any=5", json!(5)),
            ("any=a=b", json!("a=b")),
            ("optional=null", json!(null)),
            ("unknown={\"a\": 1}", json!({"a": 1})),
        ] {
            let (name, _) = word.split_once('=').unwrap();
            let read = read_arguments(&[word.to_owned()], &schema).unwrap();
            assert_eq!(read.arguments[name], expected, "{word}");
        }
    }

    #[test]
    fn doubtful_arguments_are_sent_and_told() {
        let schema = json!({"properties": {"query": {"type": "string"}}, "required": ["query"]});
        let read = |word: &str| read_arguments(&[word.to_owned()], &schema);
        assert_eq!(
            read("qeury=a").unwrap().doubts,
            [
                "the tool declares no argument `qeury`; did you mean `query`?",
                "the required argument `query` is missing"
            ]
        );
        assert_eq!(
            read(r#"{"query": 5}"#).unwrap(),
            TypedArguments { arguments: Map::from_iter([("query".to_owned(), json!(5))]), doubts: Vec::new() }
        );
        assert!(read("query").unwrap_err().contains("has no `=`"));
        assert!(read("{\"query\"").unwrap_err().contains("is no JSON"));
    }
}
