//! Declares what the demo server offers: tools, resources, templates and prompts, in JSON files, as clients see them.

use std::sync::LazyLock;

use mcprove_server::declared::DeclaredTool;
use rmcp::model::{Prompt, Resource, ResourceTemplate};
use serde::Deserialize;

/// Everything that a server offers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Declarations {
    pub(crate) tools: Vec<DeclaredTool>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) resource_templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
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
