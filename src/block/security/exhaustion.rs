//! Arguments of bounded size that use up the server: one call after which nobody is answered, with which the server ends,
//! or whose answer is a document that was expanded.
//!
//! Time alone is no evidence, and neither is one call without an answer: a server that still answers a ping is not
//! accused. What is seen is tried once more in a fresh server, after a valid call.

use std::sync::Arc;
use std::time::Duration;

use super::SecuritySettings;
use super::heavy::{HeavyArguments, heavy_arguments};
use super::probed_tool::{HeavyReply, MOST_PARAMETERS, ProbedTool};
use crate::check::{CheckEnd, Confirmation, SeenOnce};
use crate::event::{CheckResult, Finding, Outcome, Severity};
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::source::beginning;

/// An answer is expanded if it is larger than this, in bytes, and has the text of a document's entities more often than
/// this: some tools answer any call with megabytes.
const LARGE_ANSWER: usize = 1 << 20;
const MOST_EXPANSIONS: usize = 10_000;

/// The wait for an answer to a message that a parser may refuse altogether. The ping behind it has all the time of a request.
const UNREADABLE_WAIT: Duration = Duration::from_millis(100);

/// The number of further pings for a silent server, each with the time of a request.
const PATIENCE: usize = 5;

/// The longest part of arguments that is printed, in characters.
const SHOWN: usize = 200;

/// A tool, and arguments that use up a careless server.
#[derive(Debug)]
pub(crate) struct ExhaustionCheck {
    pub(crate) settings: Arc<SecuritySettings>,
    pub(crate) tool: String,
}

impl Check for ExhaustionCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

/// The effect of a call on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExhaustionEffect {
    /// Neither the call nor a later ping is answered.
    Silence,
    Exit,
    LargeAnswer,
}

impl ExhaustionEffect {
    fn code(self) -> &'static str {
        match self {
            Self::Silence => "blocked-by-argument",
            Self::Exit => "crashed-by-argument",
            Self::LargeAnswer => "expanded-argument",
        }
    }

    /// The effect of one call of the tool.
    fn sentence(self, tool: &str) -> String {
        match self {
            Self::Silence => format!("the server stops answering after one call of `{tool}`"),
            Self::Exit => format!("one call of `{tool}` ends the server"),
            Self::LargeAnswer => format!("`{tool}` expands a small document to a large answer"),
        }
    }

    /// The observation.
    fn evidence(self) -> &'static str {
        match self {
            Self::Silence => "no answer in time, not even to a ping",
            Self::Exit => "the server ended during the call",
            Self::LargeAnswer => "the answer is larger than 1 MiB, and repeats the text of the document's entities",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::Silence => {
                "match patterns with an engine that does not backtrack or with a time limit, and limit the size of arguments"
            }
            Self::Exit => "limit the depth and the size of arguments, and answer larger ones with an error",
            Self::LargeAnswer => "read documents without entities and aliases, or limit what they expand to",
        }
    }
}

async fn run(check: &ExhaustionCheck, context: &CheckContext<'_>) -> CheckResult {
    let begin = || ProbedTool::begin(context, &check.settings, &check.tool);
    let mut probed = match begin().await {
        Ok(probed) => probed,
        Err(result) => return *result,
    };
    let (heavy, effect) = match send_all(&mut probed).await {
        Ok(SearchEnd::Effect(heavy, effect)) => (heavy, effect),
        Ok(SearchEnd::NoPing) => {
            let result = probed.end(None, "").await;
            let why = "the server answers no ping, so nothing shows whether it still answers others".to_owned();
            return if result.outcome == Outcome::Passed { CheckResult::inconclusive(why) } else { result };
        }
        Ok(SearchEnd::NoEffect) => return probed.end(None, "the server answered a call or a ping after each").await,
        Err(halt) => return probed.end(Some(halt), "").await,
    };
    // The second server is to confirm the end of this one.
    let _ = probed.end(None, "").await;
    let mut probed = match begin().await {
        Ok(probed) => probed,
        Err(result) => return *result,
    };
    let shows_again = match observe_after_valid_call(&mut probed, &heavy).await {
        Ok(again) => again == Some(effect),
        Err(end) => return probed.end(Some(end), "").await,
    };
    let end = judge(&check.tool, &heavy, effect, shows_again);
    if let CheckEnd::Failed(findings) = end {
        for found in findings {
            probed.note(found, None);
        }
        return probed.end(None, "").await;
    }
    let result = probed.end(None, "").await;
    if result.outcome == Outcome::Passed { end.into_result() } else { result }
}

