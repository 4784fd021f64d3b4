//! Lists that are not empty: what a tool does with an empty one is often nothing.

use serde_json::Value;

use crate::generate::valid;
use crate::plan::arguments::SafeArguments;
use crate::wire::Tool;

/// Small arguments of a tool with an item in each list that they need; `None` where the smallest have them already, or none
/// fit.
pub(crate) fn with_items(tool: &Tool, safe: &SafeArguments) -> Option<Value> {
    let mut schema = tool.arguments_schema().into_owned();
    ask_for_items(&mut schema);
    let arguments = safe.sanitize(valid(&schema)?)?;
    (arguments != *safe.smallest() && safe.generator().is_valid(&arguments)).then_some(arguments)
}

/// Demands an item in each list that an object must have.
fn ask_for_items(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    let required: Vec<String> = members
        .get("required")
        .and_then(Value::as_array)
        .map_or_else(Vec::new, |names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    let properties = members.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten();
    for (_, list) in properties.filter(|(name, _)| required.contains(name)) {
        let has_items = list["items"].as_object().is_some_and(|items| !items.is_empty());
        if has_items && list.get("minItems").is_none() && list.get("default").is_none() {
            list["minItems"] = 1.into();
        }
    }
    for within in ["properties", "$defs", "definitions"] {
        members
            .get_mut(within)
            .and_then(Value::as_object_mut)
            .into_iter()
            .flatten()
            .for_each(|(_, one)| ask_for_items(one));
    }
    members.get_mut("items").into_iter().for_each(ask_for_items);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::arguments::safe_arguments;

    #[test]
    fn lists_that_are_needed_have_an_item() {
        let text = json!({"type": "string"});
        let texts = json!({"type": "array", "items": text});
        let entity =
            json!({"type": "object", "properties": {"name": text, "notes": texts}, "required": ["name", "notes"]});
        let entities = json!({"type": "array", "items": {"$ref": "#/$defs/entity"}});
        for (properties, required, expected) in [
            (json!({"names": texts}), json!(["names"]), Some(json!({"names": ["text"]}))),
            (json!({"names": texts}), json!([]), None),
            (json!({"name": text}), json!(["name"]), None),
            // Nothing says what an item is.
            (json!({"rows": {"type": "array"}}), json!(["rows"]), None),
            (json!({"names": {"type": "array", "items": text, "maxItems": 0}}), json!(["names"]), None),
            (
                json!({"entities": entities}),
                json!(["entities"]),
                Some(json!({"entities": [{"name": "text", "notes": ["text"]}]})),
            ),
        ] {
            let schema = json!({
                "type": "object", "properties": properties, "required": required, "$defs": {"entity": entity},
            });
            let tool = Tool::new(json!({"name": "t", "inputSchema": schema}));
            let safe = safe_arguments(&tool, None).unwrap();
            assert_eq!(with_items(&tool, &safe), expected, "{schema}");
        }
    }
}
