//! Runs a suite inside a Rust test, against a server in the same process: no child process, no socket.
//!
//! [`Suite`] is a suite and the servers to run it on; [`Run`] is what came of it. Nothing here prints, reads the
//! environment or listens for signals, and all waiting goes through tokio's clock: under `tokio::time::pause` a test
//! of a timeout takes no time. Works on both kinds of tokio's runtimes.
//! Knows nothing about command lines. Start reading in [`Suite`].
//!
//! The server is any [`rmcp`] service; [`Suite::connect`] takes every other kind.
//!
//! ```
//! use mcprove::testing::Suite;
//! use mcprove::testing::rmcp::model::{
//!     CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult,
//!     PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
//! };
//! use mcprove::testing::rmcp::{RoleServer, ServerHandler, service::RequestContext};
//!
//! /// A server with the tool `hello`.
//! struct Greeter;
//!
//! impl ServerHandler for Greeter {
//!     fn get_info(&self) -> ServerConfig {
//!         ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
//!     }
//!
//!     async fn list_tools(
//!         &self,
//!         _request: Option<PaginatedRequestParams>,
//!         _context: RequestContext<RoleServer>,
//!     ) -> Result<ListToolsResult, ErrorData> {
//!         let schema = serde_json::Map::from_iter([("type".to_owned(), "object".into())]);
//!         Ok(ListToolsResult::with_all_items(vec![Tool::new("hello", "Says hello.", schema)]))
//!     }
//!
//!     async fn call_tool(
//!         &self,
//!         request: CallToolRequestParams,
//!         _context: RequestContext<RoleServer>,
//!     ) -> Result<CallToolResponse, ErrorData> {
//!         match request.name.as_ref() {
//!             "hello" => Ok(CallToolResult::success(vec![ContentBlock::text("hello")]).into()),
//!             other => Err(ErrorData::invalid_params(format!("there is no tool `{other}`, try `hello`"), None)),
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! // In a test: #[tokio::test]
//! async fn main() -> Result<(), mcprove::testing::Error> {
//!     let run = Suite::parse(
//!         "
//! suite: Greetings
//! tests:
//!   - name: hello
//!     call: hello
//!     expect: [{ text: { contains: hello } }]
//! negative_path: { tools: '*', checks: [unknown_tool] }
//! ",
//!     )?
//!     .server(|| Greeter)
//!     .run()
//!     .await?;
//!     run.assert_passed();
//!     assert_eq!(run.totals().passed, 2);
//!     Ok(())
//! }
//! ```

mod error;
mod run;
mod serve;
mod suite;

/// The SDK whose services [`Suite::server`] takes, in the version that this crate uses.
pub use rmcp;

pub use self::error::Error;
pub use self::run::Run;
pub use self::suite::Suite;
pub use crate::event::{CaseResult, Event, Outcome};
pub use crate::report::Totals;
pub use crate::taxonomy::score::Score;