/// The end of a search.
enum SearchEnd {
    NoEffect,
    /// The server does not answer pings, also before anything heavy.
    NoPing,
    Effect(HeavyArguments, ExhaustionEffect),
}

/// Sends all arguments until one has an effect.
async fn send_all(probed: &mut ProbedTool<'_>) -> Result<SearchEnd, CheckEnd> {
    let base = probed.base.clone();
    let Some(tool) = probed.context.catalog.tool(&probed.subject()) else { return Ok(SearchEnd::NoEffect) };
    if !probed.call_validly(base).await? {
        return Ok(SearchEnd::NoEffect);
    }
    if probed.ping().await? == HeavyReply::Silence {
        return Ok(SearchEnd::NoPing);
    }
    for heavy in heavy_arguments(tool.input_schema(), &probed.base, MOST_PARAMETERS) {
        if let Some(effect) = observe(probed, &heavy).await? {
            return Ok(SearchEnd::Effect(heavy, effect));
        }
    }
    Ok(SearchEnd::NoEffect)
}

async fn observe_after_valid_call(
    probed: &mut ProbedTool<'_>,
    heavy: &HeavyArguments,
) -> Result<Option<ExhaustionEffect>, CheckEnd> {
    let base = probed.base.clone();
    if probed.call_validly(base).await? { observe(probed, heavy).await } else { Ok(None) }
}

/// Sends the arguments, and looks at what becomes of the server. An error, a refusal and a late answer are no effects.
async fn observe(probed: &mut ProbedTool<'_>, heavy: &HeavyArguments) -> Result<Option<ExhaustionEffect>, CheckEnd> {
    let wait = heavy.is_unreadable.then_some(UNREADABLE_WAIT);
    let reply = probed.call_written(&heavy.text, wait).await?;
    let mut sign_of_life = if reply == HeavyReply::Exit { reply } else { probed.ping().await? };
    // A server that does one thing at a time and is slow about it is not lost: it is given time to come back.
    for _ in 0..PATIENCE {
        if (reply, sign_of_life) != (HeavyReply::Silence, HeavyReply::Silence) {
            break;
        }
        sign_of_life = probed.ping().await?;
    }
    Ok(effect_of(heavy, reply, sign_of_life))
}

/// The effect of a heavy call, after whose reply the server gave this sign of life.
fn effect_of(heavy: &HeavyArguments, reply: HeavyReply, sign_of_life: HeavyReply) -> Option<ExhaustionEffect> {
    match (reply, sign_of_life) {
        (_, HeavyReply::Exit) => Some(ExhaustionEffect::Exit),
        (HeavyReply::Silence, HeavyReply::Silence) => Some(ExhaustionEffect::Silence),
        (HeavyReply::Answer(size), _) => {
            let is_large = size.bytes > LARGE_ANSWER && size.expansions > MOST_EXPANSIONS;
            (heavy.expands && is_large).then_some(ExhaustionEffect::LargeAnswer)
        }
        (HeavyReply::Silence | HeavyReply::Exit, _) => None,
    }
}

/// The end of a check that saw an effect, which counts only if it shows in a fresh server, too.
fn judge(tool: &str, heavy: &HeavyArguments, effect: ExhaustionEffect, shows_again: bool) -> CheckEnd {
    let why = format!("{}, but not in a fresh server: {}", effect.sentence(tool), heavy.cause());
    let found = finding(tool, heavy, effect);
    Confirmation::of_try(Ok(shows_again)).conclude(found, "in a fresh server", SeenOnce::ProvesNothing(why))
}

