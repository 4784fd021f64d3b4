//! `snapshot:`: what is recorded of an answer, and under which name.

use std::path::PathBuf;
use std::sync::Arc;

use super::key_span;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, Value};
use crate::suite::grammar::SnapshotKeys;
use crate::suite::snapshot::Snapshot;

/// The longest name in bytes; a row, a server and an ending are still to come, and file systems end at 255.
const LONGEST: usize = 80;

/// Returns true if a step asks for a comparison, even a malformed one.
pub(crate) fn is_asked(settings: Option<&Node>) -> bool {
    settings.is_some_and(|settings| settings.flag() != Some(false))
}

/// Reads the snapshot of a step; `snapshot: false` is none.
pub(crate) fn decode(step: &Node, settings: Option<&Node>, found: &mut Vec<Diagnostic>) -> Option<Snapshot> {
    let settings = settings.filter(|_| is_asked(settings))?;
    let named = |name: Located<String>| Node {
        value: Value::Map(vec![(Located::new("name".to_owned(), name.span), settings.clone())]),
        span: name.span,
    };
    let keys = match settings.located_text() {
        Some(name) => SnapshotKeys::decode(&named(name), found)?,
        None => SnapshotKeys::decode(settings, found)?,
    };
    if let Some(name) = &keys.name
        && let Some(reason) = name_problem(&name.value)
    {
        let help = "use letters, digits, `-`, `_` and dots within, such as `created-user`".to_owned();
        found.push(Diagnostic::error("bad-name", reason, name.span).with_help(help));
        return None;
    }
    let span = key_span(step, "snapshot");
    let sample = Arc::new(keys.sample.marked_at(span));
    Some(Snapshot { span, sample, name: keys.name.map(|name| name.value), per: keys.per, file: PathBuf::new() })
}

/// Why a text cannot be the name of a file on every system, or would lead out of its folder.
fn name_problem(name: &str) -> Option<String> {
    const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
    let foreign = name.chars().find(|c| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.'));
    let is_device = |stem: &str| {
        let (letters, digit) = stem.split_at_checked(3).unwrap_or((stem, ""));
        DEVICES.contains(&stem) || ["com", "lpt"].contains(&letters) && digit.len() == 1
    };
    let stem = name.split('.').next().unwrap_or_default().to_lowercase();
    Some(if name.is_empty() {
        "the name of the snapshot is empty".to_owned()
    } else if name.len() > LONGEST {
        format!("the name of the snapshot is longer than {LONGEST} bytes")
    } else if name.contains(['/', '\\']) || name.contains("..") {
        "the name of the snapshot would lead out of its folder".to_owned()
    } else if let Some(c) = foreign {
        format!("the name of the snapshot holds {c:?}, which not every system allows in a file")
    } else if name.starts_with('.') || name.ends_with('.') {
        "the name of the snapshot begins or ends with a dot".to_owned()
    } else if is_device(&stem) {
        format!("`{stem}` is a device on some systems and no name for a snapshot")
    } else {
        return None;
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_file_may_have() {
        let check = |name: &str, expected: &str| {
            let found = name_problem(name).unwrap_or_default();
            assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{name:?}: {found}");
        };
        for name in ["created-user", "a.b", "v2_1", "größe", "console", "com10"] {
            check(name, "");
        }
        for name in ["../x", "..", "/etc/passwd", "a/b", "C:\\x", "a..b"] {
            check(name, "out of its folder");
        }
        for name in ["a b", "a\n", "a\0b", "C:x", "a*", "{{ id }}", "a\u{202e}b"] {
            check(name, "holds");
        }
        check("", "empty");
        check(".hidden", "dot");
        check("con", "device");
        check("LPT1.x", "device");
        check(&"x".repeat(81), "longer");
    }
}
