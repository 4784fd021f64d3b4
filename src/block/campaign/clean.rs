//! The effect of a call without faults: the states before it, after it, and after the same call once more.

use std::sync::Arc;
use std::time::Duration;

use super::comparison::{CleanRun, StateComparison, StatePatterns, change};
use super::effect::{ExpectedEffect, ToolNature};
use crate::check::CheckEnd;
use crate::check::shown_state::{ShownAnswer, ShownState};

/// The states that two clean runs agree on.
#[derive(Debug, Clone)]
pub(crate) struct CleanStates {
    /// Whole states, where they tell whether a call was made.
    states: Option<Arc<StatePatterns>>,
    /// Changes since the beginning of a session, where they do: for data that outlives its server.
    changes: Option<Arc<StatePatterns>>,
    /// The state after one call.
    shown: ShownState,
    /// The same call once more changed the state again.
    pub(crate) repeats: bool,
    /// The same call once more is served; it may be refused because all is done.
    pub(crate) serves_again: bool,
    /// The longest time of the call.
    pub(crate) elapsed: Duration,
}

impl CleanStates {
    /// The states on which two runs agree; `Err` says why nothing can be learned from them.
    pub(crate) fn of_runs(runs: [CleanRun; 2], tool: &str, nature: ToolNature) -> Result<Self, CheckEnd> {
        let states = StatePatterns::of_states(&runs);
        let changes = StatePatterns::of_changes(&runs);
        let is_shown = |run: &CleanRun| !states.is_before(&run.once[0].to_value());
        if nature == ToolNature::Reads {
            if runs.iter().any(is_shown) {
                return Err(CheckEnd::inconclusive(format!(
                    "`{tool}` changes what reading shows without any fault, although it says that it only reads, or its \
                     name does"
                )));
            }
            return Ok(Self::of(runs, Some(states), None));
        }
        let begun = |run: &CleanRun| run.before[0].to_value();
        let tells_states = runs.iter().all(is_shown) && runs.iter().all(|run| states.tells_apart(&begun(run)));
        let tells_changes = runs.iter().all(|run| changes.tells_apart(&change(&begun(run), &begun(run))));
        if tells_states || tells_changes {
            return Ok(Self::of(runs, tells_states.then_some(states), tells_changes.then_some(changes)));
        }
        let [first, second] = &runs;
        let begins_elsewhere = first.before[0].first_change(&second.before[0]).is_some();
        Err(CheckEnd::not_applicable(if begins_elsewhere {
            format!(
                "what earlier calls of `{tool}` wrote is still there when its server has been started again, so calls \
                 cannot be compared; remove it in `setup` and `teardown`, or start the server with a store of its own"
            )
        } else {
            format!(
                "nothing that reading shows changes with a call of `{tool}`; show its effect with `verify:` in a test that \
                 calls it"
            )
        }))
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

    /// The comparison of the states of a session that begins with this one; `None` where they cannot be compared.
    pub(crate) fn compare(&self, begun: &ShownState) -> Option<StateComparison> {
        let whole = self.states.as_ref().filter(|states| states.is_before(&begun.to_value()));
        whole.map(StateComparison::of_states).or_else(|| self.compare_changes(begun))
    }

    /// The same by the changes since then.
    pub(crate) fn compare_changes(&self, begun: &ShownState) -> Option<StateComparison> {
        self.changes.as_ref().map(|changes| StateComparison::of_changes(changes, begun.to_value()))
    }

    /// Another clean run agrees, so that nothing but faults can have made a difference.
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::event::Outcome;

    /// A run that shows these values before the call, after it, and after the same call once more.
    fn run([before, once, twice]: [Value; 3]) -> CleanRun {
        let state = |value: &Value| ShownState::of_values(&json!({"list": value}));
        CleanRun {
            before: [state(&before), state(&before)],
            once: [state(&once), state(&once)],
            twice: state(&twice),
            serves_again: true,
            elapsed: Duration::from_millis(3),
        }
    }

    fn learn(first: [Value; 3], second: [Value; 3], nature: ToolNature) -> Result<CleanStates, CheckEnd> {
        CleanStates::of_runs([run(first), run(second)], "add", nature)
    }

    #[test]
    fn an_effect_must_show_in_both_runs() {
        let adds = || [json!([]), json!(["ann"]), json!(["ann", "ann"])];
        let grows = || [json!(["ann"]), json!(["ann", "ann"]), json!(["ann", "ann", "ann"])];
        let stays = || [json!([]), json!([]), json!([])];
        for (first, second, nature, expected) in [
            (adds(), adds(), ToolNature::Plain, None),
            (adds(), grows(), ToolNature::Plain, None),
            (stays(), stays(), ToolNature::Reads, None),
            (adds(), adds(), ToolNature::Reads, Some((Outcome::Inconclusive, "although it says that it only reads"))),
            (stays(), stays(), ToolNature::Plain, Some((Outcome::Skipped, "nothing that reading shows changes"))),
            (stays(), adds(), ToolNature::Idempotent, Some((Outcome::Skipped, "nothing that reading shows changes"))),
            (
                [json!("a"), json!("b"), json!("b")],
                [json!("b"), json!("b"), json!("b")],
                ToolNature::Plain,
                Some((Outcome::Skipped, "is still there when its server has been started again")),
            ),
        ] {
            let text = format!("{first:?} {second:?} {nature:?}");
            let end = learn(first, second, nature).err().map(CheckEnd::into_result);
            assert_eq!(end.as_ref().map(|end| end.outcome), expected.map(|(outcome, _)| outcome), "{text}");
            let (reason, part) = (format!("{:?}", end.map(|end| end.reason)), expected.map_or("", |(_, part)| part));
            assert!(reason.contains(part), "{text}: {reason}");
        }
    }

    #[test]
    fn clean_runs_say_whether_a_call_repeats_and_confirm_each_other() {
        let adds = || [json!([]), json!(["ann"]), json!(["ann", "ann"])];
        let sets = || [json!(null), json!("ann"), json!("ann")];
        let clean = |values: fn() -> [Value; 3]| learn(values(), values(), ToolNature::Idempotent).unwrap();
        assert!(clean(adds).repeats && !clean(sets).repeats);
        assert!(clean(adds).is_confirmed_by(&run(adds())) && !clean(sets).is_confirmed_by(&run(adds())));
        let lost = run([json!([]), json!([]), json!([])]);
        assert!(!clean(adds).is_confirmed_by(&lost));
        assert_eq!(clean(adds).elapsed, Duration::from_millis(3));
    }

    #[test]
    fn a_session_is_compared_with_what_its_beginning_allows() {
        let begins = |value: Value| ShownState::of_values(&json!({"list": value}));
        let adds = || [json!([]), json!(["ann"]), json!(["ann", "ann"])];
        let grows = || [json!(["ann"]), json!(["ann", "ann"]), json!(["ann", "ann", "ann"])];
        let sets = || [json!("off"), json!("on"), json!("on")];
        for (first, second, begun, is_of_changes) in [
            (adds(), adds(), json!([]), Some(false)),
            // Somebody else wrote to the same store.
            (adds(), adds(), json!(["bob"]), Some(true)),
            (adds(), grows(), json!(["bob", "carl"]), Some(true)),
            (sets(), sets(), json!("off"), Some(false)),
        ] {
            let clean = learn(first, second, ToolNature::Plain).unwrap();
            let compared = clean.compare(&begins(begun.clone()));
            assert_eq!(compared.map(|compared| compared.is_of_changes()), is_of_changes, "{begun}");
        }
        // Nothing is written, so there is nothing to compare by.
        let reads = || [json!([]), json!([]), json!([])];
        let clean = learn(reads(), reads(), ToolNature::Reads).unwrap();
        assert!(
            clean.compare(&begins(json!(["bob"]))).is_none() && clean.compare_changes(&begins(json!([]))).is_none()
        );
    }

    #[test]
    fn a_repeated_call_may_be_refused_only_if_it_was_without_faults() {
        let sets = || run([json!("off"), json!("on"), json!("on")]);
        for (first, second, expected) in [(true, true, true), (true, false, false), (false, false, false)] {
            let runs = [CleanRun { serves_again: first, ..sets() }, CleanRun { serves_again: second, ..sets() }];
            let clean = CleanStates::of_runs(runs, "set", ToolNature::Idempotent).unwrap();
            assert_eq!(clean.serves_again, expected, "{first} {second}");
        }
    }
}
