//! A server without a setting and with it: its sessions, and everything that was said in them.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use super::ConfigSetting;
use crate::event::{CheckResult, Code, Exchange, FailureClass, Finding, Outcome, Reason, StepProblem};
use crate::plan::{CheckContext, CloseServer, OpenServer, ServerChoice, SuiteSetup};
use crate::session::Session;
use crate::source::template::Names;
use crate::source::{Node, Span, duration_text};
use crate::suite::{AddedSettings, Step};
use crate::wire::is_served;

/// The sessions of a case so far.
pub(crate) struct Sides<'a> {
    pub(crate) context: &'a CheckContext<'a>,
    setting: &'a ConfigSetting,
    pub(crate) deadline: Instant,
    exchanges: Vec<Exchange>,
    frames: Vec<u32>,
    protocol_revision: String,
}

/// Why a case has no verdict yet, or has one early.
pub(crate) enum Stopped {
    /// The server is at fault.
    Failed(Vec<Finding>),
    /// Nothing follows, for this reason.
    Inconclusive(String),
    /// The case does not apply.
    Skipped(Reason),
    /// The server cannot be used.
    Unavailable(Box<Finding>),
}

/// The answer to a step.
pub(crate) struct SideAnswer {
    /// Its place among the exchanges of the case.
    pub(crate) exchange: usize,
    pub(crate) message: Arc<Value>,
    /// Whether the answer is the one that was asked for, and no error.
    pub(crate) is_served: bool,
    /// Expectations that it does not meet.
    pub(crate) unmet: Vec<Finding>,
}

impl<'a> Sides<'a> {
    pub(crate) fn new(context: &'a CheckContext<'a>, setting: &'a ConfigSetting) -> Self {
        Self {
            context,
            setting,
            deadline: Instant::now() + setting.time,
            exchanges: Vec::new(),
            frames: Vec::new(),
            protocol_revision: String::new(),
        }
    }

    /// Where the setting is written.
    pub(crate) fn span(&self) -> Span {
        self.setting.span
    }

    /// A server without the setting; `None` where it always has it.
    pub(crate) async fn without(&mut self) -> Result<Option<Session>, Stopped> {
        if self.setting.with.is_none() {
            return Ok(None);
        }
        self.start(&AddedSettings::default()).await.map(Some).map_err(|found| Stopped::Unavailable(Box::new(found)))
    }

    /// A server with the setting.
    pub(crate) async fn with(&mut self) -> Result<Session, Stopped> {
        let started = self.try_with().await;
        started.map_err(|found| match (found.class, &self.setting.with) {
            (Some(_), Some(_)) => Stopped::Failed(vec![self.not_started(found)]),
            _ => Stopped::Unavailable(Box::new(found)),
        })
    }

    /// The same, where the server may refuse to start.
    pub(crate) async fn try_with(&mut self) -> Result<Session, Finding> {
        let setting = self.setting;
        self.start(setting.with.as_ref().unwrap_or(&AddedSettings::default())).await
    }

    async fn start(&mut self, added: &AddedSettings) -> Result<Session, Finding> {
        let session = self
            .context
            .servers
            .open(OpenServer { server: ServerChoice::Configured(added), setup: SuiteSetup::Skip, ..OpenServer::FRESH })
            .await?;
        self.protocol_revision = session.server.revision.to_string();
        Ok(session)
    }

    /// Ends a session; a server that had ended by itself is at fault.
    pub(crate) async fn end(&self, session: Session) -> Result<(), Stopped> {
        match self.context.servers.close(&session, CloseServer::WithoutTeardown).await.exit {
            Some(found) => Err(Stopped::Failed(vec![found])),
            None => Ok(()),
        }
    }

    /// Does a step.
    pub(crate) async fn ask(&mut self, session: &Session, step: &Step, names: &Names) -> Result<SideAnswer, Stopped> {
        if Instant::now() >= self.deadline {
            let limit = duration_text(self.setting.time);
            return Err(Stopped::Inconclusive(format!(
                "the time of {limit} ended before all calls were made; raise `time`"
            )));
        }
        let done = self.context.steps.run(session, step, names).await;
        let exchange = self.exchanges.len();
        let shown = [Some(done.exchange.frame), done.exchange.answer_frame];
        self.frames.extend(shown.into_iter().flatten().filter(|frame| *frame > 0));
        self.exchanges.push(done.exchange);
        let at = |found: Finding| Finding { exchange: Some(exchange), ..found };
        match done.answer {
            Ok(message) => Ok(SideAnswer {
                exchange,
                is_served: is_served(&message),
                message,
                unmet: done.unmet.into_iter().map(at).collect(),
            }),
            Err(found) => Err(unanswered(at(found))),
        }
    }

