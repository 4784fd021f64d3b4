//! The grammar of a YAML file as data: one table checks files, becomes the JSON Schema and the reference manual.
//!
//! Because the three come from one table, they cannot disagree.
//! [`check`] finds every unknown, repeated, missing or wrongly typed thing at once; whoever builds a model from a
//! checked tree may take its shape for granted.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::scalar::plain;
use super::schema_address::schema_address;
use super::synonyms::synonym;
use super::{Diagnostic, Located, MistakeKind, Node, Value, did_you_mean, nearest, parse_duration};

/// The shape of a value.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Anything; only repeated keys are mistakes.
    Any,
    /// Any value but these words.
    Except(&'static [&'static str]),
    /// Nothing: `null`, `~`, or no value at all.
    Null,
    /// Text.
    Text,
    /// `true` or `false`.
    Flag,
    /// `true`; `false` would say nothing.
    True,
    /// A whole number, not negative.
    Whole,
    /// A whole number between a minimum and a maximum, both included.
    Range(u64, u64),
    /// A number.
    Number,
    /// A number that is not negative.
    Amount,
    /// A number from 0 to 1.
    Share,
    /// A duration such as `250ms` or `10s`, or a template of one.
    Duration,
    /// A duration as it is written.
    Time,
    /// A duration as it is written that leaves time for something.
    Timeout,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Text that holds a template; beside another shape, for values that may be filled in later.
    Template,
    /// A list of one shape.
    List(&'static Shape),
    /// A list of one shape that has at least one item, and none twice.
    Set(&'static Shape),
    /// A list, mapping or text of this shape that is not empty.
    NonEmpty(&'static Shape),
    /// A mapping from names of the user's choosing to one shape.
    Map(&'static Shape),
    /// A mapping with known keys.
    Object(&'static Object),
    /// A mapping whose keys are asked for when they are needed, since it may contain itself.
    Recursive(fn() -> &'static Object),
    /// The first of these whose kind of value fits.
    Either(&'static [Shape]),
    /// The first shape for a mapping with this key, the second for any other value.
    ByKey(&'static str, &'static [Shape; 2]),
}

/// A mapping with known keys.
#[derive(Debug)]
pub struct Object {
    /// Its name in messages, in the JSON Schema and in the manual.
    pub name: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// The keys, in groups, since a test with a single step has the keys of both.
    pub keys: &'static [&'static [Key]],
}

/// One key of an [`Object`], with all its properties that do not depend on other parts of the file.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// The shape of its value.
    pub shape: Shape,
    /// Another shape of its value where the named key is beside it.
    pub shape_beside: Option<(&'static str, Shape)>,
    /// One sentence.
    pub doc: &'static str,
    /// The need for the key.
    pub need: Need,
    /// Its value where it is left out, as it would be written.
    pub default: Option<&'static str>,
    /// Help where the value is refused or the key is missing.
    pub cure: Option<&'static str>,
    /// Help for a key that needs this one beside it.
    pub beside_cure: Option<&'static str>,
    /// Of the keys of one choice at most one may be there.
    pub choice: Option<&'static str>,
    /// Keys of which at least one must be beside it; none for a key that stands alone.
    pub beside: &'static [&'static str],
    /// Keys that cannot be beside it.
    pub without: &'static [&'static str],
    /// A key that cannot be beside it with a value of this shape.
    pub unless: Option<(&'static str, Shape)>,
}

/// The need for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It may be left out.
    Optional,
    /// It must be there, or another [`Need::Alternative`] of the same mapping.
    Alternative,
    /// It must be there.
    Required,
}

/// A key that may be left out.
pub const fn key(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key {
        name,
        shape,
        shape_beside: None,
        doc,
        need: Need::Optional,
        default: None,
        cure: None,
        beside_cure: None,
        choice: None,
        beside: &[],
        without: &[],
        unless: None,
    }
}

/// A key that must be there.
pub const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { need: Need::Required, ..key(name, shape, doc) }
}

/// One of several keys of which at least one must be there.
pub const fn alternative(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { need: Need::Alternative, ..key(name, shape, doc) }
}

impl Key {
    /// The value where the key is left out.
    #[must_use]
    pub const fn default(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    /// Help where the value is refused or the key is missing.
    #[must_use]
    pub const fn cure(self, cure: &'static str) -> Self {
        Self { cure: Some(cure), ..self }
    }

    /// Help for a key that needs this one beside it.
    #[must_use]
    pub const fn beside_cure(self, cure: &'static str) -> Self {
        Self { beside_cure: Some(cure), ..self }
    }

    /// Refuses a second key of the same choice.
    #[must_use]
    pub const fn choice(self, choice: &'static str) -> Self {
        Self { choice: Some(choice), ..self }
    }

    /// Refuses the key unless one of these is beside it.
    #[must_use]
    pub const fn beside(self, keys: &'static [&'static str]) -> Self {
        Self { beside: keys, ..self }
    }

    /// Refuses these keys beside it.
    #[must_use]
    pub const fn without(self, keys: &'static [&'static str]) -> Self {
        Self { without: keys, ..self }
    }

    /// Refuses a key beside it that has a value of this shape.
    #[must_use]
    pub const fn unless(self, key: &'static str, shape: Shape) -> Self {
        Self { unless: Some((key, shape)), ..self }
    }

    /// Takes values of another shape where the named key is beside it.
    #[must_use]
    pub const fn shape_beside(self, key: &'static str, shape: Shape) -> Self {
        Self { shape_beside: Some((key, shape)), ..self }
    }

    /// The shape of its value in a mapping.
    fn shape_in(&self, node: &Node) -> &Shape {
        self.shape_beside.as_ref().filter(|(beside, _)| node.get(beside).is_some()).map_or(&self.shape, |(_, it)| it)
    }
}

impl Object {
    /// Every key.
    pub fn all_keys(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().flat_map(|group| group.iter())
    }

    /// The value of a key in a mapping, or its default.
    pub fn value(&self, node: &Node, name: &str) -> Option<Node> {
        let default = || {
            let default = self.all_keys().find(|key| key.name == name)?.default?;
            Some(Node { value: plain(default.into()), span: node.span })
        };
        node.get(name).cloned().or_else(default)
    }

    /// The whole number of a key in a mapping, or its default.
    pub fn whole(&self, node: &Node, name: &str) -> Option<u64> {
        self.value(node, name)?.whole()
    }

    /// The duration of a key in a mapping, or its default.
    pub fn duration(&self, node: &Node, name: &str) -> Option<Duration> {
        parse_duration(self.value(node, name)?.text()?)
    }

    /// Its name in a sentence: one with an article is a noun, any other is typed as it is.
    fn noun(&self) -> String {
        if self.name.contains(' ') { self.name.to_owned() } else { format!("`{}`", self.name) }
    }

    /// Keys of which at least one must be there.
    pub(crate) fn alternatives(&self) -> Vec<&'static str> {
        self.all_keys().filter(|key| key.need == Need::Alternative).map(|key| key.name).collect()
    }

    /// The names of a choice's keys.
    pub(crate) fn of_choice(&self, choice: &str) -> Vec<&'static str> {
        self.all_keys().filter(|key| key.choice == Some(choice)).map(|key| key.name).collect()
    }
}

