//! Writes of one tool, one after another and at a time: what it confirms must be there afterwards.
//!
//! What makes a lost write a finding without knowing what a tool means: the same number of writes one after another, before
//! and after, must all be visible in the same way, and a second round of concurrent writes must lose some again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Torture;
use super::canary::{ArgumentTemplate, NumberedCanaries};
use super::clients::{Call, Clients, Halt, NumberedAnswer, begin};
use super::finding::{halted, inconclusive, load, not_applicable, passed, refused, show};
use super::reads::{MissingWrites, Read, texts_before, that_show};
use crate::event::{CheckResult, Finding, Outcome, Reason, RequirementLevel};
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::session::SessionReply;

/// How long a write may take to become visible; a concurrent one has the time of all writes one after another besides.
const SETTLING: Duration = Duration::from_secs(1);

/// How often it is looked whether a write has become visible.
const POLLING: Duration = Duration::from_millis(200);

/// How many further rounds of concurrent writes may show a loss again.
const MOST_REPETITIONS: usize = 3;

/// How often so many concurrent writes are tried before more are needed.
const TRIES_TO_MINIMISE: usize = 2;

/// Writes of one tool.
#[derive(Debug)]
pub(super) struct UpdatesCheck {
    pub(super) settings: Arc<Torture>,
    pub(super) tool: String,
}

impl Check for UpdatesCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

async fn run(check: &UpdatesCheck, context: &CheckContext<'_>) -> CheckResult {
    let UpdatesCheck { settings, tool } = check;
    let (templates, clients) = match begin(context, settings, tool).await {
        Ok(begun) => begun,
        Err(result) => return *result,
    };
    let mut study = WriteStudy {
        context,
        settings,
        tool,
        clients: &clients,
        canaries: NumberedCanaries::new(settings.seed, tool),
        next: 1,
        loss: None,
    };
    let judged = tokio::select! {
        judged = study.judge(&templates) => judged,
        () = context.servers.stopped() => return CheckResult::because(Outcome::Inconclusive, Reason::Interrupted),
    };
    // What was seen before the end counts; that it could not be seen again makes it a doubt.
    let loss = study.loss.take();
    let result = match judged {
        Ok(result) => result,
        Err(halt) => match loss {
            Some(loss) => loss.result(&clients, settings, tool),
            None => halted(&halt, settings, tool),
        },
    };
    clients.close(result).await
}

/// The facts found out about a tool so far.
struct WriteStudy<'a> {
    context: &'a CheckContext<'a>,
    settings: &'a Torture,
    tool: &'a str,
    clients: &'a Clients<'a>,
    canaries: NumberedCanaries,
    /// The number of the next canary.
    next: u64,
    /// A loss that was seen.
    loss: Option<Loss>,
}

/// Arguments that write, and the reads that show what they write.
struct WritingArguments {
    template: ArgumentTemplate,
    reads: Vec<Read>,
    slowest: Duration,
}

/// Writes one after another, all of them visible.
struct WriteBaseline {
    reads: Vec<Read>,
    /// The forms of the answers to confirmed writes.
    shapes: BTreeSet<String>,
    /// Whether every answer shows the text of its own call.
    repeats_text: bool,
    /// How long a concurrent write may take to become visible.
    patience: Duration,
    slowest: Duration,
}

/// Confirmed writes that are not visible.
#[derive(Debug, Clone)]
struct Loss {
    write: SessionReply,
    /// A read that does not show it.
    read: Option<SessionReply>,
    read_title: String,
    missing: usize,
    confirmed: usize,
    /// The reads that show such writes nevertheless.
    shown_by: Vec<String>,
    /// How many of the further rounds lost writes again.
    repetitions: Option<(usize, usize)>,
    /// The smallest number of concurrent writes that loses some.
    smallest: usize,
}

