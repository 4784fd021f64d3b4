//! A set of faults that breaks a server as a test that fails as long as it does.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::clean::{CleanStates, ExpectedEffect};
use super::fault_kind::{FaultKind, StruckEnding, milliseconds};
use super::pattern::{ExpectedPart, PathPart, PatternDifference, StatePattern};
use super::trial::{CampaignTrial, StruckEnd, StruckRun};
use crate::block::config::shown_state::ShownAnswer;
use crate::reproduce::{literal, suite_step};
use crate::suite::Step;

/// How long a client watches the server after a cancellation.
const WATCH: &str = "500ms";

/// The test, as an entry of `tests:`; `None` where a suite cannot say it.
pub(super) fn test(
    trial: &CampaignTrial<'_>,
    clean: &CleanStates,
    set: &[FaultKind],
    end: &StruckEnd,
) -> Option<Value> {
    let subject = trial.subject;
    let (timeout, earlier) = (trial.timeout(clean), subject.earlier_calls);
    let none = BTreeSet::new();
    let (idle, expected) = match end {
        StruckEnd::Read(run) => (&run.idle, run.expected.text()),
        StruckEnd::Silent(_) => (&none, "an answer"),
    };
    let faults: Vec<Value> = (0..)
        .zip(set)
        .filter(|(at, kind)| !idle.contains(&kind.fault_name(at + 1)))
        .map(|(at, kind): (usize, _)| kind.written(&subject.tool, earlier + at + 1, timeout))
        .collect();
    let mut steps = subject.before.iter().map(step).collect::<Option<Vec<_>>>()?;
    for kind in set {
        let mut call = step(&subject.call)?;
        match kind.ending() {
            StruckEnding::Unanswered => {
                call.remove("expect");
                call.remove("capture");
                call.insert("timeout".to_owned(), milliseconds(timeout).into());
                call.insert("unanswered".to_owned(), true.into());
            }
            StruckEnding::Answered => {}
            StruckEnding::Cancelled => {
                call.remove("capture");
                let after = milliseconds(CampaignTrial::cancels_after(clean));
                call.insert("cancel".to_owned(), json!({"after": after, "watch": WATCH}));
            }
        }
        steps.push(call);
    }
    let mut verify = Vec::new();
    if trial.is_repeated(set) {
        verify.push(step(&subject.call)?);
    }
    verify.push(match end {
        StruckEnd::Read(run) if !run.is_sound => expectation(clean, run)?,
        // It is not answered any more.
        StruckEnd::Read(_) | StruckEnd::Silent(_) => {
            let mut read = step(&trial.reading_step())?;
            read.insert("expect".to_owned(), json!([{"is_error": false}]));
            read
        }
    });
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
fn expectation(clean: &CleanStates, run: &StruckRun) -> Option<Map<String, Value>> {
    let differences = clean.differences(&run.state, run.expected);
    differences.iter().find_map(|difference| of_difference(clean, run, difference))
}

fn of_difference(clean: &CleanStates, run: &StruckRun, difference: &PatternDifference) -> Option<Map<String, Value>> {
    let [PathPart::Member(place), inner @ ..] = difference.path.as_slice() else { return None };
    let shown = run.state.answer(place);
    let clean_answers = clean.answers(place);
    let request = shown.or(clean_answers[0])?;
    let mut step = suite_step(&request.request);
    let expect = match (inner, &shown) {
        ([], None) => json!({"is_error": false}),
        ([], Some(_)) if difference.expected == ExpectedPart::Nothing => json!({"is_error": true}),
        (_, Some(shown)) => {
            part(clean, run, difference, inner, shown).or_else(|| text(run, inner, shown, clean_answers))?
        }
        (_, None) => return None,
    };
    step.insert("expect".to_owned(), json!([expect]));
    Some(step)
}

/// An expectation of the part itself, where a path leads to it.
fn part(
    clean: &CleanStates,
    run: &StruckRun,
    difference: &PatternDifference,
    inner: &[PathPart],
    shown: &ShownAnswer,
) -> Option<Value> {
    let parent = inner.len() - usize::from(difference.actual.is_none());
    let reached = inner[..parent].iter().try_fold(&shown.result, child)?;
    if difference.actual.as_ref().is_some_and(|actual| !reached_is(reached, actual)) {
        return None;
    }
    let at = written_path(inner);
    let before = || clean.before(&difference.path).filter(|_| run.expected == ExpectedEffect::AtMostOnce);
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

/// What is compared is without texts that only JSON stands in, and without times.
fn reached_is(reached: &Value, actual: &Value) -> bool {
    match (reached, actual) {
        (Value::Array(some), Value::Array(others)) => some.len() == others.len(),
        (Value::Object(_), Value::Object(_)) => true,
        _ => reached == actual,
    }
}

/// An expectation of a text as a whole, where the part is in a text that is JSON.
fn text(
    run: &StruckRun,
    inner: &[PathPart],
    shown: &ShownAnswer,
    clean_answers: [Option<&ShownAnswer>; 2],
) -> Option<Value> {
    if run.expected == ExpectedEffect::AtMostOnce {
        return None;
    }
    let way = (0..=inner.len())
        .map(|length| &inner[..length])
        .find(|way| way.iter().try_fold(&shown.result, child).is_some_and(Value::is_string))?;
    let [one, other] = clean_answers.map(|answer| way.iter().try_fold(&answer?.result, child));
    let text = one.filter(|text| Some(*text) == other && text.is_string())?;
    Some(json!({"at": written_path(way), "equals": literal(text)}))
}

fn child<'a>(value: &'a Value, part: &PathPart) -> Option<&'a Value> {
    match part {
        PathPart::Member(name) => value.get(name),
        PathPart::Item(at) => value.get(at),
    }
}

/// A path as suites write it.
pub(super) fn written_path(parts: &[PathPart]) -> String {
    let mut path = "result".to_owned();
    for part in parts {
        let _ = match part {
            PathPart::Member(name) if is_plain(name) => write!(path, ".{name}"),
            PathPart::Member(name) => write!(path, "[{}]", Value::from(name.as_str())),
            PathPart::Item(at) => write!(path, "[{at}]"),
        };
    }
    path
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
}
