//! Resolves references, with a placeholder for targets that are too far away to be written out.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

use crate::schema::{KeywordValue, References, canonical_text, token};

/// Stands for what a reference leads to where that is not written out: the same for what means the same.
pub(crate) const UNRESOLVED_REF: &str = "$far";

/// The number of schemas that are read to find the targets of references.
const MOST: usize = 200_000;

/// A schema as it was written.
pub(crate) struct SchemaDocument<'a> {
    root: &'a Value,
    references: References<'a>,
    /// The stand-ins by pointer.
    known: BTreeMap<String, String>,
    left: usize,
}

/// The schemas reachable from a place, in the order in which they are met; definitions are numbered, as their names mean nothing.
#[derive(Default)]
struct ReachableSchemas {
    numbers: BTreeMap<String, usize>,
    queue: Vec<String>,
    text: String,
}

impl<'a> SchemaDocument<'a> {
    pub(crate) fn new(root: &'a Value) -> Self {
        Self { root, references: References::new(root), known: BTreeMap::new(), left: MOST }
    }

    /// The pointer to what a reference leads to, and what is there; `None` where that is not in the document, or
    /// depends on more than the reference.
    pub(crate) fn target(&self, keyword: &str, reference: &Value, from: &str) -> Option<(String, &'a Value)> {
        let reference = reference.as_str()?;
        if keyword != "$ref" && !self.references.is_fixed(reference) {
            return None;
        }
        let pointer = self.references.target(from, reference)?;
        let root = self.root;
        let target = root.pointer(&pointer)?;
        Some((pointer, target))
    }

    /// A stand-in for what is at a pointer.
    pub(crate) fn far(&mut self, pointer: &str) -> Value {
        if let Some(known) = self.known.get(pointer) {
            return json!({UNRESOLVED_REF: known});
        }
        let placeholder = self.hash_reachable(pointer).unwrap_or_else(|| format!("{pointer} of {}", self.whole()));
        self.known.insert(pointer.to_owned(), placeholder.clone());
        json!({UNRESOLVED_REF: placeholder})
    }

    /// A stand-in for what a reference leads to that leads to no known place.
    pub(crate) fn unknown(&mut self, reference: &Value) -> Value {
        json!({UNRESOLVED_REF: self.elsewhere(reference)})
    }

    /// Schemas of other documents are identified by their address; other references depend on this whole document.
    fn elsewhere(&mut self, reference: &Value) -> String {
        let is_old = self.root["$schema"].as_str().is_some_and(|dialect| dialect.contains("/draft-0"));
        match reference.as_str() {
            Some(address) if address.contains("://") && !(is_old && self.root.get("id").is_some()) => {
                address.to_owned()
            }
            _ => format!("{reference} of {}", self.whole()),
        }
    }

    fn whole(&mut self) -> String {
        if let Some(known) = self.known.get("#") {
            return known.clone();
        }
        let placeholder = hash(&canonical_text(self.root));
        self.known.insert("#".to_owned(), placeholder.clone());
        placeholder
    }

    /// A hash of the schemas reachable from a pointer; `None` where they are too many.
    fn hash_reachable(&mut self, pointer: &str) -> Option<String> {
        let mut reached = ReachableSchemas::default();
        reached.number(pointer);
        let mut next = 0;
        while let Some(pointer) = reached.queue.get(next).cloned() {
            next += 1;
            let root = self.root;
            self.write(root.pointer(&pointer)?, &pointer, &mut reached)?;
            reached.text.push(';');
        }
        Some(hash(&reached.text))
    }

    fn write(&mut self, schema: &Value, at: &str, reached: &mut ReachableSchemas) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        let Value::Object(fields) = schema else {
            reached.text.push_str(if *schema == Value::Bool(false) { "false" } else { "true" });
            return Some(());
        };
        reached.text.push('{');
        let sorted: BTreeMap<&String, &Value> = fields.iter().collect();
        for (key, value) in sorted {
            let holds = KeywordValue::of(key);
            if matches!(holds, KeywordValue::Location | KeywordValue::Definitions | KeywordValue::Annotation) {
                continue;
            }
            reached.text.extend([&format!("{key:?}"), ":"]);
            let at = format!("{at}/{}", token(key));
            match (holds, value) {
                (KeywordValue::Reference, _) => match self.target(key, value, &at) {
                    Some((target, _)) => {
                        let number = reached.number(&target);
                        reached.text.extend(["#", &number.to_string()]);
                    }
                    None => reached.text.push_str(&self.elsewhere(value)),
                },
                (KeywordValue::List, Value::Array(parts)) => self.write_all(parts, &at, reached)?,
                (KeywordValue::Schema, Value::Array(parts)) if key == "items" => self.write_all(parts, &at, reached)?,
                (KeywordValue::Schema, _) => self.write(value, &at, reached)?,
                (KeywordValue::Named, Value::Object(named)) => self.write_named(named, &at, reached)?,
                (_, Value::Object(named)) if key == "dependencies" => self.write_named(named, &at, reached)?,
                _ => reached.text.push_str(&canonical_text(value)),
            }
            reached.text.push(',');
        }
        reached.text.push('}');
        Some(())
    }

    fn write_all(&mut self, parts: &[Value], at: &str, reached: &mut ReachableSchemas) -> Option<()> {
        reached.text.push('[');
        for (place, part) in parts.iter().enumerate() {
            self.write(part, &format!("{at}/{place}"), reached)?;
            reached.text.push(',');
        }
        reached.text.push(']');
        Some(())
    }

    fn write_named(&mut self, named: &Map<String, Value>, at: &str, reached: &mut ReachableSchemas) -> Option<()> {
        let sorted: BTreeMap<&String, &Value> = named.iter().collect();
        for (name, part) in sorted {
            reached.text.extend([&format!("{name:?}"), "="]);
            if part.is_array() {
                reached.text.push_str(&canonical_text(part));
            } else {
                self.write(part, &format!("{at}/{}", token(name)), reached)?;
            }
            reached.text.push(',');
        }
        Some(())
    }
}

impl ReachableSchemas {
    /// The number of a place; one that is new is still to be written.
    fn number(&mut self, pointer: &str) -> usize {
        let next = self.queue.len();
        let number = *self.numbers.entry(pointer.to_owned()).or_insert(next);
        if number == next {
            self.queue.push(pointer.to_owned());
        }
        number
    }
}

fn hash(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
