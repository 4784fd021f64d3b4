//! Several recordings of one run's parts as the recording of the whole run.
//!
//! A case that one part ran is taken as it is; what every part has, such as a scan of all messages or a template that no
//! server decided, ends as badly as it did anywhere. Coverage and known failures are judged later, from the facts of all
//! parts. Pure. Start reading in [`merge`].

mod check;
mod result;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::block::compliance;
use crate::event::{
    CaseResult, CaseStarted, Event, RunFinished, RunStarted, Section, ServerStarts, SessionJudged, ShardFacts,
    ShardInfo, ToolUse,
};

pub use self::check::MergeMistake;

/// The recording of a part of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedPart {
    /// The name of its file.
    pub name: String,
    /// What happened, in order.
    pub events: Vec<Event>,
}

/// A run that its parts make together.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedRun {
    /// What happened, but for the end: the first parts first.
    pub events: Vec<Event>,
    /// The end, without coverage.
    pub finished: RunFinished,
    /// What all parts tell together.
    pub facts: ShardFacts,
    /// What the parts say of themselves, but for their numbers.
    pub shard: ShardInfo,
}

/// Makes one run of all of its parts.
///
/// # Errors
///
/// Fails with every reason why the recordings are not the parts of one run, each once.
pub fn merge(parts: Vec<RecordedPart>) -> Result<MergedRun, Vec<MergeMistake>> {
    let parts = check::check(parts)?;
    let first_ms = parts.iter().map(|part| part.started.started_unix_ms).min().unwrap_or_default();
    let (mut events, mut ends, mut facts) = (Vec::new(), Vec::new(), None::<ShardFacts>);
    let (mut seen, mut results, mut judged) = (SeenEvents::default(), MergedResults::default(), Vec::new());
    let (started, shard) =
        (merged_start(&parts.iter().map(|part| &part.started).collect::<Vec<_>>()), parts[0].shard.clone());
    let mut begun: BTreeMap<String, Vec<CaseStarted>> = BTreeMap::new();
    for part in parts {
        let late_us = (part.started.started_unix_ms - first_ms).saturating_mul(1000);
        for event in part.events {
            match event {
                Event::RunStarted(_) => {}
                Event::RunFinished(finished) => ends.push(*finished),
                Event::CaseFinished(result) => results.add(*result),
                Event::SessionJudged(found) => add_session(&mut judged, found),
                Event::SessionTraced(mut traced) => {
                    traced.began_us = traced.began_us.saturating_add(late_us);
                    events.push(Event::SessionTraced(traced));
                }
                Event::CaseStarted(started) => begun.entry(started.id.clone()).or_default().push(started),
                event @ (Event::ServerReady(_) | Event::ToolsChosen(_)) => {
                    events.extend(seen.is_first(&event).then_some(event));
                }
            }
        }
        match &mut facts {
            Some(known) => known.absorb(part.facts),
            None => facts = Some(part.facts),
        }
    }
    let facts = facts.unwrap_or_default();
    let results = results.results;
    let finished = merged_end(ends, &results, &facts);
    events.insert(0, Event::RunStarted(started));
    for result in results {
        // Who reads along keeps what has begun until it ends.
        events.extend(attempts(begun.remove(&result.case.id).unwrap_or_default()));
        events.push(Event::CaseFinished(Box::new(result)));
    }
    events.extend(judged.into_iter().map(Event::SessionJudged));
    Ok(MergedRun { events, finished, facts, shard })
}

/// The attempts at a case, each once, as several parts may have run it.
fn attempts(mut begun: Vec<CaseStarted>) -> impl Iterator<Item = Event> {
    begun.sort_by_key(|started| started.attempt);
    begun.dedup_by_key(|started| started.attempt);
    begun.into_iter().map(Event::CaseStarted)
}

/// The beginning of the run: that of its first part, with the cases of all.
fn merged_start(parts: &[&RunStarted]) -> RunStarted {
    let first = parts[0];
    let is_one_seed = parts.iter().all(|part| part.seed == first.seed);
    RunStarted {
        started_unix_ms: parts.iter().map(|part| part.started_unix_ms).min().unwrap_or_default(),
        planned: parts.iter().fold(0, |sum, part| sum.saturating_add(part.planned)),
        seed: first.seed.filter(|_| is_one_seed),
        shard: None,
        parts: Some(parts.len()),
        ..first.clone()
    }
}

