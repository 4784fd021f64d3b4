//! A set of faults that breaks a server as a test that fails as long as it does.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::clean::CleanStates;
use super::effect::ExpectedEffect;
use super::fault_kind::{FaultKind, StruckEnding, milliseconds};
use super::pattern::{ADDED, ExpectedPart, PatternDifference, REMOVED, StatePattern, of_result};
use super::trial::{CampaignTrial, StruckEnd, StruckRun};
use crate::path::{DottedPath, PathStep, json_of_text};
use crate::reproduce::{literal, suite_step};
use crate::suite::Step;

/// The time for which a client watches the server after a cancellation.
const WATCH: &str = "500ms";

/// The name of what is read before the calls, where changes are compared.
const BEGUN: &str = "before_faults";

/// A step that reads the state, with an expectation that it does not meet.
struct VerifyingStep {
    step: Map<String, Value>,
    /// The same step before the calls, which captures what the expectation names.
    begun: Option<Map<String, Value>>,
}

/// The test, as an entry of `tests:`; `None` where a suite cannot say it.
pub(crate) fn build(
    trial: &CampaignTrial<'_>,
    clean: &CleanStates,
    set: &[FaultKind],
    end: &StruckEnd,
) -> Option<Value> {
    let subject = trial.subject;
    let timeout = trial.timeout(clean);
    let none = BTreeSet::new();
    let (idle, expected) = match end {
        StruckEnd::Read(run) => (&run.idle, run.expected.text()),
        StruckEnd::Silent(_) => (&none, "an answer"),
    };
    let faults: Vec<Value> = (0..)
        .zip(set)
        .filter(|(at, kind)| !idle.contains(&kind.fault_name(at + 1)))
        .map(|(at, kind): (usize, _)| kind.to_json(trial.struck_call_at(subject.earlier_calls + at, set, clean)))
        .collect();
    let mut verify = Vec::new();
    let mut begun = None;
    match end {
        StruckEnd::Read(run) if !run.is_sound => {
            let verifying = expectation(clean, run)?;
            verify.push(verifying.step);
            begun = verifying.begun;
        }
        // It is not answered any more.
        StruckEnd::Read(_) | StruckEnd::Silent(_) => {
            let mut read = step(&trial.reading_step())?;
            read.insert("expect".to_owned(), json!([{"is_error": false}]));
            verify.push(read);
        }
    }
    if trial.is_repeated(set) {
        verify.insert(0, step(&subject.call)?);
    }
    let mut steps = subject.before.iter().map(step).collect::<Option<Vec<_>>>()?;
    steps.extend(begun);
    for (at, kind) in set.iter().enumerate() {
        let mut call = step(&subject.call)?;
        if !kind.keeps_answer() {
            call.remove("capture");
        }
        match kind.ending() {
            StruckEnding::Unanswered => {
                call.remove("expect");
                call.insert("timeout".to_owned(), milliseconds(timeout).into());
                call.insert("unanswered".to_owned(), true.into());
            }
            StruckEnding::Answered => {}
            StruckEnding::Cancelled => {
                let after = milliseconds(CampaignTrial::cancels_after(clean));
                call.insert("cancel".to_owned(), json!({"after": after, "watch": WATCH}));
            }
        }
        steps.push(call);
        let is_last = at + 1 == set.len();
        let after =
            if kind.kills() { Some("restart") } else { (*kind == FaultKind::Pause && !is_last).then_some("alive") };
        let after = after.map(|word| Map::from_iter([(word.to_owned(), true.into())]));
        if is_last {
            verify.splice(0..0, after);
        } else {
            steps.extend(after);
        }
    }
    let names: Vec<&str> = set.iter().map(|kind| kind.as_str()).collect();
    let mut test = Map::from_iter([(
        "name".to_owned(),
        Value::from(format!("{} has {expected} after {}", subject.tool, names.join(", "))),
    )]);
    // Without faults there is nothing that ends before `verify`.
    if faults.is_empty() {
        steps.append(&mut verify);
    } else {
        test.insert("inject".to_owned(), faults.into());
    }
    if !subject.names.is_empty() {
        test.insert("rows".to_owned(), json!([subject.names]));
    }
    for (key, some) in [("setup", &subject.setup), ("teardown", &subject.teardown)] {
        if !some.is_empty() {
            let some = some.iter().map(step).collect::<Option<Vec<_>>>()?;
            test.insert(key.to_owned(), some.into_iter().map(Value::Object).collect::<Vec<_>>().into());
        }
    }
    test.insert("steps".to_owned(), steps.into_iter().map(Value::Object).collect::<Vec<_>>().into());
    if !verify.is_empty() {
        test.insert("verify".to_owned(), verify.into_iter().map(Value::Object).collect::<Vec<_>>().into());
    }
    Some(test.into())
}

