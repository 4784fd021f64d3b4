//! Streamable HTTP in both eras, and the older HTTP+SSE where a server knows nothing else.
//!
//! One task takes messages in order and starts another one for every POST; answers come back as they arrive.
//! Knows sessions ids, streams and their resumption; what a message means it knows only where a status alone cannot
//! tell. Start reading in [`connect`].

mod body;
mod cut_body;
mod failure;
mod head;
mod oauth;
mod old_sse;
mod post;
mod raw;
mod response;
mod segments;
mod served;
mod stream;
#[cfg(test)]
mod tests;
mod userinfo;
mod verifier;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::{Client, Method, Url};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use self::oauth::TokenRequest;
use super::disruption::{Disruption, ProcessControl, ReadGate, StreamControl};
use super::{
    ConnectError, Incoming, Link, MessageForm, MessageRole, Outgoing, OutgoingMessage, StopRequest, Stopper, lines,
};
use crate::transport::{ServerExit, ServerProcesses, TransportKind};
use crate::wire::{Era, HttpHead, address};

pub use self::body::{BodyKind, Posted, classify_body};
pub use self::failure::{ConnectionBreak, HttpFailure, HttpRefusal, NoToken, excerpt};
pub use self::head::{IDENTITY, bare_client, certificate};
pub use self::oauth::{
    AssertionAlgorithm, AssertionKey, AuthorizationCode, ClientProof, CookieJar, DeviceCode, Form, KeptLogin,
    LOGINS_FILE, LOGINS_VARIABLE, LoginFile, LoginFileError, LoginForm, LoginPrompt, PersonLogin, TellPerson,
    TokenFlow, TokenGrant, TokenSource, address_fault, challenge_parameter, client_credentials, clock_fault,
    finish_refreshes, forms_of, is_here, issuer_places, names_host, resource_places, shown_address, token_claims,
};
pub use self::raw::{AfterRequest, Endpoint, ExchangeEnd, RawRequest, ResponseInterceptor};
pub use self::response::{RawResponse, ReadUntil, ResponseHead};
pub use self::served::start;
pub use self::userinfo::{UserInfo, userinfo};
pub use self::verifier::{code_challenge, code_verifier};

/// The time for which the next message waits for the head of the response to a notification, so that order is kept.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(5);

/// The time for which the next message waits for the server's own stream to open; many servers have none.
const STREAM_OPEN_TIMEOUT: Duration = Duration::from_millis(250);

/// The time for a request to leave before its server is killed.
const KILL_DELAY: Duration = Duration::from_millis(20);

/// The time for a request that is cancelled at once.
const GIVEN_UP_AFTER: Duration = Duration::from_millis(50);

/// The time to end a session.
const DELETE_TIMEOUT: Duration = Duration::from_millis(1500);

/// The address of a server, with its headers, TLS settings and tokens.
#[derive(Debug, Clone)]
pub struct HttpAddress {
    /// The address of its endpoint.
    pub url: String,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// The source of tokens, for a server that wants them.
    pub tokens: Option<Arc<TokenSource>>,
    /// Which of the two transports.
    pub flavour: HttpTransport,
    /// The trusted certificate authorities.
    pub tls: TrustedRoots,
    /// The exit of the process that serves it, once it is known: all sessions of one server tell the same. `None` for a
    /// server that was not started here.
    pub exit: Option<Arc<OnceLock<ServerExit>>>,
}

/// Which transport over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpTransport {
    /// Streamable HTTP, or HTTP+SSE where the server has only that.
    Auto,
    /// Streamable HTTP.
    Streamable,
    /// HTTP+SSE of 2024-11-05.
    OldSse,
}

/// The certificate authorities that are trusted for `https`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustedRoots {
    /// The authorities that the system trusts.
    System,
    /// These certificates in PEM, and no others.
    Roots(Vec<u8>),
}

/// State shared by all requests of a connection.
pub(crate) struct HttpConnection {
    client: Client,
    url: Url,
    flavour: HttpTransport,
    /// The source of tokens, and the client that fetches them.
    tokens: Option<(Arc<TokenSource>, Client)>,
    incoming: mpsc::Sender<Incoming>,
    /// This program started the server, so that its end explains a broken connection.
    is_ours: bool,
    session: Arc<Mutex<NegotiatedSession>>,
    /// Holds up the reading of responses.
    gate: Arc<ReadGate>,
    /// Streams that live longer than a request.
    streams: Mutex<JoinSet<()>>,
}

