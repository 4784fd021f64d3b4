//! Values that the answers of tools show, for arguments that are named like them: a station for the filter `station`, an id
//! for `user_id`.

use serde_json::{Value, json};

use super::expectation::content;
use super::questions::ServerQuestion;
use crate::plan::arguments::{is_file, is_path, safe_arguments};
use crate::reproduce::text_lasts;
use crate::schema::objection;
use crate::source::words;
use crate::wire::Tool;

/// Words of parameters that say how a value is compared, and not which.
const COMPARING: [&str; 14] = [
    "min", "max", "minimum", "maximum", "from", "to", "by", "filter", "only", "above", "below", "least", "most", "than",
];

/// Words of those that bound numbers.
const BOUNDS: [&str; 8] = ["min", "max", "minimum", "maximum", "above", "below", "least", "most"];

/// Names of parameters that look for words in texts.
const QUERIES: [&str; 9] = ["query", "q", "text", "search", "term", "keyword", "keywords", "contains", "needle"];

/// The most values that are kept, their characters, and the depth in which they are looked for.
const MOST_VALUES: usize = 500;
const LONGEST_VALUE: usize = 60;
const DEEPEST: usize = 5;

/// The fewest letters of a word that is looked for.
const SHORTEST_WORD: usize = 4;

/// The most calls of one tool with such values.
const MOST_CALLS: usize = 4;

/// A small number for arguments that nothing is shown for, such as `days`.
const SMALL_NUMBER: u64 = 2;

/// Members of answers, in their order.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ShownValues {
    members: Vec<ShownMember>,
}

#[derive(Debug, Clone, PartialEq)]
struct ShownMember {
    /// The words of its name, and of the list or object in which it is.
    name: Vec<String>,
    parent: Vec<String>,
    value: Value,
}

impl ShownValues {
    pub(crate) fn of_answers<'a>(answers: impl Iterator<Item = &'a Value>) -> Self {
        let mut shown = Self::default();
        for (_, content) in answers.filter_map(|answer| content(&answer["result"])) {
            shown.add(&[], &[], &content, DEEPEST);
        }
        shown
    }

    fn add(&mut self, parent: &[String], name: &[String], value: &Value, depth: usize) {
        match value {
            Value::Object(members) if depth > 0 => {
                for (member, value) in members {
                    self.add(name, &singular_words(member), value, depth - 1);
                }
            }
            Value::Array(items) if depth > 0 => {
                for item in items {
                    self.add(parent, name, item, depth - 1);
                }
            }
            Value::String(_) | Value::Number(_) => {
                let text = value.as_str().unwrap_or_default();
                let is_kept = text.chars().count() <= LONGEST_VALUE && text_lasts(text);
                if is_kept && value != "" && !name.is_empty() && self.members.len() < MOST_VALUES {
                    self.members.push(ShownMember {
                        name: name.to_vec(),
                        parent: parent.to_vec(),
                        value: value.clone(),
                    });
                }
            }
            Value::Null | Value::Bool(_) | Value::Object(_) | Value::Array(_) => {}
        }
    }

    /// The values of members that are named like a parameter, each once, in their order.
    pub(crate) fn of_parameter(&self, parameter: &str) -> Vec<&Value> {
        let mut wanted = singular_words(parameter);
        if wanted.len() > 1 {
            wanted.retain(|word| !COMPARING.contains(&word.as_str()));
        }
        let fits = |member: &&ShownMember| {
            let with_parent = || member.parent.iter().chain(&member.name).eq(&wanted);
            let is_id_of = || member.name == ["id"] && member.parent == wanted;
            member.name == wanted || with_parent() || is_id_of()
        };
        let mut found: Vec<&Value> = Vec::new();
        for member in self.members.iter().filter(fits) {
            if !found.contains(&&member.value) {
                found.push(&member.value);
            }
        }
        found
    }

    /// A word of the last text that has one.
    fn word(&self) -> Option<&str> {
        let texts = self.members.iter().rev().filter_map(|member| member.value.as_str());
        let is_word = |word: &&str| word.chars().count() >= SHORTEST_WORD && word.chars().all(char::is_alphabetic);
        texts.flat_map(str::split_whitespace).find(is_word)
    }
}

/// The words of a name, without the `s` of several.
fn singular_words(name: &str) -> Vec<String> {
    words(name)
        .into_iter()
        .map(|word| if word.len() > 3 { word.trim_end_matches('s').to_owned() } else { word })
        .collect()
}

/// Calls of a tool with values for its arguments that its own answer shows, or, for those that it needs, any other one.
pub(crate) fn questions_of_shown(
    tool: &Tool,
    arguments: &Value,
    own: &ShownValues,
    all: &ShownValues,
) -> Vec<ServerQuestion> {
    let schema = tool.arguments_schema();
    let Ok(safe) = safe_arguments(tool, None) else { return Vec::new() };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let asked = properties.filter(|(name, _)| !is_path(name) && !is_file(name)).filter_map(|(name, declared)| {
        let is_closed =
            declared["type"] == "boolean" || declared.get("enum").is_some() || declared.get("const").is_some();
        let present = arguments.get(name);
        let open = Some(declared).filter(|_| !is_closed)?;
        let value = other_value(name, open, present, own).or_else(|| {
            let needed =
                present.filter(|_| schema["required"].as_array().is_some_and(|names| names.contains(&json!(name))));
            other_value(name, declared, Some(needed?), all)
        })?;
        let mut changed = arguments.clone();
        changed.as_object_mut()?.insert(name.clone(), value);
        let is_safe = safe.generator().is_valid(&changed) && safe.sanitize(changed.clone()).as_ref() == Some(&changed);
        let (tool, parameter) = (tool.name.clone(), name.clone());
        is_safe.then_some(ServerQuestion::Other { tool, arguments: changed, parameter })
    });
    asked.take(MOST_CALLS).collect()
}

