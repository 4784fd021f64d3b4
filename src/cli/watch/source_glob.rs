//! The patterns under `watch:`, as folders to walk and files to look at.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::suite::normalize_path;

/// Folders in which nothing is watched, unless a pattern begins in one: what tools write, not people.
pub(super) const IGNORED: [&str; 7] = [".git", ".mcprove", ".venv", "__pycache__", "node_modules", "target", "venv"];

/// Characters that make a part of a path a pattern.
const SPECIAL: [char; 5] = ['*', '?', '[', '{', '\\'];

/// A pattern of a server's sources.
#[derive(Debug, Clone)]
pub(super) struct SourceGlob {
    /// Where it begins: the file or folder that it names, or the folder before the first `*`.
    pub(super) base: PathBuf,
    /// The rest of it; `None` where it names a file, or a folder with everything below.
    rest: Option<GlobMatcher>,
    /// How many folders below the base may match; `None` for any number.
    pub(super) depth: Option<usize>,
}

impl SourceGlob {
    /// Reads a pattern that is relative to a folder; `None` for one that is none, which the suite's loader has refused.
    pub(super) fn new(pattern: &str, folder: &Path) -> Option<Self> {
        let parts: Vec<&str> = pattern.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let plain = parts.iter().take_while(|part| !part.contains(SPECIAL)).count();
        let base = normalize_path(&folder.join(parts[..plain].iter().collect::<PathBuf>()));
        if plain == parts.len() {
            return Some(Self { base, rest: None, depth: None });
        }
        let rest = parts[plain..].join("/");
        // An alternative may hold a slash.
        let is_deep = rest.contains("**") || rest.contains('{');
        let depth = (!is_deep).then_some(parts.len() - plain);
        let rest = GlobBuilder::new(&rest).literal_separator(true).build().ok()?.compile_matcher();
        Some(Self { base, rest: Some(rest), depth })
    }

    /// Returns true if it stands for a file.
    pub(super) fn is_match(&self, file: &Path) -> bool {
        let Ok(below) = file.strip_prefix(&self.base) else { return false };
        if below.components().rev().skip(1).any(|part| is_ignored(&part)) {
            return false;
        }
        self.rest.as_ref().is_none_or(|rest| rest.is_match(below))
    }
}

/// Returns true for a folder in which nothing is watched.
fn is_ignored(part: &Component<'_>) -> bool {
    IGNORED.iter().any(|name| part.as_os_str() == *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_files() {
        for (pattern, base, files, others) in [
            ("server.py", "s/server.py", &["s/server.py"][..], &["s/other.py", "server.py"][..]),
            ("./server.py", "s/server.py", &["s/server.py"], &[]),
            ("../src", "src", &["src/a.py", "src/deep/b.js"], &["src2/a.py", "s/a.py", "src/node_modules/x/y.js"]),
            ("../src/**/*.py", "src", &["src/a.py", "src/x/y/a.py"], &["src/a.js", "src/__pycache__/a.py"]),
            ("../src/*.py", "src", &["src/a.py"], &["src/x/a.py"]),
            ("../../lib/*.{py,js}", "../lib", &["../lib/a.js"], &["lib/a.js", "../lib/a.c"]),
            ("**/*", "s", &["s/a", "s/b/c"], &["s/.git/config", "s/b/target/x"]),
            // It begins there, so that it is meant.
            ("../target/debug/server", "target/debug/server", &["target/debug/server"], &["target/debug/other"]),
        ] {
            let glob = SourceGlob::new(pattern, Path::new("s")).unwrap();
            assert_eq!(glob.base, Path::new(base), "{pattern}");
            for file in files {
                assert!(glob.is_match(Path::new(file)), "`{pattern}` stands for {file}");
            }
            for file in others {
                assert!(!glob.is_match(Path::new(file)), "`{pattern}` does not stand for {file}");
            }
        }
    }

    #[test]
    fn a_pattern_is_walked_no_deeper_than_it_reaches() {
        for (pattern, expected) in
            [("src/*.py", Some(1)), ("src/*/*.py", Some(2)), ("src/**/*.py", None), ("{a/b,c}/*", None), ("src", None)]
        {
            assert_eq!(SourceGlob::new(pattern, Path::new("")).unwrap().depth, expected, "{pattern}");
        }
    }
}
