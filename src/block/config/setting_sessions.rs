//! A server without a setting and with it: its sessions, and everything that was said in them.

use std::sync::Arc;

use serde_json::Value;

use super::{ConfigSetting, SettingStart};
use crate::check::hang::end_silent;
use crate::check::{CheckEnd, CheckLimits, CheckSession, StepRun};
use crate::event::{CheckResult, Code, FailureClass, Finding, Outcome, Reason, StepProblem};
use crate::plan::{CheckContext, CloseServer, OpenServer, ServerChoice, SuiteSetup};
use crate::session::Session;
use crate::source::template::Names;
use crate::source::{Node, Span};
use crate::suite::{StartChanges, Step};
use crate::wire::is_served;

/// The sessions of a case so far.
pub(crate) struct SettingSessions<'a> {
    pub(crate) run: StepRun<'a>,
    setting: &'a ConfigSetting,
    /// The changes to the start of the server that is asked.
    changes: StartChanges,
}

/// The answer to a step.
pub(crate) struct SettingAnswer {
    /// Its place among the exchanges of the case.
    pub(crate) exchange: usize,
    pub(crate) message: Arc<Value>,
    /// It is the answer that was asked for, and no error.
    pub(crate) is_served: bool,
    /// Expectations that it does not meet.
    pub(crate) unmet: Vec<Finding>,
}

impl<'a> SettingSessions<'a> {
    pub(crate) fn new(context: &'a CheckContext<'a>, setting: &'a ConfigSetting) -> Self {
        Self {
            run: StepRun::new(context, CheckLimits::new(setting.time, "raise `time`")),
            setting,
            changes: StartChanges::default(),
        }
    }

    /// The place where the setting is written.
    pub(crate) fn span(&self) -> Span {
        self.setting.span
    }

    /// A server without the setting; `None` where it always has it.
    pub(crate) async fn without(&mut self) -> Result<Option<Session>, CheckEnd> {
        match &self.setting.start {
            SettingStart::Always => Ok(None),
            SettingStart::Added { .. } => {
                self.start(&StartChanges::default()).await.map(Some).map_err(CheckEnd::unavailable)
            }
            // Nobody said that it starts in that way.
            SettingStart::Given { words, without } => self.start(without).await.map(Some).map_err(|found| {
                CheckEnd::not_applicable(format!(
                    "without `{words}` the server does not start, so there is nothing to compare with: {}",
                    found.message
                ))
            }),
        }
    }

    /// A server with the setting.
    pub(crate) async fn with(&mut self) -> Result<Session, CheckEnd> {
        let started = self.try_with().await;
        started.map_err(|found| match (found.class, &self.setting.start) {
            (Some(_), SettingStart::Added { .. }) => CheckEnd::failed(self.not_started(found)),
            _ => CheckEnd::unavailable(found),
        })
    }

    /// The same, where the server may refuse to start.
    pub(crate) async fn try_with(&mut self) -> Result<Session, Finding> {
        let changes = self.added().cloned().unwrap_or_default();
        self.start(&changes).await
    }

    async fn start(&mut self, changes: &StartChanges) -> Result<Session, Finding> {
        self.changes = changes.clone();
        let server = ServerChoice::Configured(changes);
        self.run.open(OpenServer { server, setup: SuiteSetup::Skip, ..OpenServer::FRESH }).await
    }

    /// Ends a session; a server that had ended by itself is at fault.
    pub(crate) async fn end(&self, session: Session) -> Result<(), CheckEnd> {
        self.run
            .context
            .servers
            .close(&session, CloseServer::WithoutTeardown)
            .await
            .exit
            .map_or(Ok(()), |found| Err(CheckEnd::failed(found)))
    }

    /// Ends a session whose server is at fault, and the case with it.
    pub(crate) async fn fail(&self, session: Session, findings: Vec<Finding>) -> CheckEnd {
        session.mark_exit_reported();
        self.end(session).await.err().unwrap_or(CheckEnd::Failed(findings))
    }

