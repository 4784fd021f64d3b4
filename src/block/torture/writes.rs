//! Writes of one tool, one after another and at a time, and what the reads show of them afterwards.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Torture;
use super::clients::{Clients, Concurrent, ConcurrentAnswers, Delivery, FollowUp, NumberedAnswer, NumberedCalls};
use super::identifiers::identifier_of_write;
use super::judging::{JudgedRound, WrittenRound};
use super::reads::{Read, ReadBack, Readers, texts_before, that_show};
use super::template::ArgumentTemplate;
use crate::check::canary::Canaries;
use crate::check::evidence::{refusal_result, shown_call};
use crate::check::{CheckEnd, lists_what_is_created};
use crate::event::CheckResult;
use crate::plan::CheckContext;
use crate::session::FailureReason;

/// The time that a write may take to become visible; a concurrent one has the time of all writes one after another besides.
pub(crate) const SETTLING: Duration = Duration::from_secs(1);

/// The time between two looks at a write that may have become visible.
pub(crate) const POLLING: Duration = Duration::from_millis(200);

/// The number of writes at the start of the baseline that are read as soon as they are confirmed.
const READ_AT_ONCE: usize = 8;

/// The facts found out about a tool so far.
pub(crate) struct WriteStudy<'a> {
    pub(crate) context: &'a CheckContext<'a>,
    pub(crate) settings: &'a Torture,
    pub(crate) tool: &'a str,
    pub(crate) clients: &'a Clients<'a>,
    pub(crate) canaries: Canaries,
}

/// Arguments that write, and the reads that show what they write.
#[derive(Debug, Clone)]
pub(crate) struct WritingArguments {
    pub(crate) template: ArgumentTemplate,
    pub(crate) reads: Vec<Read>,
    pub(crate) slowest: Duration,
}

/// Writes one after another, all of them visible.
pub(crate) struct WriteBaseline {
    pub(crate) reads: Vec<Read>,
    /// The number of times that each read shows every write; `None` where not all equally often.
    pub(crate) times: Vec<Option<usize>>,
    /// A read that showed the first writes as soon as they were confirmed.
    pub(crate) at_once: Option<Read>,
    /// The forms of the answers to confirmed writes.
    shapes: BTreeSet<String>,
    /// True if every answer shows the text of its own call.
    pub(crate) repeats_text: bool,
    /// True if every answer names an identifier, and no two the same.
    pub(crate) identifies: bool,
    /// The time of one write, with all that came of it.
    time: Duration,
    slowest: Duration,
}

/// The step that follows each write of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoundKind {
    /// The next write.
    WritesOnly,
    /// A read in the same session.
    ReadsOwnWrites,
}

/// A round that is about to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundPlan {
    pub(crate) kind: RoundKind,
    pub(crate) delivery: Delivery,
    /// The number of writes.
    pub(crate) count: usize,
    /// The time that they may take to become visible.
    pub(crate) patience: Duration,
}

impl WriteBaseline {
    /// The time that so many concurrent writes may take to become visible: a cache or an index would have that long for as many
    /// writes one after another.
    pub(crate) fn patience(&self, count: usize) -> Duration {
        self.time * u32::try_from(count).unwrap_or(u32::MAX) + SETTLING
    }

    /// True if an answer looks like those to the writes of the baseline: a refusal, an error or another sentence confirms
    /// nothing.
    fn confirms(&self, write: &NumberedAnswer, canaries: &Canaries) -> bool {
        let is_usual = write.is_served() && self.shapes.contains(&shape(write.text()));
        is_usual && (!self.repeats_text || shows_own(write, canaries))
    }

    /// True if as many writes later on were right in the same way.
    pub(crate) fn is_like(&self, later: &Self) -> bool {
        let reads = |baseline: &Self| (baseline.reads.len(), baseline.times.clone());
        let answers = |baseline: &Self| (baseline.repeats_text, baseline.identifies);
        reads(self) == reads(later) && answers(self) == answers(later)
    }

