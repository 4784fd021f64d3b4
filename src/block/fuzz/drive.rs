//! One session: calls go out, several at a time, and what comes back is judged.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::pin;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::Fuzz;
use super::answer_pool::AnswerPool;
use super::calls::{CallGenerator, GeneratedCall};
use super::counts::CallCounts;
use super::crashing_tools::CrashingTools;
use super::judge::{Fate, judge};
use super::problem::{self, FuzzProblem};
use super::problem_list::ProblemList;
use super::state_leak::{AnsweredCall, Suspicions};
use super::wire::{CallEvent, Wire};
use crate::check::CheckSession;
use crate::diagnosis::of_violation;
use crate::event::{FailureClass, Finding, FindingKind, ReproductionCall, ReproductionCheck, RunEnd};
use crate::matching::words_of;
use crate::plan::CheckContext;
use crate::reproduce::Player;
use crate::session::{CallAnswer, ReceivedLine};
use crate::source::duration_text;
use crate::wire::admitted_failure;

/// The number of last calls that may have brought about what belongs to no answer.
const SUSPECTS: usize = 16;

/// Of how many calls each is looked at for the branches that it takes; of later ones some are.
const MARKED: u64 = 4_000;

/// The number of calls without an answer after which no more are made.
const MOST_SILENCES: u32 = 3;

/// The end of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionOutcome {
    /// Everything was said.
    Done,
    /// The server ended, or cannot be understood any more.
    Broken,
    /// A call was not answered.
    Hung,
    /// The run ends.
    Stopped(RunEnd),
    /// The tool has answered nothing, and nobody waits for it any more.
    Silent,
}

/// The violations of the protocol in a line.
fn violations(received: &ReceivedLine) -> Vec<FuzzProblem> {
    let line = String::from_utf8_lossy(&received.line);
    received.violations.iter().map(|violation| FuzzProblem::violation(of_violation(violation, &line))).collect()
}

/// Everything that is known across the sessions of a case.
pub(crate) struct Driver<'a> {
    pub(crate) context: &'a CheckContext<'a>,
    pub(crate) settings: &'a Fuzz,
    pub(crate) calls: &'a CallGenerator,
    pub(crate) counts: CallCounts,
    pub(crate) problems: ProblemList,
    pub(crate) suspicions: Suspicions,
    /// Tools that only their own cases call any more.
    crashing_tools: &'a CrashingTools,
    /// The calls of this session that were left out because of that.
    left_out: BTreeSet<u64>,
    /// The number of times that a call was not answered while others were.
    silences: u32,
    /// The words of the first valid call that was refused.
    pub(crate) refusal: Option<String>,
    /// The arguments of the first call that was served although the schema forbids it, and why it does.
    pub(crate) forbidden: Option<ForbiddenCall>,
    /// The time of all calls, where the tool is slow.
    slow_time: Option<Duration>,
    /// The requests of the suite's setup before the calls.
    pub(crate) setup: Vec<ReproductionCall>,
    /// Frames of the first session.
    pub(crate) frames: Vec<u32>,
    /// The number of the next call.
    next: u64,
}

/// A call that was served although the schema of its tool forbids it.
pub(crate) struct ForbiddenCall {
    pub(crate) arguments: Value,
    /// The rule that it breaks, as half a sentence.
    pub(crate) says: String,
}

/// The log of one session.
pub(crate) struct SessionLog {
    /// Its first call.
    pub(crate) begin: u64,
    pub(crate) pool: AnswerPool,
    open: BTreeMap<u64, GeneratedCall>,
    /// The latest call that was answered.
    latest: Option<u64>,
    /// The tools that served a call, by their indices.
    served: BTreeSet<usize>,
    recent: VecDeque<u64>,
    begun: Instant,
}

impl<'a> Driver<'a> {
    pub(crate) fn new(
        context: &'a CheckContext<'a>,
        settings: &'a Fuzz,
        crashing_tools: &'a CrashingTools,
        calls: &'a CallGenerator,
    ) -> Self {
        Self {
            context,
            settings,
            calls,
            counts: CallCounts::default(),
            problems: ProblemList::default(),
            suspicions: Suspicions::default(),
            crashing_tools,
            left_out: BTreeSet::new(),
            silences: 0,
            refusal: None,
            forbidden: None,
            slow_time: None,
            setup: Vec::new(),
            frames: Vec::new(),
            next: 0,
        }
    }

