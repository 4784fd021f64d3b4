//! Processes that servers started and that left their groups, as with `setsid`: on Linux they come to this process once
//! their parents are gone, and are ended. Elsewhere nobody hears of them; on Windows none leaves its job.
//!
//! A child of this process that is no server is one of those, which is true of a program only: a library knows nothing
//! of the children of whoever uses it, and adopts none.

use std::collections::BTreeSet;
use std::io;

use parking_lot::Mutex;

use super::process_tree::ProcessTree;

/// What the processes of a server are, and hold, can be found out.
pub const LISTS_PROCESSES: bool = cfg!(target_os = "linux");

/// The servers that run: each is the leader of its group.
static SERVERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A server that runs, until this is dropped.
#[derive(Debug)]
pub(crate) struct OwnedServer(u32);

impl OwnedServer {
    /// Takes note of a server while it starts, so that nobody takes it for a stray.
    pub(crate) fn register_started(start: impl FnOnce() -> io::Result<ProcessTree>) -> io::Result<(ProcessTree, Self)> {
        let mut servers = SERVERS.lock();
        let tree = start()?;
        // One that has been waited for has none, and this one has not.
        let leader = tree.id().unwrap_or_default();
        servers.insert(leader);
        Ok((tree, Self(leader)))
    }
}

impl OwnedServer {
    /// The number of the process, and of its group.
    pub(crate) fn leader(&self) -> u32 {
        self.0
    }
}

impl Drop for OwnedServer {
    fn drop(&mut self) {
        SERVERS.lock().remove(&self.0);
    }
}

/// A server runs that leads the group of this number.
pub(crate) fn is_server(leader: u32) -> bool {
    SERVERS.lock().contains(&leader)
}

#[cfg(target_os = "linux")]
mod adopted {
    use std::collections::BTreeMap;
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use nix::errno::Errno;
    use nix::sys::prctl::set_child_subreaper;
    use nix::sys::signal::{Signal, kill};
    use nix::sys::wait::{Id, WaitPidFlag, waitid, waitpid};
    use nix::unistd::Pid;
    use parking_lot::Mutex;

    /// The time for a stray to end by itself once its server has: a helper notices that a little later.
    const EXIT_GRACE: Duration = Duration::from_millis(300);

    /// The time to end all strays.
    const KILL_TIMEOUT: Duration = Duration::from_secs(2);

    const POLL_INTERVAL: Duration = Duration::from_millis(5);

    /// Strays are adopted by this process.
    static ADOPTS: AtomicBool = AtomicBool::new(false);

    /// The strays that had to be ended, by their names.
    static KILLED: Mutex<BTreeMap<i32, String>> = Mutex::new(BTreeMap::new());

    /// Lets strays come to this process from now on; not where it was given children already, whose children they would be
    /// taken for.
    pub fn adopt_orphans() {
        if has_no_children() && set_child_subreaper(true).is_ok() {
            ADOPTS.store(true, Ordering::Relaxed);
        }
    }

    /// Ends every stray, unless a server runs that may still need it.
    pub(crate) fn kill_unneeded() {
        if !ADOPTS.load(Ordering::Relaxed) || has_no_children() {
            return;
        }
        let begun = Instant::now();
        while begun.elapsed() < KILL_TIMEOUT {
            let servers = super::SERVERS.lock();
            let orphans = if servers.is_empty() { living_children() } else { Vec::new() };
            if orphans.is_empty() {
                return;
            }
            if begun.elapsed() > EXIT_GRACE {
                orphans.into_iter().for_each(kill_orphan);
            }
            drop(servers);
            pause();
        }
    }

    /// Ends servers and strays at once, for a program that waits for nothing any more.
    pub fn kill_all_children() {
        let begun = Instant::now();
        while ADOPTS.load(Ordering::Relaxed) && begun.elapsed() < KILL_TIMEOUT && !has_no_children() {
            living_children().into_iter().for_each(kill_orphan);
            pause();
        }
    }

    /// The names of the strays that had to be ended since the last call, each with how many there were.
    pub fn take_killed_orphans() -> BTreeMap<String, usize> {
        kill_unneeded();
        let mut counted = BTreeMap::new();
        for name in std::mem::take(&mut *KILLED.lock()).into_values() {
            *counted.entry(name).or_default() += 1;
        }
        counted
    }

    #[expect(clippy::disallowed_methods, reason = "the system tells nobody when the children of a child have ended")]
    fn pause() {
        std::thread::sleep(POLL_INTERVAL);
    }

    fn has_no_children() -> bool {
        waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT) == Err(Errno::ECHILD)
    }

    /// A process, as the system lists it.
    struct ListedProcess {
        id: i32,
        name: String,
        /// It has ended, and was not waited for.
        is_zombie: bool,
        parent: u32,
        group: u32,
    }

    /// Every process of the system.
    fn list_processes() -> impl Iterator<Item = ListedProcess> {
        let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = folders.filter_map(|folder| folder.file_name().to_str()?.parse::<i32>().ok());
        ids.filter_map(|id| {
            let line = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            // The name is whatever the process says, brackets included.
            let (name, rest) = line.rsplit_once(')')?;
            let (_, name) = name.split_once('(')?;
            let mut fields = rest.split_whitespace();
            let is_zombie = fields.next()? == "Z";
            let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
            Some(ListedProcess { id, name: name.to_owned(), is_zombie, parent, group })
        })
    }

    /// The living children of this process; those that have ended are taken off the system's list.
    fn living_children() -> Vec<ListedProcess> {
        let own = std::process::id();
        let (ended, living): (Vec<_>, Vec<_>) =
            list_processes().filter(|process| process.parent == own).partition(|process| process.is_zombie);
        for child in ended {
            let _ = waitpid(Pid::from_raw(child.id), Some(WaitPidFlag::WNOHANG));
        }
        living
    }

    /// The names of the processes that run in a group, sorted.
    pub(crate) fn running_in_group(group: u32) -> Vec<String> {
        let running = list_processes().filter(|process| process.group == group && !process.is_zombie);
        let mut names: Vec<String> = running.map(|process| process.name).collect();
        names.sort_unstable();
        names
    }

    /// A child that has ended keeps its number until it is waited for, so this reaches nobody else.
    fn kill_orphan(orphan: ListedProcess) {
        if kill(Pid::from_raw(orphan.id), Signal::SIGKILL).is_ok() {
            KILLED.lock().insert(orphan.id, orphan.name);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod adopted {
    use std::collections::BTreeMap;

    /// This system gives orphans to no process but its own.
    pub fn adopt_orphans() {}

    pub(crate) fn kill_unneeded() {}

    /// Nobody lists the processes of this system here, so none is known.
    pub(crate) fn running_in_group(_: u32) -> Vec<String> {
        Vec::new()
    }

    /// Ends servers at once, for a program that waits for nothing any more. Where they are jobs, they end with it.
    pub fn kill_all_children() {
        #[cfg(unix)]
        for leader in super::SERVERS.lock().iter().filter_map(|leader| i32::try_from(*leader).ok()) {
            use nix::sys::signal::{Signal, killpg};
            // One that has ended needs nothing.
            let _ = killpg(nix::unistd::Pid::from_raw(leader), Signal::SIGKILL);
        }
    }

    /// Orphans are not known on this system.
    pub fn take_killed_orphans() -> BTreeMap<String, usize> {
        BTreeMap::new()
    }
}

pub use self::adopted::{adopt_orphans, kill_all_children, take_killed_orphans};
pub(crate) use self::adopted::{kill_unneeded, running_in_group};
