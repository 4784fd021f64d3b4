//! Files and folders that the command of a server names, or beside which it starts: what a server of files is asked for.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::seeds::Seeds;
use crate::files::real_path;
use crate::plan::arguments::starting_folder;
use crate::source::Node;
use crate::source::template::has_template;
use crate::suite::{Server, ServerKind, absolute_path};

/// The most entries of a folder that are looked at.
const MOST_ENTRIES: usize = 40;

/// The place where most of them are found, in words.
const COMMAND: &str = "the command of the server";

/// Endings of programs, which are what runs rather than what is served.
const PROGRAMS: [&str; 22] = [
    "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "py", "pyz", "rb", "php", "pl", "lua", "go", "cs", "jar",
    "dll", "exe", "wasm", "sh", "ps1",
];

/// Takes the paths that the words of a command name, and the files in folders among them; where it names none, the files
/// in the folder in which the server starts. The disk is only listed.
pub(crate) fn add_files(server: &Server, seeds: &mut Seeds) {
    let (ServerKind::Command(command), Some(start)) = (&server.kind, starting_folder(server)) else { return };
    let mut names_data = false;
    let spoken = command.iter().skip(1).filter(|word| !has_template(word)).filter_map(Node::text);
    for value in spoken.filter_map(value_of_word) {
        let path = start.join(value);
        match fs::metadata(&path) {
            Ok(about) if about.is_dir() => add_folder(&path, value, &start, seeds),
            Ok(about) if about.is_file() && !is_program(&path) => {
                add_path("file/path", Path::new(value), &start, seeds);
            }
            Ok(_) | Err(_) => continue,
        }
        names_data = true;
    }
    if !names_data {
        for path in entries_of(&start).iter().filter(|path| is_plain(path, fs::Metadata::is_file)) {
            add_file(Path::new(name_of(path)), &start, "the folder in which the server starts", seeds);
        }
    }
}

/// Takes a file by its path, and by its name, by which a server may know what is in its folder.
fn add_file(written: &Path, start: &Path, origin: &str, seeds: &mut Seeds) {
    let name = name_of(written).to_string_lossy().into_owned();
    let (relative, absolute) = spellings(written, start, seeds);
    for path in relative.iter().chain([&name, &absolute]) {
        seeds.add_path("file/path", path, origin);
    }
    seeds.add_path("file/name", &name, origin);
}

fn add_path(kind: &str, written: &Path, start: &Path, seeds: &mut Seeds) {
    let (relative, absolute) = spellings(written, start, seeds);
    for path in relative.iter().chain([&absolute]) {
        seeds.add_path(kind, path, COMMAND);
    }
}

/// A path as it is written, and from the root; from the root alone where it leads into a store, since each process has a
/// copy of that elsewhere.
fn spellings(written: &Path, start: &Path, seeds: &Seeds) -> (Option<String>, String) {
    let written = written.display().to_string();
    let absolute = absolute_path(&written, start).display().to_string();
    (Some(written).filter(|_| !seeds.is_in_store(&absolute)), absolute)
}

/// The word, or the value of the flag that it sets; `None` for a flag alone.
fn value_of_word(word: &str) -> Option<&str> {
    let value = word.split_once('=').filter(|(flag, _)| flag.starts_with('-')).map_or(word, |(_, value)| value);
    (!value.is_empty() && !value.starts_with('-')).then_some(value)
}

fn add_folder(folder: &Path, written: &str, start: &Path, seeds: &mut Seeds) {
    let entries = entries_of(folder);
    for path in entries.iter().filter(|path| is_plain(path, fs::Metadata::is_file)) {
        add_file(&Path::new(written).join(name_of(path)), start, COMMAND, seeds);
    }
    add_path("directory/path", Path::new(written), start, seeds);
    if let Ok(real) = real_path(folder) {
        add_path("directory/path", &real, start, seeds);
    }
    for path in entries.iter().filter(|path| is_plain(path, fs::Metadata::is_dir)) {
        add_path("directory/path", &Path::new(written).join(name_of(path)), start, seeds);
    }
}

fn name_of(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

/// The first entries of a folder that are not hidden.
fn entries_of(folder: &Path) -> Vec<PathBuf> {
    // The folder in which everything starts has no path of its own.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let listed = fs::read_dir(folder).into_iter().flatten().flatten();
    let shown = listed.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let mut entries: Vec<PathBuf> = shown.take(MOST_ENTRIES).map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

/// Returns true for a file or folder of that kind, and for no link, which may lead elsewhere.
fn is_plain(path: &Path, is_wanted: fn(&fs::Metadata) -> bool) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| is_wanted(&about))
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