    /// Does a step.
    pub(crate) async fn ask(
        &mut self,
        session: &Session,
        step: &Step,
        names: &Names,
    ) -> Result<SettingAnswer, CheckEnd> {
        let done = self.run.step(session, step, names).await?;
        let exchange = done.exchange;
        let at = |found: Finding| Finding { exchange: Some(exchange), ..found };
        match done.outcome.answer {
            Ok(message) => Ok(SettingAnswer {
                exchange,
                is_served: is_served(&message),
                message,
                unmet: done.outcome.unmet.into_iter().map(at).collect(),
            }),
            Err(found) if found.is_timeout() => {
                let hang = self.find_hang(step, names).await.map(at);
                Err(hang.map_or_else(|| end_of_unanswered(at(found)), CheckEnd::failed))
            }
            Err(found) => Err(end_of_unanswered(at(found))),
        }
    }

    /// The finding where a step without an answer makes a fresh server with the same setting hang.
    async fn find_hang(&mut self, step: &Step, names: &Names) -> Option<Finding> {
        let changes = self.changes.clone();
        let session = self.start(&changes).await.ok()?;
        let done = self.run.step(&session, step, names).await.ok();
        let again = CheckSession::of(session, self.run.context, self.run.limits.clone());
        match done {
            Some(done) if done.outcome.answer.as_ref().is_err_and(Finding::is_timeout) => {
                end_silent(again, &self.text_of_call(done.exchange)).await
            }
            Some(_) | None => {
                again.close().await;
                None
            }
        }
    }

    /// The call of an answer, with what was sent.
    pub(crate) fn call_text(&self, answer: &SettingAnswer) -> String {
        self.text_of_call(answer.exchange)
    }

    fn text_of_call(&self, exchange: usize) -> String {
        let exchange = &self.run.log.exchanges()[exchange];
        let name = exchange.tool.as_deref().unwrap_or(&exchange.title);
        if ["", "{}"].contains(&exchange.sent.as_str()) {
            format!("`{name}`")
        } else {
            format!("`{name} {}`", exchange.sent)
        }
    }

    /// The beginning of an answer.
    pub(crate) fn answer_text(&self, answer: &SettingAnswer) -> &str {
        &self.run.log.exchanges()[answer.exchange].received
    }

    /// What the suite adds to the start of the server.
    fn added(&self) -> Option<&StartChanges> {
        if let SettingStart::Added { changes, .. } = &self.setting.start { Some(changes) } else { None }
    }

    /// The setting in the start of the server, as it is written.
    pub(crate) fn setting_text(&self) -> String {
        match &self.setting.start {
            SettingStart::Added { changes, .. } => settings_text(changes),
            SettingStart::Given { words, .. } => format!("`{words}`"),
            SettingStart::Always => format!("the setting `{}`", self.setting.name),
        }
    }

    /// The suite says what the setting does; the words of a start may be about a part of the server.
    pub(crate) fn is_claimed(&self) -> bool {
        !matches!(self.setting.start, SettingStart::Given { .. })
    }

    /// The words that an error about the setting may name: options, values, and names of variables.
    pub(crate) fn setting_words(&self) -> Vec<String> {
        match &self.setting.start {
            SettingStart::Added { changes, .. } => words_of(changes),
            SettingStart::Given { words, .. } => words.split([' ', '=']).map(str::to_owned).collect(),
            SettingStart::Always => Vec::new(),
        }
    }

    /// A finding about an answer.
    pub(crate) fn finding(&self, code: &'static str, message: String, answer: &SettingAnswer) -> Finding {
        self.run.log.finding(code.into(), message, answer.exchange)
    }

    /// The end of a case where a refusal with the setting would prove nothing: the call is not served without it either.
    pub(crate) fn refused_without(&self, answer: &SettingAnswer) -> CheckEnd {
        CheckEnd::inconclusive(format!(
            "without the setting {} is refused, too, so its refusal would prove nothing: {}",
            self.call_text(answer),
            self.answer_text(answer)
        ))
    }

    /// The end of a case where a call that changes data is refused with the setting: nothing follows, since the data of the
    /// server without it may still be there.
    pub(crate) fn refused_with(&self, answer: &SettingAnswer) -> CheckEnd {
        CheckEnd::inconclusive(format!(
            "with the setting {} is refused, although it was to be served, so other refusals prove nothing: {}; if the \
             server keeps its data, start it with a store of its own",
            self.call_text(answer),
            self.answer_text(answer)
        ))
    }

    /// The result of the case.
    pub(crate) fn result(self, verdict: Result<String, CheckEnd>) -> CheckResult {
        let passed = |note| CheckResult::because(Outcome::Passed, Reason::Measured(note));
        self.run.into_result(verdict.map(passed))
    }

