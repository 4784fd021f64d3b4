//! The server is told to end, idle and during a slow call: by the end of its input, and by SIGTERM.

use std::time::Duration;

use super::finding::CallEvidence;
use super::slow_call::SlowCall;
use super::{SlowCallAspect, TimeoutSettings};
use crate::check::CheckSession;
use crate::event::{CheckResult, Finding, Outcome, Severity};
use crate::plan::CloseServer;
use crate::source::duration_text;
use crate::transport::{FirstSignal, Shutdown, ShutdownOrder, ShutdownStep, TransportKind};

/// When the server is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShutdownMoment {
    Idle,
    DuringCall,
}

/// A way to end the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShutdownScene {
    first: FirstSignal,
    moment: ShutdownMoment,
}

impl ShutdownScene {
    /// The order that the server gets, as a part of a sentence.
    fn text(self) -> &'static str {
        match (self.first, self.moment) {
            (FirstSignal::EndOfInput, ShutdownMoment::Idle) => "the end of its input",
            (FirstSignal::EndOfInput, ShutdownMoment::DuringCall) => "the end of its input during a call",
            (FirstSignal::Sigterm, ShutdownMoment::Idle) => "SIGTERM",
            (FirstSignal::Sigterm, ShutdownMoment::DuringCall) => "SIGTERM during a call",
        }
    }

    /// The step that ends a server that does as it is told.
    fn expected_step(self) -> ShutdownStep {
        match self.first {
            FirstSignal::EndOfInput => ShutdownStep::EndOfInput,
            FirstSignal::Sigterm => ShutdownStep::Sigterm,
        }
    }
}

/// Ends the server of a session, and then others, in every way.
pub(crate) async fn shut_down(
    client: CheckSession<'_>,
    settings: &TimeoutSettings,
    slow: Option<&SlowCall>,
) -> CheckResult {
    let context = client.context;
    let protocol_revision = client.session().server.revision.to_string();
    let signals: &[FirstSignal] = match client.session().server.transport {
        TransportKind::Stdio => &[FirstSignal::EndOfInput, FirstSignal::Sigterm],
        TransportKind::Http | TransportKind::Sse | TransportKind::Memory => &[FirstSignal::Sigterm],
    };
    let moments: &[ShutdownMoment] = match slow {
        Some(_) => &[ShutdownMoment::Idle, ShutdownMoment::DuringCall],
        None => &[ShutdownMoment::Idle],
    };
    let mut scenes = Vec::new();
    for first in signals.iter().filter(|first| first.exists()) {
        scenes.extend(moments.iter().map(|moment| ShutdownScene { first: *first, moment: *moment }));
    }
    if scenes.is_empty() {
        let result =
            CheckResult::inconclusive("this system has no SIGTERM, and the server has no input that could end");
        return client.close_with(result).await;
    }
    let mut next = Some(client);
    let mut seen = Vec::new();
    let mut problem = None;
    for scene in scenes {
        let client = match next.take() {
            Some(client) => client,
            None => match CheckSession::open(context, settings.limits()).await {
                Ok(client) => client,
                Err(end) => return CheckResult { protocol_revision, ..end.into_result() },
            },
        };
        match end(client, scene, slow, settings.grace).await {
            Ok(ended) => seen.push(ended),
            Err(result) => {
                problem = Some(result);
                break;
            }
        }
    }
    let judged = judge(settings, slow.map(|slow| slow.time), &seen);
    match problem {
        Some(problem) if judged.findings.is_empty() => CheckResult { protocol_revision, ..problem },
        Some(_) | None => CheckResult { protocol_revision, ..judged },
    }
}

/// A server that was told to end.
struct EndedServer {
    scene: ShutdownScene,
    shutdown: Shutdown,
    /// The last message before, or the call that was under way.
    last_frame: Option<u32>,
}

impl EndedServer {
    /// It ended as it was told, and needed no more.
    fn is_in_time(&self) -> bool {
        self.shutdown.by <= self.scene.expected_step()
    }
}

/// Ends the server of a client; `Err` where it had ended before.
async fn end(
    client: CheckSession<'_>,
    scene: ShutdownScene,
    slow: Option<&SlowCall>,
    grace: Duration,
) -> Result<EndedServer, CheckResult> {
    let order = ShutdownOrder { first: scene.first, grace };
    let servers = client.context.servers;
    // In a replay there is no process, and nothing that ended either.
    let mut was_open = client.session().is_open();
    let mut last_frame = client.session().frames().last().map(|frame| frame.seq);
    let shutdown = match slow.filter(|_| scene.moment == ShutdownMoment::DuringCall) {
        None => servers.close(client.session(), CloseServer::Shutdown(order)).await.shutdown,
        Some(slow) => {
            let limit = slow.time * 4 + grace;
            let mut calling = Box::pin(client.request(slow.request().within(limit)));
            let is_answered = tokio::select! {
                _ = &mut calling => true,
                () = client.wait(slow.time / 4) => false,
            };
            if is_answered && client.session().is_open() {
                let result =
                    CheckResult::inconclusive(format!("`{}` answered before the server was told to end", slow.tool));
                drop(calling);
                return Err(client.close_with(result).await);
            }
            last_frame = client.session().frames().last().map(|frame| frame.seq);
            was_open = client.session().is_open();
            // The call stays under way: whoever drops it cancels it.
            let shutdown = tokio::select! {
                closed = servers.close(client.session(), CloseServer::Shutdown(order)) => closed.shutdown,
                () = async { let _ = calling.await; std::future::pending::<()>().await } => None,
            };
            shutdown
        }
    };
    shutdown.map(|shutdown| EndedServer { scene, shutdown, last_frame }).ok_or_else(|| {
        if was_open {
            return CheckResult::inconclusive("there is no process that could be told to end");
        }
        let message = format!("the server ended by itself before {}", scene.text());
        CheckResult::with_findings(Outcome::Failed, vec![Finding::new("process-exited", message)])
    })
}