    /// A session that begins with the next call.
    pub(crate) fn log(&mut self) -> SessionLog {
        self.left_out.clear();
        SessionLog {
            latest: None,
            served: BTreeSet::new(),
            begin: self.next,
            pool: self.calls.pool(self.next),
            open: BTreeMap::new(),
            recent: VecDeque::new(),
            begun: Instant::now(),
        }
    }

    /// Calls until everything is said, or the server cannot go on.
    pub(crate) async fn drive(&mut self, session: &CheckSession<'_>, log: &mut SessionLog) -> SessionOutcome {
        let mut wire = Wire::new(session, self.calls).await;
        log.begun = Instant::now();
        let ended = self.until_the_end(&mut wire, log).await;
        self.counts.spent += log.begun.elapsed();
        let silent = wire.give_up();
        drop(wire);
        for tool in std::mem::take(&mut log.served) {
            session.session().note_answer(&self.calls.callees[tool].name, CallAnswer::Served);
        }
        if ended == SessionOutcome::Hung {
            self.hung(session, silent).await;
        }
        if self.frames.is_empty() {
            self.frames = session.session().frames_of(session.owner());
        }
        ended
    }

    async fn until_the_end(&mut self, wire: &mut Wire<'_>, log: &mut SessionLog) -> SessionOutcome {
        let mut stopped = pin!(self.context.servers.wait_for_stop());
        let patience = self.context.request_timeout;
        loop {
            self.fill(wire, log);
            wire.flush();
            let Some((_, since)) = wire.oldest() else { return SessionOutcome::Done };
            let mut next = tokio::select! {
                biased;
                event = wire.next() => Some(event),
                end = &mut stopped => return SessionOutcome::Stopped(end),
                () = sleep_until(since + patience) => None,
            };
            if next.is_none() && !self.passes_over(wire, log) {
                self.silences += 1;
                return SessionOutcome::Hung;
            }
            if self.is_silent() {
                return SessionOutcome::Silent;
            }
            while let Some(event) = next {
                if let Some(ended) = self.take(event, log) {
                    return ended;
                }
                next = wire.ready();
            }
            for number in wire.unanswerable_calls() {
                log.open.remove(&number);
                self.counts.lost += 1;
            }
        }
    }

    /// Goes on without an answer where others came that were asked for later: it is known which call has none.
    fn passes_over(&mut self, wire: &mut Wire<'_>, log: &mut SessionLog) -> bool {
        let Some((number, _)) = wire.oldest().filter(|(oldest, _)| log.latest > Some(*oldest)) else { return false };
        let Some(made) = log.open.remove(&number) else { return false };
        self.silences += 1;
        wire.forget(number);
        self.counts.lost += 1;
        let problem = self.silent("answers other calls meanwhile", &[]);
        self.problems.note(problem, Some(made.tool), vec![number]);
        self.hazard(made.tool);
        true
    }

    /// The call that was made, if any.
    pub(crate) fn remade(&self, number: u64, log: &SessionLog) -> Option<GeneratedCall> {
        let was_made = number >= log.begin && number < self.next && !self.left_out.contains(&number);
        was_made.then(|| self.calls.make(number, &log.pool))
    }

    /// Sends as much as may be under way.
    fn fill(&mut self, wire: &mut Wire<'_>, log: &mut SessionLog) {
        if self.is_late(log) {
            return;
        }
        while wire.under_way() < self.settings.in_flight && self.settings.cases.is_none_or(|most| self.next < most) {
            let oldest = wire.oldest().map(|(number, _)| number);
            if log.pool.needs(self.next).is_some_and(|needed| oldest.is_some_and(|oldest| oldest <= needed)) {
                return;
            }
            let number = self.next;
            self.next += 1;
            let made = self.calls.make(number, &log.pool);
            if made.tool != 0 && self.crashing_tools.has(&self.calls.callees[made.tool].name) {
                self.left_out.insert(number);
                continue;
            }
            self.count(&made);
            let (counts, tool) = (&mut self.counts, made.tool);
            wire.send(number, self.calls, &made, &mut |arguments| counts.note_sent(tool, arguments));
            log.recent.push_back(number);
            if log.recent.len() > SUSPECTS.max(self.settings.in_flight) {
                log.recent.pop_front();
            }
            log.open.insert(number, made);
        }
    }

