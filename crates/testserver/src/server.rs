//! The demo server as rmcp's handler: one short method for each of the protocol's.

use std::borrow::Cow;
use std::sync::Arc;

use mcprove_server::declared::only_page;
use mcprove_server::era::{MODERN, open_session};
use mcprove_server::transport::Input;
use parking_lot::MutexGuard;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, ContentBlock,
    CustomRequest, CustomResult, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, Reference, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::watch;

use super::catalog::{DIRECTORY, Declarations, FIXTURES};
use super::faulty::{ServerFault, ToolCall};
use super::fixtures::{self, Fixtures};
use super::settings::Rules;
use super::store::{SharedStore, Store};
use super::tasks::{self, Book, Owner, Tasks};
use super::{prompts, resources, tools};

/// The milliseconds for which lists may be kept that never change while the server runs.
const LISTS_STAY_FRESH: u64 = 3_600_000;

const INSTRUCTIONS: &str = "A directory of users that starts empty and forgets everything when the conversation ends. \
    Call `create_user` first; every other tool takes the ids that it and `list_users` return.";

const STORED_INSTRUCTIONS: &str = "A directory of users that all clients share and that outlives the conversation. \
    `create_user` adds one; the other tools take the ids that it and `list_users` return.";

/// The behaviour of a server, in all its conversations.
#[derive(Clone)]
pub(crate) struct Conduct {
    /// The rules that follow from its settings.
    pub(crate) rules: Arc<Rules>,
    pub(crate) fault: Arc<ServerFault>,
    /// The conformance fixtures, if it offers them besides the directory.
    pub(crate) fixtures: Option<Arc<Fixtures>>,
    /// The users of all conversations, where they are kept in a file.
    pub(crate) data: Option<SharedStore>,
    /// The calls that go on as tasks.
    pub(crate) tasks: Arc<Book>,
}

impl Conduct {
    /// The directory of another conversation.
    pub(crate) fn directory(&self) -> SharedStore {
        self.data.clone().unwrap_or_else(|| self.fault.store())
    }

    /// The same in another conversation.
    pub(crate) fn in_session(&self) -> Self {
        let fixtures = self.fixtures.as_ref().map(|fixtures| Arc::new(fixtures.afresh()));
        Self { fixtures, ..self.clone() }
    }

    /// The schema of the input of a tool.
    pub(crate) fn input_schema(&self, tool: &str) -> Option<Arc<JsonObject>> {
        let fixture = self.fixtures.as_ref().and_then(|_| FIXTURES.tool(tool));
        fixture.or_else(|| DIRECTORY.tool(tool)).map(|declared| declared.input.to_json_object())
    }
}

impl Default for Conduct {
    /// Told nothing, and right in every respect.
    fn default() -> Self {
        Self {
            rules: Arc::default(),
            fault: Arc::new(ServerFault::none()),
            fixtures: None,
            data: None,
            tasks: Arc::default(),
        }
    }
}

/// One conversation's server.
#[derive(Clone)]
pub(crate) struct Demo {
    store: SharedStore,
    tasks: Option<Tasks>,
    input: watch::Receiver<Input>,
    conduct: Conduct,
}

impl Demo {
    /// A server that works on the users in `store`, as others may, and stops once `input` is over.
    pub(crate) fn new(store: SharedStore, input: watch::Receiver<Input>, conduct: Conduct) -> Self {
        let demo = Self { store, tasks: None, input, conduct };
        demo.owned_by(Owner::Anybody)
    }

    /// The same server with tasks of this owner, if it has any.
    pub(crate) fn owned_by(self, owner: Owner) -> Self {
        let owner = if self.conduct.fault.hooks().keeps_apart { owner } else { Owner::Anybody };
        let tasks = Tasks::new(self.conduct.tasks.clone(), owner, self.input.clone());
        Self { tasks: self.conduct.rules.has_tasks().then_some(tasks), ..self }
    }

    /// The same server until the end of another input.
    pub(crate) fn lasting(&self, input: &watch::Receiver<Input>) -> Self {
        Self { input: input.clone(), ..self.clone() }
    }

    /// The tasks of its client, if it has tasks.
    pub(crate) fn tasks(&self) -> Option<&Tasks> {
        self.tasks.as_ref()
    }

    /// The end of its input.
    pub(crate) fn input(&self) -> watch::Receiver<Input> {
        self.input.clone()
    }

    /// The rules that it enforces.
    pub(crate) fn rules(&self) -> &Rules {
        &self.conduct.rules
    }

    pub(crate) fn fault(&self) -> &Arc<ServerFault> {
        &self.conduct.fault
    }

    /// The conformance fixtures, if it offers them besides the directory.
    pub(crate) fn fixtures(&self) -> Option<&Fixtures> {
        self.conduct.fixtures.as_deref()
    }

    /// The milliseconds for which lists may be kept.
    pub(crate) fn freshness(&self) -> u64 {
        if self.fixtures().is_some() { 0 } else { LISTS_STAY_FRESH }
    }

    /// Name and version, as both eras show them.
    pub(crate) fn identity() -> Implementation {
        Implementation::new("mcprove-demo", env!("CARGO_PKG_VERSION")).with_title("mcprove demo server")
    }

