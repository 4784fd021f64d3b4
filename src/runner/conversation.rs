//! The steps of a case or a suite, one after another: fill in, speak, judge, capture.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::exchange::{
    CaseSpeaker, Intent, IntentError, StepResponse, intend, name_of_call, shorten_json, written_params,
};
use super::finding;
use super::history::History;
use super::permission::{self, ReadOnlyFilter};
use super::snapshot::SnapshotRecorder;
use super::subscription::{self, Agreement, Listener};
use super::target::RunTarget;
use super::verdict::LimitedStep;
use super::{foreign_origin, injected, micros, precondition, raw_http};
use crate::diagnosis::{self, MISSING};
use crate::event::{BrokenExpectation, Code, Exchange, Finding, Phase, Reason, RequirementLevel, StepProblem};
use crate::fault::FaultPlayer;
use crate::matching::{
    Answer, Expectation, MismatchKind, MismatchWeight, RunFiles, UnknownName, UnknownNameKind, unknown_name, words_of,
};
use crate::plan::arguments::ConfigSource;
use crate::plan::{Rounds, expects_success};
use crate::redact::Redactor;
use crate::schema;
use crate::session::{CallAnswer, InVain, Session, SessionReply};
use crate::source::template::{Names, TemplateError, Unfilled, names_of};
use crate::source::{Sources, Span};
use crate::suite::{Action, Awaited, Capture, Listen, NotificationFilter, RawHttp, Step, Suite, is_builtin};
use crate::wire::{Catalog, Tool, admitted_failure, admitted_lack, admitted_prompt_failure, call_limit};

/// A conversation so far: what was said, what was learned.
pub(crate) struct Conversation<'a> {
    pub(crate) speaker: CaseSpeaker<'a>,
    pub(crate) names: Names,
    /// The files of the run, where a real server may write some.
    pub(crate) files: Option<&'a dyn RunFiles>,
    /// The path of the copy of the server's store that this session has.
    pub(crate) store: Option<Value>,
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) sources: &'a Sources,
    pub(crate) suite: &'a Suite,
    /// True if nobody wrote its steps for this server.
    pub(crate) is_derived: bool,
    /// Learns what is captured as a secret.
    pub(crate) redactor: &'a Redactor,
    /// Compares answers with recorded ones; `None` where nothing is judged.
    pub(crate) recorder: Option<SnapshotRecorder<'a>>,
    /// Doubts that fail nothing.
    pub(crate) warnings: Vec<Finding>,
    /// Why expectations that were met prove nothing, or cannot be judged.
    pub(crate) inconclusive_reason: Option<Reason>,
    /// The first step that was refused because there were too many calls, in a case that nobody wrote for this server.
    pub(crate) limited: Option<LimitedStep>,
    /// Failures of steps that ran during another one.
    pub(crate) concurrent_failures: Vec<Finding>,
    /// The values of a round, and the tools that the steps must not call.
    pub(crate) rounds: Option<Arc<Rounds>>,
    /// The number of requests that were served.
    pub(crate) served: u64,
    /// By tool: a failure that was answered as if it were none, or with content that the tool does not declare.
    pub(crate) unflagged: BTreeMap<String, Finding>,
    /// The findings of a rule's steps so far.
    pub(crate) broken: Vec<Finding>,
    /// The place at which arguments are given.
    pub(crate) config_source: ConfigSource,
    /// The calls that were served so far; `None` if no generated case has to know.
    pub(crate) history: Option<&'a History>,
    /// The faults that strike what is said.
    pub(crate) faults: Option<&'a Arc<FaultPlayer>>,
    /// The names that no answer provided: those of the suite and of the case.
    pub(crate) given: [Option<&'a Names>; 3],
    /// The values of the round of a property.
    pub(crate) drawn: Names,
    /// True if an earlier answer provided a value, of this session or of one before.
    pub(crate) has_captured: bool,
    /// The most time for an answer; `None` for that of each step.
    pub(crate) patience: Option<Duration>,
}

