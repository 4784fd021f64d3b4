//! Copies of the store of a server: each process that uses one has it for itself.
//!
//! A copy belongs to a case, or to the session that cases share. Processes of one case that run one after another have the
//! same copy, since a case may look at what one of them leaves to the next; a process beside another one gets a fresh copy.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::spawn_blocking;

use super::run_folder::RunFolder;
use super::store_move::StoreMove;
use crate::event::{Code, Finding};
use crate::files::{CopyError, CopyLimit, Folder, Kind, real_path};
use crate::plan::arguments::ConfigSource;
use crate::session::Session;
use crate::source::template::{Names, Unfilled, fill, text_of};
use crate::source::{Diagnostic, FNV, Span, fnv, map_texts, replace_path};
use crate::suite::{Fixture, NewStore, Store, absolute_path};
use crate::transport::{Owner, ServerProcesses};

/// The size of a store that is copied.
const LIMIT: CopyLimit = CopyLimit { bytes: 1 << 30, entries: 100_000 };

/// What `SQLite` keeps beside a database, and needs to read it.
const BESIDE_DATABASES: [&str; 2] = ["-wal", "-journal"];

/// The number of characters of a case's name that the folder of its copy has.
const NAMED: usize = 40;

/// The copy that a process uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreUse<'a> {
    /// One that no process has used.
    Anew,
    /// One of the session that cases share: the first that no process uses now.
    Shared,
    /// One of a case: the first that no process uses now.
    Of(&'a str),
}

/// The store of a server as the suite names it, or the files of a test.
#[derive(Debug, Clone)]
pub(crate) struct StoreSource {
    /// `store` or `fixture`.
    noun: &'static str,
    /// The path as it is written.
    written: String,
    /// The folder of the suite.
    folder: PathBuf,
    create: Option<NewStore>,
}

/// The copies of a store.
pub(crate) struct StoreCopies {
    source: StoreSource,
    /// Tells the targets of a run apart.
    target: String,
    run: Arc<RunFolder>,
    state: Mutex<CopyState>,
}

#[derive(Default)]
struct CopyState {
    owned: BTreeMap<Owner, Vec<Arc<StoreCopy>>>,
    /// Copies whose case is over, and those that nobody owns, as long as a process may use them.
    left: Vec<Arc<StoreCopy>>,
}

/// One copy.
struct StoreCopy {
    /// The folder in which it lies alone.
    folder: PathBuf,
    path: PathBuf,
    user: Mutex<CopyUser>,
}

/// The process that uses a copy.
enum CopyUser {
    None,
    Starting,
    Process(ServerProcesses),
}

/// A copy for a process that is about to start.
pub(crate) struct CopyLease(Arc<StoreCopy>);

impl StoreSource {
    /// The store of a server, with the names of its suite.
    pub(crate) fn of(store: &Store, folder: &Path, names: &Names) -> Result<Self, Unfilled> {
        let written = text_of(&fill(&store.path, names)?.to_json());
        Ok(Self { noun: "store", written, folder: folder.to_owned(), create: store.create })
    }

    /// The files of a test or of a run.
    pub(crate) fn of_fixture(fixture: &Fixture) -> Self {
        let Fixture { path, folder } = fixture.clone();
        Self { noun: "fixture", written: path.value, folder, create: None }
    }

    /// The move of the store to a copy.
    pub(crate) fn moving(&self, copy: &Path) -> StoreMove {
        StoreMove::new(&self.written, &self.folder, copy.to_owned())
    }

    /// Why the store cannot be copied, as far as its path shows.
    pub(crate) fn problem(&self) -> Option<String> {
        let found = if self.create.is_some() { return None } else { fs::metadata(self.path()) };
        let Self { noun, written, .. } = self;
        match found {
            Ok(found) if found.is_file() || found.is_dir() => None,
            Ok(_) => Some(format!("the {noun} `{written}` is a pipe, a socket or a device")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Some(format!("the {noun} `{written}` does not exist"))
            }
            Err(error) => Some(format!("the {noun} `{written}` cannot be read: {error}")),
        }
    }

    /// The mistake in a suite, or in flags, where the store cannot be copied.
    pub(crate) fn mistake(&self, span: Span, config_source: ConfigSource) -> Option<Diagnostic> {
        let problem = self.problem()?;
        let written = &self.written;
        let help = match config_source {
            ConfigSource::Suite => self.help(),
            ConfigSource::Flags if self.is_missing() => format!(
                "name the file or folder in which the server keeps its data; if the server makes it, make an empty one \
                 first: `touch {written}`, or `mkdir {written}`"
            ),
            ConfigSource::Flags => "name the file or folder in which the server keeps its data".to_owned(),
        };
        Some(Diagnostic::error("bad-store", problem, span).with_help(help))
    }

