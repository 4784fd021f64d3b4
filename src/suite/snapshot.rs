//! `snapshot:` of a step, typed.

use std::path::PathBuf;
use std::sync::Arc;

use crate::matching::Sample;
use crate::source::{Span, choice};

/// A recorded answer to compare with.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The place of its key.
    pub span: Span,
    /// The recorded part of the answer.
    pub sample: Arc<Sample>,
    /// The name that the suite gives it.
    pub name: Option<String>,
    /// The unit that has recordings of its own.
    pub per: Option<Per>,
    /// The file of the recording. It depends on row, server and revision, so the plan fills it in.
    pub file: PathBuf,
}

choice! {
    /// The unit that has recordings of its own.
    pub enum Per {
        /// Each server.
        Server = "server",
        /// Each revision.
        Revision = "revision",
    }
}
