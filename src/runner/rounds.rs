//! The steps of a property, round by round, until something is wrong; then with smaller values.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::conversation::Conversation;
use super::finding;
use super::verdict::of_findings;
use crate::check::LACKING_TIME;
use crate::event::{CheckResult, Exchange, Finding, Outcome, Phase, Reason, Severity};
use crate::plan::{Rounds, Script, Values, ValuesError};
use crate::reproduce::{next_question, shrink};
use crate::source::duration_text;
use crate::source::template::Names;
use crate::suite::Step;

/// The number of smaller values that are tried.
const TRIES: usize = 60;

/// Values above this size are not made smaller: each try would cost as much as all rounds.
const SHRINKABLE: usize = 64 << 10;

/// The number of characters of a value that a message quotes.
const TOLD: usize = 120;

/// The time for the answers of the first round where the valid call before it got none: nothing else may be answered, or
/// what is refused at once.
const AFTER_SILENCE: Duration = Duration::from_secs(2);

/// The time after which a case is cut off: one that runs in rounds ends by itself after the last round that begins in
/// time.
pub(crate) fn time_limit(script: &Script, left: Duration) -> Duration {
    if script.rounds.is_some() { left.saturating_mul(3) } else { left }
}

/// Runs the rounds of a property; no round begins once `left` is over.
pub(crate) async fn run(
    conversation: &mut Conversation<'_>,
    rounds: &Rounds,
    steps: &[Step],
    left: Duration,
) -> CheckResult {
    let values = match Values::new(rounds, &conversation.names, &conversation.speaker.catalog) {
        Ok(values) => values,
        Err(ValuesError::NotApplicable(reason)) => {
            return CheckResult::because(Outcome::Skipped, reason);
        }
        Err(ValuesError::Wrong(mistake)) => {
            let found = Finding { help: mistake.help, ..Finding::new(mistake.code, mistake.message) };
            return CheckResult::with_findings(
                Outcome::Failed,
                vec![finding::at(found, conversation.sources, mistake.span, "")],
            );
        }
    };
    let (mut last, mut late) = (String::new(), None);
    for step in values.preconditions() {
        match conversation.speak(Phase::Precondition, step).await {
            (index, Ok(_)) => last.clone_from(&conversation.exchanges[index].received),
            (index, Err(found)) if found.is_timeout() => {
                let found = finding::at(found, conversation.sources, step.span, "this valid call");
                late = Some(Finding { exchange: Some(index), ..found });
            }
            (_, Err(_)) => {}
        }
    }
    let patience = conversation.suite.options.request_timeout.map_or(AFTER_SILENCE, |most| most.min(AFTER_SILENCE));
    conversation.patience = late.as_ref().map(|_| patience);
    let mut series =
        Series { before: conversation.names.clone(), kept: conversation.exchanges.len(), values, steps, conversation };
    let begun = Instant::now();
    let deadline = begun + left;
    for number in 0..series.values.count() {
        if number > 0 && Instant::now() >= deadline {
            let (planned, limit) = (series.values.count(), duration_text(left));
            let reason = Reason::RoundsOutOfTime { passed: number, planned, limit };
            return CheckResult::because(Outcome::Inconclusive, reason);
        }
        if number > 0
            && let Some((tool, why)) = series.lack()
        {
            let history = series.conversation.history;
            let is_late = begun.elapsed() > LACKING_TIME;
            if is_late && let Some(history) = history {
                history.record_lacking_tool(&tool);
            }
            if is_late || history.is_some_and(|history| history.is_lacking_tool(&tool)) {
                return CheckResult::because(Outcome::Inconclusive, why);
            }
        }
        let names = series.values.round(number);
        let found = series.round(&names).await;
        series.conversation.patience = None;
        if let Some(late) = late.take().filter(|_| !found.is_empty() && found.iter().all(Finding::is_timeout)) {
            return of_findings(vec![late]);
        }
        if !found.is_empty() {
            let broken = Broken { number, names, found, exchanges: series.exchanges() };
            return series.broken(rounds, broken, deadline + left).await;
        }
    }
    if series.conversation.served == 0 {
        if let Some(exchange) = series.conversation.exchanges.last() {
            last.clone_from(&exchange.received);
        }
        let reason = Reason::of_refusal(&last);
        let reason = reason.unwrap_or_else(|| Reason::NothingServed(last.chars().take(TOLD).collect()));
        return CheckResult::because(Outcome::Inconclusive, reason);
    }
    CheckResult::new(Outcome::Passed)
}

/// The rounds of one case.
struct Series<'a, 'c> {
    conversation: &'a mut Conversation<'c>,
    values: Values,
    steps: &'a [Step],
    /// The names that every round begins with.
    before: Names,
    /// The number of exchanges before the first round.
    kept: usize,
}

