//! Lists with all their pages, as far as they end.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::{CallFailure, FailureReason, Session, SessionReply, SessionRequest};
use crate::source::duration_text;
use crate::transport::Owner;
use crate::wire::{Catalog, ListKind, Tool, value_memory};

/// The number of pages of a list.
const MOST_PAGES: usize = 1000;

/// The memory of the items of a list, estimated.
const MOST_HELD: usize = 64 << 20;

/// The bytes of all cursors of a list together.
const MOST_CURSORS: usize = 1 << 20;

/// The time for a whole list, as a multiple of that for one request.
const LIST_FACTOR: u32 = 6;

/// The time for a whole list, where so much is for one request.
pub fn time_for_list(request_timeout: Duration) -> Duration {
    request_timeout.saturating_mul(LIST_FACTOR)
}

/// The pages of a list so far.
#[derive(Debug, Default)]
pub struct ListPages {
    count: usize,
    items: Vec<Value>,
    held: usize,
    cursors: BTreeSet<String>,
    cursor_bytes: usize,
}

impl Session {
    /// Follows a list to its end for a case; the last page's reply is returned, with the items of all pages, so that
    /// expectations see one list. A list without an end is a failure.
    ///
    /// An error answer ends the list and is the reply.
    pub async fn list(&self, owner: &Owner, kind: ListKind) -> Result<SessionReply, CallFailure> {
        let (items, reply) = self.pages(owner, kind).await?;
        // A result that is no object has no items; other checks judge it.
        if !reply.message["result"].is_object() {
            return Ok(reply);
        }
        let mut message = without_items(&reply.message, kind);
        message["result"][kind.member()] = Value::Array(items);
        if let Some(result) = message["result"].as_object_mut() {
            result.shift_remove("nextCursor");
        }
        Ok(SessionReply { message: message.into(), ..reply })
    }

    /// The items of all pages, and the reply with the last of them.
    async fn pages(&self, owner: &Owner, kind: ListKind) -> Result<(Vec<Value>, SessionReply), CallFailure> {
        let limit = time_for_list(self.settings.request_timeout);
        let mut pages = ListPages::default();
        let Ok(followed) = timeout(limit, self.follow(owner, kind, &mut pages)).await else {
            let reason = format!(
                "`{}` has no end within {}: after page {} there is another one",
                kind.method(),
                duration_text(limit),
                pages.count
            );
            return Err(self.broken(kind, reason, 0));
        };
        followed.map(|reply| (pages.items, reply))
    }

    async fn follow(&self, owner: &Owner, kind: ListKind, pages: &mut ListPages) -> Result<SessionReply, CallFailure> {
        let mut cursor: Option<Value> = None;
        loop {
            let params = cursor.take().map(|cursor| json!({"cursor": cursor}));
            let request = SessionRequest { owner, method: kind.method(), params, timeout: None, progress: false };
            let reply = self.request(request).await?;
            match pages.take(&reply.message["result"], kind) {
                Ok(None) => return Ok(reply),
                Ok(next) => cursor = next,
                Err(reason) => {
                    let reason = format!("`{}` {reason}", kind.method());
                    return Err(self.broken(kind, reason, reply.answer_frame));
                }
            }
        }
    }

    fn broken(&self, kind: ListKind, reason: String, frame: u32) -> CallFailure {
        let frame = Some(frame).filter(|frame| *frame > 0);
        self.peer.lock().failure(FailureReason::Protocol(reason), kind.method(), frame)
    }
}

impl ListPages {
    /// Takes in a page; returns the cursor of the next one.
    ///
    /// # Errors
    ///
    /// Fails where the list has no end, or more of it than anybody reads; says which.
    pub fn take(&mut self, result: &Value, kind: ListKind) -> Result<Option<Value>, String> {
        self.count += 1;
        let items = result[kind.member()].as_array().map_or(&[][..], Vec::as_slice);
        self.held += items.iter().map(value_memory).sum::<usize>();
        if self.held > MOST_HELD {
            let (entries, pages) = (self.items.len() + items.len(), self.count);
            let mebibytes = MOST_HELD >> 20;
            return Err(format!(
                "is too long: the {entries} entries up to page {pages} take more than {mebibytes} MiB"
            ));
        }
        self.items.extend_from_slice(items);
        let Some(next) = result.get("nextCursor").filter(|next| !next.is_null()) else { return Ok(None) };
        let written = next.to_string();
        self.cursor_bytes += written.len();
        if self.cursor_bytes > MOST_CURSORS {
            return Err(format!("never ends: the cursors up to page {} have more than 1 MiB", self.count));
        }
        if self.cursors.contains(&written) {
            return Err(format!("never ends: the cursor {next} came back"));
        }
        if self.count >= MOST_PAGES {
            return Err(format!("has more than {MOST_PAGES} pages"));
        }
        self.cursors.insert(written);
        Ok(Some(next.clone()))
    }
}

/// A copy of a message without the items of its page.
fn without_items(message: &Value, kind: ListKind) -> Value {
    let copy = |value: &Value, left_out: &str| -> Map<String, Value> {
        let keep = |(name, value): (&String, &Value)| {
            (name.clone(), if name == left_out { Value::Null } else { value.clone() })
        };
        value.as_object().into_iter().flatten().map(keep).collect()
    };
    let mut whole = copy(message, "result");
    whole.insert("result".to_owned(), copy(&message["result"], kind.member()).into());
    whole.into()
}

/// Everything that the server says it offers; lists that it does not promise are not asked for.
///
/// Tools that it promises and does not list are a failure; a refusal of another list leaves that list empty.
pub(crate) async fn catalog(session: &Session) -> Result<Catalog, CallFailure> {
    let list = async |kind: ListKind| -> Result<(Vec<Value>, Option<u32>), CallFailure> {
        if session.server.capabilities.get(kind.capability()).is_none() {
            return Ok((Vec::new(), None));
        }
        let (items, reply) = session.pages(&Owner::Session, kind).await?;
        // Without its tools nothing could be judged, and nothing would look wrong.
        if let Some(error) = reply.message.get("error").filter(|_| kind == ListKind::Tools) {
            let reason = format!("`tools/list` is refused, although the server says that it has tools: {error}");
            return Err(session.broken(kind, reason, reply.answer_frame));
        }
        Ok((items, Some(reply.answer_frame)))
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
