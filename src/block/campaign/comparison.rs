//! States compared with those around a call without faults: whole where every session begins in the same way, and as
//! changes since the beginning of the session where data outlives its server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::effect::{EffectCount, ExpectedEffect, ToolNature};
use super::pattern::{ADDED, ExpectedPart, PatternDifference, REMOVED, StatePattern};
use crate::check::shown_state::ShownState;
use crate::path::PathStep;

/// The list of an answer that is a message, and no data.
const BLOCKS: &str = "content";

/// The states of one clean run; read twice, because reading may change what is shown.
pub(crate) struct CleanRun {
    pub(crate) before: [ShownState; 2],
    pub(crate) once: [ShownState; 2],
    pub(crate) twice: ShownState,
    pub(crate) serves_again: bool,
    pub(crate) elapsed: Duration,
}

/// The states before a call and after it on which clean runs agree.
#[derive(Debug, Clone)]
pub(crate) struct StatePatterns {
    before: StatePattern,
    once: StatePattern,
}

/// The comparison of the states of one session.
#[derive(Debug, Clone)]
pub(crate) struct StateComparison {
    patterns: Arc<StatePatterns>,
    /// The state in which the session began, where changes since then are compared.
    begun: Option<Value>,
}

impl StatePatterns {
    /// Whole states.
    pub(crate) fn of_states(runs: &[CleanRun; 2]) -> Self {
        Self::of(runs, |_, state| state.to_value())
    }

    /// Changes since the beginning of the session.
    pub(crate) fn of_changes(runs: &[CleanRun; 2]) -> Self {
        Self::of(runs, |run, state| change(&run.before[0].to_value(), &state.to_value()))
    }

    fn of(runs: &[CleanRun; 2], view: impl Fn(&CleanRun, &ShownState) -> Value) -> Self {
        let common = |states: fn(&CleanRun) -> &[ShownState; 2]| {
            let mut views = runs.iter().flat_map(|run| states(run).iter().map(|state| view(run, state)));
            let first = views.next().unwrap_or_default();
            views.fold(StatePattern::Same(first), |pattern, view| pattern.widen(&view))
        };
        Self { before: common(|run| &run.before), once: common(|run| &run.once) }
    }

    /// A state is one before a call.
    pub(crate) fn is_before(&self, state: &Value) -> bool {
        self.before.matches(state)
    }

    /// It tells a state after a call from one before it.
    pub(crate) fn tells_apart(&self, before: &Value) -> bool {
        !self.once.matches(before)
    }
}

impl StateComparison {
    /// Of whole states.
    pub(crate) fn of_states(patterns: &Arc<StatePatterns>) -> Self {
        Self { patterns: Arc::clone(patterns), begun: None }
    }

    /// Of changes since the session began with this.
    pub(crate) fn of_changes(patterns: &Arc<StatePatterns>, begun: Value) -> Self {
        Self { patterns: Arc::clone(patterns), begun: Some(begun) }
    }

    /// Changes are compared, rather than whole states.
    pub(crate) fn is_of_changes(&self) -> bool {
        self.begun.is_some()
    }

    fn view(&self, state: &ShownState) -> Value {
        let state = state.to_value();
        self.begun.as_ref().map_or_else(|| state.clone(), |begun| change(begun, &state))
    }

    /// A state shows the effect as often as it may.
    pub(crate) fn allows(&self, state: &ShownState, expected: ExpectedEffect) -> bool {
        let state = self.view(state);
        let (before, once) = (|| self.patterns.before.matches(&state), || self.patterns.once.matches(&state));
        match expected {
            ExpectedEffect::Never => before(),
            ExpectedEffect::Once => once(),
            ExpectedEffect::AtMostOnce => before() || once(),
        }
    }

