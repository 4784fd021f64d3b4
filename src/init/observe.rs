//! Asks a server what a suite can expect of it: each question on two servers that know nothing of each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::expectation::{Types, expectations};
use super::further_answers::{has_other_parts, least_like, share_a_short_list};
use super::listing::{ListingTrip, MOST_CREATORS, may_list};
use super::pages::{PagedList, SeenPages, SharedPages, lists_with_pages};
use super::questions::{
    Answered, KnownValues, MadeArgument, ServerQuestion, questions_of_beginnings, questions_of_call,
    questions_of_completions, questions_of_lists, questions_of_made, questions_of_writer,
};
use super::rich_arguments::rich_arguments;
use super::round_trip::{Creator, MadeThing, RoundTrip, TripEnd, TripPart, creators, is_remover, trips_of};
use super::shown_values::{ShownValues, questions_of_shown};
use crate::check::learning::{Learning, LearningTask, learn_arguments};
use crate::check::{CheckEnd, CheckLimits, CheckRequest, CheckSession};
use crate::event::Finding;
use crate::matching::words_of;
use crate::plan::arguments::{safe_arguments, server_folder};
use crate::plan::witness::{filled_arguments, known_arguments};
use crate::plan::{CaseStore, CheckContext, OpenServer};
use crate::redact::{Redactor, hold_a_secret};
use crate::source::visible_line;
use crate::wire::{Tool, call_limit, is_served, surroundings_lack, value_memory};

/// The time for all questions, and the sessions that may end or hang.
const TIME: Duration = Duration::from_secs(120);
const LOST_SESSIONS: usize = 4;

/// The time of a call of a tool that is not called for what others make or how it answers other arguments.
const SLOW_CALL: Duration = Duration::from_secs(4);

/// The processes that are asked after two.
const FURTHER_PROCESSES: usize = 3;

/// The memory that an answer may take to be kept, in bytes.
const LONGEST_ANSWER: usize = 1 << 20;

/// The method of a notification of progress.
pub(crate) const PROGRESS: &str = "notifications/progress";

/// What a server showed.
#[derive(Debug, Default, Clone)]
pub(crate) struct Observations {
    /// In the order of the server's lists.
    pub(crate) answered: Vec<Answered>,
    pub(crate) trips: Vec<RoundTrip>,
    /// What was made and is shown by tools that need no argument.
    pub(crate) listings: Vec<ListingTrip>,
    /// The lists whose second page two servers showed alike.
    pub(crate) pages: Vec<SharedPages>,
    /// What was made first, so that tools could be called that take its id.
    pub(crate) things: Vec<MadeThing>,
    /// The tools without a test, each with the reason.
    pub(crate) untested: BTreeMap<String, UntestedReason>,
    /// Why a server did not start a second time, so that nothing could be compared.
    pub(crate) failed_start: Option<String>,
    /// True if tools were called that may change data.
    pub(crate) writes: bool,
    /// True if what a tool writes may be there in the next process.
    pub(crate) shares_data: bool,
    /// The tools that reported progress in every call of theirs.
    pub(crate) progressing: BTreeSet<String>,
    /// The changes of lists that tools announced in every call of theirs, by tool.
    pub(crate) announced: BTreeMap<String, BTreeSet<String>>,
    /// The tools that only read and whose answers are others after other tools wrote.
    pub(crate) drifting: BTreeSet<String>,
    /// The tools that took long for a call.
    pub(crate) slow: BTreeSet<String>,
    /// The absolute path of the store. In arguments and answers it takes the place of those of its copies.
    pub(crate) store: Option<PathBuf>,
}

/// The reason for which a tool has no test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UntestedReason {
    /// It may change or destroy data, and nobody allowed it.
    Hazard,
    /// It is served as a task only.
    TaskOnly,
    /// It refused all that was tried; with its last words.
    Refused(String),
    /// The machine lacks something; with the words that say so.
    Lacking(String),
    /// It is called too often; with the words that say so.
    Limited(String),
    /// Its arguments hold a secret, which a test would show.
    Secret,
    /// Its answer is too long to be expected.
    TooLong,
    /// It did not answer.
    Silent,
}

impl UntestedReason {
    fn of_refusal(words: String) -> Self {
        let limited = || call_limit(&words).map(Self::Limited);
        surroundings_lack(&words).map(Self::Lacking).or_else(limited).unwrap_or(Self::Refused(words))
    }
}

