//! Watches a run and keeps what can be played back.

use super::key::{ExchangeKey, SessionCounter, SessionNumbers};
use super::pairing::pair_frames;
use super::{RecordedCase, RunRecording, TargetRecording};
use crate::event::Event;
use crate::runner::SessionFrames;

/// Somebody who writes down a run.
#[derive(Debug, Default)]
pub struct RunRecorder {
    recording: RunRecording,
    sessions: SessionNumbers,
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
        let mut session_exchanges = pair_frames(session);
        let mut counter = SessionCounter::default();
        for exchange in &mut session_exchanges.exchanges {
            let key = ExchangeKey::of(&exchange.owner, &exchange.sent);
            let number = counter.count(&session.target, &key, &mut self.sessions);
            (exchange.session, exchange.occurrence) = (number.session, number.occurrence);
        }
        let target = self.recording.targets.entry(session.target.clone()).or_insert_with(|| TargetRecording {
            file: session.file.clone(),
            server: session.server.clone(),
            transport: session.transport,
            ..TargetRecording::default()
        });
        if session.has_begun {
            target.revision.clone_from(&session.revision);
            target.transport = session.transport;
        }
        target.exchanges.append(&mut session_exchanges.exchanges);
        target.unplayable.append(&mut session_exchanges.unplayable);
    }

    /// The kept recording.
    pub fn finish(self) -> RunRecording {
        self.recording
    }
}
