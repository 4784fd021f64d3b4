//! Arguments that a server takes, found out by calling it.
//!
//! What a schema gives alone is often refused: it asks for an id that another tool returns, a file that is there, one of
//! the words that the refusal names. Tools are called in rounds; what is served in one round gives values for the next.

mod candidates;
mod conventions;
mod files;
mod hints;
mod lists;
mod seeds;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use self::candidates::{CandidateArguments, attempts};
use self::files::add_files;
use self::lists::with_items;
use self::seeds::Seeds;
use super::{CheckEnd, CheckLimits, CheckRequest, CheckSession};
use crate::event::{FailureClass, Finding};
use crate::matching::words_of;
use crate::plan::arguments::{SafeArguments, safe_arguments, server_folder};
use crate::plan::witness::known_arguments;
use crate::plan::{CaseStore, CheckContext, OpenServer};
use crate::source::template::has_template;
use crate::wire::{Tool, is_served, surroundings_lack, value_memory};

/// The usual time for all calls, that for one of them, the calls for each tool, the rounds, and the servers that may end or hang.
pub(crate) const LEARNING_TIME: Duration = Duration::from_secs(20);
const CALL_TIME: Duration = Duration::from_secs(4);
/// The share of all time that one call may take.
const CALL_SHARE: u32 = 5;
const CALLS_PER_TOOL: usize = 30;
const ROUNDS: usize = 4;
const LOST_SERVERS: usize = 1;

/// The memory that a result may take to be kept, in bytes.
const LARGEST_KEPT: usize = 1 << 16;

/// Arguments that a tool served, though it refuses those that its schema alone gives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LearnedArguments {
    pub(crate) arguments: Value,
    /// The place where the value was found that made the difference, in words.
    pub(crate) origin: String,
}

/// The arguments that tools served.
#[derive(Debug, Default)]
pub(crate) struct Learning {
    /// Those that schemas alone give, by tool.
    pub(crate) by_schema: BTreeMap<String, Value>,
    /// Those that were found otherwise.
    pub(crate) found: BTreeMap<String, LearnedArguments>,
    /// The last refusals of the tools that served nothing, in words.
    pub(crate) refused: BTreeMap<String, String>,
    /// The ends of servers that ended by themselves, by the tool that was called before.
    pub(crate) ends: BTreeMap<String, Finding>,
    /// The tools that no longer serve what they served in an earlier run.
    pub(crate) outdated: BTreeSet<String>,
    /// The tools that did not answer a call in its time.
    pub(crate) silent: BTreeSet<String>,
    /// The calls that the first server served, in their order: some may need what earlier ones made.
    pub(crate) served: Vec<ServedCall>,
}

/// A call that a server served.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServedCall {
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    /// Its result; null for one that is too large to be kept.
    pub(crate) result: Value,
}

/// The tools whose arguments are looked for, and what helps with that.
pub(crate) struct LearningTask<'a> {
    pub(crate) needed: &'a (dyn Fn(&Tool) -> bool + Sync),
    /// What an earlier run found, which is tried first.
    pub(crate) remembered: &'a BTreeMap<String, Value>,
    /// The time for all calls.
    pub(crate) time: Duration,
}

#[cfg(feature = "cli")]
impl LearningTask<'static> {
    /// All tools.
    pub(crate) fn all() -> Self {
        static NOTHING: BTreeMap<String, Value> = BTreeMap::new();
        Self { needed: &|_| true, remembered: &NOTHING, time: LEARNING_TIME }
    }
}

/// A tool of which no call was served yet.
struct UnservedTool<'a> {
    tool: &'a Tool,
    safe: SafeArguments,
    tried: BTreeSet<String>,
    refusal: String,
    /// The number of calls before its first one that may have made something.
    making_calls: usize,
}

