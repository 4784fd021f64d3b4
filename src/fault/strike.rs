//! The work of a fault on replies, which is the same for recorded replies and for those on their way.

use std::time::Duration;

use super::changed_message::AnswerLoss;
use super::effect::{EffectContext, FaultEffect};
use super::exchange::{ExchangeHistory, ServerReply};
use super::words::{KillMoment, PlainEffect};
use super::written::answer_names;
use super::{Fault, FaultPlace, MessageExchange, description};

/// Everything that a fault does beside its changes of the replies themselves.
#[derive(Debug, Default)]
pub(crate) struct StrikeOutcome {
    /// Messages that come first, and last.
    pub(crate) before: Vec<ServerReply>,
    pub(crate) after: Vec<ServerReply>,
    pub(crate) loss: Option<AnswerLoss>,
    pub(crate) on_listening: bool,
    /// The part of the delay in which bytes come one after the other.
    pub(crate) transfer: Duration,
    /// Why there is nothing to make an effect from, as half a sentence.
    pub(crate) lack: Option<String>,
}

/// The changed replies.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedFault {
    /// Everything that comes now, in order.
    pub replies: Vec<ServerReply>,
}

impl AppliedFault {
    /// The changes of messages and times, one line each, against what was recorded.
    pub fn changes(&self, exchange: &MessageExchange) -> Vec<String> {
        description::describe(&exchange.replies, &self.replies)
    }
}

/// The reason why a fault that matches changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotApplied {
    /// The replies are the recorded ones, byte by byte and at the same time.
    NoChange,
    /// There is nothing to make it from; the reason is half a sentence.
    NoMaterial(String),
}

impl Fault {
    /// Carries effects out, one after the other.
    pub(crate) fn strike(&self, effects: &[FaultEffect], work: &mut EffectContext<'_>) -> StrikeOutcome {
        work.seed = self.seed;
        let is_killed = self.connection.kill == Some(KillMoment::Answered) && !work.replies.is_empty();
        let mut outcome = StrikeOutcome { loss: is_killed.then_some(AnswerLoss::Killed), ..StrikeOutcome::default() };
        for effect in effects {
            let delay = work.delay();
            outcome.lack = outcome.lack.or(effect.act(work).err());
            let is_lost = *effect == FaultEffect::Plain(PlainEffect::Never);
            outcome.loss = outcome.loss.or(is_lost.then_some(AnswerLoss::Never));
            outcome.on_listening |= *effect == FaultEffect::AlsoOnListening;
            if matches!(effect, FaultEffect::Bandwidth(_)) {
                outcome.transfer += work.delay().saturating_sub(delay);
            }
        }
        (outcome.before, outcome.after) = (work.messages(&self.before), work.messages(&self.after));
        outcome
    }

    /// Matches the exchange at that index.
    pub fn strikes(&self, at: usize, history: &ExchangeHistory<'_>) -> bool {
        self.on.holds(at, history)
    }

    /// The replies of the exchange at that index under the fault, struck by the condition or not.
    pub fn apply(&self, at: usize, history: &ExchangeHistory<'_>) -> Result<AppliedFault, NotApplied> {
        self.apply_effects(&self.answers, at, history)
    }

    /// The same with the fault at one place of the answer.
    pub fn apply_at(
        &self,
        place: &FaultPlace,
        at: usize,
        history: &ExchangeHistory<'_>,
    ) -> Result<AppliedFault, NotApplied> {
        self.apply_effects(place.effects(self), at, history)
    }

    fn apply_effects(
        &self,
        effects: &[FaultEffect],
        at: usize,
        history: &ExchangeHistory<'_>,
    ) -> Result<AppliedFault, NotApplied> {
        let Some(exchange) = history.exchanges.get(at) else { return Err(NotApplied::NoChange) };
        let mut replies = Vec::new();
        if self.on.sends.is_empty() {
            replies = self.change(effects, EffectContext::new(at, history))?;
        } else {
            for reply in &exchange.replies {
                if self.on.means(reply) {
                    let whole = EffectContext::new(at, history);
                    let mut names = whole.names().clone();
                    names.extend(answer_names(reply));
                    let sent = EffectContext::on_its_way(at, history, whole.parsed, vec![reply.clone()], names);
                    replies.extend(self.change(effects, sent)?);
                } else {
                    replies.push(reply.clone());
                }
            }
        }
        if replies == exchange.replies { Err(NotApplied::NoChange) } else { Ok(AppliedFault { replies }) }
    }

    /// The replies with the messages that come before and after the answer.
    fn change(&self, effects: &[FaultEffect], mut work: EffectContext<'_>) -> Result<Vec<ServerReply>, NotApplied> {
        let StrikeOutcome { before, after, lack, .. } = self.strike(effects, &mut work);
        match lack {
            Some(lack) => Err(NotApplied::NoMaterial(lack)),
            None => Ok(work.surround(before, after)),
        }
    }
}
