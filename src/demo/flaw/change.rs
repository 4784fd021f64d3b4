//! Applies edits to messages.
//!
//! A template that names what is not there makes nothing: a message with one does not come, a value is not written.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Encoding, FlawEdit, Form, Whole};
use crate::fault::MessagePath;
use crate::source::Node;
use crate::source::template::{Names, fill, text_of};

/// Changes to a message and to the headers around it.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageChange {
    pub(super) set: Vec<(MessagePath, Node)>,
    pub(super) add: Vec<(MessagePath, Node)>,
    pub(super) remove: Vec<MessagePath>,
    /// By name in small letters; nothing takes a header away.
    pub(super) headers: Vec<(String, Option<Node>)>,
}

/// The messages that are sent in the place of one message, or of none.
#[derive(Debug, Default)]
pub(super) struct ChangedMessage {
    pub(super) before: Vec<Vec<u8>>,
    pub(super) own: Vec<Vec<u8>>,
    pub(super) after: Vec<Vec<u8>>,
    pub(super) delay: Duration,
    pub(super) never: bool,
    pub(super) on_listening: bool,
    /// The edits that made it, and how often each struck.
    pub(super) hits: Vec<(usize, u64)>,
}

impl ChangedMessage {
    /// The message as it came.
    pub(super) fn unchanged(message: Option<&[u8]>) -> Self {
        Self { own: message.map(<[u8]>::to_vec).into_iter().collect(), ..Self::default() }
    }

    /// All messages in order.
    pub(super) fn messages(self) -> impl Iterator<Item = Vec<u8>> {
        self.before.into_iter().chain(self.own).chain(self.after)
    }
}

impl MessageChange {
    /// Changes a message.
    pub(super) fn apply(&self, message: &mut Value, names: &Names) {
        for (place, node) in &self.set {
            if let Some(value) = value(node, names) {
                place.set(message, &value);
            }
        }
        for (place, node) in &self.add {
            if let Some(value) = value(node, names) {
                place.push(message, &value);
            }
        }
        for place in &self.remove {
            place.remove(message);
        }
    }

    /// Whether it changes messages.
    pub(super) fn is_about_messages(&self) -> bool {
        !(self.set.is_empty() && self.add.is_empty() && self.remove.is_empty())
    }
}

/// A message on its way through the edits.
struct Draft {
    value: Option<Value>,
    raw: Option<Vec<u8>>,
    form: Form,
    times: usize,
}

/// Applies edits to a message of the server, or to none; `hits` are the edits with how often each struck.
pub(super) fn say(original: Option<&[u8]>, hits: &[(&FlawEdit, u64)], mut names: Names) -> ChangedMessage {
    let value = original.and_then(|bytes| serde_json::from_slice(bytes).ok());
    let mut draft = Draft { value, raw: original.map(<[u8]>::to_vec), form: Form::default(), times: 1 };
    let mut said = ChangedMessage::default();
    for (edit, count) in hits {
        names.insert("count".to_owned(), (*count).into());
        said.before.extend(edit.before.iter().filter_map(|node| bytes(node, &names)));
        said.after.extend(edit.after.iter().filter_map(|node| bytes(node, &names)));
        draft.change(edit, &names);
        said.delay += edit.answers.delay;
        said.never |= edit.answers.never;
        said.on_listening |= edit.answers.on_listening;
    }
    let own = draft.raw.or_else(|| draft.value.map(|value| write(&value, &draft.form)));
    said.own = own.map(|own| vec![own; draft.times]).unwrap_or_default();
    said
}

impl Draft {
    fn change(&mut self, edit: &FlawEdit, names: &Names) {
        let answers = &edit.answers;
        if let Some(whole) = &answers.whole {
            self.replace(whole, names);
        }
        if let Some(value) = self.value.as_mut().filter(|_| answers.change.is_about_messages()) {
            answers.change.apply(value, names);
            self.raw = None;
        }
        let form = &answers.form;
        if self.value.is_some() && (form.pretty || form.encoding.is_some() || !form.replace.is_empty()) {
            self.form.pretty |= form.pretty;
            self.form.encoding = form.encoding.or(self.form.encoding);
            self.form.replace.extend(form.replace.iter().cloned());
            self.raw = None;
        }
        if answers.times != 1 {
            self.times = answers.times;
        }
    }

    fn replace(&mut self, whole: &Whole, names: &Names) {
        let of_original = self.value.as_ref().and_then(|value| value.get("id"));
        let id = names.get("id").or(of_original).cloned().unwrap_or_default();
        let message = match whole {
            Whole::Result(node) => {
                value(node, names).map(|result| json!({"jsonrpc": "2.0", "id": id, "result": result}))
            }
            Whole::Error(node) => value(node, names).map(|error| json!({"jsonrpc": "2.0", "id": id, "error": error})),
            Whole::Message(node) => value(node, names),
            Whole::Text(node) => {
                if let Some(text) = value(node, names) {
                    (self.value, self.raw) = (None, Some(text_of(&text).into_bytes()));
                }
                return;
            }
            Whole::Bytes(bytes) => {
                (self.value, self.raw) = (None, Some(bytes.clone()));
                return;
            }
        };
        if message.is_some() {
            (self.value, self.raw) = (message, None);
        }
    }
}

/// A value with its templates filled in; none if one of them names nothing.
pub(super) fn value(node: &Node, names: &Names) -> Option<Value> {
    Some(fill(node, names).ok()?.to_json())
}

/// A message, or a text that comes as it is.
fn bytes(node: &Node, names: &Names) -> Option<Vec<u8>> {
    Some(text_of(&value(node, names)?).into_bytes())
}

fn write(value: &Value, form: &Form) -> Vec<u8> {
    let mut text = if form.pretty { format!("{value:#}") } else { value.to_string() };
    for (old, new) in &form.replace {
        text = text.replace(old, new);
    }
    match form.encoding {
        None => text.into_bytes(),
        Some(Encoding::Latin1) => text.chars().map(|letter| u8::try_from(letter).unwrap_or(b'?')).collect(),
        Some(Encoding::Utf16) => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
    }
}
