//! One session: calls go out, several at a time, and what comes back is judged.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::pin;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::super::Ground;
use super::calls::{Calls, Made};
use super::judge::{Fate, judge};
use super::leak::Suspicions;
use super::ledger::Ledger;
use super::problem::{self, Problem};
use super::replay::is_alive;
use super::sequence::Pool;
use super::tally::Tally;
use super::wire::{Event, Wire};
use crate::event::{Check, FailureClass, Finding, Kind};
use crate::session::{Session, Told};
use crate::source::duration_text;
use crate::suite::Fuzz;

/// How many of the last calls may have brought about what belongs to no answer.
const SUSPECTS: usize = 16;

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
    pub(super) ground: &'a Ground<'a>,
    pub(super) settings: &'a Fuzz,
    pub(super) calls: &'a Calls,
    pub(super) tally: Tally,
    pub(super) ledger: Ledger,
    pub(super) suspicions: Suspicions,
    /// Tools that are not called any more, beside the first.
    pub(super) avoided: BTreeSet<usize>,
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
    recent: VecDeque<u64>,
    begun: Instant,
}

impl<'a> Driver<'a> {
    pub(super) fn new(ground: &'a Ground<'a>, settings: &'a Fuzz, calls: &'a Calls) -> Self {
        Self {
            ground,
            settings,
            calls,
            tally: Tally::default(),
            ledger: Ledger::default(),
            suspicions: Suspicions::default(),
            avoided: BTreeSet::new(),
            frames: Vec::new(),
            next: 0,
        }
    }

    /// A session that begins with the next call.
    pub(super) fn log(&self) -> Log {
        Log {
            begin: self.next,
            pool: self.calls.pool(self.next),
            open: BTreeMap::new(),
            recent: VecDeque::new(),
            begun: Instant::now(),
        }
    }

    /// Calls until everything is said, or the server cannot go on.
    pub(super) async fn drive(&mut self, session: &Session, log: &mut Log) -> Ended {
        let mut wire = Wire::new(session, self.ground.owner, self.calls).await;
        log.begun = Instant::now();
        let ended = self.until_the_end(&mut wire, log).await;
        self.tally.spent += log.begun.elapsed();
        let silent = wire.give_up();
        drop(wire);
        if ended == Ended::Hung {
            self.hung(session, silent).await;
        }
        if self.frames.is_empty() {
            self.frames = session.frames_of(self.ground.owner);
        }
        ended
    }

    async fn until_the_end(&mut self, wire: &mut Wire<'_>, log: &mut Log) -> Ended {
        let mut stopped = pin!(self.ground.servers.stopped());
        let patience = self.ground.request_timeout;
        loop {
            self.fill(wire, log);
            wire.flush();
            let Some((_, since)) = wire.oldest() else { return Ended::Done };
            let event = tokio::select! {
                biased;
                event = wire.next() => event,
                () = &mut stopped => return Ended::Stopped,
                () = sleep_until(since + patience) => return Ended::Hung,
            };
            let mut next = Some(event);
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
            if self.avoided.contains(&made.tool) {
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
        if self.tally.seen.count() < self.calls.callees[0].maker.branches() {
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
                self.ledger.note(problem::failed(&failure), Some(made.tool), vec![number]);
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

    fn answered(&mut self, number: u64, message: Option<&Value>, told: &Told, log: &mut Log) {
        let Some(made) = log.open.remove(&number) else { return };
        let tool = made.tool;
        for violation in &told.violations {
            self.ledger.note(problem::broken(violation, told), Some(tool), vec![number]);
        }
        let judged = message.map(|message| judge(self.calls, &made, message));
        let fate = judged.as_ref().map_or(Fate::Unusable, |judged| judged.fate);
        if tool == 0 {
            self.decide(&made, fate);
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
        let remade = |number: u64| (number >= log.begin).then(|| self.calls.make(number, &log.pool));
        self.suspicions.look(self.calls, (number, &made, &told.line), remade);
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
        let limit = self.ground.request_timeout;
        let is_alive = is_alive(session, self.ground.owner, limit.min(Duration::from_secs(2))).await;
        let others = if is_alive { "answers other requests meanwhile" } else { "answers nothing else meanwhile" };
        let message = format!("`tools/call` got no answer within {}", duration_text(limit));
        let found = Finding::failure(FailureClass::Timeout, message)
            .with_evidence("server", others)
            .with_evidence("stderr", session.stderr_tail().join("\n"));
        self.tally.lost += silent.len() as u64;
        let check = Check::Silent(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        let problem =
            Problem { kind: Kind::Hang, signature: String::new(), detail: String::new(), check, found, exchange: None };
        self.ledger.note(problem, None, silent);
    }

    /// Takes note of a server that ended after its last answer.
    pub(super) fn ended(&mut self, found: Finding, log: &Log) {
        self.ledger.note(problem::ended(found), None, log.recent.iter().copied().collect());
    }

    /// Nothing more is to be said.
    pub(super) fn is_done(&self, log: &Log) -> bool {
        self.settings.cases.is_some_and(|most| self.next >= most) || self.is_late(log)
    }
}