/// Finds arguments that tools serve, for those that refuse what their schemas alone give; what is found is served by two
/// servers that know nothing of each other. Tools that are not `needed` are called for what they show, where one that is
/// refuses.
pub(crate) async fn learn_arguments(
    context: &CheckContext<'_>,
    LearningTask { needed, remembered, time }: LearningTask<'_>,
) -> Learning {
    let (needed_tools, others): (Vec<_>, Vec<_>) = open_tools(context).into_iter().partition(|open| needed(open.tool));
    let limits = CheckLimits::new(time, "").with_max_calls(CALLS_PER_TOOL * needed_tools.len());
    let mut caller = LearningSession {
        context,
        limits,
        call_time: CALL_TIME.min(time / CALL_SHARE),
        store: CaseStore::Continued,
        session: None,
        called: None,
        lost: 0,
        ends: BTreeMap::new(),
        silent: BTreeSet::new(),
        lacking: BTreeMap::new(),
        served: Vec::new(),
        making_calls: 0,
    };
    let mut seeds = Seeds::with_store(context.machine.store());
    let mut learning = Learning::default();
    let is_recalled = |open: &&UnservedTool<'_>| remembered.contains_key(&open.tool.name);
    let recalled: Vec<String> = needed_tools.iter().filter(is_recalled).map(|open| open.tool.name.clone()).collect();
    let mut found = BTreeMap::new();
    let needed_tools = call_remembered(&mut caller, needed_tools, remembered, &mut seeds, &mut found).await;
    let first = call_first(&mut caller, needed_tools, &mut seeds).await;
    let mut pending = first.refused;
    found.extend(first.with_items);
    learning.by_schema = first.by_schema;
    if pending.is_empty() && found.is_empty() {
        learning.served = std::mem::take(&mut caller.served);
        caller.finish(&mut learning).await;
        return learning;
    }
    if !pending.is_empty() {
        pending.extend(call_first(&mut caller, others, &mut seeds).await.refused);
    }
    seeds.add_offer(context.catalog);
    if let Some(server) = context.suite.servers.get(context.server_name) {
        add_files(server, &mut seeds);
    }
    for tool in &context.catalog.tools {
        let given = known_arguments(context.suite, context.server_name, tool);
        if let Some((_, arguments)) = given.filter(|(_, arguments)| !has_template(arguments)) {
            seeds.add_given(&tool.name, &arguments.to_json());
        }
    }
    for _ in 0..ROUNDS {
        let before = pending.len();
        let mut left = Vec::new();
        for mut one in pending {
            match try_attempts(&mut caller, &mut one, &mut seeds).await {
                Some(served) if needed(one.tool) => drop(found.insert(one.tool.name.clone(), served)),
                Some(_) => {}
                None => left.push(one),
            }
        }
        pending = left;
        if pending.len() == before || !pending.iter().any(|one| needed(one.tool)) {
            break;
        }
    }
    caller.close().await;
    // What the first server had made on the way is not there.
    caller.store = CaseStore::Anew;
    learning.served = std::mem::take(&mut caller.served);
    learning.refused = pending.into_iter().map(|one| (one.tool.name.clone(), one.refusal)).collect();
    for (tool, served) in found {
        match caller.call(&tool, &served.arguments).await {
            LearningAnswer::Served(_) => drop(learning.found.insert(tool, served)),
            LearningAnswer::Refused(_) if learning.by_schema.contains_key(&tool) => {}
            LearningAnswer::Refused(words) => drop(learning.refused.insert(tool, words)),
            LearningAnswer::Lacking | LearningAnswer::None => {}
        }
    }
    let is_outdated = |tool: &&String| !learning.found.contains_key(*tool);
    learning.outdated = recalled.iter().filter(is_outdated).cloned().collect();
    caller.finish(&mut learning).await;
    learning
}

/// Calls tools with what they served in an earlier run; returns those that have yet to serve something.
async fn call_remembered<'a>(
    caller: &mut LearningSession<'_>,
    open: Vec<UnservedTool<'a>>,
    remembered: &BTreeMap<String, Value>,
    seeds: &mut Seeds,
    found: &mut BTreeMap<String, LearnedArguments>,
) -> Vec<UnservedTool<'a>> {
    let mut left = Vec::new();
    for mut one in open {
        // The schema may be another one, and nothing is sent that would not be sent otherwise.
        let is_safe = |arguments: &&Value| {
            one.safe.generator().is_valid(arguments)
                && one.safe.sanitize((*arguments).clone()).as_ref() == Some(arguments)
        };
        let Some(arguments) = remembered.get(&one.tool.name).filter(is_safe) else {
            left.push(one);
            continue;
        };
        one.tried.insert(arguments.to_string());
        match caller.call(&one.tool.name, arguments).await {
            LearningAnswer::Served(result) => {
                note_served(seeds, one.tool, arguments, &result);
                let served = LearnedArguments { arguments: arguments.clone(), origin: "an earlier run".to_owned() };
                found.insert(one.tool.name.clone(), served);
            }
            LearningAnswer::Refused(_) => left.push(one),
            LearningAnswer::Lacking | LearningAnswer::None => {}
        }
    }
    left
}

