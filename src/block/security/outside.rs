//! Folders with canaries beside the folder that a server may read, and empty ones in which a program would leave a file.
//!
//! They are removed when they are dropped, which is also what happens when a run is interrupted or a check panics.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::check::canary::{Canaries, CanarySearch};

/// The largest file that is compared, in bytes.
const LARGEST: u64 = 4096;

/// A fresh folder, and what is in it.
#[derive(Debug)]
pub(crate) struct WatchedFolder {
    path: PathBuf,
    /// Links to it from elsewhere.
    links: Vec<PathBuf>,
    /// The files that belong there, by name.
    planted: BTreeMap<String, String>,
}

impl WatchedFolder {
    /// Makes a folder that nobody has.
    pub(crate) fn create(path: PathBuf) -> io::Result<Self> {
        fs::create_dir(&path)?;
        Ok(Self { path, links: Vec::new(), planted: BTreeMap::new() })
    }

    /// An empty one among the temporary files of this machine.
    pub(crate) fn temporary(canaries: &mut Canaries) -> io::Result<Self> {
        Self::create(fs::canonicalize(std::env::temp_dir())?.join(format!("mcprove-{}", canaries.make())))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn plant(&mut self, name: String, text: String) -> io::Result<()> {
        fs::write(self.path.join(&name), &text)?;
        self.planted.insert(name, text);
        Ok(())
    }

    /// The entries that were added, changed or removed, in words.
    pub(crate) fn changes(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let there: BTreeMap<String, PathBuf> =
            entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect();
        let is_own = |name: &str| self.planted.contains_key(name) || name == REPOSITORY;
        let added = there.keys().filter(|name| !is_own(name)).map(|name| format!("`{name}` was created"));
        let changed = self.planted.iter().filter_map(|(name, text)| match there.get(name) {
            None => Some(format!("`{name}` was removed")),
            Some(path) => (read_short(path).as_ref() != Some(text)).then(|| format!("`{name}` was changed")),
        });
        added.chain(changed).collect()
    }

    /// Puts everything back as it was planted.
    pub(crate) fn restore(&mut self) -> io::Result<()> {
        let _ = fs::create_dir(&self.path);
        for entry in fs::read_dir(&self.path)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !self.planted.contains_key(&name) && name != REPOSITORY {
                remove(&entry.path());
            }
        }
        for (name, text) in &self.planted {
            if read_short(&self.path.join(name)).as_ref() != Some(text) {
                remove(&self.path.join(name));
                fs::write(self.path.join(name), text)?;
            }
        }
        Ok(())
    }
}

