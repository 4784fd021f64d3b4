//! Tools that are offered to see whether a model leaves them alone.

use serde_json::{Value, json};

use super::host::{ModelTool, ToolOrigin};
use super::judge::JudgedView;
use super::run::AgentRun;
use crate::event::Finding;
use crate::generate::Rng;
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Located, Node, settings};

settings! {
    /// Tools beside those of the servers, which the model must leave alone; the order in which all are offered is drawn.
    pub(crate) struct Distractors as "distractors", at span {
        /// How many are made up; each resembles a tool of the servers.
        count: Option<usize> => alternative() range(1, 1000),
        /// Tools that are offered as well.
        tools: Vec<DistractorKeys> => alternative() shape(Shape::NonEmpty(&Shape::List(&DistractorKeys::SHAPE))),
        /// A server of the suite whose tools are offered as well.
        pub(crate) from: Option<Located<String>> => alternative(),
        /// The share of calls, over all runs, that must be calls of tools that the servers have.
        pub(crate) accuracy: f64 => shape(Shape::Share) default("1"),
        /// The seed of what is made up and of the order.
        seed: u64 => default("0"),
    }
}

settings! {
    /// A tool that no server has.
    struct DistractorKeys as "a distractor" {
        /// Its name.
        name: String => required(),
        /// Its description.
        description: Option<String>,
        /// The JSON Schema of its arguments.
        schema: Option<Node> => shape(Shape::Map(&Shape::Any)),
    }
}

/// Words that make another tool of one, with what it does.
const KINDS: [(&str, &str); 12] = [
    ("archive", "the archived records"),
    ("draft", "unfinished drafts"),
    ("history", "earlier versions"),
    ("template", "templates"),
    ("preview", "a preview"),
    ("statistics", "figures for a report"),
    ("permissions", "who may see it"),
    ("subscription", "notifications about it"),
    ("label", "its labels"),
    ("backup", "copies for safekeeping"),
    ("schedule", "planned runs"),
    ("comment", "comments of others"),
];

impl DistractorKeys {
    fn to_model_tool(&self) -> ModelTool {
        let schema = self.schema.as_ref().map_or_else(|| json!({"type": "object"}), Node::to_json);
        decoy(self.name.clone(), self.description.clone().unwrap_or_default(), schema)
    }
}

impl Distractors {
    /// The first one that has the name of a tool of the servers, so that it is not offered.
    pub(crate) fn unoffered_distractor(&self, run: &AgentRun, view: &JudgedView<'_>) -> Option<Finding> {
        let is_listed = |name: &str| run.listed.iter().any(|listed| listed.tool.name == name);
        let same = self.tools.iter().find(|tool| is_listed(&tool.name))?;
        let message = format!("the distractor `{}` is not offered, since a server has a tool of that name", same.name);
        let quote = Some(view.quote(self.span, "these distractors"));
        let help = Some("give it another name, or offer the tools of another server with `from`".to_owned());
        Some(Finding { quote, help, ..Finding::new("distractor-not-offered", message) })
    }

    /// Adds them to the tools of the servers, and draws the order in which all are offered in that run.
    pub(crate) fn add_to(&self, offered: &mut Vec<ModelTool>, number: usize) {
        let mut rng = Rng::new(self.seed).fork(number as u64);
        for tool in offered.iter_mut() {
            let is_from = |server: &String| self.from.as_ref().is_some_and(|from| from.value == *server);
            if matches!(&tool.origin, ToolOrigin::Server { server, .. } if is_from(server)) {
                tool.origin = ToolOrigin::Decoy;
            }
        }
        let real: Vec<ModelTool> = offered.iter().filter(|tool| tool.origin != ToolOrigin::Decoy).cloned().collect();
        let made = made_up(&real, self.count.unwrap_or_default());
        for tool in self.tools.iter().map(DistractorKeys::to_model_tool).chain(made) {
            if offered.iter().all(|known| known.name != tool.name) {
                offered.push(tool);
            }
        }
        for at in (1..offered.len()).rev() {
            offered.swap(at, rng.below(at + 1));
        }
    }
}

/// So many tools that resemble these.
fn made_up(real: &[ModelTool], count: usize) -> Vec<ModelTool> {
    let tools = (0..).zip(real.iter().cycle());
    let made = tools.take(if real.is_empty() { 0 } else { count }).map(|(at, tool)| {
        let round = at / real.len();
        let (word, about) = KINDS[(round + at % real.len()) % KINDS.len()];
        let again = round / KINDS.len();
        let number = if again == 0 { String::new() } else { format!("_{}", again + 1) };
        let description = format!("Works on {about} only, and on nothing that is in use.");
        decoy(format!("{}_{word}{number}", tool.name), description, tool.schema.clone())
    });
    made.collect()
}

fn decoy(name: String, description: String, schema: Value) -> ModelTool {
    ModelTool { name, description, schema, origin: ToolOrigin::Decoy }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::agents::tests::{Scene, run_of};

    fn model_tools(names: &[&str]) -> Vec<ModelTool> {
        let tool = |name: &&str| ModelTool {
            name: (*name).to_owned(),
            description: String::new(),
            schema: json!({}),
            origin: ToolOrigin::Server { server: "app".to_owned(), tool: (*name).to_owned() },
        };
        names.iter().map(tool).collect()
    }

    fn names(tools: &[ModelTool]) -> Vec<&str> {
        let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn tools_are_made_up_and_written_ones_are_added() {
        let scene = Scene::new("{ count: 2, tools: [{ name: shell }, { name: get }] }");
        let mut tools = model_tools(&["get", "search"]);
        scene.read::<Distractors>().add_to(&mut tools, 1);
        // A written one of the name of a real tool is not offered.
        assert_eq!(names(&tools), ["get", "get_archive", "search", "search_draft", "shell"]);
        let real = |tool: &&ModelTool| tool.origin != ToolOrigin::Decoy;
        assert_eq!(tools.iter().filter(real).count(), 2);
    }

    #[test]
    fn the_order_is_drawn_for_each_run_and_the_same_again() {
        let scene = Scene::new("{ count: 6 }");
        let order = |number| {
            let mut tools = model_tools(&["get", "search"]);
            scene.read::<Distractors>().add_to(&mut tools, number);
            tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn made_up_names_never_repeat() {
        let made = made_up(&model_tools(&["get"]), 30);
        let distinct: std::collections::BTreeSet<&str> = made.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!((made.len(), distinct.len()), (30, 30));
        assert!(made_up(&[], 5).is_empty(), "there is nothing to resemble");
    }

    #[test]
    fn a_distractor_that_a_server_has_is_reported() {
        let unoffered = |settings: &str| {
            let scene = Scene::new(settings);
            let found = scene.read::<Distractors>().unoffered_distractor(&run_of(Vec::new()), &scene.view());
            found.map(|found| found.message)
        };
        assert_eq!(unoffered("{ tools: [{ name: shell }] }"), None);
        let message = "the distractor `get` is not offered, since a server has a tool of that name";
        assert_eq!(unoffered("{ tools: [{ name: shell }, { name: get }] }").as_deref(), Some(message));
    }
}
