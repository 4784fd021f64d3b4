//! Tries calls on servers that know nothing of each other: which of them need others, and which of those suffice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::links::{AnswerLink, LinkedCall, leaves};
use crate::check::{CheckLimits, CheckRequest, CheckSession};
use crate::init::round_trip::{is_remover, is_updater};
use crate::plan::arguments::{safe_arguments, server_folder};
use crate::plan::{CaseStore, CheckContext, OpenServer};
use crate::wire::{Tool, is_served};

/// The time for a call, and for one of a setup, which comes again in every session.
const CALL_TIME: Duration = Duration::from_secs(4);
const SETUP_CALL_TIME: Duration = Duration::from_secs(1);

/// The most calls of a setup that is tried, calls of all trials together, and texts of one call that are changed.
const MOST_SETUP_CALLS: usize = 12;
const MOST_CALLS: usize = 800;
const MOST_CHANGES: usize = 6;

/// Tries setups within limits.
pub(crate) struct SetupTrial<'a> {
    context: &'a CheckContext<'a>,
    /// Calls that one server served in this order.
    calls: Vec<LinkedCall>,
    limits: CheckLimits,
    /// The time that one server took for a setup and the calls after it.
    length: Duration,
}

/// A setup that was tried; calls are named by their numbers.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct TriedSetup {
    pub(crate) calls: Vec<LinkedCall>,
    pub(crate) setup: Vec<usize>,
    /// The calls that are served after it, again and again, and not without it.
    pub(crate) served: Vec<usize>,
    /// The values of answers that differ from server to server, by call and path.
    drawn: BTreeSet<(usize, String)>,
}

/// What one server answered.
#[derive(Debug, Default)]
struct TrialAnswers {
    /// The responses to calls of the setup, of those that were served.
    of_setup: BTreeMap<usize, Value>,
    /// The other calls that were served.
    served: BTreeSet<usize>,
}

impl TrialAnswers {
    fn serves(&self, call: usize) -> bool {
        self.served.contains(&call) || self.of_setup.contains_key(&call)
    }

    fn serves_all(&self, calls: &[usize]) -> bool {
        calls.iter().all(|call| self.serves(*call))
    }
}

impl TriedSetup {
    /// Returns true if a value differs from server to server.
    pub(crate) fn is_drawn(&self, link: &AnswerLink) -> bool {
        self.setup.contains(&link.source) && self.drawn.contains(&(link.source, link.path.clone()))
    }

    /// Returns true if a tool is called in the setup, or served after it.
    pub(crate) fn is_about(&self, tool: &str) -> bool {
        self.setup.iter().chain(&self.served).any(|at| self.calls[*at].tool == tool)
    }

    /// Takes note of values in the answers of a server that differ from those in the arguments of later calls.
    fn note_drawn(&mut self, of_setup: &BTreeMap<usize, Value>) {
        for link in self.calls.iter().flat_map(|call| call.links.iter().map(move |link| (call, link))) {
            let (call, link) = link;
            let Some(answer) = of_setup.get(&link.source) else { continue };
            if link.value_in(answer).as_ref() != call.arguments.pointer(&link.at) {
                self.drawn.insert((link.source, link.path.clone()));
            }
        }
    }
}

impl<'a> SetupTrial<'a> {
    pub(crate) fn new(context: &'a CheckContext<'a>, calls: Vec<LinkedCall>, time: Duration) -> Self {
        Self { context, calls, limits: CheckLimits::new(time, "").with_max_calls(MOST_CALLS), length: Duration::ZERO }
    }

    /// The smallest setup after which calls are served that are refused without it; `None` where there is none.
    pub(crate) async fn find(mut self) -> Option<TriedSetup> {
        let mut needing = self.refused_in_reverse().await;
        needing.retain(|at| !is_remover(&self.calls[*at].tool));
        let last = *needing.last()?;
        let mut setup = self.possible_setup(last, &needing);
        let begun = Instant::now();
        let first = self.answers_after(&setup, &needing).await?;
        self.length = begun.elapsed();
        setup.retain(|at| first.of_setup.contains_key(at) && (self.makes(*at) || self.draws(*at, &first.of_setup)));
        let wanted: Vec<usize> = needing.into_iter().filter(|at| first.serves(*at)).collect();
        if wanted.is_empty() {
            return None;
        }
        let setup = self.without_needless(setup, &wanted).await;
        self.leave_room(&setup, &wanted).await;
        let (served, of_setup) = self.served_again(&setup, wanted).await?;
        let helps_others = served.iter().any(|at| !setup.contains(at));
        let mut tried = TriedSetup { calls: self.calls, setup, served, drawn: BTreeSet::new() };
        tried.note_drawn(&first.of_setup);
        tried.note_drawn(&of_setup);
        helps_others.then_some(tried)
    }

