//! Arguments of a tool that have a canary in place of their texts.

use serde_json::Value;

use crate::check::canary::Canaries;
use crate::generate::{Generator, Rng};
use crate::plan::CheckContext;
use crate::plan::arguments::{SafeArguments, server_folder};
use crate::plan::witness::known_arguments;
use crate::schema::{UnusableSchema, token};
use crate::wire::Tool;

/// How many arguments are drawn, of which the shortest with a text is used.
const DRAWS: u64 = 48;

/// How many templates of a tool there are at most: with all texts replaced, and with each one alone.
const MOST_TEMPLATES: usize = 10;

/// Arguments with places for a canary.
#[derive(Debug, Clone)]
pub(crate) struct ArgumentTemplate {
    arguments: Value,
    /// The places, as JSON pointers.
    at: Vec<String>,
}

impl ArgumentTemplate {
    /// Templates of a tool, the most promising first: all texts are replaced, then each one alone. There are none where no
    /// argument takes any text.
    pub(crate) fn of_tool(tool: &Tool, context: &CheckContext<'_>, seed: u64) -> Result<Vec<Self>, UnusableSchema> {
        let safe = SafeArguments::new(&tool.arguments_schema(), server_folder(context.suite, context.server_name))?;
        let generator = safe.generator();
        let given = known_arguments(context.suite, tool).and_then(|(_, known)| (context.filled)(&known));
        let Some(base) = given.or_else(|| shortest_with_texts(&safe, seed)) else { return Ok(Vec::new()) };
        let all = places(&base, generator);
        let alone = all.iter().map(|at| vec![at.clone()]);
        let whole = Some(all.clone()).filter(|all| all.len() > 1 && is_valid_with(generator, &base, all));
        let templates = whole.into_iter().chain(alone).map(|at| Self { arguments: base.clone(), at });
        Ok(templates.take(MOST_TEMPLATES).collect())
    }

    /// The arguments with a canary at every place.
    pub(crate) fn with(&self, canary: &str) -> Value {
        put_all(&self.arguments, &self.at, canary)
    }
}

/// Small valid arguments, or else the shortest of some drawn ones, with a place for a canary.
fn shortest_with_texts(safe: &SafeArguments, seed: u64) -> Option<Value> {
    let has_place = |arguments: &Value| !places(arguments, safe.generator()).is_empty();
    if has_place(safe.smallest()) {
        return Some(safe.smallest().clone());
    }
    let draw = Rng::new(seed).fork("arguments");
    let drawn = (0..DRAWS).map(|number| safe.random(&mut draw.fork(number)));
    drawn.filter(has_place).min_by_key(|arguments| arguments.to_string().len())
}

/// The texts that can be replaced by a canary.
fn places(arguments: &Value, generator: &Generator) -> Vec<String> {
    let mut all = Vec::new();
    collect_texts(arguments, String::new(), &mut all);
    all.retain(|at| is_valid_with(generator, arguments, std::slice::from_ref(at)));
    all
}

fn collect_texts(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(number, item)| collect_texts(item, format!("{at}/{number}"), found));
        }
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            let step = token(name);
            collect_texts(member, format!("{at}/{step}"), found);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_valid_with(generator: &Generator, arguments: &Value, at: &[String]) -> bool {
    generator.is_valid(&put_all(arguments, at, &Canaries::of_tool(0, "").of(0)))
}

fn put_all(arguments: &Value, at: &[String], canary: &str) -> Value {
    let mut with = arguments.clone();
    for at in at {
        if let Some(Value::String(text)) = with.pointer_mut(at) {
            *text = marked(text, canary);
        }
    }
    with
}

/// A text with a canary in it, of the same kind: an address stays an address.
fn marked(text: &str, canary: &str) -> String {
    if text.contains("://") || text.starts_with('/') {
        return format!("{}/{canary}", text.trim_end_matches('/'));
    }
    match text.split_once('@') {
        Some((_, host)) => format!("{canary}@{host}"),
        None => canary.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn canaries_stand_in_texts_of_any_depth_and_keep_their_kind() {
        let base = json!({"users": [{"name": "a", "email": "a@b.org", "age": 3}], "page": "https://127.0.0.1:9/"});
        let at = ["/users/0/name", "/users/0/email", "/page"].map(str::to_owned);
        let expected = json!({"users": [{"name": "c", "email": "c@b.org", "age": 3}], "page": "https://127.0.0.1:9/c"});
        assert_eq!(put_all(&base, &at, "c"), expected);
        let mut found = Vec::new();
        collect_texts(&base, String::new(), &mut found);
        assert_eq!(found, at);
    }
}