impl WriteStudy<'_> {
    async fn judge(&mut self, templates: &[ArgumentTemplate]) -> Result<CheckResult, Halt> {
        let learned = match self.learn(templates).await? {
            Ok(learned) => learned,
            Err(result) => return Ok(result),
        };
        let count = self.settings.sessions * self.settings.calls;
        let baseline = match self.baseline(&learned, count).await? {
            Ok(baseline) => baseline,
            Err(result) => return Ok(result),
        };
        let round = self.round(&learned, &baseline, count, baseline.patience).await?;
        if round.confirmed < 2 {
            let tool = self.tool;
            return Ok(inconclusive(format!(
                "`{tool}` confirmed fewer than two concurrent writes as it confirms single ones, so none can be missed"
            )));
        }
        let Some(loss) = round.loss else {
            let names: Vec<String> = baseline.reads.iter().map(|read| format!("`{}`", read.name())).collect();
            let shown = format!("{} concurrent writes, all shown by {}", round.confirmed, names.join(", "));
            let title = format!("tools/call {}", self.tool);
            let write = round.write.as_ref().map(|write| (title.as_str(), write));
            let title = baseline.reads.first().map(Read::title).unwrap_or_default();
            let read = round.read.as_ref().map(|read| (title.as_str(), read));
            let calls: Vec<(&str, &SessionReply)> = write.into_iter().chain(read).collect();
            return Ok(passed(Reason::Measured(shown), &calls));
        };
        self.loss = Some(loss.clone());
        self.confirm(&learned, &baseline, loss, count).await
    }

    /// Finds arguments that are served, and reads that show what they write.
    async fn learn(&mut self, templates: &[ArgumentTemplate]) -> Result<Result<WritingArguments, CheckResult>, Halt> {
        let candidates = Read::candidates(self.context, self.settings, self.tool);
        let before = texts_before(self.clients, &candidates).await?;
        self.canaries = self.canaries.clone().unlike(before.iter().map(String::as_str));
        let (mut refusal, mut is_served) = (None, false);
        for template in templates {
            let call = self.next_calls(template, 1);
            let Some(write) = self.clients.one_after_another(self.tool, &call).await?.into_iter().next() else {
                continue;
            };
            if !write.is_served() {
                refusal.get_or_insert(write.reply);
                continue;
            }
            is_served = true;
            let reads = that_show(self.clients, &self.canaries, &candidates, &write).await?;
            if !reads.is_empty() {
                return Ok(Ok(WritingArguments { template: template.clone(), reads, slowest: write.reply.elapsed }));
            }
        }
        let tool = self.tool;
        Ok(Err(match (is_served, self.settings.pair(tool)) {
            (false, _) => refused(self.context, tool, refusal.as_ref()),
            (true, None) => not_applicable(format!(
                "no tool that only reads, and no resource, shows what `{tool}` writes; name one with `pairs`"
            )),
            (true, Some(pair)) => {
                let names: Vec<String> = pair.reads.iter().map(|read| format!("`{}`", read.value)).collect();
                inconclusive(format!("a single write of `{tool}` is not shown by {}", names.join(" or ")))
            }
        }))
    }

    /// As many writes one after another as later at a time: the reads that show all of them.
    async fn baseline(
        &mut self,
        learned: &WritingArguments,
        count: usize,
    ) -> Result<Result<WriteBaseline, CheckResult>, Halt> {
        let calls = self.next_calls(&learned.template, count);
        let begun = Instant::now();
        let answered = self.clients.one_after_another(self.tool, &calls).await?;
        let writes: Vec<&NumberedAnswer> = answered.iter().filter(|write| write.is_served()).collect();
        let missing = self.settled(&learned.reads, &writes, SETTLING).await?;
        let complete: Vec<Read> = learned
            .reads
            .iter()
            .zip(&missing)
            .filter(|(_, missing)| missing.numbers.is_empty())
            .map(|(read, _)| read.clone())
            .collect();
        let tool = self.tool;
        if writes.len() < 2 {
            return Ok(Err(inconclusive(format!("`{tool}` refuses to write again after the first time"))));
        }
        if complete.is_empty() {
            return Ok(Err(inconclusive(format!(
                "not even writes one after another are all shown: `{}` shows some of {} writes of `{tool}`, as a list \
                 with pages or a value that is replaced does; lower `sessions` and `calls`, or name a read with `pairs`",
                learned.reads.first().map_or("", Read::name),
                writes.len(),
            ))));
        }
        let shows_own = |write: &&NumberedAnswer| write.text().contains(&self.canaries.of(write.number));
        Ok(Ok(WriteBaseline {
            reads: complete,
            shapes: writes.iter().map(|write| shape(&write.text())).collect(),
            repeats_text: writes.iter().all(shows_own),
            // A cache or an index had that long for the writes one after another.
            patience: begun.elapsed() + SETTLING,
            slowest: answered.iter().map(|write| write.reply.elapsed).max().unwrap_or_default().max(learned.slowest),
        }))
    }

    /// Concurrent writes, and those of them that are lost.
    async fn round(
        &mut self,
        learned: &WritingArguments,
        baseline: &WriteBaseline,
        count: usize,
        patience: Duration,
    ) -> Result<WriteRound, Halt> {
        let calls = self.next_calls(&learned.template, count);
        let mut answered = self.clients.at_a_time(self.tool, &calls, baseline.slowest, Some).await?;
        answered.sort_by_key(|call| call.number);
        let is_confirmed = |write: &&NumberedAnswer| {
            let text = write.text();
            let shows_own = text.contains(&self.canaries.of(write.number));
            write.is_served() && baseline.shapes.contains(&shape(&text)) && (shows_own || !baseline.repeats_text)
        };
        let writes: Vec<&NumberedAnswer> = answered.iter().filter(is_confirmed).collect();
        let mut missing = self.settled(&baseline.reads, &writes, patience).await?;
        let lost_in_all = missing
            .iter()
            .map(|missing| missing.numbers.clone())
            .reduce(|all, other| all.intersection(&other).copied().collect())
            .unwrap_or_default();
        let is_lost = |missing: &MissingWrites| !missing.numbers.is_empty();
        let Some(at) = missing.iter().position(is_lost) else {
            let write = writes.first().map(|write| write.reply.clone());
            let read = missing.first_mut().and_then(|missing| missing.reply.take());
            return Ok(WriteRound { confirmed: writes.len(), loss: None, write, read });
        };
        let numbers = if lost_in_all.is_empty() { missing[at].numbers.clone() } else { lost_in_all.clone() };
        let first = writes.iter().find(|write| numbers.contains(&write.number));
        let loss = first.map(|first| Loss {
            write: first.reply.clone(),
            read: missing[at].reply.take(),
            read_title: baseline.reads[at].title(),
            missing: numbers.len(),
            confirmed: writes.len(),
            shown_by: baseline
                .reads
                .iter()
                .zip(&missing)
                .filter(|(_, missing)| lost_in_all.is_empty() && !missing.numbers.contains(&first.number))
                .map(|(read, _)| read.name().to_owned())
                .collect(),
            repetitions: None,
            smallest: count,
        });
        Ok(WriteRound { confirmed: writes.len(), loss, write: None, read: None })
    }

    /// Looks whether it is the concurrency that loses writes, and whether it does again; then with how few.
    async fn confirm(
        &mut self,
        learned: &WritingArguments,
        baseline: &WriteBaseline,
        mut loss: Loss,
        count: usize,
    ) -> Result<CheckResult, Halt> {
        let same = WritingArguments {
            template: learned.template.clone(),
            reads: baseline.reads.clone(),
            slowest: baseline.slowest,
        };
        match self.baseline(&same, count).await? {
            Ok(control) if control.reads.len() == baseline.reads.len() => {}
            Ok(_) | Err(_) => {
                self.loss = None;
                return Ok(inconclusive(format!(
                    "writes of `{}` are missing after concurrent calls, and as many writes one after another are not all \
                     shown any more: the server may be full",
                    self.tool
                )));
            }
        }
        let (mut shown, mut tried) = (0, 0);
        while tried < MOST_REPETITIONS && shown == 0 {
            tried += 1;
            let round = self.round(learned, baseline, count, baseline.patience).await?;
            shown += usize::from(round.loss.is_some_and(|again| again.shown_by.is_empty()));
        }
        loss.repetitions = Some((shown, tried));
        self.loss = Some(loss.clone());
        if shown > 0 {
            loss.smallest = self.minimise(learned, baseline, count).await?;
            self.loss = Some(loss.clone());
        }
        Ok(loss.result(self.clients, self.settings, self.tool))
    }

    /// The smallest number of concurrent writes that loses some, by halving.
    async fn minimise(
        &mut self,
        learned: &WritingArguments,
        baseline: &WriteBaseline,
        count: usize,
    ) -> Result<usize, Halt> {
        let mut smallest = count;
        while smallest > 2 && !self.clients.is_late() {
            let fewer = (smallest / 2).max(2);
            let mut loses = false;
            for _ in 0..TRIES_TO_MINIMISE {
                loses = loses || self.round(learned, baseline, fewer, POLLING).await?.loss.is_some();
            }
            if !loses {
                break;
            }
            smallest = fewer;
            if let Some(loss) = &mut self.loss {
                loss.smallest = smallest;
            }
        }
        Ok(smallest)
    }

    /// The writes that stay invisible, by read, for as long as is waited.
    async fn settled(
        &self,
        reads: &[Read],
        writes: &[&NumberedAnswer],
        elapsed: Duration,
    ) -> Result<Vec<MissingWrites>, Halt> {
        let until = Instant::now() + elapsed + SETTLING;
        loop {
            let mut all = Vec::new();
            for read in reads {
                all.push(read.missing(self.clients, &self.canaries, writes).await?);
            }
            if all.iter().all(|missing| missing.numbers.is_empty()) || Instant::now() >= until {
                return Ok(all);
            }
            self.clients.wait(POLLING).await;
        }
    }

    /// Calls with the next canaries, in turn in every session.
    fn next_calls(&mut self, template: &ArgumentTemplate, count: usize) -> Vec<Call> {
        let begin = self.next;
        self.next += count as u64;
        (begin..self.next)
            .zip((0..self.clients.sessions()).cycle())
            .map(|(number, session)| Call { number, session, arguments: template.with(&self.canaries.of(number)) })
            .collect()
    }
}

