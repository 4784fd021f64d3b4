//! One suite: its cases begin in order, as many at a time as allowed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet, spawn_blocking};
use tokio::time::timeout;

use super::learning::{learned_catalog, remember_tools};
use super::open_targets::{OpenTargets, TargetCounts};
use super::opening::SessionError;
use super::resolve::Starts;
use super::sessions::TargetSessions;
use super::store_damage::{StoreWatch, may_damage};
use super::store_turns;
use super::{Bail, Emitter, Options, RunMessage, case, case_result, rerun, tool_settings};
use crate::event::{CaseResult, Event, Outcome, RunEnd};
use crate::plan::{Body, Case, Plan, SuitePlan, expand, shuffle};
use crate::suite::Order;
use crate::wire::Catalog;

/// The time for expanding a template on a server.
const DERIVATION_TIMEOUT: Duration = Duration::from_secs(60);

/// The result of expanding a template.
enum Expansion {
    Cases(Vec<Arc<Case>>),
    Interrupted,
    /// Nobody knows what it stands for.
    Undecided(Box<CaseResult>),
}

/// The most cases that a failure names beside its own.
const MOST_NAMES: usize = 5;

/// A case that is under way.
struct RunningCase {
    case: Arc<Case>,
    /// The names of cases that were under way at some moment of it, and that somebody wrote.
    beside: BTreeSet<String>,
}

/// One suite while it runs.
pub(crate) struct SuiteRun<'a> {
    plan: &'a Arc<Plan>,
    index: usize,
    options: &'a Arc<Options>,
    emitter: &'a Emitter,
    targets: Vec<Arc<TargetSessions>>,
    slots: Arc<Semaphore>,
    running: JoinSet<(CaseResult, tokio::sync::OwnedSemaphorePermit)>,
    begun: HashMap<tokio::task::Id, RunningCase>,
    broken: usize,
    /// Cases that may damage what the server has stored, and come after those that read it.
    damaging: Vec<Arc<Case>>,
    /// What these cases do to the stores of the servers, in all suites of the run.
    stores: &'a mut StoreWatch,
    /// Cases that look at what all others said, and wait for them.
    last: Vec<Arc<Case>>,
    open_targets: OpenTargets,
}

impl<'a> SuiteRun<'a> {
    pub(crate) fn new(
        plan: &'a Arc<Plan>,
        index: usize,
        options: &'a Arc<Options>,
        emitter: &'a Emitter,
        stores: &'a mut StoreWatch,
    ) -> Self {
        let planned = &plan.suites[index];
        let targets = (0..planned.targets.len())
            .map(|target| Arc::new(TargetSessions::new(plan, index, target, options, emitter)));
        Self {
            plan,
            index,
            options,
            emitter,
            targets: targets.collect(),
            slots: Arc::new(Semaphore::new(options.parallel_of(&planned.suite))),
            running: JoinSet::new(),
            begun: HashMap::new(),
            broken: 0,
            damaging: Vec::new(),
            stores,
            last: Vec::new(),
            open_targets: OpenTargets::default(),
        }
    }

