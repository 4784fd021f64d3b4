//! The imitations of a variant: what they change, and what a server must offer for them.

use serde::{Deserialize, Serialize};

use crate::fault::{self, ExchangeHistory, FAULT, Fault, MATCH, Match};
use crate::source::grammar::{Object, Shape, key, required};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Node, choice};

use super::start::{self, START, Start};

/// The imitations of a variant.
#[derive(Debug, Clone, PartialEq)]
pub enum Mutants {
    /// Those that a file lists.
    Listed(Vec<Mutant>),
    /// Those of the built-in variant with the same id, which only a proof reads: they are most of the file.
    BuiltIn,
}

/// One imitation of a variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Mutant {
    /// Its name.
    pub id: String,
    /// Its effect in one sentence.
    pub meaning: String,
    /// The fault in the messages of a server; `None` in registries that only name it.
    pub fault: Option<Fault>,
    /// The change of the server's start instead; only a live server has one.
    pub start: Option<Start>,
    /// The sign that the recorded server has the fault already, so that the mutant would change nothing.
    pub shown_by: Option<Match>,
    /// The capabilities that the server must have.
    pub needs: Vec<OfferKind>,
    /// All tools, prompts and resources show it at once, since they share the faulty part.
    pub at_once: bool,
}

choice! {
    /// Something that a server may offer.
    #[derive(Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum OfferKind {
        /// A tool.
        Tools = "tools",
        /// Two tools.
        SeveralTools = "several_tools",
        /// A tool with an output schema.
        OutputSchema = "output_schema",
        /// A resource.
        Resources = "resources",
        /// A resource template.
        Templates = "templates",
        /// A prompt.
        Prompts = "prompts",
        /// Completion of arguments.
        Completions = "completions",
        /// Calls that become tasks, by its capabilities.
        Tasks = "tasks",
        /// A list that changes, by its declaration.
        ListChanges = "list_changes",
        /// A tool that writes, and whose repeated calls change nothing more, by its declaration.
        IdempotentTool = "idempotent_tool",
        /// A tool that deletes, by its name.
        DeletingTool = "deleting_tool",
    }
}

static MUTANT: Object = Object {
    name: "a mutant",
    doc: "One imitation of a variant.",
    keys: &[
        &[required("id", Shape::Text, "Its name."), required("meaning", Shape::Text, "What it does.")],
        FAULT,
        &[
            key("start", Shape::Object(&START), "What it does to the start of a server, instead of `on` and `does`."),
            key("shown_by", MATCH, "What a healthy server shows that has the fault anyway."),
            key(
                "needs",
                Shape::List(&Shape::Choice(OfferKind::WORDS)),
                "What the server must offer for it to make sense.",
            ),
            key(
                "at_once",
                Shape::True,
                "Strikes all tools, prompts and resources at once, since they share what the fault is in.",
            ),
        ],
    ],
};

impl Setting for Mutants {
    const SHAPE: Shape = Shape::List(&Shape::Object(&MUTANT));

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        Some(Self::Listed(node.items().iter().map(|mutant| Mutant::decode(mutant, found)).collect()))
    }

    fn absent() -> Option<Self> {
        Some(Self::Listed(Vec::new()))
    }
}

impl Mutant {
    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Self {
        let id: String = node.setting("id").unwrap_or_default();
        Self {
            meaning: node.setting("meaning").unwrap_or_default(),
            fault: fault::decode(&id, node, found),
            start: node.get("start").map(|start| start::decode(&id, start, found)),
            shown_by: node.get("shown_by").map(|shown| fault::decode_match(&id, shown, found)),
            needs: node.setting("needs").unwrap_or_default(),
            at_once: node.get("at_once").is_some(),
            id,
        }
    }
}

impl OfferKind {
    /// A server offers it.
    pub fn is_met(self, known: &ExchangeHistory<'_>) -> bool {
        let catalog = known.catalog;
        match self {
            Self::Tools => !catalog.tools.is_empty(),
            Self::SeveralTools => catalog.tools.len() > 1,
            Self::OutputSchema => catalog.tools.iter().any(|tool| tool.output_schema().is_some()),
            Self::Resources => !catalog.resources.is_empty(),
            Self::Templates => !catalog.resource_templates.is_empty(),
            Self::Prompts => !catalog.prompts.is_empty(),
            Self::Completions => known.capabilities.get("completions").is_some(),
            Self::Tasks => {
                let capabilities = known.capabilities;
                let extension = &capabilities["extensions"]["io.modelcontextprotocol/tasks"];
                capabilities.get("tasks").is_some() || !extension.is_null()
            }
            Self::ListChanges => known
                .capabilities
                .as_object()
                .is_some_and(|capabilities| capabilities.values().any(|one| one["listChanged"] == true)),
            Self::IdempotentTool => catalog
                .tools
                .iter()
                .map(|tool| &tool.raw["annotations"])
                .any(|hints| hints["readOnlyHint"] != true && hints["idempotentHint"] == true),
            Self::DeletingTool => catalog.tools.iter().any(|tool| fault::is_deleting(tool, catalog)),
        }
    }
}
