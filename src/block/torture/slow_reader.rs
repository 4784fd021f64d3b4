//! A client that sends many calls and reads nothing until no more answers fit on the way to it, and then reads.
//!
//! A server may stop reading its input meanwhile. Every call must be answered afterwards, once and with its own text; over
//! HTTP, where the client has responses that it does not read, another session must be served meanwhile.

use std::sync::Arc;

use super::burst::{Burst, BurstReading};
use super::clients::Clients;
use super::echoes::{EchoStudy, EchoedArguments};
use super::finding::{describe_tries, pass, result_with};
use super::reproduction::{ReproducedLoad, reproduction};
use super::template::ArgumentTemplate;
use super::unread_posts::UnreadPosts;
use super::{Torture, TortureCheck};
use crate::check::canary::Canaries;
use crate::check::{CheckEnd, CheckLimits, Confirmation, FaultSearch, SeenOnce};
use crate::event::{CheckResult, Finding, Outcome, Reason};
use crate::plan::{BoxFuture, Check, CheckContext};

/// The number of lines this program reads ahead, and how many bytes two pipes hold, at most: so many answers fill them.
const LINES_AHEAD: usize = 600;
const PIPE_BYTES: usize = 128 << 10;

/// The bounds of a burst.
const MOST_CALLS: usize = 4096;
const MOST_BYTES: usize = 4 << 20;

/// Fewer calls than this fill nothing.
const FEWEST_CALLS: usize = 16;

/// The number of tools that are tried.
const MOST_TOOLS: usize = 8;

/// Calls of the first tool whose answers repeat the text of their call.
#[derive(Debug)]
pub(crate) struct SlowReaderCheck {
    pub(crate) settings: Arc<Torture>,
    pub(crate) tools: Vec<String>,
}

impl Check for SlowReaderCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move {
            // One reads slowly, and another one reads at once.
            let settings = Torture { sessions: 2, ..Torture::clone(&self.settings) };
            let limits = settings.limits();
            let trial = SlowReaderTrial { context: &context, settings: &settings, limits };
            trial.run(&self.tools).await
        })
    }
}

struct SlowReaderTrial<'a> {
    context: &'a CheckContext<'a>,
    settings: &'a Torture,
    limits: CheckLimits,
}

/// A fault, and how it shows.
pub(crate) struct SlowReaderFault {
    pub(crate) finding: Finding,
    /// With how many calls.
    pub(crate) calls: usize,
}

/// A tool to call.
struct EchoingTool<'a> {
    tool: &'a str,
    canaries: Canaries,
    learned: EchoedArguments,
}

impl<'a> SlowReaderTrial<'a> {
    async fn run(&self, tools: &[String]) -> CheckResult {
        let clients = match Clients::open(self.context, self.settings).await {
            Ok(clients) => clients,
            Err(end) => return end.into_result(),
        };
        let (result, clients) = match self.learn(&clients, tools).await {
            Ok(Some(mut echo)) if clients.is_stream() => self.judge_stream(clients, &mut echo).await,
            Ok(Some(mut echo)) => (self.judge_posts(&clients, &mut echo).await, Some(clients)),
            Ok(None) => {
                let why = "of the tools that only read none repeats the text of its call, so answers look alike";
                (CheckResult::not_applicable(why.to_owned()), Some(clients))
            }
            Err(halt) => (halt.into_result(), Some(clients)),
        };
        match clients {
            Some(clients) => clients.close(result).await,
            None => result,
        }
    }

    async fn learn<'b>(&self, clients: &Clients<'_>, tools: &'b [String]) -> Result<Option<EchoingTool<'b>>, CheckEnd> {
        for tool in tools.iter().take(MOST_TOOLS) {
            let Some(listed) = self.context.catalog.tool(tool) else { continue };
            let Ok(templates) = ArgumentTemplate::of_tool(listed, self.context) else { continue };
            let canaries = Canaries::of_tool(self.settings.seed, tool);
            let mut study = EchoStudy { tool, clients, canaries };
            if let Some(learned) = study.learn(&templates).await? {
                return Ok(Some(EchoingTool { tool, canaries: study.canaries, learned }));
            }
        }
        Ok(None)
    }

