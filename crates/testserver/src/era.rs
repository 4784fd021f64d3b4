//! The two eras on one connection: sessions opened by `initialize`, and stateless requests with their own `_meta`.
//!
//! Stands between rmcp's loop and the handler, with what the demo server does beside other servers: tasks, fixtures
//! and faults.

use std::borrow::Cow;

use mcprove_server::era::{Era, admit, complete, explain};
use rmcp::model::{ClientNotification, ClientRequest, ErrorData, ProtocolVersion, ServerConfig, ServerResult};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, Service};

use super::faulty::HookedRequest;
use super::server::Demo;
use super::tasks;

/// The methods that are served, in words.
pub(crate) const SERVES: &str = "tools, resources, prompts and completions";

/// The demo server with its eras kept apart.
pub(crate) struct Eras {
    demo: Demo,
}

impl Eras {
    /// Puts the eras in front of `demo`.
    pub(crate) fn new(demo: Demo) -> Self {
        Self { demo }
    }

    /// Answers a request in its era.
    pub(crate) async fn answer(
        &self,
        request: ClientRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let method = request.method().to_owned();
        let era = admit(&request, &context, SERVES)?;
        if let Some(fixtures) = self.demo.fixtures() {
            fixtures.note(&request, &mut context);
        }
        let revision = context.protocol_version();
        let answer = match tasks::answer_task_call(&self.demo, &request, &context).filter(|_| era == Era::Legacy) {
            Some(answer) => answer,
            None => Service::handle_request(&self.demo, request, context).await,
        };
        let mut result = answer.map_err(|error| explain(error, &method, SERVES))?;
        match era {
            Era::Legacy => tasks::declare(&self.demo, revision.as_ref(), &mut result),
            Era::Modern => complete(&mut result, &Demo::identity(), self.demo.freshness()),
        }
        Ok(result)
    }
}

impl Service<RoleServer> for Eras {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let fault = self.demo.fault();
        fault.request(HookedRequest::new(fault, self, request, context)).await
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Service::handle_notification(&self.demo, notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.demo)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.demo)
    }
}