    /// Reads of resources with these names, which show every write so often.
    #[cfg(test)]
    pub(crate) fn of_test(reads: &[&str], times: &[Option<usize>]) -> Self {
        Self {
            reads: reads.iter().map(|name| Read::Resource((*name).to_owned())).collect(),
            times: times.to_vec(),
            at_once: None,
            shapes: BTreeSet::new(),
            repeats_text: true,
            identifies: true,
            time: Duration::from_millis(10),
            slowest: Duration::from_millis(20),
        }
    }

    /// With those reads only that show a write as often as they do in another baseline with the same reads; `None` where
    /// none does.
    pub(crate) fn agreeing_with(mut self, other: &Self) -> Option<Self> {
        if self.reads.len() != other.reads.len() {
            return None;
        }
        let agrees = |at: &usize| self.times[*at].is_some() && self.times[*at] == other.times[*at];
        let agreeing: Vec<usize> = (0..self.reads.len()).filter(agrees).collect();
        self.reads = agreeing.iter().map(|at| self.reads[*at].clone()).collect();
        self.times = agreeing.iter().map(|at| self.times[*at]).collect();
        (!self.reads.is_empty()).then_some(self)
    }

    /// Writes can be read as soon as they are confirmed.
    pub(crate) fn shows_at_once(&self) -> bool {
        self.at_once.is_some()
    }
}