/// Every way in which `node` departs from `shape`, in the order of the file.
pub fn check(node: &Node, shape: &Shape) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    visit(node, shape, None, &mut found);
    found
}

/// `key` is the key under which the value is written.
fn visit(node: &Node, shape: &Shape, key: Option<&Key>, found: &mut Vec<Diagnostic>) {
    match (shape, &node.value) {
        (Shape::Object(object), Value::Map(_)) => visit_object(node, object, found),
        (Shape::Recursive(object), Value::Map(_)) => visit_object(node, object(), found),
        (Shape::Map(inner), Value::Map(entries)) => {
            report_repeated(node, found);
            for (_, value) in entries {
                visit(value, inner, key, found);
            }
        }
        (Shape::Any | Shape::Except(_), Value::Map(entries)) => {
            report_repeated(node, found);
            for (_, value) in entries {
                visit(value, &Shape::Any, key, found);
            }
        }
        (Shape::Any | Shape::Except(_), Value::List(items)) => {
            for item in items {
                visit(item, &Shape::Any, key, found);
            }
        }
        (Shape::List(inner), Value::List(items)) => {
            for item in items {
                visit(item, inner, key, found);
            }
        }
        (Shape::Set(_), Value::List(items)) if items.is_empty() => found.push(empty(node, key)),
        (Shape::Set(inner), Value::List(items)) => {
            for (at, item) in items.iter().enumerate() {
                visit(item, inner, key, found);
                if let Some(first) = items[..at].iter().find(|first| first.value == item.value) {
                    let message = format!("`{}` is listed twice", item.to_text());
                    found.push(
                        Diagnostic::error("duplicate-name", message, item.span)
                            .with_other(first.span, "the first one is here"),
                    );
                }
            }
        }
        (Shape::NonEmpty(inner), _) if is_empty(node, inner) => found.push(empty(node, key)),
        (Shape::Except(_), _) if !shape.fits(node) => found.push(empty(node, key)),
        (Shape::NonEmpty(inner), _) => visit(node, inner, key, found),
        (Shape::ByKey(name, [with, without]), _) => {
            visit(node, if node.get(name).is_some() { with } else { without }, key, found);
        }
        (Shape::Either(shapes), _) => match shapes.iter().find(|shape| shape.fits(node)) {
            Some(shape) => visit(node, shape, key, found),
            None => found.push(wrong_type(node, shape, key)),
        },
        (Shape::Range(least, most), Value::Number(_)) if shape.fits(node) => {
            if node.whole().is_some_and(|number| !(least..=most).contains(&&number)) {
                found.push(out_of_range(node, shape, key));
            }
        }
        (Shape::Share, Value::Number(number)) if !number.as_f64().is_some_and(|it| (0.0..=1.0).contains(&it)) => {
            found.push(out_of_range(node, shape, key));
        }
        (Shape::Amount, Value::Number(number)) if number.as_f64().is_some_and(|it| it < 0.0) => {
            found.push(out_of_range(node, shape, key));
        }
        (Shape::Duration, Value::Text(text))
            if !super::template::is_template(text) && parse_duration(text).is_none() =>
        {
            found.push(bad_duration(node, text));
        }
        (Shape::Time | Shape::Timeout, Value::Text(text)) => match parse_duration(text) {
            Some(time) if time.is_zero() && matches!(shape, Shape::Timeout) => {
                let name = key.map_or("the time", |key| key.name);
                let message = format!("`{name}` must be greater than zero");
                let help = "write for example `10s`, or remove the key to use the default".to_owned();
                found.push(Diagnostic::error("bad-duration", message, node.span).with_help(help));
            }
            Some(_) => {}
            None if super::template::is_template(text) => found.push(unfilled_template(node)),
            None => found.push(bad_duration(node, text)),
        },
        (Shape::Duration | Shape::Time | Shape::Timeout, Value::Number(number)) => {
            found.push(bad_duration(node, &number.to_string()));
        }
        (Shape::Choice(words), Value::Text(text)) if !words.contains(&text.as_str()) => {
            // A list of words leaves out what else the key takes; its own help does not.
            let words = words.iter().copied();
            let cure = key.and_then(|key| key.cure).filter(|_| nearest(text, words.clone()).is_none());
            let help = cure.map(str::to_owned).or_else(|| did_you_mean(text, words));
            found.push(
                Diagnostic::error("unknown-choice", format!("invalid value `{text}`"), node.span).with_help(help),
            );
        }
        (Shape::True, Value::Bool(false)) => found.push(wrong_type(node, shape, key)),
        _ if shape.fits(node) => {}
        _ => found.push(wrong_type(node, shape, key)),
    }
}

