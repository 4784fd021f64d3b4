//! One attempt at a kept finding, with fresh servers.

use super::Stored;
use super::replay::{Replayed, Stage, replay};
use crate::event::{Finding, Kind, Reproduction};

/// What came of one attempt.
#[derive(Debug, Clone)]
pub enum Seen {
    /// The same finding.
    Again(Box<Finding>),
    /// Something else.
    Otherwise(Box<Finding>),
    /// Nothing.
    Gone,
    /// No server could be started.
    NoServer(Box<Finding>),
}

impl Seen {
    /// What was found, whatever it is.
    pub fn finding(&self) -> Option<&Finding> {
        match self {
            Self::Again(found) | Self::Otherwise(found) | Self::NoServer(found) => Some(found),
            Self::Gone => None,
        }
    }
}

/// Plays a sequence and says whether it shows what was kept: the same kind at the same tool, with the same signature.
pub async fn again(stored: &Stored, reproduction: &Reproduction, stage: &Stage<'_>) -> Seen {
    match replay(reproduction, stage).await {
        Replayed::Shows(found) if is_same(stored, &found) => Seen::Again(found),
        Replayed::Shows(found) | Replayed::Otherwise(found) => Seen::Otherwise(found),
        Replayed::Gone => Seen::Gone,
        Replayed::NoServer(found) => Seen::NoServer(found),
    }
}

fn is_same(stored: &Stored, found: &Finding) -> bool {
    if stored.kind != Kind::Crash {
        return true;
    }
    let signature = found.signature(stored.kind);
    // A recording may not know how the server ended.
    stored.signature.is_empty() || signature.is_empty() || signature == stored.signature
}
