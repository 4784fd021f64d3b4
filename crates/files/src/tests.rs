use std::fs;
use std::path::PathBuf;

use super::temporary::empty;
use super::{Access, FilePlace, Folder, Kind};

/// A folder that is gone after the test, with a folder `own` and a folder `victim`, which holds a file.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcprove-files-{}-{name}", std::process::id()));
        fs::create_dir_all(path.join("own")).unwrap();
        fs::create_dir_all(path.join("victim")).unwrap();
        fs::write(path.join("victim/file"), "mine").unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn names_are_no_paths() {
    let scratch = Scratch::new("names");
    let folder = Folder::open(&scratch.path("own")).unwrap();
    for name in ["", ".", "..", "../victim/file", "a/b", "/etc/hostname", "./a"] {
        assert!(folder.create(name, b"x", Access::Shared).is_err(), "{name:?}");
        assert!(folder.read(name, 10).is_err() && folder.remove_file(name).is_err(), "{name:?}");
    }
}

#[test]
fn files_are_made_replaced_and_read() {
    let scratch = Scratch::new("files");
    let folder = Folder::open(&scratch.path("own")).unwrap();
    folder.create("new", b"one", Access::Shared).unwrap();
    assert!(folder.create("new", b"two", Access::Shared).is_err());
    folder.replace("new", b"three", Access::Shared).unwrap();
    assert_eq!(folder.read("new", 5).unwrap(), b"three");
    assert!(folder.read("new", 4).is_err());
    folder.overwrite("new", b"4", 100).unwrap();
    assert_eq!(scratch.text("own/new").as_deref(), Some("4"));
    assert_eq!(folder.entries().unwrap().len(), 1);
    assert_eq!((folder.kind("new"), folder.kind("none")), (Some(Kind::File), None));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "times of files are as fine as the clock of their system ticks")]
