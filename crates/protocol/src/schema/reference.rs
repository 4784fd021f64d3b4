//! Resolves references: pointers, anchors, identifiers, dynamic anchors.

use std::collections::BTreeMap;

use serde_json::Value;

use super::below;

/// The number of references that are followed one after the other.
const MOST_FOLLOWED: usize = 6;

/// The places of a document that references can name.
#[derive(Debug)]
pub struct References<'a> {
    pub document: &'a Value,
    /// Pointers of resources by their absolute identifier.
    resources: BTreeMap<String, String>,
    /// Pointers by resource and anchor.
    anchors: BTreeMap<(String, String), String>,
    dynamic: BTreeMap<(String, String), String>,
}

impl<'a> References<'a> {
    /// Looks for identifiers and anchors.
    pub fn new(document: &'a Value) -> Self {
        let (resources, anchors, dynamic) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut found = Self { document, resources, anchors, dynamic };
        found.collect(document, "", "", "");
        found
    }

    /// The pointer that a `$ref` at a pointer leads to; `None` for documents from elsewhere.
    pub fn target(&self, from: &str, reference: &str) -> Option<String> {
        let (resource, base) = self.resource_of(from);
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = match address {
            "" => resource,
            _ => self.resources.get(&join(&base, address))?.clone(),
        };
        let fragment = decode_percent(fragment);
        if fragment.is_empty() || fragment.starts_with('/') {
            let pointer = format!("{resource}{fragment}");
            return self.document.pointer(&pointer).is_some().then_some(pointer);
        }
        self.anchors.get(&(resource, fragment)).cloned()
    }

    /// The schema that a schema of the outermost resource refers to in the end; itself if it refers to none of the document.
    pub fn resolve(&self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        for _ in 0..MOST_FOLLOWED {
            let target = schema["$ref"].as_str().and_then(|reference| self.target("", reference));
            let Some(target) = target.and_then(|pointer| self.document.pointer(&pointer)) else { break };
            schema = target;
        }
        schema
    }

    /// The pointer that a `$dynamicRef` leads to: the outermost resource with the anchor wins, if it is one at all.
    pub(crate) fn dynamic_target(&self, from: &str, reference: &str) -> Option<String> {
        let target = self.target(from, reference)?;
        let anchor = reference.split_once('#').map_or("", |(_, fragment)| fragment);
        let (resource, _) = self.resource_of(&target);
        if !self.dynamic.contains_key(&(resource, anchor.to_owned())) {
            return Some(target);
        }
        Some(self.dynamic.get(&(String::new(), anchor.to_owned())).cloned().unwrap_or(target))
    }

    /// A `$dynamicRef` leads to the same place whatever leads to it.
    pub fn is_fixed(&self, reference: &str) -> bool {
        let anchor = reference.split_once('#').map_or("", |(_, fragment)| fragment);
        self.dynamic.keys().filter(|(_, known)| known == anchor).count() <= 1
    }

    fn collect(&mut self, value: &Value, pointer: &str, resource: &str, base: &str) {
        let (mut resource, mut base) = (resource.to_owned(), base.to_owned());
        match value {
            Value::Object(members) => {
                if let Some(id) = members.get("$id").and_then(Value::as_str) {
                    if let Some(anchor) = id.strip_prefix('#') {
                        self.anchors.insert((resource.clone(), anchor.to_owned()), pointer.to_owned());
                    } else {
                        base = join(&base, id.trim_end_matches('#'));
                        pointer.clone_into(&mut resource);
                        self.resources.insert(base.clone(), pointer.to_owned());
                    }
                }
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(anchor) = members.get(keyword).and_then(Value::as_str) {
                        self.anchors.insert((resource.clone(), anchor.to_owned()), pointer.to_owned());
                        if keyword == "$dynamicAnchor" {
                            self.dynamic.insert((resource.clone(), anchor.to_owned()), pointer.to_owned());
                        }
                    }
                }
                for (name, member) in members.iter().filter(|(name, _)| !["enum", "const"].contains(&name.as_str())) {
                    self.collect(member, &below(pointer, name), &resource, &base);
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.collect(item, &format!("{pointer}/{at}"), &resource, &base);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The resource that a place belongs to: its pointer and its identifier.
    fn resource_of(&self, pointer: &str) -> (String, String) {
        let holds =
            |root: &str| pointer.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let holding = self.resources.iter().filter(|(_, root)| holds(root));
        let closest = holding.max_by_key(|(_, root)| root.len());
        closest.map_or_else(Default::default, |(base, root)| (root.clone(), base.clone()))
    }
}

/// A reference resolved against an identifier, as far as schemas in one document need it.
fn join(base: &str, reference: &str) -> String {
    if reference.contains("://") || reference.starts_with("urn:") || base.is_empty() {
        return reference.to_owned();
    }
    let path_start = base.find("://").map_or(0, |at| at + 3);
    let authority_end = base[path_start..].find('/').map_or(base.len(), |at| path_start + at);
    if reference.starts_with('/') {
        return format!("{}{reference}", &base[..authority_end]);
    }
    match base.rfind('/') {
        Some(at) if at >= authority_end => format!("{}/{reference}", &base[..at]),
        _ if authority_end == base.len() && path_start > 0 => format!("{base}/{reference}"),
        _ => reference.to_owned(),
    }
}

/// A fragment without its percent signs.
fn decode_percent(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'%').then(|| tail.get(..2)).flatten();
        let code = escaped.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        if let Some(code) = code {
            bytes.push(code);
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