/// The tools that may be called and answered before, and of which the suite gives no arguments.
fn open_tools<'a>(context: &CheckContext<'a>) -> Vec<UnservedTool<'a>> {
    let folder = server_folder(context.suite, context.server_name);
    let tools = context.catalog.tools.iter().filter(|tool| {
        let is_open = context.suite.hazard(context.server_name, tool).is_none() && !tool.is_task_only();
        let is_silent = context.suite.silent_tools.contains(&tool.name);
        is_open && !is_silent && known_arguments(context.suite, context.server_name, tool).is_none()
    });
    let prepared = tools.filter_map(|tool| {
        let safe = safe_arguments(tool, folder.clone()).ok()?;
        Some(UnservedTool { tool, safe, tried: BTreeSet::new(), refusal: String::new(), making_calls: 0 })
    });
    let mut open: Vec<UnservedTool<'_>> = prepared.collect();
    // What needs nothing shows what the others need.
    open.sort_by_key(|open| open.safe.smallest().as_object().map_or(0, serde_json::Map::len));
    open
}

/// The outcomes of the first call of each tool.
#[derive(Default)]
struct FirstCalls<'a> {
    /// The arguments that schemas alone give, of the tools that served them.
    by_schema: BTreeMap<String, Value>,
    /// Those with an item in each list, of the tools that served them.
    with_items: BTreeMap<String, LearnedArguments>,
    refused: Vec<UnservedTool<'a>>,
}

/// Calls each tool with what its schema gives, before that with an item in each list that it leaves empty: an empty list is
/// often served, and does nothing.
async fn call_first<'a>(
    caller: &mut LearningSession<'_>,
    open: Vec<UnservedTool<'a>>,
    seeds: &mut Seeds,
) -> FirstCalls<'a> {
    let mut first = FirstCalls::default();
    for mut one in open {
        let with_items = with_items(one.tool, &one.safe);
        let mut is_served = false;
        if let Some(arguments) = &with_items {
            one.tried.insert(arguments.to_string());
            if let LearningAnswer::Served(result) = caller.call(&one.tool.name, arguments).await {
                is_served = true;
                note_served(seeds, one.tool, arguments, &result);
                let (arguments, origin) = (arguments.clone(), "its schema, with an item in each list".to_owned());
                first.with_items.insert(one.tool.name.clone(), LearnedArguments { arguments, origin });
            }
        }
        let arguments = one.safe.smallest().clone();
        one.tried.insert(arguments.to_string());
        one.making_calls = caller.making_calls;
        match caller.call(&one.tool.name, &arguments).await {
            LearningAnswer::Served(result) => {
                note_served(seeds, one.tool, &arguments, &result);
                first.by_schema.insert(one.tool.name.clone(), arguments);
            }
            LearningAnswer::Refused(refusal) if !is_served => {
                let safe = with_items.into_iter().fold(one.safe, SafeArguments::with_smallest);
                first.refused.push(UnservedTool { safe, refusal, ..one });
            }
            LearningAnswer::Refused(_) | LearningAnswer::Lacking | LearningAnswer::None => {}
        }
    }
    first
}

fn note_served(seeds: &mut Seeds, tool: &Tool, arguments: &Value, result: &Value) {
    seeds.add_answer(&tool.name, result);
    if !tool.only_reads() {
        seeds.add_served(&tool.name, arguments);
    }
}

/// Tries what is known by now; the first arguments that are served are enough.
async fn try_attempts(
    caller: &mut LearningSession<'_>,
    pending: &mut UnservedTool<'_>,
    seeds: &mut Seeds,
) -> Option<LearnedArguments> {
    // What it refused it may serve where something was made since then.
    if caller.making_calls > pending.making_calls {
        pending.making_calls = caller.making_calls;
        let arguments = pending.safe.smallest().clone();
        match caller.call(&pending.tool.name, &arguments).await {
            LearningAnswer::Served(result) => {
                note_served(seeds, pending.tool, &arguments, &result);
                return Some(LearnedArguments { arguments, origin: "its schema, after other calls".to_owned() });
            }
            LearningAnswer::Refused(words) => pending.refusal = words,
            LearningAnswer::Lacking | LearningAnswer::None => return None,
        }
    }
    let made = attempts(pending.tool, &pending.safe, seeds, &pending.refusal, &pending.tried);
    for CandidateArguments { arguments, origin } in made {
        pending.tried.insert(arguments.to_string());
        match caller.call(&pending.tool.name, &arguments).await {
            LearningAnswer::Served(result) => {
                note_served(seeds, pending.tool, &arguments, &result);
                return Some(LearnedArguments { arguments, origin });
            }
            LearningAnswer::Refused(words) => pending.refusal = words,
            LearningAnswer::Lacking | LearningAnswer::None => return None,
        }
    }
    None
}

