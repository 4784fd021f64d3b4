//! The effect of a call without faults: the states before it, after it, and after the same call once more.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::comparison::{StateComparison, StatePatterns, change};
use super::subject::ToolNature;
use super::trial::{CampaignTrial, TrialEnd};
use crate::check::shown_state::{CLOCK, ShownAnswer, ShownState};
use crate::event::Reason;

/// The states that two clean runs agree on.
#[derive(Debug, Clone)]
pub(crate) struct CleanStates {
    /// Whole states, where they tell whether a call was made.
    states: Option<Arc<StatePatterns>>,
    /// Changes since the beginning of a session, where they do: for data that outlives its server.
    changes: Option<Arc<StatePatterns>>,
    /// The state after one call.
    shown: ShownState,
    /// Whether the same call once more changed the state again.
    pub(crate) repeats: bool,
    /// Whether the same call once more is served; it may be refused because all is done.
    pub(crate) serves_again: bool,
    /// How long the call took at most.
    pub(crate) elapsed: Duration,
}

/// The states of one clean run; read twice, because reading may change what is shown.
pub(crate) struct CleanRun {
    pub(crate) before: [ShownState; 2],
    pub(crate) once: [ShownState; 2],
    pub(crate) twice: ShownState,
    pub(crate) serves_again: bool,
    pub(crate) elapsed: Duration,
}

/// How often an effect shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EffectCount {
    Times(u64),
    /// Something else than the effect shows, or a part of it.
    Other,
}

/// How often the effect of a call may show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedEffect {
    Never,
    Once,
    AtMostOnce,
}

impl ExpectedEffect {
    /// In words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Never => "no effect",
            Self::Once => "its effect once",
            Self::AtMostOnce => "its effect once or not at all",
        }
    }
}

impl EffectCount {
    /// In words, for a table.
    pub(crate) fn text(self) -> String {
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
    pub(crate) async fn learn(trial: &mut CampaignTrial<'_>) -> Result<Self, TrialEnd> {
        let first = trial.clean_run().await?;
        // Clocks that count seconds are seen to go on.
        sleep(CLOCK).await;
        let second = trial.clean_run().await?;
        let runs = [first, second];
        let states = StatePatterns::of_states(&runs);
        let changes = StatePatterns::of_changes(&runs);
        let is_shown = |run: &CleanRun| !states.is_before(&run.once[0].compared());
        let tool = &trial.subject.tool;
        if trial.subject.nature == ToolNature::Reads {
            if runs.iter().any(is_shown) {
                return Err(TrialEnd::Inconclusive(format!(
                    "`{tool}` changes what reading shows without any fault, although it says that it only reads, or its \
                     name does"
                )));
            }
            return Ok(Self::of(runs, Some(states), None));
        }
        let begun = |run: &CleanRun| run.before[0].compared();
        let tells_states = runs.iter().all(is_shown) && runs.iter().all(|run| states.tells_apart(&begun(run)));
        let tells_changes = runs.iter().all(|run| changes.tells_apart(&change(&begun(run), &begun(run))));
        if !tells_states && !tells_changes {
            let [first, second] = &runs;
            let begins_elsewhere = first.before[0].first_change(&second.before[0]).is_some();
            return Err(TrialEnd::Because(Reason::NotApplicable(if begins_elsewhere {
                format!(
                    "what earlier calls of `{tool}` wrote is still there when its server has been started again, so calls \
                     cannot be compared; remove it in `setup` and `teardown`, or start the server with a store of its own"
                )
            } else {
                format!(
                    "nothing that reading shows changes with a call of `{tool}`; show its effect with `verify:` in a \
                     test that calls it"
                )
            })));
        }
        Ok(Self::of(runs, tells_states.then_some(states), tells_changes.then_some(changes)))
    }

    fn of(runs: [CleanRun; 2], states: Option<StatePatterns>, changes: Option<StatePatterns>) -> Self {
        let elapsed = runs[0].elapsed.max(runs[1].elapsed);
        let serves_again = runs.iter().all(|run| run.serves_again);
        let [first, second] = runs;
        let shown = first.once[0].clone();
        let (states, changes) = (states.map(Arc::new), changes.map(Arc::new));
        let mut clean = Self { states, changes, shown, repeats: false, serves_again, elapsed };
        clean.repeats = [first, second].iter().any(|run| {
            let compared = clean.compare(&run.before[0]);
            compared.is_some_and(|compared| !compared.allows(&run.twice, ExpectedEffect::Once))
        });
        clean
    }

    /// How the states of a session are compared that begins with this one; `None` where they cannot be.
    pub(crate) fn compare(&self, begun: &ShownState) -> Option<StateComparison> {
        let whole = self.states.as_ref().filter(|states| states.is_before(&begun.compared()));
        whole.map(StateComparison::of_states).or_else(|| self.compare_changes(begun))
    }

    /// The same by the changes since then.
    pub(crate) fn compare_changes(&self, begun: &ShownState) -> Option<StateComparison> {
        self.changes.as_ref().map(|changes| StateComparison::of_changes(changes, begun.compared()))
    }

    /// Whether another clean run agrees, so that nothing but faults can have made a difference.
    pub(crate) fn is_confirmed_by(&self, run: &CleanRun) -> bool {
        let is_as_often = |compared: StateComparison| {
            compared.allows(&run.before[1], ExpectedEffect::Never)
                && compared.allows(&run.once[0], ExpectedEffect::Once)
        };
        self.compare(&run.before[0]).is_some_and(is_as_often)
    }

    /// The answer at a place after one clean call.
    pub(crate) fn answer(&self, place: &str) -> Option<&ShownAnswer> {
        self.shown.answer(place)
    }
}
