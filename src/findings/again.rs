//! One attempt at a kept finding, with fresh servers.

use super::Stored;
use super::replay::{ReplayOutcome, ReplayStage, replay};
use crate::event::{Finding, FindingKind, Reproduction};

/// What came of one attempt.
#[derive(Debug, Clone)]
pub enum ReplayResult {
    /// The same finding.
    Again(Box<Finding>),
    /// Something else.
    Otherwise(Box<Finding>),
    /// Nothing.
    Gone,
    /// No server could be started.
    NoServer(Box<Finding>),
}

impl ReplayResult {
    /// What was found, whatever it is.
    pub fn finding(&self) -> Option<&Finding> {
        match self {
            Self::Again(found) | Self::Otherwise(found) | Self::NoServer(found) => Some(found),
            Self::Gone => None,
        }
    }
}

/// Plays a sequence and says whether it shows what was kept: the same kind at the same tool, with the same signature.
pub async fn again(stored: &Stored, reproduction: &Reproduction, stage: &ReplayStage<'_>) -> ReplayResult {
    match replay(reproduction, stage).await {
        ReplayOutcome::Shows(found) if is_same(stored, &found) => ReplayResult::Again(found),
        ReplayOutcome::Shows(found) | ReplayOutcome::Otherwise(found) => ReplayResult::Otherwise(found),
        ReplayOutcome::Gone => ReplayResult::Gone,
        ReplayOutcome::NoServer(found) => ReplayResult::NoServer(found),
    }
}

fn is_same(stored: &Stored, found: &Finding) -> bool {
    if stored.kind != FindingKind::Crash {
        return true;
    }
    let signature = found.signature(stored.kind);
    // A recording may not know how the server ended.
    stored.signature.is_empty() || signature.is_empty() || signature == stored.signature
}