fn finding(tool: &str, heavy: &HeavyArguments, effect: ExhaustionEffect) -> Finding {
    let message = format!("{}: {}", effect.sentence(tool), heavy.cause());
    let mut found = Finding::new(effect.code(), message)
        .with_evidence("arguments", beginning(&heavy.text, SHOWN))
        .with_evidence("size", format!("{} bytes", heavy.text.len()))
        .with_evidence("effect", effect.evidence());
    found.help = Some(effect.help().to_owned());
    found.severity = Some(Severity::High);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::security::probed_tool::AnswerSize;

    fn heavy(expands: bool) -> HeavyArguments {
        let (parameter, kind) = (Some("query".to_owned()), "a text of 9 characters".to_owned());
        HeavyArguments { parameter, kind, text: "{}".to_owned(), is_unreadable: false, expands }
    }

    #[test]
    fn only_a_lost_server_or_an_expanded_document_is_an_effect() {
        let of = |bytes, expansions| HeavyReply::Answer(AnswerSize { bytes, expansions });
        let (small, large) = (of(100, 0), of(LARGE_ANSWER + 1, MOST_EXPANSIONS + 1));
        for (expands, reply, sign_of_life, expected) in [
            (false, small, small, None),
            (false, HeavyReply::Silence, HeavyReply::Silence, Some(ExhaustionEffect::Silence)),
            // It is slow with this call, and answers others.
            (false, HeavyReply::Silence, small, None),
            (false, HeavyReply::Exit, HeavyReply::Exit, Some(ExhaustionEffect::Exit)),
            (false, small, HeavyReply::Exit, Some(ExhaustionEffect::Exit)),
            // The call was answered: a lost ping alone accuses nobody.
            (false, small, HeavyReply::Silence, None),
            (true, large, small, Some(ExhaustionEffect::LargeAnswer)),
            // Some tools answer any call with megabytes.
            (true, of(LARGE_ANSWER + 1, 3), small, None),
            (true, of(100, MOST_EXPANSIONS + 1), small, None),
            (false, large, small, None),
        ] {
            let effect = effect_of(&heavy(expands), reply, sign_of_life);
            assert_eq!(effect, expected, "{expands} {reply:?} {sign_of_life:?}");
        }
    }

    #[test]
    fn a_finding_names_the_argument_and_what_was_seen() {
        let found = finding("find", &heavy(false), ExhaustionEffect::Silence);
        let expected =
            "the server stops answering after one call of `find`: its argument `query` was a text of 9 characters";
        assert_eq!(found.message, expected);
        assert_eq!(found.evidence[1], ("size".to_owned(), "2 bytes".to_owned()));
    }

    #[test]
    fn an_effect_counts_only_if_a_fresh_server_shows_it_too() {
        use ExhaustionEffect::{Exit, LargeAnswer, Silence};
        for (effect, shows_again, outcome, says) in [
            (
                Silence,
                true,
                Outcome::Failed,
                "the server stops answering after one call of `find`: its argument `query`",
            ),
            (Exit, true, Outcome::Failed, "one call of `find` ends the server: its argument `query` was a text"),
            (LargeAnswer, true, Outcome::Failed, "`find` expands a small document to a large answer"),
            // Something else may have ended it.
            (Exit, false, Outcome::Inconclusive, "one call of `find` ends the server, but not in a fresh server"),
            (Silence, false, Outcome::Inconclusive, "after one call of `find`, but not in a fresh server"),
        ] {
            let result = judge("find", &heavy(true), effect, shows_again).into_result();
            let words = result.findings.iter().map(|found| found.message.clone()).next();
            let words = words.or(result.reason.as_ref().map(ToString::to_string)).unwrap_or_default();
            assert_eq!(result.outcome, outcome, "{effect:?} {shows_again}");
            assert!(words.contains(says), "{words}");
        }
    }
}
