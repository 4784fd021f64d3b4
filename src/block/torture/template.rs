//! Arguments of a tool that have a canary in place of their texts.

use serde_json::Value;

use crate::check::canary::Canaries;
use crate::check::tool_arguments::{TextPlace, ToolArguments};
use crate::plan::CheckContext;
use crate::plan::arguments::NotCallable;
use crate::wire::Tool;

/// The greatest number of templates of a tool: with all texts replaced, and with each one alone.
const MOST_TEMPLATES: usize = 10;

/// Arguments with places for a canary.
#[derive(Debug, Clone)]
pub(crate) struct ArgumentTemplate {
    arguments: ToolArguments,
    places: Vec<TextPlace>,
}

impl ArgumentTemplate {
    /// Templates of a tool, the most promising first: all texts are replaced, then each one alone. There are none where no
    /// argument takes any text.
    pub(crate) fn of_tool(tool: &Tool, context: &CheckContext<'_>) -> Result<Vec<Self>, NotCallable> {
        Ok(Self::of(&ToolArguments::of(context, tool)?))
    }

    fn of(arguments: &ToolArguments) -> Vec<Self> {
        let sample = Canaries::of_tool(0, "").of(0);
        let arguments = arguments.with_room_for(&sample);
        let (present, absent): (Vec<_>, Vec<_>) =
            arguments.places_for(&sample).into_iter().partition(TextPlace::is_present);
        // What is left out may change what a call means.
        let places = if present.is_empty() { absent } else { present };
        let alone = places.iter().map(|place| vec![place.clone()]);
        let all = Some(places.clone()).filter(|places| places.len() > 1);
        let templates = all.into_iter().chain(alone).map(|places| Self { arguments: arguments.clone(), places });
        templates.take(MOST_TEMPLATES).collect()
    }

    /// Arguments without any place.
    #[cfg(test)]
    pub(crate) fn of_test() -> Self {
        Self { arguments: ToolArguments::of_test(None, Value::Null), places: Vec::new() }
    }

    pub(crate) fn arguments(&self) -> &ToolArguments {
        &self.arguments
    }

    /// The arguments with a canary at every place.
    pub(crate) fn with(&self, canary: &str) -> Value {
        self.arguments.with_texts(self.places.iter().map(|place| (place, canary)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_texts_are_replaced_and_then_each_one_alone() {
        let text = json!({"type": "string"});
        let two = json!({"name": text, "mail": text, "note": text, "kind": {"enum": ["a"]}});
        for (properties, base, expected) in [
            (
                &two,
                json!({"name": "x", "mail": "x@y.z", "kind": "a"}),
                vec![
                    json!({"name": "C", "mail": "C@y.z", "kind": "a"}),
                    json!({"name": "C", "mail": "x@y.z", "kind": "a"}),
                    json!({"name": "x", "mail": "C@y.z", "kind": "a"}),
                ],
            ),
            (&two, json!({"name": "x"}), vec![json!({"name": "C"})]),
            (&json!({"note": text}), json!({}), vec![json!({"note": "C"})]),
            (&json!({"kind": {"enum": ["a"]}}), json!({"kind": "a"}), vec![]),
            (&json!({"count": {"type": "integer"}}), json!({"count": 3}), vec![]),
        ] {
            let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
            let templates = ArgumentTemplate::of(&ToolArguments::of_test(Some(&schema), base));
            let made: Vec<Value> = templates.iter().map(|template| template.with("C")).collect();
            assert_eq!(made, expected, "{properties}");
        }
    }
}
