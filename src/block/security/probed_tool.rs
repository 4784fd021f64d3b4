//! A tool with a session of its own, and the hostile calls that it gets. Every call ends within the time of the case, and
//! there are never more than so many.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::SecuritySettings;
use super::heavy::EXPANDED_TEXT;
use crate::check::evidence::{exchange, refused};
use crate::event::{CheckResult, Finding, Outcome, Reason, RequirementLevel, Severity};
use crate::plan::arguments::ConfigSource;
use crate::plan::put::{Parameter, parameters};
use crate::plan::witness::filled_arguments;
use crate::plan::{CheckContext, CloseServer, OpenServer};
use crate::reproduce::Player;
use crate::session::{
    Awaited, CallFailure, FailureReason, RawMessage, RawReply, Session, SessionReply, SessionRequest,
};
use crate::source::duration_text;
use crate::wire::Tool;

/// How many calls a case makes at most.
const MOST_CALLS: usize = 400;

/// How many of the parameters that a probe is about are tried.
pub(crate) const MOST_PARAMETERS: usize = 6;

/// The server, and the tool that is tried; no tool where resources are.
pub(crate) struct ProbedTool<'a> {
    pub(crate) context: &'a CheckContext<'a>,
    session: Session,
    /// The tool, or what is tried instead, as messages name it.
    subject: String,
    time: Duration,
    deadline: Instant,
    /// Valid arguments, of which one is replaced in hostile calls.
    pub(crate) base: Value,
    pub(crate) calls: usize,
    /// Whether a valid call was served, and the answer to the last one.
    is_served: bool,
    valid_call: Option<SessionReply>,
    found: Vec<ProvenFinding>,
}

/// A finding, and the call that shows it.
struct ProvenFinding {
    finding: Finding,
    reply: Option<SessionReply>,
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

/// How large an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AnswerSize {
    /// In bytes.
    pub(crate) bytes: usize,
    /// How often it has the text that the entities and aliases of documents stand for.
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

/// Why no further call is made.
pub(crate) enum ProbeHalt {
    /// A call got no answer, or the server ended.
    Failed(Box<CallFailure>),
    /// The time or the number of calls is used up.
    OutOfBounds,
}

impl<'a> ProbedTool<'a> {
    /// Opens a session; the result is that of a case that cannot begin.
    pub(crate) async fn begin(
        context: &'a CheckContext<'a>,
        settings: &SecuritySettings,
        subject: &str,
    ) -> Result<Self, Box<CheckResult>> {
        let base = match context.catalog.tool(subject) {
            Some(tool) => Self::valid_base(context, tool)?,
            None => Value::Null,
        };
        let session =
            context.servers.open(OpenServer::FRESH).await.map_err(|found| Box::new(CheckResult::unavailable(found)))?;
        session.keep_last_frames(1);
        Ok(Self {
            context,
            session,
            subject: subject.to_owned(),
            time: settings.time,
            deadline: Instant::now() + settings.time,
            base,
            calls: 0,
            is_served: false,
            valid_call: None,
            found: Vec::new(),
        })
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

    /// Makes a request; `None` where the answer cannot be read and the server goes on.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Result<Option<SessionReply>, ProbeHalt> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || self.calls >= MOST_CALLS {
            return Err(ProbeHalt::OutOfBounds);
        }
        self.calls += 1;
        let request = SessionRequest {
            owner: self.context.owner,
            method,
            params: Some(params),
            timeout: Some(self.context.request_timeout.min(left)),
            progress: false,
        };
        match self.session.request(request).await {
            Ok(reply) => Ok(Some(reply)),
            Err(_) if Instant::now() >= self.deadline => Err(ProbeHalt::OutOfBounds),
            Err(failure) => match failure.reason {
                FailureReason::Timeout(_) | FailureReason::Exited(_) => Err(ProbeHalt::Failed(Box::new(failure))),
                FailureReason::Protocol(_)
                | FailureReason::NotRead(_)
                | FailureReason::RefusedWhole(_)
                | FailureReason::Http(_) => {
                    if self.session.is_open() {
                        Ok(None)
                    } else {
                        Err(ProbeHalt::Failed(Box::new(failure)))
                    }
                }
            },
        }
    }

    /// Calls the tool.
    pub(crate) async fn call(&mut self, arguments: &Value) -> Result<Option<SessionReply>, ProbeHalt> {
        self.request("tools/call", json!({"name": self.subject, "arguments": arguments})).await
    }

    /// Calls the tool with arguments that are written as JSON, and waits so long; the size of what is answered.
    pub(crate) async fn call_written(
        &mut self,
        arguments: &str,
        wait: Option<Duration>,
    ) -> Result<HeavyReply, ProbeHalt> {
        let whole = self.whole_timeout()?;
        let timeout = wait.unwrap_or(whole).min(whole);
        let id = format!("mcprove-heavy-{}", self.calls);
        let line = self.session.prepare_call(&self.subject).line(&json!(id), arguments);
        let message = RawMessage {
            owner: self.context.owner,
            pieces: vec![[line.as_slice(), b"\n"].concat()],
            lines: vec![line],
            awaited: Awaited::Ids(vec![id.into()]),
            timeout: Some(timeout),
            watch: timeout,
        };
        let reply = self.session.send_raw(message).await;
        Ok(reply.map_or_else(|failure| self.lost(&failure), |reply| HeavyReply::Answer(AnswerSize::of(&reply))))
    }

