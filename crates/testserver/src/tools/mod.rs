//! The tools: the one way to call them, and what each does.

mod directory;
mod slow;

use mcprove_server::declared::{DeclaredTool, find_tool};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, ErrorData};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::catalog::DIRECTORY;
use super::server::Demo;

/// The tool that works as a task only, and is offered by servers that have tasks.
pub(crate) const REHEARSE: &str = "rehearse";

/// Arguments that fit the tool's schema.
struct ValidArguments(Value);

/// The tools of a server with or without tasks.
pub(crate) fn offered_tools(has_tasks: bool) -> impl Iterator<Item = &'static DeclaredTool> + Clone {
    DIRECTORY.tools.iter().filter(move |declared| has_tasks || declared.tool.name != REHEARSE)
}

/// Does a call of the tool `name` change something?
pub(crate) fn changes(name: &str) -> bool {
    DIRECTORY.tool(name).is_some_and(DeclaredTool::changes)
}

/// Calls a tool.
///
/// A tool that does not exist is the protocol's error; arguments that do not fit, and calls that the rules forbid, are the
/// tool's own.
pub(crate) async fn run(
    demo: &Demo,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<Result<Value, String>, ErrorData> {
    let name = &*request.name;
    let found = find_tool(offered_tools(demo.tasks().is_some()), name)?;
    let mut arguments = Value::Object(request.arguments.unwrap_or_default());
    let complaints = demo.fault().complaints(&found.input, &arguments);
    if !complaints.is_empty() {
        return Ok(Err(complaints.join("\n")));
    }
    demo.fault().arguments(name, &mut arguments);
    let arguments = ValidArguments(arguments);
    match name {
        "export_users" => Ok(slow::export(demo, &arguments, context).await),
        REHEARSE => slow::rehearse(demo, &arguments, context).await,
        _ => {
            let mut store = demo.store();
            if let Some(refusal) = demo.rules().refuse(name, found.changes(), &arguments.0, &store) {
                return Ok(Err(refusal));
            }
            let before = (found.changes() && store.is_stored()).then(|| store.clone());
            let answer = directory::run(name, &mut store, &arguments);
            let Some(before) = before else { return Ok(answer) };
            if let Err(unsaved) = store.save() {
                *store = before;
                return Ok(Err(unsaved));
            }
            Ok(answer)
        }
    }
}

impl ValidArguments {
    /// A string, empty if it was left out.
    fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    /// An integer that may be left out.
    fn integer(&self, name: &str) -> Option<i64> {
        let value = &self.0[name];
        // JSON Schema counts `36.0` as an integer too; the bounds of the schemas make the cast exact.
        #[expect(clippy::cast_possible_truncation, reason = "every schema bounds its integers well below 2^53")]
        value.as_i64().or_else(|| value.as_f64().map(|value| value as i64))
    }
}
