//! Reads paths, and conditions on them, from located nodes; every mistake at once.

use regex::Regex;

use super::path_condition::{NamedCondition, PathCondition, PathConditions, WantedValue};
use crate::path::DottedPath;
use crate::source::{Diagnostic, Node, Span, Value};

/// Adds what is wrong to `found`.
pub(crate) struct PathReader<'a> {
    /// The mistakes so far.
    pub(crate) found: &'a mut Vec<Diagnostic>,
}

impl PathReader<'_> {
    /// Reads a path, or a list of them.
    pub(crate) fn places(&mut self, node: Option<&Node>) -> Vec<DottedPath> {
        items_of(node).filter_map(|node| self.place(node)).collect()
    }

    /// Reads a path.
    pub(crate) fn place(&mut self, node: &Node) -> Option<DottedPath> {
        self.path(node.text()?, node.span)
    }

    /// Reads values by path.
    pub(crate) fn pairs<T>(
        &mut self,
        node: &Node,
        read: impl Fn(&mut Self, &Node) -> Option<T>,
    ) -> Vec<(DottedPath, T)> {
        let mut pairs = Vec::new();
        for (name, value) in node.entries() {
            let place = self.path(&name.value, name.span);
            if let (Some(place), Some(value)) = (place, read(self, value)) {
                pairs.push((place, value));
            }
        }
        pairs
    }

    /// Reads the paths at which something is, or with which value, and those at which nothing is.
    pub(crate) fn conditions(&mut self, with: Option<&Node>, without: Option<&Node>) -> PathConditions {
        let pairs = with.map(|with| self.pairs(with, Self::read_wanted)).unwrap_or_default();
        let mut conditions: Vec<_> =
            pairs.into_iter().map(|(place, wanted)| PathCondition { place, wanted: Some(wanted) }).collect();
        conditions.extend(self.places(with).into_iter().map(|place| PathCondition { place, wanted: None }));
        PathConditions { with: conditions, without: self.places(without) }
    }

    /// Reads a value that is wanted; a text between slashes is a regular expression.
    pub(crate) fn read_wanted(&mut self, node: &Node) -> Option<WantedValue> {
        let pattern = node.text().and_then(|text| text.strip_prefix('/')?.strip_suffix('/'));
        let Some(pattern) = pattern else { return Some(WantedValue::Is(node.to_json())) };
        let regex = Regex::new(pattern).ok();
        if regex.is_none() {
            let message = format!("`{pattern}` is not a valid regular expression");
            self.found.push(Diagnostic::error("bad-regex", message, node.span));
        }
        regex.map(WantedValue::Matches)
    }

    /// Reads an HTTP status, from `least` on.
    pub(crate) fn status(&mut self, node: &Node, least: u16) -> Option<u16> {
        let status = u16::try_from(node.whole()?).ok().filter(|status| (least..600).contains(status));
        if status.is_none() {
            self.found.push(
                Diagnostic::error("bad-number", "invalid HTTP status", node.span)
                    .with_help(format!("a status is a number from {least} to 599")),
            );
        }
        status
    }

    /// Reads headers or parameters by name, each with the value that is wanted or without one.
    pub(crate) fn names(&mut self, node: Option<&Node>, spell: fn(&str) -> String) -> Vec<NamedCondition> {
        let entries = node.map(Node::entries).unwrap_or_default().iter();
        let pairs =
            entries.map(|(name, value)| NamedCondition { name: spell(&name.value), wanted: self.read_wanted(value) });
        let mut named: Vec<_> = pairs.collect();
        named.extend(
            items_of(node).filter_map(Node::text).map(|name| NamedCondition { name: spell(name), wanted: None }),
        );
        named
    }

    fn path(&mut self, text: &str, span: Span) -> Option<DottedPath> {
        DottedPath::parse(text).map_err(|reason| self.found.push(Diagnostic::error("bad-path", reason, span))).ok()
    }
}

/// One item, or those of a list.
pub(crate) fn items_of(node: Option<&Node>) -> impl Iterator<Item = &Node> {
    let one = node.filter(|node| !matches!(node.value, Value::List(_)));
    one.into_iter().chain(node.map(Node::items).unwrap_or_default())
}

/// A name, or a list of them, in lower case, as headers are compared.
pub(crate) fn lower_case(node: Option<&Node>) -> Vec<String> {
    items_of(node).filter_map(Node::text).map(str::to_ascii_lowercase).collect()
}
