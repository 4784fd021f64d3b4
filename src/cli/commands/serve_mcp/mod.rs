//! `mcprove serve mcp`: this program as an MCP server, for coding agents.
//!
//! A call of a tool travels `handler` (eras, arguments against their schema) → `command_line` (arguments to words, paths
//! by `folder`) → `child` (this same program as another process, one at a time) → `outcome` (exit code to verdict). Nothing
//! of a command is written twice: whatever a command line does, a tool does.

mod child;
mod command_line;
mod folder;
mod handler;
mod outcome;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use self::child::Children;
use self::folder::Folder;
use self::handler::ToolServer;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::system_signals::SystemSignals;
use crate::server::converse;
use crate::server::transport::NoObserver;

/// Serves until the end of input or a signal; leaves no process behind.
pub(super) fn serve_mcp(console: &Console) -> Result<Exit, Exit> {
    let cannot_start =
        |error: std::io::Error| console.fail(Exit::Environment, format!("the server cannot start: {error}"), None);
    let folder = Folder::of(&PathBuf::from(".")).map_err(cannot_start)?;
    let program = std::env::current_exe().map_err(cannot_start)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot_start)?;
    let served = runtime.block_on(async {
        let mut signals = SystemSignals::listen();
        let (leave, leaving) = watch::channel(false);
        let children = Arc::new(Children::new(program));
        let make_server = |input| ToolServer::new(folder, Arc::clone(&children), input, leaving);
        let served = tokio::select! {
            served = converse(tokio::io::stdin(), tokio::io::stdout(), Arc::new(NoObserver), make_server) => {
                served.map(|()| Exit::Passed).map_err(|error| console.fail(Exit::Environment, error, None))
            }
            _ = signals.next() => Ok(Exit::Interrupted),
        };
        leave.send_replace(true);
        children.wait_until_ended().await;
        served
    });
    // A thread that waits for input must not delay the exit.
    runtime.shutdown_background();
    served
}
