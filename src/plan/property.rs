//! Properties: cases whose steps run in rounds, and what they must not call.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::arguments::{ConfigSource, NotCallable, server_folder};
use super::case::{Body, Case, Script};
use super::planner::Planner;
use super::witness::known_arguments;
use crate::event::Reason;
use crate::source::Node;
use crate::source::template::{Names, fill_text, text_of};
use crate::suite::{Hazard, Property, Step, Test};
use crate::wire::Catalog;

/// The generated values of a case's rounds.
#[derive(Debug, Clone)]
pub struct Rounds {
    /// The generators, and the number of rounds.
    pub property: Arc<Property>,
    /// Tools that may do what nobody allowed: no round calls them.
    pub forbidden: BTreeMap<String, Hazard>,
    /// Arguments by tool that are known to be valid, unfilled.
    pub known: BTreeMap<String, Node>,
    /// The folder that the server was started with.
    pub folder: Option<String>,
    /// The text that tells the draws of this case from those of others.
    pub key: String,
}

impl Rounds {
    /// Why this tool must not be called; `None` where it may be.
    pub fn refusal(&self, tool: &str) -> Option<Reason> {
        self.forbidden.get(tool).map(|hazard| NotCallable::Hazard(*hazard).skip_reason(tool, ConfigSource::Suite))
    }
}

/// The case of a property, ready to run in rounds, or skipped where it would destroy something.
pub(crate) fn prepare(planner: &Planner<'_>, test: &Test, catalog: &Catalog, mut case: Case) -> Case {
    if test.extras.property.is_none() {
        return case;
    }
    let (suite, server) = (planner.suite, &planner.target.server);
    let names = case.all_names();
    let (Some(property), Body::Script(script)) = (&test.extras.property, &mut case.body) else { return case };
    let forbidden = catalog.tools.iter().filter_map(|tool| Some((tool.name.clone(), suite.hazard(server, tool)?)));
    let rounds = Rounds {
        property: Arc::clone(property),
        forbidden: forbidden.collect(),
        known: catalog.tools.iter().filter_map(|tool| known_arguments(suite, server, tool)).collect(),
        folder: server_folder(suite, server),
        key: format!("{}/{}", test.name.value, case.row.as_deref().unwrap_or(&case.name)),
    };
    let refused = steps(script).filter_map(|step| called_tool(step, &names)).find_map(|tool| rounds.refusal(&tool));
    script.rounds = Some(Arc::new(rounds));
    if let Some(reason) = refused {
        case.body = Body::skipped(reason);
    }
    case
}

fn steps(script: &Script) -> impl Iterator<Item = &Step> {
    script.setup.iter().chain(&script.preconditions).chain(&*script.steps).chain(&script.teardown)
}

/// The tool that a step calls, as far as it is known before anything is said.
fn called_tool(step: &Step, names: &Names) -> Option<String> {
    let (tool, _) = step.action.as_call()?;
    fill_text(tool.text()?, names).ok().map(|tool| text_of(&tool))
}
