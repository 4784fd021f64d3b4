//! The step of a test that made a recorded call.

use super::super::recording::TargetRecording;
use crate::event::StepOfTest;
use crate::plan::{Body, Case, Plan, Script};
use crate::suite::{Step, Test};

/// The step of a test of the suite's own file that made a call; `None` where none did, or where tests are made of it.
pub(crate) fn step_of(plan: &Plan, recorded: &TargetRecording, exchange: usize) -> Option<StepOfTest> {
    let asked = &recorded.exchanges[exchange];
    let owned = recorded.exchanges.iter().filter(|other| other.owner == asked.owner && other.tool().is_some());
    let calls: Vec<_> = owned.collect();
    let planned = plan.suites.iter().find(|planned| planned.suite.file == recorded.file)?;
    let case = planned.cases.iter().find(|case| case.owner() == asked.owner)?;
    let test = planned.suite.tests.iter().find(|test| test.name.value == case.name)?;
    let is_here = test.span.source == planned.suite.name.span.source;
    let script = script(case).filter(|_| is_here && is_written_once(case, test))?;
    let tools: Vec<&str> = calls.iter().filter_map(|call| call.tool()).collect();
    let step = step_of_call(script, &tools, calls.iter().position(|call| std::ptr::eq(*call, asked))?)?;
    let (_, line, _) = plan.sources.place(script.steps[step].span);
    Some(StepOfTest { test: case.name.clone(), step, line })
}

fn script(case: &Case) -> Option<&Script> {
    match &case.body {
        Body::Script(script) => Some(script),
        Body::Check(_) | Body::Scan(_) | Body::Skipped(_) | Body::Template(_) | Body::Failed(_) => None,
    }
}

/// The test is one case, and its steps are those of the case.
fn is_written_once(case: &Case, test: &Test) -> bool {
    let is_same = script(case).is_some_and(|script| script.rounds.is_none() && script.steps.len() == test.steps.len());
    case.row.is_none() && test.extras.for_each.is_none() && test.extras.property.is_none() && is_same
}

/// The judged step that made the call with this index, where the steps make these calls and no others.
fn step_of_call(script: &Script, tools: &[&str], index: usize) -> Option<usize> {
    let Script { setup, preconditions, witness, steps, teardown, .. } = script;
    let before: Vec<&Step> = setup.iter().chain(preconditions).chain(witness).collect();
    let whole: Vec<&Step> = before.iter().copied().chain(&**steps).chain(teardown).collect();
    // The setup of a suite may belong to the session.
    let is_whole = tools_of(&whole) == tools;
    let (offset, whole) = if is_whole { (before.len(), whole) } else { (0, steps.iter().collect()) };
    if tools_of(&whole) != tools {
        return None;
    }
    let calling = whole.iter().enumerate().filter(|(_, step)| step.action.as_call().is_some());
    let (at, _) = calling.into_iter().nth(index)?;
    at.checked_sub(offset).filter(|step| *step < steps.len())
}

fn tools_of<'a>(steps: &[&'a Step]) -> Vec<&'a str> {
    steps.iter().filter_map(|step| step.action.as_call()).map(|(tool, _)| tool.text().unwrap_or_default()).collect()
}
