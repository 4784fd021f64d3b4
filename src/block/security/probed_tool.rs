//! A tool with a session of its own, and the hostile calls that it gets. Every call ends within the time of the case, and
//! there are never more than so many.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::SecuritySettings;
use super::heavy::EXPANDED_TEXT;
use crate::check::evidence::{refusal_result, shown_call};
use crate::check::{CheckEnd, CheckLog, CheckRequest, CheckSession, LACKING_TIME, call_params, goes_on, outcome_of};
use crate::event::{CheckResult, Exchange, Finding, Outcome, Reason, RequirementLevel, Severity};
use crate::matching::words_of;
use crate::plan::CheckContext;
use crate::plan::arguments::ConfigSource;
use crate::plan::put::{Parameter, parameters};
use crate::plan::witness::filled_arguments;
use crate::reproduce::Player;
use crate::session::{CallFailure, RawMessage, RawReply, SessionReply};
use crate::wire::{Tool, call_limit};

/// The number of calls that a case makes at most.
pub(crate) const MOST_CALLS: usize = 600;

/// The number of parameters that are tried, of those that a probe is about.
pub(crate) const MOST_PARAMETERS: usize = 6;

/// The server, and the tool that is tried; no tool where resources are.
pub(crate) struct ProbedTool<'a> {
    pub(crate) context: &'a CheckContext<'a>,
    session: CheckSession<'a>,
    /// The tool, or what is tried instead, as messages name it.
    subject: String,
    /// Valid arguments, of which one is replaced in hostile calls.
    pub(crate) base: Value,
    /// A valid call was served; the last one is kept as it is shown.
    is_served: bool,
    valid_call: Option<Exchange>,
    /// The last valid call was refused for what has nothing to do with it.
    lack: Option<Lack>,
    /// The words with which an attack was refused because there were too many calls.
    limited: Option<String>,
    found: Vec<ProvenFinding>,
}

/// The reason for which a valid call was refused, which says nothing about the call.
#[derive(Debug, Clone)]
struct Lack {
    reason: Reason,
    since: Instant,
}

/// A finding, and the call that shows it.
struct ProvenFinding {
    finding: Finding,
    call: Option<Exchange>,
}

/// The outcome of a heavy call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeavyReply {
    /// An answer; a refusal of the whole message counts as one.
    Answer(AnswerSize),
    Silence,
    /// The server ended, or closed its output.
    Exit,
}

/// The size of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AnswerSize {
    /// In bytes.
    pub(crate) bytes: usize,
    /// Occurrences of the text that the entities and aliases of documents stand for.
    pub(crate) expansions: usize,
}

impl AnswerSize {
    fn of(reply: &RawReply) -> Self {
        let texts: Vec<String> = reply.answers.iter().map(ToString::to_string).collect();
        Self {
            bytes: texts.iter().map(String::len).sum(),
            expansions: texts.iter().map(|text| text.matches(EXPANDED_TEXT).count()).sum(),
        }
    }
}

impl<'a> ProbedTool<'a> {
    /// Opens a session; the result is that of a case that cannot begin.
    pub(crate) async fn begin(
        context: &'a CheckContext<'a>,
        settings: &SecuritySettings,
        subject: &str,
    ) -> Result<Self, Box<CheckResult>> {
        if let Some(why) = context.servers.in_vain(subject, context.owner) {
            return Err(Box::new(CheckResult::because(Outcome::Inconclusive, Reason::in_vain(subject, why))));
        }
        let base = match context.catalog.tool(subject) {
            Some(tool) => Self::valid_base(context, tool)?,
            None => Value::Null,
        };
        let opened = CheckSession::open(context, settings.limits()).await;
        let session = opened.map_err(|end| Box::new(end.into_result()))?;
        session.session().keep_last_frames(1);
        let subject = subject.to_owned();
        let (valid_call, lack, limited, found) = (None, None, None, Vec::new());
        Ok(Self { context, session, subject, base, is_served: false, valid_call, lack, limited, found })
    }

    fn valid_base(context: &CheckContext<'_>, tool: &Tool) -> Result<Value, Box<CheckResult>> {
        filled_arguments(context, tool).map_err(|why| {
            let why = why.sentence(&tool.name, ConfigSource::of(context.suite));
            Box::new(CheckResult::because(Outcome::Inconclusive, Reason::NoCallsGenerated(why)))
        })
    }

