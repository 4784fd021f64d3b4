//! Valid calls that must be served before what comes after them says anything.

use serde_json::{Value, json};

use super::conversation::{Conversation, is_success};
use super::exchange::{CaseSpeaker, StepResponse, intend};
use super::history;
use super::precondition::{self, ValidCallRefusal};
use crate::check::denied_tool::denied_tool;
use crate::event::{CallPurpose, CheckResult, Finding, Phase, Reason, RefusedCall, StepProblem};
use crate::matching::{breaks_own_schema, words_of};
use crate::session::SessionRequest;
use crate::source::{shorten, visible_line};
use crate::suite::Step;
use crate::wire::{ListKind, admitted_failure, denies_tool};

/// The code with which a server says that it broke.
const INTERNAL: i64 = -32603;

/// The most characters of an answer that a reason quotes.
const MOST_WORDS: usize = 120;

/// Why a valid call says nothing of what comes after it.
pub(crate) enum ValidCallError {
    /// The server refused it.
    Refused(Box<ValidCallRefusal>),
    /// It got no answer, or one that is wrong in itself.
    Unanswered(Box<Finding>),
    /// It got no answer in this case or an earlier one, from which nothing follows.
    Hangs(Reason),
}

impl Conversation<'_> {
    /// Runs calls that must be served before anything else counts, and returns the expectations that they violate;
    /// `Err` says which was not served.
    pub(crate) async fn run_witness(&mut self, steps: &[Step]) -> Result<Vec<Finding>, ValidCallError> {
        let mut found = Vec::new();
        for step in steps {
            if let Some(why) = self.known_hang(step).or_else(|| self.known_lack(step)) {
                return Err(ValidCallError::Hangs(why));
            }
            let phase = if step.expect.is_empty() { Phase::Precondition } else { Phase::Steps };
            let (mut index, mut result) = self.speak(phase, step).await;
            if self.is_refused_after_success(index, &result) {
                let first = index;
                (index, result) = self.speak(phase, step).await;
                match &result {
                    Ok(Some(heard)) if is_success(&heard.reply.message) => {
                        self.warnings.push(precondition::unsteady_answer(first));
                    }
                    Ok(Some(heard)) => {
                        let found = precondition::served_then_refused(
                            &self.exchanges[first].title,
                            &words_of(&heard.reply.message),
                            first,
                        );
                        return Err(ValidCallError::Unanswered(Box::new(found)));
                    }
                    Ok(None) | Err(_) => {}
                }
            }
            let title = self.exchanges[index].title.clone();
            match result {
                Err(found) => {
                    if let Some(StepProblem::SurroundingsLack(words)) = found.step_problem.as_deref() {
                        let why = Reason::SurroundingsLack(words.clone());
                        if let Some(history) = self.history {
                            history.record_hang(&title, why.clone());
                        }
                        return Err(ValidCallError::Hangs(why));
                    }
                    if let Some(StepProblem::CallsLimited(words)) = found.step_problem.as_deref() {
                        return Err(ValidCallError::Hangs(Reason::CallsLimited(words.clone())));
                    }
                    let found = self.with_silence(step, found).await;
                    return Err(ValidCallError::Unanswered(Box::new(Finding { exchange: Some(index), ..found })));
                }
                Ok(Some(heard)) if !is_success(&heard.reply.message) => {
                    let purpose = if step.expect.is_empty() { CallPurpose::Precondition } else { CallPurpose::Check };
                    let answer = beginning(&self.exchanges[index].received);
                    let called = step.action.as_call().and_then(|(name, _)| name.text());
                    let help = self.config_source.help_to_give_arguments(called.unwrap_or("TOOL"));
                    let call = RefusedCall { call: title, answer, help, purpose };
                    let words = words_of(&heard.reply.message);
                    if !step.expect.is_empty() && breaks_own_schema(&words).is_some() {
                        return Err(ValidCallError::Unanswered(Box::new(precondition::own_schema_violation(
                            &words, index,
                        ))));
                    }
                    if let (Some(history), true) = (self.history, step.expect.is_empty())
                        && let Some(why @ Reason::SurroundingsLack(_)) = Reason::of_refusal(&words)
                    {
                        history.record_lack(&self.exchanges[index], why);
                    }
                    let tool = called.map(str::to_owned);
                    let is_internal = heard.reply.message["error"]["code"] == INTERNAL && !history::is_limit(&words);
                    if let (true, Some(tool), Some(history)) = (is_internal, &tool, self.history) {
                        history.record_internal_error(tool, &self.exchanges[index]);
                    }
                    self.note_denial(tool.as_deref().unwrap_or_default(), &words, index).await;
                    return Err(ValidCallError::Refused(Box::new(ValidCallRefusal {
                        exchange: index,
                        tool,
                        call,
                        words,
                    })));
                }
                // A value that a donor captures is its own test's concern.
                Ok(Some(heard)) if step.expect.is_empty() => {
                    let has_failed = admitted_failure(&heard.reply.message["result"]).is_some();
                    if let Some(history) = self.history.filter(|_| !has_failed) {
                        history.record(&self.exchanges[index]);
                    }
                    drop(self.capture(step, &heard));
                }
                Ok(Some(heard)) => found.extend(self.judge(step, &heard, index)),
                Ok(None) => {}
            }
        }
        Ok(found)
    }

    /// Says of a property that no call was served for what the server answered last, and how to give arguments.
    pub(crate) fn with_cure_for_refusal(&self, checked: CheckResult) -> CheckResult {
        let Some((Reason::NothingServed(_), exchange)) = checked.reason.as_ref().zip(self.exchanges.last()) else {
            return checked;
        };
        let help = self.config_source.help_to_give_arguments(exchange.tool.as_deref().unwrap_or("TOOL"));
        let reason = Reason::NothingServed(format!("{}; give valid arguments {help}", last_words(&exchange.received)));
        CheckResult { reason: Some(reason), ..checked }
    }

    /// Takes note of a refusal that denies a tool, if the server still lists it.
    async fn note_denial(&self, tool: &str, words: &str, index: usize) {
        let Some(history) = self.history.filter(|_| denies_tool(words, tool)) else { return };
        let exchange = &self.exchanges[index];
        let CaseSpeaker { session, owner, .. } = &self.speaker;
        let listed = session.list(owner, ListKind::Tools).await;
        let is_listed = listed.is_ok_and(|reply| {
            let tools = reply.message["result"]["tools"].as_array();
            tools.is_some_and(|tools| tools.iter().any(|listed| listed["name"] == tool))
        });
        if is_listed && !exchange.sent.contains(tool) {
            let found = Finding { frame: exchange.answer_frame, ..denied_tool(tool, words) };
            history.record_denied(found.with_evidence("the call", format!("{tool} {}", exchange.sent)));
        }
    }

    /// Why nothing follows from a call on which refusals rest, if it is known to get no answer.
    fn known_hang(&self, step: &Step) -> Option<Reason> {
        let tool = step.action.as_call().and_then(|(tool, _)| tool.text()).filter(|_| step.expect.is_empty())?;
        self.history?.known_hang(&format!("tools/call {tool}"))
    }

    /// Why nothing follows from a call on which refusals rest, if the same failed before for what the machine lacks.
    fn known_lack(&self, step: &Step) -> Option<Reason> {
        let (history, _) = self.history.zip(step.action.as_call()).filter(|_| step.expect.is_empty())?;
        let (exchange, _) = intend(step, &self.names, Phase::Precondition);
        history.known_lack(&exchange)
    }

    /// Says of a valid call that got no answer in time, and on which refusals rest, if the server answers anything else.
    async fn with_silence(&self, step: &Step, found: Finding) -> Finding {
        let is_late = found.is_timeout() && found.step_problem.is_none();
        if !is_late || !step.expect.is_empty() || step.action.as_call().is_none() {
            return found;
        }
        let CaseSpeaker { session, owner, .. } = &self.speaker;
        let request =
            SessionRequest { owner, method: session.sign_of_life(), params: None, timeout: None, progress: false };
        let is_silent = session.request(request).await.is_err();
        found.with_problem(StepProblem::ValidCallUnanswered { is_silent })
    }

    /// Returns true if a valid call was refused that was served before.
    fn is_refused_after_success(&self, index: usize, result: &Result<Option<StepResponse>, Finding>) -> bool {
        let Ok(Some(heard)) = result else { return false };
        let message = &heard.reply.message;
        self.history.is_some_and(|history| {
            !is_success(message) && history.has_served(&self.exchanges[index]) && !history::is_limit(&words_of(message))
        })
    }
}

/// The text of an answer, in quotes; of an answer without text, or of one that is not whole, its beginning.
fn last_words(received: &str) -> String {
    let answer: Value = serde_json::from_str(received).unwrap_or_default();
    let member = if answer.get("content").is_some() { "result" } else { "error" };
    let text = words_of(&json!({member: answer}));
    if text.is_empty() {
        shorten(received, MOST_WORDS)
    } else {
        format!("\"{}\"", shorten(&visible_line(&text), MOST_WORDS))
    }
}

/// As much of an answer as a sentence takes.
fn beginning(text: &str) -> String {
    let short: String = text.chars().take(160).collect();
    if short.len() < text.len() { short + "…" } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_quoted_by_their_words() {
        let result = r#"{"content":[{"type":"text","text":"no user `\"; echo"}],"isError":true}"#;
        assert_eq!(last_words(result), "\"no user `\"; echo\"");
        assert_eq!(last_words(r#"{"code":-32602,"message":"no"}"#), "\"no\"");
        assert_eq!(last_words(r#"{"content":[]}"#), r#"{"content":[]}"#);
        assert_eq!(last_words("{\"content\":["), "{\"content\":[");
        assert_eq!(last_words(&"a".repeat(121)), "a".repeat(120) + "…");
    }
}