    fn help(&self) -> String {
        if self.noun == "fixture" {
            return "name a folder with the files that are needed, relative to the suite's file".to_owned();
        }
        let named = "name the file or folder in which the server keeps its data, relative to the suite's file";
        if !self.is_missing() {
            return named.to_owned();
        }
        let written = &self.written;
        format!(
            "{named}; if the server makes it, write `store: {{ path: {written}, create: file }}`, or `create: folder` for an \
             empty folder"
        )
    }

    /// Nothing is there, so that the server may be the one who makes it.
    fn is_missing(&self) -> bool {
        fs::metadata(self.path()).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    fn path(&self) -> PathBuf {
        absolute_path(&self.written, &self.folder)
    }

    /// The last name of its path.
    fn name(&self) -> String {
        self.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn unusable(&self, why: impl std::fmt::Display) -> Finding {
        let message = format!("the {} `{}` cannot be copied: {why}", self.noun, self.written);
        Finding { help: Some(self.help()), ..Finding::new(Code::BAD_STORE, message) }
    }

    /// What is copied, links that the user names followed; `None` where the store begins empty.
    fn copied_path(&self) -> Option<PathBuf> {
        if self.create.is_some() { None } else { real_path(self.path()).ok() }
    }

    /// Puts a copy into a folder of its own.
    fn copy_to(&self, to: &Folder, run: &Path) -> Result<(), Finding> {
        let name = self.name();
        match self.create {
            Some(NewStore::File) => return Ok(()),
            Some(NewStore::Folder) => {
                let made = to.create_folder(&name, crate::files::Access::Shared);
                return made.map(drop).map_err(|error| self.unusable(error));
            }
            None => {}
        }
        if let Some(problem) = self.problem() {
            return Err(Finding { help: Some(self.help()), ..Finding::new(Code::BAD_STORE, problem) });
        }
        // A link that the user names is followed; links in what it names are not.
        let real = real_path(self.path()).map_err(|error| self.unusable(error))?;
        let (Some(parent), Some(real_name)) = (real.parent(), real.file_name()) else {
            return Err(self.unusable("it is the root of the file system"));
        };
        if run.starts_with(&real) {
            let why = format!("the folder of this run, `{}`, lies in it; set TMPDIR to another folder", run.display());
            return Err(self.unusable(why));
        }
        let parent = Folder::open(parent).map_err(|error| self.unusable(error))?;
        to.copy_from(&parent, real_name, name.as_ref(), LIMIT).map_err(|error| self.explain(&error))?;
        for end in BESIDE_DATABASES {
            let beside = format!("{}{end}", real_name.to_string_lossy());
            if parent.kind(real_name) == Some(Kind::File) && parent.kind(&beside) == Some(Kind::File) {
                let copied = to.copy_from(&parent, beside.as_ref(), format!("{name}{end}").as_ref(), LIMIT);
                copied.map_err(|error| self.explain(&error))?;
            }
        }
        Ok(())
    }

    fn explain(&self, error: &CopyError) -> Finding {
        let found = self.unusable(error);
        let help = match error {
            CopyError::TooLarge => {
                "at most 1 GiB in 100,000 files is copied, in folders that lie at most 64 deep; name the file or folder that \
                 is needed, and nothing else"
            }
            CopyError::LinkOut { .. } => {
                "remove the link: a server that writes through it would change what is not its copy"
            }
            CopyError::System { error, .. } if has_no_room(error) => {
                "free some space, raise the limit of file sizes (`ulimit -f`), or set TMPDIR to a folder on another disk: \
                 copies lie there until the run is over"
            }
            CopyError::NotPlain(_) | CopyError::System { .. } => return found,
        };
        Finding { help: Some(help.to_owned()), ..found }
    }
}

/// The cure where the system makes no folder for the files of a run.
pub(crate) fn cure_of_temporary_folder(error: &io::Error) -> &'static str {
    if has_no_room(error) {
        "free some space, or set TMPDIR to a folder on another disk"
    } else {
        "set TMPDIR to a folder in which files may be made"
    }
}

/// Returns true if no more can be written to a disk.
fn has_no_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge | io::ErrorKind::QuotaExceeded)
}

impl StoreCopies {
    pub(crate) fn new(source: StoreSource, target: String, run: &Arc<RunFolder>) -> Arc<Self> {
        Arc::new(Self { source, target, run: Arc::clone(run), state: Mutex::default() })
    }

