//! Keeps every text of an event small, whatever a server said: reports are read by people and kept by CI.

use std::borrow::Cow;

use crate::event::{Attempt, CaseResult, CaseStarted, Event, Exchange, Finding, Proof, Reason};

/// The longest text in any report, in bytes.
pub const TEXT_LIMIT: usize = 8 * 1024;

/// The room for the words between both ends.
const NOTE: usize = 64;

/// The text itself, or both of its ends with its length between them where it is too long.
pub fn cut(text: &str) -> Cow<'_, str> {
    cut_to(text, TEXT_LIMIT)
}

/// Like [`cut`], for a limit of the caller's; limits below a few hundred bytes leave little but the note.
pub(crate) fn cut_to(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let room = limit.saturating_sub(NOTE);
    let head = floor(text, room / 4 * 3);
    let tail = ceil(text, text.len() - room / 4);
    Cow::Owned(format!("{} … ({} bytes in all) … {}", &text[..head], text.len(), &text[tail..]))
}

/// The event with every text cut.
pub(crate) fn event(event: &Event) -> Event {
    let mut event = event.clone();
    match &mut event {
        Event::CaseFinished(result) => case(result),
        Event::SessionJudged(judged) => judged.findings.iter_mut().for_each(finding),
        Event::ServerReady(ready) => {
            shorten(&mut ready.revision);
            option(&mut ready.implementation);
        }
        Event::ToolsChosen(chosen) => {
            chosen.writing.iter_mut().chain(&mut chosen.left_alone).for_each(shorten);
            shorten(&mut chosen.revision);
        }
        Event::SessionTraced(traced) => {
            traced.spans.iter_mut().for_each(|span| shorten(&mut span.title));
            shorten(&mut traced.revision);
        }
        Event::CaseStarted(begun) => *begun = cut_start(begun),
        Event::RunFinished(end) => {
            if let Some(proof) = &mut end.proof {
                cut_proof(proof);
            }
        }
        Event::RunStarted(_) => {}
    }
    event
}

/// The beginning of a case with every text cut.
pub(crate) fn cut_start(started: &CaseStarted) -> CaseStarted {
    let mut started = started.clone();
    [&mut started.id, &mut started.name].into_iter().for_each(shorten);
    started
}

/// The end of a case without what it sent and was answered, every other text cut.
pub(crate) fn without_exchanges(result: &CaseResult) -> Event {
    let mut lean = CaseResult {
        reason: result.reason.clone(),
        duration_us: result.duration_us,
        earlier: result.earlier.clone(),
        repetitions: result.repetitions.clone(),
        findings: result.findings.clone(),
        protocol_revision: result.protocol_revision.clone(),
        judged: result.judged.clone(),
        ..CaseResult::beside(result.case.clone(), result.outcome, result.rerun_command.clone())
    };
    case(&mut lean);
    Event::CaseFinished(Box::new(lean))
}

fn case(result: &mut CaseResult) {
    let info = &mut result.case;
    // Names of generated cases hold names of tools, which are the server's words.
    [&mut info.id, &mut info.name, &mut result.protocol_revision, &mut result.rerun_command]
        .into_iter()
        .for_each(shorten);
    option(&mut info.row);
    result.reason.iter_mut().flat_map(Reason::texts).for_each(shorten);
    result.findings.iter_mut().for_each(finding);
    result.earlier.iter_mut().chain(&mut result.repetitions).for_each(attempt);
    result.exchanges.iter_mut().for_each(exchange);
}

fn cut_proof(proof: &mut Proof) {
    proof.change_texts(&|text| cut(text).into_owned());
    let controls = std::iter::once(&mut proof.control).chain(&mut proof.live);
    let left_out = controls.flat_map(|control| &mut control.left_out).map(|one| &mut one.id);
    let places = proof.mutants.iter_mut().flat_map(|result| &mut result.mutants).flat_map(|mutant| &mut mutant.places);
    let kills = places.filter_map(|place| place.kill.as_mut()).map(|kill| &mut kill.case);
    left_out.chain(kills).for_each(shorten);
}

fn attempt(attempt: &mut Attempt) {
    attempt.findings.iter_mut().for_each(finding);
}

fn exchange(exchange: &mut Exchange) {
    option(&mut exchange.tool);
    [&mut exchange.title, &mut exchange.sent, &mut exchange.received].into_iter().for_each(shorten);
}

fn finding(finding: &mut Finding) {
    shorten(&mut finding.message);
    for text in [
        &mut finding.path,
        &mut finding.expected,
        &mut finding.actual,
        &mut finding.diff,
        &mut finding.help,
        &mut finding.baseline_reason,
    ] {
        option(text);
    }
    if let Some(quote) = &mut finding.quote {
        shorten(&mut quote.label);
    }
    finding.evidence.iter_mut().for_each(|(_, text)| shorten(text));
}

fn option(text: &mut Option<String>) {
    if let Some(text) = text {
        shorten(text);
    }
}

fn shorten(text: &mut String) {
    if let Cow::Owned(short) = cut(text) {
        *text = short;
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_stay_and_cutting_twice_changes_nothing() {
        for long in ["x".repeat(1 << 20), format!("begin{}end", "漢é👩".repeat(5000))] {
            let once = cut(&long).into_owned();
            assert!(once.len() <= TEXT_LIMIT, "{}", once.len());
            assert_eq!(cut(&once), once);
            assert!(once.contains(&format!("({} bytes in all)", long.len())));
            assert!(once.ends_with(&long[long.len() - 3..]));
        }
        assert_eq!(cut("short"), "short");
    }
}