    /// The number of times that the effect shows in a state.
    pub(crate) fn count(&self, state: &ShownState, nature: ToolNature) -> EffectCount {
        let state = self.view(state);
        if nature != ToolNature::Reads && self.patterns.once.matches(&state) {
            return EffectCount::Times(1);
        }
        if self.patterns.before.matches(&state) {
            return EffectCount::Times(0);
        }
        let differences = self.patterns.once.differences(&state);
        let counted = differences.iter().filter_map(|difference| self.multiple(difference)).find(|times| *times > 1);
        counted.map_or(EffectCount::Other, EffectCount::Times)
    }

    /// The number of times by which a size or a number has moved further than after one call.
    fn multiple(&self, difference: &PatternDifference) -> Option<u64> {
        let once = match &difference.expected {
            ExpectedPart::Length(length) => i64::try_from(*length).ok()?,
            ExpectedPart::Value(value) => value.as_i64()?,
            ExpectedPart::Something | ExpectedPart::Nothing => return None,
        };
        let before = self.patterns.before.at(&difference.path)?.size()?;
        let size =
            |value: &Value| value.as_array().and_then(|items| i64::try_from(items.len()).ok()).or(value.as_i64());
        let now = difference.actual.as_ref().and_then(size)?;
        let step = once.checked_sub(before).filter(|step| *step != 0)?;
        let moved = now.checked_sub(before)?;
        (moved % step == 0).then(|| u64::try_from(moved / step).ok()).flatten()
    }

    /// The parts of a state that are not as they must be, those first that say most.
    pub(crate) fn differences(&self, state: &ShownState, expected: ExpectedEffect) -> Vec<PatternDifference> {
        let pattern = if expected == ExpectedEffect::Never { &self.patterns.before } else { &self.patterns.once };
        let mut differences = pattern.differences(&self.view(state));
        differences.sort_by_key(PatternDifference::obscurity);
        differences
    }

    /// The state before a call.
    pub(crate) fn before(&self, path: &[PathStep]) -> Option<&StatePattern> {
        self.patterns.before.at(path)
    }

    /// The state after one.
    pub(crate) fn once(&self, path: &[PathStep]) -> Option<&StatePattern> {
        self.patterns.once.at(path)
    }
}

/// The change of a value: the items that came into a list and left it, how far a number moved, a new value instead of an
/// old one, and null where nothing changed.
pub(crate) fn change(before: &Value, after: &Value) -> Value {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let kept = new.iter().map(|(name, value)| {
                let change = match old.get(name) {
                    Some(old) if name == BLOCKS => change_of_blocks(old, value),
                    Some(old) => change(old, value),
                    None => value.clone(),
                };
                (name.clone(), change)
            });
            let gone = old.keys().filter(|name| !new.contains_key(*name)).map(|name| (name.clone(), "gone".into()));
            Value::Object(kept.chain(gone).collect::<Map<_, _>>())
        }
        (Value::Array(old), Value::Array(new)) => {
            json!({ADDED: items_without(new, old), REMOVED: items_without(old, new)})
        }
        (Value::Number(old), Value::Number(new)) => {
            let by = new.as_i64().zip(old.as_i64()).and_then(|(new, old)| new.checked_sub(old));
            by.map_or_else(|| after.clone(), Value::from)
        }
        _ if before == after => Value::Null,
        _ => after.clone(),
    }
}

fn change_of_blocks(before: &Value, after: &Value) -> Value {
    match (before, after) {
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            old.iter().zip(new).map(|(old, new)| change(old, new)).collect()
        }
        _ => change(before, after),
    }
}