    /// Over a stream: a client that reads at once is the control, and each further try has a server of its own.
    async fn judge_stream(
        &self,
        clients: Clients<'a>,
        echo: &mut EchoingTool<'_>,
    ) -> (CheckResult, Option<Clients<'a>>) {
        let count = calls_to_fill(echo.learned.answer_bytes);
        let control = self.burst(&clients, echo, count, BurstReading::AtOnce).await;
        if let Some(result) = control.and_then(|burst| result_of_control(&burst, echo.tool, count)) {
            return (result, Some(clients));
        }
        clients.end().await;
        let (first, burst) = match self.late(echo, count).await {
            Ok(late) => late,
            Err(end) => return (end.into_result(), None),
        };
        let Some(fault) = first else {
            let text = format!(
                "{} calls, of whose answers none was read until {} waited, all answered afterwards",
                burst.answered, burst.waiting
            );
            return (pass(Reason::Measured(text), Vec::new()), None);
        };
        let mut smallest = fault;
        let mut search = FaultSearch::new(&self.limits, 1, count).down_to(FEWEST_CALLS, 1);
        while let Some(count) = search.next() {
            let late = self.late(echo, count).await;
            let again = late.map(|(again, _)| again.filter(|again| again.finding.code == smallest.finding.code));
            search.note(again.as_ref().map(Option::is_some).map_err(CheckEnd::clone));
            smallest = again.ok().flatten().unwrap_or(smallest);
        }
        let (confirmation, _) = search.finish();
        (self.result(smallest, echo.tool, confirmation, "in a fresh server"), None)
    }

    async fn burst(
        &self,
        clients: &Clients<'_>,
        echo: &mut EchoingTool<'_>,
        count: usize,
        reading: BurstReading,
    ) -> Option<Burst> {
        let calls = clients.calls(echo.tool, &echo.learned.template, &mut echo.canaries, count);
        let patience = self.context.request_timeout.min(self.limits.remaining());
        Burst::send(clients, &calls, reading, patience).await
    }

    /// A burst whose answers are read late, with a fresh server.
    async fn late(
        &self,
        echo: &mut EchoingTool<'_>,
        count: usize,
    ) -> Result<(Option<SlowReaderFault>, Burst), CheckEnd> {
        let clients = Clients::single(self.context, self.limits.clone()).await?;
        let burst = self.burst(&clients, echo, count, BurstReading::Late).await.unwrap_or_default();
        let is_late = self.limits.is_over() && burst.unanswered > 0;
        let fault = stream_fault(&burst, echo.tool, count);
        clients.end().await;
        if is_late {
            return Err(self.limits.out_of_time());
        }
        Ok((fault, burst))
    }

    /// Over HTTP: responses that are not read, twice.
    async fn judge_posts(&self, clients: &Clients<'_>, echo: &mut EchoingTool<'_>) -> CheckResult {
        let mut posts = UnreadPosts {
            clients,
            tool: echo.tool,
            template: &echo.learned.template,
            canaries: &mut echo.canaries,
            patience: self.context.request_timeout,
        };
        let first = match posts.round().await {
            Ok(round) => round,
            Err(halt) => return halt.into_result(),
        };
        let Some(fault) = first.fault else {
            let text = format!(
                "another session was served while {} responses of {} bytes were not read; all were whole afterwards",
                first.responses, first.bytes
            );
            return pass(Reason::Measured(text), Vec::new());
        };
        let again = posts.round().await.map(|round| round.fault);
        let shows = again.map(|again| again.is_some_and(|again| again.finding.code == fault.finding.code));
        self.result(fault, echo.tool, Confirmation::of_try(shows), "with other responses")
    }

    fn result(&self, fault: SlowReaderFault, tool: &str, confirmation: Confirmation, place: &str) -> CheckResult {
        let mut found = fault.finding.with_evidence("seed", self.settings.seed.to_string());
        let load = ReproducedLoad::of_its_own(fault.calls);
        let code = found.code.clone();
        let check = TortureCheck::SlowReader;
        let replay = reproduction(self.context, self.settings, Some(tool), code, check, load);
        found.reproduction = Some(Box::new(replay));
        let place = describe_tries(place, &confirmation, &format!("{} calls are", fault.calls));
        result_with(confirmation.conclude(found, &place, SeenOnce::Warns), Vec::new())
    }
}

