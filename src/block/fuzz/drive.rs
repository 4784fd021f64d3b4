//! One session: calls go out, several at a time, and what comes back is judged.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::pin;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::Fuzz;
use super::calls::{Calls, Made};
use super::hazards::Hazards;
use super::judge::{Fate, judge};
use super::leak::Suspicions;
use super::ledger::Ledger;
use super::problem::{self, Problem};
use super::replay::is_alive;
use super::sequence::Pool;
use super::tally::Tally;
use super::wire::{Event, Wire};
use crate::event::{FailureClass, Finding, FindingKind, ReproductionCall, ReproductionCheck};
use crate::plan::CheckContext;
use crate::session::{ReceivedLine, Session};
use crate::source::duration_text;

/// How many of the last calls may have brought about what belongs to no answer.
const SUSPECTS: usize = 16;

/// Of how many calls each is looked at for the branches that it takes; of later ones some are.
const MARKED: u64 = 4_000;

/// How many calls without an answer are enough.
const MOST_SILENCES: u32 = 3;

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// Everything was said.
    Done,
    /// The server ended, or cannot be understood any more.
    Broken,
    /// A call was not answered.
    Hung,
    /// Somebody wants to stop.
    Stopped,
}

/// Everything that is known across the sessions of a case.
pub(super) struct Driver<'a> {
    pub(super) context: &'a CheckContext<'a>,
    pub(super) settings: &'a Fuzz,
    pub(super) calls: &'a Calls,
    pub(super) tally: Tally,
    pub(super) ledger: Ledger,
    pub(super) suspicions: Suspicions,
    /// Tools that only their own cases call any more.
    hazards: &'a Hazards,
    /// The calls of this session that were left out because of that.
    left_out: BTreeSet<u64>,
    /// How often a call was not answered while others were.
    silences: u32,
    /// What the suite's setup said before the calls.
    pub(super) setup: Vec<ReproductionCall>,
    /// Frames of the first session.
    pub(super) frames: Vec<u32>,
    /// The number of the next call.
    next: u64,
}

/// What is known of one session.
pub(super) struct Log {
    /// Its first call.
    pub(super) begin: u64,
    pub(super) pool: Pool,
    open: BTreeMap<u64, Made>,
    /// The latest call that was answered.
    latest: Option<u64>,
    recent: VecDeque<u64>,
    begun: Instant,
}

impl<'a> Driver<'a> {
    pub(super) fn new(
        context: &'a CheckContext<'a>,
        (settings, hazards): (&'a Fuzz, &'a Hazards),
        calls: &'a Calls,
    ) -> Self {
        Self {
            context,
            settings,
            calls,
            tally: Tally::default(),
            ledger: Ledger::default(),
            suspicions: Suspicions::default(),
            hazards,
            left_out: BTreeSet::new(),
            silences: 0,
            setup: Vec::new(),
            frames: Vec::new(),
            next: 0,
        }
    }

    /// A session that begins with the next call.
    pub(super) fn log(&mut self) -> Log {
        self.left_out.clear();
        Log {
            latest: None,
            begin: self.next,
            pool: self.calls.pool(self.next),
            open: BTreeMap::new(),
            recent: VecDeque::new(),
            begun: Instant::now(),
        }
    }

    /// Calls until everything is said, or the server cannot go on.
    pub(super) async fn drive(&mut self, session: &Session, log: &mut Log) -> Ended {
        let mut wire = Wire::new(session, self.context.owner, self.calls).await;
        log.begun = Instant::now();
        let ended = self.until_the_end(&mut wire, log).await;
        self.tally.spent += log.begun.elapsed();
        let silent = wire.give_up();
        drop(wire);
        if ended == Ended::Hung {
            self.hung(session, silent).await;
        }
        if self.frames.is_empty() {
            self.frames = session.frames_of(self.context.owner);
        }
        ended
    }

    async fn until_the_end(&mut self, wire: &mut Wire<'_>, log: &mut Log) -> Ended {
        let mut stopped = pin!(self.context.servers.stopped());
        let patience = self.context.request_timeout;
        loop {
            self.fill(wire, log);
            wire.flush();
            let Some((_, since)) = wire.oldest() else { return Ended::Done };
            let mut next = tokio::select! {
                biased;
                event = wire.next() => Some(event),
                () = &mut stopped => return Ended::Stopped,
                () = sleep_until(since + patience) => None,
            };
            if next.is_none() && !self.passes_over(wire, log) {
                self.silences += 1;
                return Ended::Hung;
            }
            if self.is_silent() {
                return Ended::Stopped;
            }
            while let Some(event) = next {
                if let Some(ended) = self.take(event, log) {
                    return ended;
                }
                next = wire.ready();
            }
            for number in wire.garbled() {
                log.open.remove(&number);
                self.tally.lost += 1;
            }
        }
    }

    /// Goes on without an answer where others came that were asked for later: it is known which call has none.
    fn passes_over(&mut self, wire: &mut Wire<'_>, log: &mut Log) -> bool {
        let Some((number, _)) = wire.oldest().filter(|(oldest, _)| log.latest > Some(*oldest)) else { return false };
        let Some(made) = log.open.remove(&number) else { return false };
        self.silences += 1;
        wire.forget(number);
        self.tally.lost += 1;
        let problem = self.silent("answers other calls meanwhile", &[]);
        self.ledger.note(problem, Some(made.tool), vec![number]);
        self.hazard(made.tool);
        true
    }

    /// Whether a call was made, and which.
    pub(super) fn remade(&self, number: u64, log: &Log) -> Option<Made> {
        let was_made = number >= log.begin && number < self.next && !self.left_out.contains(&number);
        was_made.then(|| self.calls.make(number, &log.pool))
    }

