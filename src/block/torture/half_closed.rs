//! Clients whose half of the connection ends while the server still has something to do or to say.
//!
//! Over a stream the input ends right behind many calls: the server may answer them or end, but neither crash nor tear an
//! answer. Over HTTP a request may be whole, and the server must go on; or it ends in the middle of its body, and must not be
//! carried out.

use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;

use super::burst::{Burst, BurstReading};
use super::clients::{Clients, ToolRequest};
use super::finding::{pass, result_with};
use super::reads::Read;
use super::reproduction::{ReproducedLoad, reproduction};
use super::template::ArgumentTemplate;
use super::writes::{SETTLING, WriteStudy, WritingArguments};
use super::{Torture, TortureCheck};
use crate::check::canary::Canaries;
use crate::check::evidence::finding_with_help;
use crate::check::{CheckEnd, CheckLimits, Confirmation, FaultSearch, SeenOnce};
use crate::event::{CheckResult, Finding, Reason};
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::transport::http::{AfterRequest, ReadUntil};

/// The number of calls under way when the input ends.
const CALLS: usize = 32;

/// The number of times that so many calls are tried before more are needed: a crash may take a coincidence.
const TRIES: usize = 3;

/// The number of bytes of a body that are promised and never come.
const MISSING_BYTES: usize = 64;

/// The words with which a crash is explained on standard error, whatever the exit status is.
const CRASHES: [&str; 3] = ["panicked at", "panic: ", "Fatal Python error"];

/// Calls of tools in connections that end.
#[derive(Debug)]
pub(crate) struct HalfClosedCheck {
    pub(crate) settings: Arc<Torture>,
    pub(crate) reading: Vec<String>,
    pub(crate) writing: Vec<String>,
}

impl Check for HalfClosedCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move {
            let settings = Torture { sessions: 2, ..Torture::clone(&self.settings) };
            let limits = settings.limits();
            HalfClosedTrial { check: self, context: &context, settings: &settings, limits }.run().await
        })
    }
}

struct HalfClosedTrial<'a> {
    check: &'a HalfClosedCheck,
    context: &'a CheckContext<'a>,
    settings: &'a Torture,
    limits: CheckLimits,
}

/// A tool with arguments.
struct HalfClosedTool<'a> {
    tool: &'a str,
    template: ArgumentTemplate,
    canaries: Canaries,
}

impl HalfClosedTool<'_> {
    fn next_canary(&mut self) -> String {
        let number = self.canaries.take(1).start;
        self.canaries.of(number)
    }
}

impl<'a> HalfClosedTrial<'a> {
    async fn run(&self) -> CheckResult {
        let clients = match Clients::open(self.context, self.settings).await {
            Ok(clients) => clients,
            Err(end) => return end.into_result(),
        };
        if clients.is_stream() {
            let result = self.judge_stream(&clients).await;
            // It was told to end.
            clients.end().await;
            return result;
        }
        let result = match self.judge_posts(&clients).await {
            Ok(result) => result,
            Err(end) => end.into_result(),
        };
        clients.close(result).await
    }

    /// The first of these tools for whose arguments texts can be made.
    fn callees(&self, tools: &'a [String]) -> impl Iterator<Item = (Vec<ArgumentTemplate>, HalfClosedTool<'a>)> {
        tools.iter().filter_map(|tool| {
            let listed = self.context.catalog.tool(tool)?;
            let templates = ArgumentTemplate::of_tool(listed, self.context).ok()?;
            let template = templates.first()?.clone();
            let canaries = Canaries::of_tool(self.settings.seed, tool);
            Some((templates, HalfClosedTool { tool, template, canaries }))
        })
    }

    async fn judge_stream(&self, clients: &Clients<'_>) -> CheckResult {
        let Some((_, mut callee)) = { self.callees(&self.check.reading) }.next() else {
            return CheckResult::not_applicable("no tool that only reads takes a text".to_owned());
        };
        let first = self.end_input(clients, &mut callee, CALLS).await;
        let Some(mut found) = first.1 else {
            let text =
                format!("{CALLS} calls right before the end of the input, {} of them answered", first.0.answered);
            return pass(Reason::Measured(text), Vec::new());
        };
        let mut search = FaultSearch::new(&self.limits, TRIES, CALLS).down_to(1, TRIES);
        while let Some(calls) = search.next() {
            let again = self.end_fresh_input(&mut callee, calls).await;
            let again = again.map(|again| again.filter(|again| again.code == found.code));
            search.note(again.as_ref().map(Option::is_some).map_err(CheckEnd::clone));
            found = again.ok().flatten().unwrap_or(found);
        }
        let (confirmation, smallest) = search.finish();
        let found = found.with_evidence("calls", format!("{smallest} right before the end of the input"));
        let found = self.with_reproduction(found, callee.tool, smallest);
        result_with(confirmation.conclude(found, "in a fresh server", SeenOnce::Warns), Vec::new())
    }

