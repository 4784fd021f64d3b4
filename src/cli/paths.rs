//! From what was typed to suite files: files, folders, globs, and lines in files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;
use walkdir::{DirEntry, WalkDir};

use crate::files::real_path;
use crate::plan::LineSelection;
use crate::source::{PathStyle, did_you_mean, file, nearest};
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
    /// Folders that hold such files and no suite, each as the reason why nothing of it runs.
    pub(crate) only_parts: Vec<String>,
    /// Links in folders that are not followed.
    pub(crate) links: Vec<SkippedLink>,
}

/// A link in a folder that looks like a suite, or like a folder with suites, and is not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkippedLink {
    pub(crate) path: PathBuf,
    pub(crate) leads: LinkEnd,
}

/// The end of a link that is not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkEnd {
    /// Nothing is there.
    Nowhere,
    /// It is outside of this folder, which was searched.
    OutOf(PathBuf),
    /// It is in the folder that was searched, in a part of it that is not searched.
    PassedOver,
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
                    let known = real_path(&file).unwrap_or_else(|_| file.clone());
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
        let known = found.parts.len();
        let files = in_folder(path, found);
        if files.is_empty() {
            let Some(part) = found.parts.get(known) else {
                let reason =
                    format!("the folder `{word}` holds no suites (`.yml` or `.yaml` files with a line `suite: …`)");
                return (Err(reason), None);
            };
            found.only_parts.push(format!(
                "the folder `{word}` holds no suite of its own: files whose names begin with `_`, such as `{}`, are parts \
                 that suites include; rename the file, or name it to run it",
                part.display()
            ));
        }
        return (Ok(files), None);
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
    let root = real_path(folder).unwrap_or_else(|_| folder.to_owned());
    let walked: Vec<WalkedFile> = walk(folder).collect();
    let own = walked.iter().filter(|walked| !walked.is_link && is_yaml(&walked.path) && !is_part(&walked.path));
    let own: BTreeSet<PathBuf> =
        own.filter_map(|walked| Some(root.join(walked.path.strip_prefix(folder).ok()?))).collect();
    for WalkedFile { path, is_link } in walked {
        if is_link {
            let target = file_in(&root, &path);
            if target.is_none() {
                found.links.extend(skipped_link(&path, &root, folder));
            }
            // A file is named by itself: a link beside it changes no id.
            if target.is_none_or(|target| own.contains(&target)) {
                continue;
            }
        }
        if !is_yaml(&path) {
            continue;
        }
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

/// The file within a folder to which a link leads: whoever names the folder means it.
fn file_in(root: &Path, link: &Path) -> Option<PathBuf> {
    real_path(link).ok().filter(|target| target.is_file() && target.starts_with(root))
}

/// A link that is not followed; nothing for one that leads to no suites.
fn skipped_link(link: &Path, root: &Path, folder: &Path) -> Option<SkippedLink> {
    let path = without_current_dir(link);
    let Ok(target) = real_path(link) else {
        return is_yaml(link).then_some(SkippedLink { path, leads: LinkEnd::Nowhere });
    };
    let below = target.strip_prefix(root).ok();
    // The files of a folder that is searched are found there.
    let is_missed = if target.is_dir() {
        !below.is_some_and(is_searched) && holds_suites(&target)
    } else {
        is_yaml(link) && likeness_of(&target) == SuiteLikeness::Suite
    };
    let leads = if below.is_some() { LinkEnd::PassedOver } else { LinkEnd::OutOf(folder.to_owned()) };
    is_missed.then_some(SkippedLink { path, leads })
}

/// A folder is searched with the one above it: the path from there leads through none that is passed over.
fn is_searched(below: &Path) -> bool {
    let mut names = below.components().map(|part| part.as_os_str().to_string_lossy());
    names.all(|name| !is_hidden(&name) && !PASSED_OVER.contains(&name.as_ref()))
}

/// The most files and folders behind a link that are looked at.
const MOST_ENTRIES: usize = 1000;

/// A folder holds a suite, as far as it is looked at.
fn holds_suites(folder: &Path) -> bool {
    let files = entries(WalkDir::new(folder)).take(MOST_ENTRIES).filter(|entry| entry.file_type().is_file());
    let mut files = files.map(DirEntry::into_path).filter(|path| is_yaml(path) && !is_part(path));
    files.any(|path| likeness_of(&path) == SuiteLikeness::Suite)
}

fn matching(pattern: &str) -> Result<Vec<PathBuf>, String> {
    // As in a shell, `*` stays within a folder and `**` does not.
    let bare = pattern.trim_start_matches("./");
    let glob = GlobBuilder::new(bare).literal_separator(true).build();
    let matcher = glob.map_err(|error| format!("`{pattern}` is no pattern: {}", error.kind()))?.compile_matcher();
    // A pattern names a link as a name does.
    let files: Vec<PathBuf> = walk(&folder_of_pattern(bare))
        .filter(|walked| !walked.is_link || walked.path.is_file())
        .map(|walked| without_current_dir(&walked.path))
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

/// A file or link below a folder.
struct WalkedFile {
    path: PathBuf,
    is_link: bool,
}

/// The files and links below a folder in alphabetical order; no link is followed.
fn walk(folder: &Path) -> impl Iterator<Item = WalkedFile> {
    let entries = entries(WalkDir::new(folder).sort_by_file_name());
    entries.filter(|entry| !entry.file_type().is_dir()).filter_map(|entry| {
        let is_link = entry.file_type().is_symlink();
        let is_walked = is_link || entry.file_type().is_file();
        is_walked.then(|| WalkedFile { path: entry.into_path(), is_link })
    })
}

/// What a walk finds, without what is hidden and without the folders that hold no suites of the user's.
fn entries(walk: WalkDir) -> impl Iterator<Item = DirEntry> {
    let found = walk.into_iter().filter_entry(|entry| {
        let name = entry.file_name().to_string_lossy();
        let is_left_out = entry.depth() > 0 && is_hidden(&name);
        !(is_left_out || entry.file_type().is_dir() && PASSED_OVER.contains(&name.as_ref()))
    });
    found.filter_map(Result::ok)
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

/// The most entries of a folder whose names are compared with one that is not there.
const MOST_NAMES: usize = 10_000;

/// The suite whose name is most like that of a file that is not there, in the folder where it was looked for.
pub(crate) fn near_suite(missing: &Path) -> Option<PathBuf> {
    let folder = missing.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).ok()?.filter_map(Result::ok).take(MOST_NAMES);
    let suites = entries.map(|entry| entry.path()).filter(|path| is_yaml(path) && path.is_file());
    let suites = suites.filter(|path| likeness_of(path) != SuiteLikeness::Other);
    let mut suites: Vec<PathBuf> = suites.collect();
    suites.sort();
    // Short names with the same ending are all alike.
    let stem = |path: &Path| path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
    let stems: Vec<String> = suites.iter().filter_map(|path| stem(path)).collect();
    let near = nearest(&stem(missing)?, stems.iter().map(String::as_str))?;
    let found = suites.iter().find(|path| stem(path).as_deref() == Some(near))?;
    Some(missing.with_file_name(found.file_name()?))
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
/// every `..`, since it may lead through a link. The names of cases begin with it, and are the same on every system.
fn without_current_dir(path: &Path) -> PathBuf {
    let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    match path.to_str() {
        Some(path) => PathBuf::from(PathStyle::HERE.with_slashes(path)),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn files_have_their_own_names_and_links_those_of_what_is_not_found() {
        use std::fs;
        use std::os::unix::fs::symlink;

        use crate::files::{Access, TemporaryFolder};
        let name = format!("mcprove-links-{}", std::process::id());
        let folder = TemporaryFolder::create(&std::env::temp_dir(), name, Access::Private).unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["in/.kept/deep", "in/sub", "out/deep"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in ["in/zebra.yml", "in/.kept/deep/k.yml", "in/sub/s.yml", "in/other.text", "out/deep/o.yml"] {
            fs::write(at(name), "suite: a\n").unwrap();
        }
        fs::write(at("in/pipeline.yml"), "jobs: []\n").unwrap();
        for (target, link) in [
            ("zebra.yml", "in/a.yml"),
            ("other.text", "in/b.yml"),
            (".kept", "in/kept"),
            ("sub", "in/more"),
            ("../out", "in/out"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        let mut found = FoundSuites::default();
        let files = in_folder(&at("in"), &mut found);
        assert_eq!(files, [at("in/b.yml"), at("in/sub/s.yml"), at("in/zebra.yml")]);
        let (kept, out) = (LinkEnd::PassedOver, LinkEnd::OutOf(at("in")));
        let skipped = |name: &str, leads: LinkEnd| SkippedLink { path: at(name), leads };
        assert_eq!(found.links, [skipped("in/kept", kept), skipped("in/out", out)]);
        assert_eq!(near_suite(&at("in/zebar.yml")), Some(at("in/zebra.yml")));
        assert_eq!(near_suite(&at("in/pipelin.yml")), None, "what is no suite is not suggested");
    }

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
