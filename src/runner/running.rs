//! The server processes that a run has started and that are alive.

use parking_lot::Mutex;

use crate::plan::RunningServer;
use crate::transport::ServerProcesses;

/// The processes of a run, in the order of their start.
#[derive(Default)]
pub(crate) struct RunningServers(Mutex<Vec<StartedServer>>);

struct StartedServer {
    server: RunningServer,
    processes: ServerProcesses,
    /// The processes of the same server that were alive when this one was started.
    company: Vec<u32>,
}

impl RunningServers {
    /// Adds the process of a server that was just started.
    pub(crate) fn add(&self, name: &str, revision: &'static str, processes: &ServerProcesses) {
        let server = RunningServer { name: name.to_owned(), revision, pid: processes.pid() };
        let mut servers = self.0.lock();
        servers.retain(|started| started.processes.is_running());
        let company = servers.iter().filter(|started| started.server.name == name);
        let company = company.map(|started| started.server.pid).collect();
        servers.push(StartedServer { server, processes: processes.clone(), company });
    }

    /// The processes that are alive.
    pub(crate) fn list(&self) -> Vec<RunningServer> {
        let servers = self.0.lock();
        let alive = servers.iter().filter(|started| started.processes.is_running());
        alive.map(|started| started.server.clone()).collect()
    }

    /// A sentence about the processes of one server that are alive; empty if there is none.
    pub(crate) fn others(&self, name: &str) -> String {
        let alive = self.list().into_iter().filter(|server| server.name == name);
        other_processes(&alive.map(|server| server.pid).collect::<Vec<_>>(), name)
    }

    /// The same about those beside which the last process of the server was started, where there were some: they may have
    /// ended since, and that process may not have ended yet.
    pub(crate) fn others_at_last_start(&self, name: &str) -> String {
        let company = {
            let servers = self.0.lock();
            servers.iter().rfind(|started| started.server.name == name).map(|last| last.company.clone())
        };
        match company.filter(|company| !company.is_empty()) {
            Some(company) => other_processes(&company, name),
            None => self.others(name),
        }
    }
}

fn other_processes(pids: &[u32], name: &str) -> String {
    match pids {
        [] => String::new(),
        [pid] => format!("1 other process of `{name}` is running (pid {pid})"),
        pids => {
            let all: Vec<String> = pids.iter().map(u32::to_string).collect();
            format!("{} other processes of `{name}` are running (pids {})", pids.len(), all.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_the_same_server() {
        for (pids, expected) in [
            (&[4711][..], "1 other process of `x` is running (pid 4711)"),
            (&[12, 13], "2 other processes of `x` are running (pids 12, 13)"),
            (&[], ""),
        ] {
            assert_eq!(other_processes(pids, "x"), expected);
        }
    }
}