/// The items of a list that are not in the other one, each as often as it is there more often.
fn items_without(items: &[Value], others: &[Value]) -> Vec<Value> {
    let mut others: Vec<&Value> = others.iter().collect();
    let mut found = Vec::new();
    for item in items {
        match others.iter().position(|other| *other == item) {
            Some(at) => drop(others.remove(at)),
            None => found.push(item.clone()),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_the_same_whatever_was_there_before() {
        let check = |before: Value, after: Value, expected: Value| assert_eq!(change(&before, &after), expected);
        check(json!({"a": 1, "b": "x"}), json!({"a": 3, "b": "x"}), json!({"a": 2, "b": null}));
        check(json!({"b": "x"}), json!({"b": "y", "c": [1]}), json!({"b": "y", "c": [1]}));
        check(json!({"b": "x"}), json!({}), json!({"b": "gone"}));
        check(json!([1, 2]), json!([2, 2, 3]), json!({"+": [2, 3], "-": [1]}));
        check(json!([]), json!([]), json!({"+": [], "-": []}));
        let blocks = |notes: Value| json!({"content": [{"type": "text", "text": {"notes": notes}}]});
        let added = json!({"content": [{"type": null, "text": {"notes": {"+": ["b"], "-": []}}}]});
        check(blocks(json!(["a"])), blocks(json!(["a", "b"])), added);
    }

    fn states(places: [Value; 2]) -> [ShownState; 2] {
        places.map(|value| ShownState::of_values(&json!({"list": value})))
    }

    /// A clean run whose state is `before` before the call, and `once` after it; ids differ from run to run.
    fn run(before: &Value, once: &Value, id: u8) -> CleanRun {
        let at = |value: &Value| json!({"users": value, "drawn": id});
        let twice = ShownState::of_values(&json!({"list": at(once)}));
        CleanRun {
            before: states([at(before), at(before)]),
            once: states([at(once), at(once)]),
            twice,
            serves_again: true,
            elapsed: Duration::ZERO,
        }
    }

    fn comparison(before: &Value, once: &Value) -> StateComparison {
        let runs = [run(before, once, 1), run(before, once, 2)];
        StateComparison::of_states(&Arc::new(StatePatterns::of_states(&runs)))
    }

    #[test]
    fn effects_are_counted_by_items_and_numbers() {
        let (none, ann) = (json!([]), json!(["ann"]));
        let check = |before: &Value, once: &Value, now: Value, expected: EffectCount| {
            let state = ShownState::of_values(&json!({"list": {"users": now, "drawn": 9}}));
            let count = comparison(before, once).count(&state, ToolNature::Plain);
            assert_eq!(count, expected, "{before} {once} {state:?}");
        };
        check(&none, &ann, json!([]), EffectCount::Times(0));
        check(&none, &ann, json!(["ann"]), EffectCount::Times(1));
        check(&none, &ann, json!(["ann", "ann"]), EffectCount::Times(2));
        check(&none, &ann, json!(["bob"]), EffectCount::Other);
        check(&none, &ann, json!("gone"), EffectCount::Other);
        check(&json!(5), &json!(7), json!(11), EffectCount::Times(3));
        check(&json!(5), &json!(7), json!(8), EffectCount::Other);
        check(&json!(["a", "b", "c"]), &json!(["a", "b"]), json!(["a"]), EffectCount::Times(2));
    }

    #[test]
    fn states_are_allowed_by_what_is_expected() {
        use ExpectedEffect::{AtMostOnce, Never, Once};
        let compared = comparison(&json!([]), &json!(["ann"]));
        for (now, allowed) in [
            (json!([]), &[Never, AtMostOnce][..]),
            (json!(["ann"]), &[Once, AtMostOnce]),
            (json!(["ann", "ann"]), &[]),
            (json!(["bob"]), &[]),
        ] {
            let state = ShownState::of_values(&json!({"list": {"users": now, "drawn": 9}}));
            let actual = [Never, Once, AtMostOnce].into_iter().filter(|expected| compared.allows(&state, *expected));
            assert_eq!(actual.collect::<Vec<_>>(), allowed, "{state:?}");
        }
    }

    #[test]
    fn changes_are_compared_where_sessions_begin_elsewhere() {
        let runs = [run(&json!(["x"]), &json!(["x", "ann"]), 1), run(&json!(["x", "y"]), &json!(["x", "y", "ann"]), 2)];
        let patterns = Arc::new(StatePatterns::of_changes(&runs));
        let state = |users: Value| ShownState::of_values(&json!({"list": {"users": users, "drawn": 3}}));
        let compared = StateComparison::of_changes(&patterns, state(json!(["z"])).to_value());
        assert!(compared.is_of_changes() && compared.allows(&state(json!(["z", "ann"])), ExpectedEffect::Once));
        assert!(compared.allows(&state(json!(["z"])), ExpectedEffect::Never));
        assert!(!compared.allows(&state(json!(["ann"])), ExpectedEffect::AtMostOnce));
        assert_eq!(compared.count(&state(json!(["z", "ann", "ann"])), ToolNature::Idempotent), EffectCount::Times(2));
    }

    #[test]
    fn a_change_is_what_one_call_adds_to_any_state() {
        for (before, after, expected) in [
            // The same item twice is two items.
            (json!(["a"]), json!(["a", "a"]), json!({"+": ["a"], "-": []})),
            (json!(["a", "a", "b"]), json!(["a"]), json!({"+": [], "-": ["a", "b"]})),
            // Another order is no change.
            (json!(["a", "b"]), json!(["b", "a"]), json!({"+": [], "-": []})),
            (json!({"a": {"n": 4}}), json!({"a": {"n": 1}}), json!({"a": {"n": -3}})),
            (json!(0.5), json!(1.5), json!(1.5)),
            (json!(i64::MIN), json!(i64::MAX), json!(i64::MAX)),
            (json!(1), json!("1"), json!("1")),
            (json!("x"), json!("x"), Value::Null),
            // Blocks of an answer are told apart by their place only where there are as many.
            (
                json!({"content": [{"text": "a"}]}),
                json!({"content": [{"text": "a"}, {"text": "b"}]}),
                json!({"content": {"+": [{"text": "b"}], "-": []}}),
            ),
        ] {
            assert_eq!(change(&before, &after), expected, "{before} {after}");
        }
    }

    #[test]
    fn effects_of_reads_and_of_odd_steps_are_not_counted_wrongly() {
        let count = |before: &Value, once: &Value, now: Value, nature| {
            let state = ShownState::of_values(&json!({"list": {"users": now, "drawn": 9}}));
            comparison(before, once).count(&state, nature)
        };
        let (none, ann) = (json!([]), json!(["ann"]));
        for (before, once, now, nature, expected) in [
            // The state of a read is the same before and after.
            (&none, &none, json!([]), ToolNature::Reads, EffectCount::Times(0)),
            (&none, &none, json!(["ann"]), ToolNature::Reads, EffectCount::Other),
            // It moved the other way.
            (&json!(5), &json!(7), json!(3), ToolNature::Plain, EffectCount::Other),
            (&json!(7), &json!(5), json!(1), ToolNature::Plain, EffectCount::Times(3)),
            (&json!(1), &json!(2), json!(1.5), ToolNature::Plain, EffectCount::Other),
            (&none, &ann, json!(["ann", "bob", "carl"]), ToolNature::Idempotent, EffectCount::Times(3)),
            (&json!("off"), &json!("on"), json!("broken"), ToolNature::Idempotent, EffectCount::Other),
            (&json!("off"), &json!("on"), json!("off"), ToolNature::Idempotent, EffectCount::Times(0)),
        ] {
            assert_eq!(count(before, once, now.clone(), nature), expected, "{before} {once} {now} {nature:?}");
        }
    }

    #[test]
    fn reads_are_compared_with_what_was_before() {
        let compared = comparison(&json!([]), &json!(["ann"]));
        for (now, expected, differs) in [
            (json!([]), ExpectedEffect::Never, false),
            (json!(["ann"]), ExpectedEffect::Never, true),
            (json!(["ann"]), ExpectedEffect::Once, false),
            (json!([]), ExpectedEffect::AtMostOnce, true),
        ] {
            let state = ShownState::of_values(&json!({"list": {"users": now, "drawn": 9}}));
            assert_eq!(!compared.differences(&state, expected).is_empty(), differs, "{state:?} {expected:?}");
        }
    }
}