    /// The parameters that take texts and that a probe is about, in the order of the schema.
    pub(crate) fn parameters(&self, is_wanted: impl Fn(&Parameter<'_>) -> bool) -> Vec<Parameter<'a>> {
        let Some(tool) = self.context.catalog.tool(&self.subject) else { return Vec::new() };
        let mut found = parameters(tool.input_schema(), &self.base);
        found.retain(|parameter| is_wanted(parameter));
        found.truncate(MOST_PARAMETERS);
        found
    }

    /// Makes a request; `None` if the answer cannot be read and the server goes on.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Result<Option<SessionReply>, CheckEnd> {
        if let Some(lack) = self.lack.as_ref().filter(|lack| lack.since.elapsed() > LACKING_TIME) {
            return Err(CheckEnd::Inconclusive(lack.reason.clone()));
        }
        let reply = self.session.try_request(CheckRequest::new(method, params)).await?;
        let refusal = reply.as_ref().filter(|reply| !reply.is_served());
        self.limited = refusal.and_then(|refusal| call_limit(&words_of(&refusal.message))).or(self.limited.take());
        Ok(reply)
    }

    /// Calls the tool.
    pub(crate) async fn call(&mut self, arguments: &Value) -> Result<Option<SessionReply>, CheckEnd> {
        let params = call_params(&self.subject, arguments);
        self.request("tools/call", params).await
    }

    /// Ends the case where the last valid call was refused for what has nothing to do with it, so that nothing follows
    /// from the answers to others.
    pub(crate) fn end_if_lacking(&self) -> Result<(), CheckEnd> {
        self.lack.as_ref().map_or(Ok(()), |lack| Err(CheckEnd::Inconclusive(lack.reason.clone())))
    }

    /// Calls the tool with arguments that are written as JSON, and waits so long.
    pub(crate) async fn call_written(&self, arguments: &str, wait: Option<Duration>) -> Result<HeavyReply, CheckEnd> {
        let whole = self.session.whole_request_timeout()?;
        self.session.limits().spend(1)?;
        let timeout = wait.unwrap_or(whole).min(whole);
        let id = json!(format!("mcprove-heavy-{}", self.session.limits().calls()));
        let line = self.session.session().prepare_call(&self.subject).line(&id, arguments);
        let message = RawMessage { watch: timeout, ..self.session.raw_line(id, line, timeout) };
        let reply = self.session.session().send_raw(message).await;
        Ok(reply.map_or_else(|failure| self.reply_of(&failure), |reply| HeavyReply::Answer(AnswerSize::of(&reply))))
    }

    /// Asks for a sign of life.
    pub(crate) async fn ping(&self) -> Result<HeavyReply, CheckEnd> {
        let timeout = self.session.whole_request_timeout()?;
        self.session.limits().spend(1)?;
        let player = Player { session: self.session.session(), owner: self.session.owner(), timeout };
        let size = AnswerSize::default();
        Ok(player.ping().await.map_or_else(|failure| self.reply_of(&failure), |()| HeavyReply::Answer(size)))
    }

    fn reply_of(&self, failure: &CallFailure) -> HeavyReply {
        classify_failure(failure, self.session.session().is_open())
    }

    /// Calls the tool with valid arguments, which become those of later calls if they are served.
    pub(crate) async fn call_validly(&mut self, arguments: Value) -> Result<bool, CheckEnd> {
        let reply = self.call(&arguments).await?;
        let is_valid = reply.as_ref().is_some_and(SessionReply::is_served);
        if is_valid {
            self.base = arguments;
        }
        self.note_valid(reply.as_ref(), is_valid);
        Ok(is_valid)
    }

    /// Notes a valid request.
    pub(crate) fn note_valid(&mut self, reply: Option<&SessionReply>, is_valid: bool) {
        let refusal = reply.filter(|_| !is_valid).map(|reply| words_of(&reply.message));
        let lack = refusal.and_then(|words| Reason::of_refusal(&words));
        self.lack = lack.map(|reason| Lack { reason, since: Instant::now() });
        if is_valid || !self.is_served {
            self.valid_call = reply.map(shown_call).or_else(|| self.valid_call.take());
        }
        self.is_served |= is_valid;
    }

    /// The tool, or what is tried instead, as messages name it.
    pub(crate) fn subject(&self) -> String {
        self.subject.clone()
    }

    /// Keeps a finding.
    pub(crate) fn note(&mut self, finding: Finding, call: Option<Exchange>) {
        self.found.push(ProvenFinding { finding, call });
    }

    /// The server has asked for the client's roots, and got them.
    pub(crate) fn has_given_roots(&self) -> bool {
        self.session.session().has_given_roots()
    }

    pub(crate) fn has_found(&self) -> bool {
        !self.found.is_empty()
    }

    /// Ends the session, and comes to the result; `passed` says what did not happen.
    pub(crate) async fn end(self, halt: Option<CheckEnd>, passed: &str) -> CheckResult {
        let protocol_revision = self.session.revision();
        let calls = self.session.limits().calls();
        let exit = self.session.close().await;
        let mut log = CheckLog::of(protocol_revision);
        if !self.found.is_empty() {
            let findings: Vec<Finding> = self.found.into_iter().map(|found| found.show(&mut log)).collect();
            return log.attach(CheckResult::with_findings(outcome_of(&findings), findings));
        }
        let result = match result_of_end(halt, exit) {
            Some(result) => result,
            None if self.is_served => result_of_attacks(calls, passed, self.limited),
            None if self.context.catalog.tool(&self.subject).is_none() => {
                CheckResult::inconclusive("no resource could be read, so a refusal shows nothing")
            }
            None => refusal_result(self.context, &self.subject, self.valid_call.as_ref()),
        };
        self.valid_call.map(|call| log.add(call));
        log.attach(result)
    }
}

/// A heavy call that failed, after which the server is still there or not.
fn classify_failure(failure: &CallFailure, is_open: bool) -> HeavyReply {
    match failure {
        failure if failure.is_timeout() => HeavyReply::Silence,
        failure if goes_on(&failure.reason, is_open) => HeavyReply::Answer(AnswerSize::default()),
        _ => HeavyReply::Exit,
    }
}

/// The result of attacks after a valid call that was served, of which none had an effect; `limited` are the words with
/// which some were refused because there were too many.
fn result_of_attacks(calls: usize, passed: &str, limited: Option<String>) -> CheckResult {
    match limited {
        Some(words) => CheckResult::because(Outcome::Inconclusive, Reason::CallsLimited(words)),
        None => CheckResult {
            reason: Some(Reason::Measured(format!("{calls} calls, and {passed}"))),
            ..CheckResult::new(Outcome::Passed)
        },
    }
}

/// The result of calls that ended early, or after which the server was found to have ended; `None` if neither happened.
fn result_of_end(halt: Option<CheckEnd>, exit: Option<Finding>) -> Option<CheckResult> {
    match (halt, exit) {
        (Some(end @ CheckEnd::Unanswered(_)), _) => Some(end.into_result()),
        (_, Some(found)) => Some(CheckResult::with_findings(Outcome::Failed, vec![found])),
        (end, None) => end.map(CheckEnd::into_result),
    }
}

impl ProvenFinding {
    /// The finding with the call that shows it, which is added to the log.
    fn show(self, log: &mut CheckLog) -> Finding {
        let exchange = self.call.map(|call| log.add(call));
        let is_must = self.finding.level == RequirementLevel::Must;
        let severity = self.finding.severity.or(Some(if is_must { Severity::Critical } else { Severity::Medium }));
        Finding { exchange, severity, ..self.finding }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::check::failure_of_test;
    use crate::session::FailureReason;
    use crate::transport::ServerExit;

    #[test]
    fn a_refusal_of_the_whole_message_is_an_answer_and_an_end_is_none() {
        let answer = HeavyReply::Answer(AnswerSize::default());
        for (what, reason, is_open, expected) in [
            ("silence", FailureReason::Timeout(Duration::from_secs(1)), true, HeavyReply::Silence),
            ("silence and an end", FailureReason::Timeout(Duration::from_secs(1)), false, HeavyReply::Silence),
            ("a refusal of the message", FailureReason::RefusedWhole(Arc::default()), true, answer),
            ("a line that is no JSON", FailureReason::Protocol("torn".to_owned()), true, answer),
            ("a torn line before an end", FailureReason::Protocol("torn".to_owned()), false, HeavyReply::Exit),
            ("a crash", FailureReason::Exited(ServerExit::Signal(11)), false, HeavyReply::Exit),
            ("an exit that is not noticed yet", FailureReason::Exited(ServerExit::Status(0)), true, HeavyReply::Exit),
        ] {
            assert_eq!(classify_failure(&failure_of_test(reason), is_open), expected, "{what}");
        }
    }

    #[test]
    fn an_exit_says_more_than_the_end_of_the_time() {
        let exit = || Some(Finding::new("server-exited", "the server ended"));
        let spent = || Some(CheckEnd::Spent(Reason::NotEvaluated("the time was over".to_owned())));
        let skipped = || Some(CheckEnd::not_applicable("no folder"));
        for (halt, exit, expected) in [
            (None, None, None),
            (None, exit(), Some(Outcome::Failed)),
            (spent(), exit(), Some(Outcome::Failed)),
            (spent(), None, Some(Outcome::Inconclusive)),
            (skipped(), None, Some(Outcome::Skipped)),
        ] {
            let about = format!("{halt:?} {exit:?}");
            assert_eq!(result_of_end(halt, exit).map(|result| result.outcome), expected, "{about}");
        }
    }

    #[test]
    fn attacks_that_a_limit_refused_prove_nothing() {
        for (limited, expected) in [(None, Outcome::Passed), (Some("Rate limit exceeded"), Outcome::Inconclusive)] {
            let result = result_of_attacks(9, "none was executed", limited.map(str::to_owned));
            assert_eq!(result.outcome, expected, "{limited:?}");
        }
    }

    #[test]
    fn a_finding_is_as_severe_as_its_rule() {
        let severity = |level, severity| {
            let finding = Finding { level, severity, ..Finding::new("path-escape", "x") };
            ProvenFinding { finding, call: None }.show(&mut CheckLog::of(String::new())).severity
        };
        assert_eq!(severity(RequirementLevel::Must, None), Some(Severity::Critical));
        assert_eq!(severity(RequirementLevel::Should, None), Some(Severity::Medium));
        assert_eq!(severity(RequirementLevel::Must, Some(Severity::High)), Some(Severity::High));
    }
}
