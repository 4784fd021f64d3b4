//! Names in messages: the keys of `_meta`, and the ids of extensions.

use serde_json::Value;

use super::super::look::MessageCheck;
use super::super::table::ScanRule;
use super::{AnsweredRequest, items, quote};
use crate::wire::Members;

/// Judges the `_meta` of an object.
pub(crate) fn judge_meta(look: &mut MessageCheck<'_>, holder: &Value) {
    let Some(meta) = holder.member("_meta").and_then(Value::as_object) else { return };
    for key in meta.keys() {
        look.require(ScanRule::BadMetaKey, is_key(key), || {
            format!("the key `{key}` of a `_meta` is neither a name nor a prefix of labels, a slash and a name")
        });
    }
}

/// Judges a result and whatever in it may have `_meta` of its own.
pub(crate) fn judge_result_meta(look: &mut MessageCheck<'_>, AnsweredRequest { asked, result }: AnsweredRequest<'_>) {
    judge_meta(look, result);
    let list = match asked.method {
        "tools/list" => "tools",
        "prompts/list" => "prompts",
        "resources/list" => "resources",
        "resources/templates/list" => "resourceTemplates",
        "resources/read" => "contents",
        "tools/call" | "tasks/result" => "content",
        "prompts/get" => "messages",
        _ => return,
    };
    for item in items(result, list) {
        judge_meta(look, item);
        for inner in [item.member("content"), item.member("resource")].into_iter().flatten() {
            judge_meta(look, inner);
        }
    }
}

/// Judges the extensions among the capabilities of a server.
pub(crate) fn judge_extensions(look: &mut MessageCheck<'_>, capabilities: &Value) {
    for id in capabilities["extensions"].as_object().into_iter().flat_map(|extensions| extensions.keys()) {
        look.require(ScanRule::BadExtensionId, id.contains('/') && is_key(id), || {
            format!("the extension {} must be named by a prefix, a slash and a name", quote(Some(&id.as_str().into())))
        });
    }
}

fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => prefix.split('.').all(is_label) && is_name(name),
        None => is_name(key),
    }
}

/// Letters may be those of any alphabet, for the grammar does not say.
fn is_label(label: &str) -> bool {
    label.starts_with(char::is_alphabetic)
        && label.ends_with(char::is_alphanumeric)
        && label.chars().all(|c| c.is_alphanumeric() || c == '-')
}

fn is_name(name: &str) -> bool {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    let is_inner = |c: char| is_end(c) || matches!(c, '-' | '_' | '.');
    name.is_empty() || name.starts_with(is_end) && name.ends_with(is_end) && name.chars().all(is_inner)
}
