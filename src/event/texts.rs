//! The texts of events that may hold what servers said or what users keep secret.
//!
//! Places, codes and numbers are not among them: they come from the suite. Names and ids of cases are, since cases are
//! made of what servers list; all of them change in the same way, so that those that were equal stay so.

use super::{
    Addition, Attempt, CaseResult, Coverage, Event, Exchange, FaultAtSubject, Finding, Kill, LeftOut, Missing,
    MutantResult, Proof, SessionTraced,
};
use crate::source::map_texts;

impl Event {
    /// Changes every text that may hold a secret, but for what is said again.
    pub fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        match self {
            Self::CaseFinished(result) => case(result, change),
            Self::SessionJudged(judged) => judged.findings.iter_mut().for_each(|found| finding(found, change)),
            Self::ServerReady(ready) => option(&mut ready.implementation, change),
            Self::SessionTraced(traced) => trace(traced, change),
            Self::ToolsChosen(chosen) => {
                for tool in chosen.writing.iter_mut().chain(&mut chosen.left_alone) {
                    *tool = change(tool);
                }
            }
            Self::RunFinished(end) => {
                for told in end.isolation.iter_mut().flat_map(|isolation| &mut isolation.differing) {
                    told.id = change(&told.id);
                    told.name = change(&told.name);
                }
                end.sections.iter_mut().for_each(|section| section.change_texts(change));
                if let Some(Coverage { declared, exercised, suites, .. }) = &mut end.coverage {
                    declared.change_cases(change);
                    exercised.change_cases(change);
                    for suite in suites {
                        suite.change_cases(change);
                    }
                }
                if let Some(proof) = &mut end.proof {
                    proof.change_texts(change);
                }
                end.unjudged.iter_mut().for_each(|unjudged| unjudged.change_texts(change));
                end.tools.iter_mut().for_each(|tools| tools.change_texts(change));
                end.shard.iter_mut().for_each(|facts| facts.change_texts(change));
            }
            Self::CaseStarted(started) => {
                started.id = change(&started.id);
                started.name = change(&started.name);
            }
            Self::RunStarted(started) => {
                for selected in started.shard.iter_mut().flat_map(|shard| &mut shard.selected) {
                    *selected = change(selected);
                }
            }
        }
    }

    /// Changes what is said again: reproductions, and what is expected of answers.
    pub fn keep_reproductions(&mut self, change: &dyn Fn(&str) -> String) {
        let findings: &mut [Finding] = match self {
            Self::CaseFinished(result) => &mut result.findings,
            Self::SessionJudged(judged) => &mut judged.findings,
            Self::ServerReady(_)
            | Self::ToolsChosen(_)
            | Self::RunFinished(_)
            | Self::RunStarted(_)
            | Self::CaseStarted(_)
            | Self::SessionTraced(_) => &mut [],
        };
        for found in findings {
            if let Some(reproduction) = &mut found.reproduction {
                reproduction.change_texts(change);
            }
            if let Some(expect) = &mut found.expect {
                expect.expected = map_texts(std::mem::take(&mut expect.expected), change);
            }
        }
    }
}

impl Proof {
    /// Changes every text that may hold a secret.
    ///
    /// Names of tools are the server's words; all of them change in the same way, so those that were equal stay so.
    pub fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        let live = self.live.iter_mut().flat_map(|control| &mut control.left_out);
        for LeftOut { id, reason, .. } in self.control.left_out.iter_mut().chain(live).chain(&mut self.left_out) {
            *id = change(id);
            *reason = change(reason);
        }
        self.mutants.iter_mut().for_each(|result| mutant(result, change));
        for Addition { tool, could, yaml, at, .. } in &mut self.additions {
            if let Some(at) = at {
                at.test = change(&at.test);
            }
            option(tool, change);
            *could = change(could);
            *yaml = change(yaml);
        }
        for FaultAtSubject { target, subject, .. } in &mut self.table {
            *target = change(target);
            subject.name = change(&subject.name);
        }
    }
}

fn mutant(result: &mut MutantResult, change: &dyn Fn(&str) -> String) {
    result.meaning = change(&result.meaning);
    option(&mut result.reason, change);
    result.change.iter_mut().for_each(|line| *line = change(line));
    for planted in &mut result.mutants {
        option(&mut planted.reason, change);
        for text in [&mut planted.target, &mut planted.subject.name] {
            *text = change(text);
        }
        for place in &mut planted.places {
            place.field = change(&place.field);
            if let Some(Kill { case, message, .. }) = &mut place.kill {
                *case = change(case);
                *message = change(message);
            }
        }
    }
    for Missing { tool, field, could, yaml, .. } in &mut result.missing {
        option(tool, change);
        *field = change(field);
        *could = change(could);
        *yaml = change(yaml);
    }
}

fn case(result: &mut CaseResult, change: &dyn Fn(&str) -> String) {
    for text in [&mut result.case.id, &mut result.case.name, &mut result.rerun_command] {
        *text = change(text);
    }
    option(&mut result.case.row, change);
    if let Some(reason) = &mut result.reason {
        reason.change_texts(change);
    }
    let earlier =
        result.earlier.iter_mut().chain(&mut result.repetitions).flat_map(|Attempt { findings, .. }| findings);
    earlier.chain(&mut result.findings).for_each(|found| finding(found, change));
    for Exchange { title, tool, sent, received, .. } in &mut result.exchanges {
        option(tool, change);
        for text in [title, sent, received] {
            *text = change(text);
        }
    }
}

fn finding(found: &mut Finding, change: &dyn Fn(&str) -> String) {
    found.message = change(&found.message);
    for text in [
        &mut found.path,
        &mut found.expected,
        &mut found.actual,
        &mut found.diff,
        &mut found.help,
        &mut found.baseline_reason,
    ] {
        option(text, change);
    }
    found.evidence.iter_mut().for_each(|(_, text)| *text = change(text));
    if let Some(quote) = &mut found.quote {
        quote.label = change(&quote.label);
        let text = change(&quote.text);
        if text != quote.text {
            // Places within the line moved; the whole line is marked instead.
            quote.marked = (0, text.len());
            quote.text = text;
        }
    }
}

fn trace(traced: &mut SessionTraced, change: &dyn Fn(&str) -> String) {
    option(&mut traced.case, change);
    for span in &mut traced.spans {
        span.title = change(&span.title);
        option(&mut span.case, change);
    }
}

fn option(text: &mut Option<String>, change: &dyn Fn(&str) -> String) {
    if let Some(text) = text {
        *text = change(text);
    }
}
