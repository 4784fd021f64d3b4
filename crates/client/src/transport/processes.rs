//! The processes of a server, and what they hold.

use std::ops::Add;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::orphans;

/// The process group of a server that this program started.
#[derive(Debug, Clone)]
pub struct ServerProcesses {
    leader: u32,
    growth: Option<Arc<ProcessGrowth>>,
}

/// The simulated growth per measurement.
#[derive(Debug)]
struct ProcessGrowth {
    each_time: ProcessUsage,
    times: AtomicU64,
}

/// The resources of a server's processes at some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// Their number.
    pub processes: u64,
    /// Their open files, sockets and pipes.
    pub files: u64,
    /// Their resident memory, in bytes.
    pub memory: u64,
}

impl ServerProcesses {
    pub fn of(leader: u32) -> Self {
        Self { leader, growth: None }
    }

    /// The id of the server's own process.
    pub fn pid(&self) -> u32 {
        self.leader
    }

    /// The server was not ended yet.
    pub fn is_running(&self) -> bool {
        orphans::is_server(self.leader)
    }

    /// The same as processes that seem to hold so much more each time that they are looked at: what a leak looks like.
    #[must_use]
    pub fn growing(self, each_time: ProcessUsage) -> Self {
        Self { growth: Some(Arc::new(ProcessGrowth { each_time, times: AtomicU64::new(0) })), ..self }
    }

    /// Their resources now; nothing where the system does not tell, or none is left.
    pub fn usage(&self) -> Option<ProcessUsage> {
        let held = self.measure()?;
        Some(match &self.growth {
            Some(growth) => held + growth.each_time.times(growth.times.fetch_add(1, Ordering::Relaxed)),
            None => held,
        })
    }

    /// The time for which they used a processor or waited for one, all threads together; nothing where the system does
    /// not tell. What ended before is not in it.
    pub fn busy(&self) -> Option<Duration> {
        system::ids(self.leader)?.filter_map(system::busy).reduce(Duration::saturating_add)
    }

    fn measure(&self) -> Option<ProcessUsage> {
        system::ids(self.leader)?.filter_map(system::usage).reduce(ProcessUsage::add)
    }
}

impl ProcessUsage {
    fn times(self, times: u64) -> Self {
        Self { processes: self.processes * times, files: self.files * times, memory: self.memory * times }
    }
}

impl Add for ProcessUsage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            processes: self.processes + other.processes,
            files: self.files + other.files,
            memory: self.memory + other.memory,
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;

    use super::{Duration, ProcessUsage};

    /// The processes of a group.
    pub(super) fn ids(leader: u32) -> Option<impl Iterator<Item = u32>> {
        let listed = fs::read_dir("/proc").ok()?;
        let ids = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        Some(ids.filter(move |id| group(*id) == Some(leader)))
    }

    /// The number of the group of a process (proc(5), `/proc/PID/stat`): the third field behind the name in brackets.
    pub(super) fn group(id: u32) -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (_, behind_name) = stat.rsplit_once(')')?;
        behind_name.split_whitespace().nth(2)?.parse().ok()
    }

    /// The time for which the threads of one process used a processor or waited for one: the first two numbers of each
    /// `/proc/PID/task/TID/schedstat`, in nanoseconds.
    pub(super) fn busy(id: u32) -> Option<Duration> {
        let threads = fs::read_dir(format!("/proc/{id}/task")).ok()?;
        let spent = threads.filter_map(|thread| {
            let schedule = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
            schedule.split_whitespace().take(2).map(|nanoseconds| nanoseconds.parse::<u64>().ok()).sum::<Option<u64>>()
        });
        spent.map(Duration::from_nanos).reduce(Duration::saturating_add)
    }

    /// The resources of one process (proc(5), `/proc/PID/fd` and `VmRSS` of `/proc/PID/status`).
    pub(super) fn usage(id: u32) -> Option<ProcessUsage> {
        let files = fs::read_dir(format!("/proc/{id}/fd")).ok()?.count();
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kibibytes: u64 = resident.split_whitespace().next()?.parse().ok()?;
        Some(ProcessUsage { processes: 1, files: u64::try_from(files).ok()?, memory: kibibytes * 1024 })
    }
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Duration, ProcessUsage};

    pub(super) fn ids(_: u32) -> Option<std::iter::Empty<u32>> {
        None
    }

    pub(super) fn busy(_: u32) -> Option<Duration> {
        None
    }

    pub(super) fn usage(_: u32) -> Option<ProcessUsage> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_grow_hold_more_each_time() {
        let more = |times: u64| ProcessUsage { processes: 0, files: 7, memory: 0 }.times(times).files;
        assert_eq!([more(0), more(1), more(3)], [0, 7, 21]);
        #[cfg(target_os = "linux")]
        {
            let own = system::group(std::process::id()).unwrap();
            let growing = ServerProcesses::of(own).growing(ProcessUsage { processes: 1 << 40, files: 0, memory: 0 });
            let seen = [0, 1, 2].map(|_| growing.usage().unwrap().processes >> 40);
            assert_eq!(seen, [0, 1, 2]);
        }
    }
}