impl<'a> Conversation<'a> {
    pub(crate) fn new(speaker: CaseSpeaker<'a>, mut names: Names, target: &'a RunTarget) -> Self {
        for (name, value) in of_session(speaker.session) {
            names.entry(name).or_insert(value);
        }
        let store = target.stores.as_ref().map(|stores| {
            let process = speaker.session.processes();
            Value::from(stores.path_of(process.as_ref(), speaker.owner).display().to_string())
        });
        if let Some(store) = &store {
            names.insert("store".to_owned(), store.clone());
        }
        Self {
            speaker,
            names,
            files: (!target.is_replayed).then_some(target.run_folder.as_ref() as &dyn RunFiles),
            store,
            exchanges: Vec::new(),
            sources: &target.plan.sources,
            suite: target.suite(),
            is_derived: false,
            redactor: target.redactor(),
            recorder: None,
            warnings: Vec::new(),
            inconclusive_reason: None,
            limited: None,
            concurrent_failures: Vec::new(),
            rounds: None,
            served: 0,
            unflagged: BTreeMap::new(),
            broken: Vec::new(),
            given: [None; 3],
            drawn: Names::new(),
            has_captured: false,
            patience: None,
            history: None,
            faults: None,
            config_source: ConfigSource::Suite,
        }
    }

