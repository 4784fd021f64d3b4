//! A mock over standard input and output.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use super::{Conversation, MockServer};
use crate::fault::{ReplyContent, ServerEnd};

/// The end of a conversation over streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinesEnd {
    /// The client closed its end.
    Closed,
    /// The recorded server ended here.
    Ended(ServerEnd),
}

/// Answers line by line until the input ends, or the recorded server did.
///
/// # Errors
///
/// Fails where a stream does; a client that has gone is no error.
pub fn serve_lines(
    server: Arc<MockServer>,
    mut input: impl BufRead,
    mut output: impl Write,
    mut errors: impl Write,
) -> io::Result<LinesEnd> {
    let mut conversation = Conversation::new(server);
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(LinesEnd::Closed);
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        for said in conversation.on_message(line.trim_ascii(), ()) {
            let is_line = !matches!(said.reply.content, ReplyContent::Torn(_));
            let written = match said.reply.content {
                ReplyContent::Stderr(line) => errors.write_all(&[&line[..], b"\n"].concat()),
                ReplyContent::Ended(end) => return Ok(LinesEnd::Ended(end)),
                // What is no message was the body of a response over HTTP.
                ReplyContent::Bytes(_) if said.reply.http.is_some() => Ok(()),
                content @ (ReplyContent::Message(_)
                | ReplyContent::Bytes(_)
                | ReplyContent::Torn(_)
                | ReplyContent::Stalled) => {
                    let mut bytes = content.bytes().unwrap_or_default();
                    bytes.extend(is_line.then_some(b'\n'));
                    output.write_all(&bytes).and_then(|()| output.flush())
                }
            };
            match written {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(LinesEnd::Closed),
                written => written?,
            }
        }
    }
}
