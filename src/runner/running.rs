//! The server processes that a run has started and that are alive.

use parking_lot::Mutex;

use crate::plan::RunningServer;
use crate::transport::ServerProcesses;

/// The processes of a run, in the order of their start.
#[derive(Default)]
pub(crate) struct RunningServers(Mutex<Vec<(RunningServer, ServerProcesses)>>);

impl RunningServers {
    /// Adds the process of a server that was just started.
    pub(crate) fn add(&self, name: &str, revision: &'static str, processes: &ServerProcesses) {
        let server = RunningServer { name: name.to_owned(), revision, pid: processes.pid() };
        let mut servers = self.0.lock();
        servers.retain(|(_, processes)| processes.is_running());
        servers.push((server, processes.clone()));
    }

    /// The processes that are alive.
    pub(crate) fn list(&self) -> Vec<RunningServer> {
        let servers = self.0.lock();
        servers.iter().filter(|(_, processes)| processes.is_running()).map(|(server, _)| server.clone()).collect()
    }
}

/// A sentence about the processes of one server among those that are alive; empty if there is none.
pub(crate) fn other_processes(running: &[RunningServer], name: &str) -> String {
    let pids: Vec<String> =
        running.iter().filter(|server| server.name == name).map(|server| server.pid.to_string()).collect();
    match pids.as_slice() {
        [] => String::new(),
        [pid] => format!("1 other process of `{name}` is running (pid {pid})"),
        pids => format!("{} other processes of `{name}` are running (pids {})", pids.len(), pids.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_the_same_server() {
        let server = |name: &str, pid| RunningServer { name: name.to_owned(), revision: "auto", pid };
        let running = [server("x", 4711), server("y", 12), server("y", 13)];
        assert_eq!(other_processes(&running, "x"), "1 other process of `x` is running (pid 4711)");
        assert_eq!(other_processes(&running, "y"), "2 other processes of `y` are running (pids 12, 13)");
        assert_eq!(other_processes(&running, "z"), "");
    }
}