/// Asks a server for everything that it offers; `doing` is told what comes next.
pub(crate) async fn observe(
    context: &CheckContext<'_>,
    redactor: &Redactor,
    doing: &(dyn Fn(String) + Sync),
) -> Observations {
    let mut observer = ServerObserver::new(context, redactor, doing);
    // What is written may last, and be there when the next process reads.
    let shares_data =
        context.machine.store().is_none() && context.catalog.tools.iter().any(|tool| writes(context, tool));
    let before = if shares_data { observer.ask_alone().await } else { Vec::new() };
    doing("looking for arguments that its tools serve".to_owned());
    let learning = learn_arguments(context, LearningTask::all()).await;
    observer.limits = CheckLimits::new(TIME, "");
    let mut seen = Observations { store: context.machine.store(), shares_data, ..Observations::default() };
    let (mut reading, mut writing) = (Vec::new(), Vec::new());
    for tool in &context.catalog.tools {
        match arguments_of(context, redactor, tool, &learning) {
            Ok(arguments) if tool.only_reads() => reading.push((tool, arguments)),
            Ok(arguments) => writing.push((tool, arguments)),
            Err(reason) => drop(seen.untested.insert(tool.name.clone(), reason)),
        }
    }
    let written = observer.ask_writers(&mut writing).await;
    let mut takers = Vec::new();
    for trip in creators(&writing, &written).iter().flat_map(|creator| trips_of(creator, context)) {
        // Each creator has one id, under one name.
        let made = trip.made.clone();
        let is_other = |thing: &MadeThing| thing.creator == made.creator && *thing != made;
        let is_needed = seen.untested.contains_key(&trip.taker) && !observer.things.iter().any(is_other);
        let (trip, end) = observer.try_trip(trip.with_other_texts()).await;
        if end == TripEnd::Shown && context.catalog.tool(&trip.taker).is_some_and(Tool::only_reads) {
            seen.trips.push(trip.clone());
            if let Some(quoted) = quoted_trip(&trip, context)
                && let (quoted, TripEnd::Shown) = observer.try_trip(quoted).await
            {
                seen.trips.push(quoted);
            }
        }
        if is_needed && end >= TripEnd::Served {
            seen.untested.remove(&trip.taker);
            if !observer.things.contains(&made) {
                observer.things.push(made.clone());
            }
            takers.push(RoundTrip { made, ..trip });
        }
    }
    let lists_tools = (!context.catalog.tools.is_empty()).then_some(ServerQuestion::Tools);
    let of_readers =
        reading.iter().flat_map(|(tool, arguments)| questions_of_call(tool, arguments, seen.store.as_deref()));
    let mut questions: Vec<ServerQuestion> = lists_tools.into_iter().chain(of_readers).collect();
    let mut changing: Vec<ServerQuestion> =
        writing.iter().map(|(tool, arguments)| ServerQuestion::call(&tool.name, arguments)).collect();
    for trip in takers {
        let Some(taker) = context.catalog.tool(&trip.taker) else { continue };
        let made = MadeArgument { parameter: trip.parameter, id: trip.made.name };
        if taker.only_reads() {
            questions.extend(questions_of_made(taker, &trip.taker_arguments, made));
        } else {
            let made = Some(made);
            changing.push(ServerQuestion::Call { tool: trip.taker, arguments: trip.taker_arguments, made });
        }
    }
    seen.trips = observer.trips_beside_things(std::mem::take(&mut seen.trips)).await;
    let completed = observer.ask_completions().await;
    let after = if shares_data { observer.ask_alone().await } else { Vec::new() };
    observer.see_drift(&before, &after);
    seen.answered = observer.ask_readers(&questions).await;
    observer.compare_with(&mut seen.answered, &before);
    let shown = ShownValues::of_answers(seen.answered.iter().map(|answered| &answered.answers[0]));
    let others = observer.ask_readers(&questions_of_answers(context, &seen.answered, &shown)).await;
    for answered in others {
        let is_like = |known: &Answered| known.question.tool() == answered.question.tool();
        let place = seen.answered.iter().rposition(is_like).map_or(seen.answered.len(), |last| last + 1);
        seen.answered.insert(place, answered);
    }
    let folder = server_folder(context.suite, context.server_name);
    let known = KnownValues { completed: &completed, shown: &shown, folder: folder.as_deref() };
    let listed = observer.ask_readers(&questions_of_lists(context.catalog, &known)).await;
    seen.answered.extend(listed);
    let begun = observer.ask_readers(&questions_of_beginnings(&completed)).await;
    seen.answered.extend(completed);
    seen.answered.extend(begun);
    seen.listings = observer.list_made(&writing, &written).await;
    seen.writes = !changing.is_empty();
    let read = seen.answered.len();
    // What was made is there at each question.
    let written = if observer.things.is_empty() { written } else { observer.ask_each(changing.into_iter()).await };
    seen.answered.extend(written);
    let is_given = |tool: &Tool| known_arguments(context.suite, context.server_name, tool).is_some();
    let varied = writing.iter().filter(|(tool, _)| !is_given(tool));
    let varied = varied.flat_map(|(tool, arguments)| questions_of_writer(tool, arguments));
    seen.answered.extend(observer.ask_each(varied).await);
    observer.ask_again(seen.answered[..read].iter_mut().collect(), shares_data).await;
    seen.pages = observer.turn_pages(&lists_with_pages(context.catalog, &reading)).await;
    observer.confirm_announced(&seen.answered).await;
    seen.drifting = observer.drifting;
    seen.slow = observer.slow;
    seen.things = observer.things;
    seen.announced = observer.announced;
    seen.progressing = observer.progress.into_iter().filter_map(|(tool, always)| always.then_some(tool)).collect();
    seen.failed_start = observer.failed_start;
    keep_served(&mut seen);
    for tool in context.catalog.tools.iter().map(|tool| &tool.name) {
        if !is_tested(&seen, tool) {
            let reason =
                if observer.too_long.contains(tool) { UntestedReason::TooLong } else { UntestedReason::Silent };
            seen.untested.entry(tool.clone()).or_insert(reason);
        }
    }
    seen
}