/// A known key in a mapping, and its value.
struct KnownEntry<'a> {
    key: &'static Key,
    name: &'a Located<String>,
    value: &'a Node,
}

fn visit_object(node: &Node, object: &Object, found: &mut Vec<Diagnostic>) {
    report_repeated(node, found);
    // Each key once, however often it is written: what follows compares them with one another.
    let mut written: Vec<KnownEntry<'_>> = object
        .all_keys()
        .filter_map(|key| {
            let (name, value) = node.entries().iter().find(|(name, _)| name.value == key.name)?;
            Some(KnownEntry { key, name, value })
        })
        .collect();
    written.sort_by_key(|entry| entry.name.span);
    let mut has_unknown = false;
    for (name, value) in node.entries() {
        let Some(key) = object.all_keys().find(|key| key.name == name.value) else {
            has_unknown = true;
            let nested = help_for_nested(name, value, &written);
            let message = format!("{} has no key `{}`", object.noun(), name.value);
            found.push(
                Diagnostic::error("unknown-key", message, name.span)
                    .of_kind(MistakeKind::UnknownKey(meant(&name.value, object).filter(|_| nested.is_none())))
                    .with_help(nested.or_else(|| meant_help(&name.value, object))),
            );
            continue;
        };
        visit(value, key.shape_in(node), Some(key), found);
    }
    let missing = object.all_keys().filter(|key| key.need == Need::Required && node.get(key.name).is_none());
    for key in missing.filter(|key| !is_misspelt(key, node, object)) {
        found.push(
            Diagnostic::error("missing-key", format!("{} needs the key `{}`", object.noun(), key.name), node.span)
                .of_kind(MistakeKind::MissingKey)
                .with_help(key.cure.map_or_else(|| format!("`{}`: {}", key.name, key.doc), str::to_owned)),
        );
    }
    report_rivals(&written, object, found);
    if has_unknown {
        // An unknown key may be the one that is missing.
        return;
    }
    let alternative = object.all_keys().find(|key| key.need == Need::Alternative);
    // A key that needs one certain key says more than a list of all alternatives.
    let has_alternative = |entry: &KnownEntry<'_>| entry.key.need == Need::Alternative || entry.key.beside.len() == 1;
    match alternative.filter(|_| !written.iter().any(has_alternative)) {
        Some(first) => {
            let message = format!("{} needs {}", object.noun(), one_of(&object.alternatives()));
            let missing = Diagnostic::error("missing-key", message, node.span).of_kind(MistakeKind::MissingKey);
            found.push(missing.with_help(first.cure.map(str::to_owned)));
        }
        None => report_useless(node, &written, object, found),
    }
}

