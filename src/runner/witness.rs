//! Valid calls that must be served before what comes after them says anything.

use super::conversation::{Conversation, is_success};
use super::exchange::StepResponse;
use super::history;
use super::precondition::{self, ValidCallRefusal};
use crate::event::{CallPurpose, Finding, Phase, RefusedCall};
use crate::matching::{breaks_own_schema, words_of};
use crate::suite::Step;
use crate::wire::admitted_failure;

/// Why a valid call says nothing of what comes after it.
pub(crate) enum ValidCallError {
    /// The server refused it.
    Refused(Box<ValidCallRefusal>),
    /// It got no answer, which is a failure whatever was to come after it.
    Unanswered(Box<Finding>),
}

impl Conversation<'_> {
    /// Runs calls that must be served before anything else counts, and returns the expectations that they violate;
    /// `Err` says which was not served.
    pub(crate) async fn run_witness(&mut self, steps: &[Step]) -> Result<Vec<Finding>, ValidCallError> {
        let mut found = Vec::new();
        for step in steps {
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
                    let tool = called.map(str::to_owned);
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

    /// Returns true if a valid call was refused that was served before.
    fn is_refused_after_success(&self, index: usize, result: &Result<Option<StepResponse>, Finding>) -> bool {
        let Ok(Some(heard)) = result else { return false };
        let message = &heard.reply.message;
        self.history.is_some_and(|history| {
            !is_success(message) && history.has_served(&self.exchanges[index]) && !history::is_limit(&words_of(message))
        })
    }
}

/// As much of an answer as a sentence takes.
fn beginning(text: &str) -> String {
    let short: String = text.chars().take(160).collect();
    if short.len() < text.len() { short + "…" } else { short }
}
