//! Dotted paths of expectations: they lead to one value, or say what is there instead.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::super::show;
use crate::path::{DottedPath, PathStep, format_path, no_index, position};
use crate::wire::exceeded_limit;
use crate::wire::json::parse;

/// The number of fields that are named where a path finds nothing.
const NAMED_FIELDS: usize = 12;

/// A compiled dotted path that leads to one value.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dotted(DottedPath);

impl Dotted {
    /// Compiles a path; an empty one names the whole value and is refused as a mistake.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let path = DottedPath::parse(&normalize_brackets(text))?;
        match path.steps.iter().find(|step| matches!(step, PathStep::Each | PathStep::Where(..))) {
            None => Ok(Self(path)),
            Some(PathStep::Where(name, value)) => Err(no_index(&format!("{name}={value}"))),
            Some(_) => Err(format!(
                "a path selects one value; to select several, use the JSONPath `$.{}`",
                show::quote(&normalize_brackets(text))
            )),
        }
    }

    /// Walks the path.
    pub(crate) fn find<'v>(&self, value: &'v Json) -> Result<Cow<'v, Json>, String> {
        let mut current = Cow::Borrowed(value);
        for (at, step) in self.0.steps.iter().enumerate() {
            let next = match current {
                Cow::Borrowed(value) => within(step, value),
                Cow::Owned(value) => within(step, &value).map(|found| Cow::Owned(found.into_owned())),
            };
            current = next.map_err(|problem| self.sentence(value, at, &problem))?;
        }
        Ok(current)
    }

    /// The slip on the way to the place at which the last step would find or miss something: a name that is nearly one
    /// that is there, or a level that was left out. Optional members are often absent, so a missing one is no slip.
    pub(crate) fn slip(&self, value: &Json) -> Option<String> {
        let (_, parents) = self.0.steps.split_last()?;
        let may_be_absent = match self.0.steps.first()? {
            PathStep::Member(name) => ["result", "error"].contains(&name.as_str()) && value.get(name).is_none(),
            PathStep::Index(_) | PathStep::Json | PathStep::Each | PathStep::Where(..) => false,
        };
        if may_be_absent {
            return None;
        }
        // An answer has few members of its own, so that the first step counts even if it is the last one.
        let way = if parents.is_empty() { self.clone() } else { Self(DottedPath { steps: parents.to_vec() }) };
        way.find(value).err().filter(|reason| reason.contains("did you mean"))
    }

    /// Changes the value at the path, if there is one; JSON within a text is written back as text.
    pub(crate) fn edit(&self, value: &mut Json, change: &mut dyn FnMut(&mut Json)) -> usize {
        self.0.edit(value, change)
    }

    fn sentence(&self, root: &Json, failed: usize, problem: &PathProblem) -> String {
        let before = format_path(&self.0.steps[..failed]);
        let place = if before.is_empty() { "the answer".to_owned() } else { format!("`{before}`") };
        // The commonest cause deserves its own words: there is no result because there is an error.
        if before.is_empty()
            && root.get("error").is_some()
            && matches!(&self.0.steps[failed], PathStep::Member(name) if name == "result")
        {
            let message = root["error"]["message"].as_str().map(show::quote).unwrap_or_default();
            return format!(
                "the answer has no `result`, it is the JSON-RPC error {} {message:?}",
                show::inline(&root["error"]["code"])
            );
        }
        match problem {
            PathProblem::Words(words) => format!("{place} {words}"),
            PathProblem::NotJson(words) => format!("the text at {place} is not valid JSON: {words}"),
        }
    }
}

/// Why a step leads nowhere.
enum PathProblem {
    /// Continues a sentence that starts with the place.
    Words(String),
    /// The text at the place cannot be parsed.
    NotJson(String),
}

fn within<'v>(step: &PathStep, value: &'v Json) -> Result<Cow<'v, Json>, PathProblem> {
    match (step, value) {
        (PathStep::Member(name), Json::Object(fields)) => {
            fields.get(name).map(Cow::Borrowed).ok_or_else(|| no_field(name, fields))
        }
        (PathStep::Member(name), Json::Array(items)) => Err(PathProblem::Words(format!(
            "is an array of {} and has no field `{name}`; choose an element, such as `[0]`",
            items.len()
        ))),
        (PathStep::Member(name), other) => {
            Err(PathProblem::Words(format!("is {} and has no field `{name}`", show::inline(other))))
        }
        (PathStep::Index(index), Json::Array(items)) => element(*index, items),
        (PathStep::Index(index), Json::Object(fields)) => Err(PathProblem::Words(format!(
            "is an object and has no element `[{index}]`; its fields are {}",
            show::names(fields.keys().map(String::as_str), NAMED_FIELDS)
        ))),
        (PathStep::Index(index), other) => {
            Err(PathProblem::Words(format!("is {} and has no element `[{index}]`", show::inline(other))))
        }
        (PathStep::Json, Json::String(text)) => match exceeded_limit(text.as_bytes()) {
            Some(beyond) => Err(PathProblem::NotJson(beyond.to_string())),
            None => parse(text).map(Cow::Owned).map_err(|error| {
                let begins = show::quote(&Json::from(text.as_str()).to_string());
                PathProblem::NotJson(format!("{error}; it begins with {begins}"))
            }),
        },
        (PathStep::Json, other) => {
            Err(PathProblem::Words(format!("is {}, but `json()` needs a string", show::kind(other))))
        }
        (PathStep::Each | PathStep::Where(..), _) => Err(PathProblem::Words("is several values".to_owned())),
    }
}

fn element(index: i64, items: &[Json]) -> Result<Cow<'_, Json>, PathProblem> {
    position(index, items.len()).and_then(|at| items.get(at)).map(Cow::Borrowed).ok_or_else(|| {
        PathProblem::Words(format!("has {}, so there is no `[{index}]`", show::count(items.len(), "element")))
    })
}

fn no_field(name: &str, fields: &serde_json::Map<String, Json>) -> PathProblem {
    if fields.is_empty() {
        return PathProblem::Words(format!("has no field `{name}`; it is an empty object"));
    }
    let near = show::did_you_mean(name, fields.keys().map(String::as_str));
    // A level that was left out, most often `result` or `structuredContent`.
    let level = fields.iter().find(|(_, value)| near.is_empty() && value.get(name).is_some());
    let hint = level
        .map_or(near.clone(), |(field, _)| format!("; did you mean `{}.{}`?", show::quote(field), show::quote(name)));
    let there = show::names(fields.keys().map(String::as_str), NAMED_FIELDS);
    let verb = if fields.len() == 1 { "its only field is" } else { "its fields are" };
    PathProblem::Words(format!("has no field `{}`; {verb} {there}{hint}", show::quote(name)))
}

/// `[]` is what others write for every item.
fn normalize_brackets(text: &str) -> String {
    text.replace("[]", "[*]")
}
