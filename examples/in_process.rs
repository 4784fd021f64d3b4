//! A server on rmcp, and the test that runs a suite on it, in one process.
//!
//! `cargo test --example in_process` runs the suite, `cargo run --example in_process` serves over stdio.

use std::collections::BTreeMap;

use mcprove::testing::rmcp;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

/// Knows what colour fruits have.
struct Fruits(BTreeMap<&'static str, &'static str>);

impl Fruits {
    fn new() -> Self {
        Self(BTreeMap::from([("apple", "red"), ("banana", "yellow")]))
    }

    fn colour(&self, fruit: &str) -> CallToolResult {
        match self.0.get(fruit) {
            Some(colour) => CallToolResult::structured(json!({ "colour": colour })),
            None => CallToolResult::error(vec![ContentBlock::text(format!(
                "`fruit` must be one of apple and banana, there is no `{fruit}`"
            ))]),
        }
    }
}

impl ServerHandler for Fruits {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({
            "type": "object",
            "properties": { "fruit": { "type": "string", "description": "apple or banana" } },
            "required": ["fruit"]
        });
        let tool =
            Tool::new("colour", "Says what colour a fruit has.", schema.as_object().cloned().unwrap_or_default());
        Ok(ListToolsResult::with_all_items(vec![tool.with_annotations(ToolAnnotations::new().read_only(true))]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != "colour" {
            let message = format!("there is no tool `{}`, the only one is `colour`", request.name);
            return Err(ErrorData::invalid_params(message, None));
        }
        let fruit = request.arguments.as_ref().and_then(|arguments| arguments.get("fruit")).and_then(Value::as_str);
        match fruit {
            Some(fruit) => Ok(self.colour(fruit).into()),
            None => Ok(CallToolResult::error(vec![ContentBlock::text("`fruit` must be a text, such as apple")]).into()),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<ServerInitializeError>> {
    let running = rmcp::serve_server(Fruits::new(), rmcp::transport::stdio()).await.map_err(Box::new)?;
    // The end of the input is the end of the server.
    let _ = running.waiting().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use mcprove::testing::Suite;

    use super::Fruits;

    const SUITE: &str = "
suite: Fruits
tests:
  - name: '{{ fruit }} is {{ colour }}'
    rows: [{ fruit: apple, colour: red }, { fruit: banana, colour: yellow }]
    call: colour
    args: { fruit: '{{ fruit }}' }
    expect:
      - is_error: false
      - at: result.structuredContent.colour
        equals: '{{ colour }}'
  - name: unknown fruits are explained
    call: colour
    args: { fruit: brick }
    expect: [{ is_error: true }, { readable_error: { names: brick } }]
negative_path: { tools: '*' }
";

    #[tokio::test]
    async fn the_suite_passes() -> Result<(), mcprove::testing::Error> {
        Suite::parse(SUITE)?.server(Fruits::new).run().await?.assert_passed();
        Ok(())
    }
}