    fn not_started(&self, found: Finding) -> Finding {
        let message = format!("the server does not start with {}: {}", self.setting_text(), found.message);
        let help = "without the setting it starts; if it must not start with it, say `starts: false`".to_owned();
        Finding { message, help: Some(help), class: None, code: Code::new("setting-not-started"), ..found }
    }
}

/// The end of a case whose step got no answer.
fn end_of_unanswered(found: Finding) -> CheckEnd {
    match (found.step_problem.as_deref(), found.class) {
        (Some(StepProblem::ReadOnly), _) => CheckEnd::Skipped(Reason::ReadOnly(found.message)),
        (Some(StepProblem::Unfilled), _) => CheckEnd::unavailable(found),
        (Some(StepProblem::BrokenAnswer { .. }), _) => CheckEnd::failed(found),
        (Some(_), _) | (None, Some(FailureClass::Timeout)) => CheckEnd::inconclusive(found.message),
        (None, _) => CheckEnd::failed(found),
    }
}

/// Additions to the start of a server, as they are typed.
fn settings_text(with: &StartChanges) -> String {
    let of_env = with.env.iter().map(|(name, value)| format!("{}={}", name.value, text(value)));
    format!("`{}`", of_env.chain(with.args.iter().map(text)).collect::<Vec<_>>().join(" "))
}

/// Options, values, and names of variables; an option may have its value behind it, as in `--max-users=5`.
fn words_of(with: &StartChanges) -> Vec<String> {
    let of_env = with.env.iter().flat_map(|(name, value)| [name.value.clone(), text(value)]);
    let of_args = with.args.iter().flat_map(|arg| {
        let arg = text(arg);
        let (option, value) = arg.split_once('=').filter(|_| arg.starts_with('-')).unwrap_or((&arg, ""));
        [option.trim_start_matches('-').to_owned(), value.to_owned()]
    });
    of_env.chain(of_args).filter(|word| !word.is_empty()).collect()
}

fn text(node: &Node) -> String {
    node.to_text()
}

/// Names that only the calls of one value have.
pub(crate) fn names(name: &str, value: impl Into<Value>) -> Names {
    Names::from_iter([(name.to_owned(), value.into())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::node;
    use crate::source::Located;

    #[test]
    fn only_a_server_that_ends_or_breaks_the_protocol_fails() {
        let problem = |problem| Finding::new("step", "no answer").with_problem(problem);
        let failure = |class| Finding::failure(class, "no answer");
        for (found, outcome) in [
            (failure(FailureClass::ProcessExited), Outcome::Failed),
            (failure(FailureClass::ProtocolError), Outcome::Failed),
            (failure(FailureClass::Timeout), Outcome::Inconclusive),
            (problem(StepProblem::ReadOnly), Outcome::Skipped),
            (problem(StepProblem::Unfilled), Outcome::Errored),
            (problem(StepProblem::NoToken), Outcome::Inconclusive),
            (problem(StepProblem::MissingValue(None)), Outcome::Inconclusive),
        ] {
            let text = format!("{found:?}");
            assert_eq!(end_of_unanswered(found).into_result().outcome, outcome, "{text}");
        }
    }

    #[test]
    fn a_setting_is_typed_as_it_is_written_and_known_by_its_words() {
        let added = |args: &[&str], env: &[(&str, &str)]| {
            let name = |name: &str| Located { value: name.to_owned(), span: node(name).span };
            let env = env.iter().map(|(key, value)| (name(key), node(value))).collect();
            StartChanges { args: args.iter().map(|arg| node(arg)).collect(), env, ..StartChanges::default() }
        };
        for (with, is_typed, words) in [
            (added(&["--read-only"], &[]), "`--read-only`", &["read-only"][..]),
            (added(&["--max-users", "-5"], &[]), "`--max-users -5`", &["max-users", "5"]),
            (added(&["--max-users=-5"], &[]), "`--max-users=-5`", &["max-users", "-5"]),
            (added(&["a=b"], &[]), "`a=b`", &["a=b"]),
            (added(&[], &[("MODE", "safe")]), "`MODE=safe`", &["MODE", "safe"]),
            (added(&["-v"], &[("MODE", "safe")]), "`MODE=safe -v`", &["MODE", "safe", "v"]),
        ] {
            assert_eq!(
                (settings_text(&with).as_str(), words_of(&with)),
                (is_typed, words.iter().map(ToString::to_string).collect())
            );
        }
    }
}