    /// The calls that a server refuses which is asked in the reverse order, in the order in which they were served.
    async fn refused_in_reverse(&self) -> Vec<usize> {
        let Some(session) = self.open().await else { return Vec::new() };
        let mut refused = Vec::new();
        for (at, call) in self.calls.iter().enumerate().rev() {
            if self.call(&session, &call.tool, &call.arguments).await.is_none() {
                refused.push(at);
            }
        }
        session.close().await;
        refused.reverse();
        refused
    }

    /// The calls before the last one that needs any, that may have made something or showed what others take.
    fn possible_setup(&self, last: usize, needing: &[usize]) -> Vec<usize> {
        let mut sources: BTreeSet<usize> = BTreeSet::new();
        for at in (0..=last).rev() {
            if needing.contains(&at) || sources.contains(&at) {
                sources.extend(self.calls[at].links.iter().map(|link| link.source));
            }
        }
        let others = (0..last)
            .filter(|at| self.makes(*at) && !is_remover(&self.calls[*at].tool))
            .filter(|at| !sources.contains(at));
        let mut chosen: Vec<usize> = sources.iter().copied().chain(others).take(MOST_SETUP_CALLS).collect();
        chosen.sort_unstable();
        chosen
    }

    /// Returns true if a call may make something.
    fn makes(&self, call: usize) -> bool {
        self.context.catalog.tool(&self.calls[call].tool).is_some_and(|tool| !tool.only_reads())
    }

    /// Returns true if an answer shows another value than the one that later calls took from it on the first server.
    fn draws(&self, call: usize, answers: &BTreeMap<usize, Value>) -> bool {
        let Some(answer) = answers.get(&call) else { return false };
        let mut taken = self.calls.iter().flat_map(|user| user.links.iter().map(move |link| (user, link)));
        taken.any(|(user, link)| {
            link.source == call && link.value_in(answer).as_ref() != user.arguments.pointer(&link.at)
        })
    }

    /// The setup without calls that the wanted ones do not need; first without all to which nothing leads at once.
    async fn without_needless(&self, mut setup: Vec<usize>, wanted: &[usize]) -> Vec<usize> {
        let is_linked = |at: &usize| {
            let users = wanted.iter().chain(&setup).flat_map(|user| &self.calls[*user].links);
            users.into_iter().any(|link| link.source == *at)
        };
        let linked: Vec<usize> = setup.iter().copied().filter(is_linked).collect();
        if linked.len() < setup.len() && !linked.is_empty() && self.suffices(&linked, wanted).await {
            setup = linked;
        }
        // Halves, then quarters, then single calls.
        let mut size = setup.len() / 2;
        while size > 0 {
            let mut end = setup.len();
            while end > 0 && self.has_time() {
                let start = end.saturating_sub(size);
                let fewer = [&setup[..start], &setup[end..]].concat();
                if !fewer.is_empty() && self.suffices(&fewer, wanted).await {
                    setup = fewer;
                }
                end = start;
            }
            size /= 2;
        }
        setup
    }

    async fn suffices(&self, setup: &[usize], wanted: &[usize]) -> bool {
        let answers = self.answers_after(setup, wanted).await;
        answers.is_some_and(|answers| answers.serves_all(setup) && answers.serves_all(wanted))
    }

    /// Changes the texts of setup calls that are served once only, so that others may still make the calls as they were.
    async fn leave_room(&mut self, setup: &[usize], wanted: &[usize]) {
        for at in setup {
            let original = self.calls[*at].clone();
            if !self.has_time() || self.serves_after(setup, &original).await {
                continue;
            }
            for (text, other) in self.other_texts(&original) {
                let changed = self.calls.iter().map(|call| call.with_text(&text, &other)).collect();
                let before = std::mem::replace(&mut self.calls, changed);
                if self.serves_after(setup, &original).await && self.suffices(setup, wanted).await {
                    break;
                }
                self.calls = before;
            }
        }
    }

    /// Returns true if there is time to try more, and still for the last trials.
    fn has_time(&self) -> bool {
        self.limits.remaining() > self.length * 4
    }

    /// Returns true if the setup is served, and then this call.
    async fn serves_after(&self, setup: &[usize], call: &LinkedCall) -> bool {
        let Some(session) = self.open().await else { return false };
        let of_setup = self.set_up(&session, setup).await;
        let answer = self.call(&session, &call.tool, &call.arguments_after(&of_setup)).await;
        session.close().await;
        of_setup.len() == setup.len() && answer.is_some()
    }

    /// The texts of a call, each with another one that its schema takes.
    fn other_texts(&self, call: &LinkedCall) -> Vec<(String, String)> {
        let Some(tool) = self.context.catalog.tool(&call.tool) else { return Vec::new() };
        let folder = server_folder(self.context.suite, self.context.server_name);
        let Ok(safe) = safe_arguments(tool, folder) else { return Vec::new() };
        let is_own = |at: &String| call.links.iter().all(|link| link.at != *at);
        let own = leaves(&call.arguments).into_iter().filter(|(at, _)| is_own(at));
        let texts = own.filter_map(|(_, value)| {
            let text = value.as_str()?.to_owned();
            let other = another_text(&text);
            safe.generator().is_valid(&call.with_text(&text, &other).arguments).then_some((text, other))
        });
        texts.take(MOST_CHANGES).collect()
    }

