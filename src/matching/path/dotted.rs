//! Dotted paths: names, `[0]` and `[-1]`, `["a.b"]`, and `json()` for JSON within a string.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::super::show;
use crate::wire::exceeded_limit;
use crate::wire::json::read;

/// How many fields are named where a path finds nothing.
const NAMED_FIELDS: usize = 12;

/// A compiled dotted path.
#[derive(Debug, Clone)]
pub(super) struct Dotted {
    text: String,
    steps: Vec<PathStep>,
}

#[derive(Debug, Clone)]
struct PathStep {
    kind: StepKind,
    /// Where the step starts in the text, so that messages can show the way that worked.
    start: usize,
}

#[derive(Debug, Clone)]
enum StepKind {
    Field(String),
    Index(i64),
    Json,
}

impl Dotted {
    /// The path of the whole value.
    pub(super) fn root() -> Self {
        Self { text: String::new(), steps: Vec::new() }
    }

    /// Compiles a path; an empty one names the whole value and is refused as a mistake.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the path is empty".to_owned());
        }
        let mut steps = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let (kind, end) = if text[at..].starts_with('[') { bracket(text, at)? } else { name(text, at)? };
            steps.push(PathStep { kind, start: at });
            at = end;
            match text[at..].chars().next() {
                None | Some('[') => {}
                Some('.') if at + 1 < text.len() => at += 1,
                Some('.') => return Err(format!("the path `{}` ends with a dot", show::quoted(text))),
                Some(c) => return Err(unexpected(text, at, c)),
            }
        }
        Ok(Self { text: text.to_owned(), steps })
    }

    /// Walks the path.
    pub(super) fn find<'v>(&self, value: &'v Json) -> Result<Cow<'v, Json>, String> {
        let mut current = Cow::Borrowed(value);
        for step in &self.steps {
            let next = match current {
                Cow::Borrowed(value) => step.kind.of(value),
                Cow::Owned(value) => step.kind.of(&value).map(|found| Cow::Owned(found.into_owned())),
            };
            current = next.map_err(|problem| self.sentence(value, step, &problem))?;
        }
        Ok(current)
    }

    /// Changes the value at the path, if there is one; JSON within a text is written back as text.
    pub(super) fn edit(&self, value: &mut Json, change: &mut dyn FnMut(&mut Json)) -> usize {
        edit(&self.steps, value, change)
    }

    fn sentence(&self, root: &Json, failed: &PathStep, problem: &PathProblem) -> String {
        let before = self.text[..failed.start].trim_end_matches('.');
        let place = if before.is_empty() { "the answer".to_owned() } else { format!("`{before}`") };
        // The commonest cause deserves its own words: there is no result because there is an error.
        if before.is_empty()
            && root.get("error").is_some()
            && matches!(&failed.kind, StepKind::Field(f) if f == "result")
        {
            let message = root["error"]["message"].as_str().map(show::quoted).unwrap_or_default();
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

fn edit(steps: &[PathStep], value: &mut Json, change: &mut dyn FnMut(&mut Json)) -> usize {
    let Some((step, rest)) = steps.split_first() else {
        change(value);
        return 1;
    };
    match (&step.kind, value) {
        (StepKind::Field(name), Json::Object(fields)) => {
            fields.get_mut(name).map_or(0, |found| edit(rest, found, change))
        }
        (StepKind::Index(index), Json::Array(items)) => {
            let found = position(*index, items.len()).and_then(|at| items.get_mut(at));
            found.map_or(0, |found| edit(rest, found, change))
        }
        (StepKind::Json, Json::String(text)) => {
            let Ok(mut inner) = serde_json::from_str(text) else { return 0 };
            let edited = edit(rest, &mut inner, change);
            if edited > 0 {
                *text = inner.to_string();
            }
            edited
        }
        (StepKind::Field(_) | StepKind::Index(_) | StepKind::Json, _) => 0,
    }
}

/// Why a step leads nowhere.
enum PathProblem {
    /// Continues a sentence that starts with the place.
    Words(String),
    /// The text at the place cannot be parsed.
    NotJson(String),
}

impl StepKind {
    fn of<'v>(&self, value: &'v Json) -> Result<Cow<'v, Json>, PathProblem> {
        match (self, value) {
            (Self::Field(name), Json::Object(fields)) => {
                fields.get(name).map(Cow::Borrowed).ok_or_else(|| no_field(name, fields))
            }
            (Self::Field(name), Json::Array(items)) => Err(PathProblem::Words(format!(
                "is an array of {} and has no field `{name}`; choose an element, such as `[0]`",
                items.len()
            ))),
            (Self::Field(name), other) => {
                Err(PathProblem::Words(format!("is {} and has no field `{name}`", show::inline(other))))
            }
            (Self::Index(index), Json::Array(items)) => element(*index, items),
            (Self::Index(index), Json::Object(fields)) => Err(PathProblem::Words(format!(
                "is an object and has no element `[{index}]`; its fields are {}",
                show::names(fields.keys().map(String::as_str), NAMED_FIELDS)
            ))),
            (Self::Index(index), other) => {
                Err(PathProblem::Words(format!("is {} and has no element `[{index}]`", show::inline(other))))
            }
            (Self::Json, Json::String(text)) => match exceeded_limit(text.as_bytes()) {
                Some(beyond) => Err(PathProblem::NotJson(beyond.to_string())),
                None => read(text).map(Cow::Owned).map_err(|error| {
                    let begins = show::quoted(&Json::from(text.as_str()).to_string());
                    PathProblem::NotJson(format!("{error}; it begins with {begins}"))
                }),
            },
            (Self::Json, other) => {
                Err(PathProblem::Words(format!("is {}, but `json()` needs a string", show::kind(other))))
            }
        }
    }
}

