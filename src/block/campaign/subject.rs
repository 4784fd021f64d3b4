//! A tool of a campaign: a call of it that is served, what must happen before, and what shows its effect.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::OnceCell;

use super::clean::CleanStates;
use super::effect::ToolNature;
use crate::check::CheckEnd;
use crate::check::shown_state::{ShownStateReader, StateView};
use crate::event::Reason;
use crate::plan::CheckContext;
use crate::plan::planner::Planner;
use crate::plan::witness::{Witness, called_tool, donor_steps, find_witness};
use crate::source::template::Names;
use crate::suite::{Awaited, Step, Test, TestExtras};
use crate::wire::{Catalog, Tool};

/// A tool with a call of it.
#[derive(Debug)]
pub(crate) struct CampaignSubject {
    pub(crate) tool: String,
    pub(crate) nature: ToolNature,
    /// The row of the test that the call is taken from.
    pub(crate) names: Names,
    /// The setup of that test.
    pub(crate) setup: Vec<Step>,
    /// Its steps before the call.
    pub(crate) before: Vec<Step>,
    pub(crate) call: Step,
    pub(crate) teardown: Vec<Step>,
    /// Steps that show what the call has done.
    shows: Vec<Step>,
    /// The number of calls of the tool before it in every session of the suite.
    pub(crate) earlier_calls: usize,
    /// The effect of the call without faults, once that is known.
    pub(crate) clean: OnceCell<Result<CleanStates, CheckEnd>>,
    /// That is still there when the server has been started again, once that is known.
    pub(crate) outlives: OnceCell<Result<bool, CheckEnd>>,
}

impl CampaignSubject {
    /// The call of a tool that a test makes, or one with generated arguments; `Err` says why there is none.
    pub(crate) fn of(planner: &Planner<'_>, catalog: &Catalog, tool: &Tool) -> Result<Self, Reason> {
        let Witness { names, setup, mut steps, teardown } = witness(planner, catalog, tool)?;
        let call = steps.pop().ok_or_else(|| Reason::NotApplicable(format!("no call of `{}` is known", tool.name)))?;
        let is_call = |step: &&Step| called_tool(step) == Some(&tool.name);
        Ok(Self {
            tool: tool.name.clone(),
            nature: ToolNature::of(tool),
            earlier_calls: setup.iter().chain(&steps).filter(is_call).count(),
            call: Step { awaits: Awaited::Answer, timeout: None, cancel: None, progress: false, ..call },
            names,
            setup,
            before: steps,
            teardown,
            shows: shown_by_tests(planner, catalog, tool),
            clean: OnceCell::new(),
            outlives: OnceCell::new(),
        })
    }

    /// The readers of the state: those that `verify:` names, and every tool that only reads and may be called.
    pub(crate) fn readers(&self, context: &CheckContext<'_>) -> Vec<ShownStateReader> {
        let named = self.shows.iter().filter_map(|step| {
            let (tool, args) = step.action.as_call()?;
            let arguments = args.map_or(Some(Value::Object(serde_json::Map::new())), |args| context.fill(args))?;
            Some(ShownStateReader::new(tool.text()?, arguments))
        });
        let mut found: Vec<ShownStateReader> = Vec::new();
        for reader in named.chain(StateView::readers_of(context, &|_| true)) {
            if !found.iter().any(|known| known.is_same(&reader)) {
                found.push(reader);
            }
        }
        found
    }
}

/// A valid call of a tool: one that a test makes, with or without faults, or one with generated arguments.
fn witness(planner: &Planner<'_>, catalog: &Catalog, tool: &Tool) -> Result<Witness, Reason> {
    let tests = || planner.suite.tests.iter();
    let plain = tests().filter(|test| test.extras.inject.is_empty()).cloned();
    let struck = tests().filter(|test| !test.extras.inject.is_empty());
    let healed = struck.map(|test| {
        let extras = TestExtras { inject: Arc::default(), ..(*test.extras).clone() };
        Test { extras: Arc::new(extras), ..test.clone() }
    });
    let donor = plain.chain(healed).find_map(|test| donor_steps(&test, tool, planner, catalog));
    donor.map_or_else(|| find_witness(planner, catalog, tool), Ok)
}

/// The steps under `verify:` that only read, of the tests that call a tool.
fn shown_by_tests(planner: &Planner<'_>, catalog: &Catalog, tool: &Tool) -> Vec<Step> {
    let calls = |test: &&Test| test.steps.iter().any(|step| called_tool(step) == Some(&tool.name));
    let only_reads = |step: &&Step| called_tool(step).and_then(|tool| catalog.tool(tool)).is_some_and(Tool::only_reads);
    let tests = planner.suite.tests.iter().filter(|test| test.is_for(&planner.target.server)).filter(calls);
    tests.flat_map(|test| &test.extras.verify).filter(only_reads).cloned().collect()
}
