//! Lines in, lines out: the transport below rmcp.
//!
//! It exists because the server must survive, and answer, what rmcp's own transport drops. `envelope` judges a line,
//! `batch` keeps the answers of a batch together. Answers go to a queue, so that a client that reads slowly never keeps
//! the server from reading.

mod batch;
pub mod envelope;

use std::collections::VecDeque;
use std::future::{Future, pending, ready};
use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, JsonRpcMessage, ProtocolVersion, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::Transport;
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::{mpsc, watch};

use self::batch::{Batches, Settled};
use self::envelope::{Judged, Refusal, UnreadId, judge, judge_line};

/// Longer lines are refused instead of filling the memory.
const LONGEST_LINE: usize = 32 * 1024 * 1024;

/// The state of the input of a conversation.
#[derive(Debug)]
pub enum Input {
    /// More may come.
    Open,
    /// It is over.
    Ended,
    /// It cannot be read any more.
    Failed(io::Error),
}

impl Input {
    /// Is nobody there any more?
    pub fn is_over(&self) -> bool {
        !matches!(self, Self::Open)
    }
}

/// Sees each line before it is judged, and can act in the place of the server, as servers with a fault do.
pub trait LineObserver: Send + Sync {
    /// Gets a line of the client; returns a line that answers it before the server does.
    fn answer_at_once(&self, _line: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// True if the server reads and answers no more.
    fn has_crashed(&self) -> bool {
        false
    }
}

/// Leaves every line to the server.
pub struct NoObserver;

impl LineObserver for NoObserver {}

/// The transport.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    /// The bytes read so far of the next line. They outlive a `receive` that rmcp drops halfway.
    line: Vec<u8>,
    is_too_long: bool,
    answers: mpsc::UnboundedSender<Vec<u8>>,
    input: watch::Sender<Input>,
    /// Messages of a batch that rmcp has not seen.
    unread: VecDeque<ClientJsonRpcMessage>,
    batches: Batches,
    /// The `initialize` that is being answered.
    opening: Option<RequestId>,
    /// The revision of the session, once it is open.
    revision: Option<ProtocolVersion>,
    observer: Arc<dyn LineObserver>,
}

