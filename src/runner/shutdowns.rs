//! The ends of the processes of a target: a server over stdio is expected to end with its input.

use parking_lot::Mutex;
use serde_json::Value;

use crate::event::{Finding, RequirementLevel, Severity};
use crate::session::ClosedSession;
use crate::source::duration_text;
use crate::transport::{Shutdown, ShutdownStep, TransportKind};
use crate::wire::{Direction, Frame};

/// The processes of a target that were asked to end while no request was pending.
#[derive(Default)]
pub(crate) struct ShutdownCounts(Mutex<Counts>);

#[derive(Default, Clone)]
struct Counts {
    /// Those that ended with their input.
    in_time: usize,
    /// Those that needed a signal, and the first of them.
    forced: usize,
    first_forced: Option<Shutdown>,
}

impl ShutdownCounts {
    /// Takes in the end of a session; a server that still owes an answer may be busy with it.
    pub(crate) fn count(&self, shutdown: Option<&Shutdown>, closed: &ClosedSession) {
        let Some(shutdown) = shutdown.filter(|_| closed.transport == TransportKind::Stdio) else { return };
        if shutdown.by != ShutdownStep::EndOfInput && has_unanswered_request(&closed.frames) {
            return;
        }
        self.0.lock().add(shutdown);
    }

    /// The finding about a server of which no process ended with its input.
    pub(crate) fn judge(&self) -> Option<Finding> {
        self.0.lock().judge()
    }
}

impl Counts {
    fn add(&mut self, shutdown: &Shutdown) {
        if shutdown.by == ShutdownStep::EndOfInput {
            self.in_time += 1;
        } else {
            self.forced += 1;
            self.first_forced.get_or_insert_with(|| shutdown.clone());
        }
    }

    /// A process that ended with its input shows that a slow one was only slow.
    fn judge(&self) -> Option<Finding> {
        let forced = self.first_forced.as_ref().filter(|_| self.in_time == 0)?;
        let message =
            format!("the server does not end when its input is closed: {} had to end it", forced.by.subject());
        Some(Finding {
            level: RequirementLevel::Should,
            severity: Some(Severity::Low),
            help: Some(
                "exit when standard input ends, and stop timers and connections that keep the process alive: clients close \
                 the input first, and not every client sends signals, so processes are left behind"
                    .to_owned(),
            ),
            ..Finding::new("no-shutdown", message)
        }
        .with_evidence("forced", format!("{}, and no process ended with its input", processes(self.forced)))
        .with_evidence("ended after", duration_text(forced.took)))
    }
}

fn processes(count: usize) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

/// Returns true if the server did not answer some request.
fn has_unanswered_request(frames: &[Frame]) -> bool {
    let ids = |direction: Direction, is_request: bool| -> Vec<Value> {
        let messages = frames.iter().filter(|frame| frame.direction == direction).filter_map(|frame| frame.json().ok());
        messages
            .filter(|message| message.get("method").is_some() == is_request && !message["id"].is_null())
            .map(|message| message["id"].clone())
            .collect()
    };
    let answered = ids(Direction::Received, false);
    ids(Direction::Sent, true).iter().any(|id| !answered.contains(id))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::check::tests::frames;
    use crate::wire::Channel::Protocol;
    use ShutdownStep::{EndOfInput, Sigkill, Sigterm};

    #[test]
    fn a_server_of_which_no_process_ends_with_its_input_is_warned_of() {
        for (steps, expected) in [
            (&[][..], None),
            (&[EndOfInput, EndOfInput], None),
            (&[Sigterm, Sigterm], Some("SIGTERM")),
            (&[Sigkill], Some(Sigkill.subject())),
            // Slow once.
            (&[Sigterm, EndOfInput], None),
        ] {
            let mut counts = Counts::default();
            for by in steps {
                counts.add(&Shutdown { by: *by, took: Duration::from_millis(1500), left: Vec::new() });
            }
            let found = counts.judge();
            assert!(found.iter().all(|found| found.level == RequirementLevel::Should), "it is no MUST");
            let message = found.map(|found| found.message);
            let expected =
                expected.map(|by| format!("the server does not end when its input is closed: {by} had to end it"));
            assert_eq!(message, expected, "{steps:?}");
        }
    }

    #[test]
    fn a_server_that_owes_an_answer_is_not_judged() {
        let call = (Direction::Sent, Protocol, r#"{"id":1,"method":"tools/call"}"#);
        let answer = (Direction::Received, Protocol, r#"{"id":1,"result":{}}"#);
        let notice = (Direction::Sent, Protocol, r#"{"method":"notifications/initialized"}"#);
        for (lines, expected) in
            [(vec![call, answer, notice], false), (vec![call, notice], true), (vec![notice], false)]
        {
            assert_eq!(has_unanswered_request(&frames(&lines)), expected);
        }
    }
}
