//! Tools that made a server end or fall silent.

use std::collections::BTreeSet;

use parking_lot::Mutex;

/// Tools at whose calls a server ended or fell silent: none but their own cases call them any more.
#[derive(Debug, Default)]
pub(crate) struct CrashingTools(Mutex<BTreeSet<String>>);

impl CrashingTools {
    /// Takes note of a tool.
    pub(crate) fn add(&self, tool: &str) {
        self.0.lock().insert(tool.to_owned());
    }

    /// A tool is one of them.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.0.lock().contains(tool)
    }
}