/// An answer as far as it decides what is tried next.
enum LearningAnswer {
    Served(Value),
    /// With the words of the refusal.
    Refused(String),
    /// The machine lacks something that no arguments give.
    Lacking,
    /// There is none, or no time for one.
    None,
}

/// Calls tools one after another, on a server of its own.
struct LearningSession<'a> {
    context: &'a CheckContext<'a>,
    limits: CheckLimits,
    /// The time for one call.
    call_time: Duration,
    store: CaseStore,
    session: Option<CheckSession<'a>>,
    /// The last call.
    called: Option<(String, Value)>,
    /// The number of servers that ended or hung.
    lost: usize,
    ends: BTreeMap<String, Finding>,
    silent: BTreeSet<String>,
    /// The words that show what the machine lacks, by tool.
    lacking: BTreeMap<String, String>,
    served: Vec<ServedCall>,
    /// The number of calls that were served of tools that may make something.
    making_calls: usize,
}

impl LearningSession<'_> {
    async fn call(&mut self, tool: &str, arguments: &Value) -> LearningAnswer {
        if self.session.is_none() {
            if self.lost > LOST_SERVERS {
                return LearningAnswer::None;
            }
            let opened = self.context.servers.open(OpenServer { store: self.store, ..OpenServer::FRESH }).await;
            let Ok(session) = opened else {
                self.lost = LOST_SERVERS + 1;
                return LearningAnswer::None;
            };
            self.session = Some(CheckSession::of(session, self.context, self.limits.clone()));
        }
        let Some(session) = &self.session else { return LearningAnswer::None };
        let timeout = self.call_time.min(session.request_timeout());
        self.called = Some((tool.to_owned(), arguments.clone()));
        match session.try_request(CheckRequest::call(tool, arguments).within(timeout)).await {
            Ok(Some(reply)) if is_served(&reply.message) => {
                let result = self.context.machine.at_store(reply.message["result"].clone());
                let kept = if value_memory(&result) > LARGEST_KEPT { Value::Null } else { result.clone() };
                let makes = self.context.catalog.tool(tool).is_some_and(|tool| !tool.only_reads());
                self.making_calls += usize::from(makes);
                let (tool, arguments) = (tool.to_owned(), arguments.clone());
                self.served.push(ServedCall { tool, arguments, result: kept });
                LearningAnswer::Served(result)
            }
            Ok(Some(reply)) => {
                // Another process has another copy.
                let words = words_of(&self.context.machine.at_store((*reply.message).clone()));
                if surroundings_lack(&words).is_none() {
                    return LearningAnswer::Refused(words);
                }
                self.lacking.insert(tool.to_owned(), words);
                LearningAnswer::Lacking
            }
            Ok(None) | Err(CheckEnd::Spent(_) | CheckEnd::Inconclusive(_) | CheckEnd::Skipped(_)) => {
                LearningAnswer::None
            }
            Err(
                end @ (CheckEnd::Unanswered(_) | CheckEnd::Failed(_) | CheckEnd::Unavailable(_) | CheckEnd::Decided(_)),
            ) => {
                self.lost += 1;
                if matches!(&end, CheckEnd::Unanswered(failure) if failure.is_timeout()) {
                    self.silent.insert(tool.to_owned());
                }
                self.note_ends(end.into_result().findings);
                self.close().await;
                LearningAnswer::None
            }
        }
    }

    async fn close(&mut self) {
        if let Some(session) = self.session.take() {
            let found = session.close().await;
            self.note_ends(found);
        }
    }

    async fn finish(mut self, learning: &mut Learning) {
        self.close().await;
        learning.refused.extend(self.lacking);
        learning.ends = self.ends;
        learning.silent = self.silent;
    }

    fn note_ends(&mut self, found: impl IntoIterator<Item = Finding>) {
        let end = found.into_iter().find(|found| found.class == Some(FailureClass::ProcessExited));
        if let (Some(end), Some((tool, arguments))) = (end, self.called.take()) {
            let call = format!("{tool} {arguments}");
            self.ends.insert(tool, end.with_evidence("the call", call));
        }
    }
}
