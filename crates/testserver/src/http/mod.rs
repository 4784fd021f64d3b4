//! The demo server over streamable HTTP, both eras at one address: `http://HOST:PORT/mcp`.
//!
//! Ours instead of rmcp's service, which answers broken bodies with 415 and knows nothing of `era` and `envelope`; what a
//! request means is still rmcp's handler's to say. A POST travels `guard` (may it come at all) → `authorization` (whose is it) → `post`
//! (is it a message) → `session` or `stateless` (is it of that era) → `exchange` (rmcp) → `stream` (what is said, as JSON or as events).
//! A session has its own users; requests without a session, in 2026-07-28, share those of the process. With an authorization
//! server there is a second server at `/other`, whose tokens are its own.

mod authorization;
mod exchange;
mod guard;
mod mirrored;
mod post;
mod refused;
mod session;
mod stateless;
mod stream;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;

use mcprove_server::era::{LEGACY, MODERN};
use mcprove_server::transport::Input;
use tokio::net::TcpListener;
use tokio::sync::watch;

use self::authorization::AuthorizationServer;
use self::refused::Refused;
use self::session::Sessions;
use super::faulty::ServerFault;
use super::server::Conduct;
use super::settings::TokenUser;
use super::store::SharedStore;
use super::{ServeError, Settings};

const PATH: &str = "/mcp";

/// The path of the second server, which shares the authorization server with the first.
const SECOND_PATH: &str = "/other";

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// One of the servers at the address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    First,
    /// The one that is there only with an authorization server.
    Second,
}

impl Place {
    /// The server with this path.
    fn of(path: &str, conduct: &Conduct) -> Option<Self> {
        match path {
            PATH => Some(Self::First),
            SECOND_PATH => conduct.rules.authorization().map(|_| Self::Second),
            _ => None,
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::First => PATH,
            Self::Second => SECOND_PATH,
        }
    }
}

/// A server that has its port and answers nothing yet.
pub struct BoundServer {
    listener: TcpListener,
    address: SocketAddr,
    conduct: Conduct,
}

/// The state that all requests share.
struct ServerState {
    conduct: Conduct,
    sessions: Sessions,
    /// The users of all requests without a session.
    store: SharedStore,
    /// Those of the second user, if there is one.
    second_store: SharedStore,
    /// Those of clients that act for themselves.
    service_store: SharedStore,
    /// The one that issues tokens, if the server has one of its own.
    authorization: Option<AuthorizationServer>,
    /// Stays open as long as the server runs.
    input: watch::Sender<Input>,
}

impl BoundServer {
    /// Takes the port at `address`; port 0 takes any that is free.
    pub async fn new(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, conduct: Conduct::default() })
    }

    /// The same server under settings and with what it does wrong.
    pub fn with(self, settings: Settings, fault: &Arc<ServerFault>) -> Result<Self, ServeError> {
        Ok(Self { conduct: super::conduct(settings, fault)?, ..self })
    }

    /// The address at which clients find the server.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Answers until the future is dropped, or the server falls over; no client can end one that is right.
    pub async fn serve(self) -> Result<(), ServeError> {
        self.serve_within(|server| server).await
    }

    /// Does the same with layers around the server, which [`Router::layer`] adds.
    pub async fn serve_within(self, add_layers: impl FnOnce(Router) -> Router) -> Result<(), ServeError> {
        let fault = Arc::clone(&self.conduct.fault);
        let server = add_layers(router(Arc::new(ServerState::new(self.conduct))));
        let serving = axum::serve(self.listener, server);
        tokio::select! {
            end = serving.into_future() => end.map_err(ServeError::Accept),
            () = fault.wait_for_crash() => Err(ServeError::FellOver),
        }
    }
}

impl ServerState {
    fn new(conduct: Conduct) -> Self {
        let (input, _) = watch::channel(Input::Open);
        let [store, second_store, service_store] = [(); 3].map(|()| conduct.directory());
        let authorization = conduct.rules.authorization().map(AuthorizationServer::new);
        let sessions = Sessions::new(conduct.clone());
        Self { conduct, sessions, store, second_store, service_store, authorization, input }
    }

