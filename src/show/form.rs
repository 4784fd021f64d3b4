//! Questions for the arguments of a tool, one by one, from its schema.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::arguments::coerce;
use super::signature::type_name;
use crate::schema::{References, objection};
use crate::source::visible_line;

/// Keywords that speak of several arguments at once.
const OF_SEVERAL: [&str; 10] = [
    "required",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "anyOf",
    "oneOf",
    "allOf",
    "if",
    "not",
];

/// A question for one argument.
#[derive(Debug)]
pub(crate) struct ArgumentQuestion {
    pub(crate) name: String,
    is_required: bool,
    declared: Value,
    /// The schema of all arguments that says something of this one only.
    whole: Value,
}

/// The questions for arguments that are not given: required ones first.
pub(crate) fn questions(schema: &Value, given: &Map<String, Value>) -> Vec<ArgumentQuestion> {
    let references = References::new(schema);
    let root = references.resolve(schema);
    let is_required = |name: &str| root["required"].as_array().into_iter().flatten().any(|known| known == name);
    let declared = root["properties"].as_object().into_iter().flatten().filter(|(name, _)| !given.contains_key(*name));
    let mut questions: Vec<ArgumentQuestion> = declared
        .map(|(name, declared)| {
            let mut whole = root.clone();
            if let Some(members) = whole.as_object_mut() {
                members.retain(|key, _| !OF_SEVERAL.contains(&key.as_str()));
                if let Some(definitions) = schema.get("$defs") {
                    members.insert("$defs".to_owned(), definitions.clone());
                }
            }
            let declared = references.resolve(declared).clone();
            ArgumentQuestion { name: name.clone(), is_required: is_required(name), declared, whole }
        })
        .collect();
    questions.sort_by_key(|question| !question.is_required);
    questions
}

impl ArgumentQuestion {
    /// The question, ending where the answer begins.
    pub(crate) fn text(&self) -> String {
        let need = if self.is_required { "required" } else { "an empty line leaves it out" };
        let mut text = format!("{}: {}  ({need})\n", visible_line(&self.name), type_name(&self.declared));
        for line in self.declared["description"].as_str().into_iter().flat_map(str::lines) {
            let _ = writeln!(text, "  {}", visible_line(line));
        }
        if let Some(default) = self.declared.get("default") {
            let _ = writeln!(text, "  default: {}", visible_line(&default.to_string()));
        }
        text + "> "
    }

    /// The value that an answer means; `None` to leave the argument out.
    ///
    /// # Errors
    ///
    /// Fails with the reason why it must be asked for again.
    pub(crate) fn parse_answer(&self, answer: &str) -> Result<Option<Value>, String> {
        let answer = answer.trim();
        if answer.is_empty() {
            let name = visible_line(&self.name);
            let empty = || format!("`{name}` is required; for an empty text, write `\"\"`");
            return if self.is_required { Err(empty()) } else { Ok(None) };
        }
        let quoted = serde_json::from_str::<Value>(answer).ok().filter(|_| answer.starts_with('"'));
        let value = quoted.unwrap_or_else(|| coerce(answer, &self.name, &self.whole));
        match objection(&self.whole, &json!({&self.name: &value})) {
            Some(reason) => Err(visible_line(&reason).into_owned()),
            None => Ok(Some(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_the_schema_says() {
        let schema = json!({
            "type": "object",
            "properties": {
                "level": {"enum": ["low", "high"]},
                "count": {"type": "integer", "minimum": 1, "default": 3},
                "name": {"type": "string", "description": "The name."},
                "point": {"$ref": "#/$defs/point"},
            },
            "$defs": {"point": {"type": "object", "required": ["x"]}},
            "required": ["name", "count"],
            "minProperties": 3,
        });
        let asked = questions(&schema, &Map::new());
        let names: Vec<&str> = asked.iter().map(|question| question.name.as_str()).collect();
        assert_eq!(names, ["count", "name", "level", "point"]);
        assert_eq!(asked[0].text(), "count: integer from 1  (required)\n  default: 3\n> ");
        assert_eq!(asked[1].text(), "name: string  (required)\n  The name.\n> ");
        for (name, answer, expected) in [
            ("count", "5", Some(Some(json!(5)))),
            ("count", "0", None),
            ("count", "five", None),
            ("count", "", None),
            ("name", " 5 ", Some(Some(json!("5")))),
            ("name", "\"\"", Some(Some(json!("")))),
            ("level", "high", Some(Some(json!("high")))),
            ("level", "middle", None),
            ("level", "", Some(None)),
            ("point", "{\"x\": 1}", Some(Some(json!({"x": 1})))),
            ("point", "{}", None),
        ] {
            let question = asked.iter().find(|question| question.name == name).unwrap();
            assert_eq!(question.parse_answer(answer).ok(), expected, "{name}: {answer}");
        }
        let given = Map::from_iter([("name".to_owned(), json!("x"))]);
        assert_eq!(questions(&schema, &given).len(), 3);
    }
}
