//! One request on its way through rmcp, in a service of its own, so that what is said about it can go nowhere else.

use std::future::{Future, ready};
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientRequest, InitializeRequestParams,
    JsonRpcMessage, JsonRpcRequest, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::service::serve_directly;
use rmcp::transport::Transport;
use serde_json::Value;
use thiserror::Error;
use tokio::sync::mpsc;

use super::super::era::Eras;
use super::super::faulty::ServerFault;
use super::super::server::Demo;
use super::stream::Log;

/// The number of questions of one exchange that have numbers of their own.
const QUESTIONS: i64 = 1 << 20;

/// The way in which the server asks the client while it works on a request.
pub(crate) struct Line {
    /// The number of the exchange in its session. rmcp counts the questions of each exchange from 0, but no two of a
    /// session may have one number.
    number: i64,
    answers: mpsc::UnboundedReceiver<ClientJsonRpcMessage>,
}

/// The receivers of the answers to the questions of an exchange.
pub(crate) struct AnswerQueue {
    number: i64,
    answers: mpsc::UnboundedSender<ClientJsonRpcMessage>,
}

/// The client cannot be asked over the connection of the request.
#[derive(Debug, Error)]
#[error("the client cannot be asked on the way that the request took")]
pub(crate) struct NoAnswerChannel;

impl Line {
    /// The line of an exchange, and its other end.
    pub(crate) fn new(number: i64) -> (Self, AnswerQueue) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { number, answers: receiver }, AnswerQueue { number, answers: sender })
    }

    /// The id in the session for an id of rmcp's.
    fn session_id_of(&self, id: &RequestId) -> RequestId {
        match id {
            RequestId::Number(id) => RequestId::Number(self.number * QUESTIONS + id),
            RequestId::String(_) => id.clone(),
        }
    }
}

impl AnswerQueue {
    /// Takes an answer if the question was one of this exchange.
    pub(crate) fn take(&self, answer: &ClientJsonRpcMessage) {
        let mut answer = answer.clone();
        let id = match &mut answer {
            JsonRpcMessage::Response(response) => Some(&mut response.id),
            JsonRpcMessage::Error(error) => error.id.as_mut(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(RequestId::Number(id)) = id
            && id.div_euclid(QUESTIONS) == self.number
        {
            *id = id.rem_euclid(QUESTIONS);
            // It fails when the exchange is over, and then nobody waits for it.
            let _ = self.answers.send(answer);
        }
    }
}

/// Starts to work on `request`; `client` is who opened its session, and can be asked on `line`.
pub(crate) fn start(
    demo: Demo,
    client: Option<InitializeRequestParams>,
    request: JsonRpcRequest<ClientRequest>,
    line: Option<Line>,
) -> Arc<Log> {
    let log = Log::new();
    let transport = OneRequestTransport {
        id: request.id.clone(),
        request: Some(request),
        is_cancelled: false,
        line,
        log: Arc::clone(&log),
        fault: Arc::clone(demo.fault()),
    };
    let running = serve_directly(Eras::new(demo), transport, client);
    let ended = Arc::clone(&log);
    tokio::spawn(async move {
        // Whatever ended it, nothing more will be said.
        let _ = running.waiting().await;
        ended.end();
    });
    log
}

/// Is it the last message of an exchange?
pub(crate) fn is_answer(message: &Value) -> bool {
    message.get("method").is_none()
}

/// A transport for rmcp that carries one request.
struct OneRequestTransport {
    id: RequestId,
    request: Option<JsonRpcRequest<ClientRequest>>,
    is_cancelled: bool,
    line: Option<Line>,
    log: Arc<Log>,
    fault: Arc<ServerFault>,
}

impl Transport<RoleServer> for OneRequestTransport {
    type Error = NoAnswerChannel;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), NoAnswerChannel>> + Send + 'static {
        let is_answer = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        if let Some(id) = request_id_of(&mut message) {
            let Some(line) = &self.line else { return ready(Err(NoAnswerChannel)) };
            *id = line.session_id_of(id);
        }
        // A message always serializes.
        self.log.say(serde_json::to_value(&message).unwrap_or_default());
        if is_answer {
            self.log.end();
        }
        ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        if let Some(request) = self.request.take() {
            return Some(JsonRpcMessage::Request(request));
        }
        if !self.fault.hooks().stops_when_cancelled {
            self.log.last().await;
            return None;
        }
        if self.is_cancelled {
            return None;
        }
        let is_cancelled = tokio::select! {
            is_cancelled = self.log.wait_for_cancellation() => is_cancelled,
            Some(answer) = answer(&mut self.line) => return Some(answer),
        };
        if !is_cancelled {
            return None;
        }
        self.is_cancelled = true;
        let cancelled = CancelledNotification::new(CancelledNotificationParam::new(Some(self.id.clone()), None));
        Some(ClientJsonRpcMessage::notification(cancelled.into()))
    }

    async fn close(&mut self) -> Result<(), NoAnswerChannel> {
        Ok(())
    }
}

/// The number of a question, in the message that asks it or takes it back.
fn request_id_of(message: &mut ServerJsonRpcMessage) -> Option<&mut RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(&mut request.id),
        JsonRpcMessage::Notification(notification) => {
            let ServerNotification::CancelledNotification(cancelled) = &mut notification.notification else {
                return None;
            };
            cancelled.params.request_id.as_mut()
        }
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => None,
    }
}

/// The next answer; none, where nobody can be asked.
async fn answer(line: &mut Option<Line>) -> Option<ClientJsonRpcMessage> {
    match line {
        Some(line) => line.answers.recv().await,
        None => None,
    }
}