enum ReadLine {
    Line,
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads from `reader`, queues lines on `answers`, and tells `input` when there is nothing more to read.
    pub(crate) fn new(
        reader: R,
        answers: mpsc::UnboundedSender<Vec<u8>>,
        input: watch::Sender<Input>,
        observer: Arc<dyn LineObserver>,
    ) -> Self {
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            is_too_long: false,
            answers,
            input,
            unread: VecDeque::new(),
            batches: Batches::default(),
            opening: None,
            revision: None,
            observer,
        }
    }

    /// Reads up to the next newline. What follows the last one at the end of input is no message.
    async fn read_line(&mut self) -> io::Result<ReadLine> {
        loop {
            let bytes = self.reader.fill_buf().await?;
            if bytes.is_empty() {
                return Ok(ReadLine::End);
            }
            let newline = bytes.iter().position(|byte| *byte == b'\n');
            let used = newline.map_or(bytes.len(), |position| position + 1);
            if self.line.len() + used > LONGEST_LINE {
                self.is_too_long = true;
                self.line.clear();
            } else if !self.is_too_long {
                self.line.extend_from_slice(&bytes[..used]);
            }
            self.reader.consume(used);
            if newline.is_some() {
                return Ok(if std::mem::take(&mut self.is_too_long) { ReadLine::TooLong } else { ReadLine::Line });
            }
        }
    }

    /// Takes the line that was read; returns the message that rmcp has to answer, if there is one.
    fn take_line(&mut self) -> Option<ClientJsonRpcMessage> {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        if let Some(answer) = self.observer.answer_at_once(line) {
            // A queue without a reader means that the client is gone.
            drop(self.answers.send(answer));
        }
        if self.observer.has_crashed() {
            return None;
        }
        match judge_line(line) {
            Judged::Message(message) => return Some(*message),
            Judged::Batch(messages) if self.accepts_batches() && !messages.is_empty() => {
                self.take_batch(messages);
            }
            Judged::Batch(_) => {
                let message = "a line must hold one message; only revision 2025-03-26 has batches, and none is empty";
                self.refuse(Refusal::without_id(ErrorCode::INVALID_REQUEST, message));
            }
            Judged::Refused(refusal) => self.refuse(refusal),
            Judged::Ignored => {}
        }
        None
    }

    fn take_batch(&mut self, messages: Vec<Value>) {
        let mut waiting = Vec::new();
        let mut answers = Vec::new();
        for message in messages {
            match judge(message) {
                Judged::Message(message) => {
                    if let JsonRpcMessage::Request(request) = &*message {
                        waiting.push(request.id.clone());
                    }
                    self.unread.push_back(*message);
                }
                Judged::Refused(refusal) => answers.push(refusal.into_answer(self.unread_id())),
                Judged::Batch(_) | Judged::Ignored => {}
            }
        }
        let settled = self.batches.open(waiting, answers);
        self.put_batch(settled);
    }

    /// Notes what the conversation turns on before rmcp sees it.
    fn note(&mut self, message: &ClientJsonRpcMessage) {
        if let JsonRpcMessage::Request(request) = message
            && matches!(request.request, ClientRequest::InitializeRequest(_))
        {
            self.opening = Some(request.id.clone());
        }
        if let JsonRpcMessage::Notification(notification) = message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
        {
            let settled = self.batches.settle(id, None);
            self.put_batch(settled);
        }
    }

    fn accepts_batches(&self) -> bool {
        self.revision == Some(ProtocolVersion::V_2025_03_26)
    }

    fn unread_id(&self) -> UnreadId {
        UnreadId::of(self.revision.as_ref())
    }

    fn refuse(&self, refusal: Refusal) {
        let answer = refusal.into_answer(self.unread_id());
        // A value always serializes, and a queue without a reader means that the client is gone.
        let _ = self.put(&answer);
    }

    fn put_batch(&self, settled: Settled) {
        if let Settled::Complete(answers) = settled
            && !answers.is_empty()
        {
            let _ = self.put(&answers);
        }
    }

    fn put(&self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.answers.send(line).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn queue(&mut self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if id.is_some() && id == self.opening.as_ref() {
            self.opening = None;
            self.revision = opened_revision(message).or(self.revision.take());
        }
        match id {
            Some(id) if self.batches.expects(id) => {
                let settled = self.batches.settle(id, Some(serde_json::to_value(message)?));
                self.put_batch(settled);
                Ok(())
            }
            Some(_) | None => self.put(message),
        }
    }
}

/// The revision of the session that an answer to `initialize` opens.
fn opened_revision(message: &ServerJsonRpcMessage) -> Option<ProtocolVersion> {
    let JsonRpcMessage::Response(response) = message else { return None };
    if let ServerResult::InitializeResult(opened) = &response.result {
        return Some(opened.protocol_version.clone());
    }
    // It says more than rmcp's type can.
    let ServerResult::CustomResult(opened) = &response.result else { return None };
    serde_json::from_value(opened.0["protocolVersion"].clone()).ok()
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R>
where
    R: 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        ready(self.queue(&message))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // rmcp runs every request as a task of its own. What was sent behind `initialize` without waiting must not
            // overtake it. rmcp drops this future and asks again after every answer it sends.
            if self.opening.is_some() || self.observer.has_crashed() {
                pending::<()>().await;
            }
            if let Some(message) = self.unread.pop_front() {
                self.note(&message);
                return Some(message);
            }
            match self.read_line().await {
                Ok(ReadLine::Line) => {
                    if let Some(message) = self.take_line() {
                        self.note(&message);
                        return Some(message);
                    }
                }
                Ok(ReadLine::TooLong) => {
                    let message = format!("the line is longer than {LONGEST_LINE} bytes");
                    self.refuse(Refusal::without_id(ErrorCode::INVALID_REQUEST, message));
                }
                Ok(ReadLine::End) => {
                    self.input.send_replace(Input::Ended);
                    return None;
                }
                Err(error) => {
                    self.input.send_replace(Input::Failed(error));
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
