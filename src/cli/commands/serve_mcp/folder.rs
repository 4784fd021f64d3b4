//! The folder that a client may name files in: the one in which the server was started, with everything below it.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::files::real_path;

/// The folder, without links in its path.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The folder at a path.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { root: real_path(path)? })
    }

    /// The path of a file or folder in it as the command line takes it, relative and without links; or the reason why it
    /// is refused.
    pub(super) fn file(&self, typed: &str) -> Result<String, String> {
        let joined = self.root.join(typed);
        let is_here = |path: &Path| path.starts_with(&self.root);
        // A path outside is refused in the same words whether there is something or not.
        match real_path(&joined) {
            Ok(real) if is_here(&real) => self.relative(&real),
            Err(_) if is_here(&without_dots(&joined)) => Err(format!(
                "there is no file or folder `{typed}`; paths are relative to the folder in which this server was started"
            )),
            Ok(_) | Err(_) => Err(format!(
                "`{typed}` is outside the folder in which this server was started, and only files within it can be named"
            )),
        }
    }

    /// The same for a suite, of which a line may be named.
    pub(super) fn suite(&self, typed: &str) -> Result<String, String> {
        let refused = match self.file(typed) {
            Ok(file) => return Ok(file),
            Err(refused) => refused,
        };
        let is_line = |line: &str| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
        match typed.rsplit_once(':').filter(|(_, line)| is_line(line)) {
            Some((file, line)) => Ok(format!("{}:{line}", self.file(file)?)),
            None => Err(refused),
        }
    }

    fn relative(&self, real: &Path) -> Result<String, String> {
        let path = real.strip_prefix(&self.root).unwrap_or(real);
        let Some(path) = path.to_str() else { return Err("the path is no valid Unicode; rename the file".to_owned()) };
        Ok(match path {
            "" => ".".to_owned(),
            // What reads like a flag, or like the name of a built-in suite, is a file.
            _ if path.starts_with('-') || path.contains(':') => format!("./{path}"),
            _ => path.to_owned(),
        })
    }
}

/// The path with its `..` taken out, as written.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sources of this package, which are there wherever its tests run.
    fn sources() -> Folder {
        Folder::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap()
    }

    #[test]
    fn paths_within_the_folder_are_relative_and_plain() {
        let absolute = sources().root.join("cli");
        for (typed, expected) in [
            ("lib.rs", "lib.rs"),
            ("./cli/../lib.rs", "lib.rs"),
            ("../src/lib.rs", "lib.rs"),
            (".", "."),
            (absolute.to_str().unwrap(), "cli"),
        ] {
            assert_eq!(sources().file(typed), Ok(expected.to_owned()), "{typed}");
        }
        assert_eq!(sources().suite("lib.rs:12"), Ok("lib.rs:12".to_owned()));
    }

    #[test]
    fn paths_outside_the_folder_are_refused_whether_they_exist_or_not() {
        for typed in ["..", "../Cargo.toml", "../nothing", "cli/../../Cargo.toml", "/", "/nothing", "../Cargo.toml:3"] {
            let refused = sources().suite(typed).unwrap_err();
            assert!(refused.contains("is outside the folder"), "{typed}: {refused}");
        }
    }

    #[test]
    fn a_missing_file_within_the_folder_is_said_to_be_missing() {
        for typed in ["nothing.yml", "nothing.yml:3", "-x", "lib.rs/nothing", ""] {
            let seen = sources().suite(typed);
            assert!(typed.is_empty() == seen.is_ok(), "{typed}: {seen:?}");
        }
    }
}