    /// The users of this user's requests without a session.
    fn store(&self, user: TokenUser) -> &SharedStore {
        match user {
            TokenUser::First => &self.store,
            TokenUser::Second => &self.second_store,
            TokenUser::Service => &self.service_store,
        }
    }
}

fn router(server: Arc<ServerState>) -> Router {
    let service = any(|State(server): State<Arc<ServerState>>, request: Request| async move {
        answer(&server, request).await.unwrap_or_else(IntoResponse::into_response)
    });
    Router::new().fallback(service).with_state(server)
}

async fn answer(server: &ServerState, mut request: Request) -> Result<Response, Refused> {
    guard::check(request.headers())?;
    if let Some(answer) = authorization::metadata(&request, &server.conduct) {
        return answer;
    }
    if let Some(issuer) = server.authorization.as_ref().filter(|_| authorization::serves(request.uri().path())) {
        return Ok(issuer.answer(request).await);
    }
    let place = Place::of(request.uri().path(), &server.conduct);
    let caller = authorization::check(&request, server, place.unwrap_or_default())?;
    server.sessions.admit(request.headers(), caller)?;
    request.extensions_mut().insert(caller);
    if place.is_none() {
        let message =
            format!("nothing is served at `{}`; the address of the server ends in `{PATH}`", request.uri().path());
        return Err(Refused::new(StatusCode::NOT_FOUND, message));
    }
    match *request.method() {
        Method::POST => post::answer(server, request).await,
        Method::GET => listen(server, request.headers()),
        Method::DELETE => end(server, request.headers()),
        _ => Err(Refused::method("GET, POST, DELETE")),
    }
}

/// The refusal of a request of a foreign page or to a foreign name; `None` for one that may come.
pub fn refuse_foreign(headers: &HeaderMap) -> Option<Response> {
    guard::check(headers).err().map(IntoResponse::into_response)
}

/// Opens a stream of a session, or goes on with one that broke.
fn listen(server: &ServerState, headers: &HeaderMap) -> Result<Response, Refused> {
    if !guard::accepts(headers, "text/event-stream") {
        return Err(Refused::new(StatusCode::NOT_ACCEPTABLE, "a GET must accept `text/event-stream`"));
    }
    only_sessions(headers)?;
    server.sessions.find(headers, None)?.listen(headers)
}

fn end(server: &ServerState, headers: &HeaderMap) -> Result<Response, Refused> {
    only_sessions(headers)?;
    server.sessions.end(headers)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// 2026-07-28 has neither sessions nor streams of their own.
fn only_sessions(headers: &HeaderMap) -> Result<(), Refused> {
    match version(headers)? {
        Some(version) if is_one_of(&MODERN, version) => Err(Refused::method("POST")),
        Some(version) if !is_one_of(&LEGACY, version) => Err(Refused::unknown_version(None, version)),
        Some(_) | None => Ok(()),
    }
}

/// The revision that the headers name.
fn version(headers: &HeaderMap) -> Result<Option<&str>, Refused> {
    single(headers, &PROTOCOL_VERSION).map_err(|message| Refused::new(StatusCode::BAD_REQUEST, message))
}

fn is_one_of(revisions: &[rmcp::model::ProtocolVersion], version: &str) -> bool {
    revisions.iter().any(|revision| revision.as_str() == version)
}

/// The value of a header that may come once at most.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(format!("the header `{name}` comes more than once"));
    }
    value.to_str().map(Some).map_err(|_| format!("the header `{name}` has characters that are not visible ASCII"))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn a_closed_stream_cancels_a_request_without_a_session() {
        let server = Arc::new(ServerState::new(Conduct::default()));
        let bound = BoundServer::new("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = bound.address;
        tokio::spawn(axum::serve(bound.listener, router(Arc::clone(&server))).into_future());
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, \
             text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        stream.read_u8().await.unwrap();
        // Whoever works on a request holds the users.
        assert!(Arc::strong_count(&server.store) > 1);
        drop(stream);
        while Arc::strong_count(&server.store) > 1 {
            tokio::task::yield_now().await;
        }
    }
}
