//! Concurrent calls of a tool that only reads, and whose answers show the text of their call: each must show its own.

use std::sync::Arc;

use super::clients::{Clients, Concurrent, ConcurrentAnswers, Delivery, NumberedAnswer, begin};
use super::echoes::{EchoStudy, EchoedArguments};
use super::finding::{
    AS_MANY_AT_ONCE, SWAPPED_HELP, describe_tries, load, pass, result_with, swapped_expectation, swapped_message,
};
use super::reproduction::{ReproducedLoad, reproduction};
use super::template::ArgumentTemplate;
use super::{Torture, TortureCheck};
use crate::check::canary::Canaries;
use crate::check::{CheckEnd, Confirmation, FaultSearch, SeenOnce};
use crate::event::{CheckResult, Exchange, Finding, Reason};
use crate::plan::{BoxFuture, Check, CheckContext};

/// The number of further rounds of concurrent calls that may show swapped answers again.
const MOST_REPETITIONS: usize = 3;

/// The number of calls that are made twice at once.
const MOST_REPEATED: usize = 64;

/// The number of times that so many concurrent calls are tried before more are needed.
const TRIES_TO_MINIMISE: usize = 2;

/// Concurrent calls of one tool.
#[derive(Debug)]
pub(crate) struct AnswersCheck {
    pub(crate) settings: Arc<Torture>,
    pub(crate) tool: String,
}

impl Check for AnswersCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

async fn run(check: &AnswersCheck, context: &CheckContext<'_>) -> CheckResult {
    let AnswersCheck { settings, tool } = check;
    let (templates, clients) = match begin(context, settings, tool).await {
        Ok(begun) => begun,
        Err(result) => return *result,
    };
    let canaries = Canaries::of_tool(settings.seed, tool);
    let echo = EchoStudy { tool, clients: &clients, canaries };
    let mut study = AnswerStudy { context, settings, tool, clients: &clients, echo };
    let result = study.judge(&templates).await.unwrap_or_else(CheckEnd::into_result);
    clients.close(result).await
}

/// The facts found out about a tool so far.
struct AnswerStudy<'a> {
    context: &'a CheckContext<'a>,
    settings: &'a Torture,
    tool: &'a str,
    clients: &'a Clients<'a>,
    echo: EchoStudy<'a>,
}

/// An answer that belongs to another call.
#[derive(Debug, Clone)]
struct Swap {
    call: Exchange,
    /// The text that it shows, and the one of its call.
    shows: String,
    own: String,
    swapped: usize,
    answered: usize,
}

/// A round that is about to be made.
#[derive(Debug, Clone, Copy)]
struct AnswerPlan {
    delivery: Delivery,
    /// The number of calls, however often each is delivered.
    count: usize,
}

/// A round of concurrent calls.
struct AnswerRound {
    answered: usize,
    swap: Option<Swap>,
}

/// A served answer; those that are right are only counted.
#[derive(Debug)]
enum ServedAnswer {
    Own,
    Foreign(ForeignAnswer),
}

/// An answer that shows the text of another call, and not its own.
#[derive(Debug)]
struct ForeignAnswer {
    number: u64,
    /// The other call.
    shows: u64,
    call: Exchange,
}

impl ServedAnswer {
    /// `None` for an answer that serves nothing: it may refuse that many calls.
    fn of(answer: &NumberedAnswer, tool: &str, canaries: &Canaries) -> Option<Self> {
        let foreign = canaries.foreign_in(answer.text(), answer.number);
        let of_other =
            |shows| Self::Foreign(ForeignAnswer { number: answer.number, shows, call: answer.exchange(tool) });
        answer.is_served().then(|| foreign.map_or(Self::Own, of_other))
    }
}

