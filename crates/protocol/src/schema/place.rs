//! The places of a value, each with the subschemas that judge it.

use std::fmt::Write as _;

use serde_json::Value;

use super::{SchemaId, SchemaRules, Schemas};

/// A place in a value.
#[derive(Clone, Copy, Debug)]
pub struct ValuePosition<'a> {
    /// JSON pointer to it.
    pub at: &'a str,
    pub value: &'a Value,
    /// The subschemas that judge it, with references followed and the alternatives chosen that its value takes.
    pub judges: &'a [SchemaId],
}

/// Visits every place of a value that the document's root judges, outermost first.
pub fn each_place(schemas: &Schemas, value: &Value, visit: &mut dyn FnMut(ValuePosition<'_>)) {
    descend(schemas, &[schemas.root()], value, &mut String::new(), visit);
}

fn descend(
    schemas: &Schemas,
    ids: &[SchemaId],
    value: &Value,
    at: &mut String,
    visit: &mut dyn FnMut(ValuePosition<'_>),
) {
    let judges = judges(schemas, ids, value);
    visit(ValuePosition { at, value, judges: &judges });
    let length = at.len();
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let below = child_ids(schemas, &judges, name);
                at.push('/');
                at.push_str(&token(name));
                descend(schemas, &below, member, at, visit);
                at.truncate(length);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                // Writing to a text cannot fail.
                let _ = write!(at, "/{index}");
                descend(schemas, &item_ids(schemas, &judges, index), item, at, visit);
                at.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A name as a step of a JSON pointer.
pub fn token(name: &str) -> String {
    if name.contains(['~', '/']) { name.replace('~', "~0").replace('/', "~1") } else { name.to_owned() }
}

/// The name that a step of a JSON pointer stands for.
pub fn name_of(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// A pointer to a member of what a pointer leads to.
pub fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", token(name))
}

/// Puts a value at a place: in place of another one, or as a new member. Returns false, and changes nothing, where nothing
/// could hold it.
pub fn put_at(value: &mut Value, pointer: &str, new: Value) -> bool {
    let Some((above, step)) = pointer.rsplit_once('/') else { return false };
    match value.pointer_mut(above) {
        Some(Value::Object(members)) => drop(members.insert(name_of(step), new)),
        Some(Value::Array(items)) => match step.parse().ok().and_then(|at: usize| items.get_mut(at)) {
            Some(item) => *item = new,
            None => return false,
        },
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => return false,
    }
    true
}

/// The subschemas that judge a member of what others judge.
pub fn child_ids(schemas: &Schemas, judges: &[SchemaId], name: &str) -> Vec<SchemaId> {
    judges.iter().flat_map(|id| schemas.member_schemas(schemas.rules(*id), name)).collect()
}

/// The subschemas that judge an item of what others judge.
pub fn item_ids(schemas: &Schemas, judges: &[SchemaId], index: usize) -> Vec<SchemaId> {
    let of = |rules: &SchemaRules| rules.prefix.get(index).copied().or(rules.items);
    judges.iter().filter_map(|id| of(schemas.rules(*id))).collect()
}

/// All subschemas that have a say about a value.
fn judges(schemas: &Schemas, ids: &[SchemaId], value: &Value) -> Vec<SchemaId> {
    let mut todo: Vec<SchemaId> = ids.iter().rev().copied().collect();
    let mut found = Vec::new();
    while let Some(id) = todo.pop() {
        if found.contains(&id) {
            continue;
        }
        found.push(id);
        let rules = schemas.rules(id);
        todo.extend(&rules.all);
        let alternatives = rules.any.iter().chain(&rules.whichever).chain(&rules.one);
        todo.extend(alternatives.filter(|id| schemas.fits(**id, value)));
        if let Some(condition) = &rules.condition {
            let holds = schemas.fits(condition.when, value);
            todo.extend(if holds { condition.then } else { condition.otherwise });
        }
        let present = rules.dependent_schemas.iter().filter(|(name, _)| value.get(name).is_some());
        todo.extend(present.map(|(_, schema)| *schema));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_put_where_something_holds_them() {
        let value = json!({"a": {"b/c": 1}, "list": ["x"]});
        for (pointer, expected) in [
            ("/a/b~1c", Some(json!({"a": {"b/c": 7}, "list": ["x"]}))),
            ("/a/new", Some(json!({"a": {"b/c": 1, "new": 7}, "list": ["x"]}))),
            ("/list/0", Some(json!({"a": {"b/c": 1}, "list": [7]}))),
            ("/list/1", None),
            ("/list/x", None),
            ("/none/x", None),
            ("", None),
        ] {
            let mut put = value.clone();
            let is_put = put_at(&mut put, pointer, json!(7));
            assert_eq!(put, expected.clone().unwrap_or_else(|| value.clone()), "{pointer}");
            assert_eq!(is_put, expected.is_some(), "{pointer}");
        }
    }
}
