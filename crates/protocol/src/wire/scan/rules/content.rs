//! The contents of results: blocks, resources and their addresses, and the keys of `_meta`.

use serde_json::Value;

use super::super::look::MessageCheck;
use super::super::table::ScanRule;
use super::{AnsweredRequest, items, quote};
use crate::wire::Members;
use crate::wire::format::{is_base64, is_media_type, is_uri, is_uri_template};

/// Judges the content of a result.
pub(crate) fn judge(look: &mut MessageCheck<'_>, AnsweredRequest { asked, result }: AnsweredRequest<'_>) {
    match asked.method {
        "tools/call" | "tasks/result" => items(result, "content").for_each(|block| judge_block(look, block)),
        "prompts/get" => {
            items(result, "messages").for_each(|message| judge_block(look, &message["content"]));
        }
        "resources/read" => items(result, "contents").for_each(|contents| judge_contents(look, contents)),
        _ => {}
    }
}

fn judge_block(look: &mut MessageCheck<'_>, block: &Value) {
    let kind = block["type"].as_str().unwrap_or_default();
    match kind {
        "image" | "audio" => {
            let data = block.member("data");
            look.require(ScanRule::BadBase64, data.and_then(Value::as_str).is_some_and(is_base64), || {
                format!("the `data` of a block of type `{kind}` is not base64: {}", quote(data))
            });
            let media = block.member("mimeType");
            look.require(ScanRule::BadMediaType, media.and_then(Value::as_str).is_some_and(is_media_type), || {
                format!("the `mimeType` of a block of type `{kind}` is not a media type: {}", quote(media))
            });
        }
        "resource" => {
            judge_contents(look, &block["resource"]);
            judge_address(look, block["resource"].member("uri"));
        }
        "resource_link" => judge_address(look, block.member("uri")),
        _ => {}
    }
}

fn judge_contents(look: &mut MessageCheck<'_>, contents: &Value) {
    let uri = contents.member("uri");
    look.require(ScanRule::BadResource, uri.is_some_and(Value::is_string), || {
        format!("the contents of a resource must have a `uri`, these have {}", quote(uri))
    });
    let is_filled = contents["text"].is_string() || contents.member("blob").is_some();
    look.require(ScanRule::BadResource, is_filled, || {
        format!("the contents of a resource must have a `text` or a `blob`: {}", quote(Some(contents)))
    });
    if let Some(blob) = contents.member("blob") {
        look.require(ScanRule::BadBase64, blob.as_str().is_some_and(is_base64), || {
            format!("the `blob` of a resource is not base64: {}", quote(Some(blob)))
        });
    }
}

/// Judges the address of a resource; one that is missing is judged elsewhere.
fn judge_address(look: &mut MessageCheck<'_>, uri: Option<&Value>) {
    let Some(uri) = uri.and_then(Value::as_str) else { return };
    look.require(ScanRule::BadUri, is_uri(uri), || format!("a resource is named by `{uri}`, which is not a URI"));
}

/// Judges the addresses of a list.
pub(crate) fn judge_addresses(look: &mut MessageCheck<'_>, AnsweredRequest { asked, result }: AnsweredRequest<'_>) {
    match asked.method {
        "resources/list" => items(result, "resources").for_each(|resource| judge_address(look, resource.member("uri"))),
        "resources/templates/list" => {
            let listed = items(result, "resourceTemplates").filter_map(|one| one.member("uriTemplate"));
            for template in listed.filter_map(Value::as_str) {
                look.require(ScanRule::BadUriTemplate, is_uri_template(template), || {
                    format!("a resource template is `{template}`, which is not a URI template")
                });
            }
        }
        _ => {}
    }
}

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
