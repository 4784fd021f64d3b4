//! The processes of a server, and what they hold.

use std::ops::Add;

/// The process group of a server that this program started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerProcesses(u32);

/// What the processes of a server hold at some time.
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
    pub(super) fn of(leader: u32) -> Self {
        Self(leader)
    }

    /// What they hold now; nothing where the system does not tell, or none is left.
    #[cfg(target_os = "linux")]
    pub fn usage(self) -> Option<ProcessUsage> {
        let listed = std::fs::read_dir("/proc").ok()?;
        let ids = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        let held = ids.filter(|id| group(*id) == Some(self.0)).filter_map(usage);
        held.reduce(ProcessUsage::add)
    }

    /// What they hold now; nothing, since the system does not tell.
    #[cfg(not(target_os = "linux"))]
    pub fn usage(self) -> Option<ProcessUsage> {
        None
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

/// The number of the group of a process (proc(5), `/proc/PID/stat`): the third field behind the name in brackets.
#[cfg(target_os = "linux")]
fn group(id: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_whitespace().nth(2)?.parse().ok()
}

/// What one process holds (proc(5), `/proc/PID/fd` and `VmRSS` of `/proc/PID/status`).
#[cfg(target_os = "linux")]
fn usage(id: u32) -> Option<ProcessUsage> {
    let files = std::fs::read_dir(format!("/proc/{id}/fd")).ok()?.count();
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = resident.split_whitespace().next()?.parse().ok()?;
    Some(ProcessUsage { processes: 1, files: u64::try_from(files).ok()?, memory: kibibytes * 1024 })
}
