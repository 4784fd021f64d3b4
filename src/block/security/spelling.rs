//! Spellings of a path that leads out of a folder, as attackers write them.

use std::path::Path;

use super::outside::OutsideFolder;

/// The number of folders that are climbed to reach the root of the file system from anywhere.
const MOST_FOLDERS: usize = 12;

/// The kind of paths that climb so many.
const TO_THE_TOP: &str = "`..` up to the top";

/// A path outside, to be spelled.
pub(crate) struct PathSpelling<'a> {
    pub(crate) root: &'a Path,
    pub(crate) outside: &'a OutsideFolder,
    /// The file outside that is asked for.
    pub(crate) file: &'a str,
    /// The valid value of the parameter, from whose folder relative paths may begin.
    pub(crate) valid: Option<&'a str>,
}

/// A path, and the way in which it is spelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpelledPath {
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

impl PathSpelling<'_> {
    /// Those for a tool that reads: all spellings of the file and of its folder.
    pub(crate) fn of_reads(&self) -> Vec<SpelledPath> {
        let mut all = self.of_file();
        all.extend(self.plain(""));
        all.extend(self.disguise(""));
        all
    }

    /// All spellings of the file.
    pub(crate) fn of_file(&self) -> Vec<SpelledPath> {
        let file = format!("/{}", self.file);
        [self.plain(&file), self.disguise(&file)].concat()
    }

    /// Those for a tool that may write: nothing that leaves files with strange names in the root if it does not lead out,
    /// and relative paths only if they are known to begin at the root.
    pub(crate) fn of_writes(&self) -> Vec<SpelledPath> {
        let mut all = self.plain(&self.new_file());
        all.extend(self.plain(&format!("/{}", self.file)));
        all.extend(self.plain(""));
        let begins_at_root = self.valid.is_some_and(|valid| !valid.is_empty() && self.is_below_root(valid));
        all.retain(|path| begins_at_root || path.text.starts_with('/') || path.kind == TO_THE_TOP);
        all
    }

    /// The plainest ones: whoever refuses those keeps to some folder.
    pub(crate) fn of_unrelated(&self, only_reads: bool) -> Vec<SpelledPath> {
        let file = format!("/{}", self.file);
        let below = if only_reads { vec![file, String::new()] } else { vec![self.new_file(), file, String::new()] };
        let absolute = below.iter().map(|below| spell("an absolute path", self.absolute(below)));
        let address = spell("a `file:` address", format!("file://{}", self.absolute(&below[0])));
        absolute.chain([address]).collect()
    }

    /// A file that is not there.
    fn new_file(&self) -> String {
        format!("/made-by-mcprove{}", self.outside.file.strip_prefix("canary").unwrap_or_default())
    }

    /// A relative path leads to something in the root.
    fn is_below_root(&self, path: &str) -> bool {
        Path::new(path).is_relative() && self.root.join(path).exists()
    }

    fn plain(&self, below: &str) -> Vec<SpelledPath> {
        let (root, absolute) = (self.root.display(), self.absolute(below));
        let relative = format!("{}{below}", self.outside.relative);
        let mut all = vec![
            spell("an absolute path", absolute.clone()),
            spell("`..` after the folder", format!("{root}/{relative}")),
            spell("`..`", relative.clone()),
            spell(TO_THE_TOP, format!("{}{}", "../".repeat(MOST_FOLDERS), absolute.trim_start_matches('/'))),
        ];
        if let Some((folder, climb)) = self.folder_of_valid_value() {
            all.push(spell("`..` after the folder of a valid value", format!("{folder}/{climb}{relative}")));
        }
        if let Some(link) = &self.outside.link {
            all.push(spell("a symbolic link", format!("{root}/{link}{below}")));
            all.push(spell("a symbolic link", format!("{link}{below}")));
        }
        all
    }

    fn disguise(&self, below: &str) -> Vec<SpelledPath> {
        let (root, absolute) = (self.root.display(), self.absolute(below));
        let relative = format!("{}{below}", self.outside.relative);
        let with = |dots: &str| relative.replacen("../", dots, 1);
        vec![
            spell("`..` after a slash", format!("/{relative}")),
            spell("`....//`", with("....//")),
            spell("`..` after a name", format!("x/../{relative}")),
            spell("`..%2f`", relative.replace('/', "%2f")),
            spell("`%2e%2e/`", with("%2e%2e/")),
            spell("`%2e%2e%2f`", with("%2e%2e%2f")),
            spell("`..%252f`", relative.replace('/', "%252f")),
            spell("`%252e%252e%252f`", with("%252e%252e%252f")),
            spell("an encoded absolute path", absolute.replace('/', "%2F")),
            spell("`..\\`", relative.replace('/', "\\")),
            spell("`..%5c`", with("..%5c")),
            spell("two slashes", format!("/{absolute}")),
            spell("`/proc/self/root`", format!("/proc/self/root{absolute}")),
            spell("a `file:` address", format!("file://{absolute}")),
            spell("a `file:` address", format!("file://localhost{absolute}")),
            spell("a `file:` address with `..`", format!("file://{root}/{relative}")),
            spell("a `file:` address with `%2e%2e`", format!("file://{root}/{}", with("%2e%2e/"))),
        ]
    }

    fn absolute(&self, below: &str) -> String {
        format!("{}{below}", self.outside.folder.path().display())
    }

    /// The folder of the valid value, and the `..` that lead from there to the root.
    fn folder_of_valid_value(&self) -> Option<(&str, String)> {
        let (folder, _) = self.valid?.rsplit_once('/')?;
        let path = Path::new(folder);
        let within = if self.is_below_root(folder) { path } else { path.strip_prefix(self.root).ok()? };
        let depth = within.components().count();
        (depth > 0).then(|| (folder, "../".repeat(depth)))
    }
}

fn spell(kind: &'static str, text: String) -> SpelledPath {
    SpelledPath { kind, text }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::block::security::outside::WatchedFolder;
    use crate::check::canary::Canaries;
    use crate::files::real_path;

    #[test]
    fn every_spelling_leads_to_the_canary_and_nowhere_else() {
        let around = WatchedFolder::temporary(&mut Canaries::random()).unwrap();
        let root = around.path().join("files");
        fs::create_dir_all(root.join("ideas")).unwrap();
        fs::write(root.join("ideas/plan.md"), "").unwrap();
        let outside = OutsideFolder::plant(&root, ".md", true).unwrap();
        let of = |valid| PathSpelling { root: &root, outside: &outside, file: &outside.file, valid };
        let leads_there = |path: &SpelledPath| {
            let found = real_path(root.join(&path.text)).unwrap();
            found.starts_with(outside.folder.path())
        };
        let plain = of(Some("ideas/plan.md")).plain("/canary.md");
        assert!(plain.iter().all(leads_there), "{plain:?}");
        assert_eq!(plain.iter().filter(|path| path.kind.ends_with("valid value")).count(), 1);
        let relative = |paths: &[SpelledPath]| paths.iter().any(|path| path.kind == "`..`");
        assert!(relative(&of(Some("ideas/plan.md")).of_writes()));
        // They begin elsewhere, perhaps at the folder of the server.
        for valid in [None, Some("files/ideas/plan.md"), Some("/files/plan.md")] {
            assert!(!relative(&of(valid).of_writes()), "{valid:?}");
            assert!(relative(&of(valid).of_reads()), "{valid:?}");
        }
    }
}