    fn suite_plan(&self) -> &'a SuitePlan {
        &self.plan.suites[self.index]
    }

    /// Runs the cases; returns how many were not reached.
    pub(crate) async fn run(mut self) -> usize {
        let planned = self.suite_plan();
        self.open_targets = OpenTargets::new(TargetCounts {
            with_process: self.targets.iter().filter(|one| one.target.starts() != Starts::Nothing).count(),
            parallel: self.options.parallel_of(&planned.suite),
            has_teardown: !planned.suite.teardown.is_empty(),
        });
        self.expect(&planned.cases);
        let mut unreached = match self.options.order_of(&planned.suite) {
            Order::Declared => self.run_declared().await,
            Order::Shuffled => self.run_shuffled().await,
        };
        self.finish_running().await;
        unreached.extend(self.run_damaging().await);
        for (index, target) in self.targets.iter().enumerate() {
            target.target.sections().into_iter().for_each(|section| self.emitter.send(RunMessage::Section(section)));
            remember_tools(&target.target, self.options);
            if !self.open_targets.has_ended(index) {
                target.finish().await;
            }
        }
        for case in std::mem::take(&mut self.last) {
            let target = Arc::clone(&self.targets[case.target]);
            let options = Arc::clone(self.options);
            let result = Box::pin(case::run(target, case, options)).await;
            self.count(result);
        }
        self.judge_suite().await;
        let stop = &self.options.stop;
        let end = if stop.is_set() { stop.end() } else { RunEnd::Bailed };
        for case in &unreached {
            let result = case_result::not_run(planned, case, end);
            self.emitter.event(Event::CaseFinished(Box::new(result)));
        }
        unreached.len()
    }

    /// Runs the cases that may damage a store, and looks at the store after each of them.
    async fn run_damaging(&mut self) -> Vec<Arc<Case>> {
        let cases = std::mem::take(&mut self.damaging);
        let rounds = store_turns::rounds(cases, |case| &self.targets[case.target].target);
        let targets: BTreeSet<usize> = rounds.first().into_iter().flatten().map(|case| case.target).collect();
        for target in targets {
            if !self.is_over() {
                self.stores.begin(&self.targets[target].target).await;
            }
        }
        let mut unreached = Vec::new();
        for round in rounds {
            for case in &round {
                unreached.extend(self.start(Arc::clone(case)).await);
            }
            self.finish_running().await;
            for case in &round {
                let target = &self.targets[case.target].target;
                if !self.is_over() {
                    self.stores.check(target, case).await;
                }
                target.retire_stores(&case.id);
            }
        }
        unreached
    }

    /// Waits for the cases that are under way.
    async fn finish_running(&mut self) {
        while let Some(finished) = self.running.join_next_with_id().await {
            self.take_finished(finished);
        }
    }

    /// Begins the cases as they are written; what a template stands for is found out when its turn comes, together
    /// with the templates behind it that ask the same server, so that it is known early how many cases there are.
    async fn run_declared(&mut self) -> Vec<Arc<Case>> {
        let mut unreached = Vec::new();
        let mut cases = self.suite_plan().cases.iter().peekable();
        while let Some(case) = cases.next() {
            self.make_room(case.target).await;
            if self.is_over() {
                unreached.push(Arc::clone(case));
                continue;
            }
            let mut next = self.expand_case(case).await;
            if is_template(case) {
                let is_next = |more: &&Arc<Case>| is_template(more) && more.target == case.target;
                while let Some(more) = cases.next_if(|more| is_next(more) && !self.is_over()) {
                    next.extend(self.expand_case(more).await);
                }
            }
            if self.options.parallel_of(&self.suite_plan().suite) > 1 {
                next.sort_by_key(|case| !case.is_early);
            }
            for case in next {
                unreached.extend(self.begin(case).await);
            }
        }
        unreached
    }

    /// Ends a target whose cases are over where many are open, before the first case of another begins.
    async fn make_room(&mut self, target: usize) {
        while self.open_targets.is_full_for(target) && !self.is_over() {
            let needed = self.begun.values().map(|begun| begun.case.target).collect();
            if self.open_targets.end_one(&needed, &self.targets).await {
                continue;
            }
            match self.running.join_next_with_id().await {
                Some(finished) => self.take_finished(finished),
                None => break,
            }
        }
        self.open_targets.mark(target);
    }

    /// Begins the cases as the seed says, once it is known what all templates stand for.
    async fn run_shuffled(&mut self) -> Vec<Arc<Case>> {
        let mut cases = Vec::new();
        for case in &self.suite_plan().cases {
            cases.extend(self.expand_case(case).await);
        }
        shuffle(self.suite_plan(), &mut cases, self.options.seed);
        let mut unreached = Vec::new();
        for case in cases {
            self.make_room(case.target).await;
            unreached.extend(self.begin(case).await);
        }
        unreached
    }

    /// Lets servers be started ahead.
    fn expect(&self, cases: &[Arc<Case>]) {
        let times = usize::try_from(self.options.repeat).unwrap_or(1).max(1);
        for case in cases {
            let TargetSessions { target, pool, .. } = self.targets[case.target].as_ref();
            pool.expect(target, case, times);
            if let Body::Scan(codes) = &case.body {
                target.scan_results.claim(codes);
            }
        }
    }

    /// Tells what the suite gives for tools and no server takes.
    async fn judge_suite(&self) {
        for case in tool_settings::invalid_tool_settings(self.plan, self.suite_plan(), &self.targets, self.options) {
            let target = Arc::clone(&self.targets[case.target]);
            let options = Arc::clone(self.options);
            let mut result = Box::pin(case::run(target, case, options)).await;
            self.options.baseline.mark(&result.case.id, &mut result.findings);
            result.rerun_command = rerun::whole(self.suite_plan());
            self.emitter.send(RunMessage::SuiteCheck(Box::new(result)));
        }
    }

    fn is_over(&self) -> bool {
        let bailed = matches!(self.options.bail, Bail::After(limit) if self.broken >= limit);
        bailed || self.options.stop.is_set()
    }

    /// The cases that a template stands for; a template whose server cannot be asked is decided at once.
    async fn expand_case(&mut self, case: &Arc<Case>) -> Vec<Arc<Case>> {
        if !is_template(case) {
            return vec![Arc::clone(case)];
        }
        let sessions = &self.targets[case.target];
        let known = tokio::select! {
            known = sessions.shared.catalog(&sessions.target) => known,
            () = self.options.stop.wait() => Err(SessionError::Interrupted),
        };
        let none = match known {
            Ok(catalog) => {
                match self.derive_cases(case, learned_catalog(sessions, case, self.options, catalog).await).await {
                    Expansion::Cases(cases) => {
                        self.expect(&cases);
                        self.emitter.send(RunMessage::Planned(cases.len()));
                        return cases;
                    }
                    Expansion::Interrupted => SessionError::Interrupted,
                    Expansion::Undecided(result) => {
                        self.emitter.send(RunMessage::Planned(1));
                        self.count(*result);
                        return Vec::new();
                    }
                }
            }
            Err(none) => none,
        };
        self.emitter.send(RunMessage::Planned(1));
        let result = case_result::not_expanded(self.suite_plan(), case, none, self.options.stop.end());
        self.count(result);
        Vec::new()
    }

    /// Makes the cases of a template aside, where schemas that take for ever hold up nobody else.
    async fn derive_cases(&self, case: &Arc<Case>, catalog: Arc<Catalog>) -> Expansion {
        let (plan, index, target) = (Arc::clone(self.plan), self.index, Arc::clone(&self.targets[case.target].target));
        let template = Arc::clone(case);
        let deriving = spawn_blocking(move || {
            let offer = target.offer(&catalog);
            expand(&plan, &plan.suites[index], &template, &offer)
        });
        tokio::select! {
            derived = timeout(DERIVATION_TIMEOUT, deriving) => match derived {
                Ok(Ok(cases)) => Expansion::Cases(cases),
                Ok(Err(error)) => Expansion::Undecided(Box::new(case_result::of_panic(self.suite_plan(), case, &words_of(error)))),
                Err(_) => Expansion::Undecided(Box::new(case_result::expansion_timed_out(self.suite_plan(), case, DERIVATION_TIMEOUT))),
            },
            () = self.options.stop.wait() => Expansion::Interrupted,
        }
    }

    /// Begins a case once there is room; hands it back where the run ended while it waited.
    async fn begin(&mut self, case: Arc<Case>) -> Option<Arc<Case>> {
        match &case.body {
            Body::Scan(_) => self.last.push(case),
            Body::Check(_) if may_damage(&case) => {
                self.open_targets.keep(case.target);
                self.damaging.push(case);
            }
            Body::Check(_) | Body::Script(_) | Body::Template(_) | Body::Skipped(_) | Body::Failed(_) => {
                return self.start(case).await;
            }
        }
        None
    }

    async fn start(&mut self, case: Arc<Case>) -> Option<Arc<Case>> {
        let needed = self.slots_of(&case);
        let permit = loop {
            let slots = Arc::clone(&self.slots);
            tokio::select! {
                biased;
                Some(finished) = self.running.join_next_with_id() => self.take_finished(finished),
                permit = slots.acquire_many_owned(needed) => break permit,
                () = self.options.stop.wait() => return Some(case),
            }
        };
        let Ok(permit) = permit else { return Some(case) };
        if self.is_over() {
            return Some(case);
        }
        let target = Arc::clone(&self.targets[case.target]);
        let options = Arc::clone(self.options);
        let kept = self.beside(&case);
        let task = self.running.spawn(async move { (Box::pin(case::run(target, case, options)).await, permit) });
        self.begun.insert(task.id(), kept);
        None
    }

    /// The number of slots that a case takes: all of them where it is to run alone, since somebody wrote it and nobody
    /// says how many may run at a time.
    fn slots_of(&self, case: &Case) -> u32 {
        let (suite, target) = (&self.suite_plan().suite, &self.targets[case.target].target);
        let may_overlap = case.is_derived && !target.may_write();
        if may_overlap || self.options.says_parallel(suite) {
            return 1;
        }
        u32::try_from(self.options.parallel_of(suite)).unwrap_or(1)
    }

    /// A case that begins now, and those that are under way.
    fn beside(&mut self, case: &Arc<Case>) -> RunningCase {
        if case.is_derived || !self.options.says_parallel(&self.suite_plan().suite) {
            return RunningCase { case: Arc::clone(case), beside: BTreeSet::new() };
        }
        let others = self.begun.values_mut().filter(|begun| !begun.case.is_derived);
        let beside = others
            .map(|begun| {
                begun.beside.insert(case.name.clone());
                begun.case.name.clone()
            })
            .collect();
        RunningCase { case: Arc::clone(case), beside }
    }

    fn take_finished(
        &mut self,
        finished: Result<(tokio::task::Id, (CaseResult, tokio::sync::OwnedSemaphorePermit)), JoinError>,
    ) {
        let (id, result) = match finished {
            Ok((id, (result, _permit))) => (id, Some(result)),
            Err(error) => {
                let id = error.id();
                let words = words_of(error);
                (id, self.begun.get(&id).map(|begun| case_result::of_panic(self.suite_plan(), &begun.case, &words)))
            }
        };
        if let (Some(RunningCase { case, beside }), Some(mut result)) = (self.begun.remove(&id), result) {
            note_concurrent_cases(&mut result, &beside);
            let target = &self.targets[case.target].target;
            target.untold_ends.settle(&result.findings);
            self.stores.settle(target, &case, &mut result);
            if !may_damage(&case) {
                target.retire_stores(&case.id);
            }
            self.count(result);
        }
    }

    fn count(&mut self, mut result: CaseResult) {
        self.options.baseline.mark(&result.case.id, &mut result.findings);
        if matches!(result.outcome, Outcome::Failed | Outcome::Errored) && !result.is_known() {
            self.broken += 1;
        }
        self.emitter.event(Event::CaseFinished(Box::new(result)));
    }
}

