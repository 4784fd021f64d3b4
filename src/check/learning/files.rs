//! Files and folders that the command of a server names: what a server of files is asked for.

use std::fs;
use std::path::{Path, PathBuf};

use super::seeds::Seeds;
use crate::source::Node;
use crate::source::template::has_template;
use crate::suite::{Server, ServerKind};

/// The most entries of a folder that are looked at.
const MOST_ENTRIES: usize = 40;

/// Endings of programs, which are what runs rather than what is served.
const PROGRAMS: [&str; 22] = [
    "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "py", "pyz", "rb", "php", "pl", "lua", "go", "cs", "jar",
    "dll", "exe", "wasm", "sh", "ps1",
];

/// Takes the paths that the words of a command name, and the files in folders among them; the disk is only listed.
pub(crate) fn add_files(server: &Server, seeds: &mut Seeds) {
    let ServerKind::Command(command) = &server.kind else { return };
    let spoken = command.iter().skip(1).filter(|word| !has_template(word)).filter_map(Node::text);
    for value in spoken.filter_map(value_of_word) {
        let path = server.folder.join(value);
        match fs::metadata(&path) {
            Ok(about) if about.is_dir() => add_folder(&path, value, seeds),
            Ok(about) if about.is_file() && !is_program(&path) => seeds.add_path("file/path", value),
            Ok(_) | Err(_) => {}
        }
    }
}

/// The word, or the value of the flag that it sets; `None` for a flag alone.
fn value_of_word(word: &str) -> Option<&str> {
    let value = word.split_once('=').filter(|(flag, _)| flag.starts_with('-')).map_or(word, |(_, value)| value);
    (!value.is_empty() && !value.starts_with('-')).then_some(value)
}

fn add_folder(folder: &Path, written: &str, seeds: &mut Seeds) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .take(MOST_ENTRIES)
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    let is_of =
        |path: &PathBuf, is_wanted: fn(&fs::Metadata) -> bool| fs::metadata(path).is_ok_and(|about| is_wanted(&about));
    for path in entries.iter().filter(|path| is_of(path, fs::Metadata::is_file)) {
        seeds.add_path("file/path", &path.display().to_string());
        if let Some(name) = path.file_name() {
            seeds.add_path("file/name", &name.to_string_lossy());
        }
    }
    seeds.add_path("directory/path", written);
    if let Ok(whole) = folder.canonicalize() {
        seeds.add_path("directory/path", &whole.display().to_string());
    }
    for path in entries.iter().filter(|path| is_of(path, fs::Metadata::is_dir)) {
        seeds.add_path("directory/path", &path.display().to_string());
    }
}

fn is_program(path: &Path) -> bool {
    path.extension().is_some_and(|ending| PROGRAMS.iter().any(|program| ending.eq_ignore_ascii_case(program)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_a_path_itself_or_behind_its_flag() {
        for (word, expected) in [
            ("/srv/data", Some("/srv/data")),
            ("data", Some("data")),
            ("--root=/srv/data", Some("/srv/data")),
            ("-d=notes.json", Some("notes.json")),
            ("a=b.txt", Some("a=b.txt")),
            ("--root=", None),
            ("--root", None),
            ("-v", None),
            ("-", None),
            ("", None),
        ] {
            assert_eq!(value_of_word(word), expected, "{word}");
        }
    }

    #[test]
    fn programs_run_and_are_not_served() {
        for (path, expected) in [
            ("server.py", true),
            ("dist/index.js", true),
            ("SERVER.EXE", true),
            ("server.rb", true),
            ("main.go", true),
            ("notes.json", false),
            ("data.db", false),
            ("README", false),
            ("py", false),
            (".js", false),
        ] {
            assert_eq!(is_program(Path::new(path)), expected, "{path}");
        }
    }
}