    /// The same with a fresh server.
    async fn end_fresh_input(
        &self,
        callee: &mut HalfClosedTool<'_>,
        calls: usize,
    ) -> Result<Option<Finding>, CheckEnd> {
        let fresh = Clients::single(self.context, self.limits.clone()).await?;
        let (_, found) = self.end_input(&fresh, callee, calls).await;
        fresh.end().await;
        Ok(found)
    }

    /// Ends the input behind calls; says what is wrong.
    async fn end_input(
        &self,
        clients: &Clients<'_>,
        callee: &mut HalfClosedTool<'_>,
        count: usize,
    ) -> (Burst, Option<Finding>) {
        let calls = clients.calls(callee.tool, &callee.template, &mut callee.canaries, count);
        let patience = self.context.request_timeout.min(self.limits.remaining());
        let burst = Burst::send(clients, &calls, BurstReading::AfterEnd, patience).await.unwrap_or_default();
        let stderr = clients.first().0.stderr_tail();
        let crash = crash_of(&burst, &stderr, callee.tool);
        let found = crash.or_else(|| burst.bad_answer());
        (burst, found)
    }

    async fn judge_posts(&self, clients: &Clients<'_>) -> Result<CheckResult, CheckEnd> {
        let mut shown = Vec::new();
        if let Some((_, mut callee)) = { self.callees(&self.check.reading) }.next() {
            self.post(clients, &mut callee, BodyEnd::Whole).await?;
            self.expect_life(clients, &mut callee).await?;
            shown.push("the server goes on after a client that closed its half behind a request".to_owned());
        }
        for (templates, mut callee) in self.callees(&self.check.writing) {
            let mut study = WriteStudy {
                context: self.context,
                settings: self.settings,
                tool: callee.tool,
                clients,
                canaries: callee.canaries.clone(),
            };
            let Ok(learned) = study.learn(&templates).await? else { continue };
            callee = HalfClosedTool { template: learned.template.clone(), canaries: study.canaries, ..callee };
            if self.is_executed(clients, &mut callee, &learned).await? {
                let shows_again = self.is_executed(clients, &mut callee, &learned).await?;
                let message = format!("`{}` carries out a request whose body never came whole", callee.tool);
                let help =
                    "compare the length of the body with `Content-Length` before it is read as JSON, and answer 400";
                let found = Finding::new("broken-request-executed", message)
                    .with_evidence(
                        "sent",
                        format!("all but {MISSING_BYTES} of the bytes that `Content-Length` promised"),
                    )
                    .with_evidence("shown by", learned.reads.first().map_or(String::new(), Read::title));
                let found = Finding { help: Some(help.to_owned()), ..found };
                let found = self.with_reproduction(found, callee.tool, 1);
                let end =
                    Confirmation::of_try(Ok(shows_again)).conclude(found, "with another request", SeenOnce::Warns);
                return Ok(result_with(end, Vec::new()));
            }
            self.expect_life(clients, &mut callee).await?;
            shown.push(format!("a request of `{}` that ended in its body was not carried out", callee.tool));
            break;
        }
        if shown.is_empty() {
            return Ok(CheckResult::not_applicable("no tool that may be called takes a text".to_owned()));
        }
        Ok(pass(Reason::Measured(shown.join("; ")), Vec::new()))
    }

    /// Posts a call and closes our half of the connection; returns the call's text.
    async fn post(
        &self,
        clients: &Clients<'_>,
        callee: &mut HalfClosedTool<'_>,
        end: BodyEnd,
    ) -> Result<String, CheckEnd> {
        let (session, owner) = clients.first();
        let canary = callee.next_canary();
        let params = json!({"name": callee.tool, "arguments": callee.template.with(&canary)});
        let (_, line) = session.request_line("tools/call", params);
        let length = line.len();
        let deadline = Instant::now() + self.context.request_timeout.min(SETTLING);
        let mut request = session.post_request(&[line], ReadUntil::Answer, deadline);
        request.after = AfterRequest::CloseWrite;
        if end == BodyEnd::Missing {
            request.pieces = vec![promise_more(&request.pieces.concat(), length)];
        }
        // Whatever is answered is right, and so is nothing.
        let _ = session.exchange_raw(owner, &request).await;
        Ok(canary)
    }

