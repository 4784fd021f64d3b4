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