/// The same after a run that may have left something in the data: less of what only reads is known to last.
pub(crate) async fn observe_after_run(
    context: &CheckContext<'_>,
    redactor: &Redactor,
    doing: &(dyn Fn(String) + Sync),
    seen: &Observations,
) -> Observations {
    let mut observer = ServerObserver::new(context, redactor, doing);
    observer.things.clone_from(&seen.things);
    observer.drifting.clone_from(&seen.drifting);
    observer.slow.clone_from(&seen.slow);
    let mut later = seen.clone();
    let only_reads = |tool: &str| context.catalog.tool(tool).is_some_and(Tool::only_reads);
    let is_read = |one: &&mut Answered| one.question.tool().is_none_or(only_reads);
    let reading: Vec<&mut Answered> = later.answered.iter_mut().filter(is_read).collect();
    observer.ask_again(reading, true).await;
    later.pages.retain(|pages| pages.tool().is_none_or(|tool| !observer.drifting.contains(tool)));
    later.drifting = observer.drifting;
    keep_served(&mut later);
    later
}

/// True for a tool that may be called and may change something.
fn writes(context: &CheckContext<'_>, tool: &Tool) -> bool {
    !tool.only_reads() && !tool.is_task_only() && context.suite.hazard(context.server_name, tool).is_none()
}

/// Calls of tools that only read with values that answers show.
fn questions_of_answers(context: &CheckContext<'_>, answered: &[Answered], shown: &ShownValues) -> Vec<ServerQuestion> {
    let asked = answered.iter().flat_map(|answered| {
        let ServerQuestion::Call { tool, arguments, made: None } = &answered.question else { return Vec::new() };
        let own = ShownValues::of_answers(std::iter::once(&answered.answers[0]));
        let tool = context.catalog.tool(tool).filter(|_| answered.answers.iter().all(is_served));
        tool.map(|tool| questions_of_shown(tool, arguments, &own, shown)).unwrap_or_default()
    });
    let mut questions: Vec<ServerQuestion> = Vec::new();
    for question in asked {
        if !questions.contains(&question) && !answered.iter().any(|known| known.question == question) {
            questions.push(question);
        }
    }
    questions
}

/// The round trip of a thing with quotation marks, where the creator's schema takes them.
fn quoted_trip(trip: &RoundTrip, context: &CheckContext<'_>) -> Option<RoundTrip> {
    let creator = context.catalog.tool(&trip.made.creator)?;
    let safe = safe_arguments(creator, server_folder(context.suite, context.server_name)).ok()?;
    trip.quoted(|arguments| safe.generator().is_valid(arguments))
}

/// The arguments with which a tool is called, or the reason why it is not.
fn arguments_of(
    context: &CheckContext<'_>,
    redactor: &Redactor,
    tool: &Tool,
    learning: &Learning,
) -> Result<Value, UntestedReason> {
    if context.suite.hazard(context.server_name, tool).is_some() {
        return Err(UntestedReason::Hazard);
    }
    if tool.is_task_only() {
        return Err(UntestedReason::TaskOnly);
    }
    let given = known_arguments(context.suite, context.server_name, tool).and_then(|(_, known)| context.fill(&known));
    let is_secret = |arguments: &Value| hold_a_secret(arguments) || redactor.value(arguments.clone()) != *arguments;
    if given.as_ref().is_some_and(is_secret) {
        return Err(UntestedReason::Secret);
    }
    let found = || learning.found.get(&tool.name).map(|found| found.arguments.clone());
    let by_schema = || learning.by_schema.get(&tool.name).cloned();
    let refusal = || {
        learning
            .refused
            .get(&tool.name)
            .map_or(UntestedReason::Silent, |words| UntestedReason::of_refusal(words.clone()))
    };
    given.or_else(found).or_else(by_schema).ok_or_else(refusal)
}

