//! Values against the schemas that tools declare, and the kinds of those tools.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::fullest::fullest;
use super::words::{ArgumentFit, ToolKind};
use crate::schema::{Judge, Keyword};
use crate::source::{singular, words};
use crate::wire::{Catalog, Tool};

/// Compiled schemas by the tool's name and the member that declares them.
type CompiledSchemas = BTreeMap<(String, &'static str), (Value, Option<Rc<Judge>>)>;

thread_local! {
    /// Faults look at the same few schemas again and again, and compiling one costs more than everything else here.
    static COMPILED: RefCell<CompiledSchemas> = RefCell::default();
}

/// The validator of the schema that a tool declares in `member`; `None` where it declares none that can be used.
pub(crate) fn validator(tool: &Tool, member: &'static str) -> Option<Rc<Judge>> {
    let schema = tool.raw.get(member)?;
    COMPILED.with_borrow_mut(|compiled| {
        let entry = compiled.entry((tool.name.clone(), member));
        // Another server may have a tool of the same name.
        let entry = entry
            .and_modify(|(known, judge)| {
                if known != schema {
                    (*known, *judge) = (schema.clone(), compile(schema));
                }
            })
            .or_insert_with(|| (schema.clone(), compile(schema)));
        entry.1.clone()
    })
}

fn compile(schema: &Value) -> Option<Rc<Judge>> {
    Judge::of(schema).ok().map(Rc::new)
}

/// The arguments of a call fit the tool's schema in one of the wanted ways; none do without a usable schema.
pub(crate) fn arguments_match(tool: &Tool, arguments: &Value, wanted: &[ArgumentFit]) -> bool {
    let Some(judge) = validator(tool, "inputSchema") else { return false };
    let empty = Value::Object(serde_json::Map::new());
    let arguments = if arguments.is_null() { &empty } else { arguments };
    match judge.is_valid(arguments) {
        Some(true) => return wanted.contains(&ArgumentFit::Valid),
        Some(false) => {}
        None => return false,
    }
    if wanted.contains(&ArgumentFit::Invalid) {
        return true;
    }
    // A server that reads `"3"` as 3 is a friendly one, and says nothing about what it does with real mistakes.
    let Some(is_loose) = judge.is_valid(&spelled_out(arguments)) else { return false };
    let mut errors = judge.errors(arguments).into_iter().flatten().take(50);
    if is_loose { wanted.contains(&ArgumentFit::Loose) } else { errors.any(|error| wanted.contains(&breach(&error))) }
}

/// The arguments of a call are those that the tool's schema asks for; of a tool without a schema all are.
pub(crate) fn is_valid_call(tool: &Tool, arguments: &Value) -> bool {
    validator(tool, "inputSchema").is_none() || arguments_match(tool, arguments, &[ArgumentFit::Valid])
}

/// Arguments of that kind exist for a tool, as far as the top level of its schema tells.
pub(crate) fn can_be(tool: &Tool, fit: ArgumentFit) -> bool {
    let schema = &tool.raw["inputSchema"];
    let properties = || schema["properties"].as_object().into_iter().flatten().map(|(_, property)| property);
    let has =
        |keywords: &[&str]| properties().any(|property| keywords.iter().any(|keyword| property.get(keyword).is_some()));
    let is_missing = schema["required"].as_array().is_some_and(|required| !required.is_empty());
    let is_mistyped = has(&["type", "enum", "const", "anyOf", "oneOf", "$ref"]);
    let is_extra = schema["additionalProperties"] == Value::Bool(false);
    match fit {
        ArgumentFit::Valid => true,
        ArgumentFit::Missing => is_missing,
        ArgumentFit::Mistyped => is_mistyped,
        ArgumentFit::Extra => is_extra,
        ArgumentFit::OutOfRange => properties().any(is_limited),
        ArgumentFit::Loose => {
            properties().any(|property| property["type"].as_str().is_some_and(|name| name != "string"))
        }
        ArgumentFit::Invalid => is_missing || is_mistyped || is_extra,
    }
}

/// The schema excludes some values of the right type.
pub(crate) fn is_limited(schema: &Value) -> bool {
    let limits = |name: &String| {
        ["enum", "const", "pattern", "format"].contains(&name.as_str())
            || Keyword::find(name).is_some_and(|keyword| keyword.limit.is_some())
    };
    schema.as_object().is_some_and(|members| members.keys().any(limits))
}

/// The way in which a value breaks a schema.
fn breach(error: &ValidationError<'_>) -> ArgumentFit {
    use ValidationErrorKind as Kind;
    let found = error.instance();
    let is_like = |other: &Value| std::mem::discriminant(other) == std::mem::discriminant(&**found);
    let kind = error.kind();
    if matches!(kind, Kind::Required { .. }) {
        return ArgumentFit::Missing;
    }
    if matches!(kind, Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. } | Kind::FalseSchema) {
        return ArgumentFit::Extra;
    }
    let is_mistyped = if let Kind::Enum { options } = kind {
        !options.as_array().is_some_and(|options| options.iter().any(is_like))
    } else if let Kind::Constant { expected_value } = kind {
        !is_like(expected_value)
    } else {
        matches!(kind, Kind::Type { .. } | Kind::AnyOf { .. } | Kind::OneOfNotValid { .. })
    };
    if is_mistyped { ArgumentFit::Mistyped } else { ArgumentFit::OutOfRange }
}