/// A round in which something was wrong.
struct Broken {
    number: u32,
    names: Names,
    found: Vec<Finding>,
    exchanges: Vec<Exchange>,
}

impl Series<'_, '_> {
    /// The lack that the last answer shows, and the tool that gave it, where no round was served.
    fn lack(&self) -> Option<(String, Reason)> {
        let last = self.conversation.exchanges.last().filter(|_| self.conversation.served == 0)?;
        let why = Reason::of_refusal(&last.received).filter(|why| matches!(why, Reason::SurroundingsLack(_)))?;
        Some((last.tool.clone().unwrap_or_default(), why))
    }

    /// Runs a round; of the exchanges only its own are kept.
    async fn round(&mut self, names: &Names) -> Vec<Finding> {
        self.conversation.exchanges.truncate(self.kept);
        self.conversation.warnings.clear();
        self.conversation.names.clone_from(&self.before);
        self.conversation.names.extend(names.clone());
        self.conversation.drawn.clone_from(names);
        Box::pin(self.conversation.all(Phase::Steps, self.steps)).await.err().unwrap_or_default()
    }

    fn exchanges(&self) -> Vec<Exchange> {
        self.conversation.exchanges[self.kept..].to_vec()
    }

    /// The verdict on a broken round, told with the smallest values that break it too.
    async fn broken(&mut self, rounds: &Rounds, broken: Broken, deadline: Instant) -> CheckResult {
        let verdict = of_findings(broken.found.clone());
        if verdict.outcome != Outcome::Failed {
            return verdict;
        }
        let first = self.describe(&broken.names);
        let smallest = self.smallest(broken, deadline).await;
        self.conversation.exchanges.truncate(self.kept);
        self.conversation.exchanges.extend(smallest.exchanges);
        let told = self.describe(&smallest.names);
        let count = self.values.count();
        let place = if count > 1 { format!(", in round {} of {count}", smallest.number + 1) } else { String::new() };
        let with = if told.is_empty() { String::new() } else { format!(" with {told}") };
        let property = &rounds.property;
        let severity = property.severity.as_deref().and_then(Severity::parse);
        let told_of = |found: Finding| {
            let message = format!("{}{place}{with}", found.message);
            let found = Finding { message, severity: found.severity.or(severity), ..found };
            let found = Finding { help: found.help.clone().or_else(|| property.why.clone()), ..found };
            if is_empty(&self.values.drawn_values(&smallest.names)) {
                return found;
            }
            let seen_first = if first == told { String::new() } else { first.clone() };
            found.with_evidence("seed", property.seed.to_string()).with_evidence("first seen with", seen_first)
        };
        CheckResult::with_findings(Outcome::Failed, smallest.found.into_iter().map(told_of).collect())
    }

    /// Tries smaller values as long as the same is wrong with them.
    async fn smallest(&mut self, broken: Broken, deadline: Instant) -> Broken {
        let drawn = self.values.drawn_values(&broken.names);
        let code = broken.found.first().map(|found| found.code.clone());
        let mut best = broken;
        // Each value that gets no answer either would cost as much time as the first.
        let is_unanswered = best.found.iter().any(Finding::is_timeout);
        if is_unanswered || is_empty(&drawn) || drawn.to_string().len() > SHRINKABLE {
            return best;
        }
        let mut answers = Vec::new();
        while answers.len() < TRIES && Instant::now() < deadline && self.conversation.speaker.session.is_open() {
            let Some(candidate) = next_candidate(&drawn, &answers, &self.values) else { break };
            let mut names = best.names.clone();
            names.extend(candidate.as_object().cloned().unwrap_or_default());
            let found = self.round(&names).await;
            let is_same = found.first().map(|found| &found.code) == code.as_ref();
            answers.push(is_same);
            if is_same {
                best = Broken { names, found, exchanges: self.exchanges(), ..best };
            }
        }
        best
    }

    fn describe(&self, names: &Names) -> String {
        let mut text = String::new();
        for (name, value) in self.values.describe(names) {
            let value = value.to_string();
            let short: String = value.chars().take(TOLD).collect();
            let more = if short.len() < value.len() { "…" } else { "" };
            let _ = write!(text, "{}{name} = {short}{more}", if text.is_empty() { "" } else { ", " });
        }
        text
    }
}

fn is_empty(drawn: &Value) -> bool {
    drawn.as_object().is_none_or(serde_json::Map::is_empty)
}

/// The next smaller value to try, given the results of the values that were tried before.
fn next_candidate(drawn: &Value, answers: &[bool], values: &Values) -> Option<Value> {
    next_question(answers, |ask| {
        shrink(drawn, &mut |candidate| values.fits(candidate) && ask(candidate));
    })
}
