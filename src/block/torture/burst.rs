//! Many calls that are sent over a stream at once, whatever becomes of their answers.

use std::time::Duration;

use tokio::time::timeout;

use super::clients::{Clients, NumberedCalls};
use super::finding::{swapped_expectation, swapped_message};
use crate::diagnosis::of_violation;
use crate::event::Finding;
use crate::session::{CallFailure, FailureReason, Pipeline, PipelineEvent, ReceivedLine};
use crate::transport::ServerExit;
use crate::wire::is_served;

/// The time between two looks at the lines that have come.
const POLLING: Duration = Duration::from_millis(200);

/// SIGHUP, SIGINT, SIGKILL, SIGPIPE and SIGTERM, with which servers and their wrappers end themselves, too.
const ASKED_TO_END: [i32; 5] = [1, 2, 9, 13, 15];

/// When a client reads the answers to its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BurstReading {
    /// As they come.
    AtOnce,
    /// Once no more of them fit into what lies between server and client.
    Late,
    /// As they come, after the end of the server's input.
    AfterEnd,
}

/// The answers to many calls.
#[derive(Debug, Default)]
pub(crate) struct Burst {
    /// The number of calls that were answered, and of those that were not.
    pub(crate) answered: usize,
    pub(crate) unanswered: usize,
    /// The number of lines that waited when reading began.
    pub(crate) waiting: usize,
    /// An answer with the text of another call, of which there may be more.
    swapped: Option<Finding>,
    /// Lines that broke the protocol: second answers, answers that are torn.
    broken: Option<Finding>,
    /// Why no more answers can come.
    pub(crate) end: Option<CallFailure>,
}

impl Burst {
    /// A burst with calls without an answer, and the end of the server.
    #[cfg(test)]
    pub(crate) fn of_test(unanswered: usize, end: Option<CallFailure>) -> Self {
        Self { unanswered, end, ..Self::default() }
    }

    /// Sends the calls in the first session, and reads until all are answered, nothing has come for so long, or nothing can
    /// come; `None` over HTTP.
    pub(crate) async fn send(
        clients: &Clients<'_>,
        calls: &NumberedCalls,
        reading: BurstReading,
        patience: Duration,
    ) -> Option<Self> {
        let (session, owner) = clients.first();
        let mut pipeline = session.pipeline(owner).await?;
        let prepared = session.prepare_call(&calls.tool);
        let mut burst = Self::default();
        // The last one follows when the others are answered: behind its answer, no second answer to them is on the way.
        let (all, last) = match calls.calls.split_last() {
            Some((last, all)) if reading != BurstReading::AfterEnd => (all, Some(last)),
            Some(_) | None => (&calls.calls[..], None),
        };
        for call in all {
            pipeline.call(call.number, &prepared, calls.arguments(*call).to_string().as_bytes());
        }
        pipeline.flush();
        match reading {
            BurstReading::AtOnce => {}
            BurstReading::Late => burst.waiting = wait_until_full(&pipeline, clients).await,
            BurstReading::AfterEnd => pipeline.end_input(),
        }
        burst.read(&mut pipeline, calls, reading, patience).await;
        if let Some(last) = last.filter(|_| burst.unanswered == 0 && burst.end.is_none()) {
            pipeline.call(last.number, &prepared, calls.arguments(*last).to_string().as_bytes());
            pipeline.flush();
            burst.read(&mut pipeline, calls, reading, patience).await;
        }
        Some(burst)
    }

    async fn read(
        &mut self,
        pipeline: &mut Pipeline<'_>,
        calls: &NumberedCalls,
        reading: BurstReading,
        patience: Duration,
    ) {
        while pipeline.pending() > 0 || reading == BurstReading::AfterEnd {
            match timeout(patience, pipeline.next_event()).await {
                Ok(PipelineEvent::Answer { tag, message, line }) => {
                    self.answered += 1;
                    self.note_violations(&line);
                    let text = message.as_ref().filter(|message| is_served(message)).map(ToString::to_string);
                    self.note_swapped(tag, text.as_deref().unwrap_or_default(), calls, line.frame);
                }
                Ok(PipelineEvent::Violations(line)) => self.note_violations(&line),
                Ok(PipelineEvent::Over) => {
                    self.end = Some(pipeline.failure());
                    break;
                }
                Err(_) => break,
            }
        }
        self.unanswered += pipeline.give_up().len();
    }