/// The state of the session that the handshake opened.
#[derive(Default, Clone)]
struct NegotiatedSession {
    id: Option<String>,
    /// The headers of the revision that is spoken.
    headers: Vec<(String, String)>,
    /// The address for messages in HTTP+SSE.
    endpoint: Option<Url>,
}

/// The process of a server that this program started.
struct HttpServerProcess {
    stop: Stopper,
    control: ProcessControl,
    processes: ServerProcesses,
}

/// Connects to a server that runs already; the first request opens a socket.
pub fn connect(address: &HttpAddress) -> Result<Link, ConnectError> {
    let (from_server, incoming) = mpsc::channel(lines::QUEUED_LINES);
    link(address, from_server, incoming, None)
}

fn link(
    address: &HttpAddress,
    from_server: mpsc::Sender<Incoming>,
    incoming: mpsc::Receiver<Incoming>,
    process: Option<HttpServerProcess>,
) -> Result<Link, ConnectError> {
    let url = parse_address(&address.url)?;
    let shared = Arc::new(HttpConnection {
        client: head::client(address, &url)?,
        url,
        flavour: address.flavour,
        tokens: fetching(address)?,
        incoming: from_server,
        is_ours: process.is_some(),
        session: Arc::default(),
        gate: Arc::default(),
        streams: Mutex::default(),
    });
    let endpoint = Some(Endpoint::new(address, &shared));
    let (outgoing, to_server) = mpsc::unbounded_channel();
    let (stop, asked) = Stopper::new();
    let processes = process.as_ref().map(|process| process.processes.clone());
    tokio::spawn(serve(shared, to_server, asked, process));
    let transport = if address.flavour == HttpTransport::OldSse { TransportKind::Sse } else { TransportKind::Http };
    Ok(Link { outgoing, incoming, stop, transport, endpoint, processes })
}

fn fetching(address: &HttpAddress) -> Result<Option<(Arc<TokenSource>, Client)>, ConnectError> {
    let with_client = |tokens: &Arc<TokenSource>| Ok((Arc::clone(tokens), tokens.client(&address.tls)?));
    address.tokens.as_ref().map(with_client).transpose()
}

fn parse_address(text: &str) -> Result<Url, ConnectError> {
    address(text).map_err(|reason| ConnectError::BadAddress { reason: format!("`{text}` {reason}") })
}

impl HttpConnection {
    /// Headers that a session demands of every request in it.
    fn session_headers(&self) -> Vec<(String, String)> {
        let session = self.session.lock().clone();
        let mut headers = session.headers;
        headers.extend(session.id.map(|id| ("mcp-session-id".to_owned(), id)));
        headers
    }

    /// Sends a request, with a token where there are tokens; one that is refused is fetched again, once.
    async fn send(
        &self,
        request: head::HttpRequest<'_>,
        frame: Option<u32>,
    ) -> Result<(reqwest::Response, Arc<HttpHead>), HttpFailure> {
        let Some((tokens, client)) = &self.tokens else { return head::send(&self.client, request).await };
        let needed = TokenRequest { url: &self.url, client, challenge: None };
        let token = tokens.initial_token(&needed).await?;
        let (response, http) = head::send(&self.client, request.with_token(token.as_deref())).await?;
        if http.status != 401 {
            return Ok((response, http));
        }
        let body = post::beginning(response).await;
        self.tell(Incoming::Refused { frame, http: Arc::clone(&http), body }).await;
        let needed = TokenRequest { challenge: http.header("www-authenticate"), ..needed };
        let token = tokens.refreshed_token(&needed, token.as_deref()).await?;
        head::send(&self.client, request.with_token(Some(&token))).await
    }

    async fn tell(&self, incoming: Incoming) {
        let length = if let Incoming::Message { bytes, .. } = &incoming { bytes.len() } else { 0 };
        // Fails where nobody listens any more.
        let _ = self.incoming.send(incoming).await;
        lines::wait_until_read(&self.incoming, length).await;
    }
}

