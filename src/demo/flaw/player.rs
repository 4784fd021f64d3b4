//! Applies the edits of a flaw while its server runs: matches messages, counts matches and remembers earlier messages.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::change::{ChangedMessage, say, value};
use super::condition::{FlawCondition, Response};
use super::events::Event;
use super::message::Incoming;
use super::{EventId, Flaw, FlawEdit};
use crate::source::Node;
use crate::source::template::{Names, text_of};

/// Applies one flaw to all conversations of a server.
pub(in crate::demo) struct FlawPlayer {
    flaw: Flaw,
    memory: Mutex<FlawMemory>,
}

#[derive(Default)]
struct FlawMemory {
    conversations: u64,
    /// How often each edit met what it is about, by scope.
    counts: BTreeMap<(usize, String), u64>,
    /// The last request and answer of each method, by scope.
    earlier: BTreeMap<String, Map<String, Value>>,
    listening: Vec<(String, mpsc::UnboundedSender<Vec<u8>>)>,
}

/// A message from the client, with the edits that match it.
pub(super) struct Exchange {
    pub(super) incoming: Incoming,
    matched: Vec<MatchedEdit>,
}

/// An edit that matches.
struct MatchedEdit {
    edit: usize,
    /// How often it matched; unknown as long as it depends on the answer.
    count: Option<u64>,
}

impl FlawPlayer {
    /// Nothing was said yet.
    pub(in crate::demo) fn new(flaw: Flaw) -> Self {
        Self { flaw, memory: Mutex::default() }
    }

    /// The scope of another conversation over streams.
    pub(super) fn conversation(&self) -> String {
        let mut memory = self.memory();
        memory.conversations += 1;
        format!("conversation {}", memory.conversations)
    }

    /// Finds the edits that match a message from the client.
    pub(super) fn match_edits(&self, incoming: Incoming) -> Exchange {
        let edits = self.flaw.edits.iter().enumerate();
        let about = edits.filter(|(_, edit)| edit.on.sends.is_empty() && edit.on.may_hold(&incoming));
        let matched = about.filter_map(|(at, edit)| {
            let count = match edit.on.answer {
                Some(_) => None,
                None => Some(self.count(at, &edit.on, &incoming.scope)?),
            };
            Some(MatchedEdit { edit: at, count })
        });
        Exchange { matched: matched.collect(), incoming }
    }

    /// Whether an edit crashes the server.
    pub(super) fn ends(&self, exchange: &Exchange) -> bool {
        self.certain(exchange).any(|(edit, _)| edit.ends)
    }

    /// The message that the correct server receives instead of `bytes`, if any.
    pub(super) fn rewrite_request(&self, exchange: &Exchange, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.certain(exchange).any(|(edit, _)| edit.hears.nothing) {
            return None;
        }
        let changes: Vec<_> =
            self.certain(exchange).filter(|(edit, _)| edit.hears.change.is_about_messages()).collect();
        let message = exchange.incoming.message.clone().filter(|_| !changes.is_empty());
        let Some(mut message) = message else { return Some(bytes.to_vec()) };
        for (edit, count) in changes {
            edit.hears.change.apply(&mut message, &self.names(&exchange.incoming, count));
        }
        Some(message.to_string().into_bytes())
    }

    /// The headers that the correct server hears instead.
    pub(super) fn rewritten_headers(&self, exchange: &Exchange) -> Vec<(String, Option<String>)> {
        let edits = self.certain(exchange).map(|(edit, count)| (&edit.hears.change.headers, count));
        edits.flat_map(|(headers, count)| filled(headers, &self.names(&exchange.incoming, count))).collect()
    }

    /// The messages that are sent instead of `answer`, which is `None` if there was none.
    pub(super) fn answer(
        &self,
        exchange: &Exchange,
        answer: Option<&[u8]>,
        response: Option<&Response>,
    ) -> ChangedMessage {
        let message: Option<Value> = answer.and_then(|bytes| serde_json::from_slice(bytes).ok());
        // What is remembered is what came before this answer.
        let mut names = self.names(&exchange.incoming, 0);
        if let (Some(message), Some(method)) = (&message, exchange.incoming.method()) {
            let kept = json!({ "request": exchange.incoming.message, "answer": message });
            self.memory().earlier.entry(exchange.incoming.scope.clone()).or_default().insert(method.to_owned(), kept);
        }
        let hits: Vec<(usize, u64)> = exchange
            .matched
            .iter()
            .filter_map(|matched| {
                let count = matched.count.or_else(|| {
                    let edit = &self.flaw.edits[matched.edit];
                    let holds = edit.on.answer.as_ref().is_some_and(|wanted| wanted.holds(message.as_ref(), response));
                    holds.then(|| self.count(matched.edit, &edit.on, &exchange.incoming.scope)).flatten()
                })?;
                Some((matched.edit, count))
            })
            .collect();
        names.extend(names_of(message, response));
        self.say(answer, hits, names)
    }

    /// The messages that replace one that the server sends by itself, during an exchange if that is known.
    pub(super) fn send(&self, exchange: Option<&Exchange>, scope: &str, sent: &[u8]) -> ChangedMessage {
        let message: Option<Value> = serde_json::from_slice(sent).ok();
        let method = message.as_ref().and_then(|message| message.get("method")).and_then(Value::as_str);
        let Some(method) = method else { return ChangedMessage::unchanged(Some(sent)) };
        let during = exchange.map(|exchange| &exchange.incoming);
        let is_wanted =
            |on: &FlawCondition| on.answer.as_ref().is_none_or(|wanted| wanted.holds(message.as_ref(), None));
        let edits = self.flaw.edits.iter().enumerate();
        let edits = edits.filter(|(_, edit)| edit.on.sends(method, during) && is_wanted(&edit.on));
        let hits: Vec<_> = edits.filter_map(|(at, edit)| Some((at, self.count(at, &edit.on, scope)?))).collect();
        let mut names = during.map(|incoming| self.names(incoming, 0)).unwrap_or_default();
        names.extend(names_of(message, None));
        self.say(Some(sent), hits, names)
    }