/// `slow_time` is the time of the call during which the server was told to end; `None` where there was none.
fn judge(settings: &TimeoutSettings, slow_time: Option<Duration>, seen: &[EndedServer]) -> CheckResult {
    let mut evidence = CallEvidence::new();
    let found = |code: &'static str, message: String, help: &str| Finding {
        level: settings.level(SlowCallAspect::Shutdown),
        severity: Some(Severity::Medium),
        help: Some(help.to_owned()),
        ..Finding::new(code, message)
    };
    let grace = duration_text(settings.grace);
    evidence.saw(seen.iter().filter_map(|ended| ended.last_frame));
    let late: Vec<&EndedServer> = seen.iter().filter(|ended| !ended.is_in_time()).collect();
    if let Some(first) = late.first() {
        let message = format!("the server still runs {grace} after {}", first.scene.text());
        let help = "end the process when its input ends or SIGTERM comes, whatever it is doing; raise `grace` if it may \
                    take longer";
        let ended = |EndedServer { scene, shutdown, .. }: &&EndedServer| {
            let (by, took) = (shutdown.by.subject(), duration_text(shutdown.took));
            format!("after {}: {by} ended it, {took} later", scene.text())
        };
        let found = found("no-shutdown", message, help);
        let found = found.with_evidence("forced", late.iter().map(ended).collect::<Vec<_>>().join("\n"));
        evidence.find(found.with_evidence("in time", in_time(seen)));
    }
    let left = seen.iter().filter(|ended| !ended.shutdown.left.is_empty());
    let left: Vec<String> = left
        .map(|EndedServer { scene, shutdown, .. }| {
            let names: Vec<String> = shutdown.left.iter().map(|name| format!("`{name}`")).collect();
            format!("after {}: {}", scene.text(), names.join(", "))
        })
        .collect();
    if !left.is_empty() {
        let message = format!("processes of the server still run {grace} after its exit");
        let help = "end the processes that the server starts before it exits";
        evidence.find(found("orphans", message, help).with_evidence("running", left.join("\n")));
    }
    let waited = slow_time.and_then(|slow_time| waited_text(seen, slow_time, settings.grace));
    let result = evidence.result(match (slow_time, &waited) {
        (None, _) => format!("{}; no slow call was found, so only the idle server was ended", in_time(seen)),
        (Some(_), None) => in_time(seen),
        (Some(_), Some(waited)) => format!("{}; {waited}", in_time(seen)),
    });
    let is_unproven =
        settings.required.contains(&SlowCallAspect::Shutdown) && (slow_time.is_none() || waited.is_some());
    if result.outcome == Outcome::Passed && is_unproven {
        return CheckResult { outcome: Outcome::Inconclusive, ..result };
    }
    result
}

/// Says that the server may have waited for its call, which did not take longer than `grace`.
fn waited_text(seen: &[EndedServer], slow_time: Duration, grace: Duration) -> Option<String> {
    // The call had run for a quarter of its time.
    let left = slow_time * 3 / 4;
    let waits =
        |ended: &&EndedServer| ended.scene.moment == ShutdownMoment::DuringCall && ended.shutdown.took > left / 2;
    (left <= grace && seen.iter().any(|ended| waits(&ended))).then(|| {
        format!(
            "it may have waited for the call, which takes {}; to see what a longer one does, name one that takes more than \
             `grace` ({}) under `slow_tool`, or lower `grace`",
            duration_text(slow_time),
            duration_text(grace)
        )
    })
}

