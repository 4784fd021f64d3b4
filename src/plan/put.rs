//! Values put in the place of one parameter after another.

use serde_json::{Value as Json, json};

use super::case::Mistake;
use super::rounds::Unready;
use crate::generate::satisfies;
use crate::source::template::{Names, holds};
use crate::source::{Located, Span};
use crate::wire::Tool;

/// Where values are put.
pub(super) struct Place<'a> {
    pub(super) tool: &'a Tool,
    /// Valid arguments, of which one is replaced.
    pub(super) base: &'a Json,
    /// What templates call the arguments.
    pub(super) name: &'a str,
    /// Picks parameters.
    pub(super) into: Option<&'a Located<String>>,
    pub(super) names: &'a Names,
}

/// The names of each round: every value in every parameter that is picked and may take it.
pub(super) fn rounds(place: &Place<'_>, payloads: &Json, span: Span) -> Result<Vec<Names>, Unready> {
    let Some(payloads) = payloads.as_array() else {
        let message = format!("`put` is to be a list, and is {payloads}");
        return Err(Unready::Wrong(Mistake { code: "wrong-type", message, help: None, span }));
    };
    let mut rounds = Vec::new();
    let mut picked = 0;
    for (name, schema) in place.tool.input_schema()["properties"].as_object().into_iter().flatten() {
        let parameter = json!({"name": name, "schema": schema, "required": is_required(place.tool, name)});
        if !is_picked(place, &parameter) {
            continue;
        }
        picked += 1;
        let schema = with_definitions(schema, place.tool.input_schema());
        for payload in payloads {
            let Some(value) = fitting(&schema, payload) else { continue };
            let mut args = place.base.clone();
            args[name] = value;
            rounds.push(Names::from_iter([
                (place.name.to_owned(), args),
                ("payload".to_owned(), payload.clone()),
                ("parameter".to_owned(), parameter.clone()),
            ]));
        }
    }
    let tool = &place.tool.name;
    match (picked, rounds.is_empty()) {
        (0, _) => Err(Unready::NotApplicable(format!("`{tool}` has no parameter that this is about"))),
        (_, true) => Err(Unready::NotApplicable(format!("the schema of `{tool}` takes none of the values of `put`"))),
        (_, false) => Ok(rounds),
    }
}

fn is_required(tool: &Tool, name: &str) -> bool {
    tool.input_schema()["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name))
}

fn is_picked(place: &Place<'_>, parameter: &Json) -> bool {
    let Some(into) = place.into else { return true };
    let mut names = place.names.clone();
    names.insert("parameter".to_owned(), parameter.clone());
    // What a schema does not say is no mistake of the expression.
    holds(&into.value, &names).unwrap_or(false)
}

/// The value as the parameter takes it: alone, or as the only item of a list.
fn fitting(schema: &Json, payload: &Json) -> Option<Json> {
    [payload.clone(), json!([payload])].into_iter().find(|value| satisfies(schema, value))
}

fn with_definitions(schema: &Json, root: &Json) -> Json {
    let mut schema = schema.clone();
    for key in ["$defs", "definitions"] {
        if let (Some(fields), Some(definitions)) = (schema.as_object_mut(), root.get(key)) {
            fields.entry(key).or_insert_with(|| definitions.clone());
        }
    }
    schema
}