    /// The status and the headers that edits give a response.
    pub(super) fn head(&self, exchange: &Exchange, hits: &[(usize, u64)], response: &Response) -> Head {
        let mut head = Head::default();
        for (at, count) in hits {
            let (answers, mut names) = (&self.flaw.edits[*at].answers, self.names(&exchange.incoming, *count));
            names.extend(names_of(None, Some(response)));
            head.status = answers.status.or(head.status);
            head.headers.extend(filled(&answers.change.headers, &names));
        }
        head
    }

    /// The edits that strike a response whose messages are still to come.
    pub(super) fn hits_of_response(&self, exchange: &Exchange, response: &Response) -> Vec<(usize, u64)> {
        let hits = exchange.matched.iter().filter_map(|matched| {
            let on = &self.flaw.edits[matched.edit].on;
            let fits = || {
                let wanted = on.answer.as_ref()?;
                let is_known = wanted.is_about_response_alone() && on.turn.nth.is_none() && on.turn.from.is_none();
                (is_known && wanted.response_fits(Some(response))).then_some(1)
            };
            Some((matched.edit, matched.count.or_else(fits)?))
        });
        hits.collect()
    }

    /// Gives the event with that number of a response another id, if an edit says so.
    pub(super) fn renumber(&self, exchange: &Exchange, event: &mut Event, number: u64) {
        for (edit, count) in self.certain(exchange) {
            match &edit.answers.event_id {
                EventId::AsItWas => {}
                EventId::Absent => event.id = None,
                EventId::Is(node) => {
                    let mut names = self.names(&exchange.incoming, count);
                    names.insert("event".to_owned(), number.into());
                    event.id = value(node, &names).map(|id| text_of(&id));
                }
            }
        }
    }

    /// Subscribes to the messages for another stream of the session.
    pub(super) fn listen(&self, scope: &str) -> mpsc::UnboundedReceiver<Vec<u8>> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut memory = self.memory();
        memory.listening.retain(|(_, sender)| !sender.is_closed());
        memory.listening.push((scope.to_owned(), sender));
        receiver
    }

    /// Says something on all streams of the session that are open.
    pub(super) fn broadcast(&self, scope: &str, messages: &[Vec<u8>]) {
        for (_, sender) in self.memory().listening.iter().filter(|(known, _)| known == scope) {
            for message in messages {
                // A client that went away in the meantime hears nothing.
                let _ = sender.send(message.clone());
            }
        }
    }

    fn say(&self, original: Option<&[u8]>, hits: Vec<(usize, u64)>, names: Names) -> ChangedMessage {
        if hits.is_empty() {
            return ChangedMessage::unchanged(original);
        }
        let edits: Vec<_> = hits.iter().map(|(at, count)| (&self.flaw.edits[*at], *count)).collect();
        ChangedMessage { hits, ..say(original, &edits, names) }
    }

    /// The edits that strike whatever the answer is.
    fn certain<'a>(&'a self, exchange: &'a Exchange) -> impl Iterator<Item = (&'a FlawEdit, u64)> {
        exchange.matched.iter().filter_map(|matched| Some((&self.flaw.edits[matched.edit], matched.count?)))
    }

    /// Counts one more; gives the number if it is that one's turn.
    fn count(&self, at: usize, on: &FlawCondition, scope: &str) -> Option<u64> {
        let scope = if on.turn.of_server { String::new() } else { scope.to_owned() };
        let mut memory = self.memory();
        let count = memory.counts.entry((at, scope)).or_default();
        *count += 1;
        on.turn.comes(*count).then_some(*count)
    }

    fn names(&self, incoming: &Incoming, count: u64) -> Names {
        let mut names = incoming.names();
        let memory = self.memory();
        let mut earlier = memory.earlier.get("").cloned().unwrap_or_default();
        earlier.extend(memory.earlier.get(&incoming.scope).cloned().unwrap_or_default());
        names.insert("earlier".to_owned(), earlier.into());
        names.insert("count".to_owned(), count.into());
        names
    }

    fn memory(&self) -> MutexGuard<'_, FlawMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The changes to the status and the headers of a response.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) status: Option<u16>,
    pub(super) headers: Vec<(String, Option<String>)>,
}

/// Headers with their values; one whose template names nothing stays as it was.
fn filled(headers: &[(String, Option<Node>)], names: &Names) -> Vec<(String, Option<String>)> {
    let pairs = headers.iter().filter_map(|(name, node)| {
        let text = match node {
            Some(node) => Some(text_of(&value(node, names)?)),
            None => None,
        };
        Some((name.clone(), text))
    });
    pairs.collect()
}

fn names_of(message: Option<Value>, response: Option<&Response>) -> Names {
    let mut names = Names::new();
    if let Some(message) = message {
        names.insert("answer".to_owned(), message);
    }
    if let Some(response) = response {
        names.insert("status".to_owned(), response.status.into());
        names.insert("answer_headers".to_owned(), response.headers.clone().into());
    }
    names
}