    /// The names that another session may use too.
    pub(crate) fn captured_names(&self) -> Names {
        let own = of_session(self.speaker.session);
        let is_own = |name: &str, value: &Value| match name {
            "store" => self.store.as_ref() == Some(value),
            name => own.get(name) == Some(value),
        };
        let shared = self.names.iter().filter(|(name, value)| !is_own(name, value));
        shared.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Does steps until one goes wrong.
    pub(crate) async fn all(&mut self, phase: Phase, steps: &[Step]) -> Result<(), Vec<Finding>> {
        for step in steps {
            let found = self.step(phase, step).await;
            if !found.is_empty() {
                return Err(found);
            }
        }
        Ok(())
    }

    /// Does every step, whatever goes wrong; what does is returned.
    pub(crate) async fn every(&mut self, phase: Phase, steps: &[Step]) -> Vec<Finding> {
        let mut found = Vec::new();
        for step in steps {
            found.extend(self.step(phase, step).await);
        }
        found
    }

    /// Does one step and judges its answer.
    pub(crate) async fn step(&mut self, phase: Phase, step: &Step) -> Vec<Finding> {
        if let Some(faults) = self.faults.filter(|_| step.heals) {
            faults.heal();
        }
        let (index, result) = self.speak(phase, step).await;
        self.note_limit(phase, index, &result);
        let result = match step.awaits {
            Awaited::Nothing => injected::is_lost(step, self.faults.map(AsRef::as_ref), result),
            Awaited::Answer => result,
        };
        let meanwhile = std::mem::take(&mut self.concurrent_failures);
        if !meanwhile.is_empty() {
            return meanwhile;
        }
        match result {
            Err(found) => {
                let label = step.name.clone().unwrap_or_else(|| "this request".to_owned());
                vec![Finding { exchange: Some(index), ..finding::at(found, self.sources, step.span, &label) }]
            }
            Ok(None) => Vec::new(),
            Ok(Some(heard)) => {
                if step.cancel.is_some() && !step.expect.is_empty() && self.speaker.session.cancels_by_closing() {
                    self.inconclusive_reason = Some(Reason::CancellationUnseen);
                }
                self.judge(step, &heard, index)
            }
        }
    }

    /// Sends a request, and does steps while its response is read, which ends with them.
    async fn run_while_pending(
        &mut self,
        mut request: Box<raw_http::FilledHttp>,
        step: &Step,
        http: &RawHttp,
        index: usize,
    ) -> Result<Option<StepResponse>, Finding> {
        let enough = request.until_told();
        let (session, owner) = (self.speaker.session, self.speaker.owner);
        let mut exchange = self.exchanges[index].clone();
        let answering = Box::pin(request.perform(session, owner, step, &mut exchange));
        let meanwhile = async {
            // Whoever reads is there before anything else is said.
            tokio::time::sleep(http.linger).await;
            let found = Box::pin(self.all(Phase::Steps, &http.during)).await.err().unwrap_or_default();
            tokio::time::sleep(http.linger).await;
            enough.notify_one();
            found
        };
        let (heard, found) = tokio::join!(answering, meanwhile);
        self.exchanges[index] = exchange;
        self.concurrent_failures.extend(found);
        heard.map(Some)
    }

    /// Subscribes, does steps while the subscription is open, and waits for what is expected of it.
    async fn run_while_listening(
        &mut self,
        filter: NotificationFilter,
        step: &Step,
        listen: &Listen,
        index: usize,
    ) -> Result<Option<StepResponse>, Finding> {
        let (session, owner) = (self.speaker.session, self.speaker.owner);
        let limit = self.timeout_of(step, index).unwrap_or_else(|| session.request_timeout());
        let listener = Listener { session, owner, filter, limit };
        let mut listening = match listener.subscribe(&mut self.exchanges[index]).await? {
            Agreement::Listening(listening) => listening,
            Agreement::Refusal(reply) if expects_success(step) => return Err(subscription::refusal(&reply)),
            Agreement::Refusal(reply) => return Ok(Some(self.note_reply(index, reply))),
        };
        self.warnings.extend(listening.excess());
        let found = Box::pin(self.all(Phase::Steps, &listen.during)).await.err().unwrap_or_default();
        if found.is_empty() {
            let deadline = Instant::now() + limit;
            while !self.is_met(step, listening.reply()) && listening.next_until(deadline).await? {}
            let until = Instant::now() + listen.linger;
            while self.is_met(step, listening.reply()) && listening.next_until(until).await? {}
        }
        self.concurrent_failures.extend(found);
        let reply = listening.end().await?;
        Ok(Some(self.note_reply(index, reply)))
    }

    /// Notes the answer of a step that listens.
    fn note_reply(&mut self, index: usize, reply: SessionReply) -> StepResponse {
        let exchange = &mut self.exchanges[index];
        (exchange.frame, exchange.answer_frame) = (reply.frame, Some(reply.answer_frame));
        exchange.elapsed_us = micros(reply.elapsed);
        let notifications = reply.notifications.iter().map(|one| (**one).clone()).collect();
        exchange.received = shorten_json(reply.message.get("error").unwrap_or(&notifications));
        StepResponse { method: LISTENING.to_owned(), reply }
    }

    /// Every expectation of a step holds for an answer.
    fn is_met(&self, step: &Step, reply: &SessionReply) -> bool {
        let catalog = &self.speaker.catalog;
        let answer = as_answer(LISTENING, reply, catalog, &self.names, self.files);
        step.expect.iter().all(|expectation| expectation.evaluate(&answer).is_empty())
    }

    /// Does one step; its exchange is there from the beginning, so that a step that is cut off can be shown.
    pub(crate) async fn speak(&mut self, phase: Phase, step: &Step) -> (usize, Result<Option<StepResponse>, Finding>) {
        let (exchange, intent) = intend(step, &self.names, phase);
        let intent = intent
            .map_err(|unsaid| self.intent_failure(unsaid))
            .and_then(|intent| permission::permit_in_rounds(intent, self.rounds.as_deref()))
            .and_then(|intent| {
                let is_own = self.is_derived || is_builtin(self.sources.file(step.span.source));
                ReadOnlyFilter { suite: self.suite, catalog: &self.speaker.catalog, is_own }.permit(intent, step)
            })
            .and_then(|intent| self.unless_in_vain(intent, &exchange, step));
        let index = self.exchanges.len();
        if let Some(history) = self.history {
            history.note_request(&exchange, &self.speaker.catalog);
        }
        self.exchanges.push(exchange);
        let result = match intent {
            Ok(intent) => match (intent, &step.action) {
                (Intent::Http(request), Action::Http(http)) if !http.during.is_empty() => {
                    self.run_while_pending(request, step, http, index).await
                }
                (Intent::Listen(filter), Action::Listen(listen)) => {
                    Box::pin(self.run_while_listening(filter, step, listen, index)).await
                }
                (intent, _) => {
                    let short = self.short_wait(&intent, step);
                    let timeout = self.timeout_of(step, index).into_iter().chain(short).min();
                    let heard = self.speaker.perform(intent, step, timeout, &mut self.exchanges[index]).await;
                    heard.map_err(|found| with_reason_of_wait(found, short))
                }
            },
            Err(found) => Err(found),
        };
        self.note_written(step, index);
        self.note_raw_call(index, &result);
        if let Ok(Some(heard)) = &result {
            let is_raw = matches!(step.action, Action::Http(_) | Action::Send(_));
            // Raw messages are judged by their own expectations.
            self.served += u64::from(is_raw || is_success(&heard.reply.message));
            self.note_unflagged(heard, index);
            self.note_error_content(heard, index);
        }
        (index, result)
    }

    /// The time for a request that any server answers at once, if it left such requests of other cases unanswered.
    fn short_wait(&self, intent: &Intent, step: &Step) -> Option<Duration> {
        let is_own = self.is_derived || is_builtin(self.sources.file(step.span.source));
        let Intent::Request { method, .. } = intent else { return None };
        self.speaker.session.short_wait(method).filter(|_| is_own)
    }

    fn timeout_of(&self, step: &Step, index: usize) -> Option<Duration> {
        let session = self.speaker.session;
        let is_late = || name_of_call(&self.exchanges[index]).is_some_and(|tool| session.is_late(tool));
        let most = self.suite.options.request_timeout.or_else(|| is_late().then(|| session.request_timeout()));
        let most = most.filter(|_| is_builtin(self.sources.file(step.span.source)));
        time_to_answer(step.timeout, most, self.patience)
    }

    fn unless_in_vain(&self, intent: Intent, exchange: &Exchange, step: &Step) -> Result<Intent, Finding> {
        let CaseSpeaker { session, owner, catalog } = &self.speaker;
        let in_vain = |tool: &str| {
            if let Some(listed) = catalog.tool(tool) {
                return session.in_vain(tool, owner, || may_be_served(listed, &intent));
            }
            // A tool that the server does not have need not answer once more than those that it has.
            let is_silent = session.is_silent(tool, owner, || false) || session.is_silent_server();
            is_silent.then_some(InVain::Silent)
        };
        let Some((tool, why)) = name_of_call(exchange).and_then(|tool| Some((tool, in_vain(tool)?))) else {
            return Ok(intent);
        };
        let waits = step.awaits == Awaited::Answer && step.cancel.is_none();
        if !waits || !self.is_derived && !is_builtin(self.sources.file(step.span.source)) {
            return Ok(intent);
        }
        let why = Reason::in_vain(tool, why).to_string();
        Err(Finding::new("timeout", why).with_problem(StepProblem::NeverAnswered))
    }

    /// Takes note of the parameters as the suite writes them, where they use earlier answers.
    fn note_written(&self, step: &Step, index: usize) {
        let frame = self.exchanges[index].frame;
        if frame == 0 || !self.has_captured {
            return;
        }
        let is_open = |name: &str| self.is_of_answer(name);
        if let Some((params, uses)) = written_params(&step.action, &self.names, &is_open) {
            self.speaker.session.note_written(frame, |written| {
                (written.params, written.uses) = (Some(params), uses);
            });
        }
    }

    /// Takes note of a step that was refused because there were too many calls.
    fn note_limit(&mut self, phase: Phase, exchange: usize, result: &Result<Option<StepResponse>, Finding>) {
        if self.limited.is_some() || phase != Phase::Steps || !self.is_derived {
            return;
        }
        let words = match result {
            Ok(Some(heard)) => limit_in_answer(&heard.reply.message),
            Ok(None) => None,
            Err(found) => match found.step_problem.as_deref() {
                Some(StepProblem::CallsLimited(words)) => Some(words.clone()),
                _ => None,
            },
        };
        self.limited = words.map(|words| LimitedStep { exchange, words });
    }

    /// Takes note of the answer to a call that is no request of the session, or of its silence.
    fn note_raw_call<T>(&self, index: usize, result: &Result<T, Finding>) {
        let exchange = &self.exchanges[index];
        if let (None, Some(tool)) = (&exchange.tool, name_of_call(exchange)) {
            match result {
                Ok(_) => self.speaker.session.note_answer(tool, CallAnswer::Refused),
                Err(found) if found.is_timeout() => self.note_wait(index),
                Err(_) => {}
            }
        }
    }

    /// Takes note of a call that was cut off, or got no answer.
    pub(crate) fn note_wait(&self, index: usize) {
        if let Some(tool) = name_of_call(&self.exchanges[index]) {
            self.speaker.session.note_wait(tool, self.speaker.owner);
        }
    }

    /// Takes note of a tool that says in its result that it failed, and does not flag it. What tools that run programs
    /// report may be the failure of those.
    fn note_unflagged(&mut self, heard: &StepResponse, index: usize) {
        if heard.method == "prompts/get"
            && let Some(words) = admitted_prompt_failure(&heard.reply.message["result"])
        {
            let name = heard.reply.params["name"].as_str().unwrap_or_default();
            let sent = &self.exchanges[index].sent;
            let found = || precondition::prompt_error_as_success(name, sent, &words, heard.reply.answer_frame);
            self.unflagged.entry(name.to_owned()).or_insert_with(found);
        }
        if heard.method != "tools/call" {
            return;
        }
        let Some(words) = admitted_failure(&heard.reply.message["result"]) else { return };
        let name = heard.reply.params["name"].as_str().unwrap_or_default();
        let Some(tool) = self.speaker.catalog.tool(name).filter(|tool| !tool.runs_code()) else { return };
        let sent = &self.exchanges[index].sent;
        let found = || precondition::error_as_success(&tool.name, sent, &words, heard.reply.answer_frame);
        self.unflagged.entry(name.to_owned()).or_insert_with(found);
    }

    /// Takes note of a refusal whose structured content is not what the tool declares.
    fn note_error_content(&mut self, heard: &StepResponse, index: usize) {
        let result = &heard.reply.message["result"];
        if heard.method != "tools/call" || result["isError"] != true {
            return;
        }
        let name = heard.reply.params["name"].as_str().unwrap_or_default();
        let (Some(tool), Some(content)) = (self.speaker.catalog.tool(name), result.get("structuredContent")) else {
            return;
        };
        let Some(objection) = tool.output_schema().and_then(|schema| schema::objection(schema, content)) else {
            return;
        };
        let sent = &self.exchanges[index].sent;
        let found = || precondition::unfit_error_content(&tool.name, sent, &objection, heard.reply.answer_frame);
        self.unflagged.entry(format!("{name} content")).or_insert_with(found);
    }

    /// The last exchange, where it got no answer.
    pub(crate) fn unanswered_exchange(&self) -> Option<usize> {
        let last = self.exchanges.len().checked_sub(1)?;
        self.exchanges[last].answer_frame.is_none().then_some(last)
    }

    /// Says of an exchange that was cut off in which frame its request went, if it went.
    pub(crate) fn find_request(&mut self, at: usize) {
        let earlier = self.exchanges[..at].iter().map(|exchange| exchange.answer_frame.unwrap_or(exchange.frame)).max();
        let frames = self.speaker.session.frames_of(self.speaker.owner);
        let own = frames.into_iter().find(|frame| *frame > earlier.unwrap_or(0));
        if self.exchanges[at].frame == 0 && self.exchanges[at].title != "wait" {
            self.exchanges[at].frame = own.unwrap_or(0);
        }
    }

    fn intent_failure(&self, unsaid: IntentError) -> Finding {
        let Unfilled { span, reason } = match unsaid {
            IntentError::Unfilled(unfilled) => unfilled,
            IntentError::WithoutSessionId => {
                let found = Finding::new("no-session-id", Reason::NoSessionId.to_string());
                return found.with_problem(StepProblem::NoSessionId);
            }
        };
        let found = match &reason {
            TemplateError::Missing(_) | TemplateError::NoVariable(_) | TemplateError::Invalid(_)
                if self.is_captured(span) =>
            {
                let path = if let TemplateError::Missing(path) = &reason { Some(path.clone()) } else { None };
                let help = "the answer that it was to be captured from has none".to_owned();
                Finding { help: Some(help), ..Finding::new(MISSING, reason.to_string()) }
                    .with_problem(StepProblem::MissingValue(path))
            }
            TemplateError::Missing(_)
            | TemplateError::NoVariable(_)
            | TemplateError::GivenUp(_)
            | TemplateError::Invalid(_) => finding::of_template(&reason),
        };
        finding::at(found, self.sources, span, finding::UNFILLED_HERE)
    }

    /// Returns true if a template uses what an earlier answer was to provide, so that the server is to blame for what
    /// it lacks, and not the suite or the environment.
    fn is_captured(&self, template: Span) -> bool {
        let is_given = |name: &String| {
            OF_SESSION.contains(&name.as_str()) || self.given.iter().flatten().any(|given| given.contains_key(name))
        };
        names_of(self.sources.text(template)).iter().any(|name| self.names.contains_key(name) && !is_given(name))
    }

    /// Returns true if no answer provided the value of a name.
    fn is_known_before(&self, name: &str) -> bool {
        let value = self.names.get(name);
        let mut given = self.given.iter().flatten().copied().chain([&self.drawn]);
        value.is_some() && given.any(|names| names.get(name) == value)
    }

    /// Returns true if an answer provided the value of a name.
    fn is_of_answer(&self, name: &str) -> bool {
        self.names.contains_key(name) && !OF_SESSION.contains(&name) && !self.is_known_before(name)
    }

    /// An expectation that did not hold; `None` where it depends on more than the case's answers.
    fn broken_expectation(&self, expectation: &Expectation) -> Option<BrokenExpectation> {
        let (mut uses, mut is_of_session) = (BTreeSet::new(), false);
        let expected = expectation.bind(&self.names, &mut |name| {
            is_of_session |= OF_SESSION.contains(&name);
            let is_open = self.is_of_answer(name);
            uses.extend(is_open.then(|| name.to_owned()));
            is_open
        });
        let expected = expected.filter(|_| !is_of_session)?;
        Some(BrokenExpectation { expected, uses })
    }

    /// The cure for an expectation that does not hold, where the step knows one.
    fn cure(&self, step: &Step, expectation: &Expectation, index: usize) -> Option<String> {
        let is_about_notifications = expectation.node().get("notifications").is_some();
        let listens = matches!(step.action, Action::Listen(_)) && is_about_notifications;
        let limit = || self.timeout_of(step, index).unwrap_or_else(|| self.speaker.session.request_timeout());
        listens.then(|| subscription::cure(limit()))
    }

    pub(crate) fn judge(&mut self, step: &Step, heard: &StepResponse, index: usize) -> Vec<Finding> {
        let problems = self.capture(step, heard);
        let answer = as_answer(&heard.method, &heard.reply, &self.speaker.catalog, &self.names, self.files);
        if let Some(lacking) = step.needs.iter().find(|need| !need.assert.evaluate(&answer).is_empty()) {
            let found = Finding { exchange: Some(index), ..Finding::new("not-applicable", lacking.reason.clone()) };
            return vec![found.with_problem(StepProblem::NotApplicable)];
        }
        let mut told: Vec<Finding> = Vec::new();
        for expectation in &step.expect {
            let mut mismatches = expectation.evaluate(&answer);
            for mismatch in mismatches.iter_mut().filter(|mismatch| mismatch.kind == MismatchKind::Unfilled) {
                if mismatch.weight == MismatchWeight::Fails && self.is_captured(mismatch.span) {
                    *mismatch = mismatch.clone().into_missing();
                }
            }
            if mismatches.is_empty() {
                continue;
            }
            if let Some(unjudged) = mismatches.iter().find(|mismatch| mismatch.weight == MismatchWeight::Unjudged) {
                self.inconclusive_reason.get_or_insert_with(|| Reason::NotEvaluated(unjudged.message.clone()));
            }
            let expect = self.broken_expectation(expectation).map(Box::new);
            let found =
                mismatches.into_iter().map(|mismatch| diagnosis::of_mismatch(mismatch, self.sources, Some(index)));
            let cure = self.cure(step, expectation, index);
            let found = found.map(|found| Finding { help: found.help.clone().or_else(|| cure.clone()), ..found });
            told.extend(found.map(|found| Finding { expect: expect.clone(), ..found }));
        }
        let (mut found, doubts): (Vec<Finding>, Vec<_>) =
            told.into_iter().partition(|told| told.level == RequirementLevel::Must);
        self.warnings.extend(doubts);
        if let (Some(snapshot), Some(recorder)) = (&step.snapshot, &mut self.recorder) {
            let told = recorder.check(snapshot, &heard.reply.message, self.sources, index);
            let (broken, doubts): (Vec<_>, Vec<_>) =
                told.into_iter().partition(|told| told.level == RequirementLevel::Must);
            found.extend(broken);
            self.warnings.extend(doubts);
        }
        if let (Action::Http(request), true) = (&step.action, self.is_derived) {
            found = foreign_origin::weigh(found, request, &self.names, &heard.reply.message, &self.speaker.catalog);
        }
        // A value that could not be captured matters only where everything else held.
        if found.is_empty() {
            found = problems.into_iter().map(|found| Finding { exchange: Some(index), ..found }).collect();
        }
        if let (Some(unknown), Some(first)) = (unknown_name(&answer), found.first_mut()) {
            name_unknown(first, unknown, step);
        }
        found
    }

    pub(crate) fn capture(&mut self, step: &Step, heard: &StepResponse) -> Vec<Finding> {
        let mut problems = Vec::new();
        for Capture { name, path, is_secret } in &step.capture {
            match path.find(&heard.reply.message) {
                Ok(value) => {
                    if *is_secret {
                        self.redactor.capture(&value);
                    }
                    self.names.insert(name.value.clone(), value.into_owned());
                    self.has_captured = true;
                    self.speaker.session.note_written(heard.reply.frame, |written| {
                        written.captures.insert(name.value.clone(), path.as_str().to_owned());
                    });
                }
                Err(reason) => {
                    let found = Finding::new("capture", format!("`{}` cannot be captured: {reason}", name.value));
                    problems.push(finding::at(found, self.sources, name.span, "captured here"));
                }
            }
        }
        problems
    }
}

/// An answer as expectations see it.
pub(crate) fn as_answer<'b>(
    method: &'b str,
    reply: &'b SessionReply,
    catalog: &'b Catalog,
    names: &'b Names,
    files: Option<&'b dyn RunFiles>,
) -> Answer<'b> {
    Answer {
        method,
        params: &reply.params,
        message: &reply.message,
        notifications: &reply.notifications,
        elapsed: reply.elapsed,
        catalog,
        names,
        files,
    }
}

