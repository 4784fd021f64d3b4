//! Checks that no steps can say; `probe` runs them.

use std::sync::Arc;

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
        /// The tools to call, by name.
        tools: Vec<String>,
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