    /// The calls that are served after the setup, each also after all others; with the answers to the setup. Where some are
    /// not, calls of tools that change things are left out.
    async fn served_again(&self, setup: &[usize], wanted: Vec<usize>) -> Option<(Vec<usize>, BTreeMap<usize, Value>)> {
        let answers = self.repeated_answers(setup, &wanted).await?;
        if answers.serves_all(&wanted) {
            return Some((wanted, answers.of_setup));
        }
        let is_kept = |at: &usize| !is_updater(&self.calls[*at].tool) && answers.of_setup.len() == setup.len();
        let kept: Vec<usize> = wanted.into_iter().filter(is_kept).collect();
        let answers = self.repeated_answers(setup, &kept).await?;
        Some((kept.into_iter().filter(|at| answers.served.contains(at)).collect(), answers.of_setup))
    }

    /// The answers to a setup and to calls that are made twice after it, those of the setup too.
    async fn repeated_answers(&self, setup: &[usize], wanted: &[usize]) -> Option<TrialAnswers> {
        let session = self.open().await?;
        let of_setup = self.set_up(&session, setup).await;
        let mut served: BTreeSet<_> = wanted.iter().copied().collect();
        for at in [self.by_weight(wanted), self.by_weight(wanted)].concat() {
            let call = &self.calls[at];
            if self.call(&session, &call.tool, &call.arguments_after(&of_setup)).await.is_none() {
                served.remove(&at);
            }
        }
        session.close().await;
        let is_whole = setup.iter().all(|at| of_setup.contains_key(at));
        is_whole.then_some(TrialAnswers { of_setup, served })
    }

    /// Calls in an order in which those that change least come first.
    fn by_weight(&self, calls: &[usize]) -> Vec<usize> {
        let mut calls = calls.to_vec();
        calls.sort_by_key(|at| self.context.catalog.tool(&self.calls[*at].tool).map(weight));
        calls
    }

    /// The answers of a server to the calls of a setup, and to others after it.
    async fn answers_after(&self, setup: &[usize], others: &[usize]) -> Option<TrialAnswers> {
        let session = self.open().await?;
        let of_setup = self.set_up(&session, setup).await;
        let mut answers = TrialAnswers { of_setup, served: BTreeSet::new() };
        for at in self.by_weight(others).into_iter().filter(|at| !setup.contains(at)) {
            let call = &self.calls[at];
            let arguments = call.arguments_after(&answers.of_setup);
            if self.call(&session, &call.tool, &arguments).await.is_some() {
                answers.served.insert(at);
            }
        }
        session.close().await;
        Some(answers)
    }

    /// Makes the calls of a setup; the responses to those that are served soon.
    async fn set_up(&self, session: &CheckSession<'_>, setup: &[usize]) -> BTreeMap<usize, Value> {
        let mut answers = BTreeMap::new();
        for at in setup {
            let call = &self.calls[*at];
            let begun = Instant::now();
            let answer = self.call(session, &call.tool, &call.arguments_after(&answers)).await;
            if let Some(answer) = answer.filter(|_| begun.elapsed() < SETUP_CALL_TIME) {
                answers.insert(*at, answer);
            }
        }
        answers
    }

    async fn open(&self) -> Option<CheckSession<'a>> {
        if self.limits.is_over() {
            return None;
        }
        let opened =
            self.context.servers.open(OpenServer { store: CaseStore::Anew, ..OpenServer::FRESH }).await.ok()?;
        Some(CheckSession::of(opened, self.context, self.limits.clone()))
    }

    /// The response to a call that is served.
    async fn call(&self, session: &CheckSession<'_>, tool: &str, arguments: &Value) -> Option<Value> {
        let time = CALL_TIME.min(session.request_timeout());
        let reply = session.try_request(CheckRequest::call(tool, arguments).within(time)).await.ok()??;
        is_served(&reply.message).then(|| self.context.machine.at_store((*reply.message).clone()))
    }
}

/// How much a tool changes.
fn weight(tool: &Tool) -> u8 {
    match (tool.only_reads(), is_updater(&tool.name)) {
        (true, _) => 0,
        (false, false) => 1,
        (false, true) => 2,
    }
}

/// A text like this one: another file beside a file, another name.
fn another_text(text: &str) -> String {
    let name = text.rfind(['/', '\\']).map_or(0, |at| at + 1);
    match text[name..].rfind('.').filter(|dot| *dot > 0) {
        Some(dot) => format!("{}-2{}", &text[..name + dot], &text[name + dot..]),
        None => format!("{text}-2"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_text_has_the_same_form() {
        for (text, expected) in [
            ("text", "text-2"),
            ("/srv/a.b/book.xlsx", "/srv/a.b/book-2.xlsx"),
            ("/srv/a.b/book", "/srv/a.b/book-2"),
            (".env", ".env-2"),
            ("", "-2"),
        ] {
            assert_eq!(another_text(text), expected);
        }
    }
}
