//! Declares what the demo server offers: tools, resources, templates and prompts, in JSON files, as clients see them.

use std::sync::LazyLock;

use rmcp::model::{Prompt, Resource, ResourceTemplate, Tool};
use serde::Deserialize;

use super::schema::Schema;

/// Everything that a server offers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Declarations {
    pub(crate) tools: Vec<DeclaredTool>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) resource_templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
}

/// A tool and the schema to which its arguments are held.
#[derive(Deserialize)]
#[serde(from = "Tool")]
pub(crate) struct DeclaredTool {
    pub(crate) tool: Tool,
    pub(crate) input: Schema,
}

impl From<Tool> for DeclaredTool {
    fn from(tool: Tool) -> Self {
        Self { input: Schema::of(tool.input_schema.clone()), tool }
    }
}

impl DeclaredTool {
    /// A call changes something.
    pub(crate) fn changes(&self) -> bool {
        self.tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) != Some(true)
    }
}

impl Declarations {
    /// The tool of that name.
    pub(crate) fn tool(&self, name: &str) -> Option<&DeclaredTool> {
        self.tools.iter().find(|declared| declared.tool.name == name)
    }
}

/// The user directory; `rehearse` is a tool of servers with tasks alone.
pub(crate) static DIRECTORY: LazyLock<Declarations> = LazyLock::new(|| parse(include_str!("catalog.json")));

/// The declarations that the official conformance suite asks for.
pub(crate) static FIXTURES: LazyLock<Declarations> = LazyLock::new(|| parse(include_str!("fixtures/catalog.json")));

fn parse(text: &str) -> Declarations {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("a catalog of the demo server cannot be read: {error}"))
}
