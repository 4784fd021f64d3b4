//! What a call does without faults: the states before it, after it, and after the same call once more.

use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;

use super::pattern::{ExpectedPart, PatternDifference, StatePattern};
use super::subject::ToolNature;
use super::trial::{CampaignTrial, TrialEnd};
use crate::block::config::shown_state::{CLOCK, ShownAnswer, ShownState};
use crate::event::Reason;
use crate::path::PathStep;

/// The states that two clean runs agree on.
#[derive(Debug, Clone)]
pub(super) struct CleanStates {
    before: StatePattern,
    once: StatePattern,
    /// The state after one call.
    shown: ShownState,
    /// Whether the same call once more changed the state again.
    pub(super) repeats: bool,
    /// Whether the same call once more is served; it may be refused because all is done.
    pub(super) serves_again: bool,
    /// How long the call took at most.
    pub(super) elapsed: Duration,
}

/// The states of one clean run.
pub(super) struct CleanRun {
    pub(super) before: ShownState,
    pub(super) once: ShownState,
    pub(super) twice: ShownState,
    pub(super) serves_again: bool,
    pub(super) elapsed: Duration,
}

/// How often an effect shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EffectCount {
    Times(u64),
    /// Something else than the effect shows, or a part of it.
    Other,
}

/// How often the effect of a call may show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpectedEffect {
    Never,
    Once,
    AtMostOnce,
}

impl ExpectedEffect {
    /// In words.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Never => "no effect",
            Self::Once => "its effect once",
            Self::AtMostOnce => "its effect once or not at all",
        }
    }
}

impl EffectCount {
    /// In words, for a table.
    pub(super) fn text(self) -> String {
        match self {
            Self::Times(0) => "none".to_owned(),
            Self::Times(1) => "once".to_owned(),
            Self::Times(2) => "twice".to_owned(),
            Self::Times(times) => format!("{times} times"),
            Self::Other => "in part".to_owned(),
        }
    }
}

impl CleanStates {
    /// Makes the call twice in each of two sessions; `Err` says why nothing could be learned.
    pub(super) async fn learn(trial: &mut CampaignTrial<'_>) -> Result<Self, TrialEnd> {
        let first = trial.clean_run().await?;
        // Clocks that count seconds are seen to go on.
        sleep(CLOCK).await;
        let second = trial.clean_run().await?;
        let common =
            |first: &ShownState, second: &ShownState| StatePattern::common(&first.compared(), &second.compared());
        let before = common(&first.before, &second.before);
        let once = common(&first.once, &second.once);
        let tool = &trial.subject.tool;
        let is_shown = !before.matches(&first.once.compared()) || !before.matches(&second.once.compared());
        let skipped = |why: String| Err(TrialEnd::Because(Reason::NotApplicable(why)));
        if trial.subject.nature == ToolNature::Reads {
            if is_shown {
                return Err(TrialEnd::Inconclusive(format!(
                    "`{tool}` changes what reading shows without any fault, although it says that it only reads, or its \
                     name does"
                )));
            }
        } else if !is_shown {
            let begins_elsewhere = first.before.first_change(&second.before).is_some();
            return skipped(if begins_elsewhere {
                format!(
                    "what earlier calls of `{tool}` wrote is still there when its server has been started again, so calls \
                     cannot be compared; remove it in `setup` and `teardown`, or start the server with a store of its own"
                )
            } else {
                format!(
                    "nothing that reading shows changes with a call of `{tool}`; show its effect with `verify:` in a \
                     test that calls it"
                )
            });
        }
        let repeats = !once.matches(&first.twice.compared()) || !once.matches(&second.twice.compared());
        let elapsed = first.elapsed.max(second.elapsed);
        let serves_again = first.serves_again && second.serves_again;
        Ok(Self { before, once, shown: first.once, repeats, serves_again, elapsed })
    }

    /// Whether another clean run agrees, so that nothing but faults can have made a difference.
    pub(super) fn is_confirmed_by(&self, run: &CleanRun) -> bool {
        self.before.matches(&run.before.compared()) && self.once.matches(&run.once.compared())
    }

    /// Whether a state is the one in which every run begins.
    pub(super) fn is_beginning(&self, state: &ShownState) -> bool {
        self.before.matches(&state.compared())
    }

    /// Whether a state shows the effect as often as it may.
    pub(super) fn allows(&self, state: &ShownState, expected: ExpectedEffect) -> bool {
        let state = state.compared();
        let (before, once) = (|| self.before.matches(&state), || self.once.matches(&state));
        match expected {
            ExpectedEffect::Never => before(),
            ExpectedEffect::Once => once(),
            ExpectedEffect::AtMostOnce => before() || once(),
        }
    }

    /// How often the effect shows in a state.
    pub(super) fn count(&self, state: &ShownState, nature: ToolNature) -> EffectCount {
        let compared = state.compared();
        if nature != ToolNature::Reads && self.once.matches(&compared) {
            return EffectCount::Times(1);
        }
        if self.before.matches(&compared) {
            return EffectCount::Times(0);
        }
        let differences = self.once.differences(&compared);
        let counted = differences.iter().filter_map(|difference| self.multiple(difference)).find(|times| *times > 1);
        counted.map_or(EffectCount::Other, EffectCount::Times)
    }

    /// How many times as far as after one call a size or a number has moved.
    fn multiple(&self, difference: &PatternDifference) -> Option<u64> {
        let once = match &difference.expected {
            ExpectedPart::Length(length) => i64::try_from(*length).ok()?,
            ExpectedPart::Value(value) => value.as_i64()?,
            ExpectedPart::Something | ExpectedPart::Nothing => return None,
        };
        let before = self.before.at(&difference.path)?.size()?;
        let size =
            |value: &Value| value.as_array().and_then(|items| i64::try_from(items.len()).ok()).or(value.as_i64());
        let now = difference.actual.as_ref().and_then(size)?;
        let step = once.checked_sub(before).filter(|step| *step != 0)?;
        let moved = now.checked_sub(before)?;
        (moved % step == 0).then(|| u64::try_from(moved / step).ok()).flatten()
    }

    /// The parts of a state that are not as they must be, those first that say most.
    pub(super) fn differences(&self, state: &ShownState, expected: ExpectedEffect) -> Vec<PatternDifference> {
        let pattern = if expected == ExpectedEffect::Never { &self.before } else { &self.once };
        let mut differences = pattern.differences(&state.compared());
        differences.sort_by_key(PatternDifference::obscurity);
        differences
    }

    /// What is there before a call.
    pub(super) fn before(&self, path: &[PathStep]) -> Option<&StatePattern> {
        self.before.at(path)
    }

    /// The answer at a place after one clean call.
    pub(super) fn answer(&self, place: &str) -> Option<&ShownAnswer> {
        self.shown.answer(place)
    }
}