impl WriteStudy<'_> {
    /// Finds arguments that are served, and reads that show what they write.
    pub(crate) async fn learn(
        &mut self,
        templates: &[ArgumentTemplate],
    ) -> Result<Result<WritingArguments, CheckResult>, CheckEnd> {
        let candidates = Read::candidates(self.context, self.settings, self.tool);
        let before = texts_before(self.clients, &candidates).await?;
        self.canaries = self.canaries.clone().unlike(before.iter().map(String::as_str));
        let (mut refusal, mut served) = (None, None);
        for template in templates {
            let call = self.next_calls(template, 1);
            let Some(write) = self.clients.one_after_another(&call).await?.into_iter().next() else {
                continue;
            };
            if !write.is_served() {
                refusal.get_or_insert_with(|| shown_call(&write.reply.whole()));
                continue;
            }
            served.get_or_insert_with(|| template.clone());
            let reads = that_show(self.clients, &self.canaries, &candidates, &write).await?;
            if !reads.is_empty() {
                return Ok(Ok(WritingArguments { template: template.clone(), reads, slowest: write.reply.elapsed }));
            }
        }
        let tool = self.tool;
        if served.is_none() && refusal.is_none() {
            return self.judge_unanswered(templates).await.map(Err);
        }
        if let (Some(template), None) = (&served, self.settings.pair(tool))
            && let Some(lost) = self.find_unstored(template).await?
        {
            return Ok(Err(lost));
        }
        Ok(Err(match (served.is_some(), self.settings.pair(tool)) {
            (false, _) => refusal_result(self.context, tool, refusal.as_ref()),
            (true, None) if let Some(list) = self.list_of_written() => CheckResult::inconclusive(format!(
                "`{tool}` confirmed a write, and neither `{list}` nor any other read shows it as it was sent: it may not be stored, or \
                 be shown elsewhere; name a read with `pairs`"
            )),
            (true, None) => CheckResult::not_given(format!(
                "no tool that only reads, and no resource, shows what `{tool}` writes; name one with `pairs`"
            )),
            (true, Some(pair)) => {
                let names: Vec<String> = pair.read.iter().map(|read| format!("`{}`", read.value)).collect();
                CheckResult::inconclusive(format!("a single write of `{tool}` is not shown by {}", names.join(" or ")))
            }
        }))
    }

    /// A tool that by its name lists what this one creates, as `list_notes` lists what `add_note` adds.
    fn list_of_written(&self) -> Option<&str> {
        let readers = self.context.catalog.tools.iter().filter(|tool| tool.only_reads());
        let mut names = readers.map(|tool| tool.name.as_str());
        names.find(|name| lists_what_is_created(name, self.tool))
    }

    /// The result where not one valid call got an answer, each made alone.
    async fn judge_unanswered(&mut self, templates: &[ArgumentTemplate]) -> Result<CheckResult, CheckEnd> {
        let tool = self.tool;
        if let Some(template) = templates.first() {
            let again = self.next_calls(template, 1);
            let failure = match again.calls.first() {
                Some(call) => self.clients.failure_of(&again, *call).await,
                None => None,
            };
            match failure {
                Some(failure) if matches!(&failure.reason, FailureReason::Http(http) if http.is_break()) => {
                    return Err(CheckEnd::Unanswered(Box::new(failure)));
                }
                Some(failure) => {
                    return Ok(CheckResult::inconclusive(format!("no call of `{tool}` was answered: {failure}")));
                }
                None => {}
            }
        }
        Ok(CheckResult::inconclusive(format!("no call of `{tool}` was answered at first")))
    }

    /// So many writes one after another, each followed by the same call if it is to be repeated: the reads that show all of
    /// them.
    pub(crate) async fn baseline(
        &mut self,
        learned: &WritingArguments,
        count: usize,
        delivery: Delivery,
    ) -> Result<Result<WriteBaseline, CheckResult>, CheckEnd> {
        let calls = self.next_calls(&learned.template, count);
        let begun = Instant::now();
        let (mut answered, mut repeated) = (Vec::new(), Vec::new());
        let mut at_once = learned.reads.clone();
        for call in &calls.calls {
            let Some(write) = self.clients.call(&calls, *call).await? else { continue };
            if delivery != Delivery::Once {
                repeated.extend(self.clients.call(&calls, *call).await?);
            }
            if write.is_served() && answered.len() < READ_AT_ONCE {
                at_once = that_show(self.clients, &self.canaries, &at_once, &write).await?;
            }
            answered.push(write);
        }
        let writes: Vec<&NumberedAnswer> = answered.iter().filter(|write| write.is_served()).collect();
        let backs = self.wait_until_visible(&learned.reads, &writes, SETTLING).await?;
        let complete = learned.reads.iter().zip(&backs).filter(|(_, back)| back.is_complete());
        let (reads, times): (Vec<Read>, Vec<_>) = complete.map(|(read, back)| (read.clone(), back.times())).unzip();
        let tool = self.tool;
        if writes.len() < 2 {
            return Ok(Err(CheckResult::inconclusive(format!("`{tool}` refuses to write again after the first time"))));
        }
        if reads.is_empty()
            && let Some(lost) = self.judge_replaced(&learned.template, &learned.reads, &writes, &backs)
        {
            return Ok(Err(lost));
        }
        if reads.is_empty() {
            return Ok(Err(CheckResult::inconclusive(format!(
                "not even writes one after another are all shown: `{}` shows some of {} writes of `{tool}`, as a list \
                 with pages or a value that is replaced does; lower `sessions` and `calls`, or name a read with `pairs`",
                learned.reads.first().map_or("", Read::name),
                writes.len(),
            ))));
        }
        let identifiers: BTreeSet<String> =
            writes.iter().filter_map(|write| identifier_of_write(write, tool, &self.canaries)).collect();
        Ok(Ok(WriteBaseline {
            reads,
            times,
            at_once: at_once.into_iter().next(),
            shapes: writes.iter().copied().chain(&repeated).map(|write| shape(write.text())).collect(),
            repeats_text: writes.iter().all(|write| shows_own(write, &self.canaries)),
            identifies: identifiers.len() == writes.len(),
            time: begun.elapsed() / u32::try_from(count).unwrap_or(u32::MAX).max(1),
            slowest: answered.iter().map(|write| write.reply.elapsed).max().unwrap_or_default().max(learned.slowest),
        }))
    }

    /// Concurrent writes, and everything about them that is wrong.
    pub(crate) async fn round(
        &mut self,
        learned: &WritingArguments,
        baseline: &WriteBaseline,
        plan: RoundPlan,
    ) -> Result<WrittenRound, CheckEnd> {
        let calls = self.next_calls(&learned.template, plan.count);
        let follow_up = match plan.kind {
            RoundKind::WritesOnly => None,
            RoundKind::ReadsOwnWrites => baseline.at_once.clone().map(|read| self.read_back(read)),
        };
        let concurrent = Concurrent { calls: &calls, delivery: plan.delivery, slowest: baseline.slowest, follow_up };
        let ConcurrentAnswers { judged: mut answered, end } = self.clients.at_a_time(&concurrent, Some).await;
        answered.sort_by_key(|call| call.number);
        if let Some(end) = end {
            return self.judge_answers_only(baseline, plan, &answered).ok_or(end);
        }
        let is_confirmed = |write: &&NumberedAnswer| baseline.confirms(write, &self.canaries);
        let mut writes: Vec<&NumberedAnswer> = answered.iter().filter(is_confirmed).collect();
        writes.dedup_by_key(|write| write.number);
        let backs = self.wait_until_visible(&baseline.reads, &writes, plan.patience).await?;
        let judged = JudgedRound {
            tool: self.tool,
            canaries: &self.canaries,
            baseline,
            delivery: plan.delivery,
            answered: &answered,
            writes: &writes,
            backs: &backs,
        };
        let faults = judged.faults();
        let write = writes.first().map(|write| write.exchange(self.tool));
        let read = backs.into_iter().next().and_then(|back| back.call);
        Ok(WrittenRound { confirmed: writes.len(), faults, calls: write.into_iter().chain(read).collect() })
    }

    /// A round in which some writes got no answer: the text of another call is wrong in the others all the same.
    fn judge_answers_only(
        &self,
        baseline: &WriteBaseline,
        plan: RoundPlan,
        answered: &[NumberedAnswer],
    ) -> Option<WrittenRound> {
        let judged = JudgedRound {
            tool: self.tool,
            canaries: &self.canaries,
            baseline,
            delivery: plan.delivery,
            answered,
            writes: &[],
            backs: &[],
        };
        let faults = judged.faults();
        (!faults.is_empty()).then(|| WrittenRound { confirmed: answered.len(), faults, calls: Vec::new() })
    }

    /// Asks for each write as soon as it is confirmed.
    fn read_back(&self, read: Read) -> Arc<FollowUp> {
        let canaries = self.canaries.clone();
        Arc::new(move |write: &NumberedAnswer| {
            write.is_served().then(|| read.request(&canaries.of(write.number), Some(write))).flatten()
        })
    }

    /// The writes that reads show: all of them as soon as they do, or else those after so long, and a second more.
    pub(crate) async fn wait_until_visible(
        &self,
        reads: &[Read],
        writes: &[&NumberedAnswer],
        elapsed: Duration,
    ) -> Result<Vec<ReadBack>, CheckEnd> {
        let until = Instant::now() + elapsed + SETTLING;
        loop {
            let is_last = Instant::now() >= until;
            let readers = if is_last { Readers::Own } else { Readers::AsFewAsPossible };
            let mut all: Vec<ReadBack> = Vec::new();
            let mut suspects = BTreeSet::new();
            for read in reads {
                let back = read.look_for(self.clients, &self.canaries, writes, &suspects, readers).await?;
                suspects.extend(back.missing());
                all.push(back);
            }
            if is_last || suspects.is_empty() {
                return Ok(all);
            }
            self.clients.wait(POLLING).await;
        }
    }

    pub(crate) fn next_calls(&mut self, template: &ArgumentTemplate, count: usize) -> NumberedCalls {
        self.clients.calls(self.tool, template, &mut self.canaries, count)
    }
}