/// Serves a connection until it is asked to end.
async fn serve(
    shared: Arc<HttpConnection>,
    mut outgoing: mpsc::UnboundedReceiver<Outgoing>,
    mut asked: oneshot::Receiver<StopRequest>,
    process: Option<HttpServerProcess>,
) {
    let (process, control) = process.map_or((None, None), |process| (Some(process.stop), Some(process.control)));
    let control = StreamControl { process: control, gate: Arc::clone(&shared.gate) };
    let mut posts = Posts { shared: Arc::clone(&shared), tasks: JoinSet::new(), handles: BTreeMap::new(), control };
    let asked = loop {
        tokio::select! {
            asked = &mut asked => break asked.ok(),
            Some(ended) = posts.tasks.join_next(), if !posts.tasks.is_empty() => {
                // A task that was aborted is not listed any more.
                drop(ended.map(|frame| posts.handles.remove(&frame)));
            }
            message = outgoing.recv() => {
                let Some(message) = message else { break None };
                tokio::select! {
                    asked = &mut asked => break asked.ok(),
                    () = posts.take(message) => {}
                }
            }
        }
    };
    if let Some(StopRequest { order: Some(order), done }) = asked {
        // Requests in progress stay so: a server that is asked to end has open connections.
        let shutdown = match process {
            Some(process) => process.shut_down(order).await,
            None => None,
        };
        posts.tasks.shutdown().await;
        shared.streams.lock().abort_all();
        drop(shared);
        // Whoever asked may have gone.
        let _ = shutdown.map(|shutdown| done.send(shutdown));
        return;
    }
    posts.tasks.shutdown().await;
    shared.streams.lock().abort_all();
    if let Some(asked) = asked {
        end_session(&shared).await;
        if let Some(process) = process {
            process.stop().await;
        }
        drop(shared);
        drop(asked);
    }
}

/// Tells the server that its session is over; whether it cares is its own affair.
async fn end_session(shared: &HttpConnection) {
    let session = shared.session.lock().clone();
    if session.id.is_none() || session.endpoint.is_some() {
        return;
    }
    let headers = shared.session_headers();
    let request = head::HttpRequest::without_body(Method::DELETE, &shared.url, headers);
    let _ = timeout(DELETE_TIMEOUT, shared.send(request, None)).await;
}

/// The messages that are under way.
struct Posts {
    shared: Arc<HttpConnection>,
    tasks: JoinSet<u32>,
    handles: BTreeMap<u32, AbortHandle>,
    control: StreamControl,
}

impl Posts {
    async fn take(&mut self, outgoing: Outgoing) {
        let message = match outgoing {
            Outgoing::Message(message) => message,
            // Raw messages go over a connection of their own.
            Outgoing::Raw { .. } | Outgoing::End => return,
            Outgoing::Disruption(disruption) => {
                if disruption == Disruption::Kill {
                    sleep(KILL_DELAY).await;
                }
                return self.control.disrupt(disruption).await;
            }
            Outgoing::Abandon { frame } => {
                if let Some(task) = self.handles.remove(&frame) {
                    task.abort();
                }
                return;
            }
        };
        let (kind, era, frame) = (message.role, message.era, message.frame);
        if kind == MessageRole::Initialized {
            self.shared.session.lock().headers.clone_from(&message.headers);
        }
        let (on_head, has_head) = oneshot::channel();
        let shared = Arc::clone(&self.shared);
        let task = self.tasks.spawn(async move {
            if message.form == MessageForm::GivenUp {
                let _ = timeout(GIVEN_UP_AFTER, post::post(&shared, message, on_head)).await;
            } else {
                post::post(&shared, message, on_head).await;
            }
            frame
        });
        self.handles.insert(frame, task);
        if matches!(kind, MessageRole::Notification | MessageRole::Initialized) {
            let _ = timeout(NOTIFICATION_TIMEOUT, has_head).await;
        }
        if kind == MessageRole::Initialized && era == Era::Session && self.shared.session.lock().endpoint.is_none() {
            self.open_stream().await;
        }
    }

    /// Opens the stream on which a server sends what answers nothing.
    async fn open_stream(&self) {
        let (opened, is_opened) = oneshot::channel();
        let shared = Arc::clone(&self.shared);
        self.shared.streams.lock().spawn(async move { stream::listen(&shared, opened).await });
        let _ = timeout(STREAM_OPEN_TIMEOUT, is_opened).await;
    }
}