    fn note_violations(&mut self, line: &ReceivedLine) {
        if let Some(violation) = line.violations.first() {
            self.broken.get_or_insert_with(|| of_violation(violation, &String::from_utf8_lossy(&line.line)));
        }
    }

    fn note_swapped(&mut self, number: u64, text: &str, calls: &NumberedCalls, frame: u32) {
        let canaries = &calls.canaries;
        let Some(foreign) = canaries.foreign_in(text, number) else { return };
        self.swapped.get_or_insert_with(|| Finding {
            frame: Some(frame),
            ..Finding::new("swapped-answer", swapped_message(&calls.tool))
                .with_evidence("expected", swapped_expectation(&canaries.of(number), &canaries.of(foreign)))
        });
    }

    /// The end of the server.
    pub(crate) fn crash(&self) -> Option<Finding> {
        self.end.as_ref().map(Finding::from)
    }

    /// It was ended by a signal as faults of its own bring, or by a panic in this process.
    pub(crate) fn has_fault(&self) -> bool {
        let reason = self.end.as_ref().map(|end| &end.reason);
        match reason {
            Some(FailureReason::Exited(ServerExit::Signal(signal))) => !ASKED_TO_END.contains(signal),
            Some(FailureReason::Exited(exit)) => *exit == ServerExit::Panicked,
            Some(_) | None => false,
        }
    }

    /// An answer that is not as it must be.
    pub(crate) fn bad_answer(&self) -> Option<Finding> {
        self.swapped.clone().or_else(|| self.broken.clone())
    }
}

/// Waits until no more lines come; says how many wait.
async fn wait_until_full(pipeline: &Pipeline<'_>, clients: &Clients<'_>) -> usize {
    let mut waiting = 0;
    loop {
        clients.wait(POLLING).await;
        let now = pipeline.unread();
        if now == waiting && now > 0 || clients.limits().is_over() {
            return now;
        }
        waiting = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::canary::Canaries;
    use crate::check::failure_of_test;

    #[test]
    fn an_answer_with_another_text_alone_is_swapped() {
        let calls = NumberedCalls::of_test("echo", Canaries::of_seed(7));
        let [own, other] = [3, 4].map(|number| calls.canaries.of(number));
        for (text, expected) in [
            (other.clone(), Some("swapped-answer")),
            (own.clone(), None),
            (format!("{other} {own}"), None),
            (String::new(), None),
        ] {
            let mut burst = Burst::default();
            burst.note_swapped(3, &text, &calls, 9);
            let found = burst.bad_answer();
            assert_eq!(found.as_ref().map(|found| found.code.as_str()), expected, "{text}");
            assert!(found.is_none_or(|found| found.frame == Some(9)));
        }
    }

    #[test]
    fn an_exit_is_a_crash_of_which_a_signal_is_certain() {
        let exit = |exit: ServerExit| Some(failure_of_test(FailureReason::Exited(exit)));
        for (end, is_crash, has_fault) in [
            (exit(ServerExit::Signal(11)), true, true),
            (exit(ServerExit::Signal(6)), true, true),
            (exit(ServerExit::Signal(15)), true, false),
            (exit(ServerExit::Panicked), true, true),
            (exit(ServerExit::Returned), true, false),
            (exit(ServerExit::Unknown), true, false),
            (Some(failure_of_test(FailureReason::Protocol("torn".to_owned()))), true, false),
            (None, false, false),
        ] {
            let burst = Burst::of_test(0, end);
            assert_eq!((burst.crash().is_some(), burst.has_fault()), (is_crash, has_fault), "{:?}", burst.end);
        }
    }
}
