//! The requests that reproduce a finding, as far as a run has recorded them.

use super::calls::SessionCalls;
use super::replay::about;
use crate::diagnosis::CASES;
use crate::event::{CaseResult, Doubt, Finding, FindingKind, Reproduction, ReproductionCall, ReproductionCheck};

/// The time after which a request counts as unanswered where nobody knows how long it took.
const SILENCE_MS: u64 = 10_000;

/// Why nothing can be played of what belongs to no session.
const UNKNOWN: &str = "the requests that led to it are not recorded";

/// The requests that reproduce a finding, or the reason why they cannot be sent.
pub(crate) fn reproduction(
    result: &CaseResult,
    finding: &Finding,
    kind: FindingKind,
    sessions: &[SessionCalls],
) -> Result<Reproduction, String> {
    if let Some(known) = &finding.reproduction {
        return Ok((**known).clone());
    }
    let Some((last, earlier)) = sessions.split_last() else {
        return Err(UNKNOWN.to_owned());
    };
    if let Some(why) = sessions.iter().find_map(|said| said.unplayable) {
        return Err(why.to_owned());
    }
    let exchange = finding.exchange.and_then(|index| result.exchanges.get(index));
    let frame = exchange.map(|exchange| exchange.frame).filter(|frame| *frame > 0).or(finding.frame);
    let mut calls: Vec<_> = earlier.iter().map(|said| said.until(None)).collect();
    calls.push(last.until(frame));
    let shows = calls.last().and_then(|calls| calls.last());
    let is_raw = shows.is_some_and(|call| call.method.is_empty());
    let check = match (kind, finding.class) {
        (FindingKind::Crash, _) => ReproductionCheck::Ends,
        (FindingKind::Hang, _) => {
            ReproductionCheck::Silent(waiting_time(result, exchange.map_or(0, |exchange| exchange.elapsed_us)))
        }
        (_, Some(_)) => ReproductionCheck::Scan(finding.code.clone()),
        (_, None) if is_raw => return Err("expectations of raw messages can be checked only in the suite".to_owned()),
        (_, None) => match &finding.expect {
            Some(expected) => ReproductionCheck::Broken(vec![(**expected).clone()]),
            None => return Err(format!("`{}` depends on more than one answer", finding.code)),
        },
    };
    let tool = shows.map(|call| about(call).to_owned());
    Ok(Reproduction { kind, tool, sessions: calls, check, doubt: None })
}

/// The one call whose answer broke an expectation, where neither of them depends on an earlier answer: fewer requests than
/// the whole session heard, and most often enough.
pub(crate) fn own_call(
    result: &CaseResult,
    finding: &Finding,
    whole: &Reproduction,
    sessions: &[SessionCalls],
) -> Option<ReproductionCall> {
    let (ReproductionCheck::Broken(_), [session], [calls]) = (&whole.check, sessions, whole.sessions.as_slice()) else {
        return None;
    };
    let exchange = result.exchanges.get(finding.exchange?)?;
    let own = session.of_frame(exchange.frame).filter(|_| finding.stands_alone)?;
    (Some(&own) == calls.last() && calls.len() > 1).then_some(own)
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
    Ok(Reproduction { kind, tool: None, sessions: vec![said.until(finding.frame)], check, doubt })
}

/// An answer holds a text that an earlier request brought to the server, and that the suite forbids there.
pub(crate) fn leaks(reproduction: &Reproduction) -> bool {
    let ReproductionCheck::Broken(expected) = &reproduction.check else { return false };
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
