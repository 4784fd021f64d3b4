//! The recorded server that a `differential:` block names.

use std::io::ErrorKind;
use std::path::Path;

use crate::drift::ServerSnapshot;
use crate::source::{Diagnostic, Located};
use crate::suite::{BlockReader, why_unreadable};

/// Reads the recorded server.
pub(crate) fn load(named: &Located<String>, reader: &mut dyn BlockReader) -> Option<ServerSnapshot> {
    let again = format!("record the server with `mcprove snapshot {}`", reader.suite_file());
    let reason = match reader.file(Path::new(&named.value)) {
        Ok(text) => match ServerSnapshot::parse(&text) {
            Ok(snapshot) => return Some(snapshot),
            Err(reason) => reason.to_string(),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let message = format!("no server is recorded in `{}`: there is no such file", named.value);
            reader.report(Diagnostic::error("missing-snapshot", message, named.span).with_help(again));
            return None;
        }
        Err(error) => why_unreadable(&error),
    };
    let message = format!("`{}` cannot be used: {reason}", named.value);
    reader.report(Diagnostic::error("bad-snapshot", message, named.span).with_help(again));
    None
}