fn element(index: i64, items: &[Json]) -> Result<Cow<'_, Json>, PathProblem> {
    position(index, items.len()).and_then(|at| items.get(at)).map(Cow::Borrowed).ok_or_else(|| {
        PathProblem::Words(format!("has {}, so there is no `[{index}]`", show::count(items.len(), "element")))
    })
}

/// Where an index leads that may count from the end.
fn position(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    usize::try_from(if index < 0 { index.saturating_add(length) } else { index }).ok()
}

fn no_field(name: &str, fields: &serde_json::Map<String, Json>) -> PathProblem {
    if fields.is_empty() {
        return PathProblem::Words(format!("has no field `{name}`; it is an empty object"));
    }
    let near = show::did_you_mean(name, fields.keys().map(String::as_str));
    // A level that was left out, most often `result` or `structuredContent`.
    let level = fields.iter().find(|(_, value)| near.is_empty() && value.get(name).is_some());
    let hint = level
        .map_or(near.clone(), |(field, _)| format!("; did you mean `{}.{}`?", show::quoted(field), show::quoted(name)));
    let there = show::names(fields.keys().map(String::as_str), NAMED_FIELDS);
    let verb = if fields.len() == 1 { "its only field is" } else { "its fields are" };
    PathProblem::Words(format!("has no field `{}`; {verb} {there}{hint}", show::quoted(name)))
}

fn name(text: &str, at: usize) -> Result<(StepKind, usize), String> {
    let length = text[at..].find(['.', '[', ']', '(', ')', '"', '\'']).unwrap_or(text.len() - at);
    let name = &text[at..at + length];
    let end = at + length;
    if name == "json" && text[end..].starts_with("()") {
        return Ok((StepKind::Json, end + 2));
    }
    if name.is_empty() || name != name.trim() {
        let found = text[end..].chars().next().unwrap_or(' ');
        return Err(if name.is_empty() { unexpected(text, end, found) } else { unexpected(text, at, ' ') });
    }
    Ok((StepKind::Field(name.to_owned()), end))
}

fn bracket(text: &str, at: usize) -> Result<(StepKind, usize), String> {
    let inner = &text[at + 1..];
    if let Some(quote) = inner.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        return quoted_name(text, at + 1, quote);
    }
    let Some(length) = inner.find(']') else {
        return Err(format!("the path `{}` has a `[` that is not closed", show::quoted(text)));
    };
    let end = at + 1 + length + 1;
    match inner[..length].trim() {
        "*" | "" => Err(format!(
            "a path selects one value; to select several, use the JSONPath `$.{}`",
            show::quoted(&starred(text))
        )),
        digits => digits.parse().map(|index| (StepKind::Index(index), end)).map_err(|_| {
            format!("`[{}]` is neither a whole number nor a quoted name such as `[\"a.b\"]`", show::quoted(digits))
        }),
    }
}

fn starred(text: &str) -> String {
    text.replace("[]", "[*]")
}

fn quoted_name(text: &str, start: usize, quote: char) -> Result<(StepKind, usize), String> {
    let unended = || format!("the path `{}` has a quoted name that is not closed", show::quoted(text));
    let mut escaped = false;
    let close = text[start + 1..].char_indices().find(|(_, c)| {
        let is_end = !escaped && *c == quote;
        escaped = !escaped && *c == '\\';
        is_end
    });
    let (length, _) = close.ok_or_else(unended)?;
    let raw = &text[start + 1..start + 1 + length];
    let end = start + 1 + length + 1;
    if !text[end..].starts_with(']') {
        return Err(unended());
    }
    let json = if quote == '"' {
        format!("\"{raw}\"")
    } else {
        format!("\"{}\"", raw.replace('"', "\\\"").replace("\\'", "'"))
    };
    let name = serde_json::from_str(&json)
        .map_err(|_| format!("`{}` is not a valid name: it has an invalid escape", show::quoted(raw)))?;
    Ok((StepKind::Field(name), end + 1))
}

fn unexpected(text: &str, at: usize, found: char) -> String {
    let position = text[..at].chars().count() + 1;
    format!(
        "the path `{}` has an unexpected `{found}` at character {position}; names with special characters are quoted, \
         as in `[\"a.b\"]`",
        show::quoted(text)
    )
}