/// Leaves out calls that were not served by both, and says so of the tool.
fn keep_served(seen: &mut Observations) {
    let mut untested = BTreeMap::new();
    seen.answered.retain(|answered| {
        let ServerQuestion::Call { tool, .. } = &answered.question else { return true };
        let refusal = answered.answers.iter().find(|answer| !is_served(answer));
        let Some(refusal) = refusal else { return true };
        untested.insert(tool.clone(), UntestedReason::of_refusal(words_of(refusal)));
        false
    });
    seen.untested.extend(untested);
}

/// True if a call of the tool, or a round trip to it, becomes a test.
fn is_tested(seen: &Observations, tool: &str) -> bool {
    let is_call =
        |answered: &Answered| matches!(&answered.question, ServerQuestion::Call { tool: called, .. } if called == tool);
    seen.answered.iter().any(is_call) || seen.trips.iter().any(|trip| trip.taker == tool)
}

/// Opens sessions, and asks in them.
struct ServerObserver<'a> {
    context: &'a CheckContext<'a>,
    redactor: &'a Redactor,
    limits: CheckLimits,
    /// What each session makes first.
    things: Vec<MadeThing>,
    /// The number of sessions that ended or hung.
    lost: usize,
    /// Why a server did not start beside or after the first one.
    failed_start: Option<String>,
    /// The tools whose answers are not kept.
    too_long: BTreeSet<String>,
    /// The tools that took long for a call.
    slow: BTreeSet<String>,
    /// The tools that were called, with true for those that reported progress each time.
    progress: BTreeMap<String, bool>,
    /// The changes of lists that each tool announced whenever it served a call.
    announced: BTreeMap<String, BTreeSet<String>>,
    /// The tools whose answers other tools change for good.
    drifting: BTreeSet<String>,
    doing: &'a (dyn Fn(String) + Sync),
}

impl<'a> ServerObserver<'a> {
    fn new(context: &'a CheckContext<'a>, redactor: &'a Redactor, doing: &'a (dyn Fn(String) + Sync)) -> Self {
        Self {
            context,
            redactor,
            limits: CheckLimits::new(TIME, ""),
            things: Vec::new(),
            lost: 0,
            failed_start: None,
            too_long: BTreeSet::new(),
            slow: BTreeSet::new(),
            progress: BTreeMap::new(),
            announced: BTreeMap::new(),
            drifting: BTreeSet::new(),
            doing,
        }
    }