impl AnswerStudy<'_> {
    async fn judge(&mut self, templates: &[ArgumentTemplate]) -> Result<CheckResult, CheckEnd> {
        let tool = self.tool;
        let Some(echoed) = self.echo.learn(templates).await? else {
            let why = format!("the answers of `{tool}` do not show the text of their call, so swapped ones look alike");
            return Ok(CheckResult::not_applicable(why));
        };
        let count = self.settings.sessions * self.settings.calls;
        let round = self.round(&echoed, AnswerPlan { delivery: Delivery::Once, count }).await?;
        if let Some(swap) = round.swap {
            return Ok(self.confirm(&echoed, AnswerPlan { delivery: Delivery::Once, count }, swap).await);
        }
        if round.answered < 2 {
            return Ok(CheckResult::inconclusive(format!("`{tool}` served fewer than two concurrent calls")));
        }
        // What only reads may be asked again by anybody, at any time.
        for delivery in self.clients.repeated_deliveries() {
            let plan = AnswerPlan { delivery: *delivery, count: count.min(MOST_REPEATED) };
            if let Some(swap) = self.round(&echoed, plan).await?.swap {
                return Ok(self.confirm(&echoed, plan, swap).await);
            }
        }
        let reason = Reason::Measured(format!("{} concurrent calls, each with its own answer", round.answered));
        Ok(pass(reason, echoed.sample.into_iter().collect()))
    }

    /// The result of swapped answers, which are looked for again. What was seen counts, also if the check ends then.
    async fn confirm(&mut self, echoed: &EchoedArguments, plan: AnswerPlan, swap: Swap) -> CheckResult {
        let mut search = FaultSearch::new(self.clients.limits(), MOST_REPETITIONS, plan.count);
        search = search.down_to(2, TRIES_TO_MINIMISE);
        while let Some(count) = search.next() {
            let round = self.round(echoed, AnswerPlan { count, ..plan }).await;
            search.note(round.map(|round| round.swap.is_some()));
        }
        let (confirmation, smallest) = search.finish();
        self.result(swap, confirmation, smallest)
    }

    /// Concurrent calls, and those whose answers show the text of another call and not their own.
    async fn round(&mut self, echoed: &EchoedArguments, plan: AnswerPlan) -> Result<AnswerRound, CheckEnd> {
        let AnswerPlan { delivery, count } = plan;
        let calls = self.echo.next_calls(&echoed.template, count);
        let (canaries, tool) = (self.echo.canaries.clone(), self.tool.to_owned());
        let judge = move |answer: NumberedAnswer| ServedAnswer::of(&answer, &tool, &canaries);
        let concurrent = Concurrent { calls: &calls, delivery, slowest: echoed.slowest, follow_up: None };
        let ConcurrentAnswers { judged, end } = self.clients.at_a_time(&concurrent, judge).await;
        let round = AnswerRound { answered: judged.len(), swap: Swap::among(judged, &self.echo.canaries) };
        // The text of another call is wrong in an answer, whatever else gets none.
        end.filter(|_| round.swap.is_none()).map_or(Ok(round), Err)
    }

    fn result(&self, swap: Swap, confirmation: Confirmation, smallest: usize) -> CheckResult {
        let (tool, clients, settings) = (self.tool, self.clients, self.settings);
        let mut found = Finding::new("swapped-answer", swapped_message(tool))
            .with_evidence("swapped", format!("{} of {} answers, {}", swap.swapped, swap.answered, load(clients)))
            .with_evidence("expected", swapped_expectation(&swap.own, &swap.shows))
            .with_evidence("control", "calls one after another all get their own answers")
            .with_evidence("seed", settings.seed.to_string());
        found.help = Some(SWAPPED_HELP.to_owned());
        let (load, code) = (ReproducedLoad::of(clients, settings, smallest), "swapped-answer");
        let replay = reproduction(self.context, settings, Some(tool), code, TortureCheck::Calls, load);
        found.reproduction = Some(Box::new(replay));
        let place = describe_tries(AS_MANY_AT_ONCE, &confirmation, &format!("{smallest} concurrent calls are"));
        result_with(confirmation.conclude(found, &place, SeenOnce::Warns), vec![swap.call])
    }
}

impl Swap {
    /// The first swapped answer of so many concurrent calls.
    fn among(answers: Vec<ServedAnswer>, canaries: &Canaries) -> Option<Self> {
        let answered = answers.len();
        let foreign = answers.into_iter().filter_map(|answer| match answer {
            ServedAnswer::Own => None,
            ServedAnswer::Foreign(foreign) => Some(foreign),
        });
        let foreign: Vec<ForeignAnswer> = foreign.collect();
        let swapped = foreign.len();
        let ForeignAnswer { number, shows, call } = foreign.into_iter().min_by_key(|foreign| foreign.number)?;
        let (shows, own) = (canaries.of(shows), canaries.of(number));
        Some(Self { call, shows, own, swapped, answered })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(number: u64, shows: &[u64], is_error: bool) -> Option<ServedAnswer> {
        let canaries = Canaries::of_seed(7);
        let text: Vec<String> = shows.iter().map(|shown| canaries.of(*shown)).collect();
        let result = json!({"content": [{"type": "text", "text": text.join(" ")}], "isError": is_error});
        ServedAnswer::of(&NumberedAnswer::of_test(number, &json!({"result": result})), "echo", &canaries)
    }

    #[test]
    fn an_answer_is_foreign_if_it_has_the_text_of_another_call_alone() {
        for (shows, is_error, expected) in [
            (&[4][..], false, Some(Some(4))),
            (&[9, 4], false, Some(Some(4))),
            (&[3], false, Some(None)),
            (&[4, 3], false, Some(None)),
            (&[], false, Some(None)),
            (&[4], true, None),
        ] {
            let foreign = judged(3, shows, is_error).map(|answer| match answer {
                ServedAnswer::Own => None,
                ServedAnswer::Foreign(foreign) => Some(foreign.shows),
            });
            assert_eq!(foreign, expected, "{shows:?}");
        }
    }

    #[test]
    fn the_first_swapped_answer_stands_for_all() {
        let canaries = Canaries::of_seed(7);
        for (answers, expected) in [
            (&[(1, 1), (2, 2)][..], None),
            (&[(1, 1), (2, 1)], Some((2, 1, 1, 2))),
            (&[(3, 2), (2, 3), (1, 1)], Some((2, 3, 2, 3))),
            (&[], None),
        ] {
            let answered = answers.iter().filter_map(|(number, shows)| judged(*number, &[*shows], false)).collect();
            let swap = Swap::among(answered, &canaries);
            let seen = swap.map(|swap| (swap.own, swap.shows, swap.swapped, swap.answered));
            let expected = expected
                .map(|(own, shows, swapped, answered)| (canaries.of(own), canaries.of(shows), swapped, answered));
            assert_eq!(seen, expected, "{answers:?}");
        }
    }
}