    /// Sends as much as may be under way.
    fn fill(&mut self, wire: &mut Wire<'_>, log: &mut Log) {
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
            if made.tool != 0 && self.hazards.has(&self.calls.callees[made.tool].name) {
                self.left_out.insert(number);
                continue;
            }
            self.count(&made);
            let (tally, tool) = (&mut self.tally, made.tool);
            wire.send(number, (self.calls, &made), &mut |arguments| tally.sent(tool, arguments));
            log.recent.push_back(number);
            if log.recent.len() > SUSPECTS.max(self.settings.in_flight) {
                log.recent.pop_front();
            }
            log.open.insert(number, made);
        }
    }

    fn is_late(&self, log: &Log) -> bool {
        self.settings.time.is_some_and(|most: Duration| self.tally.spent + log.begun.elapsed() >= most)
    }

    fn count(&mut self, made: &Made) {
        if made.tool != 0 {
            self.tally.others += 1;
            return;
        }
        self.tally.calls += 1;
        self.tally.invalid.0 += u64::from(made.breach.is_some());
        // Some branches are never taken, and looking for them costs more than the call.
        let is_looked_at = self.tally.calls < MARKED || self.tally.calls.is_multiple_of(16);
        if is_looked_at && self.tally.seen.count() < self.calls.callees[0].maker().branches() {
            self.calls.mark(made, &mut self.tally.seen);
        }
    }

    /// Takes in what happened; says so where it is the end.
    fn take(&mut self, event: Event, log: &mut Log) -> Option<Ended> {
        match event {
            Event::Answer(number, message, told) => self.answered(number, message.as_deref(), &told, log),
            Event::Failed(number, failure) => {
                let made = log.open.remove(&number)?;
                self.tally.lost += u64::from(made.tool == 0);
                let problem = problem::failed(&failure);
                if problem.kind == FindingKind::Hang {
                    self.silences += 1;
                    self.hazard(made.tool);
                }
                self.ledger.note(problem, Some(made.tool), vec![number]);
            }
            Event::Broken(told) => {
                for violation in &told.violations {
                    self.ledger.note(problem::broken(violation, &told), None, log.recent.iter().copied().collect());
                }
            }
            Event::Over(failure) => {
                self.tally.lost += log.open.len() as u64;
                self.ledger.note(problem::failed(&failure), None, log.recent.iter().copied().collect());
                return Some(Ended::Broken);
            }
        }
        None
    }

    fn answered(&mut self, number: u64, message: Option<&Value>, told: &ReceivedLine, log: &mut Log) {
        let Some(made) = log.open.remove(&number) else { return };
        let tool = made.tool;
        log.latest = log.latest.max(Some(number));
        for violation in &told.violations {
            self.ledger.note(problem::broken(violation, told), Some(tool), vec![number]);
        }
        if let Some(beyond) = told.beyond {
            self.ledger.note(problem::not_read(beyond, Some(told.frame)), Some(tool), vec![number]);
        }
        let judged = message.map(|message| judge(self.calls, &made, message));
        let fate = judged.as_ref().map_or(Fate::Unusable, |judged| judged.fate);
        if tool == 0 {
            self.decide(&made, fate);
            self.tally.unjudged += u64::from(judged.as_ref().is_some_and(|judged| judged.is_unjudged));
        }
        for problem in judged.into_iter().flat_map(|judged| judged.problems) {
            self.ledger.note(problem, Some(tool), vec![number]);
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
        suspicions.look(self.calls, (number, &made, line), |number| self.remade(number, log));
        self.suspicions = suspicions;
    }

    fn decide(&mut self, made: &Made, fate: Fate) {
        let tally = &mut self.tally;
        match (fate, made.breach.is_some()) {
            (Fate::Served | Fate::Open, _) => tally.served += 1,
            (Fate::Refused, false) => tally.refused += 1,
            (Fate::Refused, true) => tally.invalid.1 += 1,
            (Fate::Unusable, _) => tally.lost += 1,
        }
    }

    /// Takes note of calls that nobody answered.
    async fn hung(&mut self, session: &Session, silent: Vec<u64>) {
        let limit = self.context.request_timeout;
        let is_alive = is_alive(session, self.context.owner, limit.min(Duration::from_secs(2))).await;
        let others = if is_alive { "answers other requests meanwhile" } else { "answers nothing else meanwhile" };
        self.tally.lost += silent.len() as u64;
        let problem = self.silent(others, &session.stderr_tail());
        self.ledger.note(problem, None, silent);
    }

    fn silent(&self, others: &str, stderr: &[String]) -> Problem {
        let limit = self.context.request_timeout;
        let message = format!("`tools/call` got no answer within {}", duration_text(limit));
        let found = Finding::failure(FailureClass::Timeout, message)
            .with_evidence("server", others)
            .with_evidence("stderr", stderr.join("\n"));
        let check = ReproductionCheck::Silent(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        let (signature, detail) = (String::new(), String::new());
        Problem { kind: FindingKind::Hang, signature, detail, check, found, exchange: None }
    }

    /// Takes note of a server that ended after its last answer.
    pub(super) fn ended(&mut self, found: Finding, log: &Log) {
        self.ledger.note(problem::ended(found), None, log.recent.iter().copied().collect());
    }

    /// Whether so many calls had no answer that no more are needed.
    pub(super) fn is_silent(&self) -> bool {
        self.silences >= MOST_SILENCES
    }

    /// Keeps others from calling a tool.
    pub(super) fn hazard(&self, tool: usize) {
        self.hazards.add(&self.calls.callees[tool].name);
    }

    /// Nothing more is to be said.
    pub(super) fn is_done(&self, log: &Log) -> bool {
        self.settings.cases.is_some_and(|most| self.next >= most) || self.is_late(log)
    }
}