    /// Asks for a sign of life.
    pub(crate) async fn ping(&mut self) -> Result<HeavyReply, ProbeHalt> {
        let timeout = self.whole_timeout()?;
        let player = Player { session: &self.session, owner: self.context.owner, timeout };
        Ok(player
            .ping()
            .await
            .map_or_else(|failure| self.lost(&failure), |()| HeavyReply::Answer(AnswerSize::default())))
    }

    fn lost(&self, failure: &CallFailure) -> HeavyReply {
        match failure.reason {
            FailureReason::Timeout(_) => HeavyReply::Silence,
            FailureReason::Exited(_) => HeavyReply::Exit,
            FailureReason::Protocol(_)
            | FailureReason::NotRead(_)
            | FailureReason::RefusedWhole(_)
            | FailureReason::Http(_) => {
                if self.session.is_open() {
                    HeavyReply::Answer(AnswerSize::default())
                } else {
                    HeavyReply::Exit
                }
            }
        }
    }

    /// The time for one request, which must not be cut short where silence is evidence.
    fn whole_timeout(&mut self) -> Result<Duration, ProbeHalt> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left < self.context.request_timeout || self.calls >= MOST_CALLS {
            return Err(ProbeHalt::OutOfBounds);
        }
        self.calls += 1;
        Ok(self.context.request_timeout)
    }

    /// Calls the tool with valid arguments, which become those of later calls if they are served.
    pub(crate) async fn call_validly(&mut self, arguments: Value) -> Result<bool, ProbeHalt> {
        let reply = self.call(&arguments).await?;
        let is_valid = reply.as_ref().is_some_and(SessionReply::is_served);
        if is_valid {
            self.base = arguments;
        }
        self.note_valid(reply, is_valid);
        Ok(is_valid)
    }

    /// Notes a valid request.
    pub(crate) fn note_valid(&mut self, reply: Option<SessionReply>, is_valid: bool) {
        if is_valid || !self.is_served {
            self.valid_call = reply.or_else(|| self.valid_call.take());
        }
        self.is_served |= is_valid;
    }

    /// The tool, or what is tried instead, as messages name it.
    pub(crate) fn subject(&self) -> String {
        self.subject.clone()
    }

    /// Keeps a finding.
    pub(crate) fn note(&mut self, finding: Finding, reply: Option<SessionReply>) {
        self.found.push(ProvenFinding { finding, reply });
    }

    /// Whether the server has asked for the client's roots, and got them.
    pub(crate) fn has_given_roots(&self) -> bool {
        self.session.has_given_roots()
    }

    pub(crate) fn has_found(&self) -> bool {
        !self.found.is_empty()
    }

    /// Ends the session, and comes to the result; `passed` says what did not happen.
    pub(crate) async fn end(self, halt: Option<ProbeHalt>, passed: &str) -> CheckResult {
        let protocol_revision = self.session.server.revision.to_string();
        let exit = self.context.servers.close(&self.session, CloseServer::AfterTeardown).await.exit;
        let mut result = if self.found.is_empty() {
            match (halt, exit) {
                (Some(ProbeHalt::Failed(failure)), _) => CheckResult {
                    frames: failure.frame.into_iter().collect(),
                    ..CheckResult::found(Outcome::Failed, vec![Finding::from(&*failure)])
                },
                (_, Some(found)) => CheckResult::found(Outcome::Failed, vec![found]),
                (Some(ProbeHalt::OutOfBounds), None) => CheckResult::inconclusive(format!(
                    "the hostile calls of `{}` took more than {} or {MOST_CALLS} calls; raise `time`",
                    self.subject,
                    duration_text(self.time)
                )),
                (None, None) if !self.is_served && self.context.catalog.tool(&self.subject).is_none() => {
                    CheckResult::inconclusive("no resource could be read, so a refusal shows nothing".to_owned())
                }
                (None, None) if !self.is_served => refused(self.context, &self.subject, self.valid_call.as_ref()),
                (None, None) => CheckResult {
                    reason: Some(Reason::Measured(format!("{} calls, and {passed}", self.calls))),
                    ..CheckResult::new(Outcome::Passed)
                },
            }
        } else {
            let fails = self.found.iter().any(|found| found.finding.level == RequirementLevel::Must);
            CheckResult::new(if fails { Outcome::Failed } else { Outcome::Warned })
        };
        let is_found = !self.found.is_empty();
        let valid_call = self.valid_call.filter(|_| !is_found).map(|reply| (None, reply));
        let proven = self.found.into_iter().map(|found| (Some(found.finding), found.reply));
        for (finding, reply) in proven.chain(valid_call.map(|(none, reply)| (none, Some(reply)))) {
            if let Some(reply) = &reply {
                let title = match reply.params["name"].as_str() {
                    Some(tool) => format!("tools/call {tool}"),
                    None => "resources/read".to_owned(),
                };
                result.exchanges.push(exchange(&title, reply));
                result.frames.extend([reply.frame, reply.answer_frame]);
            }
            if let Some(mut finding) = finding {
                finding.exchange = reply.and_then(|_| result.exchanges.len().checked_sub(1));
                let is_must = finding.level == RequirementLevel::Must;
                finding.severity.get_or_insert(if is_must { Severity::Critical } else { Severity::Medium });
                result.findings.push(finding);
            }
        }
        CheckResult { protocol_revision, ..result }
    }
}
