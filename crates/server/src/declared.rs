//! Tools as a server declares them in JSON, and their lists, which have one page.

use rmcp::model::{ErrorData, PaginatedRequestParams, Tool};
use serde::Deserialize;

use super::schema::Schema;

/// A tool and the schema to which its arguments are held.
#[derive(Deserialize)]
#[serde(from = "Tool")]
pub struct DeclaredTool {
    /// The tool as clients see it.
    pub tool: Tool,
    /// The schema of its arguments.
    pub input: Schema,
}

impl From<Tool> for DeclaredTool {
    fn from(tool: Tool) -> Self {
        Self { input: Schema::of(tool.input_schema.clone()), tool }
    }
}

impl DeclaredTool {
    /// A call changes something.
    pub fn changes(&self) -> bool {
        self.tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) != Some(true)
    }
}

/// The tool of that name, or the protocol's error that names those that are offered.
pub fn find_tool<'a>(
    tools: impl Iterator<Item = &'a DeclaredTool> + Clone,
    name: &str,
) -> Result<&'a DeclaredTool, ErrorData> {
    tools.clone().find(|declared| declared.tool.name == name).ok_or_else(|| {
        let names: Vec<_> = tools.map(|declared| format!("`{}`", declared.tool.name)).collect();
        let message = format!("the server offers no tool `{name}`; the tools are {}", names.join(", "));
        ErrorData::invalid_params(message, None)
    })
}

/// Refuses cursors: every list fits on one page, so none was ever given out.
pub fn only_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        Some(cursor) => Err(ErrorData::invalid_params(
            format!("no page has the cursor `{cursor}`; the list has one page, so leave `cursor` out"),
            None,
        )),
        None => Ok(()),
    }
}
