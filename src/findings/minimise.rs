//! Leaves out of a finding what it does not need: requests first, then what is in their arguments.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::Stored;
use super::replay::ANSWER;
use crate::event::{Code, Finding, Reproduction, ReproductionCall, ReproductionCheck};
use crate::redact::RESTORED_FROM;
use crate::reproduce::{ddmin, shrink};
use crate::source::map_texts;

/// A minimised finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimised {
    /// The original: the first known sequence that shows the finding.
    pub before: Reproduction,
    /// The smallest sequence that was found.
    pub reproduction: Reproduction,
    /// The number of attempts.
    pub attempts: usize,
    /// Every smaller sequence that was thought of was tried.
    pub is_done: bool,
}

/// The parts of a sequence without which the same can still be asked of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reducible {
    /// What is asked holds for every request: the server goes on, or the answer fits its schema.
    RequestsAndArguments,
    /// What is asked holds for these arguments of the last request: others may be valid where these are not.
    Requests,
    /// What is asked depends on all that was said: a sum of other numbers is another one, and a server that is right
    /// would seem to be wrong.
    Nothing,
}

impl Reducible {
    fn of(check: &ReproductionCheck) -> Self {
        let (ReproductionCheck::Broken(expectations) | ReproductionCheck::InSequence(expectations)) = check else {
            return Self::RequestsAndArguments;
        };
        // A call may be refused, or not, for what was said before.
        let is_alone = matches!(check, ReproductionCheck::Broken(_));
        let each = expectations.iter().map(|expected| {
            let says = |key: &str| expected.get(key).is_some();
            if says("output_schema") || is_absence(expected) {
                Self::RequestsAndArguments
            } else if says("refused") && is_alone {
                Self::Requests
            } else {
                Self::Nothing
            }
        });
        each.max().unwrap_or(Self::Nothing)
    }
}

/// Returns true if an answer must not hold a text, or must not be one error, whatever was asked; a value that must not be
/// some other may well be that for other arguments.
fn is_absence(expected: &Value) -> bool {
    let is_text = |place: &str| {
        expected.pointer(place).is_some_and(|inner| ["contains", "matches"].iter().any(|key| inner.get(key).is_some()))
    };
    expected.pointer("/not/error").is_some() || ["/not", "/not/text", "/text/not"].into_iter().any(is_text)
}

/// The identity that must not change from attempt to attempt.
type FindingKey = (String, Code, Option<String>, Option<String>);

/// The smallest sequence that still shows the same finding, with at most so many attempts; `None` where it does not show
/// at all. `attempt` plays a sequence to fresh servers and returns the finding where it shows.
pub fn minimise(
    stored: &Stored,
    most: usize,
    attempt: &mut dyn FnMut(&Reproduction) -> Option<Finding>,
) -> Option<Minimised> {
    let mut attempts = 0;
    let (before, first) = stored.sequences().into_iter().find_map(|whole| {
        attempts += 1;
        attempt(&whole).map(|found| (whole, found))
    })?;
    let wanted = look(stored, &first);
    let mut search = Minimiser { stored, wanted, attempt, attempts, most };
    let reproduction = match Reducible::of(&before.check) {
        Reducible::RequestsAndArguments => {
            let fewer = search.fewer(&before);
            search.smaller(fewer)
        }
        Reducible::Requests => search.fewer(&before),
        Reducible::Nothing => before.clone(),
    };
    let (attempts, is_done) = (search.attempts, search.attempts < most);
    Some(Minimised { before, reproduction, attempts, is_done })
}

fn look(stored: &Stored, found: &Finding) -> FindingKey {
    let answer = found.evidence.iter().find(|(name, _)| name == ANSWER).map(|(_, manner)| manner.clone());
    (found.signature(stored.kind), found.code.clone(), found.path.clone(), answer)
}

struct Minimiser<'a> {
    stored: &'a Stored,
    wanted: FindingKey,
    attempt: &'a mut dyn FnMut(&Reproduction) -> Option<Finding>,
    attempts: usize,
    most: usize,
}

impl Minimiser<'_> {
    fn shows(&mut self, candidate: &Reproduction) -> bool {
        if self.attempts >= self.most {
            return false;
        }
        self.attempts += 1;
        (self.attempt)(candidate).is_some_and(|found| look(self.stored, &found) == self.wanted)
    }

    /// Without the requests that are not needed; the last one shows it and stays.
    fn fewer(&mut self, whole: &Reproduction) -> Reproduction {
        let numbered = whole.sessions.iter().enumerate();
        let mut calls: Vec<(usize, ReproductionCall)> =
            numbered.flat_map(|(session, calls)| calls.iter().map(move |call| (session, call.clone()))).collect();
        let Some(last) = calls.pop() else { return whole.clone() };
        let of = |kept: &[(usize, ReproductionCall)]| Reproduction { sessions: sessions(kept, &last), ..whole.clone() };
        let kept = ddmin(calls, &mut |kept| self.shows(&of(kept)));
        of(&kept)
    }

    /// With arguments as small as they can be, from the last request to the first.
    fn smaller(&mut self, whole: Reproduction) -> Reproduction {
        let mut best = whole;
        let places: Vec<(usize, usize)> = best
            .sessions
            .iter()
            .enumerate()
            .flat_map(|(session, calls)| (0..calls.len()).map(move |call| (session, call)))
            .collect();
        for (session, call) in places.into_iter().rev() {
            // Values of earlier answers are no arguments of ours.
            let own = Some(&best.sessions[session][call]).filter(|call| call.written.is_none());
            let Some(arguments) = own.and_then(arguments).cloned() else { continue };
            let known = best.clone();
            let whole = texts_with_secrets(&arguments);
            let found = shrink(&arguments, &mut |smaller| {
                // A part of such a text could read as another secret.
                if !texts_with_secrets(smaller).is_subset(&whole) {
                    return false;
                }
                let mut candidate = known.clone();
                candidate.sessions[session][call].params["arguments"] = smaller.clone();
                self.shows(&candidate)
            });
            best.sessions[session][call].params["arguments"] = found;
        }
        best
    }
}

