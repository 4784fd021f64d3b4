//! Runs a suite inside a Rust test: against a server in the same process, without child process or socket, or against
//! one that is started.
//!
//! [`Suite`] is a suite and the servers to run it on; [`Run`] is what came of it. Nothing here prints, reads the
//! environment or listens for signals, and all waiting goes through tokio's clock: under `tokio::time::pause` a test
//! of a timeout takes no time. Works on both kinds of tokio's runtimes, and without one.
//! Knows nothing about command lines. Start reading in [`Suite`].
//!
//! # A server in the process of the test
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
//!
//! # A server that is a program
//!
//! [`Suite::command`] starts it; a suite whose own `server:` is to be started needs neither.
//!
//! ```no_run
//! use mcprove::testing::{Error, Suite};
//!
//! # const SERVER: &str = "target/debug/server";
//! // #[test]
//! fn the_users_suite_passes() -> Result<(), Error> {
//!     let suite = Suite::load("tests/users.mcprove.yml")?;
//!     // In a test of a package with the binary `server`: env!("CARGO_BIN_EXE_server")
//!     suite.command([SERVER]).env("TOKEN", "t").threshold(30.0).run_blocking()?.assert_passed();
//!     Ok(())
//! }
//! # the_users_suite_passes().unwrap();
//! ```
//!
//! # A test for each case
//!
//! Generated cases are known only when the server has listed its tools, so the suite runs first, and each of its results
//! becomes a test of [libtest-mimic](https://docs.rs/libtest-mimic), in a target with `harness = false`:
//!
//! ```no_run
//! use libtest_mimic::{Arguments, Trial};
//! use mcprove::testing::{Error, Outcome, Suite};
//!
//! # const SERVER: &str = "target/debug/server";
//! fn main() -> Result<(), Error> {
//!     let arguments = Arguments::from_args();
//!     let run = Suite::load("tests/users.mcprove.yml")?.command([SERVER]).run_blocking()?;
//!     let cases = run.cases().into_iter().map(|result| {
//!         // Neither skipped cases nor those that could not be judged look passed.
//!         let is_ignored = matches!(result.outcome, Outcome::Skipped | Outcome::Inconclusive);
//!         let verdict = match result.outcome {
//!             Outcome::Passed | Outcome::Warned => Ok(()),
//!             _ => Err(run.text_of(result).into()),
//!         };
//!         Trial::test(result.case.id.clone(), move || verdict).with_ignored_flag(is_ignored)
//!     });
//!     // What a server does outside of any case, and the threshold.
//!     let whole = if run.is_passed() { Ok(()) } else { Err(run.text().into()) };
//!     let trials = cases.chain([Trial::test("the whole run", move || whole)]).collect();
//!     libtest_mimic::run(&arguments, trials).exit()
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
pub use crate::event::{CaseInfo, CaseResult, Event, Finding, Outcome};
pub use crate::report::Totals;
pub use crate::taxonomy::score::Score;