/// Reports keys that exclude one another.
fn report_rivals(written: &[KnownEntry<'_>], object: &Object, found: &mut Vec<Diagnostic>) {
    for (at, KnownEntry { key, name, .. }) in written.iter().enumerate() {
        let is_rival = |other: &&KnownEntry<'_>| {
            key.choice.is_some() && other.key.choice == key.choice && other.key.name != key.name
        };
        if let Some(other) = written[..at].iter().find(is_rival) {
            let message = format!("{} has either `{}` or `{}`, not both", object.noun(), other.key.name, key.name);
            let mistake = Diagnostic::error("two-ways", message, name.span);
            found.push(mistake.with_other(other.name.span, "the other one is here"));
        }
        for other in written {
            let is_meant = |(excluded, shape): &(&str, Shape)| {
                *excluded == other.key.name && shape.fits(other.value) && check(other.value, shape).is_empty()
            };
            let has_value = key.unless.as_ref().is_some_and(is_meant);
            if has_value || key.without.contains(&other.key.name) {
                let is_short = has_value && matches!(other.value.value, Value::Bool(_) | Value::Text(_));
                let value = if is_short { format!(": {}", other.value.to_text()) } else { String::new() };
                let message = format!("`{}{value}` cannot be beside `{}`", other.key.name, key.name);
                found.push(
                    Diagnostic::error("two-ways", message, other.name.span)
                        .with_other(name.span, format!("`{}` is here", key.name))
                        .with_help(format!("`{}`: {}", key.name, key.doc)),
                );
            }
        }
    }
}

/// Reports keys that need another one beside them.
fn report_useless(node: &Node, written: &[KnownEntry<'_>], object: &Object, found: &mut Vec<Diagnostic>) {
    for KnownEntry { key, name, .. } in written {
        if key.beside.is_empty() || key.beside.iter().any(|name| node.get(name).is_some()) {
            continue;
        }
        let choice = object.all_keys().find(|other| key.beside.contains(&other.name)).and_then(|other| other.choice);
        let taken = written.iter().find(|other| choice.is_some() && other.key.choice == choice);
        let (message, help) = if let Some(taken) = taken {
            let message = format!("`{}` does nothing beside `{}`", key.name, taken.key.name);
            let takers = one_of(&takers(key, object));
            let inner = object_in(&taken.key.shape).filter(|inner| inner.all_keys().any(|it| it.name == key.name));
            let help = match inner {
                Some(inner) => {
                    format!("move it into {} under `{}`, beside {takers}", inner.noun(), taken.key.name)
                }
                None => format!("`{}` belongs to {takers}", key.name),
            };
            (message, help)
        } else {
            let message = format!("`{}` does nothing without {}", key.name, one_of(key.beside));
            let needed = object.all_keys().find(|other| key.beside == [other.name]);
            let added = needed.map_or_else(|| "one of them".to_owned(), |needed| format!("`{}`", needed.name));
            let help = || format!("add {added}, or remove `{}`", key.name);
            (message, needed.and_then(|needed| needed.beside_cure).map_or_else(help, str::to_owned))
        };
        found.push(Diagnostic::error("useless-key", message, name.span).with_help(help));
    }
}

/// The keys beside which a key can have any value.
fn takers(key: &Key, object: &Object) -> Vec<&'static str> {
    let refuses = |name: &str| {
        let mut others = object.all_keys().filter(|other| other.name == name);
        others.any(|other| other.unless.as_ref().is_some_and(|(refused, _)| *refused == key.name))
    };
    key.beside.iter().copied().filter(|name| !refuses(name)).collect()
}

