//! The roots of the client: the folders that it shows to servers, as `file:` addresses.

use std::path::{self, Path, PathBuf};

use reqwest::Url;
use serde_json::{Value, json};

use crate::files::real_path;

/// A root as `roots/list` has it. A suite writes the whole root, its URI, or a folder relative to that of the suite.
pub fn client_root(written: &Value, suite_folder: &Path) -> Value {
    let Some(text) = written.as_str() else { return written.clone() };
    let uri = if has_scheme(text) { None } else { folder_uri(&suite_folder.join(text)) };
    json!({"uri": uri.unwrap_or_else(|| text.to_owned())})
}

/// The folder that a root names; `None` where it is no `file:` address.
pub fn root_folder(root: &Value) -> Option<PathBuf> {
    Url::parse(root["uri"].as_str()?).ok().filter(|uri| uri.scheme() == "file")?.to_file_path().ok()
}

fn folder_uri(folder: &Path) -> Option<String> {
    let absolute = real_path(folder).or_else(|_| path::absolute(folder)).ok()?;
    Url::from_file_path(absolute).ok().map(String::from)
}

/// A text begins like a URI; a single letter is a drive of Windows.
fn has_scheme(text: &str) -> bool {
    let is_of_scheme = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    text.split_once(':').is_some_and(|(scheme, _)| scheme.len() > 1 && scheme.chars().all(is_of_scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_uri_or_a_folder_of_the_suite() {
        let of = |written: Value| client_root(&written, Path::new("/no suite"));
        assert_eq!(of(json!({"uri": "files", "name": "x"})), json!({"uri": "files", "name": "x"}));
        for uri in ["file:///srv/a", "file:/srv", "https://example.com"] {
            assert_eq!(of(json!(uri)), json!({"uri": uri}));
        }
        assert_eq!(of(json!("files")), json!({"uri": "file:///no%20suite/files"}));
        assert_eq!(of(json!("/srv/a")), json!({"uri": "file:///srv/a"}));
    }

    #[test]
    fn folders_are_those_of_files() {
        let of = |uri: &str| root_folder(&json!({"uri": uri}));
        assert_eq!(of("file:///no%20suite/files"), Some(PathBuf::from("/no suite/files")));
        assert_eq!(of("https://example.com/files"), None);
        assert_eq!(of("files"), None);
    }
}