impl Drop for WatchedFolder {
    fn drop(&mut self) {
        for link in &self.links {
            let _ = fs::remove_file(link);
        }
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn remove(path: &Path) {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let _ = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

fn read_short(path: &Path) -> Option<String> {
    let metadata = fs::symlink_metadata(path).ok()?;
    (metadata.is_file() && metadata.len() <= LARGEST).then(|| fs::read_to_string(path).ok())?
}

/// The folder that makes another one a Git repository.
const REPOSITORY: &str = ".git";

/// A folder beside the root that has the same beginning: `data/files-mcprove-…` beside `data/files`. It holds a file with a
/// canary, and another one whose name is a canary; it is a Git repository if the root is one, on a branch with that name.
#[derive(Debug)]
pub(crate) struct OutsideFolder {
    pub(crate) folder: WatchedFolder,
    /// The file that is asked for by its name.
    pub(crate) file: String,
    /// The path from the root to the folder: `../files-mcprove-…`.
    pub(crate) relative: String,
    /// The name of a link to the folder within the root.
    pub(crate) link: Option<String>,
    /// Shown by whoever reads the file, and by whoever lists the folder.
    secrets: [String; 2],
}

impl OutsideFolder {
    /// Plants the canaries; the file has an ending, such as `.md`. `links` says whether the root may get a link.
    pub(crate) fn plant(root: &Path, ending: &str, links: bool) -> io::Result<Self> {
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let mut outside = Self::plant_named(root, &format!("{name}-mcprove-"), ending)?;
        let link = links.then(|| format!("mcprove-{}", Canaries::random().make()));
        let link = link.filter(|link| make_link(&outside.folder.path, &root.join(link)));
        outside.folder.links.extend(link.iter().map(|link| root.join(link)));
        outside.link = link;
        Ok(outside)
    }

    /// Plants canaries in a folder beside the root whose name has nothing of the root's.
    pub(crate) fn plant_unrelated(root: &Path, ending: &str) -> io::Result<Self> {
        Self::plant_named(root, "mcprove-", ending)
    }

    fn plant_named(root: &Path, beginning: &str, ending: &str) -> io::Result<Self> {
        let Some(parent) = root.parent() else {
            return Err(io::Error::other("nothing is outside of the root of the file system"));
        };
        let sibling = format!("{beginning}{}", Canaries::random().make());
        let mut folder = WatchedFolder::create(parent.join(&sibling))?;
        // Their beginnings differ from everything that is asked for, too.
        let secrets = [(); 2].map(|()| Canaries::random().make());
        let file = format!("canary{ending}");
        folder.plant(file.clone(), format!("{}\n", secrets[0]))?;
        folder.plant(format!("{}{ending}", secrets[1]), String::new())?;
        if root.join(REPOSITORY).is_dir() {
            let repository = folder.path.join(REPOSITORY);
            fs::create_dir_all(repository.join("objects"))?;
            fs::create_dir_all(repository.join("refs/heads"))?;
            fs::write(repository.join("HEAD"), format!("ref: refs/heads/{}\n", secrets[1]))?;
            fs::write(repository.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")?;
        }
        Ok(Self { folder, file, relative: format!("../{sibling}"), link: None, secrets })
    }

    /// The traces of the folder in an answer, or the changes in it, in words.
    pub(crate) fn effect(&self, answer: Option<&Value>) -> Option<String> {
        let shown = answer.and_then(|answer| self.shown_in(&answer.to_string()));
        match shown {
            Some(canary) => Some(format!("the answer shows `{canary}`, which is only there")),
            None => self.folder.changes().into_iter().next(),
        }
    }

    /// The canary that a text shows, in whatever form.
    fn shown_in(&self, text: &str) -> Option<&str> {
        let shows = |secret: &&String| CanarySearch::new(secret).is_in(text);
        self.secrets.iter().find(shows).map(String::as_str)
    }
}

#[cfg(unix)]
fn make_link(target: &Path, link: &Path) -> bool {
    std::os::unix::fs::symlink(target, link).is_ok()
}

#[cfg(not(unix))]
fn make_link(_: &Path, _: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canaries_are_planted_watched_restored_and_removed() {
        let mut around = WatchedFolder::temporary(&mut Canaries::random()).unwrap();
        let root = around.path().join("files");
        fs::create_dir(&root).unwrap();
        let mut outside = OutsideFolder::plant(&root, ".md", true).unwrap();
        let path = outside.folder.path().to_owned();
        assert!(path.to_string_lossy().starts_with(&*root.to_string_lossy()));
        assert_eq!(outside.folder.changes(), [""; 0]);
        let text = fs::read_to_string(path.join("canary.md")).unwrap();
        assert_eq!(outside.shown_in(&text), Some(text.trim()));
        assert_eq!(outside.shown_in(&crate::redact::base64(text.as_bytes())), Some(text.trim()));
        assert_eq!(outside.shown_in(&format!("{} is forbidden", path.join("canary.md").display())), None);
        fs::write(path.join("new"), "").unwrap();
        fs::remove_file(path.join("canary.md")).unwrap();
        assert_eq!(outside.folder.changes(), ["`new` was created", "`canary.md` was removed"]);
        outside.folder.restore().unwrap();
        assert_eq!(outside.folder.changes(), [""; 0]);
        assert_eq!(fs::read_dir(&root).unwrap().count(), usize::from(cfg!(unix)));
        drop(outside);
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
        assert!(!path.exists());
        around.planted.clear();
    }
}
