//! The folder that tools may use: the suite names it, it is one of the client's roots, or the server was started with it.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use serde_json::Value;

use super::SecuritySettings;
use crate::event::{CheckResult, Outcome, Reason};
use crate::files::real_path;
use crate::plan::CheckContext;
use crate::plan::arguments::{server_folder, starting_folder};
use crate::session::{client_root, root_folder};
use crate::source::template::is_template;
use crate::source::{Diagnostic, Node};
use crate::suite::{Suite, absolute_path};

/// The cure if the client's roots do not name the folder.
const NAME_IT: &str = "name the folder that the server may use under `security: { root: … }`";

/// A folder, and who limits tools to it.
#[derive(Debug)]
pub(crate) struct AllowedFolder {
    pub(crate) path: PathBuf,
    pub(crate) limit: FolderLimit,
}

/// Who limits tools to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderLimit {
    /// The suite, under `root`.
    Suite,
    /// The client, whose root it is. It binds servers that ask for the roots, and, by the specification
    /// (`client/roots#security-considerations`), those only as a SHOULD.
    Client,
    /// The command of the server, which names it. It may be no limit at all, so only a server that refuses another folder
    /// is held to it.
    Command,
}

impl FolderLimit {
    /// The limit in messages.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Suite => "`root`",
            Self::Client => "the client's roots",
            Self::Command => "the folder of its command",
        }
    }
}

/// The folder that tools may use; the result says why there is none.
pub(crate) fn allowed_folder(
    context: &CheckContext<'_>,
    settings: &SecuritySettings,
) -> Result<AllowedFolder, Box<CheckResult>> {
    let not_evaluated = |why| Box::new(CheckResult::because(Outcome::Errored, Reason::NotEvaluated(why)));
    match (&settings.root, &context.suite.answers.roots) {
        (Some(root), _) => {
            let path = named_folder(context, root).map_err(not_evaluated)?;
            Ok(AllowedFolder { path, limit: FolderLimit::Suite })
        }
        (None, Some(roots)) => {
            let Some(path) = folder_of_client(context, roots) else {
                let why =
                    format!("none of the client's roots is a folder that other folders are outside of; {NAME_IT}");
                return Err(Box::new(CheckResult::not_given(why)));
            };
            Ok(AllowedFolder { path, limit: FolderLimit::Client })
        }
        (None, None) => match folder_of_command(context) {
            Some(path) => Ok(AllowedFolder { path, limit: FolderLimit::Command }),
            None => Err(Box::new(CheckResult::not_given(format!("its command names no folder; {NAME_IT}")))),
        },
    }
}

/// The root as the suite names it, relative to the suite's folder.
fn named_folder(context: &CheckContext<'_>, root: &Node) -> Result<PathBuf, String> {
    let filled = context.fill(root).and_then(|root| root.as_str().map(str::to_owned));
    let Some(written) = filled else { return Err("`root` uses a name that only a step captures".to_owned()) };
    let named = context.suite.folder.join(&written);
    // A server with a store works on a copy of it.
    let named = context.machine.path_in_copy(&named)?.unwrap_or(named);
    match real_path(named) {
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(_) => Err(format!("`root` names `{written}`, which is no folder")),
        Err(error) => Err(format!(
            "`root` names `{written}`, which cannot be read: {error}; write a path that is relative to the suite's folder"
        )),
    }
}

/// The mistake in a suite whose `root` is not there. One with a template is known only in a run, and so is one in a store.
pub(crate) fn missing_folder(root: &Node, suite: &Suite) -> Option<Diagnostic> {
    let written = root.text().filter(|written| !is_template(written))?;
    if suite.servers.values().any(|server| server.store.is_some()) {
        return None;
    }
    let problem = match fs::metadata(absolute_path(written, &suite.folder)) {
        Ok(found) if found.is_dir() => return None,
        Ok(_) => format!("`{written}` is no folder"),
        Err(error) if error.kind() == ErrorKind::NotFound => format!("there is no folder `{written}`"),
        Err(error) => format!("the folder `{written}` cannot be read: {error}"),
    };
    let help = "name the folder that tools may use, relative to the suite's file".to_owned();
    Some(Diagnostic::error("missing-file", problem, root.span).with_help(help))
}

/// The folder that the server was started with, if anything can be outside of it.
fn folder_of_command(context: &CheckContext<'_>) -> Option<PathBuf> {
    let server = context.suite.servers.get(context.server_name)?;
    let named = server_folder(context.suite, context.server_name)?;
    let named = absolute_path(&named, &starting_folder(server)?);
    let named = context.machine.path_in_copy(&named).ok()?.unwrap_or(named);
    real_path(named).ok().filter(|folder| folder.is_dir() && folder.parent().is_some())
}

/// The first of the client's roots beside which a folder is in none of them.
fn folder_of_client(context: &CheckContext<'_>, roots: &Node) -> Option<PathBuf> {
    let filled = context.fill(roots)?;
    let suite_folder = &context.suite.folder;
    let moved = |root: &Value| {
        context.machine.path_in_copy(&suite_folder.join(root.as_str()?)).ok()??.to_str().map(Value::from)
    };
    let roots = filled.as_array()?.iter();
    let roots = roots.map(|root| client_root(&moved(root).unwrap_or_else(|| root.clone()), suite_folder));
    let folders = roots.filter_map(|root| real_path(root_folder(&root)?).ok()).filter(|path| path.is_dir());
    let folders: Vec<PathBuf> = folders.collect();
    first_with_outside(&folders).cloned()
}

/// The first folder beside which another one is in none of them.
fn first_with_outside(folders: &[PathBuf]) -> Option<&PathBuf> {
    folders
        .iter()
        .find(|folder| folder.parent().is_some_and(|parent| !folders.iter().any(|other| parent.starts_with(other))))
}

/// The result where a folder does not limit the server.
pub(crate) fn not_limited(limit: FolderLimit) -> CheckResult {
    let why = match limit {
        FolderLimit::Suite | FolderLimit::Client => {
            "the server does not ask for the client's roots, so they do not limit it"
        }
        FolderLimit::Command => "the server serves other folders than that of its command, which is no limit",
    };
    CheckResult::not_given(format!("{why}; {NAME_IT}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_needs_a_place_that_is_in_no_root() {
        for (folders, expected) in [
            (&["/data/files"][..], Some("/data/files")),
            // What is beside the first one is in the second.
            (&["/data/files", "/data"], Some("/data")),
            (&["/data", "/data/files"], Some("/data")),
            (&["/data/a", "/data/b"], Some("/data/a")),
            // Nothing is outside of everything.
            (&["/"], None),
            (&["/data", "/"], None),
            (&[], None),
        ] {
            let folders: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
            assert_eq!(first_with_outside(&folders), expected.map(PathBuf::from).as_ref(), "{folders:?}");
        }
    }
}