    /// A copy for a process that is about to start.
    pub(crate) async fn take(self: &Arc<Self>, using: StoreUse<'_>) -> Result<CopyLease, Finding> {
        let owner = match using {
            StoreUse::Anew => None,
            StoreUse::Shared => Some(Owner::Session),
            StoreUse::Of(case) => Some(Owner::of_case(case)),
        };
        if let Some(copy) = owner.as_ref().and_then(|owner| self.free_copy(owner)) {
            return Ok(CopyLease(copy));
        }
        let copies = Arc::clone(self);
        let made = spawn_blocking(move || copies.make(owner.as_ref())).await;
        made.unwrap_or_else(|error| Err(self.source.unusable(error))).map(CopyLease)
    }

    /// The first copy of an owner, made if there is none, before a process uses it; the result says why there is none.
    pub(crate) fn prepare(&self, owner: &Owner) -> Result<StoreMove, Finding> {
        let known = self.state.lock().owned.get(owner).and_then(|copies| copies.first().cloned());
        if let Some(copy) = known {
            return Ok(self.source.moving(&copy.path));
        }
        let copy = self.make(Some(owner))?;
        *copy.user.lock() = CopyUser::None;
        Ok(self.source.moving(&copy.path))
    }

    /// The path of the copy that a case has, made if there is none.
    pub(crate) async fn prepare_path(self: &Arc<Self>, case: &str) -> Result<PathBuf, Finding> {
        let (copies, owner) = (Arc::clone(self), Owner::of_case(case));
        let made = spawn_blocking(move || copies.make(Some(&owner))).await;
        let copy = made.unwrap_or_else(|error| Err(self.source.unusable(error)))?;
        *copy.user.lock() = CopyUser::None;
        Ok(copy.path.clone())
    }

    /// The absolute path of the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.source.path()
    }

    /// A value with the path of the store in the place of those of its copies.
    pub(crate) fn at_store(&self, value: Value) -> Value {
        let copies: Vec<String> = {
            let state = self.state.lock();
            let all = state.owned.values().flatten().chain(&state.left);
            all.map(|copy| copy.path.display().to_string()).collect()
        };
        let store = self.store().display().to_string();
        map_texts(value, &|text| copies.iter().fold(text.to_owned(), |text, copy| replace_path(&text, copy, &store)))
    }

    /// Returns true if an absolute path leads into the store.
    pub(crate) fn is_in_store(&self, path: &Path) -> bool {
        path.starts_with(self.source.path())
    }

    /// The path of the copy that a process uses; of the owner's first one where no process is known.
    pub(crate) fn path_of(&self, process: Option<&ServerProcesses>, owner: &Owner) -> PathBuf {
        let state = self.state.lock();
        let first = || [owner, &Owner::Session].into_iter().find_map(|owner| state.owned.get(owner)?.first());
        let found = process.and_then(|process| state.copy_of(process)).or_else(first);
        found.map_or_else(|| self.first_path(owner), |copy| copy.path.clone())
    }

    /// The move of the store to the copy that the server of a session has.
    pub(crate) fn moving_of(&self, session: &Session) -> Option<StoreMove> {
        let process = session.processes()?;
        let state = self.state.lock();
        state.copy_of(&process).map(|copy| self.source.moving(&copy.path))
    }

    /// The path of the first copy of an owner, whether it was made or not.
    pub(crate) fn first_path(&self, owner: &Owner) -> PathBuf {
        self.run.path().join(self.base(Some(owner))).join(self.source.name())
    }

    /// Ends the use of the copies of a case: those that no process uses are removed.
    pub(crate) fn retire(&self, case: &str) {
        {
            let mut state = self.state.lock();
            let own = state.owned.remove(&Owner::of_case(case)).unwrap_or_default();
            state.left.extend(own);
        }
        self.remove_left();
    }

    /// Removes the copies that belong to no case and that no process uses.
    pub(crate) fn remove_left(&self) {
        let gone: Vec<Arc<StoreCopy>> = self.state.lock().left.extract_if(.., |copy| !copy.is_used()).collect();
        for copy in gone {
            self.run.remove(&copy.folder);
        }
    }

    fn free_copy(&self, owner: &Owner) -> Option<Arc<StoreCopy>> {
        let state = self.state.lock();
        let free = state.owned.get(owner)?.iter().find(|copy| !copy.is_used())?;
        *free.user.lock() = CopyUser::Starting;
        Some(Arc::clone(free))
    }

    fn make(&self, owner: Option<&Owner>) -> Result<Arc<StoreCopy>, Finding> {
        let base = self.base(owner);
        let names = std::iter::once(base.clone()).chain((2..).map(|number: u32| format!("{base}-{number}")));
        let (to, folder) = self.run.create(names).map_err(|error| {
            let why = format!("no folder can be made in `{}`: {error}", self.run.path().display());
            Finding { help: Some(cure_of_temporary_folder(&error).to_owned()), ..self.source.unusable(why) }
        })?;
        if let Err(found) = self.source.copy_to(&to, self.run.path()) {
            drop(to);
            self.run.discard(&folder);
            return Err(found);
        }
        let path = folder.join(self.source.name());
        if let Some(source) = self.source.copied_path() {
            self.run.note_copy(&path, &source);
        }
        let copy = Arc::new(StoreCopy { folder, path, user: Mutex::new(CopyUser::Starting) });
        let mut state = self.state.lock();
        match owner {
            Some(owner) => state.owned.entry(owner.clone()).or_default().push(Arc::clone(&copy)),
            None => state.left.push(Arc::clone(&copy)),
        }
        Ok(copy)
    }

    /// The name of the folder for a copy: the same in every run with the same folder.
    fn base(&self, owner: Option<&Owner>) -> String {
        let name = match owner {
            None => "fresh".to_owned(),
            Some(Owner::Session) => "shared".to_owned(),
            Some(Owner::Case(id)) => {
                let name = id.split_once("::").map_or(&**id, |(_, name)| name);
                let name = name.rsplit_once('@').map_or(name, |(name, _)| name);
                let plain = name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
                plain.take(NAMED).collect()
            }
        };
        let case = owner.and_then(Owner::case).unwrap_or_default();
        let hash = fnv(FNV, format!("{} {case}", self.target).as_bytes());
        format!("{name}-{:08x}", hash & 0xffff_ffff)
    }
}