/// A round of concurrent writes.
struct WriteRound {
    confirmed: usize,
    loss: Option<Loss>,
    /// A write that is shown, and a read that shows it.
    write: Option<SessionReply>,
    read: Option<SessionReply>,
}

impl Loss {
    fn result(self, clients: &Clients<'_>, settings: &Torture, tool: &str) -> CheckResult {
        let is_sure = self.shown_by.is_empty() && self.repetitions.is_some_and(|(shown, _)| shown > 0);
        let message = if self.shown_by.is_empty() {
            format!("`{tool}` confirmed concurrent writes that are lost afterwards")
        } else {
            format!(
                "`{}` does not show concurrent writes that `{tool}` confirmed, and `{}` does",
                self.read_title.rsplit(' ').next().unwrap_or_default(),
                self.shown_by.join("`, `")
            )
        };
        let repeated = match self.repetitions {
            Some((0, tried)) => format!("not in {tried} further rounds"),
            Some((_, tried)) => format!(
                "lost again in round {} of {}; {} concurrent writes are enough",
                tried + 1,
                MOST_REPETITIONS + 1,
                self.smallest
            ),
            None => "not tried again, since the time was over or the server ended".to_owned(),
        };
        let code = if self.shown_by.is_empty() { "lost-update" } else { "update-not-shown" };
        let mut found = Finding::new(code, message)
            .with_evidence(
                "lost",
                format!("{} of {} confirmed writes, {}", self.missing, self.confirmed, load(clients)),
            )
            .with_evidence("control", "as many writes one after another are all shown, before and afterwards")
            .with_evidence("repeated", repeated)
            .with_evidence("seed", settings.seed.to_string());
        found.help = Some(
            "read, change and write the store in one step that no other call interrupts: with a lock, a queue or a \
             transaction"
                .to_owned(),
        );
        if !is_sure {
            found.level = RequirementLevel::Should;
        }
        let mut result = CheckResult::new(if is_sure { Outcome::Failed } else { Outcome::Warned });
        let title = format!("tools/call {tool}");
        let read = self.read.as_ref().map(|read| (self.read_title.as_str(), read));
        let calls: Vec<(&str, &SessionReply)> = std::iter::once((title.as_str(), &self.write)).chain(read).collect();
        show(found, &calls, &mut result);
        result
    }
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
    use super::*;

    #[test]
    fn answers_that_differ_in_ids_have_the_same_shape() {
        assert_eq!(shape(r#"{"id":"u17","name":"zq1"}"#), shape(r#"{"id":"u3","name":"zq2"}"#));
        assert_ne!(shape(r#"{"error":"conflict"}"#), shape(r#"{"id":"u3"}"#));
    }
}