    /// The directory.
    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock()
    }

    /// The same, to be told apart from those of other conversations.
    pub(crate) fn shared_store(&self) -> &SharedStore {
        &self.store
    }

    /// The items of a list that never changes.
    fn all_declared<T: Clone>(&self, list: fn(&'static Declarations) -> &'static Vec<T>) -> Vec<T> {
        let fixtures = self.fixtures().into_iter().flat_map(|_| list(&FIXTURES));
        list(&DIRECTORY).iter().chain(fixtures).cloned().collect()
    }

    /// Does what a call asks for, at once or as the task that it became.
    pub(crate) async fn perform(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(fixtures) = self.fixtures_with(&request) {
            return fixtures.turn(context, self.input.clone()).call(request).await;
        }
        let call = ToolCall::new(&self.conduct.fault, self, request, context);
        self.conduct.fault.call(call).await.map(Into::into)
    }

    /// The answer to a call that asks for input before it becomes a task, if it does.
    pub(crate) async fn missing_input(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<CallToolResponse>, ErrorData> {
        match self.fixtures_with(request) {
            Some(fixtures) => fixtures.turn(context, self.input.clone()).missing_input(request).await,
            None => Ok(None),
        }
    }

    /// The fixtures, if the called tool is one of them.
    fn fixtures_with(&self, request: &CallToolRequestParams) -> Option<&Fixtures> {
        self.fixtures().filter(|_| FIXTURES.tool(&request.name).is_some())
    }

    /// Calls a tool of the directory.
    pub(crate) async fn run(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        Ok(match tools::run(self, request, context).await? {
            Ok(value) => CallToolResult::structured(value),
            Err(message) => CallToolResult::error(vec![ContentBlock::text(message)]),
        })
    }
}

impl ServerHandler for Demo {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_completions().enable_prompts().enable_resources().enable_tools();
        let capabilities = match self.tasks {
            Some(_) => capabilities.enable_tasks().build(),
            None => capabilities.build(),
        };
        let instructions = if self.conduct.data.is_some() { STORED_INSTRUCTIONS } else { INSTRUCTIONS };
        let mut info =
            ServerConfig::new(capabilities).with_server_info(Self::identity()).with_instructions(instructions);
        if self.fixtures().is_some() {
            fixtures::declare(&mut info);
        }
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&MODERN)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        Ok(open_session(self.get_info(), request, &context))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        only_page(request)?;
        let fixtures = self.fixtures().into_iter().flat_map(|fixtures| fixtures.tools(&context));
        let list = tools::offered_tools(self.tasks.is_some()).chain(fixtures).map(|declared| declared.tool.clone());
        let mut list = ListToolsResult::with_all_items(list.collect());
        self.conduct.fault.tools(&mut list);
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match tasks::instead(self, &request, &context).await? {
            Some(instead) => Ok(instead),
            None => self.perform(request, &context).await,
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        only_page(request)?;
        Ok(ListResourcesResult::with_all_items(self.all_declared(|catalog| &catalog.resources)))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        only_page(request)?;
        Ok(ListResourceTemplatesResult::with_all_items(self.all_declared(|catalog| &catalog.resource_templates)))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if let Some(found) = self.conduct.fault.read(&request.uri).await {
            return Ok(found.into());
        }
        match self.fixtures().filter(|_| fixtures::offers_resource(&request.uri)) {
            Some(fixtures) => Ok(fixtures.read(&request.uri)?.into()),
            None => Ok(resources::read(&self.store(), &request.uri)?.into()),
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        only_page(request)?;
        let fixtures = self.fixtures().into_iter().flat_map(Fixtures::prompts);
        Ok(ListPromptsResult::with_all_items(DIRECTORY.prompts.iter().chain(fixtures).cloned().collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if let Some(fixtures) = self.fixtures().filter(|_| !prompts::offers(&request.name)) {
            return fixtures.turn(&context, self.input.clone()).prompt(request).await;
        }
        Ok(prompts::get(&request.name, &request.arguments.unwrap_or_default())?.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let completion = match (&request.r#ref, self.fixtures()) {
            (Reference::Prompt(prompt), Some(fixtures)) if !prompts::offers(&prompt.name) => {
                fixtures.complete_prompt(&prompt.name, &request.argument)
            }
            (Reference::Resource(template), Some(_)) if fixtures::offers_resource(&template.uri) => {
                fixtures::complete_template(&template.uri, &request.argument)
            }
            (Reference::Prompt(prompt), _) => prompts::complete(&prompt.name, &request.argument),
            (Reference::Resource(template), _) => resources::complete(&self.store(), &template.uri, &request.argument),
            (reference, _) => Err(unknown_reference(reference)),
        };
        completion.map(CompleteResult::new)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let is_of_session = context.meta.protocol_version().is_none();
        let answer = |fixtures: &Fixtures| {
            if is_of_session { fixtures.answer_session_request(&request) } else { fixtures::skills::answer(&request) }
        };
        match self.fixtures().and_then(answer) {
            Some(done) => done,
            None => tasks::answer(self, request, context).await,
        }
    }

    /// Accepts every subscription. The directory promises nothing in it: its lists never change, and users are not watched.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(self.fixtures().map(|_| fixtures::served_part(requested)).unwrap_or_default())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut input = self.input.clone();
        tokio::select! {
            () = context.cancelled() => {}
            _ = input.wait_for(Input::is_over) => {}
            () = fixtures::relay(&context), if self.fixtures().is_some() => {}
        }
        Ok(())
    }
}

fn unknown_reference(reference: &Reference) -> ErrorData {
    let kind = reference.reference_type();
    ErrorData::invalid_params(format!("nothing of the kind `{kind}` can be completed"), None)
}