/// The end of the run, which took as long as its longest part.
fn merged_end(ends: Vec<RunFinished>, results: &[CaseResult], facts: &ShardFacts) -> RunFinished {
    let (mut starts, mut tools, mut sections) = (ServerStarts::default(), Vec::new(), Vec::new());
    let (duration_us, not_run) = (
        ends.iter().map(|end| end.duration_us).max().unwrap_or_default(),
        ends.iter().fold(0, |sum: usize, end| sum.saturating_add(end.not_run)),
    );
    let (interrupted, ended_by) = (ends.iter().any(|end| end.interrupted), ends.iter().find_map(|end| end.ended_by));
    for end in ends {
        starts.add(end.starts);
        end.tools.into_iter().for_each(|more| add_tools(&mut tools, more));
        end.sections.into_iter().for_each(|more| add_section(&mut sections, more));
    }
    let (of_rules, others): (Vec<Section>, Vec<Section>) =
        sections.into_iter().partition(|section| section.block == compliance::KIND.key.name);
    // A score of rules is no sum of scores: each rule counts once, by the worst of its cases.
    let mut sections = if of_rules.is_empty() { Vec::new() } else { compliance::sections(results) };
    sections.extend(others);
    RunFinished {
        duration_us,
        interrupted,
        ended_by,
        not_run,
        coverage: None,
        stale_snapshots: facts.stale_snapshots.clone(),
        isolation: None,
        sections,
        starts,
        proof: None,
        unjudged: Vec::new(),
        tools,
        fails_on_flaky: false,
        servers: Vec::new(),
        shard: None,
    }
}

/// The events that every part tells, of which one is enough.
#[derive(Default)]
struct SeenEvents(BTreeSet<[String; 4]>);

impl SeenEvents {
    fn is_first(&mut self, event: &Event) -> bool {
        let key = match event {
            Event::ServerReady(ready) => ["ready", &ready.file, &ready.server, &ready.revision],
            Event::ToolsChosen(chosen) => ["chosen", &chosen.file, &chosen.server, &chosen.revision],
            Event::RunStarted(_)
            | Event::CaseStarted(_)
            | Event::CaseFinished(_)
            | Event::SessionJudged(_)
            | Event::SessionTraced(_)
            | Event::RunFinished(_) => return true,
        };
        self.0.insert(key.map(str::to_owned))
    }
}

/// The results of all parts, each case once.
#[derive(Default)]
struct MergedResults {
    results: Vec<CaseResult>,
    places: BTreeMap<String, usize>,
}

impl MergedResults {
    fn add(&mut self, result: CaseResult) {
        if let Some(at) = self.places.get(&result.case.id) {
            result::absorb(&mut self.results[*at], result);
        } else {
            self.places.insert(result.case.id.clone(), self.results.len());
            self.results.push(result);
        }
    }
}

fn add_session(judged: &mut Vec<SessionJudged>, more: SessionJudged) {
    match judged.iter_mut().find(|known| known.id() == more.id()) {
        Some(known) => result::add_findings(&mut known.findings, more.findings),
        None => judged.push(more),
    }
}

/// A tool that one part called is called.
fn add_tools(tools: &mut Vec<ToolUse>, more: ToolUse) {
    let Some(known) = tools.iter_mut().find(|known| (&known.file, &known.server) == (&more.file, &more.server)) else {
        tools.push(more);
        return;
    };
    let called: BTreeSet<String> = known.called.drain(..).chain(more.called).collect();
    let uncalled: BTreeSet<String> = known.uncalled.drain(..).chain(more.uncalled).collect();
    known.uncalled = uncalled.difference(&called).cloned().collect();
    known.called = called.into_iter().collect();
}

fn add_section(sections: &mut Vec<Section>, more: Section) {
    match sections.iter_mut().find(|known| known.is_same(&more)) {
        Some(known) => known.absorb(more),
        None => sections.push(more),
    }
}