/// The number of calls whose answers, of so many bytes each, fill what lies between server and client.
fn calls_to_fill(answer_bytes: usize) -> usize {
    let bytes = answer_bytes.max(1);
    (LINES_AHEAD + PIPE_BYTES / bytes).min(MOST_BYTES / bytes).clamp(FEWEST_CALLS, MOST_CALLS)
}

/// The result where a client that reads at once sees a fault already, so that nothing follows about one that reads late; a
/// server that ends is at fault anyhow.
fn result_of_control(burst: &Burst, tool: &str, calls: usize) -> Option<CheckResult> {
    let fault = stream_fault(burst, tool, calls)?;
    let why = format!(
        "not even a client that reads at once gets its answers to {calls} calls of `{tool}` that are sent without waiting: {}",
        fault.finding.message
    );
    Some(match burst.crash() {
        Some(found) => CheckResult::with_findings(Outcome::Failed, vec![found]),
        None => CheckResult::inconclusive(why),
    })
}

/// The finding about the answers to a burst.
fn stream_fault(burst: &Burst, tool: &str, calls: usize) -> Option<SlowReaderFault> {
    let missing = || {
        let message = format!("`{tool}` leaves calls without an answer when a client reads its answers late");
        let help =
            "wait until the output takes an answer; drop none when it is full, and give up no connection that is slow";
        let found = Finding::new("answer-missing", message)
            .with_evidence(
                "unanswered",
                format!("{} of {calls} calls; {} answers waited when reading began", burst.unanswered, burst.waiting),
            )
            .with_evidence("control", "as many calls are all answered when the client reads at once");
        Finding { help: Some(help.to_owned()), ..found }
    };
    let finding = burst.crash().or_else(|| burst.bad_answer()).or_else(|| (burst.unanswered > 0).then(missing))?;
    Some(SlowReaderFault { finding, calls })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::failure_of_test;
    use crate::session::FailureReason;
    use crate::transport::ServerExit;

    #[test]
    fn a_burst_is_as_long_as_its_answers_are_short() {
        for (bytes, expected) in [
            (0, MOST_CALLS),
            (1, MOST_CALLS),
            (200, LINES_AHEAD + 655),
            (64 << 10, 64),
            (MOST_BYTES, FEWEST_CALLS),
            (usize::MAX, FEWEST_CALLS),
        ] {
            assert_eq!(calls_to_fill(bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn an_answer_that_never_comes_is_missing_and_an_exit_explains_more() {
        let exit = || Some(failure_of_test(FailureReason::Exited(ServerExit::Status(3))));
        for (unanswered, end, expected) in [
            (0, None, None),
            (1, None, Some("answer-missing")),
            (600, None, Some("answer-missing")),
            (600, exit(), Some("process-exited")),
            (0, exit(), Some("process-exited")),
        ] {
            let burst = Burst::of_test(unanswered, end);
            let fault = stream_fault(&burst, "echo", 600);
            assert_eq!(fault.as_ref().map(|fault| fault.finding.code.as_str()), expected, "{unanswered}");
            assert!(fault.is_none_or(|fault| fault.calls == 600));
        }
    }

    #[test]
    fn a_late_reader_is_judged_only_where_one_that_reads_at_once_gets_everything() {
        let exit = |exit: ServerExit| Some(failure_of_test(FailureReason::Exited(exit)));
        let torn = || Some(failure_of_test(FailureReason::Protocol("torn".to_owned())));
        for (what, unanswered, end, expected) in [
            ("all answers", 0, None, None),
            ("all but one", 1, None, Some((Outcome::Inconclusive, None))),
            ("none", 600, None, Some((Outcome::Inconclusive, None))),
            ("a crash", 600, exit(ServerExit::Signal(11)), Some((Outcome::Failed, Some("process-exited")))),
            (
                "an exit after all answers",
                0,
                exit(ServerExit::Status(0)),
                Some((Outcome::Failed, Some("process-exited"))),
            ),
            ("a torn line", 3, torn(), Some((Outcome::Failed, Some("protocol-error")))),
        ] {
            let result = result_of_control(&Burst::of_test(unanswered, end), "echo", 600);
            let seen = result
                .as_ref()
                .map(|result| (result.outcome, result.findings.first().map(|found| found.code.as_str())));
            assert_eq!(seen, expected, "{what}");
        }
    }
}