    /// The call of an answer, with what was sent.
    pub(crate) fn told(&self, answer: &SideAnswer) -> String {
        let exchange = &self.exchanges[answer.exchange];
        let name = exchange.tool.as_deref().unwrap_or(&exchange.title);
        if ["", "{}"].contains(&exchange.sent.as_str()) {
            format!("`{name}`")
        } else {
            format!("`{name} {}`", exchange.sent)
        }
    }

    /// The beginning of an answer.
    pub(crate) fn received(&self, answer: &SideAnswer) -> &str {
        &self.exchanges[answer.exchange].received
    }

    /// The addition to the start of the server, as it is written.
    pub(crate) fn setting_text(&self) -> String {
        let Some(with) = &self.setting.with else { return format!("the setting `{}`", self.setting.name) };
        let mut words: Vec<String> =
            with.env.iter().map(|(name, value)| format!("{}={}", name.value, text(value))).collect();
        words.extend(with.args.iter().map(text));
        format!("`{}`", words.join(" "))
    }

    /// The words that an error about the setting may name: options, values, and names of variables.
    pub(crate) fn setting_words(&self) -> Vec<String> {
        let Some(with) = &self.setting.with else { return Vec::new() };
        let of_env = with.env.iter().flat_map(|(name, value)| [name.value.clone(), text(value)]);
        let of_args = with.args.iter().map(|arg| text(arg).trim_start_matches('-').to_owned());
        of_env.chain(of_args).collect()
    }

    /// A finding about an answer.
    pub(crate) fn finding(&self, code: &'static str, message: String, answer: &SideAnswer) -> Finding {
        let frame = self.exchanges[answer.exchange].answer_frame;
        Finding { exchange: Some(answer.exchange), frame, ..Finding::new(code, message) }
    }

    /// Why a refusal with the setting would prove nothing: the call is not served without it either.
    pub(crate) fn refused_without(&self, answer: &SideAnswer) -> Stopped {
        Stopped::Inconclusive(format!(
            "without the setting {} is refused, too, so its refusal would prove nothing: {}",
            self.told(answer),
            self.received(answer)
        ))
    }

    /// Why nothing follows where a call that changes data is refused with the setting: the data of the server without it
    /// may still be there.
    pub(crate) fn refused_with(&self, answer: &SideAnswer) -> Stopped {
        Stopped::Inconclusive(format!(
            "with the setting {} is refused, although it was to be served, so other refusals prove nothing: {}; if the \
             server keeps its data, start it with a store of its own",
            self.told(answer),
            self.received(answer)
        ))
    }

    /// The result of the case.
    pub(crate) fn result(self, verdict: Result<String, Stopped>) -> CheckResult {
        let mut result = match verdict {
            Ok(note) => CheckResult { reason: Some(Reason::Measured(note)), ..CheckResult::new(Outcome::Passed) },
            Err(Stopped::Failed(findings)) => CheckResult::found(Outcome::Failed, findings),
            Err(Stopped::Inconclusive(why)) => CheckResult::inconclusive(why),
            Err(Stopped::Skipped(reason)) => CheckResult::because(Outcome::Skipped, reason),
            Err(Stopped::Unavailable(found)) => CheckResult::unavailable(*found),
        };
        result.exchanges = self.exchanges;
        result.frames = self.frames;
        result.protocol_revision = self.protocol_revision;
        result
    }

    fn not_started(&self, found: Finding) -> Finding {
        let message = format!("the server does not start with {}: {}", self.setting_text(), found.message);
        let help = "without the setting it starts; if it must not start with it, say `starts: false`".to_owned();
        Finding { message, help: Some(help), class: None, code: Code::new("setting-not-started"), ..found }
    }
}

/// The end of a case whose step got no answer.
fn unanswered(found: Finding) -> Stopped {
    match (found.step_problem.as_deref(), found.class) {
        (Some(StepProblem::ReadOnly), _) => Stopped::Skipped(Reason::ReadOnly(found.message)),
        (Some(StepProblem::Unfilled), _) => Stopped::Unavailable(Box::new(found)),
        (Some(StepProblem::BrokenAnswer { .. }), _) => Stopped::Failed(vec![found]),
        (Some(_), _) | (None, Some(FailureClass::Timeout)) => Stopped::Inconclusive(found.message),
        (None, _) => Stopped::Failed(vec![found]),
    }
}

fn text(node: &Node) -> String {
    node.to_text()
}

/// Names that only the calls of one value have.
pub(crate) fn names(name: &str, value: impl Into<Value>) -> Names {
    Names::from_iter([(name.to_owned(), value.into())])
}
