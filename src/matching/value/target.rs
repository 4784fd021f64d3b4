//! A place in a value with what must hold there.

use serde_json::Value as Json;

use super::super::{mismatch::Mismatch, mismatch::MismatchWeight, path::ValuePath, read, show};
use super::{Absence, Checks, ValuePlace};
use crate::source::{Diagnostic, Node, Span, grammar::Key, grammar::Need, grammar::Shape, grammar::key};

/// The key that says where to look.
pub(crate) const fn at(need: Need, beside: &'static [&'static str]) -> [Key; 1] {
    let doc = "Where to look: a path such as `result.content[0].text`, or a JSONPath that starts with `$`.";
    let at = key("at", Shape::Text, doc).beside(beside);
    let at = at.cure("write for example `{ at: result.content, length: 1 }` or `{ is_error: false }`");
    [Key {
        need,
        ..at.beside_cure("add `at:` with a path such as `result.structuredContent`, or put the matcher under `text:`")
    }]
}

/// A place and the matchers of the value that stands there.
#[derive(Debug)]
pub(crate) struct PathChecks {
    path: Option<ValuePath>,
    span: Span,
    checks: Checks,
}

impl PathChecks {
    /// Compiles the `at` of a mapping and its value matchers.
    pub(crate) fn build(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let at = node.get("at");
        let path = at.map(|at| path(at, found));
        let checks = Checks::build(node, found)?;
        let path = match path {
            Some(path) => Some(path?),
            None => None,
        };
        // Without a path nothing can be missing at it.
        Some(Self { path, span: at.map_or(node.span, |at| at.span), checks })
    }

    /// Adds what is wrong at the place within `root`; `prefix` says where `root` itself stands.
    pub(crate) fn check(&self, root: &Json, prefix: Option<&str>, found: &mut Vec<Mismatch>) {
        let Some(path) = &self.path else {
            return self.checks.check(root, ValuePlace::Path(prefix.unwrap_or("the answer")), found);
        };
        let full = prefix.map(|prefix| format!("{prefix}.{}", path.as_str()));
        let full = full.as_deref().unwrap_or(path.as_str());
        match path.find(root) {
            Ok(value) => self.checks.check(&value, ValuePlace::Path(full), found),
            Err(_) if self.checks.absent() == Absence::Right => found.extend(path.slip(root).map(|reason| {
                let message = format!("nothing can be absent there: {reason}");
                let doubt = Mismatch::new("leads-nowhere", self.span, message, "leads nowhere in this answer");
                doubt.with_path(full).with_actual(show::compact(root)).with_weight(MismatchWeight::Warns)
            })),
            Err(reason) => found.push(
                Mismatch::missing(self.span, reason, "finds nothing").with_path(full).with_actual(show::compact(root)),
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