fn a_folder_is_emptied_again_while_somebody_still_uses_it() {
    let scratch = Scratch::new("busy");
    let path = scratch.path("own/busy");
    for (goes_at, expected) in [(Some(0), 1), (Some(2), 3), (None, 4)] {
        // What is older than the folder is not removed, as little as what somebody writes just then.
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("older"), "").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(path.join("newer"), "").unwrap();
        fs::remove_file(path.join("newer")).unwrap();
        let folder = Folder::open(&path).unwrap();
        let mut waits = 0;
        empty(&folder, |_| {
            if goes_at == Some(waits) {
                fs::remove_file(path.join("older")).unwrap();
            }
            waits += 1;
        });
        assert_eq!((waits, path.join("older").exists()), (expected, goes_at.is_none()));
    }
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::FolderPlace;

    /// Something in the place of the file `own/file`, and whether it may be replaced by a new file.
    type Obstacle = (&'static str, fn(&Scratch), bool);

    const OBSTACLES: [Obstacle; 6] = [
        ("link", |scratch| symlink(scratch.path("victim/file"), scratch.path("own/file")).unwrap(), true),
        ("link to nothing", |scratch| symlink(scratch.path("victim/new"), scratch.path("own/file")).unwrap(), true),
        ("link to a folder", |scratch| symlink(scratch.path("victim"), scratch.path("own/file")).unwrap(), true),
        ("hard link", |scratch| fs::hard_link(scratch.path("victim/file"), scratch.path("own/file")).unwrap(), true),
        (
            "pipe",
            |scratch| assert!(Command::new("mkfifo").arg(scratch.path("own/file")).status().unwrap().success()),
            true,
        ),
        ("folder", |scratch| fs::create_dir(scratch.path("own/file")).unwrap(), false),
    ];

    #[test]
    fn nothing_is_read_or_written_through_another_file() {
        for (name, put, is_replaceable) in OBSTACLES {
            let scratch = Scratch::new(&name.replace(' ', "-"));
            put(&scratch);
            let folder = Folder::open(&scratch.path("own")).unwrap();
            assert_eq!(folder.read("file", 100).is_ok(), name == "hard link", "{name}");
            assert!(folder.overwrite("file", b"theirs", 100).is_err(), "{name}");
            assert!(folder.create("file", b"theirs", Access::Shared).is_err(), "{name}");
            assert!(folder.create_folder("file", Access::Shared).is_err(), "{name}");
            assert_eq!(folder.open_or_create_folder("file", Access::Shared).is_ok(), !is_replaceable, "{name}");
            assert_eq!(folder.replace("file", b"ours", Access::Private).is_ok(), is_replaceable, "{name}");
            if is_replaceable {
                assert_eq!(scratch.text("own/file").as_deref(), Some("ours"), "{name}");
                assert_eq!(fs::metadata(scratch.path("own/file")).unwrap().permissions().mode() & 0o777, 0o600);
            }
            assert_eq!(scratch.text("victim/file").as_deref(), Some("mine"), "{name}");
            assert_eq!(fs::read_dir(scratch.path("victim")).unwrap().count(), 1, "{name}");
            assert_eq!(fs::read_dir(scratch.path("own")).unwrap().count(), 1, "{name}");
        }
    }

    #[test]
    fn a_folder_stays_the_same_one_when_its_path_is_swapped() {
        let scratch = Scratch::new("swapped");
        let (folder, file) = (FolderPlace::resolve(&scratch.path("own")), scratch.path("own/file"));
        let (file, deep) = (FilePlace::resolve(&file), FolderPlace::resolve(&scratch.path("own/new")).below("deep"));
        fs::rename(scratch.path("own"), scratch.path("moved")).unwrap();
        symlink(scratch.path("victim"), scratch.path("own")).unwrap();
        file.write(b"ours").unwrap();
        folder.create(Access::Shared).unwrap().create("other", b"ours", Access::Shared).unwrap();
        symlink(scratch.path("victim"), scratch.path("moved/new")).unwrap();
        assert!(deep.create(Access::Shared).is_err());
        assert_eq!(scratch.text("moved/file").as_deref(), Some("ours"));
        assert_eq!(scratch.text("victim/file").as_deref(), Some("mine"));
        assert_eq!(fs::read_dir(scratch.path("victim")).unwrap().count(), 1);
    }

    #[test]
    fn the_users_own_links_are_followed_once() {
        let scratch = Scratch::new("chosen");
        symlink(scratch.path("victim"), scratch.path("own/folder")).unwrap();
        symlink(scratch.path("victim/file"), scratch.path("own/link")).unwrap();
        FilePlace::resolve(&scratch.path("own/folder/new")).write(b"a").unwrap();
        FilePlace::resolve(&scratch.path("own/link")).write(b"b").unwrap();
        assert_eq!([scratch.text("victim/new"), scratch.text("victim/file")], [Some("a".into()), Some("b".into())]);
        assert!(fs::symlink_metadata(scratch.path("own/link")).unwrap().is_symlink());
    }

    #[test]
    fn clearing_leaves_what_is_elsewhere_and_what_was_moved_here() {
        let scratch = Scratch::new("cleared");
        let folder = Folder::open(&scratch.path("own")).unwrap().create_folder("new", Access::Shared).unwrap();
        fs::create_dir_all(scratch.path("own/new/a/b")).unwrap();
        fs::write(scratch.path("own/new/a/b/file"), "").unwrap();
        symlink(scratch.path("victim"), scratch.path("own/new/a/link")).unwrap();
        let old = fs::File::create(scratch.path("own/new/old")).unwrap();
        old.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(folder.entries().unwrap().iter().map(|entry| entry.is_older).collect::<Vec<_>>(), [false, true]);
        folder.clear();
        assert_eq!(fs::read_dir(scratch.path("own/new")).unwrap().count(), 1);
        assert_eq!(scratch.text("victim/file").as_deref(), Some("mine"));
    }

    #[test]
    fn copied_folders_keep_their_permissions() {
        let scratch = Scratch::new("permitted");
        let data = scratch.path("own/data");
        fs::create_dir(&data).unwrap();
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
        let folder = Folder::open(&scratch.path("own")).unwrap();
        let limit = crate::CopyLimit { entries: 9, bytes: 9 };
        folder.copy_from(&folder, "data".as_ref(), "copy".as_ref(), limit).unwrap();
        assert_eq!(fs::metadata(scratch.path("own/copy")).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_deep_tree_is_removed_as_far_as_it_goes_without_an_end_to_the_stack() {
        let scratch = Scratch::new("deep");
        let deep: PathBuf = std::iter::repeat_n("d", 400).collect();
        fs::create_dir_all(scratch.path("own").join(deep)).unwrap();
        Folder::open(&scratch.path("own")).unwrap().clear();
        assert!(Path::new(&scratch.path("own/d")).exists());
    }
}

#[test]
fn missing_folders_are_made_when_a_file_is_written() {
    let scratch = Scratch::new("missing");
    let place = FilePlace::resolve(&scratch.path("own/a/../b/./c/file"));
    assert_eq!(fs::read_dir(scratch.path("own")).unwrap().count(), 0);
    place.write(b"x").unwrap();
    assert_eq!(scratch.text("own/b/c/file").as_deref(), Some("x"));
    let beside = place.beside("other".as_ref());
    beside.write(b"y").unwrap();
    assert_eq!(
        (scratch.text("own/b/c/other").as_deref(), &*beside),
        (Some("y"), &*scratch.path("own/a/../b/./c/other"))
    );
}
