//! Watches a run and keeps what can be played back.

use std::collections::BTreeMap;

use super::key::{ExchangeKey, RequestKey};
use super::pairing::dialogue;
use super::{RecordedCase, RunRecording, TargetRecording};
use crate::event::Event;
use crate::runner::SessionFrames;

/// Somebody who writes down a run.
#[derive(Debug, Default)]
pub struct RunRecorder {
    recording: RunRecording,
    /// How many sessions of a lane each owner has spoken in.
    sessions: BTreeMap<(String, String), u32>,
}

impl RunRecorder {
    /// Keeps how cases ended.
    pub fn event(&mut self, event: &Event) {
        if let Event::CaseFinished(result) = event {
            self.recording.cases.push(RecordedCase {
                id: result.case.id.clone(),
                outcome: result.outcome,
                attempts: result.earlier.len() + result.repetitions.len().max(1),
            });
        }
    }

    /// Keeps what travelled, secrets included: see [`RunRecording::without_secrets`].
    pub fn session(&mut self, session: &SessionFrames) {
        let mut told = dialogue(session);
        let mut here: BTreeMap<String, u32> = BTreeMap::new();
        let mut asked: BTreeMap<ExchangeKey, u32> = BTreeMap::new();
        for exchange in &mut told.exchanges {
            let sessions = &mut self.sessions;
            let ordinal = *here.entry(exchange.owner.clone()).or_insert_with(|| {
                let next = sessions.entry((session.lane.clone(), exchange.owner.clone())).or_default();
                *next += 1;
                *next - 1
            });
            exchange.session = ordinal;
            let key = ExchangeKey { owner: exchange.owner.clone(), request: RequestKey::of(&exchange.sent) };
            let occurrence = asked.entry(key).or_default();
            exchange.occurrence = *occurrence;
            *occurrence += 1;
        }
        let lane = self.recording.lanes.entry(session.lane.clone()).or_insert_with(|| TargetRecording {
            file: session.file.clone(),
            server: session.server.clone(),
            transport: session.transport,
            ..TargetRecording::default()
        });
        if session.has_begun {
            lane.revision.clone_from(&session.revision);
            lane.transport = session.transport;
        }
        lane.exchanges.append(&mut told.exchanges);
        lane.unplayable.append(&mut told.unplayable);
    }

    /// What was kept.
    pub fn finish(self) -> RunRecording {
        self.recording
    }
}