    fn is_late(&self, log: &SessionLog) -> bool {
        let most = self.settings.time.into_iter().chain(self.slow_time).min();
        most.is_some_and(|most| self.counts.spent + log.begun.elapsed() >= most)
    }

    fn count(&mut self, made: &GeneratedCall) {
        if made.tool != 0 {
            self.counts.others += 1;
            return;
        }
        self.counts.calls += 1;
        self.counts.invalid += u64::from(made.breach.is_some());
        // Some branches are never taken, and looking for them costs more than the call.
        let is_looked_at = self.counts.calls < MARKED || self.counts.calls.is_multiple_of(16);
        if is_looked_at && self.counts.seen.count() < self.calls.callees[0].generator().branches() {
            self.calls.mark(made, &mut self.counts.seen);
        }
    }

    /// Takes in what happened; says so where it is the end.
    fn take(&mut self, event: CallEvent, log: &mut SessionLog) -> Option<SessionOutcome> {
        match event {
            CallEvent::Answer(number, message, told) => self.note_answer(number, message.as_deref(), &told, log),
            CallEvent::Failed(number, failure) => {
                let made = log.open.remove(&number)?;
                self.counts.lost += u64::from(made.tool == 0);
                let problem = problem::of_failure(&failure);
                if problem.kind == FindingKind::Hang {
                    self.silences += 1;
                    self.hazard(made.tool);
                }
                self.problems.note(problem, Some(made.tool), vec![number]);
            }
            CallEvent::Broken(told) => {
                for problem in violations(&told) {
                    self.problems.note(problem, None, log.recent.iter().copied().collect());
                }
            }
            CallEvent::Over(failure) => {
                self.counts.lost += log.open.len() as u64;
                self.problems.note(problem::of_failure(&failure), None, log.recent.iter().copied().collect());
                return Some(SessionOutcome::Broken);
            }
        }
        None
    }

    fn note_answer(&mut self, number: u64, message: Option<&Value>, told: &ReceivedLine, log: &mut SessionLog) {
        let Some(made) = log.open.remove(&number) else { return };
        let tool = made.tool;
        log.latest = log.latest.max(Some(number));
        for problem in violations(told) {
            self.problems.note(problem, Some(tool), vec![number]);
        }
        if let Some(beyond) = told.beyond {
            self.problems.note(problem::not_read(beyond, Some(told.frame)), Some(tool), vec![number]);
        }
        let judged = message.map(|message| judge(self.calls, &made, message));
        let fate = judged.as_ref().map_or(Fate::Unusable, |judged| judged.fate);
        if matches!(fate, Fate::Served | Fate::Open) {
            log.served.insert(tool);
        }
        if tool == 0 {
            self.counts.note_fate(fate, made.breach.is_some());
            self.remember(&made, fate, message);
            self.counts.unjudged += u64::from(judged.as_ref().is_some_and(|judged| judged.is_unjudged));
        }
        for problem in judged.into_iter().flat_map(|judged| judged.problems) {
            self.problems.note(problem, Some(tool), vec![number]);
        }
        if let (Fate::Served, Some(message)) = (fate, message)
            && log.pool.learns_from(number)
        {
            let is_own = |text: &str| self.calls.tokens.is_in(text);
            log.pool.learn(number, &message["result"], &self.calls.wanted, &is_own);
        }
        // Over HTTP nobody keeps the line.
        let written = message.filter(|_| told.line.is_empty()).map(Value::to_string);
        let line = written.as_ref().map_or(&*told.line, |text| text.as_bytes());
        let mut suspicions = std::mem::take(&mut self.suspicions);
        suspicions.look(self.calls, &AnsweredCall { number, made: &made, line }, |number| self.remade(number, log));
        self.suspicions = suspicions;
    }