/// A step of the suite as it is written, without its expectations; `None` for what tests of calls do not need.
fn step(step: &Step) -> Option<Map<String, Value>> {
    let mut written = Map::new();
    let (tool, args) = step.action.as_call()?;
    written.insert("call".to_owned(), tool.to_json());
    written.extend(args.map(|args| ("args".to_owned(), args.to_json())));
    written.insert("expect".to_owned(), json!([]));
    if !step.capture.is_empty() {
        let captured = |one: &crate::suite::Capture| (one.name.value.clone(), Value::from(one.path.as_str()));
        written.insert("capture".to_owned(), step.capture.iter().map(captured).collect::<Map<_, _>>().into());
    }
    Some(written)
}

/// A step that reads the state, with an expectation that it does not meet; `None` where no expectation can say it.
fn expectation(clean: &CleanStates, run: &StruckRun) -> Option<VerifyingStep> {
    let differences = run.compared.differences(&run.state, run.expected);
    differences.iter().find_map(|difference| {
        if run.compared.is_of_changes() {
            of_change(run, difference)
        } else {
            of_difference(clean, run, difference).map(|step| VerifyingStep { step, begun: None })
        }
    })
}

/// The step where the change of a part differs: it is compared with what the same step shows before the calls.
fn of_change(run: &StruckRun, difference: &PatternDifference) -> Option<VerifyingStep> {
    let [place @ PathStep::Member(name), inner @ ..] = difference.path.as_slice() else { return None };
    let shown = run.state.answer(name)?;
    let is_once = run.expected == ExpectedEffect::Once;
    let (inner, expect) = match (inner.split_last()?, &difference.expected) {
        ((PathStep::Member(moved), list), ExpectedPart::Length(added)) if moved == ADDED => {
            let mut removed = vec![place.clone()];
            removed.extend(list.iter().cloned());
            removed.push(PathStep::Member(REMOVED.to_owned()));
            let removed = run.compared.once(&removed)?.size()?;
            let by = i64::try_from(*added).ok()?.checked_sub(removed)?;
            let (sign, size) = sign_and_size(by);
            let begun = format!("{{{{ {BEGUN} | length }}}}");
            let after = format!("{{{{ {BEGUN} | length {sign} {size} }}}}");
            let actual = i64::try_from(difference.actual.as_ref()?.as_array()?.len()).ok()?;
            // Where a call takes more away than it adds, no bounds tell one call from none.
            let is_said = is_once || by >= 0 && !(0..=by).contains(&actual);
            let length = if is_once { json!(after) } else { json!({"min": begun, "max": after}) };
            (list, is_said.then(|| json!({"length": length}))?)
        }
        (_, ExpectedPart::Value(Value::Number(by))) => {
            let by = by.as_i64()?;
            let (sign, size) = sign_and_size(by);
            let after = format!("{{{{ {BEGUN} {sign} {size} }}}}");
            let is_said = is_once || difference.actual.as_ref()?.as_i64()? != 0;
            let begun = format!("{{{{ {BEGUN} }}}}");
            let expect = if is_once { json!({"equals": after}) } else { json!({"one_of": [begun, after]}) };
            (inner, is_said.then_some(expect)?)
        }
        _ => return None,
    };
    let at = path_in_answer(inner, &shown.result).to_string();
    let mut begun = suite_step(&shown.request);
    let mut step = begun.clone();
    begun.insert("expect".to_owned(), json!([]));
    begun.insert("capture".to_owned(), json!({BEGUN: at}));
    let mut expected = json!({"at": at});
    expected.as_object_mut()?.extend(expect.as_object()?.clone());
    step.insert("expect".to_owned(), json!([expected]));
    Some(VerifyingStep { step, begun: Some(begun) })
}

