//! The start of a server with a copy of its store in the place of the store.

use std::path::{Path, PathBuf};

use crate::suite::absolute_path;
use crate::transport::stdio::ServerCommand;

/// Stands for the store in a command that is not started yet. No argument of a program can hold it.
pub(crate) const STORE_MARK: &str = "\0store\0";

/// A store, and the copy that takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoreMove {
    /// The absolute path of the store.
    from: PathBuf,
    /// The absolute path of the copy.
    to: PathBuf,
}

impl StoreMove {
    /// The move of a store, whose path is relative to the folder of its suite.
    pub(crate) fn new(written: &str, folder: &Path, to: PathBuf) -> Self {
        Self { from: absolute_path(written, folder), to }
    }

    /// The command with the copy in the place of the store: of a whole argument or variable, of the beginning of its path, of
    /// what stands behind the first `=` of it, and of the folder in which it starts. `None` where the server is not told of
    /// the copy. `is_own` says of a variable that it is not that of everybody.
    pub(crate) fn apply(&self, command: &ServerCommand, is_own: &dyn Fn(&str) -> bool) -> Option<ServerCommand> {
        let base = absolute_path("", &command.cwd);
        let mut is_told = false;
        let mut moved = |text: &str| {
            let new = self.text(text, &base)?;
            is_told = true;
            Some(new)
        };
        let args = command.args.iter().map(|word| moved(word).unwrap_or_else(|| word.clone())).collect();
        let env = command.env.iter().map(|(name, value)| {
            let new = if is_own(name) { moved(value) } else { None };
            (name.clone(), new.unwrap_or_else(|| value.clone()))
        });
        let env = env.collect();
        let names_store = command.program.contains(STORE_MARK);
        let program = if names_store { moved(&command.program) } else { None };
        let cwd = self.path(&base);
        is_told |= cwd.is_some();
        let mut new = ServerCommand {
            program: program.unwrap_or_else(|| command.program.clone()),
            args,
            env,
            cwd: cwd.clone().unwrap_or_else(|| command.cwd.clone()),
        };
        if cwd.is_some() {
            self.keep_paths_outside(&mut new, &base);
        }
        is_told.then_some(new)
    }

    /// The absolute path of the store.
    pub(crate) fn store(&self) -> &Path {
        &self.from
    }

    /// The absolute path of the copy.
    pub(crate) fn copy(&self) -> &Path {
        &self.to
    }

    /// A path with the copy in the place of the store; `None` where it does not lead into the store.
    pub(crate) fn path(&self, path: &Path) -> Option<PathBuf> {
        let rest = path.strip_prefix(&self.from).ok()?;
        Some(if rest.as_os_str().is_empty() { self.to.clone() } else { self.to.join(rest) })
    }

    /// A path that is relative to a folder, likewise.
    pub(crate) fn written_path(&self, written: &str, folder: &Path) -> Option<PathBuf> {
        self.path(&absolute_path(written, folder))
    }

    fn text(&self, text: &str, base: &Path) -> Option<String> {
        if text.contains(STORE_MARK) {
            return Some(text.replace(STORE_MARK, &self.to.display().to_string()));
        }
        let moved = |written: &str| {
            // A server that starts in its store finds there what is named from there.
            let is_followed = Path::new(written).is_absolute() || !base.starts_with(&self.from);
            let path = self.written_path(written, base).filter(|_| is_followed && !written.is_empty())?;
            Some(path.display().to_string())
        };
        moved(text).or_else(|| {
            let (name, value) = text.split_once('=')?;
            Some(format!("{name}={}", moved(value)?))
        })
    }

    /// A server that starts in the copy still finds the program and the files that its arguments name outside of the store.
    fn keep_paths_outside(&self, command: &mut ServerCommand, base: &Path) {
        for word in std::iter::once(&mut command.program).chain(&mut command.args) {
            let path = absolute_path(word, base);
            let is_path = Path::new(word.as_str()).components().count() > 1;
            if is_path && !path.starts_with(&self.from) && path.exists() {
                *word = path.display().to_string();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &[&str], env: &[(&str, &str)], cwd: &str) -> ServerCommand {
        ServerCommand {
            program: words[0].to_owned(),
            args: words[1..].iter().map(|word| (*word).to_owned()).collect(),
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            cwd: PathBuf::from(cwd),
        }
    }

    #[test]
    fn a_server_is_told_of_its_copy() {
        let mark = format!("sqlite:///{STORE_MARK}");
        for (store, words, env, expected) in [
            ("data", &["node", "data"][..], &[][..], Some("node /c; ; /suite")),
            ("data/", &["node", "./data", "--verbose"], &[], Some("node /c --verbose; ; /suite")),
            ("data", &["node", "--dir=data/notes.json"], &[], Some("node --dir=/c/notes.json; ; /suite")),
            ("data", &["node", "/suite/data/x"], &[], Some("node /c/x; ; /suite")),
            ("data", &["node", "database", "x=database"], &[], None),
            ("data", &["data/server", "x"], &[], None),
            ("data/n.db", &["node", "data"], &[("DB", "data/n.db")], Some("node data; DB=/c; /suite")),
            ("data", &["node"], &[("URL", &mark)], Some("node; URL=sqlite:////c; /suite")),
            // The variable is everybody's.
            ("data", &["node"], &[("HOME", "/suite/data")], None),
            // The store is the folder in which it starts.
            (".", &["node", "index.js", "--all"], &[], Some("node index.js --all; ; /c")),
            ("..", &["node", "index.js"], &[], Some("node index.js; ; /c/suite")),
        ] {
            let moving = StoreMove::new(store, Path::new("/suite"), PathBuf::from("/c"));
            let moved = moving.apply(&command(words, env, "/suite"), &|name| name != "HOME");
            let shown = moved.map(|moved| {
                let env: Vec<String> = moved.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let words = [vec![moved.program], moved.args].concat().join(" ");
                format!("{words}; {}; {}", env.join(" "), moved.cwd.display())
            });
            assert_eq!(shown.as_deref(), expected, "{store} {words:?} {env:?}");
        }
    }

    #[test]
    fn a_program_beside_a_store_in_which_it_starts_is_still_found() {
        let moving = StoreMove::new("tmp", Path::new("/"), PathBuf::from("/c"));
        let moved = moving.apply(&command(&["../bin/sh", "../etc/passwd", "../none", "x"], &[], "/tmp"), &|_| true);
        let moved = moved.unwrap();
        assert_eq!(moved.program, "/bin/sh");
        assert_eq!(moved.args, ["/etc/passwd", "../none", "x"]);
    }
}
