//! The folder that a server was started with: `mcp-server-git --repository /srv/repo` serves no other path, and neither
//! does a server of files. Read from the words of its command; the disk is asked only if one of them is a file, such as the
//! server's own program.

use std::fs;
use std::path::PathBuf;

use crate::source::template::has_template;
use crate::source::{Node, words};
use crate::suite::{Server, ServerKind, Suite, absolute_path};

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

/// Words in the names of arguments that take a path of a file.
const FILES: [&str; 4] = ["file", "files", "filepath", "filename"];

/// The folder that stands last among the words of the command that starts a server of a suite, or else its store. With a
/// store it is an absolute path, which leads into the copy of each process.
pub fn server_folder(suite: &Suite, server: &str) -> Option<String> {
    let server = suite.servers.get(server)?;
    let named = folder_of_command(server);
    let Some(store) = &server.store else { return named };
    let folder = match named {
        Some(named) => absolute_path(&named, &starting_folder(server)?),
        None => Some(absolute_path(store.path.text()?, &server.folder)).filter(|store| store.is_dir())?,
    };
    Some(folder.display().to_string())
}

/// The folder in which a server starts; `None` where a template names it.
pub(crate) fn starting_folder(server: &Server) -> Option<PathBuf> {
    match &server.cwd {
        Some(cwd) if has_template(cwd) => None,
        Some(cwd) => Some(server.folder.join(cwd.text()?)),
        None => Some(server.folder.clone()),
    }
}

fn folder_of_command(server: &Server) -> Option<String> {
    let ServerKind::Command(command) = &server.kind else { return None };
    let is_file = |word: &str| fs::metadata(server.folder.join(word)).is_ok_and(|about| about.is_file());
    let spoken: Vec<&str> = command.iter().skip(1).filter(|word| !has_template(word)).filter_map(Node::text).collect();
    last_folder(&spoken, is_file).map(str::to_owned)
}

fn last_folder<'a>(spoken: &[&'a str], is_file: impl Fn(&str) -> bool) -> Option<&'a str> {
    spoken.iter().rev().map(|word| value(word)).find(|word| is_folder(word) && !is_file(word))
}

/// Returns true if an argument of that name takes paths.
pub(crate) fn is_path(name: &str) -> bool {
    words(name).iter().any(|word| PATHS.contains(&word.as_str()))
}

/// Returns true if an argument of that name takes paths of folders, too: a file is not called by the name of one.
pub(crate) fn takes_folder(name: &str) -> bool {
    is_path(name) && !is_file(name)
}

/// Returns true if an argument of that name takes paths of files.
pub(crate) fn is_file(name: &str) -> bool {
    words(name).iter().any(|word| FILES.contains(&word.as_str()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_folder_is_the_one_that_is_served() {
        let is_file = |word: &str| word == "/srv/bin/excel-server";
        for (words, expected) in [
            ("--repository /srv/repo", Some("/srv/repo")),
            ("--repository=/srv/repo", Some("/srv/repo")),
            ("server.js /srv/a /srv/b", Some("/srv/b")),
            ("server.js .", Some(".")),
            // The program itself has no ending, and writing tools would be called with it.
            ("/srv/bin/excel-server", None),
            ("/srv/bin/excel-server /srv/books", Some("/srv/books")),
            ("--db /srv/data.db", None),
            ("--name books", None),
        ] {
            let spoken: Vec<&str> = words.split(' ').collect();
            assert_eq!(last_folder(&spoken, is_file), expected, "{words}");
        }
    }

    #[test]
    fn a_file_is_not_called_by_the_name_of_a_folder() {
        for (name, expected) in [
            ("path", true),
            ("repo_path", true),
            ("directory", true),
            ("fileAbsolutePath", false),
            ("file_path", false),
            ("filepath", false),
            ("name", false),
        ] {
            assert_eq!(takes_folder(name), expected, "{name}");
        }
    }
}