/// Arguments with texts read as what they spell, and without those that are null.
fn spelled_out(arguments: &Value) -> Value {
    match arguments {
        Value::Object(members) => members
            .iter()
            .filter(|(_, member)| !member.is_null())
            .map(|(name, member)| (name.clone(), spelled_out(member)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| arguments.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => arguments.clone(),
    }
}

/// The tool takes something away, by its name.
pub(crate) fn is_deleting(tool: &Tool, catalog: &Catalog) -> bool {
    is(catalog, tool, ToolKind::Deleting)
}

/// The tool of that name is of one of those kinds.
pub(crate) fn is_kind(catalog: &Catalog, name: &str, wanted: &[ToolKind]) -> bool {
    let Some(tool) = catalog.tool(name) else { return wanted.contains(&ToolKind::Unknown) };
    wanted.iter().any(|kind| is(catalog, tool, *kind))
}

pub(crate) fn is(catalog: &Catalog, tool: &Tool, kind: ToolKind) -> bool {
    let reads = tool.raw["annotations"]["readOnlyHint"].as_bool();
    match kind {
        ToolKind::Known => true,
        ToolKind::Unknown => false,
        ToolKind::ReadOnly => reads == Some(true),
        ToolKind::Reading => tool.only_reads(),
        ToolKind::ReadsStored => {
            let is_written = |thing: &String| catalog.tools.iter().any(|other| writes(other).contains(thing));
            tool.only_reads() && things(&tool.name).iter().any(is_written)
        }
        ToolKind::Mutating => reads != Some(true),
        ToolKind::Writing => tool.writes(),
        ToolKind::Adding => reads != Some(true) && starts_with(&tool.name, &ADDS),
        ToolKind::Deleting => reads != Some(true) && is_deleting_name(&tool.name),
        ToolKind::Listing => returns_list(tool),
    }
}

/// The things that a tool writes, by its name.
fn writes(tool: &Tool) -> Vec<String> {
    if tool.only_reads() { Vec::new() } else { things(&tool.name) }
}

/// The things that the name of a tool is about, each in the singular: all words after the verb.
fn things(name: &str) -> Vec<String> {
    words(name).iter().skip(1).map(|word| singular(word)).collect()
}

/// Verbs that add something each time they are obeyed.
const ADDS: [&str; 8] = ["create", "append", "insert", "post", "send", "increment", "push", "book"];

/// Verbs that take something away.
const DELETES: [&str; 11] =
    ["cancel", "clear", "delete", "destroy", "discard", "drop", "erase", "purge", "remove", "revoke", "unlink"];

/// A tool of that name deletes something, by its name.
pub(crate) fn is_deleting_name(name: &str) -> bool {
    starts_with(name, &DELETES)
}

/// Verbs of tools that return several things.
const LISTS: [&str; 4] = ["find", "list", "query", "search"];

/// The results of a tool have a list at their top: one of objects, or, if its name says that it lists things, any.
fn returns_list(tool: &Tool) -> bool {
    let is_named = starts_with(&tool.name, &LISTS);
    let Some(schema) = tool.output_schema() else { return is_named && tool.only_reads() };
    let content = fullest(schema);
    let mut lists = content.as_object().into_iter().flatten().filter_map(|(_, member)| member.as_array());
    lists.any(|items| is_named || items.iter().any(Value::is_object))
}

/// A name such as `create_user` or `createUser` begins with one of the verbs.
fn starts_with(name: &str, verbs: &[&str]) -> bool {
    let words = words(name);
    // A verb alone may well be a noun: `book` and `post` need something that they are done to.
    words.len() > 1 && verbs.contains(&words[0].as_str())
}