/// The ways in which it ended as it was told, with the times.
fn in_time(seen: &[EndedServer]) -> String {
    let good = seen.iter().filter(|ended| ended.is_in_time());
    let text = |ended: &EndedServer| format!("{} after {}", duration_text(ended.shutdown.took), ended.scene.text());
    let texts: Vec<String> = good.map(text).collect();
    if texts.is_empty() { String::new() } else { format!("ended {}", texts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FirstSignal::{EndOfInput, Sigterm};
    use ShutdownMoment::{DuringCall, Idle};

    const SLOW_TIME: Option<Duration> = Some(Duration::from_secs(2));

    fn ended(first: FirstSignal, moment: ShutdownMoment, by: ShutdownStep, left: &[&str]) -> EndedServer {
        let left = left.iter().map(|name| (*name).to_owned()).collect();
        let shutdown = Shutdown { by, took: Duration::from_millis(40), left };
        EndedServer { scene: ShutdownScene { first, moment }, shutdown, last_frame: Some(4) }
    }

    #[test]
    fn a_server_ends_by_the_step_that_it_was_told_by() {
        for (first, by, expected) in [
            (EndOfInput, ShutdownStep::EndOfInput, true),
            (EndOfInput, ShutdownStep::Sigterm, false),
            (EndOfInput, ShutdownStep::Sigkill, false),
            (Sigterm, ShutdownStep::Sigterm, true),
            (Sigterm, ShutdownStep::Sigkill, false),
            // It ended on its own account when its input did.
            (Sigterm, ShutdownStep::EndOfInput, true),
        ] {
            assert_eq!(ended(first, Idle, by, &[]).is_in_time(), expected, "{first:?} {by:?}");
        }
    }

    #[test]
    fn what_has_to_be_forced_is_found_and_so_are_processes_that_are_left() {
        let idle = |by, left: &[&str]| ended(EndOfInput, Idle, by, left);
        for (seen, expected) in [
            (vec![], &[][..]),
            (vec![idle(ShutdownStep::EndOfInput, &[])], &[]),
            (vec![idle(ShutdownStep::Sigterm, &[])], &["no-shutdown"]),
            (vec![idle(ShutdownStep::EndOfInput, &["worker"])], &["orphans"]),
            (vec![idle(ShutdownStep::Sigkill, &["worker"])], &["no-shutdown", "orphans"]),
            (
                vec![idle(ShutdownStep::EndOfInput, &[]), ended(Sigterm, DuringCall, ShutdownStep::Sigkill, &[])],
                &["no-shutdown"],
            ),
        ] {
            for (settings, outcome) in [("required: [shutdown]", Outcome::Failed), ("grace: 5s", Outcome::Warned)] {
                let result = judge(&TimeoutSettings::of_test(settings), SLOW_TIME, &seen);
                let codes: Vec<&str> = result.findings.iter().map(|found| found.code.as_str()).collect();
                assert_eq!(codes, expected);
                assert_eq!(result.outcome, if expected.is_empty() { Outcome::Passed } else { outcome });
            }
        }
    }

    #[test]
    fn a_finding_says_after_what_the_server_still_runs() {
        let seen = [
            ended(EndOfInput, Idle, ShutdownStep::EndOfInput, &[]),
            ended(Sigterm, DuringCall, ShutdownStep::Sigkill, &[]),
        ];
        let result = judge(&TimeoutSettings::of_test("grace: 5s"), SLOW_TIME, &seen);
        assert_eq!(result.findings[0].message, "the server still runs 5 s after SIGTERM during a call");
        let evidence = [
            (
                "forced".to_owned(),
                format!("after SIGTERM during a call: {} ended it, 40 ms later", ShutdownStep::Sigkill.subject()),
            ),
            ("in time".to_owned(), "ended 40 ms after the end of its input".to_owned()),
        ];
        assert_eq!(result.findings[0].evidence, evidence);
    }

    #[test]
    fn a_pass_says_what_was_not_tried() {
        let idle = || ended(EndOfInput, Idle, ShutdownStep::EndOfInput, &[]);
        let during = |millis| {
            let during = ended(EndOfInput, DuringCall, ShutdownStep::EndOfInput, &[]);
            EndedServer { shutdown: Shutdown { took: Duration::from_millis(millis), ..during.shutdown }, ..during }
        };
        let (passed, unclear) = (Outcome::Passed, Outcome::Inconclusive);
        for (settings, slow_time, seen, outcome, says) in [
            ("grace: 5s", SLOW_TIME, vec![idle()], passed, "ended 40 ms after the end of its input"),
            ("grace: 5s", None, vec![idle()], passed, "; no slow call was found, so only the idle server was ended"),
            ("required: [shutdown]", None, vec![idle()], unclear, "only the idle server was ended"),
            ("grace: 5s", SLOW_TIME, vec![idle(), during(1_400)], passed, "under `slow_tool`, or lower `grace`"),
            ("required: [shutdown]", SLOW_TIME, vec![during(1_400)], unclear, "under `slow_tool`, or lower `grace`"),
            (
                "required: [shutdown]",
                SLOW_TIME,
                vec![during(30)],
                passed,
                "ended 30 ms after the end of its input during a call",
            ),
            ("{ required: [shutdown], grace: 1s }", SLOW_TIME, vec![during(900)], passed, "during a call"),
        ] {
            let result = judge(&TimeoutSettings::of_test(settings), slow_time, &seen);
            let note = result.reason.map(|reason| reason.to_string()).unwrap_or_default();
            assert!(result.outcome == outcome && note.ends_with(says), "{settings}: {:?} {note}", result.outcome);
        }
    }
}