impl CopyState {
    /// The copy that a process uses.
    fn copy_of(&self, process: &ServerProcesses) -> Option<&Arc<StoreCopy>> {
        let is_used = |copy: &&Arc<StoreCopy>| match &*copy.user.lock() {
            CopyUser::Process(user) => user.pid() == process.pid(),
            CopyUser::None | CopyUser::Starting => false,
        };
        self.owned.values().flatten().chain(&self.left).rev().find(is_used)
    }
}

impl StoreCopy {
    fn is_used(&self) -> bool {
        match &*self.user.lock() {
            CopyUser::None => false,
            CopyUser::Starting => true,
            CopyUser::Process(processes) => processes.is_running(),
        }
    }
}

impl CopyLease {
    /// The move of the store to this copy.
    pub(crate) fn moving(&self, copies: &StoreCopies) -> StoreMove {
        copies.source.moving(&self.0.path)
    }

    /// Takes note of the process that uses it.
    pub(crate) fn note_process(&self, processes: &ServerProcesses) {
        *self.0.user.lock() = CopyUser::Process(processes.clone());
    }
}

impl Drop for CopyLease {
    fn drop(&mut self) {
        let mut user = self.0.user.lock();
        if matches!(*user, CopyUser::Starting) {
            *user = CopyUser::None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_cannot_be_copied_says_why_and_only_a_missing_one_can_be_made() {
        for (written, says, can_be_made) in [
            ("src", None, false),
            ("Cargo.toml", None, false),
            ("no/such.json", Some("the store `no/such.json` does not exist"), true),
            ("/dev/null", Some("the store `/dev/null` is a pipe, a socket or a device"), false),
            ("Cargo.toml/x", Some("the store `Cargo.toml/x` cannot be read: "), false),
        ] {
            let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
            let store = StoreSource { noun: "store", written: written.to_owned(), folder, create: None };
            let problem = store.problem();
            assert_eq!(problem.is_some(), says.is_some(), "{problem:?}");
            assert!(problem.unwrap_or_default().starts_with(says.unwrap_or_default()), "{written}");
            assert_eq!(store.help().contains("create: file"), can_be_made, "{written}");
        }
    }

    #[test]
    fn a_full_disk_needs_room_and_any_other_refusal_another_folder() {
        for (kind, says) in [
            (io::ErrorKind::StorageFull, "free some space"),
            (io::ErrorKind::QuotaExceeded, "free some space"),
            (io::ErrorKind::NotFound, "in which files may be made"),
            (io::ErrorKind::PermissionDenied, "in which files may be made"),
            (io::ErrorKind::ReadOnlyFilesystem, "in which files may be made"),
        ] {
            assert!(cure_of_temporary_folder(&kind.into()).contains(says), "{kind}");
        }
    }
}
