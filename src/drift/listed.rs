//! Prompts, resources and resource templates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::change::{ChangeLevel, ServerChange};
use super::subject::{item, names};
use super::{Recorded, Versions};

/// Compares one prompt.
pub(crate) fn prompt(name: &str, before: &Recorded, after: &Recorded) -> Vec<ServerChange> {
    let at = format!("prompts/{name}");
    let [old, new] = [before, after].map(|recorded| item(&recorded.prompts, "name", name));
    match (old, new) {
        (Some(old), Some(new)) => {
            let mut found = arguments(name, old, new);
            found.extend(words(Versions { old, new }, &at, &["name", "arguments"]));
            found
        }
        (Some(_), None) => {
            vec![ServerChange::breaking("prompt-removed", at, format!("the prompt `{name}` was removed"))]
        }
        (None, _) => vec![ServerChange::compatible("prompt-added", at, format!("the prompt `{name}` was added"))],
    }
}

fn arguments(prompt: &str, old: &Value, new: &Value) -> Vec<ServerChange> {
    static NONE: Vec<Value> = Vec::new();
    let [was, is] = [old, new].map(|prompt| prompt["arguments"].as_array().unwrap_or(&NONE));
    let mut found = Vec::new();
    for name in names(was, is, "name") {
        let at = format!("prompts/{prompt}/{name}");
        let [old, new] = [was, is].map(|arguments| item(arguments, "name", &name));
        let required = |argument: Option<&Value>| argument.map(|argument| argument["required"] == Value::Bool(true));
        let (level, says) = match (required(old), required(new)) {
            (Some(_), None) => {
                (ChangeLevel::Breaking, format!("the prompt `{prompt}` no longer accepts the argument `{name}`"))
            }
            (None, Some(true)) => {
                (ChangeLevel::Breaking, format!("the prompt `{prompt}` requires the new argument `{name}`"))
            }
            (None, _) => (ChangeLevel::Compatible, format!("the prompt `{prompt}` accepts the new argument `{name}`")),
            (Some(false), Some(true)) => {
                (ChangeLevel::Breaking, format!("the prompt `{prompt}` now requires the argument `{name}`"))
            }
            (Some(true), Some(false)) => {
                (ChangeLevel::Compatible, format!("the prompt `{prompt}` no longer requires the argument `{name}`"))
            }
            (Some(_), Some(_)) => {
                found.extend(
                    old.zip(new)
                        .into_iter()
                        .flat_map(|(old, new)| words(Versions { old, new }, &at, &["name", "required"])),
                );
                continue;
            }
        };
        found.push(ServerChange::new(level, "prompt-argument-changed", at, says).with_values(old, new));
    }
    found
}

/// Compares resources and templates.
pub(crate) fn resources(before: &Recorded, after: &Recorded) -> Vec<ServerChange> {
    let mut found = Vec::new();
    for (noun, list, member, old, new) in [
        ("resource", "resources", "uri", &before.resources, &after.resources),
        ("resource template", "templates", "uriTemplate", &before.resource_templates, &after.resource_templates),
    ] {
        for address in names(old, new, member) {
            let at = format!("{list}/{address}");
            match (item(old, member, &address), item(new, member, &address)) {
                (Some(was), Some(is)) => found.extend(resource(Versions { old: was, new: is }, &at, member)),
                (Some(was), None) => {
                    let says = format!("the {noun} `{address}` was removed");
                    let help = new_address(was, old, new, member);
                    found.push(ServerChange::breaking("resource-removed", at, says).with_help(help));
                }
                (None, _) => {
                    let says = format!("the {noun} `{address}` was added");
                    found.push(ServerChange::compatible("resource-added", at, says));
                }
            }
        }
    }
    found
}

/// The new address of a resource of the same name.
fn new_address(was: &Value, old: &[Value], new: &[Value], member: &str) -> Option<String> {
    let known: BTreeSet<&str> = old.iter().filter_map(|item| item[member].as_str()).collect();
    let is_same = |item: &&Value| {
        item["name"].is_string()
            && item["name"] == was["name"]
            && item[member].as_str().is_some_and(|address| !known.contains(address))
    };
    let found = new.iter().find(is_same)?;
    Some(format!("moved to `{}`?", found[member].as_str().unwrap_or_default()))
}

fn resource(Versions { old, new }: Versions<'_>, at: &str, member: &str) -> Vec<ServerChange> {
    let mut found = Vec::new();
    let [was, is] = [old, new].map(|resource| resource["mimeType"].as_str());
    if let (Some(was), is) = (was, is)
        && Some(was) != is
    {
        let says =
            format!("its MIME type changed from `{was}` to {}", is.map_or("none".to_owned(), |is| format!("`{is}`")));
        let change = ServerChange::breaking("resource-changed", format!("{at}/mimeType"), says);
        found.push(change.with_values(old.get("mimeType"), new.get("mimeType")));
    }
    // The size of a resource and the time of its last change belong to its content.
    found.extend(words(Versions { old, new }, at, &[member, "mimeType", "size", "annotations"]));
    found
}

/// One cosmetic change for every member beside those that differs.
pub(crate) fn words(Versions { old, new }: Versions<'_>, at: &str, others: &[&str]) -> Vec<ServerChange> {
    let keys = |value: &Value| value.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>());
    let keys: BTreeSet<String> = [old, new].into_iter().filter_map(keys).flatten().collect();
    let differs = keys.into_iter().filter(|key| !others.contains(&key.as_str()) && old.get(key) != new.get(key));
    differs
        .map(|key| {
            let says = format!("its {key} changed");
            ServerChange::cosmetic("description-changed", format!("{at}/{key}"), says)
                .with_values(old.get(&key), new.get(&key))
        })
        .collect()
}
