//! The server itself: who it is, what it can do, which revision it speaks, in which order it lists things.

use serde_json::{Map, Value};

use super::Versions;
use super::change::{ChangeLevel, ServerChange};
use super::subject::names;
use super::{Recorded, RecordedIdentity};
use crate::wire::Revision;

pub(crate) fn compare(before: &Recorded, after: &Recorded) -> Vec<ServerChange> {
    let mut found = Vec::new();
    let (old, new) = (&before.server, &after.server);
    revision(old, new, &mut found);
    words(old, new, &mut found);
    capabilities(Versions { old: &old.capabilities, new: &new.capabilities }, "server/capabilities", &mut found);
    for (list, old, new) in [("tools", &before.tools, &after.tools), ("prompts", &before.prompts, &after.prompts)] {
        let order = |items: &[Value], others: &[Value]| {
            let kept = names(items, &[], "name");
            kept.into_iter().filter(|name| others.iter().any(|other| other["name"] == *name)).collect::<Vec<_>>()
        };
        if order(old, new) != order(new, old) {
            let says = format!("the order of the {list} changed");
            found.push(ServerChange::cosmetic("order-changed", list, says));
        }
    }
    found
}

fn revision(old: &RecordedIdentity, new: &RecordedIdentity, found: &mut Vec<ServerChange>) {
    if old.revision == new.revision {
        return;
    }
    let is_newer = Revision::parse(&new.revision) > Revision::parse(&old.revision);
    let level = if is_newer { ChangeLevel::Compatible } else { ChangeLevel::Breaking };
    let says = format!("the protocol revision changed from {} to {}", old.revision, new.revision);
    let (old, new) = (Value::from(old.revision.as_str()), Value::from(new.revision.as_str()));
    found.push(
        ServerChange::new(level, "revision-changed", "server/revision", says).with_values(Some(&old), Some(&new)),
    );
}

fn words(old: &RecordedIdentity, new: &RecordedIdentity, found: &mut Vec<ServerChange>) {
    let empty = Map::new();
    let (was, is) = (&old.implementation, &new.implementation);
    let (was, is) = (was.as_object().unwrap_or(&empty), is.as_object().unwrap_or(&empty));
    for key in was.keys().chain(is.keys().filter(|key| !was.contains_key(*key))) {
        if was.get(key) != is.get(key) {
            let says = format!("the server's {key} changed");
            let change = ServerChange::cosmetic("description-changed", format!("server/{key}"), says);
            found.push(change.with_values(was.get(key), is.get(key)));
        }
    }
    if old.instructions != new.instructions {
        let [was, is] = [old, new].map(|identity| identity.instructions.as_deref().map(Value::from));
        let says = "the server's instructions changed";
        let change = ServerChange::cosmetic("description-changed", "server/instructions", says);
        found.push(change.with_values(was.as_ref(), is.as_ref()));
    }
}

/// A capability that is missing or false is not offered.
fn capabilities(Versions { old, new }: Versions<'_>, at: &str, found: &mut Vec<ServerChange>) {
    let empty = Map::new();
    let (was, is) = (old.as_object().unwrap_or(&empty), new.as_object().unwrap_or(&empty));
    for key in was.keys().chain(is.keys().filter(|key| !was.contains_key(*key))) {
        let at = format!("{at}/{key}");
        let can = |value: Option<&Value>| value.is_some_and(|value| !value.is_null() && *value != Value::Bool(false));
        let name = at.trim_start_matches("server/capabilities/").replace('/', ".");
        match (was.get(key), is.get(key)) {
            (old, new) if can(old) && !can(new) => {
                let says = format!("the server no longer has the capability `{name}`");
                found.push(ServerChange::breaking("capability-removed", at, says).with_values(old, new));
            }
            (old, new) if !can(old) && can(new) => {
                let says = format!("the server has the new capability `{name}`");
                found.push(ServerChange::compatible("capability-added", at, says).with_values(old, new));
            }
            (Some(old), Some(new)) => capabilities(Versions { old, new }, &at, found),
            _ => {}
        }
    }
}