/// The method for the answers of steps that listen, whichever revision they speak.
const LISTENING: &str = "subscriptions/listen";

/// The status of HTTP with which a server limits how often it is called.
const TOO_MANY_REQUESTS: u16 = 429;

/// The names that a session provides.
const OF_SESSION: [&str; 2] = ["session", "server"];

/// The names that a session provides: `session` and, over HTTP, `server`.
fn of_session(session: &Session) -> Names {
    let mut own = json!({"revision": session.server.revision.as_str()});
    let mut names = Names::new();
    if let Some(endpoint) = session.endpoint() {
        if let Some(id) = endpoint.session_id() {
            own["id"] = id.into();
        }
        names.insert(
            "server".to_owned(),
            json!({"url": endpoint.url(), "host": endpoint.host(), "path": endpoint.path()}),
        );
    }
    names.insert("session".to_owned(), own);
    names
}

/// Returns true if a tool takes the arguments of a call.
fn may_be_served(tool: &Tool, intent: &Intent) -> bool {
    let Intent::Request { params: Some(params), .. } = intent else { return false };
    schema::satisfies(&tool.arguments_schema(), &params["arguments"])
}

/// Returns true if an answer is neither an error nor flagged as one, nor says in place of a result what the server lacks.
pub(crate) fn is_success(message: &Value) -> bool {
    message.get("result").is_some_and(|result| result["isError"] != true && admitted_lack(result).is_none())
}

