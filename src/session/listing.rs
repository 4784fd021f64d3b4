//! Lists with all their pages.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::handshake::NOBODY;
use super::{CallFailure, Failure, Reply, Request, Session};
use crate::wire::{Catalog, ListKind, Tool};

/// How many pages a list may have.
const MOST_PAGES: usize = 1000;

/// A list with all its pages.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The items of all pages.
    pub items: Vec<Value>,
    /// The last page's reply; its message holds all items, so that expectations see one list.
    pub reply: Reply,
}

impl Session {
    /// Follows a list to its end for a case; a cursor that comes back is a failure.
    ///
    /// An error answer ends the list and is returned as the reply, without items.
    pub async fn list(&self, owner: &str, kind: ListKind) -> Result<Listing, CallFailure> {
        let mut items: Vec<Value> = Vec::new();
        let mut cursors = BTreeSet::new();
        let mut cursor: Option<Value> = None;
        for _ in 0..MOST_PAGES {
            let params = cursor.as_ref().map(|cursor| json!({"cursor": cursor}));
            let request = Request { owner, method: kind.method(), params, timeout: None, progress: false };
            let reply = self.request(request).await?;
            let result = &reply.message["result"];
            items.extend(result[kind.member()].as_array().cloned().unwrap_or_default());
            match result.get("nextCursor").filter(|next| !next.is_null()).cloned() {
                None => return Ok(whole(items, kind, reply)),
                Some(next) if cursors.insert(next.to_string()) => cursor = Some(next),
                Some(next) => {
                    let reason = format!("`{}` never ends: the cursor {next} came back", kind.method());
                    return Err(self.broken(kind, reason, reply.answer_frame));
                }
            }
        }
        let reason = format!("`{}` has more than {MOST_PAGES} pages", kind.method());
        Err(self.broken(kind, reason, 0))
    }

    fn broken(&self, kind: ListKind, reason: String, frame: u32) -> CallFailure {
        let failure = self.peer.lock().failure(Failure::Protocol(reason), Some(frame));
        CallFailure { method: kind.method().to_owned(), ..failure }
    }
}

fn whole(items: Vec<Value>, kind: ListKind, reply: Reply) -> Listing {
    // What is no object has no place for items, and is for others to judge.
    if !reply.message["result"].is_object() {
        return Listing { items, reply };
    }
    let mut message = (*reply.message).clone();
    message["result"][kind.member()] = Value::Array(items.clone());
    if let Some(result) = message["result"].as_object_mut() {
        result.shift_remove("nextCursor");
    }
    Listing { items, reply: Reply { message: message.into(), ..reply } }
}

/// Everything that the server says it offers; lists that it does not promise are not asked for.
///
/// Tools that it promises and does not list are a failure; a refusal of another list leaves that list empty.
pub(super) async fn catalog(session: &Session) -> Result<Catalog, CallFailure> {
    let list = async |kind: ListKind| -> Result<(Vec<Value>, Option<u32>), CallFailure> {
        if session.server.capabilities.get(kind.capability()).is_none() {
            return Ok((Vec::new(), None));
        }
        let listing = session.list(NOBODY, kind).await?;
        // Without its tools nothing could be judged, and nothing would look wrong.
        if let Some(error) = listing.reply.message.get("error").filter(|_| kind == ListKind::Tools) {
            let reason = format!("`tools/list` is refused, although the server says that it has tools: {error}");
            return Err(session.broken(kind, reason, listing.reply.answer_frame));
        }
        Ok((listing.items, Some(listing.reply.answer_frame)))
    };
    let (tools, resources, resource_templates, prompts) = tokio::try_join!(
        list(ListKind::Tools),
        list(ListKind::Resources),
        list(ListKind::ResourceTemplates),
        list(ListKind::Prompts)
    )?;
    Ok(Catalog {
        tools: tools.0.into_iter().map(Tool::new).collect(),
        resources: resources.0,
        resource_templates: resource_templates.0,
        prompts: prompts.0,
        tools_frame: tools.1,
    })
}