impl Minimised {
    /// The reduction in words: `12 calls to 1, arguments from 120 to 14 characters, in 30 attempts`.
    pub fn words(&self) -> String {
        let Self { before, reproduction, attempts, is_done } = self;
        let (from, to) = (before.calls(), reproduction.calls());
        let noun = |count: usize, noun: &str| if count == 1 { noun.to_owned() } else { format!("{noun}s") };
        let mut text = format!("{from} {}", noun(from, "call"));
        if to < from {
            let _ = write!(text, " to {to}");
        }
        let (longer, shorter) = (characters(before), characters(reproduction));
        let is_smaller = to < from || shorter < longer;
        if shorter < longer {
            let _ = write!(text, ", arguments from {longer} to {shorter} characters");
        } else if !is_smaller {
            text += " as before";
        }
        let _ = write!(text, ", in {attempts} {}", noun(*attempts, "attempt"));
        if Reducible::of(&reproduction.check) == Reducible::Nothing {
            return text + ": nothing is left out, since the test expects this of these requests only";
        }
        match (is_done, is_smaller) {
            (false, _) => text + "; the search was cut short",
            (true, false) => text + ": nothing can be left out",
            (true, true) => text,
        }
    }
}

/// The number of characters of all requests' arguments as JSON.
fn characters(reproduction: &Reproduction) -> usize {
    let arguments = reproduction.sessions.iter().flatten().filter_map(arguments);
    arguments.map(|arguments| arguments.to_string().chars().count()).sum()
}

/// The arguments of a call that are worth a look.
fn arguments(call: &ReproductionCall) -> Option<&Value> {
    let arguments = call.params.get("arguments").filter(|_| call.method == "tools/call")?;
    arguments.as_object().is_some_and(|members| !members.is_empty()).then_some(arguments)
}

/// The texts with secrets in them, or with what reads like one.
fn texts_with_secrets(arguments: &Value) -> BTreeSet<String> {
    let found = RefCell::new(BTreeSet::new());
    let note = |text: &str| {
        if text.contains(RESTORED_FROM) {
            found.borrow_mut().insert(text.to_owned());
        }
        String::new()
    };
    map_texts(arguments.clone(), &note);
    found.into_inner()
}

/// Requests by session; sessions in which nothing is said any more are left out.
fn sessions(kept: &[(usize, ReproductionCall)], last: &(usize, ReproductionCall)) -> Vec<Vec<ReproductionCall>> {
    let mut sessions: Vec<(usize, Vec<ReproductionCall>)> = Vec::new();
    for (session, call) in kept.iter().chain([last]) {
        match sessions.last_mut().filter(|(known, _)| known == session) {
            Some((_, calls)) => calls.push(call.clone()),
            None => sessions.push((*session, vec![call.clone()])),
        }
    }
    sessions.into_iter().map(|(_, calls)| calls).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_expectation_about_some_arguments_is_not_asked_of_others() {
        let broken = |expectations: &[Value]| ReproductionCheck::Broken(expectations.to_vec());
        let sum = json!({"at": "result.structuredContent.sum", "equals": 5});
        let no_trace = json!({"text": {"not": {"contains": "Traceback"}}});
        for (check, expected) in [
            (ReproductionCheck::Ends, Reducible::RequestsAndArguments),
            (broken(&[json!({"output_schema": true})]), Reducible::RequestsAndArguments),
            (broken(std::slice::from_ref(&no_trace)), Reducible::RequestsAndArguments),
            (broken(&[json!({"not": {"error": {"code": -32603}}})]), Reducible::RequestsAndArguments),
            (broken(&[json!({"not": {"at": "result.structuredContent.sum", "equals": 0}})]), Reducible::Nothing),
            (broken(&[json!({"text": {"not": {"equals": "0"}}})]), Reducible::Nothing),
            (broken(&[json!({"refused": true})]), Reducible::Requests),
            (broken(std::slice::from_ref(&sum)), Reducible::Nothing),
            // Smaller arguments may be invalid, and be refused rightly.
            (broken(&[json!({"is_error": false})]), Reducible::Nothing),
            (broken(&[no_trace, sum]), Reducible::Nothing),
            (broken(&[]), Reducible::Nothing),
            (ReproductionCheck::InSequence(vec![json!({"refused": true})]), Reducible::Nothing),
            (
                ReproductionCheck::InSequence(vec![json!({"text": {"not": {"contains": "{{ first }}"}}})]),
                Reducible::RequestsAndArguments,
            ),
        ] {
            assert_eq!(Reducible::of(&check), expected, "{check:?}");
        }
    }
}
