//! From what was typed to suite files: files, folders, globs, and lines in files.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;
use walkdir::WalkDir;

use crate::plan::LineSelection;
use crate::source::{did_you_mean, file};
use crate::suite::{builtin_file, builtin_names, builtin_text};

/// Folders that hold no suites of the user's.
const PASSED_OVER: [&str; 3] = ["node_modules", "target", "venv"];

/// The suites that the words of the command line name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundSuites {
    /// Suite files in the order in which they were named; those of a folder or a glob in alphabetical order.
    pub(crate) files: Vec<PathBuf>,
    /// Lines that were asked for.
    pub(crate) lines: Vec<LineSelection>,
    /// Words that matched no file, each with the reason.
    pub(crate) unmatched: Vec<String>,
    /// Files in folders that read like suites and do not say that they are.
    pub(crate) doubtful: Vec<PathBuf>,
    /// YAML files in folders whose names say that others include them.
    pub(crate) parts: Vec<PathBuf>,
}

/// Looks for the suites that the words name; no words name the current folder.
pub(crate) fn find(words: &[String]) -> FoundSuites {
    let mut found = FoundSuites::default();
    // One file has many spellings; the first one that was typed names it from then on.
    let mut named: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    let here = [".".to_owned()];
    for word in if words.is_empty() { &here } else { words } {
        let (files, line) = expand(word, &mut found);
        match files {
            Ok(files) => {
                for file in files {
                    let known = std::fs::canonicalize(&file).unwrap_or_else(|_| file.clone());
                    let first = named.entry(known).or_insert_with(|| {
                        found.files.push(file.clone());
                        file
                    });
                    found.lines.extend(line.map(|line| LineSelection { file: first.display().to_string(), line }));
                }
            }
            Err(reason) => found.unmatched.push(reason),
        }
    }
    found
}

/// The folders in which further suites of these words may appear.
pub(crate) fn suite_folders(words: &[String]) -> Vec<PathBuf> {
    let folder = |word: &String| {
        let path = Path::new(word);
        let is_pattern = !path.exists() && word.contains(['*', '?', '[', '{']);
        if path.is_dir() { Some(path.to_owned()) } else { is_pattern.then(|| folder_of_pattern(word)) }
    };
    if words.is_empty() { vec![PathBuf::from(".")] } else { words.iter().filter_map(folder).collect() }
}

fn expand(word: &str, found: &mut FoundSuites) -> (Result<Vec<PathBuf>, String>, Option<usize>) {
    if let Some(name) = word.strip_prefix("builtin:") {
        return (builtin(name), None);
    }
    let path = Path::new(word);
    if path.is_dir() {
        let files = in_folder(path, found);
        let none = || format!("the folder `{word}` holds no suites (`.yml` or `.yaml` files with a line `suite: …`)");
        return (if files.is_empty() { Err(none()) } else { Ok(files) }, None);
    }
    if path.exists() {
        return (Ok(vec![without_current_dir(path)]), None);
    }
    let with_line = word.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    if let Some((file, line)) = with_line {
        return (Ok(vec![without_current_dir(Path::new(file))]), Some(line));
    }
    if word.contains(['*', '?', '[', '{']) {
        return (matching(word), None);
    }
    // A file that is not there is the loader's to report, with the others.
    (Ok(vec![path.to_owned()]), None)
}

/// The suite of that name that is part of the program.
fn builtin(name: &str) -> Result<Vec<PathBuf>, String> {
    if builtin_text(name).is_some() {
        return Ok(vec![PathBuf::from(builtin_file(name))]);
    }
    let help = did_you_mean(name, builtin_names()).map(|help| format!("; {help}")).unwrap_or_default();
    Err(format!("there is no built-in suite `{name}`{help}"))
}

fn in_folder(folder: &Path, found: &mut FoundSuites) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in walk(folder).filter(|path| is_yaml(path)) {
        if is_part(&path) {
            found.parts.push(without_current_dir(&path));
            continue;
        }
        match likeness_of(&path) {
            SuiteLikeness::Suite => files.push(without_current_dir(&path)),
            SuiteLikeness::Doubtful => found.doubtful.push(without_current_dir(&path)),
            SuiteLikeness::Other => {}
        }
    }
    files
}

fn matching(pattern: &str) -> Result<Vec<PathBuf>, String> {
    // As in a shell, `*` stays within a folder and `**` does not.
    let bare = pattern.trim_start_matches("./");
    let glob = GlobBuilder::new(bare).literal_separator(true).build();
    let matcher = glob.map_err(|error| format!("`{pattern}` is no pattern: {}", error.kind()))?.compile_matcher();
    let files: Vec<PathBuf> = walk(&folder_of_pattern(bare))
        .map(|path| without_current_dir(&path))
        .filter(|path| matcher.is_match(path) && is_yaml(path))
        .collect();
    if files.is_empty() { Err(format!("no file matches `{pattern}`")) } else { Ok(files) }
}