/// Notes at a failure which cases ran at the same time: they may be the reason.
fn note_concurrent_cases(result: &mut CaseResult, beside: &BTreeSet<String>) {
    let Some(found) = result.findings.first_mut().filter(|_| result.outcome == Outcome::Failed && !beside.is_empty())
    else {
        return;
    };
    let mut names: Vec<&str> = beside.iter().take(MOST_NAMES).map(String::as_str).collect();
    let more = format!("{} more", beside.len().saturating_sub(MOST_NAMES));
    if beside.len() > MOST_NAMES {
        names.push(&more);
    }
    found.evidence.push(("at the same time".to_owned(), names.join(", ")));
}

fn is_template(case: &Case) -> bool {
    matches!(case.body, Body::Template(_))
}

fn words_of(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "it was cancelled".to_owned() };
    let words = panic.downcast_ref::<String>().cloned();
    words
        .or_else(|| panic.downcast_ref::<&str>().map(|words| (*words).to_owned()))
        .unwrap_or_else(|| "it panicked".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_cases_that_ran_at_the_same_time() {
        let names = |count: usize| -> BTreeSet<String> { (0..count).map(|at| format!("case {at}")).collect() };
        for (what, outcome, beside, expected) in [
            ("alone", Outcome::Failed, names(0), None),
            ("beside two", Outcome::Failed, names(2), Some("case 0, case 1".to_owned())),
            ("passed", Outcome::Passed, names(2), None),
            ("errored", Outcome::Errored, names(2), None),
        ] {
            let found = vec![crate::event::Finding::new("equals", "it differs")];
            let mut result = CaseResult { findings: found, ..CaseResult::of_test("a", outcome) };
            note_concurrent_cases(&mut result, &beside);
            assert_eq!(result.findings[0].evidence.first().map(|(_, text)| text.clone()), expected, "{what}");
        }
        let found = vec![crate::event::Finding::new("equals", "it differs")];
        let mut result = CaseResult { findings: found, ..CaseResult::of_test("a", Outcome::Failed) };
        note_concurrent_cases(&mut result, &names(MOST_NAMES + 3));
        let told = &result.findings[0].evidence[0].1;
        assert!(told.ends_with(", 3 more") && told.matches("case").count() == MOST_NAMES, "{told}");
    }
}
