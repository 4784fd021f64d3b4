//! `mcprove lsp`: tells editors the mistakes of suites while they are written.

mod documents;
mod mistakes;

use std::io::{IsTerminal as _, stdin};
use std::time::Duration;

use clap::Args;
use lsp_server::{Connection, Message, Notification, ProtocolError, Request, Response};
use serde_json::{Value, json};

use self::documents::Documents;
use self::mistakes::PositionEncoding;
use crate::cli::console::Console;
use crate::cli::exit::Exit;

/// Tells an editor the mistakes of suites while they are written, offers corrections, and formats: a language server
/// over standard input and output.
///
/// The mistakes are those of `mcprove check`, in the suites that are open and in what they include; no server is
/// started. Other YAML files are left alone.
#[derive(Debug, Args)]
pub(crate) struct LspArgs {
    /// For editors that name the way in which they talk; there is no other.
    #[arg(long, hide = true)]
    stdio: bool,
}

pub(crate) fn lsp(_: &LspArgs, console: &Console) -> Result<Exit, Exit> {
    if stdin().is_terminal() {
        console.note("an editor starts this command and talks to it; Ctrl-C ends it");
    }
    let (connection, threads) = Connection::stdio();
    let served = serve(&connection);
    // What writes ends when nobody can send any more.
    drop(connection);
    threads.join().map_err(|error| console.fail(Exit::Environment, error, None))?;
    served.map_err(|error| console.fail(Exit::Environment, error, None))
}

/// How long an editor says nothing before it is told of mistakes: nobody reads those of half a word.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers the editor until it says goodbye, or is gone.
fn serve(connection: &Connection) -> Result<Exit, ProtocolError> {
    let (id, asked) = connection.initialize_start()?;
    let encoding = PositionEncoding::chosen_from(&asked["capabilities"]["general"]["positionEncodings"]);
    let capabilities = json!({
        "positionEncoding": encoding.name(),
        // Texts come whole, and files that nobody has open may change when another is saved.
        "textDocumentSync": { "openClose": true, "change": 1, "save": true },
        "codeActionProvider": { "codeActionKinds": ["quickfix"] },
        "documentFormattingProvider": true,
    });
    let server = json!({ "name": "mcprove", "version": env!("CARGO_PKG_VERSION") });
    connection.initialize_finish(id, json!({ "capabilities": capabilities, "serverInfo": server }))?;
    let mut documents = Documents::new(encoding);
    loop {
        let pause = if documents.has_changed() { PAUSE } else { Duration::MAX };
        match connection.receiver.recv_timeout(pause) {
            Ok(Message::Request(request)) => {
                if connection.handle_shutdown(&request)? {
                    return Ok(Exit::Passed);
                }
                send(connection, answer(request, &documents).into());
            }
            // Without a goodbye before it, the protocol wants 1.
            Ok(Message::Notification(notification)) if notification.method == "exit" => return Ok(Exit::Findings),
            Ok(Message::Notification(notification)) => documents.take_in(&notification),
            Ok(Message::Response(_)) => {}
            Err(error) if error.is_disconnected() => return Ok(Exit::Passed),
            Err(_) => {
                for params in documents.news() {
                    send(connection, Notification::new("textDocument/publishDiagnostics".to_owned(), params).into());
                }
            }
        }
    }
}

/// An editor that is gone reads no more; the end of its messages ends the program.
fn send(connection: &Connection, message: Message) {
    let _ = connection.sender.send(message);
}

fn answer(request: Request, documents: &Documents) -> Response {
    match request.method.as_str() {
        "textDocument/codeAction" => Response::new_ok(request.id, mistakes::corrections(&request.params)),
        "textDocument/formatting" => Response::new_ok(request.id, documents.formatted(&request.params)),
        other => {
            let code = lsp_server::ErrorCode::MethodNotFound as i32;
            Response::new_err(request.id, code, format!("mcprove has no `{other}`"))
        }
    }
}

/// The text at a place in a message.
fn text_at<'a>(message: &'a Value, pointer: &str) -> Option<&'a str> {
    message.pointer(pointer)?.as_str()
}
