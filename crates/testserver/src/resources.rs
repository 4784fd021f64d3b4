//! The resources: all users at `users://all`, and each at `users://{id}`.

use rmcp::model::{ArgumentInfo, CompletionInfo, ErrorData, ReadResourceResult, ResourceContents};
use serde_json::{Value, json};

use super::store::{Store, User};

const SCHEME: &str = "users://";
const ALL: &str = "users://all";
const ONE: &str = "users://{id}";
const MIME_TYPE: &str = "application/json";

/// The content of the resource at `uri`.
pub(crate) fn read(store: &Store, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let found: Option<Value> = match uri {
        ALL => Some(store.all().map(User::to_json).collect()),
        _ => uri.strip_prefix(SCHEME).and_then(|id| store.find(id)).map(User::to_json),
    };
    let Some(found) = found else {
        return Err(ErrorData::resource_not_found(
            format!("no resource has the uri `{uri}`; read `{ALL}` to see the users that exist"),
            Some(json!({ "uri": uri })),
        ));
    };
    let contents = ResourceContents::text(found.to_string(), uri).with_mime_type(MIME_TYPE);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// Ids of users that begin with what is typed.
pub(crate) fn complete(store: &Store, template: &str, argument: &ArgumentInfo) -> Result<CompletionInfo, ErrorData> {
    if template != ONE {
        let message = format!("no resource template is `{template}`; the only one is `{ONE}`");
        return Err(ErrorData::invalid_params(message, None));
    }
    if argument.name != "id" {
        let message = format!("the template `{ONE}` has no variable `{}`; the only one is `id`", argument.name);
        return Err(ErrorData::invalid_params(message, None));
    }
    Ok(suggest(store.all().map(|user| user.id.as_str()), &argument.value))
}

/// The candidates that begin with `typed`, as many as an answer may hold.
pub(crate) fn suggest<'a>(candidates: impl Iterator<Item = &'a str>, typed: &str) -> CompletionInfo {
    let fitting: Vec<&str> = candidates.filter(|candidate| candidate.starts_with(typed)).collect();
    let mut completion = CompletionInfo::default();
    completion.values = fitting.iter().take(CompletionInfo::MAX_VALUES).map(ToString::to_string).collect();
    completion.total = u32::try_from(fitting.len()).ok();
    completion.has_more = Some(fitting.len() > CompletionInfo::MAX_VALUES);
    completion
}