/// A number as templates add it.
fn sign_and_size(by: i64) -> (char, u64) {
    (if by < 0 { '-' } else { '+' }, by.unsigned_abs())
}

fn of_difference(clean: &CleanStates, run: &StruckRun, difference: &PatternDifference) -> Option<Map<String, Value>> {
    let [PathStep::Member(place), inner @ ..] = difference.path.as_slice() else { return None };
    let shown = run.state.answer(place);
    let mut step = suite_step(&shown.or(clean.answer(place))?.request);
    let expect = match (inner, shown) {
        ([], None) => json!({"is_error": false}),
        ([], Some(_)) if difference.expected == ExpectedPart::Nothing => json!({"is_error": true}),
        (_, Some(shown)) => part(run, difference, &path_in_answer(inner, &shown.result).to_string())?,
        (_, None) => return None,
    };
    step.insert("expect".to_owned(), json!([expect]));
    Some(step)
}

/// An expectation of a part at a path.
fn part(run: &StruckRun, difference: &PatternDifference, at: &str) -> Option<Value> {
    let may_be_missing = run.expected == ExpectedEffect::AtMostOnce;
    let before = || run.compared.before(&difference.path).filter(|_| may_be_missing);
    // The state before the call is right as well, and has nothing there.
    if may_be_missing && before().is_none() && difference.expected != ExpectedPart::Nothing {
        return None;
    }
    Some(match &difference.expected {
        ExpectedPart::Value(value) => match before().map(StatePattern::whole) {
            None => json!({"at": at, "equals": literal(value)}),
            Some(Some(before)) if Some(&before) != difference.actual.as_ref() => {
                json!({"at": at, "one_of": [literal(&before), literal(value)]})
            }
            Some(_) => return None,
        },
        ExpectedPart::Length(length) => match before() {
            None => json!({"at": at, "length": length}),
            Some(before) => {
                let before = usize::try_from(before.size()?).ok()?;
                let actual = difference.actual.as_ref()?.as_array()?.len();
                let (min, max) = (before.min(*length), before.max(*length));
                if (min..=max).contains(&actual) {
                    return None;
                }
                json!({"at": at, "length": {"min": min, "max": max}})
            }
        },
        ExpectedPart::Something if before().is_none() => json!({"at": at, "exists": true}),
        ExpectedPart::Nothing if before().is_none() => json!({"at": at, "exists": false}),
        ExpectedPart::Something | ExpectedPart::Nothing => return None,
    })
}