    async fn open(&mut self) -> Option<CheckSession<'a>> {
        if self.lost > LOST_SESSIONS {
            return None;
        }
        // No session sees what another one left in the store.
        let opened = self.context.servers.open(OpenServer { store: CaseStore::Anew, ..OpenServer::FRESH }).await;
        let not_opened = |found: &Finding| {
            self.lost = LOST_SESSIONS + 1;
            self.failed_start = Some(CheckEnd::Unavailable(Box::new(found.clone())).sentence());
        };
        let session = opened.inspect_err(not_opened).ok()?;
        Some(CheckSession::of(session, self.context, self.limits.clone()))
    }

    /// The questions that two servers answer, each in a session of its own, so that no call sees what another changed.
    async fn ask_each(&mut self, questions: impl Iterator<Item = ServerQuestion>) -> Vec<Answered> {
        let mut answered = Vec::new();
        for question in questions {
            let first = self.ask_in_turn(std::slice::from_ref(&question)).await;
            let second = self.ask_in_turn(std::slice::from_ref(&question)).await;
            if let (Some(first), Some(second)) =
                (first.into_iter().flatten().next(), second.into_iter().flatten().next())
            {
                answered.push(Answered { question, answers: [first, second] });
            }
        }
        answered
    }

    /// The calls of tools that may change something, with as many arguments of their own texts as two servers take.
    async fn ask_writers(&mut self, writing: &mut [(&Tool, Value)]) -> Vec<Answered> {
        let mut answered = Vec::new();
        for (tool, arguments) in writing {
            let is_given = known_arguments(self.context.suite, self.context.server_name, tool).is_some();
            let rich = if is_given || is_remover(&tool.name) { Vec::new() } else { rich_arguments(tool, arguments) };
            for (at, tried) in rich.iter().chain([&arguments.clone()]).enumerate() {
                let is_last = at == rich.len();
                let asked = self.ask_each(std::iter::once(ServerQuestion::call(&tool.name, tried))).await;
                let is_right = asked.iter().any(|one| one.answers.iter().all(is_served));
                if is_right || is_last {
                    arguments.clone_from(tried);
                    answered.extend(asked);
                    break;
                }
            }
        }
        answered
    }

    /// The round trips that go as well where the suite has made things before.
    async fn trips_beside_things(&mut self, trips: Vec<RoundTrip>) -> Vec<RoundTrip> {
        let mut going = Vec::new();
        for trip in trips {
            if self.things.is_empty() {
                going.push(trip);
                continue;
            }
            (self.doing)(trip.sentence());
            let Some(session) = self.open().await else { continue };
            self.make_things(&session).await;
            let walked = walk(&session, &trip).await;
            close(Some(session)).await;
            let is_same = walked.marks == trip.marks && walked.kept == trip.kept;
            if walked.end == TripEnd::Shown && walked.failed.is_none() && is_same {
                going.push(trip);
            }
        }
        going
    }

    /// The answers of two servers to calls that change nothing. The first is asked twice, and what it says then is kept:
    /// what a server counts or remembers differs from the first answer of the other.
    async fn ask_readers(&mut self, questions: &[ServerQuestion]) -> Vec<Answered> {
        let twice = [questions, questions].concat();
        let later = self.ask_in_turn(&twice).await.split_off(questions.len());
        let first = self.ask_in_turn(questions).await;
        let both = questions.iter().zip(later.into_iter().zip(first));
        let answered = both.filter_map(|(question, (later, first))| {
            Some(Answered { question: question.clone(), answers: [first?, later?] })
        });
        answered.collect()
    }

    /// The calls of tools that only read, in a process in which nothing was made, with the answers.
    async fn ask_alone(&mut self) -> Vec<(ServerQuestion, Value)> {
        let context = self.context;
        let readers = context.catalog.tools.iter().filter(|tool| tool.only_reads() && !tool.is_task_only());
        let questions = readers.filter_map(|tool| {
            let arguments = filled_arguments(context, tool).ok()?;
            Some(ServerQuestion::call(&tool.name, &arguments))
        });
        let questions: Vec<ServerQuestion> = questions.collect();
        let (things, lost) = (std::mem::take(&mut self.things), self.lost);
        let answers = self.ask_in_turn(&questions).await;
        self.things = things;
        if self.failed_start.is_none() {
            // The calls that a server does not outlive are made again.
            self.lost = lost;
        }
        let answered = questions.into_iter().zip(answers);
        answered.filter_map(|(question, answer)| Some((question, answer?))).collect()
    }

    /// Learns which answers are others after tools were called that may write.
    fn see_drift(&mut self, before: &[(ServerQuestion, Value)], after: &[(ServerQuestion, Value)]) {
        for (question, earlier) in before {
            let later = after.iter().find(|(known, _)| known == question);
            if later.is_some_and(|(_, later)| has_other_parts(earlier, later)) {
                self.drifting.extend(question.tool().map(str::to_owned));
            }
        }
    }

    /// Has answers share no more than what was answered before anything was written. What drifts is known by how it was
    /// then.
    fn compare_with(&self, answered: &mut [Answered], before: &[(ServerQuestion, Value)]) {
        for one in answered {
            let is_drifting = one.question.tool().is_some_and(|tool| self.drifting.contains(tool));
            // Things that each session makes are no drift.
            let is_comparable = is_drifting || self.things.is_empty();
            let earlier = before.iter().find(|(question, _)| *question == one.question);
            if let Some((_, earlier)) = earlier.filter(|_| is_comparable) {
                let [first, second] = &one.answers;
                one.answers = [earlier.clone(), least_like(earlier, first, second)];
            }
        }
    }

    /// Asks a third process what two have answered, after everything that was written; and two more where lists are so
    /// short that their order may be the same by chance.
    async fn ask_again(&mut self, answered: Vec<&mut Answered>, shares_data: bool) {
        let is_slow = |one: &Answered| one.question.tool().is_some_and(|tool| self.slow.contains(tool));
        let mut left: Vec<&mut Answered> = answered.into_iter().filter(|one| !is_slow(one)).collect();
        for _ in 0..FURTHER_PROCESSES {
            let questions: Vec<ServerQuestion> = left.iter().map(|one| one.question.clone()).collect();
            let further = if questions.is_empty() { Vec::new() } else { self.ask_in_turn(&questions).await };
            for (one, answer) in left.iter_mut().zip(further) {
                let is_limited = |answer: &Value| !is_served(answer) && call_limit(&words_of(answer)).is_some();
                let Some(answer) = answer.filter(|answer| !is_limited(answer)) else { continue };
                let [first, second] = &one.answers;
                let was_lasting = first["result"] == second["result"] && is_served(first);
                if shares_data && was_lasting && first["result"] != answer["result"] {
                    self.drifting.extend(one.question.tool().map(str::to_owned));
                }
                one.answers[1] = least_like(first, second, &answer);
            }
            left.retain(|one| share_a_short_list(&one.answers));
        }
    }

    /// Leaves out announcements that a second call in the same session does not bring again: they were not about the call.
    async fn confirm_announced(&mut self, answered: &[Answered]) {
        let announcing = self.announced.iter().filter(|(_, methods)| !methods.is_empty());
        let announcing: Vec<String> = announcing.map(|(tool, _)| tool.clone()).collect();
        for tool in announcing {
            let is_harmless = self.context.catalog.tool(&tool).is_some_and(|tool| !tool.may_destroy());
            let mut calls = answered.iter().map(|one| &one.question);
            let call = calls.find(|one| matches!(one, ServerQuestion::Call { tool: called, .. } if *called == tool));
            let answers = match call.filter(|_| is_harmless) {
                Some(call) => self.ask_in_turn(&[call.clone(), call.clone()]).await,
                None => vec![None],
            };
            if !answers.iter().all(|answer| answer.as_ref().is_some_and(is_served)) {
                self.announced.remove(&tool);
            }
        }
    }

    /// The completions of two servers, where they declare them.
    async fn ask_completions(&mut self) -> Vec<Answered> {
        let is_declared = self.context.server.is_some_and(|server| !server.capabilities["completions"].is_null());
        if !is_declared {
            return Vec::new();
        }
        self.ask_readers(&questions_of_completions(self.context.catalog)).await
    }

    /// The responses to questions in one session, or in several where the server ends or hangs.
    async fn ask_in_turn(&mut self, questions: &[ServerQuestion]) -> Vec<Option<Value>> {
        let mut answers = Vec::new();
        let mut open: Option<(CheckSession<'a>, Map<String, Value>)> = None;
        for question in questions {
            (self.doing)(question.sentence());
            if open.is_none()
                && let Some(session) = self.open().await
            {
                let ids = self.make_things(&session).await;
                open = Some((session, ids));
            }
            let Some((session, ids)) = &open else {
                answers.push(None);
                continue;
            };
            if question.varied_tool().is_some_and(|tool| self.slow.contains(tool)) {
                answers.push(None);
                continue;
            }
            let (method, params) = question.request(ids);
            let begun = Instant::now();
            let answer = session.try_request(CheckRequest::new(method, params).with_progress()).await;
            if let Some(tool) = question.tool().filter(|_| begun.elapsed() > SLOW_CALL) {
                self.slow.insert(tool.to_owned());
            }
            if let (ServerQuestion::Call { tool, .. }, Ok(Some(reply))) = (question, &answer)
                && is_served(&reply.message)
            {
                *self.progress.entry(tool.clone()).or_insert(true) &= reports_progress(&reply.notifications);
                let now = announced_changes(&reply.notifications);
                let known = self.announced.entry(tool.clone()).or_insert_with(|| now.clone());
                known.retain(|method| now.contains(method));
            }
            match answer {
                Ok(Some(reply)) if value_memory(&reply.message) > LONGEST_ANSWER => {
                    self.too_long.extend(question.tool().map(str::to_owned));
                    answers.push(None);
                }
                Ok(reply) => {
                    let shown = |answer: Value| self.redactor.value(self.context.machine.at_store(answer));
                    answers.push(reply.map(|reply| shown((*reply.message).clone())));
                }
                Err(CheckEnd::Spent(_) | CheckEnd::Inconclusive(_) | CheckEnd::Skipped(_)) => answers.push(None),
                Err(_) => {
                    answers.push(None);
                    self.lost += 1;
                    close(open.take().map(|(session, _)| session)).await;
                }
            }
        }
        close(open.map(|(session, _)| session)).await;
        answers
    }

    /// Makes what the questions of a session need; the ids by their names.
    async fn make_things(&self, session: &CheckSession<'_>) -> Map<String, Value> {
        let mut ids = Map::new();
        for thing in &self.things {
            let id = call(session, &thing.creator, &thing.arguments).await.and_then(|made| thing.id_of(&made));
            ids.extend(id.map(|id| (thing.name.clone(), id)));
        }
        ids
    }

    /// The end of a round trip on two servers, the worse of the two; a part of it that fails is left out, and the rest is
    /// tried again.
    async fn try_trip(&mut self, mut trip: RoundTrip) -> (RoundTrip, TripEnd) {
        (self.doing)(trip.sentence());
        (trip.marks, trip.kept) = (Vec::new(), Vec::new());
        let mut worst = TripEnd::Shown;
        let mut servers = 0;
        while servers < 2 {
            let Some(session) = self.open().await else { return (trip, TripEnd::Refused) };
            let walked = walk(&session, &trip).await;
            close(Some(session)).await;
            (trip.marks, trip.kept) = (walked.marks, walked.kept);
            if let Some(failed) = walked.failed {
                trip = trip.without(failed);
                (trip.marks, trip.kept) = (Vec::new(), Vec::new());
                (worst, servers) = (TripEnd::Shown, 0);
                continue;
            }
            worst = worst.min(walked.end);
            servers += 1;
        }
        (trip, worst)
    }

    /// What the creators make, as two servers show it where no argument is given.
    async fn list_made(&mut self, writing: &[(&Tool, Value)], written: &[Answered]) -> Vec<ListingTrip> {
        let mut listings = Vec::new();
        for creator in creators(writing, written).iter().map(Creator::call).take(MOST_CREATORS) {
            let listers = listers(self.context).filter(|tool| !self.slow.contains(*tool));
            let is_slow = self.slow.contains(creator.tool);
            let Some(trip) = ListingTrip::new(creator.tool, creator.arguments, listers).filter(|_| !is_slow) else {
                continue;
            };
            if let Some(trip) = self.try_listing(trip).await {
                listings.push(trip);
            }
        }
        listings
    }

    /// The trip with the tools that show on two servers what was made.
    async fn try_listing(&mut self, mut trip: ListingTrip) -> Option<ListingTrip> {
        (self.doing)(format!("calling `{}`, and what may show it", visible_line(&trip.creator)));
        let mut shown_first: Vec<Option<Value>> = Vec::new();
        for _ in 0..2 {
            let session = self.open().await?;
            self.make_things(&session).await;
            let before = call_each(&session, &trip).await;
            let made = call(&session, &trip.creator, &trip.arguments).await;
            let after = call_each(&session, &trip).await;
            close(Some(session)).await;
            made.filter(is_served)?;
            let is_second = !shown_first.is_empty();
            let first = if is_second { shown_first } else { vec![None; after.len()] };
            let answers = before.iter().map(Option::as_ref).zip(after.iter().map(Option::as_ref));
            let shown = trip.listers.into_iter().zip(answers).zip(&first);
            let shown = shown.filter_map(|((lister, (before, after)), first)| {
                let mut lister = lister.with_shown(before, after)?;
                if let (Some(first), Some(after)) = (first, after) {
                    lister.expected = expectations(first, after, self.types_of(Some(&lister.tool)));
                }
                Some((lister, after.cloned()))
            });
            (trip.listers, shown_first) = shown.unzip();
            if trip.listers.is_empty() {
                return None;
            }
        }
        Some(trip)
    }

    /// The second pages of lists, where two servers show them alike.
    async fn turn_pages(&mut self, lists: &[PagedList]) -> Vec<SharedPages> {
        let mut seen: [Vec<Option<SeenPages>>; 2] = Default::default();
        for pages in seen.iter_mut().filter(|_| !lists.is_empty()) {
            let Some(session) = self.open().await else { return Vec::new() };
            self.make_things(&session).await;
            for list in lists {
                (self.doing)(list.sentence());
                pages.push(turn_page(&session, list).await);
            }
            close(Some(session)).await;
        }
        let [first, second] = seen;
        let both = lists.iter().zip(first.into_iter().zip(second));
        let both =
            both.filter_map(|(list, (first, second))| SeenPages::of_both(first?, &second?, self.types_of(list.tool())));
        both.collect()
    }

    /// The types that answers of a tool have; `None` is the server itself.
    fn types_of(&self, tool: Option<&str>) -> Types {
        let types = tool.and_then(|name| self.context.catalog.tool(name)).map_or(Types::Seen, Types::of);
        if tool.is_some_and(|tool| self.drifting.contains(tool)) { types.of_today() } else { types }
    }
}