    /// A request that ended in its body shows in what is read.
    async fn is_executed(
        &self,
        clients: &Clients<'_>,
        callee: &mut HalfClosedTool<'_>,
        learned: &WritingArguments,
    ) -> Result<bool, CheckEnd> {
        let canary = self.post(clients, callee, BodyEnd::Missing).await?;
        clients.wait(SETTLING).await;
        for read in &learned.reads {
            if read.shows_text(clients, &canary).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Calls the tool in every session: a server that is gone, or answers nothing, ends the case.
    async fn expect_life(&self, clients: &Clients<'_>, callee: &mut HalfClosedTool<'_>) -> Result<(), CheckEnd> {
        for session in 0..clients.sessions() {
            let canary = callee.next_canary();
            let params = json!({"name": callee.tool, "arguments": callee.template.with(&canary)});
            clients.request(session, ToolRequest { method: "tools/call", params }).await?;
        }
        Ok(())
    }

    fn with_reproduction(&self, found: Finding, tool: &str, calls: usize) -> Finding {
        let mut found = found.with_evidence("seed", self.settings.seed.to_string());
        let load = ReproducedLoad::of_its_own(calls);
        let code = found.code.clone();
        let check = TortureCheck::HalfClosed;
        let replay = reproduction(self.context, self.settings, Some(tool), code, check, load);
        found.reproduction = Some(Box::new(replay));
        found
    }
}

/// The finding about a server that ends in the middle of calls as only a crash ends it: an exit is right at the end of the
/// input.
fn crash_of(burst: &Burst, stderr: &[String], tool: &str) -> Option<Finding> {
    let cry = stderr.iter().find(|line| CRASHES.iter().any(|crash| line.contains(crash)));
    let crash = burst.crash().filter(|_| burst.has_fault() || cry.is_some())?;
    let found = finding_with_help(
        "crash-at-end-of-input",
        format!("the server crashes when its input ends while calls of `{tool}` are under way"),
        "when the input ends, finish or drop the calls that are under way, then end",
    );
    let found = found.with_evidence("exit", crash.exit().unwrap_or_default().to_owned());
    Some(found.with_evidence("stderr", cry.cloned().unwrap_or_default()))
}

/// A request whose header promises more bytes than its body has.
fn promise_more(request: &[u8], length: usize) -> Vec<u8> {
    let header = |length: usize| format!("Content-Length: {length}\r\n");
    let text = String::from_utf8_lossy(request).into_owned();
    text.replacen(&header(length), &header(length + MISSING_BYTES), 1).into_bytes()
}

/// The end of the body of a POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyEnd {
    Whole,
    /// Bytes are missing that were promised.
    Missing,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::failure_of_test;
    use crate::session::FailureReason;
    use crate::transport::ServerExit;

    #[test]
    fn only_the_header_promises_more() {
        let request =
            |length: usize| format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\nContent-Length: 7\r\n");
        let promised = promise_more(request(19).as_bytes(), 19);
        assert_eq!(String::from_utf8(promised).unwrap(), request(19 + MISSING_BYTES));
    }

    #[test]
    fn a_server_may_end_with_its_input_and_not_crash() {
        let exit = |exit: ServerExit| Some(failure_of_test(FailureReason::Exited(exit)));
        for (end, stderr, expected) in [
            (exit(ServerExit::Signal(11)), "", true),
            // A server may end itself in the way in which others end it.
            (exit(ServerExit::Signal(15)), "", false),
            (exit(ServerExit::Signal(9)), "", false),
            (exit(ServerExit::Signal(13)), "", false),
            (exit(ServerExit::Signal(15)), "thread 'main' panicked at src/main.rs:3", true),
            (exit(ServerExit::Signal(6)), "thread 'main' panicked at src/main.rs:3", true),
            (exit(ServerExit::Status(2)), "panic: send on closed channel", true),
            (exit(ServerExit::Status(1)), "Fatal Python error: could not acquire lock", true),
            (exit(ServerExit::Status(1)), "panic: runtime error: index out of range", true),
            (exit(ServerExit::Panicked), "", true),
            (exit(ServerExit::Returned), "", false),
            (exit(ServerExit::Unknown), "panicked at src/main.rs:3", true),
            (exit(ServerExit::Status(1)), "Traceback (most recent call last): BrokenPipeError", false),
            (exit(ServerExit::Status(1)), "Error: write EPIPE", false),
            (exit(ServerExit::Status(0)), "", false),
            (exit(ServerExit::Status(1)), "KeyboardInterrupt", false),
            (exit(ServerExit::Status(1)), "no panic, all is well", false),
            (None, "panicked at src/main.rs:3", false),
        ] {
            let burst = Burst::of_test(3, end);
            let found = crash_of(&burst, &["starting".to_owned(), stderr.to_owned()], "echo");
            assert_eq!(found.is_some(), expected, "{:?} {stderr}", burst.end);
        }
    }
}
