//! Folders with canaries beside the folder that a server may read, and empty ones in which a program would leave a file.
//!
//! They are removed when they are dropped, which is also what happens when a run is interrupted or a check panics. A
//! server may put something else in their place: that is neither read, restored nor removed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use serde_json::Value;

use crate::check::CheckEnd;
use crate::check::canary::{Canaries, CanarySearch};
use crate::files::{Access, Folder, Kind, TemporaryFolder, real_path};

/// The largest file that is compared or copied, in bytes.
const LARGEST: u64 = 1 << 20;

/// The largest index of a Git repository that is read, in bytes.
const LARGEST_INDEX: u64 = 16 << 20;

/// A fresh folder, and what is in it.
#[derive(Debug)]
pub(crate) struct WatchedFolder {
    name: String,
    place: TemporaryFolder,
    /// A link to it, and the folder that holds the link.
    link: Option<PlantedLink>,
    /// The files that belong there, by name.
    planted: BTreeMap<String, Vec<u8>>,
}

#[derive(Debug)]
struct PlantedLink {
    root: Folder,
    name: String,
}

impl WatchedFolder {
    /// Makes a folder that nobody has.
    pub(crate) fn create(parent: &Path, name: String) -> io::Result<Self> {
        let place = TemporaryFolder::create(parent, &name, Access::Shared)?;
        Ok(Self { name, place, link: None, planted: BTreeMap::new() })
    }

    /// An empty one among the temporary files of this machine.
    pub(crate) fn temporary(canaries: &mut Canaries) -> io::Result<Self> {
        Self::create(&real_path(std::env::temp_dir())?, format!("mcprove-{}", canaries.make()))
    }

    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// An entry of this name exists.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.folder().is_some_and(|folder| folder.kind(name).is_some())
    }

    /// The kind of a file that somebody has put in the place of this folder.
    pub(crate) fn replacement(&self) -> Option<&'static str> {
        Some(match self.place.replacement()? {
            Kind::Folder => "another folder",
            Kind::Link => "a link",
            Kind::File => "a file",
            Kind::Other => "a pipe or a device",
        })
    }

    /// The folder, as long as its path leads to it.
    fn folder(&self) -> Option<&Folder> {
        self.place.folder()
    }

    fn plant(&mut self, name: String, bytes: Vec<u8>) -> io::Result<()> {
        let folder = self.folder().ok_or_else(|| replaced_error(&self.name))?;
        folder.create(&name, &bytes, Access::Shared)?;
        self.planted.insert(name, bytes);
        Ok(())
    }

    /// Makes the folder a Git repository, on a branch.
    fn plant_repository(&self, branch: &str) -> io::Result<()> {
        let folder = self.folder().ok_or_else(|| replaced_error(&self.name))?;
        let repository = folder.create_folder(REPOSITORY, Access::Shared)?;
        repository.create_folder("objects", Access::Shared)?;
        repository.create_folder("refs", Access::Shared)?.create_folder("heads", Access::Shared)?;
        repository.create("HEAD", format!("ref: refs/heads/{branch}\n").as_bytes(), Access::Shared)?;
        let config = b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
        repository.create("config", config, Access::Shared)
    }

    /// The entries that were added, changed or removed, in words.
    pub(crate) fn changes(&self) -> Vec<String> {
        if self.replacement().is_some() {
            return Vec::new();
        }
        let Some(folder) = self.folder() else { return vec![format!("`{}` was removed", self.name)] };
        let entries = folder.entries().unwrap_or_default();
        let names: BTreeSet<_> = entries.iter().map(|entry| entry.name.to_string_lossy()).collect();
        let added =
            names.iter().filter(|name| !is_own(&self.planted, name)).map(|name| format!("`{name}` was created"));
        let changed = self.planted.iter().filter_map(|(name, bytes)| {
            if names.contains(name.as_str()) {
                return (!holds(folder, name, bytes)).then(|| format!("`{name}` was changed"));
            }
            Some(format!("`{name}` was removed"))
        });
        added.chain(changed).collect()
    }

    /// Puts everything back as it was planted, unless something else is in the place of the folder. What is older than
    /// the folder, and was therefore moved into it, stays.
    pub(crate) fn restore(&mut self) -> io::Result<()> {
        let folder = self.place.folder_again()?;
        for entry in folder.entries()? {
            if !is_own(&self.planted, &entry.name.to_string_lossy()) {
                folder.remove(&entry.name);
            }
        }
        for (name, bytes) in &self.planted {
            if !holds(folder, name, bytes) {
                folder.remove(name);
                folder.create(name, bytes, Access::Shared)?;
            }
        }
        Ok(())
    }
}

fn is_own(planted: &BTreeMap<String, Vec<u8>>, name: &str) -> bool {
    planted.contains_key(name) || name == REPOSITORY
}

impl Drop for WatchedFolder {
    fn drop(&mut self) {
        if let Some(PlantedLink { root, name }) = &self.link
            && root.kind(name) == Some(Kind::Link)
        {
            let _ = root.remove_file(name);
        }
    }
}