fn reports_progress(notifications: &[Arc<Value>]) -> bool {
    notifications.iter().any(|message| message["method"] == PROGRESS)
}

/// The changes of lists that notifications announce, by their methods.
fn announced_changes(notifications: &[Arc<Value>]) -> BTreeSet<String> {
    let methods = notifications.iter().filter_map(|message| message["method"].as_str());
    methods.filter(|method| method.ends_with("/list_changed")).map(str::to_owned).collect()
}

/// The tools that may be called, need no argument and change nothing.
fn listers<'a>(context: &'a CheckContext<'_>) -> impl Iterator<Item = &'a str> {
    let is_open = |tool: &&Tool| context.suite.hazard(context.server_name, tool).is_none() && !tool.is_task_only();
    context.catalog.tools.iter().filter(|tool| may_list(tool)).filter(is_open).map(|tool| tool.name.as_str())
}

/// The answers of the tools that may show what was made.
async fn call_each(session: &CheckSession<'_>, trip: &ListingTrip) -> Vec<Option<Value>> {
    let mut answers = Vec::new();
    for lister in &trip.listers {
        answers.push(call(session, &lister.tool, &Value::Object(Map::new())).await);
    }
    answers
}

/// Asks for the first page of a list and for the second one.
async fn turn_page(session: &CheckSession<'_>, list: &PagedList) -> Option<SeenPages> {
    let (method, params) = list.first_request();
    let first = session.try_request(CheckRequest::new(method, params)).await.ok()??;
    let (method, params) = list.second_request(&first.message)?;
    let second = session.try_request(CheckRequest::new(method, params)).await.ok()??;
    list.seen(&first.message, &second.message)
}

