//! A place in a value with what must hold there.

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, path::ValuePath, read, show};
use super::{Absence, Checks, ValuePlace};
use crate::source::{Diagnostic, Located, Node, Span, grammar::Key, grammar::Shape, grammar::key};

/// The key that says where to look.
pub(in super::super) static AT: [Key; 1] = [key(
    "at",
    Shape::Text,
    "Where to look: a path such as `result.content[0].text`, or a JSONPath that starts with `$`.",
)];

/// A place and the matchers of the value that stands there.
#[derive(Debug)]
pub(in super::super) struct PathChecks {
    path: Option<ValuePath>,
    span: Span,
    checks: Checks,
}

impl PathChecks {
    /// Compiles the `at` of a mapping and its value matchers.
    pub(in super::super) fn build(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let at = node.entries().iter().find(|(name, _)| name.value == "at");
        let path = at.map(|(_, at)| path(at, found));
        let owner = at.map_or(key, |(name, _)| name);
        let checks = Checks::build(owner, node, found)?;
        let path = match path {
            Some(path) => Some(path?),
            None => None,
        };
        Some(Self { path, span: at.map_or(key.span, |(_, at)| at.span), checks })
    }

    /// Adds what is wrong at the place within `root`; `prefix` says where `root` itself stands.
    pub(in super::super) fn check(&self, root: &Json, prefix: Option<&str>, found: &mut Vec<Mismatch>) {
        let Some(path) = &self.path else {
            return self.checks.check(root, ValuePlace::Path(prefix.unwrap_or("the answer")), found);
        };
        let full = prefix.map(|prefix| format!("{prefix}.{}", path.as_str()));
        let full = full.as_deref().unwrap_or(path.as_str());
        match path.find(root) {
            Ok(value) => self.checks.check(&value, ValuePlace::Path(full), found),
            Err(_) if self.checks.absent() == Absence::Right => {}
            Err(reason) => found.push(
                Mismatch::new("missing-value", self.span, reason, "finds nothing")
                    .with_path(full)
                    .with_actual(show::compact(root)),
            ),
        }
    }
}

/// Compiles a path; `None` after a mistake, or where a template stands in the way.
fn path(node: &Node, found: &mut Vec<Diagnostic>) -> Option<ValuePath> {
    match ValuePath::parse(read::text(node)?) {
        Ok(path) => Some(path),
        Err(reason) => {
            found.push(Diagnostic::error("bad-path", reason, node.span));
            None
        }
    }
}