fn holds(folder: &Folder, name: &str, bytes: &[u8]) -> bool {
    folder.read(name, LARGEST).is_ok_and(|found| found == bytes)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn replaced_error(name: &str) -> io::Error {
    io::Error::other(format!("something else is in the place of `{name}`"))
}

/// The end of a check in which a server put something else in the place of a folder.
pub(crate) fn end_of_replaced(replacement: &str) -> CheckEnd {
    CheckEnd::inconclusive(format!("the folder in which an effect would show was replaced by {replacement}"))
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
        if links {
            let (root, name) = (Folder::open(root)?, format!("mcprove-{}", Canaries::random().make()));
            // Not every system has links.
            if root.link(outside.folder.path(), &name).is_ok() {
                outside.folder.link = Some(PlantedLink { root, name: name.clone() });
                outside.link = Some(name);
            }
        }
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
        let mut folder = WatchedFolder::create(parent, sibling.clone())?;
        // Their beginnings differ from everything that is asked for, too.
        let secrets = [(); 2].map(|()| Canaries::random().make());
        let file = format!("canary{ending}");
        folder.plant(file.clone(), format!("{}\n", secrets[0]).into_bytes())?;
        folder.plant(format!("{}{ending}", secrets[1]), Vec::new())?;
        if root.join(REPOSITORY).is_dir() {
            folder.plant_repository(&secrets[1])?;
        }
        Ok(Self { folder, file, relative: format!("../{sibling}"), link: None, secrets })
    }

    /// Plants a copy of a file that the server serves: a tool that reads documents refuses any other text. Returns its name.
    pub(crate) fn plant_copy(&mut self, of: &Path, ending: &str) -> io::Result<String> {
        let (Some(above), Some(name)) = (of.parent(), of.file_name()) else {
            return Err(io::Error::other("it is in no folder"));
        };
        let bytes = Folder::open(above)?.read(name, LARGEST)?;
        let copy = format!("copy-{}{ending}", Canaries::random().make());
        self.folder.plant(copy.clone(), bytes)?;
        Ok(copy)
    }

    /// The index of the Git repository in a folder has an entry of this one.
    pub(crate) fn is_in_index(&self, root: &Path) -> bool {
        let index = Folder::open(&root.join(REPOSITORY)).and_then(|folder| folder.read("index", LARGEST_INDEX));
        index.is_ok_and(|index| contains(&index, self.folder.name.as_bytes()))
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn canaries_are_planted_watched_restored_and_removed() {
        let around = WatchedFolder::temporary(&mut Canaries::random()).unwrap();
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
    }

    #[test]
    fn what_is_staged_is_seen_in_the_index() {
        let around = WatchedFolder::temporary(&mut Canaries::random()).unwrap();
        let root = around.path().join("files");
        fs::create_dir_all(root.join(".git")).unwrap();
        let outside = OutsideFolder::plant(&root, ".md", false).unwrap();
        assert!(!outside.is_in_index(&root), "there is no index");
        for (entry, expected) in [("a.md", false), (&*outside.relative, true)] {
            fs::write(root.join(".git/index"), format!("DIRC\0{entry}/canary.md\0")).unwrap();
            assert_eq!(outside.is_in_index(&root), expected, "{entry}");
        }
        fs::remove_dir_all(root.join(".git")).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn nothing_elsewhere_is_touched_whatever_is_put_in_place() {
        use std::os::unix::fs::symlink;
        /// Something that a server does with the folder (first path), given a folder that is none of ours (second path).
        type Trick = (&'static str, fn(&Path, &Path));
        let tricks: [Trick; 7] = [
            ("a link for the folder", |own, victim| {
                fs::remove_dir_all(own).unwrap();
                symlink(victim, own).unwrap();
            }),
            ("another folder for the folder", |own, victim| {
                fs::remove_dir_all(own).unwrap();
                fs::rename(victim, own).unwrap();
                symlink(own, victim).unwrap();
            }),
            ("a link for the file", |own, victim| {
                fs::remove_file(own.join("canary.md")).unwrap();
                symlink(victim.join("canary.md"), own.join("canary.md")).unwrap();
            }),
            ("a hard link for the file", |own, victim| {
                fs::remove_file(own.join("canary.md")).unwrap();
                fs::hard_link(victim.join("canary.md"), own.join("canary.md")).unwrap();
            }),
            ("a link in the folder", |own, victim| symlink(victim, own.join("new")).unwrap()),
            ("a link for the file, deep", |own, victim| {
                fs::remove_file(own.join("canary.md")).unwrap();
                fs::create_dir_all(own.join("canary.md/deep")).unwrap();
                symlink(victim, own.join("canary.md/deep/link")).unwrap();
            }),
            ("a pipe for the file", |own, _| {
                fs::remove_file(own.join("canary.md")).unwrap();
                assert!(std::process::Command::new("mkfifo").arg(own.join("canary.md")).status().unwrap().success());
            }),
        ];
        for (name, trick) in tricks {
            let around = WatchedFolder::temporary(&mut Canaries::random()).unwrap();
            let (root, victim) = (around.path().join("files"), around.path().join("victim"));
            fs::create_dir(&root).unwrap();
            fs::create_dir(&victim).unwrap();
            for file in ["canary.md", "other"] {
                fs::write(victim.join(file), "mine").unwrap();
            }
            let mut outside = OutsideFolder::plant(&root, ".md", true).unwrap();
            trick(outside.folder.path(), &victim);
            let is_replaced = outside.folder.replacement().is_some();
            assert_ne!(is_replaced, outside.effect(None).is_some(), "{name}");
            assert_eq!(outside.folder.restore().is_err(), is_replaced, "{name}");
            drop(outside);
            assert_eq!(fs::read_dir(&victim).unwrap().count(), 2, "{name}");
            for file in ["canary.md", "other"] {
                assert_eq!(fs::read_to_string(victim.join(file)).unwrap(), "mine", "{name}");
            }
        }
    }
}
