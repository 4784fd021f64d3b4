//! Which tools of a server the generated cases of a suite may call, and which they leave alone.

use super::arguments::ConfigSource;
use super::case::SuitePlan;
use super::valid;
use crate::suite::{Hazard, ServerKind};
use crate::wire::{Catalog, Tool};

/// The tools that are worth a word: those that may change data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenTools {
    /// They may be called: somebody allowed it.
    pub writing: Vec<String>,
    /// They are not called.
    pub left_alone: Vec<String>,
    /// The cure: allow calls of those.
    pub help: String,
}

/// The tools of a target that may change data; `None` where there are none, where no generated case calls tools, and for
/// a server that is part of this program, whose data nobody can lose.
pub fn chosen_tools(planned: &SuitePlan, target: usize, catalog: &Catalog) -> Option<ChosenTools> {
    let suite = &planned.suite;
    let server = &planned.targets[target].server;
    let is_ours = matches!(suite.servers.get(server)?.kind, ServerKind::Builtin(_));
    if is_ours {
        return None;
    }
    let is_called = |tool: &&Tool| {
        planned.cases.iter().any(|case| {
            case.target == target && valid::block_of(&case.body).is_some_and(|block| block.settings.calls(&tool.name))
        })
    };
    // Generated calls make no tasks, whoever allows them.
    let is_task = |tool: &Tool| tool.raw["execution"]["taskSupport"] == "required";
    let is_risky = |tool: &&Tool| !tool.only_reads() && !is_task(tool) && !suite.never.has(&tool.name);
    let risky = catalog.tools.iter().filter(is_risky).filter(is_called);
    let (writing, left): (Vec<_>, Vec<_>) =
        risky.map(|tool| (tool, suite.hazard(server, tool))).partition(|(_, hazard)| hazard.is_none());
    if writing.is_empty() && left.is_empty() {
        return None;
    }
    let config_source = ConfigSource::of(suite);
    let has = |wanted: Hazard| left.iter().any(|(_, hazard)| *hazard == Some(wanted));
    let help = if has(Hazard::ReadOnly) {
        "leave out `--read-only` to have them called".to_owned()
    } else if has(Hazard::Writes) {
        format!("{}, or {}", config_source.help_to_allow("TOOL"), config_source.help_to_allow_changes())
    } else {
        config_source.help_to_allow("TOOL")
    };
    let names = |tools: Vec<(&Tool, Option<Hazard>)>| -> Vec<String> {
        tools.into_iter().map(|(tool, _)| tool.name.clone()).collect()
    };
    Some(ChosenTools { writing: names(writing), left_alone: names(left), help })
}
