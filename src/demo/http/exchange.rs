//! One request on its way through rmcp, in a service of its own, so that what is said about it can go nowhere else.

use std::convert::Infallible;
use std::future::{Future, ready};
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientRequest, InitializeRequestParams,
    JsonRpcMessage, JsonRpcRequest, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::serve_directly;
use rmcp::transport::Transport;
use serde_json::Value;

use super::super::era::Eras;
use super::super::server::Demo;
use super::stream::Log;

/// Starts to work on `request`; `client` is who opened its session.
pub(super) fn start(
    demo: Demo,
    client: Option<InitializeRequestParams>,
    request: JsonRpcRequest<ClientRequest>,
) -> Arc<Log> {
    let log = Log::new();
    let transport =
        Single { id: request.id.clone(), request: Some(request), is_cancelled: false, log: Arc::clone(&log) };
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
pub(super) fn is_answer(message: &Value) -> bool {
    message.get("method").is_none()
}

/// A conversation of one request.
struct Single {
    id: RequestId,
    request: Option<JsonRpcRequest<ClientRequest>>,
    is_cancelled: bool,
    log: Arc<Log>,
}

impl Transport<RoleServer> for Single {
    type Error = Infallible;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let is_answer = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
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
        if self.is_cancelled || !self.log.cancelled().await {
            return None;
        }
        self.is_cancelled = true;
        let cancelled = CancelledNotification::new(CancelledNotificationParam::new(Some(self.id.clone()), None));
        Some(ClientJsonRpcMessage::notification(cancelled.into()))
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