/// An answer shows the text of its own call.
fn shows_own(write: &NumberedAnswer, canaries: &Canaries) -> bool {
    write.text().contains(&canaries.of(write.number))
}

/// A text without what differs from call to call: words that have digits, as canaries, ids, times and counts do.
fn shape(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !c.is_alphanumeric());
    let same = |word: &str| {
        let end = word.chars().next_back().filter(|c| !c.is_alphanumeric());
        if word.contains(|c: char| c.is_ascii_digit()) {
            end.map_or_else(|| "#".to_owned(), |end| format!("#{end}"))
        } else {
            word.to_owned()
        }
    };
    words.map(same).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_that_differ_in_ids_have_the_same_shape() {
        for (one, other, is_same) in [
            (r#"{"id":"u17","name":"zq1"}"#, r#"{"id":"u3","name":"zq2"}"#, true),
            ("note 3 of 17 was saved at 12:04", "note 18 of 20 was saved at 12:05", true),
            (r#"{"error":"conflict"}"#, r#"{"id":"u3"}"#, false),
            ("saved", "busy, try again", false),
            ("", "saved", false),
        ] {
            assert_eq!(shape(one) == shape(other), is_same, "{one} {other}");
        }
    }

    #[test]
    fn only_answers_like_those_before_confirm_a_write() {
        let canaries = Canaries::of_seed(7);
        let answer = |number: u64, text: String, is_error: bool| {
            let result = json!({"content": [{"type": "text", "text": text}], "isError": is_error});
            NumberedAnswer::of_test(number, &json!({"result": result}))
        };
        let saved = |number: u64| answer(number, format!("saved {}", canaries.of(number)), false);
        let shapes: BTreeSet<String> = [shape(saved(1).text())].into();
        for (write, repeats_text, expected) in [
            (saved(2), true, true),
            (answer(2, format!("saved {}", canaries.of(3)), false), true, false),
            (answer(2, format!("saved {}", canaries.of(3)), false), false, true),
            (answer(2, format!("saved {}", canaries.of(2)), true), true, false),
            (answer(2, format!("queued {}", canaries.of(2)), false), true, false),
        ] {
            let baseline = WriteBaseline { shapes: shapes.clone(), repeats_text, ..WriteBaseline::of_test(&[], &[]) };
            assert_eq!(baseline.confirms(&write, &canaries), expected, "{}", write.text());
        }
    }

    #[test]
    fn a_control_is_like_the_baseline_in_everything() {
        let baseline = || WriteBaseline::of_test(&["list", "get"], &[Some(1), Some(2)]);
        for (later, expected) in [
            (baseline(), true),
            (WriteBaseline { time: Duration::from_secs(9), ..baseline() }, true),
            (WriteBaseline::of_test(&["list"], &[Some(1)]), false),
            (WriteBaseline::of_test(&["list", "get"], &[Some(1), Some(1)]), false),
            (WriteBaseline::of_test(&["list", "get"], &[Some(1), None]), false),
            (WriteBaseline { repeats_text: false, ..baseline() }, false),
            (WriteBaseline { identifies: false, ..baseline() }, false),
        ] {
            assert_eq!(baseline().is_like(&later), expected, "{:?}", later.times);
        }
    }

    #[test]
    fn reads_that_show_repetitions_are_left_out() {
        let agreeing = |times: &[Option<usize>], other: &[Option<usize>]| {
            let names = &["list", "log", "get"];
            let (one, other) = (
                WriteBaseline::of_test(&names[..times.len()], times),
                WriteBaseline::of_test(&names[..other.len()], other),
            );
            let agreed = one.agreeing_with(&other)?;
            Some(agreed.reads.iter().map(Read::name).map(str::to_owned).collect::<Vec<_>>())
        };
        for (twice, once, expected) in [
            (&[Some(1), Some(1)][..], &[Some(1), Some(1)][..], Some(&["list", "log"][..])),
            (&[Some(1), Some(2)], &[Some(1), Some(1)], Some(&["list"])),
            (&[Some(2), Some(2)], &[Some(1), Some(1)], None),
            (&[None, Some(1)], &[None, Some(1)], Some(&["log"])),
            (&[Some(1)], &[Some(1), Some(1)], None),
            (&[], &[], None),
        ] {
            let expected = expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
            assert_eq!(agreeing(twice, once), expected, "{twice:?} {once:?}");
        }
    }

    #[test]
    fn concurrent_writes_have_the_time_of_single_ones_and_a_second() {
        let baseline = WriteBaseline::of_test(&["list"], &[Some(1)]);
        for (count, expected) in [(0, 1_000), (1, 1_010), (32, 1_320)] {
            assert_eq!(baseline.patience(count), Duration::from_millis(expected), "{count}");
        }
    }
}