/// The path to a part of what is compared, in which texts that hold JSON are read, in an answer with that result.
fn path_in_answer(inner: &[PathStep], result: &Value) -> DottedPath {
    let (mut path, mut value) = (of_result(&[]), Some(result.clone()));
    for step in inner {
        if let Some(json) = value.as_ref().and_then(Value::as_str).and_then(json_of_text) {
            (path, value) = (path.then(PathStep::Json), Some(json));
        }
        value = value.and_then(|value| DottedPath { steps: vec![step.clone()] }.find(&value));
        path = path.then(step.clone());
    }
    path
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::comparison::CleanRun;
    use super::super::effect::ToolNature;
    use super::*;
    use crate::check::shown_state::ShownState;
    use crate::check::tests::settings;
    use crate::check::visit::ShownText;

    /// The state in which `list` answers with these data.
    fn state(data: &Value) -> ShownState {
        let message = json!({"result": {"structuredContent": data}});
        ShownState::of(vec![ShownText::of_test("list", &message.to_string(), true)], None)
    }

    fn clean(before: &Value, once: &Value) -> CleanStates {
        let run = || CleanRun {
            before: [state(before), state(before)],
            once: [state(once), state(once)],
            twice: state(once),
            serves_again: true,
            elapsed: Duration::ZERO,
        };
        CleanStates::of_runs([run(), run()], "add", ToolNature::Plain).unwrap()
    }

    /// A run that ends in a state; `begun` where changes since then are compared.
    fn struck(
        clean: &CleanStates,
        begun: Option<&Value>,
        before: &Value,
        now: &Value,
        expected: ExpectedEffect,
    ) -> StruckRun {
        let compared = match begun {
            Some(begun) => clean.compare_changes(&state(begun)),
            None => clean.compare(&state(before)),
        };
        let (compared, state) = (compared.unwrap(), state(now));
        StruckRun {
            is_confirmed: false,
            expected,
            count: compared.count(&state, ToolNature::Plain),
            is_sound: compared.allows(&state, expected),
            recovered: None,
            strikes: Vec::new(),
            idle: BTreeSet::new(),
            exchanges: Vec::new(),
            state,
            compared,
        }
    }

    #[test]
    fn a_test_expects_what_the_server_does_not_show() {
        use ExpectedEffect::{AtMostOnce, Never, Once};
        let users = |names: &[&str]| json!({"users": names});
        let at = "result.structuredContent.users";
        for (before, once, now, expected, written) in [
            (users(&[]), users(&["ann"]), users(&["ann", "ann"]), Once, Some(json!({"at": at, "length": 1}))),
            (users(&[]), users(&["ann"]), users(&[]), Once, Some(json!({"at": at, "length": 1}))),
            // The call may have been lost, too.
            (
                users(&[]),
                users(&["ann"]),
                users(&["ann", "ann"]),
                AtMostOnce,
                Some(json!({"at": at, "length": {"min": 0, "max": 1}})),
            ),
            (
                users(&["ann", "bob"]),
                users(&["ann"]),
                users(&[]),
                AtMostOnce,
                Some(json!({"at": at, "length": {"min": 1, "max": 2}})),
            ),
            (
                users(&[]),
                users(&["ann"]),
                users(&["bob"]),
                Once,
                Some(json!({"at": format!("{at}[0]"), "equals": "ann"})),
            ),
            // A server that lost the call shows nobody, and does nothing wrong.
            (users(&[]), users(&["ann"]), users(&["bob"]), AtMostOnce, None),
            (users(&["ann"]), users(&["ann", "bob"]), users(&["ann"]), Never, None),
            (json!({"users": 5}), json!({"users": 7}), json!({"users": 9}), Once, Some(json!({"at": at, "equals": 7}))),
            (
                json!({"users": 5}),
                json!({"users": 7}),
                json!({"users": 9}),
                AtMostOnce,
                Some(json!({"at": at, "one_of": [5, 7]})),
            ),
            (
                json!({"users": 5}),
                json!({"users": 7}),
                json!({"users": 9}),
                Never,
                Some(json!({"at": at, "equals": 5})),
            ),
            (
                json!({"n": 1}),
                json!({"n": 2, "users": 1}),
                json!({"n": 2}),
                Once,
                Some(json!({"at": at, "exists": true})),
            ),
            (
                json!({"n": 1, "users": 1}),
                json!({"n": 2}),
                json!({"n": 2, "users": 1}),
                Once,
                Some(json!({"at": at, "exists": false})),
            ),
            // Before the call it is not there, and need not be.
            (json!({"n": 1}), json!({"n": 2, "users": 1}), json!({"n": 2}), AtMostOnce, None),
            (
                json!({"n": 1}),
                json!({"n": 2}),
                json!({"n": 2, "users": 1}),
                AtMostOnce,
                Some(json!({"at": at, "exists": false})),
            ),
            // Texts are taken as they are, whatever they look like.
            (
                json!({"users": "a"}),
                json!({"users": "{{ b }}"}),
                json!({"users": "c"}),
                Once,
                Some(json!({"at": at, "equals": literal(&json!("{{ b }}"))})),
            ),
        ] {
            let clean = clean(&before, &once);
            let run = struck(&clean, None, &before, &now, expected);
            let step = expectation(&clean, &run).map(|verifying| Value::from(verifying.step));
            let written = written.map(|written| json!({"call": "list", "expect": [written]}));
            assert_eq!(step, written, "{before} {once} {now} {expected:?}");
        }
    }

    #[test]
    fn a_test_compares_with_what_was_there_before_where_others_write_too() {
        use ExpectedEffect::{AtMostOnce, Once};
        let users = |names: &[&str]| json!({"users": names});
        let count = |count: i64| json!({"users": count});
        let adds = || (users(&[]), users(&["ann"]));
        for ((before, once), begun, now, expected, written) in [
            (
                adds(),
                users(&["zoe"]),
                users(&["zoe", "ann", "ann"]),
                Once,
                Some(json!({"length": "{{ before_faults | length + 1 }}"})),
            ),
            (
                adds(),
                users(&["zoe"]),
                users(&["zoe"]),
                Once,
                Some(json!({"length": "{{ before_faults | length + 1 }}"})),
            ),
            (
                adds(),
                users(&["zoe"]),
                users(&["zoe", "ann", "ann"]),
                AtMostOnce,
                Some(
                    json!({"length": {"min": "{{ before_faults | length }}", "max": "{{ before_faults | length + 1 }}"}}),
                ),
            ),
            ((count(5), count(7)), count(50), count(54), Once, Some(json!({"equals": "{{ before_faults + 2 }}"}))),
            ((count(7), count(5)), count(50), count(46), Once, Some(json!({"equals": "{{ before_faults - 2 }}"}))),
            (
                (count(5), count(7)),
                count(50),
                count(54),
                AtMostOnce,
                Some(json!({"one_of": ["{{ before_faults }}", "{{ before_faults + 2 }}"]})),
            ),
            // It puts one in place of two.
            (
                (users(&["a", "b"]), users(&["c"])),
                users(&["a", "b", "z"]),
                users(&["z"]),
                Once,
                Some(json!({"length": "{{ before_faults | length - 1 }}"})),
            ),
            ((users(&["a", "b"]), users(&["c"])), users(&["a", "b", "z"]), users(&["z"]), AtMostOnce, None),
        ] {
            let clean = clean(&before, &once);
            let run = struck(&clean, Some(&begun), &before, &now, expected);
            let verifying = expectation(&clean, &run);
            let at = "result.structuredContent.users";
            let step = verifying.as_ref().map(|verifying| Value::from(verifying.step.clone()));
            let expect = written.map(|mut written| {
                written["at"] = at.into();
                json!({"call": "list", "expect": [written]})
            });
            assert_eq!(step, expect, "{before} {once} {now} {expected:?}");
            let begun = verifying.and_then(|verifying| verifying.begun).map(|begun| begun["capture"].clone());
            assert_eq!(begun, expect.map(|_| json!({BEGUN: at})));
        }
    }

    #[test]
    fn an_answer_that_is_refused_or_missing_is_told_as_such() {
        let (before, once) = (json!({"users": 1}), json!({"users": 2}));
        let clean = clean(&before, &once);
        let run = struck(&clean, None, &before, &before, ExpectedEffect::Once);
        // Reading is refused where it was served before.
        let run = StruckRun { state: ShownState::default(), ..run };
        let verifying = expectation(&clean, &run).unwrap();
        assert_eq!(Value::from(verifying.step), json!({"call": "list", "expect": [{"is_error": false}]}));
    }

    #[test]
    fn steps_are_written_without_what_they_expect() {
        for (written, expected) in [
            (
                "{ call: add, args: { name: '{{ user }}' }, expect: [{ is_error: false }] }",
                Some(json!({"call": "add", "args": {"name": "{{ user }}"}, "expect": []})),
            ),
            (
                "{ call: add, capture: { id: result.structuredContent.id } }",
                Some(json!({"call": "add", "expect": [], "capture": {"id": "result.structuredContent.id"}})),
            ),
            ("{ alive: true }", None),
        ] {
            assert_eq!(step(&settings::<Step>(written)).map(Value::from), expected, "{written}");
        }
    }

    #[test]
    fn paths_go_into_texts_that_hold_json() {
        let member = |name: &str| PathStep::Member(name.to_owned());
        let (users, content) = (member("users"), [member("content"), PathStep::item(0), member("text")]);
        let inner = [&content[..], std::slice::from_ref(&users)].concat();
        for (result, inner, expected) in [
            (
                json!({"structuredContent": {"users": 1}}),
                vec![member("structuredContent"), users],
                "result.structuredContent.users",
            ),
            (json!({"content": [{"text": "{\"users\": 1}"}]}), inner.clone(), "result.content[0].text.json().users"),
            (json!({"content": [{"text": "no json"}]}), content.to_vec(), "result.content[0].text"),
            (json!({}), vec![], "result"),
        ] {
            assert_eq!(path_in_answer(&inner, &result).to_string(), expected);
        }
    }
}