/// The words of an answer that refuses a request because there were too many: that of a tool, of the protocol or of HTTP.
fn limit_in_answer(message: &Value) -> Option<String> {
    if message["status"] == TOO_MANY_REQUESTS {
        return Some(message["body"].as_str().and_then(call_limit).unwrap_or_else(|| "HTTP 429".to_owned()));
    }
    let is_refusal = message.get("error").is_some() || message["result"]["isError"] == true;
    call_limit(&words_of(message)).filter(|_| is_refusal)
}

/// Says why a request was waited for less than others, where it was.
fn with_reason_of_wait(found: Finding, wait: Option<Duration>) -> Finding {
    match wait {
        Some(_) if found.is_timeout() => found
            .with_evidence("waited", "less than for other requests: two cases waited the whole time for such answers"),
        Some(_) | None => found,
    }
}

/// Says that a request gives a name which the server does not offer. Where that is why the step failed, the server's words
/// are quoted once, as what was found.
fn name_unknown(found: &mut Finding, unknown: UnknownName, step: &Step) {
    let lacks_answer =
        found.code == Code::IS_ERROR || matches!(found.step_problem.as_deref(), Some(StepProblem::MissingValue(_)));
    if unknown.kind == UnknownNameKind::Argument || !lacks_answer || !expects_success(step) {
        found.help = Some(unknown.to_text());
        return;
    }
    found.message = unknown.message;
    found.help = unknown.nearest.or(found.help.take());
    if let Some(quote) = &mut found.quote {
        quote.label.clear();
    }
}

