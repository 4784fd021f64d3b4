//! Questions to the user: what they must carry, and what is told of them later.

use serde_json::Value;

use super::super::super::Revision;
use super::super::super::format::is_uri;
use super::super::look::MessageCheck;
use super::super::memory::{MAX_NAMES, SessionMemory};
use super::super::table::ScanRule;
use super::shown;
use crate::wire::Members;

/// The error that asks for elicitations by URL.
pub(super) const URL_REQUIRED: i64 = -32042;

/// Judges the parameters of `elicitation/create`; without a memory they come inside a result.
pub(super) fn judge(look: &mut MessageCheck<'_>, memory: Option<&mut SessionMemory>, params: &Value) {
    let message = params.member("message");
    look.require(ScanRule::IncompleteElicitation, message.is_some_and(Value::is_string), || {
        format!("an elicitation must have a `message`, this one has {}", shown(message))
    });
    if params["mode"] == "url" && look.revision >= Revision::V2025_11_25 {
        return by_url(look, memory, params);
    }
    let is_form = params.member("mode").is_none_or(|mode| mode == "form");
    let schema = params.member("requestedSchema");
    look.require(ScanRule::IncompleteElicitation, !is_form || schema.is_some_and(Value::is_object), || {
        format!("an elicitation by form must have a `requestedSchema`, this one has {}", shown(schema))
    });
}

fn by_url(look: &mut MessageCheck<'_>, memory: Option<&mut SessionMemory>, params: &Value) {
    let (url, id) = (params.member("url"), params.member("elicitationId"));
    look.require(ScanRule::IncompleteUrlElicitation, url.and_then(Value::as_str).is_some_and(is_uri), || {
        format!("an elicitation by URL must have a valid `url`, this one has {}", shown(url))
    });
    // Since 2026-07-28 nothing refers to it.
    if look.revision == Revision::V2025_11_25 {
        look.require(ScanRule::IncompleteUrlElicitation, id.is_some_and(Value::is_string), || {
            format!("an elicitation by URL must have an `elicitationId`, this one has {}", shown(id))
        });
    }
    if let Some(memory) = memory {
        remember(memory, id);
    }
}

fn remember(memory: &mut SessionMemory, id: Option<&Value>) {
    if let Some(id) = id.and_then(Value::as_str).filter(|_| memory.elicitations.len() < MAX_NAMES) {
        memory.elicitations.insert(id.into());
    }
}

/// Judges an error that asks for elicitations by URL.
pub(super) fn required(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, error: &Value) {
    let list = error.pointer("/data/elicitations").and_then(Value::as_array);
    let is_right = |one: &Value| one["mode"] == "url" && one["elicitationId"].is_string();
    let is_whole = list.is_some_and(|list| !list.is_empty() && list.iter().all(is_right));
    look.require(ScanRule::BadUrlRequired, is_whole, || {
        let found = error.pointer("/data/elicitations");
        format!("the error -32042 must list URL elicitations with an `elicitationId`, it has {}", shown(found))
    });
    list.into_iter().flatten().for_each(|one| remember(memory, one.member("elicitationId")));
}

/// Judges the news that an elicitation is complete.
pub(super) fn completed(look: &mut MessageCheck<'_>, memory: &SessionMemory, params: &Value) {
    let id = params.member("elicitationId");
    let is_full = memory.elicitations.len() >= MAX_NAMES;
    let is_known = id.and_then(Value::as_str).is_some_and(|id| is_full || memory.elicitations.contains(id));
    look.require(ScanRule::UnknownElicitation, is_known, || {
        format!(
            "`notifications/elicitation/complete` names the elicitation {}, which the server never requested",
            shown(id)
        )
    });
}