async fn close(session: Option<CheckSession<'_>>) {
    if let Some(session) = session {
        session.close().await;
    }
}

/// The response to a call; `None` without one.
async fn call(session: &CheckSession<'_>, tool: &str, arguments: &Value) -> Option<Value> {
    let reply = session.try_request(CheckRequest::call(tool, arguments)).await.ok()??;
    Some((*reply.message).clone())
}

/// What one server showed on a round trip.
struct TripWalk {
    end: TripEnd,
    /// The first part that failed, where the thing is shown.
    failed: Option<TripPart>,
    /// The texts that the taker showed, and those that it showed after the update, of those that are known already.
    marks: Vec<String>,
    kept: Vec<String>,
}

impl TripWalk {
    fn ended(end: TripEnd) -> Self {
        Self { end, failed: None, marks: Vec::new(), kept: Vec::new() }
    }
}

/// Makes the calls of a round trip.
async fn walk(session: &CheckSession<'_>, trip: &RoundTrip) -> TripWalk {
    let refused = TripWalk::ended(TripEnd::Refused);
    let Some(made) = call(session, &trip.made.creator, &trip.made.arguments).await else { return refused };
    let Some(id) = is_served(&made).then(|| trip.made.id_of(&made)).flatten() else { return refused };
    let Some(shown) = call(session, &trip.taker, &trip.arguments_with(&id)).await.filter(is_served) else {
        return refused;
    };
    if !trip.made.is_shown(&shown) {
        return TripWalk::ended(TripEnd::Served);
    }
    let is_first = trip.marks.is_empty();
    let mut marks = trip.made.shown_marks(&shown);
    marks.retain(|mark| is_first || trip.marks.contains(mark));
    let trip = &RoundTrip { marks, ..trip.clone() };
    let mut walked = TripWalk { marks: trip.marks.clone(), ..TripWalk::ended(TripEnd::Shown) };
    let mut naming = Vec::new();
    for part in trip.parts() {
        let (tool, arguments) = trip.call_of(part, &id);
        let answer = call(session, &tool, &arguments).await;
        let taken = match part {
            TripPart::List
            | TripPart::Search
            | TripPart::UpdatedList
            | TripPart::RemovedList
            | TripPart::RemovedSearch => None,
            TripPart::Update | TripPart::Removal => call(session, &trip.taker, &trip.arguments_with(&id)).await,
        };
        if answer.as_ref().is_some_and(|answer| trip.names(answer, &id)) {
            naming.push(part);
        }
        // What never named the thing says nothing by not naming it.
        let says_nothing = part.names_before().is_some_and(|before| !naming.contains(&before));
        if says_nothing || !trip.went_well(part, &id, answer.as_ref(), taken.as_ref()) {
            walked.failed = Some(part);
            return walked;
        }
        if let (TripPart::Update, Some(taken)) = (part, &taken) {
            walked.kept = trip.made.shown_marks(taken);
            walked.kept.retain(|mark| is_first || trip.kept.contains(mark));
        }
    }
    walked
}