/// The time for the answer of a step: its `own`, but no more than the `most` that the suite allows a ready-made one, and
/// no more than the patience with a server that hangs.
fn time_to_answer(own: Option<Duration>, most: Option<Duration>, patience: Option<Duration>) -> Option<Duration> {
    let own = own.map(|own| most.map_or(own, |most| own.min(most)));
    [own, patience].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::generated::{bare, expectation};
    use crate::source::SourceFile;

    #[test]
    fn a_limit_of_calls_is_found_in_refusals_alone() {
        let text = |text: &str, is_error: bool| json!({"result": {"isError": is_error, "content": [{"type": "text", "text": text}]}});
        for (message, expected) in [
            (text("Error: Rate limit exceeded", true), Some("Error: Rate limit exceeded")),
            (json!({"error": {"code": -32000, "message": "too many requests"}}), Some("too many requests")),
            (json!({"status": 429, "body": ""}), Some("HTTP 429")),
            (json!({"status": 429, "body": "Rate limit exceeded"}), Some("Rate limit exceeded")),
            (text("no user `u429`", true), None),
            (text("The guide says what to do when the rate limit is exceeded", false), None),
            (json!({"status": 403, "body": "no"}), None),
        ] {
            assert_eq!(limit_in_answer(&message).as_deref(), expected, "{message}");
        }
    }

    #[test]
    fn a_name_that_is_not_offered_is_why_a_step_failed_unless_it_expects_an_error() {
        let unknown = |kind| UnknownName { kind, message: "no `a`".to_owned(), nearest: Some("`b`?".to_owned()) };
        let finding = |code: &'static str| Finding::new(code, "the server said: no");
        let span = Span { source: Sources::default().add(SourceFile::new("s.yml", "")), start: 0, end: 0 };
        let check = |kind, code, expected: Value, message, help| {
            let step = Step { expect: vec![expectation(&expected, span)], ..bare(Action::Alive, span) };
            let mut found = finding(code);
            name_unknown(&mut found, unknown(kind), &step);
            assert_eq!((found.message.as_str(), found.help.as_deref()), (message, Some(help)), "{code} {expected}");
        };
        let (said, success, error) = ("the server said: no", json!({"is_error": false}), json!({"is_error": true}));
        check(UnknownNameKind::Offer, "is-error", success.clone(), "no `a`", "`b`?");
        check(UnknownNameKind::Offer, "is-error", error, said, "no `a`; `b`?");
        check(UnknownNameKind::Offer, "latency", success.clone(), said, "no `a`; `b`?");
        check(UnknownNameKind::Argument, "is-error", success, said, "no `a`; `b`?");
    }

    #[test]
    fn a_ready_made_step_waits_no_longer_than_the_suite_and_nobody_longer_than_a_hanging_server_deserves() {
        let seconds = |seconds: Option<u64>| seconds.map(Duration::from_secs);
        for (own, most, patience, expected) in [
            (None, None, None, None),
            (Some(25), None, None, Some(25)),
            (Some(25), Some(2), None, Some(2)),
            (Some(1), Some(2), None, Some(1)),
            // The time of a step without one is that of the session, which is the suite's already.
            (None, Some(2), None, None),
            (None, None, Some(4), Some(4)),
            (Some(25), None, Some(4), Some(4)),
            (Some(1), Some(2), Some(4), Some(1)),
        ] {
            let time = time_to_answer(seconds(own), seconds(most), seconds(patience));
            assert_eq!(time, seconds(expected), "{own:?}, {most:?}, {patience:?}");
        }
    }
}
