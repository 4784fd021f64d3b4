//! The texts that an editor has open, and what it knows of their mistakes.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_server::Notification;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::mistakes::{self, PositionEncoding};
use super::text_at;
use crate::block;
use crate::cli::paths::{is_part, is_suite, reads_like_a_suite};
use crate::cli::suites::{ChosenRegistry, read_suite};
use crate::plan::{self, Selection};
use crate::source::{Diagnostic, PathStyle, SourceFile, Sources, format_yaml};
use crate::suite::{Files, Servers};

/// Everything that is open.
#[derive(Debug)]
pub(super) struct Documents {
    encoding: PositionEncoding,
    open: BTreeMap<PathBuf, OpenDocument>,
    /// The files of whose mistakes the editor knows, and the addresses by which it was told.
    told: BTreeMap<PathBuf, String>,
    /// Whether anything has changed since the editor was told.
    has_changed: bool,
}

#[derive(Debug)]
struct OpenDocument {
    /// The address as the editor writes it.
    uri: String,
    text: String,
}

/// What is open is as the editor has it, the rest as the disk has it.
impl Files for Documents {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.open.get(path).map_or_else(|| read_suite(path), |document| Ok(document.text.clone()))
    }
}

impl Documents {
    pub(super) fn new(encoding: PositionEncoding) -> Self {
        Self { encoding, open: BTreeMap::new(), told: BTreeMap::new(), has_changed: false }
    }

    /// Takes in what the editor tells.
    pub(super) fn take_in(&mut self, told: &Notification) {
        let Some(uri) = text_at(&told.params, "/textDocument/uri") else { return };
        // A text that has no file yet has no folder in which to look for what it includes.
        let Some(path) = path_of(uri) else { return };
        let text = match told.method.as_str() {
            "textDocument/didOpen" => text_at(&told.params, "/textDocument/text"),
            // Each change is the whole text.
            "textDocument/didChange" => {
                let changes = told.params.get("contentChanges").and_then(Value::as_array);
                changes.and_then(|changes| text_at(changes.last()?, "/text"))
            }
            "textDocument/didClose" => {
                self.open.remove(&path);
                None
            }
            "textDocument/didSave" => None,
            _ => return,
        };
        if let Some(text) = text {
            self.open.insert(path, OpenDocument { uri: uri.to_owned(), text: text.to_owned() });
        }
        self.has_changed = true;
    }

    /// The parameters of `textDocument/publishDiagnostics` for each file of which there is something new to say: the
    /// files with mistakes, and those that had some.
    pub(super) fn news(&mut self) -> Vec<Value> {
        self.has_changed = false;
        let found = self.mistakes();
        let addresses = found.keys().map(|path| (path.clone(), self.uri(path))).collect();
        let mut gone = std::mem::replace(&mut self.told, addresses);
        gone.retain(|path, _| !found.contains_key(path));
        let cleared = gone.into_values().map(|uri| json!({ "uri": uri, "diagnostics": [] }));
        let told = found.iter().map(|(path, mistakes)| json!({ "uri": self.told[path], "diagnostics": mistakes }));
        cleared.chain(told).collect()
    }

    /// Whether anything has changed since the editor was told.
    pub(super) fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// The mistakes in every open suite, by the file in which they are.
    fn mistakes(&self) -> BTreeMap<PathBuf, Vec<Value>> {
        let mut found: BTreeMap<PathBuf, Vec<Value>> = BTreeMap::new();
        for (suite, _) in self.open.iter().filter(|(path, document)| !is_part(path) && is_suite(&document.text)) {
            let (diagnostics, sources) = self.check(suite);
            for diagnostic in diagnostics {
                let label = diagnostic.label.as_ref().map(|label| label.span);
                let path = label.map_or_else(|| suite.clone(), |span| PathBuf::from(&sources.file(span.source).name));
                let told = mistakes::told(&diagnostic, &sources, self.encoding, |path| self.uri(path));
                let known = found.entry(path).or_default();
                // Two suites may include one file.
                if !known.contains(&told) {
                    known.push(told);
                }
            }
        }
        found
    }

    /// What `mcprove check` says of a suite.
    fn check(&self, suite: &Path) -> (Vec<Diagnostic>, Arc<Sources>) {
        let (mut sources, mut found) = (Sources::default(), Vec::new());
        match block::load_with(Servers::Written, suite, self, &mut sources, &mut found) {
            Ok(loaded) => {
                let sources = Arc::new(sources);
                let registry = ChosenRegistry::BUILTIN;
                let planned = plan::build(vec![loaded], Selection::default(), registry.get(), Arc::clone(&sources));
                found.extend(planned.err().unwrap_or_default());
                (found, sources)
            }
            Err(mistakes) => {
                found.extend(mistakes);
                (found, Arc::new(sources))
            }
        }
    }

    /// The answer to `textDocument/formatting`: the whole text in one layout, nothing where it has it, or no meaning.
    pub(super) fn formatted(&self, params: &Value) -> Option<Value> {
        let path = path_of(text_at(params, "/textDocument/uri")?)?;
        let text = &self.open.get(&path)?.text;
        if !(is_suite(text) || is_part(&path) && reads_like_a_suite(text)) {
            return None;
        }
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new(path.display().to_string(), text.as_str()));
        let formatted = format_yaml(&sources, source).ok()??;
        if formatted == *text {
            return None;
        }
        // One line more than there are: the end of the text, whatever its last line is.
        let range = json!({
            "start": { "line": 0, "character": 0 },
            "end": { "line": text.lines().count() + 1, "character": 0 },
        });
        Some(json!([{ "range": range, "newText": formatted }]))
    }

    fn uri(&self, path: &Path) -> String {
        self.open.get(path).map_or_else(|| uri_of(path), |document| document.uri.clone())
    }
}

/// The path of a `file:` address (RFC 8089); `None` for any other.
fn path_of(uri: &str) -> Option<PathBuf> {
    let decoded = percent_decode_str(uri.strip_prefix("file://")?).decode_utf8().ok()?;
    PathStyle::HERE.path_of_uri(&decoded).map(PathBuf::from)
}

fn uri_of(path: &Path) -> String {
    let path = path.to_string_lossy();
    // Only what an editor named is told of, and that has an address.
    PathStyle::HERE.file_uri(&path).unwrap_or_else(|| PathStyle::HERE.relative_uri(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths() {
        let of_system = match PathStyle::HERE {
            PathStyle::Unix => ("file:///a/b%20c/%C3%A4.yml", Some("/a/b c/ä.yml")),
            PathStyle::Windows => ("file:///c:/b%20c/%C3%A4.yml", Some("c:/b c/ä.yml")),
        };
        for (uri, path) in [
            of_system,
            ("untitled:Untitled-1", None),
            ("file://host/share/s.yml", None),
            ("https://example.com/s.yml", None),
            ("file:///%ff", None),
        ] {
            assert_eq!(path_of(uri), path.map(PathBuf::from), "{uri}");
            if let Some(path) = path {
                assert_eq!(uri_of(Path::new(path)), uri);
            }
        }
    }
}
