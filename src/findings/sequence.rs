//! The requests that reproduce a finding, as far as a run has recorded them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::calls::{Sender, SentCall, SessionCalls};
use super::replay::{about, node_of};
use crate::diagnosis::CASES;
use crate::event::{
    BrokenExpectation, CaseResult, Doubt, Finding, FindingKind, Phase, Reproduction, ReproductionCall,
    ReproductionCheck,
};
use crate::source::template::{Names, fill};

/// The time after which a request counts as unanswered where nobody knows how long it took.
const SILENCE_MS: u64 = 10_000;

/// Why nothing can be played of what belongs to no session.
const UNKNOWN: &str = "the requests that led to it are not recorded";

/// The requests that show a finding again, and the longer sequence from which they were taken.
pub(crate) struct KnownSequence {
    pub(crate) reproduction: Reproduction,
    pub(crate) original: Option<Vec<Vec<ReproductionCall>>>,
}

/// The requests that reproduce a finding, or the reason why they cannot be sent.
pub(crate) fn reproduction(
    result: &CaseResult,
    finding: &Finding,
    kind: FindingKind,
    sessions: &[SessionCalls],
) -> Result<KnownSequence, String> {
    if let Some(known) = &finding.reproduction {
        return Ok(KnownSequence { reproduction: (**known).clone(), original: None });
    }
    let Some((last, earlier)) = sessions.split_last() else {
        return Err(UNKNOWN.to_owned());
    };
    if let Some(why) = sessions.iter().find_map(|said| said.unplayable) {
        return Err(why.to_owned());
    }
    let exchange = finding.exchange.and_then(|index| result.exchanges.get(index));
    let frame = exchange.map(|exchange| exchange.frame).filter(|frame| *frame > 0).or(finding.frame);
    let mut whole: Vec<Vec<&SentCall>> = earlier.iter().map(|said| said.until(None)).collect();
    let last = last.until(frame);
    let own = own_calls(result, &last);
    let has_followed = own.len() > 1 || !earlier.is_empty();
    let shows = last.last().map(|sent| &*sent.call);
    let is_raw = shows.is_some_and(|call| call.method.is_empty());
    let nothing = BTreeSet::new();
    let (check, uses) = match (kind, finding.class, &finding.expect) {
        (FindingKind::Crash, _, _) => (ReproductionCheck::Ends, &nothing),
        (FindingKind::Hang, _, _) => {
            let waited = waiting_time(result, exchange.map_or(0, |exchange| exchange.elapsed_us));
            (ReproductionCheck::Silent(waited), &nothing)
        }
        (_, Some(_), _) => (ReproductionCheck::Scan(finding.code.clone()), &nothing),
        (_, None, _) if is_raw => {
            return Err("expectations of raw messages can be checked only in the suite".to_owned());
        }
        (_, None, Some(broken)) if looks_at_files(&broken.expected) => {
            return Err("expectations of files can be checked only in the suite".to_owned());
        }
        (_, None, Some(broken)) => (check_of(broken, has_followed), &broken.uses),
        (_, None, None) => return Err(format!("`{}` depends on more than one answer", finding.code)),
    };
    let tool = shows.map(|call| about(call).to_owned());
    let is_expectation = matches!(check, ReproductionCheck::Broken(_) | ReproductionCheck::InSequence(_));
    let is_longer = own.len() < last.len() && own.last().map(|sent| sent.frame) == last.last().map(|sent| sent.frame);
    let short = [own];
    let own = if earlier.is_empty() && is_longer && is_expectation { with_values(&short, uses).ok() } else { None };
    whole.push(last);
    let whole = Reproduction { kind, tool, sessions: with_values(&whole, uses)?, check, doubt: None };
    Ok(match own.filter(|_| !leaks(&whole)) {
        Some(own) => KnownSequence {
            reproduction: Reproduction { sessions: own, ..whole.clone() },
            original: Some(whole.sessions),
        },
        None => KnownSequence { reproduction: whole, original: None },
    })
}

/// Returns true if an expectation looks at files, which a replay has not.
fn looks_at_files(expect: &Value) -> bool {
    let inner = ["not", "all", "any"].into_iter().filter_map(|key| expect.get(key));
    expect.get("file").is_some()
        || inner.flat_map(|part| part.as_array().map_or(std::slice::from_ref(part), Vec::as_slice)).any(looks_at_files)
}

/// The check that an expectation does not hold.
fn check_of(broken: &BrokenExpectation, has_followed: bool) -> ReproductionCheck {
    let plain = fill(&node_of(&broken.expected), &Names::new());
    match plain {
        Ok(plain) if broken.uses.is_empty() && !has_followed => ReproductionCheck::Broken(vec![plain.to_json()]),
        Ok(_) | Err(_) => ReproductionCheck::InSequence(vec![broken.expected.clone()]),
    }
}

/// The requests that the case itself and the setup of its suite made; of a property, those of the last round.
fn own_calls<'a>(result: &CaseResult, sent: &[&'a SentCall]) -> Vec<&'a SentCall> {
    let exchanges = result.exchanges.iter().filter(|exchange| exchange.phase != Phase::Precondition);
    let is_own = |sent: &&&SentCall| match sent.sender {
        Sender::Case => exchanges.clone().any(|exchange| exchange.frame == sent.frame),
        Sender::Setup => true,
        Sender::Other => false,
    };
    sent.iter().filter(is_own).copied().collect()
}

