//! Checks that no steps can say; `probe` runs them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::drift::{Recorded, Subject};
use crate::lint::{Level, Lint};
use crate::suite::{Differential, Fuzz, SchemaLint};

/// One such check, with everything that it needs to know of the suite.
#[derive(Debug, Clone)]
pub enum Probe {
    /// Calls tools with generated arguments.
    Fuzz {
        /// What the block says.
        settings: Arc<Fuzz>,
        /// The tools to call, by name: the first is what it is about, the others are called in between.
        tools: Vec<String>,
        /// Shared by all cases of the block.
        hazards: Arc<Hazards>,
    },
    /// Looks for one thing in the tools as they are listed.
    Lint {
        /// What to look for.
        lint: &'static Lint,
        /// How much is thought of it.
        level: Level,
        /// What the block says.
        settings: Arc<SchemaLint>,
    },
    /// Compares a part of the server with a recorded one.
    Drift {
        /// What the block says.
        settings: Arc<Differential>,
        /// The recorded server.
        recorded: Arc<Recorded>,
        /// Which part.
        subject: Subject,
    },
}

/// Tools at whose calls a server ended or fell silent: none but their own cases call them any more.
#[derive(Debug, Default)]
pub struct Hazards(Mutex<BTreeSet<String>>);

impl Hazards {
    /// Takes note of a tool.
    pub fn add(&self, tool: &str) {
        self.lock().insert(tool.to_owned());
    }

    /// Whether a tool is one of them.
    pub fn has(&self, tool: &str) -> bool {
        self.lock().contains(tool)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Probe {
    /// Whether it says anything to the server; otherwise it looks at what the server offers.
    pub fn speaks(&self) -> bool {
        match self {
            Self::Fuzz { .. } => true,
            Self::Lint { .. } => false,
            Self::Drift { subject, .. } => matches!(subject, Subject::Answers(_)),
        }
    }
}
