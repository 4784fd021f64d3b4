//! The recorded server that a `differential:` block names.

use std::io::ErrorKind;
use std::path::Path;

use super::load::{Files, why_unreadable};
use crate::drift::Snapshot;
use crate::source::{Diagnostic, Node};

/// Reads the recorded server; paths are relative to `folder`.
pub(super) fn read(
    settings: &Node,
    (folder, suite): (&Path, &str),
    files: &dyn Files,
    found: &mut Vec<Diagnostic>,
) -> Option<Snapshot> {
    ignored(settings, found);
    let named = settings.get("snapshot")?.located_text()?;
    let path = folder.join(&named.value);
    let again = format!("record the server with `mcprove snapshot {suite}`");
    let reason = match files.read(&path) {
        Ok(text) => match Snapshot::parse(&text) {
            Ok(snapshot) => return Some(snapshot),
            Err(reason) => reason.to_string(),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let message = format!("no server is recorded in `{}`: there is no such file", named.value);
            found.push(Diagnostic::error("missing-snapshot", message, named.span).with_help(again));
            return None;
        }
        Err(error) => why_unreadable(&error),
    };
    let message = format!("`{}` cannot be used: {reason}", named.value);
    found.push(Diagnostic::error("bad-snapshot", message, named.span).with_help(again));
    None
}

/// What would ignore every change.
fn ignored(settings: &Node, found: &mut Vec<Diagnostic>) {
    for item in settings.get("ignore").map(Node::items).unwrap_or_default() {
        if item.get("at").is_none() && item.get("what").is_none() {
            let help = "add `at: tools/add/*` or `what: tool-added`".to_owned();
            let message = "this would ignore every change";
            found.push(Diagnostic::error("missing-key", message, item.span).with_help(help));
        }
    }
}
