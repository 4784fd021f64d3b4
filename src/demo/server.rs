//! What the demo server offers, as rmcp's handler: one short method for each of the protocol's.

use std::borrow::Cow;
use std::sync::{MutexGuard, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, ContentBlock,
    ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams, InitializeResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, Reference, ServerCapabilities, ServerConfig,
    SubscriptionFilter,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::watch;

use super::store::{SharedStore, Store};
use super::transport::Input;
use super::{prompts, resources, tools};

/// Revisions that open with `initialize`; a client that asks for another one is offered the newest.
pub(super) const LEGACY: [ProtocolVersion; 4] = [
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2024_11_05,
];

/// Revisions that a request can name for itself.
pub(super) const MODERN: [ProtocolVersion; 1] = [ProtocolVersion::V_2026_07_28];

const INSTRUCTIONS: &str = "A directory of users that starts empty and forgets everything when the conversation ends. \
    Call `create_user` first; every other tool takes the ids that it and `list_users` return.";

/// One conversation's server.
pub(super) struct Demo {
    store: SharedStore,
    input: watch::Receiver<Input>,
}

impl Demo {
    /// A server without users that stops its work once `input` is over.
    pub(super) fn new(input: watch::Receiver<Input>) -> Self {
        Self::sharing(SharedStore::default(), input)
    }

    /// A server that works on the users in `store`, as others may.
    pub(super) fn sharing(store: SharedStore, input: watch::Receiver<Input>) -> Self {
        Self { store, input }
    }

    /// Name and version, as both eras show them.
    pub(super) fn identity() -> Implementation {
        Implementation::new("mcprove-demo", env!("CARGO_PKG_VERSION")).with_title("mcprove demo server")
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerHandler for Demo {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_prompts()
            .enable_resources()
            .enable_tools()
            .build();
        ServerConfig::new(capabilities).with_server_info(Self::identity()).with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&MODERN)
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if !LEGACY.contains(&request.protocol_version) {
            request.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        }
        let answer = self.get_info().with_protocol_version(request.protocol_version.clone());
        context.peer.set_peer_info(request);
        Ok(answer)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        only_page(request)?;
        Ok(ListToolsResult::with_all_items(tools::list()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = tools::prepare(&request.name, request.arguments.unwrap_or_default())?;
        let answer = match call {
            Ok(tools::Call::Quick(call)) => call.run(&mut self.store()),
            Ok(tools::Call::Export(export)) => {
                let waited = export.work(&context, self.input.clone()).await;
                waited.map(|()| export.result(&self.store()))
            }
            Err(complaints) => Err(complaints),
        };
        let result = match answer {
            Ok(value) => CallToolResult::structured(value),
            Err(message) => CallToolResult::error(vec![ContentBlock::text(message)]),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        only_page(request)?;
        Ok(ListResourcesResult::with_all_items(resources::list()))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        only_page(request)?;
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(resources::read(&self.store(), &request.uri)?.into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        only_page(request)?;
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(prompts::get(&request.name, &request.arguments.unwrap_or_default())?.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let completion = match &request.r#ref {
            Reference::Prompt(prompt) => prompts::complete(&prompt.name, &request.argument),
            Reference::Resource(template) => resources::complete(&self.store(), &template.uri, &request.argument),
            reference => Err(unknown_reference(reference)),
        };
        completion.map(CompleteResult::new)
    }

    /// Accepts every subscription and promises nothing in it: no list changes, and resources are not watched.
    fn accepted_subscription_filter(&self, _requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::default())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut input = self.input.clone();
        tokio::select! {
            () = context.cancelled() => {}
            _ = input.wait_for(Input::is_over) => {}
        }
        Ok(())
    }
}

fn unknown_reference(reference: &Reference) -> ErrorData {
    let kind = reference.reference_type();
    ErrorData::invalid_params(format!("nothing of the kind `{kind}` can be completed"), None)
}

/// Every list fits on one page, so no cursor was ever given out.
fn only_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        Some(cursor) => Err(ErrorData::invalid_params(
            format!("no page has the cursor `{cursor}`; the list has one page, so leave `cursor` out"),
            None,
        )),
        None => Ok(()),
    }
}