/// The requests with the captures and templates of the suite, as far as an earlier one provides the values; it is an
/// error if none of them provides one that the check `uses`.
fn with_values(sessions: &[Vec<&SentCall>], uses: &BTreeSet<String>) -> Result<Vec<Vec<ReproductionCall>>, String> {
    let (mut provided, mut needed) = (BTreeSet::new(), uses.clone());
    let mut all = Vec::new();
    for session in sessions {
        let mut calls = Vec::new();
        for sent in session {
            let mut call = ReproductionCall::clone(&sent.call);
            if let Some(written) = &sent.written {
                if written.uses.is_subset(&provided) {
                    call.written.clone_from(&written.params);
                    needed.extend(written.uses.iter().cloned());
                }
                call.capture.clone_from(&written.captures);
                provided.extend(written.captures.keys().cloned());
            }
            calls.push(call);
        }
        all.push(calls);
    }
    if let Some(name) = uses.difference(&provided).next() {
        return Err(format!("its expectation uses `{name}`, which was captured in another session"));
    }
    all.iter_mut()
        .flatten()
        .for_each(|call: &mut ReproductionCall| call.capture.retain(|name, _| needed.contains(name)));
    Ok(all)
}

/// The calls that reproduce what a server did outside of any case: all that were sent until then. It is an error if no
/// call was sent before.
pub(crate) fn of_session(
    kind: FindingKind,
    finding: &Finding,
    said: Option<&SessionCalls>,
) -> Result<Reproduction, String> {
    if let Some(known) = &finding.reproduction {
        return Ok((**known).clone());
    }
    let said = said.ok_or(UNKNOWN)?;
    let check = if kind == FindingKind::Crash {
        ReproductionCheck::Ends
    } else {
        ReproductionCheck::Scan(finding.code.clone())
    };
    let is_of_several = finding.evidence.iter().any(|(name, _)| name == CASES);
    let doubt = is_of_several.then_some(Doubt::SideBySide);
    let sessions = with_values(&[said.until(finding.frame)], &BTreeSet::new())?;
    Ok(Reproduction { kind, tool: None, sessions, check, doubt })
}

/// An answer holds a text that an earlier request brought to the server, and that the suite forbids there.
pub(crate) fn leaks(reproduction: &Reproduction) -> bool {
    let (ReproductionCheck::Broken(expected) | ReproductionCheck::InSequence(expected)) = &reproduction.check else {
        return false;
    };
    let mut calls = reproduction.sessions.iter().flatten().rev();
    let Some(last) = calls.next() else { return false };
    let says = |call: &ReproductionCall, text: &str| call.params.to_string().contains(text);
    let earlier: Vec<_> = calls.collect();
    let absent = expected.iter().filter_map(|item| item.pointer("/text/not/contains")?.as_str());
    absent.into_iter().any(|text| !says(last, text) && earlier.iter().any(|call| says(call, text)))
}

/// The time for which an answer was awaited, in milliseconds.
fn waiting_time(result: &CaseResult, elapsed_us: u64) -> u64 {
    let known = [elapsed_us, result.duration_us].into_iter().find(|time| *time > 0);
    let measured = known.map_or(SILENCE_MS, |time| (time / 1_000).max(1));
    // The request was cut off a little later than was allowed, and what is allowed is a round number.
    let unit = 10_u64.pow(measured.ilog10().saturating_sub(1));
    measured / unit * unit
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::session::WrittenRequest;

    /// A call of a case; `written` is the name that its argument uses, `captures` the one that its answer provides.
    fn sent(frame: u32, written: Option<&str>, captures: Option<&str>) -> SentCall {
        let request = WrittenRequest {
            params: written.map(|name| json!({"id": format!("{{{{ {name} }}}}")})),
            uses: written.into_iter().map(str::to_owned).collect(),
            captures: captures.into_iter().map(|name| (name.to_owned(), "result.id".to_owned())).collect(),
        };
        let call = Arc::new(ReproductionCall::new("tools/call", json!({"id": "as it was sent"})));
        SentCall { frame, sender: Sender::Case, call, written: Some(Arc::new(request)) }
    }

    /// Of every request, the template that is filled in and the name that is captured.
    fn values(calls: &[SentCall], uses: &str) -> Result<Vec<String>, String> {
        let uses = Some(uses).filter(|name| !name.is_empty()).map(str::to_owned).into_iter().collect();
        let found = with_values(&[calls.iter().collect()], &uses)?;
        let describe = |call: &ReproductionCall| {
            let written = call.written.as_ref().map_or("literal", |written| written["id"].as_str().unwrap_or_default());
            format!("{written}, {}", call.capture.keys().map(String::as_str).collect::<Vec<_>>().join(" "))
        };
        Ok(found.iter().flatten().map(describe).collect())
    }

    #[test]
    fn values_are_those_that_an_earlier_request_provides() {
        let (a, b) = (Some("a"), Some("b"));
        let nothing = "literal, ";
        for (what, calls, uses, expected) in [
            ("used by a later request", vec![sent(1, None, a), sent(2, a, None)], "", vec!["literal, a", "{{ a }}, "]),
            ("compared with", vec![sent(1, None, a), sent(2, None, b)], "a", vec!["literal, a", nothing]),
            ("of the answer itself", vec![sent(1, None, a)], "a", vec!["literal, a"]),
            ("used by nobody", vec![sent(1, None, a), sent(2, None, b)], "", vec![nothing, nothing]),
            ("captured later", vec![sent(1, a, None), sent(2, None, a)], "", vec![nothing, nothing]),
            ("captured twice", vec![sent(1, None, a), sent(2, a, a)], "a", vec!["literal, a", "{{ a }}, a"]),
        ] {
            let expected = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(values(&calls, uses), Ok(expected), "{what}");
        }
        assert!(values(&[sent(1, None, a)], "b").unwrap_err().contains("`b`"));
    }
}