/// The folder before the first part that is a pattern.
fn folder_of_pattern(pattern: &str) -> PathBuf {
    let parts = Path::new(pattern.trim_start_matches("./")).components();
    let fixed: PathBuf =
        parts.take_while(|part| !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{'])).collect();
    if fixed.as_os_str().is_empty() { PathBuf::from(".") } else { fixed }
}

fn walk(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().filter_entry(|entry| {
        let name = entry.file_name().to_string_lossy();
        let is_hidden = entry.depth() > 0 && name.starts_with('.');
        !(is_hidden || entry.file_type().is_dir() && PASSED_OVER.contains(&name.as_ref()))
    });
    entries.filter_map(Result::ok).filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path)
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yml" || extension == "yaml")
}

/// Files that others include and nobody runs begin with an underscore.
pub(crate) fn is_part(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('_'))
}

/// The likeness of a text to a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SuiteLikeness {
    Suite,
    /// It has what only suites have and lacks the name.
    Doubtful,
    Other,
}

/// Folders also hold other YAML, such as CI configuration; files that are named explicitly are never passed over.
/// A suite with a slip in its first key, or one that cannot be read, must not drop out of a run unseen.
fn likeness_of(path: &Path) -> SuiteLikeness {
    file::read_text(path, file::WRITTEN).map_or(SuiteLikeness::Suite, |text| likeness(&text))
}

/// Returns true if a text says that it is a suite.
pub(crate) fn is_suite(text: &str) -> bool {
    likeness(text) == SuiteLikeness::Suite
}

/// Returns true if a text has what only suites and their parts have.
pub(crate) fn reads_like_a_suite(text: &str) -> bool {
    likeness(text) != SuiteLikeness::Other
}

fn likeness(text: &str) -> SuiteLikeness {
    let has_any = |keys: &[&str]| keys.iter().any(|key| has_key(text, key));
    if has_key(text, "suite") || has_key(text, "tests") && has_any(&["server", "servers"]) {
        return SuiteLikeness::Suite;
    }
    if has_any(&["tests", "server"]) { SuiteLikeness::Doubtful } else { SuiteLikeness::Other }
}

/// Returns true if a line begins with a key of the whole file, quoted or not.
fn has_key(text: &str, key: &str) -> bool {
    text.trim_start_matches('\u{feff}').lines().any(|line| {
        let quote = ['"', '\''].into_iter().find(|quote| line.starts_with(*quote));
        let bare = line.trim_start_matches(['"', '\'']);
        let Some(rest) = bare.strip_prefix(key) else { return false };
        let rest = quote.map_or(Some(rest), |quote| rest.strip_prefix(quote));
        rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
    })
}

/// The path without `.` and empty components: `./b//s.yml` is `b/s.yml`. Unlike [`crate::suite::normalize_path`], keeps
/// every `..`, since it may lead through a link.
fn without_current_dir(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_like_a_suite_is_doubtful() {
        let check = |text: &str, expected: SuiteLikeness| assert_eq!(likeness(text), expected, "{text:?}");
        check("server: x\nsuite: a", SuiteLikeness::Suite);
        check("suit: a\nserver: b\ntests: []", SuiteLikeness::Suite);
        check("tests:\n  - name: a", SuiteLikeness::Doubtful);
        check("# a comment\nserver: { builtin: demo }", SuiteLikeness::Doubtful);
        check("openapi: 3.1.0\nservers: []", SuiteLikeness::Other);
        check("jobs:\n  tests: {}", SuiteLikeness::Other);
    }

    #[test]
    fn redundant_components_are_removed() {
        for (spelled, expected) in [
            ("b/s.yml", "b/s.yml"),
            ("./b/s.yml", "b/s.yml"),
            ("b//./s.yml", "b/s.yml"),
            ("../b/s.yml", "../b/s.yml"),
            ("/b/s.yml", "/b/s.yml"),
        ] {
            assert_eq!(without_current_dir(Path::new(spelled)), Path::new(expected), "{spelled}");
        }
    }

    #[test]
    fn a_suite_is_told_by_its_key() {
        for text in ["suite: a", "\u{feff}suite: a", "\"suite\": a", "'suite' : a", "# a comment\nsuite: a"] {
            assert!(has_key(text, "suite"), "{text:?}");
        }
        for text in ["suites: a", "  suite: a", "\"suite: a", "a: suite"] {
            assert!(!has_key(text, "suite"), "{text:?}");
        }
    }
}
