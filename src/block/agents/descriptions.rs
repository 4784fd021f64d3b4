//! `descriptions:` and `compared_with:`, whether other words lead a model to the right tool more often.
//!
//! The words replace those of the server before a model reads them. Two agents of which one has other words are compared
//! by the number of runs that passed.

use super::host::{ModelTool, ToolOrigin, offered_name};
use super::judge::JudgedView;
use super::log::AgentRow;
use super::run::AgentRun;
use crate::event::Finding;
use crate::reliability::Trials;
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, did_you_mean};

/// Descriptions that replace those of the servers, by tool.
#[derive(Debug, Clone, Default)]
pub(crate) struct OtherDescriptions(Vec<(Located<String>, String)>);

impl Setting for OtherDescriptions {
    const SHAPE: Shape = Shape::NonEmpty(&<Vec<(Located<String>, String)>>::SHAPE);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        Setting::decode(node, found).map(Self)
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

impl OtherDescriptions {
    /// Replaces the descriptions of tools, each named as it is offered or as its server names it.
    pub(crate) fn replace_in(&self, offered: &mut [ModelTool]) {
        for (name, description) in &self.0 {
            let is_meant = |tool: &&mut ModelTool| {
                let own = matches!(&tool.origin, ToolOrigin::Server { tool, .. } if *tool == name.value);
                own || tool.name == name.value
            };
            for tool in offered.iter_mut().filter(is_meant) {
                tool.description.clone_from(description);
            }
        }
    }

    /// The first description of a tool that is not offered.
    pub(crate) fn of_unknown_tool(&self, run: &AgentRun, view: &JudgedView<'_>) -> Option<Finding> {
        let is_shared = |name: &str| run.listed.iter().filter(|listed| listed.tool.name == name).count() > 1;
        let is_offered = |name: &str| {
            run.listed.iter().any(|listed| {
                let own = listed.tool.name.as_str();
                own == name || is_shared(own) && offered_name(&listed.server, own) == name
            })
        };
        let (name, _) = self.0.iter().find(|(name, _)| !is_offered(&name.value))?;
        let message = format!("no server has the tool `{}`, whose description is replaced", name.value);
        let quote = Some(view.quote(name.span, "this tool"));
        let listed = run.listed.iter().map(|listed| listed.tool.name.as_str());
        Some(Finding { quote, help: did_you_mean(&name.value, listed), ..Finding::new("unknown-tool", message) })
    }
}

/// A sentence on how an agent compares with another one, and the chance of the difference.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AgentComparison {
    pub(crate) sentence: String,
    pub(crate) chance: f64,
}

impl AgentComparison {
    pub(crate) fn of(row: &AgentRow, other: &AgentRow) -> Self {
        let [own, others] =
            [row, other].map(|row| Trials { hits: row.passed.passed as u64, of: row.passed.runs as u64 });
        let counts = format!(
            "`{}` passed {} of {} runs, `{}` {} of {}",
            row.agent, own.hits, own.of, other.agent, others.hits, others.of
        );
        let chance = own.chance_against(others);
        let verdict = if own.differs_from(others) {
            format!("the difference is real (p = {})", chance_text(chance))
        } else if own.hits * others.of == others.hits * own.of {
            "there is no difference".to_owned()
        } else {
            let more = own.trials_to_differ(others);
            let more = more.map(|runs| format!("; with these shares, {runs} runs of each would show it"));
            format!("the difference may be chance (p = {}){}", chance_text(chance), more.unwrap_or_default())
        };
        Self { sentence: format!("{counts}: {verdict}"), chance }
    }
}

fn chance_text(chance: f64) -> String {
    if chance < 0.001 { "less than 0.001".to_owned() } else { format!("{chance:.3}") }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Scene;
    use super::*;
    use serde_json::json;

    fn tool(name: &str, own: &str) -> ModelTool {
        let origin = ToolOrigin::Server { server: "s".to_owned(), tool: own.to_owned() };
        ModelTool { name: name.to_owned(), description: "as the server says".to_owned(), schema: json!({}), origin }
    }

    #[test]
    fn descriptions_are_replaced_by_either_name() {
        let other: OtherDescriptions = Scene::new("{ search: finds users, b__get: gets one }").read();
        let decoy = ModelTool { origin: ToolOrigin::Decoy, ..tool("list", "list") };
        let mut offered =
            [tool("search", "search"), tool("a__search", "search"), tool("b__get", "get"), tool("get", "get"), decoy];
        other.replace_in(&mut offered);
        let said: Vec<&str> = offered.iter().map(|tool| tool.description.as_str()).collect();
        let own = "as the server says";
        assert_eq!(said, ["finds users", "finds users", "gets one", own, own]);
    }

    #[test]
    fn a_difference_is_real_or_may_be_chance() {
        let row = |agent: &str, passed, runs| super::super::log::tests::row_of(agent, passed, runs);
        for (own, other, expected) in [
            ((39, 40), (31, 40), "`new` passed 39 of 40 runs, `old` 31 of 40: the difference is real (p = 0.014)"),
            (
                (40, 40),
                (0, 40),
                "`new` passed 40 of 40 runs, `old` 0 of 40: the difference is real (p = less than 0.001)",
            ),
            ((4, 5), (4, 5), "`new` passed 4 of 5 runs, `old` 4 of 5: there is no difference"),
            (
                (1, 1),
                (0, 1),
                "`new` passed 1 of 1 runs, `old` 0 of 1: the difference may be chance (p = 1.000); with these shares, 4 runs of each would show it",
            ),
        ] {
            let compared = AgentComparison::of(&row("new", own.0, own.1), &row("old", other.0, other.1));
            assert_eq!(compared.sentence, expected);
        }
    }
}