    /// Keeps what a sentence about all calls quotes.
    fn remember(&mut self, made: &GeneratedCall, fate: Fate, message: Option<&Value>) {
        match (fate, self.calls.breach(made)) {
            (Fate::Refused, None) if self.refusal.is_none() => {
                let admitted = message.and_then(|message| admitted_failure(&message["result"]));
                self.refusal = admitted.or_else(|| message.map(words_of));
            }
            (Fate::Served, Some(broken)) if self.forbidden.is_none() => {
                let (arguments, says) = (made.arguments.clone(), broken.says.clone());
                self.forbidden = Some(ForbiddenCall { arguments, says });
            }
            (Fate::Served | Fate::Refused | Fate::Open | Fate::Unusable, _) => {}
        }
    }

    /// The tool that is judged.
    pub(crate) fn tool(&self) -> &'a str {
        &self.calls.callees[0].name
    }

    /// Leaves tools alone that are known to serve nothing, or to be slow, and gives the one that is judged less time if it is
    /// slow.
    pub(crate) fn learn_other_cases(&mut self, session: &CheckSession<'_>) {
        let slow = |tool: usize| session.session().slow_tool(&self.calls.callees[tool].name);
        let is_silent =
            |tool: &usize| session.session().is_silent(&self.calls.callees[*tool].name, session.owner(), || true);
        let ends_server =
            |tool: &usize| session.session().ends_server(&self.calls.callees[*tool].name, session.owner());
        (1..self.calls.callees.len())
            .filter(|tool| is_silent(tool) || ends_server(tool) || slow(*tool).is_some())
            .for_each(|tool| self.hazard(tool));
        if let Some((call, time)) = slow(0).zip(self.settings.slow_time) {
            self.slow_time = Some(time);
            self.counts.slow_call = Some(call);
        }
    }

    /// Takes note of calls that nobody answered.
    async fn hung(&mut self, session: &CheckSession<'_>, silent: Vec<u64>) {
        let timeout = self.context.request_timeout.min(Duration::from_secs(2));
        let is_alive = Player { session: session.session(), owner: session.owner(), timeout }.ping().await.is_ok();
        let others = if is_alive { "answers other requests meanwhile" } else { "answers nothing else meanwhile" };
        self.counts.lost += silent.len() as u64;
        let problem = self.silent(others, &session.session().stderr_tail());
        self.problems.note(problem, None, silent);
    }

    fn silent(&self, others: &str, stderr: &[String]) -> FuzzProblem {
        let limit = self.context.request_timeout;
        let message = format!("`tools/call` got no answer within {}", duration_text(limit));
        let found = Finding::failure(FailureClass::Timeout, message)
            .with_evidence("server", others)
            .with_evidence("stderr", stderr.join("\n"));
        let check = ReproductionCheck::Silent(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        FuzzProblem::new(FindingKind::Hang, "", check, found)
    }

    /// Takes note of a server that ended after its last answer.
    pub(crate) fn note_end(&mut self, found: Finding, log: &SessionLog) {
        self.problems.note(problem::of_exit(found), None, log.recent.iter().copied().collect());
    }

    /// So many calls had no answer that no more are needed.
    pub(crate) fn is_silent(&self) -> bool {
        self.silences >= MOST_SILENCES
    }

    /// Keeps others from calling a tool.
    pub(crate) fn hazard(&self, tool: usize) {
        self.crashing_tools.add(&self.calls.callees[tool].name);
    }

    /// Counts the calls that there was no time for, if the tool is slow.
    pub(crate) fn count_not_made(&mut self) {
        self.counts.not_made = match (self.slow_time, self.settings.cases) {
            (Some(_), Some(cases)) => cases.saturating_sub(self.next),
            (None, _) | (_, None) => 0,
        };
    }

    /// Nothing more is to be said.
    pub(crate) fn is_done(&self, log: &SessionLog) -> bool {
        self.settings.cases.is_some_and(|most| self.next >= most) || self.is_late(log)
    }
}