/// A value for an argument that is not the one that it has.
fn other_value(parameter: &str, declared: &Value, present: Option<&Value>, shown: &ShownValues) -> Option<Value> {
    let is_taken = |value: &Value| Some(value) != present && objection(declared, value).is_none();
    let of_parameter = shown.of_parameter(parameter);
    // An id that is a text is none of those that are numbers.
    let has_own_type = of_parameter.iter().any(|value| value.is_string());
    let of_type = of_parameter.into_iter().filter(|value| value.is_string() || !has_own_type || !takes_text(declared));
    let mut named: Vec<Value> = of_type.filter_map(|value| in_type(value, declared)).filter(is_taken).collect();
    let is_bound = words(parameter).iter().any(|word| BOUNDS.contains(&word.as_str()));
    if is_bound && named.iter().all(Value::is_number) {
        named.sort_by(|one, other| one.as_f64().unwrap_or_default().total_cmp(&other.as_f64().unwrap_or_default()));
        named.truncate(named.len() / 2 + 1);
    }
    let word = || {
        let is_query = words(parameter).last().is_some_and(|last| QUERIES.contains(&last.as_str()));
        shown.word().filter(|_| is_query).map(Value::from).filter(is_taken)
    };
    let number = || {
        let is_number = declared["type"] == "integer" || declared["type"] == "number";
        Some(Value::from(SMALL_NUMBER)).filter(|number| is_number && present.is_none() && is_taken(number))
    };
    named.pop().or_else(word).or_else(number)
}

fn takes_text(declared: &Value) -> bool {
    declared["type"] == "string" || declared["items"]["type"] == "string"
}

/// A value in the type of an argument: in a list where it takes one, and a number as text.
fn in_type(value: &Value, declared: &Value) -> Option<Value> {
    match (declared["type"].as_str(), value) {
        (Some("array"), value) => Some(json!([in_type(value, &declared["items"])?])),
        (Some("string"), Value::Number(number)) => Some(number.to_string().into()),
        (Some("string") | None, Value::String(_)) | (Some("integer" | "number") | None, Value::Number(_)) => {
            Some(value.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parcels() -> ShownValues {
        let content = json!({"parcels": [
            {"id": "P-1", "station": "north", "weight_kg": 2.5, "due": "2026-01-01", "owner": {"id": 4, "name": "Ann Lee"}},
            {"id": "P-2", "station": "south", "weight_kg": 7.5, "tags": ["red"], "owner": {"id": 5, "name": "Bob Lee"}},
            {"id": "P-3", "station": "south", "weight_kg": 9.5, "owner": {"id": 4, "name": "Ann Marlow"}},
        ]});
        ShownValues::of_answers([json!({"result": {"content": [], "structuredContent": content}})].iter())
    }

    #[test]
    fn members_are_found_by_the_names_of_parameters() {
        let shown = parcels();
        for (parameter, expected) in [
            ("station", json!(["north", "south"])),
            ("stations", json!(["north", "south"])),
            ("parcelId", json!(["P-1", "P-2", "P-3"])),
            ("owner_id", json!([4, 5])),
            ("owner", json!([4, 5])),
            ("min_weight_kg", json!([2.5, 7.5, 9.5])),
            ("tag", json!(["red"])),
            ("due", json!([])),
            ("color", json!([])),
        ] {
            assert_eq!(json!(shown.of_parameter(parameter)), expected, "{parameter}");
        }
    }

    #[test]
    fn tools_are_asked_for_what_they_show() {
        let text = json!({"type": "string"});
        for (properties, required, arguments, expected) in [
            (json!({"station": text}), json!([]), json!({}), vec![json!({"station": "south"})]),
            (json!({"min_weight_kg": {"type": "number"}}), json!([]), json!({}), vec![json!({"min_weight_kg": 7.5})]),
            (json!({"query": text}), json!(["query"]), json!({"query": "a"}), vec![json!({"query": "Marlow"})]),
            (json!({"id": text}), json!(["id"]), json!({"id": "P-1"}), vec![json!({"id": "P-3"})]),
            (json!({"floor": {"type": "integer", "maximum": 1}}), json!([]), json!({}), vec![]),
            (json!({"floor": {"type": "integer"}}), json!([]), json!({}), vec![json!({"floor": 2})]),
            (json!({"tags": {"type": "array", "items": text}}), json!([]), json!({}), vec![json!({"tags": ["red"]})]),
            (json!({"station": {"enum": ["north"]}, "file": text}), json!([]), json!({}), vec![]),
        ] {
            let schema = json!({"type": "object", "properties": properties, "required": required});
            let tool = Tool::new(json!({"name": "list", "inputSchema": schema}));
            let asked = questions_of_shown(&tool, &arguments, &parcels(), &ShownValues::default());
            let asked: Vec<Value> =
                asked.iter().map(|question| question.request(&serde_json::Map::new()).1["arguments"].clone()).collect();
            assert_eq!(asked, expected, "{properties}");
        }
    }
}