/// The mapping that a shape is, or that its items are.
fn object_in(shape: &Shape) -> Option<&'static Object> {
    shape.object().or_else(|| shape.parts().iter().find_map(object_in))
}

/// `a`, `b` or `c`; of many names the first.
fn one_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().take(13).map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [some @ .., last] if some.len() < 3 && !some.is_empty() => format!("{} or {last}", some.join(", ")),
        [only] => only.clone(),
        several => format!("one of {}{}", several.join(", "), if names.len() > 13 { ", …" } else { "" }),
    }
}

fn is_empty(node: &Node, inner: &Shape) -> bool {
    match &node.value {
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        Value::Text(text) => text.is_empty() && matches!(inner, Shape::Text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn empty(node: &Node, key: Option<&Key>) -> Diagnostic {
    let name = key.map_or_else(|| node.kind().to_owned(), |key| format!("`{}`", key.name));
    let remove = if key.is_some_and(|key| key.need == Need::Optional) { ", or remove the key" } else { "" };
    let help = key.and_then(|key| key.cure).map_or_else(|| format!("list at least one{remove}"), str::to_owned);
    Diagnostic::error("empty-list", format!("{name} is empty"), node.span).with_help(help)
}

fn out_of_range(node: &Node, shape: &Shape, key: Option<&Key>) -> Diagnostic {
    let name = key.map_or_else(|| "the number".to_owned(), |key| format!("`{}`", key.name));
    let bounds = if let Shape::Range(least, u64::MAX) = shape {
        format!("at least {least}")
    } else if let Shape::Range(least, most) = shape {
        format!("from {least} to {most}")
    } else if matches!(shape, Shape::Amount) {
        "at least 0".to_owned()
    } else {
        "from 0 to 1".to_owned()
    };
    let default = |key: &Key| key.default.map(|default| format!("remove the key to use the default, `{default}`"));
    let help = key.and_then(|key| key.cure.map(str::to_owned).or_else(|| default(key)));
    Diagnostic::error("bad-number", format!("{name} must be {bounds}, not {}", node.to_text()), node.span)
        .with_help(help)
}

/// A key is there under another name, which was reported.
fn is_misspelt(key: &Key, node: &Node, object: &Object) -> bool {
    let is_known = |name: &str| object.all_keys().any(|key| key.name == name);
    let mut unknown = node.entries().iter().filter(|(name, _)| !is_known(&name.value));
    unknown.any(|(typed, _)| meant(&typed.value, object).is_some_and(|meant| meant == key.name))
}

/// The spelling of a key that belongs inside the mapping of another key beside it, such as `then` inside `send`.
fn help_for_nested(typed: &Located<String>, value: &Node, written: &[KnownEntry<'_>]) -> Option<String> {
    written.iter().find_map(|KnownEntry { key, name, value: sibling }| {
        let inner = if let Shape::Either(shapes) = key.shape {
            shapes.iter().find_map(Shape::object)?
        } else {
            key.shape.object()?
        };
        inner.all_keys().find(|key| key.name == typed.value)?;
        let first = sibling.entries().first().map_or(inner.all_keys().next()?.name, |(first, _)| first.value.as_str());
        let (outer, typed, shown) = (&name.value, &typed.value, value.text().unwrap_or("…"));
        Some(format!("put it inside `{outer}`: `{outer}: {{ {first}: …, {typed}: {shown} }}`"))
    })
}

/// The key that may be meant: what another tool calls it, or what is spelt alike.
fn meant(typed: &str, object: &Object) -> Option<String> {
    let offered: Vec<&str> = object.all_keys().map(|key| key.name).collect();
    synonym(typed, &offered).or_else(|| nearest(typed, offered)).map(str::to_owned)
}

/// Help that names the key that may be meant, or all keys.
fn meant_help(typed: &str, object: &Object) -> Option<String> {
    let offered: Vec<&str> = object.all_keys().map(|key| key.name).collect();
    let synonym = synonym(typed, &offered).map(|write| format!("write `{write}`"));
    synonym.or_else(|| did_you_mean(typed, offered))
}

fn report_repeated(node: &Node, found: &mut Vec<Diagnostic>) {
    let mut first = BTreeMap::new();
    for (name, _) in node.entries() {
        if let Some(earlier) = first.get(name.value.as_str()) {
            found.push(
                Diagnostic::error("duplicate-key", format!("the key `{}` is written twice", name.value), name.span)
                    .with_label(name.span, "written again here")
                    .with_other(*earlier, "the first one is here"),
            );
        } else {
            first.insert(name.value.as_str(), name.span);
        }
    }
}

fn wrong_type(node: &Node, shape: &Shape, key: Option<&Key>) -> Diagnostic {
    let found = match (&node.value, shape) {
        (Value::Number(number), Shape::Whole | Shape::Range(..)) => format!("`{number}`"),
        (Value::Bool(flag), _) => format!("`{flag}`"),
        _ => node.kind().to_owned(),
    };
    let help = match (shape, &node.value) {
        (Shape::Text, Value::Number(_) | Value::Bool(_)) => Some("put quotes around it to make it text".to_owned()),
        (Shape::List(_) | Shape::Set(_), Value::Map(_)) => {
            Some("begin each item of a list with `- `, or put `[ ]` around it".to_owned())
        }
        (Shape::List(Shape::Text), Value::Text(text)) => Some(format!("write `[{text}]`")),
        (Shape::NonEmpty(inner), _) => wrong_type(node, inner, key).help,
        (_, Value::Text(text)) if takes_flag(shape) && truth_of(text).is_some() => {
            truth_of(text).map(|flag| format!("write `{flag}`, without quotes"))
        }
        _ => key.and_then(|key| key.cure).map(str::to_owned),
    };
    Diagnostic::error("wrong-type", format!("expected {}, found {found}", shape.words()), node.span)
        .of_kind(MistakeKind::WrongType)
        .with_help(help)
}

/// Returns true if the value may be `true` or `false`.
fn takes_flag(shape: &Shape) -> bool {
    matches!(shape, Shape::Flag) || shape.parts().iter().any(takes_flag)
}

/// The flag that a word stands for, in YAML 1.1 or in other tools.
fn truth_of(word: &str) -> Option<bool> {
    match word.to_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// The pattern of a duration.
const DURATION: &str = r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(us|µs|ms|s|m|min|h)\s*$";

/// Refuses templates below a node where none is filled in, so that nobody takes the braces for a value.
pub fn refuse_templates(node: &Node, found: &mut Vec<Diagnostic>) {
    match &node.value {
        Value::Text(text) if super::template::is_template(text) => found.push(unfilled_template(node)),
        Value::List(items) => items.iter().for_each(|item| refuse_templates(item, found)),
        Value::Map(entries) => entries.iter().for_each(|(_, value)| refuse_templates(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
}

fn unfilled_template(node: &Node) -> Diagnostic {
    Diagnostic::error("template-not-filled", "templates are not allowed here", node.span)
        .with_help("write the value itself; templates work in requests and expectations".to_owned())
}

fn bad_duration(node: &Node, text: &str) -> Diagnostic {
    Diagnostic::error("bad-duration", format!("invalid duration `{text}`"), node.span)
        .with_help("write a number and a unit, such as `250ms`, `10s` or `2m`".to_owned())
}

impl Shape {
    /// A value is of the kind that this shape wants, without a look inside.
    fn fits(&self, node: &Node) -> bool {
        match self {
            Self::Any => true,
            Self::Except(words) => !node.text().is_some_and(|text| words.contains(&text)),
            Self::Null => matches!(node.value, Value::Null),
            Self::Text | Self::Duration | Self::Time | Self::Timeout | Self::Choice(_) => {
                matches!(node.value, Value::Text(_))
            }
            Self::Template => node.text().is_some_and(super::template::is_template),
            Self::Flag | Self::True => matches!(node.value, Value::Bool(_)),
            Self::Whole | Self::Range(..) => node.whole().is_some(),
            Self::Number | Self::Amount | Self::Share => matches!(node.value, Value::Number(_)),
            Self::List(_) | Self::Set(_) => matches!(node.value, Value::List(_)),
            Self::NonEmpty(inner) => inner.fits(node),
            Self::ByKey(name, [with, without]) => {
                if node.get(name).is_some() {
                    with.fits(node)
                } else {
                    without.fits(node)
                }
            }
            Self::Map(_) | Self::Object(_) | Self::Recursive(_) => matches!(node.value, Value::Map(_)),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.fits(node)),
        }
    }

    /// The shape in the words of messages and of the manual.
    pub fn words(&self) -> String {
        match self {
            Self::Any | Self::Except(_) => "any value".to_owned(),
            Self::Null => "nothing".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::True => "`true`".to_owned(),
            Self::Whole => "a whole number from 0".to_owned(),
            Self::Range(least, u64::MAX) => format!("a whole number from {least}"),
            Self::Range(least, most) => format!("a whole number from {least} to {most}"),
            Self::Number => "a number".to_owned(),
            Self::Amount => "a number of at least 0".to_owned(),
            Self::Share => "a number from 0 to 1".to_owned(),
            Self::Duration | Self::Time | Self::Timeout => "a duration such as `10s`".to_owned(),
            Self::Choice(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or "),
            Self::Template => "a template".to_owned(),
            Self::List(Self::Any) => "a list".to_owned(),
            Self::List(Self::Map(_)) => "a list of mappings".to_owned(),
            Self::List(Self::Object(object)) => format!("a list of mappings with the keys of {}", object.noun()),
            Self::List(Self::Recursive(object)) => format!("a list of mappings with the keys of {}", object().noun()),
            Self::List(inner) | Self::Set(inner) => {
                format!("a list of {}", inner.words().trim_start_matches("a ").trim_start_matches("an "))
            }
            Self::Map(_) => "a mapping".to_owned(),
            Self::Object(object) => format!("a mapping with the keys of {}", object.noun()),
            Self::Recursive(object) => format!("a mapping with the keys of {}", object().noun()),
            Self::NonEmpty(inner) => inner.words(),
            Self::Either(_) | Self::ByKey(..) => self.parts().iter().map(Self::words).collect::<Vec<_>>().join(" or "),
        }
    }

    /// The shapes that it is made of.
    pub fn parts(&self) -> &'static [Shape] {
        match self {
            Self::List(inner) | Self::Set(inner) | Self::NonEmpty(inner) | Self::Map(inner) => {
                std::slice::from_ref(inner)
            }
            Self::Either(shapes) => shapes,
            Self::ByKey(_, shapes) => *shapes,
            Self::Any
            | Self::Except(_)
            | Self::Null
            | Self::Text
            | Self::Flag
            | Self::True
            | Self::Whole
            | Self::Range(..)
            | Self::Number
            | Self::Amount
            | Self::Share
            | Self::Duration
            | Self::Time
            | Self::Timeout
            | Self::Choice(_)
            | Self::Template
            | Self::Object(_)
            | Self::Recursive(_) => &[],
        }
    }

    /// The mapping that a value is; `None` for a shape of another kind.
    pub fn object(&self) -> Option<&'static Object> {
        if let Self::Recursive(object) = self {
            return Some(object());
        }
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// The JSON Schema of a kind of file that has this shape.
    pub fn json_schema_file(&self, kind: &str, title: &str) -> serde_json::Value {
        let mut definitions = BTreeMap::new();
        let root = self.json_schema(&mut definitions);
        let mut schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": schema_address(kind),
            "title": title,
        });
        root.as_object().into_iter().flatten().for_each(|(key, value)| schema[key] = value.clone());
        schema["$defs"] = json!(definitions);
        schema
    }

    /// The JSON Schema (2020-12) of this shape; objects become references into `definitions`.
    pub fn json_schema(&self, definitions: &mut BTreeMap<String, serde_json::Value>) -> serde_json::Value {
        match self {
            Self::Any => json!({}),
            Self::Null => json!({"type": "null"}),
            Self::Text => json!({"type": "string"}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Except(words) => json!({"not": {"enum": words}}),
            Self::True => json!({"const": true}),
            Self::Whole => json!({"type": "integer", "minimum": 0, "maximum": u64::MAX}),
            Self::Range(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
            Self::Number => json!({"type": "number"}),
            Self::Amount => json!({"type": "number", "minimum": 0}),
            Self::Share => json!({"type": "number", "minimum": 0, "maximum": 1}),
            Self::Duration => json!({"type": "string", "pattern": format!(r"{DURATION}|\{{[{{%]")}),
            Self::Time => json!({"type": "string", "pattern": DURATION}),
            Self::Timeout => {
                json!({"type": "string", "pattern": DURATION, "not": {"pattern": r"^\s*[0.]+\s*[a-zµ]+\s*$"}})
            }
            Self::Choice(words) => json!({"enum": words}),
            Self::Template => json!({"type": "string", "pattern": r"\{[{%]"}),
            Self::List(inner) => json!({"type": "array", "items": inner.json_schema(definitions)}),
            Self::Set(inner) => {
                json!({"type": "array", "items": inner.json_schema(definitions), "minItems": 1, "uniqueItems": true})
            }
            Self::NonEmpty(inner) => {
                let mut schema = inner.json_schema(definitions);
                let keywords =
                    if matches!(inner, Self::Text) { &["minLength"][..] } else { &["minItems", "minProperties"] };
                for keyword in keywords {
                    schema[*keyword] = 1.into();
                }
                schema
            }
            Self::ByKey(name, [with, without]) => json!({
                "if": {"type": "object", "required": [name]},
                "then": with.json_schema(definitions),
                "else": without.json_schema(definitions),
            }),
            Self::Map(inner) => json!({"type": "object", "additionalProperties": inner.json_schema(definitions)}),
            Self::Either(shapes) => {
                json!({"anyOf": shapes.iter().map(|shape| shape.json_schema(definitions)).collect::<Vec<_>>()})
            }
            Self::Recursive(object) => Self::Object(object()).json_schema(definitions),
            Self::Object(object) => {
                define(object, definitions);
                json!({"$ref": format!("#/$defs/{}", definition_name(object))})
            }
        }
    }
}

/// The name of an object's definition in the JSON Schema: its name without the article, as part of an address.
fn definition_name(object: &Object) -> String {
    object.name.trim_start_matches("a ").trim_start_matches("an ").trim_start_matches("the ").replace(' ', "-")
}

fn define(object: &'static Object, definitions: &mut BTreeMap<String, serde_json::Value>) {
    let name = definition_name(object);
    if definitions.contains_key(&name) {
        return;
    }
    // Reserved before its keys are visited: shapes may contain themselves.
    definitions.insert(name.clone(), json!({}));
    let mut demands = Vec::new();
    let mut properties = serde_json::Map::new();
    let mut dependent = serde_json::Map::new();
    for key in object.all_keys() {
        let mut schema = key.shape.json_schema(definitions);
        if let Some((beside, other)) = &key.shape_beside {
            let of = |schema: &serde_json::Value| json!({"properties": {key.name: schema}});
            let (then, otherwise) = (of(&other.json_schema(definitions)), of(&schema));
            demands.push(json!({"if": {"required": [beside]}, "then": then, "else": otherwise}));
            schema = json!({});
        }
        schema["description"] = key.doc.into();
        if let Some(default) = key.default {
            schema["default"] = plain(default.into()).to_json();
        }
        properties.insert(key.name.to_owned(), schema);
        let excluded = key.without.iter().map(|other| ((*other).to_owned(), json!(false)));
        let unless = key.unless.as_ref().map(|(other, shape)| {
            let schema = shape.json_schema(definitions);
            ((*other).to_owned(), json!({"not": schema}))
        });
        let excluded: serde_json::Map<_, _> = excluded.chain(unless).collect();
        let mut schema = json!({});
        if !excluded.is_empty() {
            schema["properties"] = excluded.into();
        }
        if !key.beside.is_empty() {
            schema["anyOf"] = require_each(key.beside);
        }
        if schema != json!({}) {
            dependent.insert(key.name.to_owned(), schema);
        }
    }
    let alternatives = object.alternatives();
    let mut choices: Vec<&str> = object.all_keys().filter_map(|key| key.choice).collect();
    choices.dedup();
    let choices: Vec<_> = choices.into_iter().map(|choice| object.of_choice(choice)).collect();
    if !alternatives.is_empty() && !choices.contains(&alternatives) {
        demands.push(json!({"anyOf": require_each(&alternatives)}));
    }
    for names in choices.iter().filter(|names| names.len() > 1) {
        let mut one = require_each(names);
        if let Some(one) = one.as_array_mut().filter(|_| *names != alternatives) {
            one.push(json!({"not": {"anyOf": require_each(names)}}));
        }
        demands.push(json!({"oneOf": one}));
    }
    let required: Vec<&str> = object.all_keys().filter(|key| key.need == Need::Required).map(|key| key.name).collect();
    let mut schema = json!({
        "type": "object",
        "description": object.doc,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if !dependent.is_empty() {
        schema["dependentSchemas"] = dependent.into();
    }
    if !demands.is_empty() {
        schema["allOf"] = demands.into();
    }
    definitions.insert(name, schema);
}

fn require_each(names: &[&str]) -> serde_json::Value {
    names.iter().map(|name| json!({"required": [name]})).collect()
}
