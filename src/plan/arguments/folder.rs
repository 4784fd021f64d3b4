//! The folder that a server was started with: `mcp-server-git --repository /srv/repo` serves no other path, and neither
//! does a server of files. Read from the words of its command alone, never from the disk.

use crate::source::template::has_template;
use crate::source::{Node, words};
use crate::suite::{ServerKind, Suite};

/// Words in the names of arguments that take a path of a folder.
const PATHS: [&str; 14] = [
    "path",
    "paths",
    "filepath",
    "dir",
    "directory",
    "directories",
    "folder",
    "folders",
    "root",
    "roots",
    "repo",
    "repository",
    "workspace",
    "cwd",
];

/// The folder that stands last among the words of the command that starts a server of a suite.
pub fn server_folder(suite: &Suite, server: &str) -> Option<String> {
    let ServerKind::Command(command) = &suite.servers.get(server)?.kind else { return None };
    let spoken: Vec<&str> = command.iter().skip(1).filter(|word| !has_template(word)).filter_map(Node::text).collect();
    spoken.iter().rev().map(|word| value(word)).find(|word| is_folder(word)).map(ToOwned::to_owned)
}

/// Returns true if an argument of that name takes paths.
pub(crate) fn is_path(name: &str) -> bool {
    words(name).iter().any(|word| PATHS.contains(&word.as_str()))
}

/// The value of `--flag=value`.
fn value(word: &str) -> &str {
    match word.split_once('=') {
        Some((flag, value)) if flag.starts_with('-') => value,
        _ => word,
    }
}

/// A path, whose last name has no ending as programs and databases have it.
fn is_folder(word: &str) -> bool {
    let is_path = ["/", "./", "../", "~/"].iter().any(|start| word.starts_with(start)) || word == ".";
    let last = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    is_path && (word == "." || !last.trim_start_matches('.').contains('.'))
}
