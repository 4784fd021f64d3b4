//! Blocks of content, and the contents of resources.

use serde_json::Value;

use super::super::super::format::{is_base64, is_media_type, is_uri};
use super::super::look::MessageCheck;
use super::super::table::ScanRule;
use super::{AnsweredRequest, items, shown};
use crate::wire::Members;

/// Judges the content of a result.
pub(super) fn judge(look: &mut MessageCheck<'_>, AnsweredRequest { asked, result }: AnsweredRequest<'_>) {
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
                format!("the `data` of a block of type `{kind}` is not base64: {}", shown(data))
            });
            let media = block.member("mimeType");
            look.require(ScanRule::BadMediaType, media.and_then(Value::as_str).is_some_and(is_media_type), || {
                format!("the `mimeType` of a block of type `{kind}` is not a media type: {}", shown(media))
            });
        }
        "resource" => {
            judge_contents(look, &block["resource"]);
            address(look, block["resource"].member("uri"));
        }
        "resource_link" => address(look, block.member("uri")),
        _ => {}
    }
}

fn judge_contents(look: &mut MessageCheck<'_>, contents: &Value) {
    let uri = contents.member("uri");
    look.require(ScanRule::BadResource, uri.is_some_and(Value::is_string), || {
        format!("the contents of a resource must have a `uri`, these have {}", shown(uri))
    });
    let is_filled = contents["text"].is_string() || contents.member("blob").is_some();
    look.require(ScanRule::BadResource, is_filled, || {
        format!("the contents of a resource must have a `text` or a `blob`: {}", shown(Some(contents)))
    });
    if let Some(blob) = contents.member("blob") {
        look.require(ScanRule::BadBase64, blob.as_str().is_some_and(is_base64), || {
            format!("the `blob` of a resource is not base64: {}", shown(Some(blob)))
        });
    }
}

/// Judges the address of a resource; one that is missing is judged elsewhere.
pub(super) fn address(look: &mut MessageCheck<'_>, uri: Option<&Value>) {
    let Some(uri) = uri.and_then(Value::as_str) else { return };
    look.require(ScanRule::BadUri, is_uri(uri), || format!("a resource is named by `{uri}`, which is not a URI"));
}
