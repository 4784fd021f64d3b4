//! Connects to a server, and begins to speak the era that it speaks.
//!
//! Without a fixed revision `server/discover` is sent first, and anything but an answer of the newer era leads to
//! `initialize` (2026-07-28, basic/versioning). Silence does too, yet it may be a slow start: then both requests are
//! open, and the newer era wins whenever its answer comes.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use super::answered::OpenCalls;
use super::answers::not_offered;
use super::call::{client_info, era_meta};
use super::own_values::OwnValues;
use super::peer::Connection;
use super::state::OutgoingRequest;
use super::{
    CallFailure, ClosedSession, Connector, FailureReason, NotOpened, OpenFailure, ServerIdentity, Session,
    SessionReply, SessionSettings, failure,
};
use crate::transport::http::Endpoint;
use crate::transport::{ConnectionBreak, HttpFailure, Owner, TransportKind};
use crate::wire::{Era, Revision};

/// The error of a server that does not speak the revision it was addressed in (2026-07-28, basic/versioning).
const UNSUPPORTED_REVISION: i64 = -32022;

/// The time that `server/discover` may go unanswered before the older handshake is tried as well.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The interval at which a server that is about to listen is asked again.
const LISTEN_INTERVAL: Duration = Duration::from_millis(50);

/// The number of connections that a server may close before it serves.
const MOST_RESETS: usize = 3;

/// The revision of the older handshake.
const OLDER: Revision = Revision::NEWEST_WITH_SESSION;

impl Session {
    /// Connects and shakes hands within the time for a start.
    ///
    /// A server that ends the connection because of `server/discover` is started again and gets the older handshake.
    pub async fn open(connect: &Connector<'_>, settings: SessionSettings) -> Result<Self, Box<NotOpened>> {
        let begun = Instant::now();
        let deadline = begun + settings.start_timeout;
        let mut peer = connect_peer(connect, &settings, &[]).await?;
        let known = settings.revision.or(settings.known);
        if !settings.performs_handshake {
            // No ordinary request comes before the first raw one.
            if let Some(endpoint) = &peer.endpoint {
                endpoint.fetch_token().await;
            }
            let revision = known.unwrap_or(OLDER);
            peer.lock().set_era(revision.era());
            if revision.era() == Era::Stateless {
                peer.lock().headers.speak(revision);
            }
            let server = identity(&peer, revision, &Value::Null, &Value::Null);
            return Ok(Self {
                peer,
                settings,
                server,
                earlier: Vec::new(),
                starting: Mutex::default(),
                calls: OpenCalls::default(),
                own_values: OwnValues::default(),
            });
        }
        let mut earlier = Vec::new();
        let mut opened = Handshake { peer: &peer, settings: &settings, deadline }.open(known).await;
        if known.is_none()
            && let Err(OpenFailure::Handshake(CallFailure { alive: false, .. })) = &opened
        {
            earlier.push(peer.close(Duration::ZERO).await);
            peer = connect_peer(connect, &settings, &earlier).await?;
            opened = Handshake { peer: &peer, settings: &settings, deadline }.open(Some(OLDER)).await;
        }
        match opened {
            Ok(identity) => {
                peer.lock().set_era(identity.revision.era());
                peer.lock().headers.speak(identity.revision);
                let server = ServerIdentity { ready: begun.elapsed(), ..identity };
                Ok(Self {
                    peer,
                    settings,
                    server,
                    earlier,
                    starting: Mutex::default(),
                    calls: OpenCalls::default(),
                    own_values: OwnValues::default(),
                })
            }
            Err(failure) => {
                earlier.push(peer.close(Duration::ZERO).await);
                Err(Box::new(NotOpened { failure, connections: earlier }))
            }
        }
    }
}

async fn connect_peer(
    connect: &Connector<'_>,
    settings: &SessionSettings,
    earlier: &[ClosedSession],
) -> Result<Connection, Box<NotOpened>> {
    match connect().await {
        Ok(link) => Ok(Connection::new(link, settings.answers.clone())),
        Err(error) => Err(Box::new(NotOpened { failure: OpenFailure::Connect(error), connections: earlier.to_vec() })),
    }
}

/// The identity of a server from a result and from its description of itself.
fn identity(peer: &Connection, revision: Revision, result: &Value, info: &Value) -> ServerIdentity {
    let version = info["version"].as_str().map(|version| format!(" {version}")).unwrap_or_default();
    ServerIdentity {
        revision,
        implementation: info["name"].as_str().map(|name| format!("{name}{version}")),
        capabilities: result["capabilities"].clone(),
        result: result.clone().into(),
        ready: Duration::ZERO,
        transport: peer.transport(),
    }
}

/// The era that an answer to `server/discover` shows.
enum ServerEra {
    Newer(ServerIdentity),
    Older,
}

/// A handshake with a server.
struct Handshake<'a> {
    peer: &'a Connection,
    settings: &'a SessionSettings,
    deadline: Instant,
}

impl Handshake<'_> {
    /// Begins to speak a revision, or finds out which era the server speaks.
    async fn open(&self, revision: Option<Revision>) -> Result<ServerIdentity, OpenFailure> {
        match revision.map(|revision| (revision, revision.era())) {
            None => self.negotiate().await,
            Some((revision, Era::Session)) => {
                let answered = self.send_initialize(revision).await?;
                self.judge_initialize(revision, &answered.message)
            }
            Some((asked, Era::Stateless)) => {
                let message = self.discover().await.map_err(OpenFailure::Handshake)?.message;
                let not_spoken = || OpenFailure::NotSpoken { asked, speaks: supported_revisions(&message) };
                self.read_discovery(&message).ok_or_else(not_spoken)
            }
        }
    }

    async fn negotiate(&self) -> Result<ServerIdentity, OpenFailure> {
        // HTTP+SSE is older than the newer era.
        if self.peer.transport() == TransportKind::Sse {
            return self.initialize().await;
        }
        let mut discovering = pin!(self.discover());
        let soon = self.deadline.min(Instant::now() + PROBE_TIMEOUT.min(self.settings.start_timeout / 2));
        let Ok(answered) = timeout_at(soon, &mut discovering).await else {
            return self.ask_both(discovering).await;
        };
        match self.era_of_answer(answered)? {
            ServerEra::Newer(identity) => Ok(identity),
            ServerEra::Older => self.initialize().await,
        }
    }

    /// Waits for the answers to both requests after a silence.
    async fn ask_both<D>(&self, mut discovering: Pin<&mut D>) -> Result<ServerIdentity, OpenFailure>
    where
        D: Future<Output = Result<SessionReply, CallFailure>>,
    {
        let mut initializing = pin!(self.send_initialize(OLDER));
        let answered = tokio::select! {
            biased;
            answered = &mut discovering => {
                return match self.era_of_answer(answered)? {
                    ServerEra::Newer(identity) => Ok(identity),
                    ServerEra::Older => self.settle(&initializing.await?.message).await,
                };
            }
            answered = &mut initializing => answered?,
        };
        let message = &answered.message;
        if message.get("result").is_some() {
            return self.judge_initialize(OLDER, message);
        }
        // A server that refuses the older handshake may still be about to answer the newer request.
        let soon = self.deadline.min(Instant::now() + PROBE_TIMEOUT);
        let until = if names_newer_era(message) { self.deadline } else { soon };
        match timeout_at(until, discovering).await.map(|answered| self.era_of_answer(answered)) {
            Ok(Ok(ServerEra::Newer(identity))) => Ok(identity),
            Ok(Err(failure)) => Err(failure),
            Ok(Ok(ServerEra::Older)) | Err(_) => self.settle(message).await,
        }
    }

    fn era_of_answer(&self, answered: Result<SessionReply, CallFailure>) -> Result<ServerEra, OpenFailure> {
        match answered {
            Ok(answered) if refuses_newer_request(&answered.message) => {
                Err(self.refusal(format!("the server refused `server/discover`: {}", answered.message["error"])))
            }
            Ok(answered) => Ok(self.read_discovery(&answered.message).map_or(ServerEra::Older, ServerEra::Newer)),
            Err(CallFailure {
                reason: FailureReason::Timeout(_) | FailureReason::Protocol(_), alive: true, ..
            }) => Ok(ServerEra::Older),
            Err(CallFailure { reason: FailureReason::Http(failure), alive: true, .. }) if is_of_older(&failure) => {
                Ok(ServerEra::Older)
            }
            Err(failure) => Err(OpenFailure::Handshake(failure)),
        }
    }

    /// The older handshake alone.
    async fn initialize(&self) -> Result<ServerIdentity, OpenFailure> {
        let answered = self.send_initialize(OLDER).await?;
        self.settle(&answered.message).await
    }

    /// Judges the answer to `initialize`; a refusal that names the newer era leads back to it.
    async fn settle(&self, message: &Value) -> Result<ServerIdentity, OpenFailure> {
        if names_newer_era(message)
            && let ServerEra::Newer(identity) = self.era_of_answer(self.discover().await)?
        {
            return Ok(identity);
        }
        self.judge_initialize(OLDER, message)
    }

    async fn discover(&self) -> Result<SessionReply, CallFailure> {
        let meta = era_meta(Revision::NEWEST.as_str(), &self.settings.answers.capabilities());
        self.peer.lock().set_era(Era::Session);
        self.send("server/discover", json!({"_meta": meta})).await
    }

    async fn send_initialize(&self, revision: Revision) -> Result<SessionReply, OpenFailure> {
        let params = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": self.settings.answers.capabilities(),
            "clientInfo": client_info(),
        });
        self.send("initialize", params).await.map_err(OpenFailure::Handshake)
    }

    async fn send(&self, method: &str, params: Value) -> Result<SessionReply, CallFailure> {
        let (params, limit) = (Some(params), self.settings.start_timeout);
        let (owner, deadline) = (&Owner::Session, self.deadline);
        let (progress, is_extended_by_progress) = (false, false);
        let mut resets = 0;
        loop {
            let params = params.clone();
            let request = OutgoingRequest { owner, method, params, deadline, limit, progress, is_extended_by_progress };
            match self.peer.exchange(request).await {
                Err(failure) if self.is_about_to_listen(&failure, &mut resets) => sleep(LISTEN_INTERVAL).await,
                answered => return answered,
            }
        }
    }

    /// The connection failed since a server that was started here does not serve yet: some listen at their port for a
    /// moment to find out whether it is free, and take the first connections with it.
    fn is_about_to_listen(&self, failure: &CallFailure, resets: &mut usize) -> bool {
        let is_ours = self.peer.endpoint.as_ref().is_some_and(Endpoint::is_ours);
        let FailureReason::Http(reason) = &failure.reason else { return false };
        let is_reset = matches!(reason, HttpFailure::Reset(ConnectionBreak::BeforeHeaders));
        *resets += usize::from(is_reset);
        let is_early = matches!(reason, HttpFailure::ConnectionRefused { .. }) || is_reset && *resets <= MOST_RESETS;
        is_ours && failure.alive && is_early && Instant::now() < self.deadline
    }

    fn read_discovery(&self, message: &Value) -> Option<ServerIdentity> {
        let result = message.get("result")?;
        let versions = result["supportedVersions"].as_array()?.iter();
        let versions = versions.filter_map(|version| Revision::parse(version.as_str()?));
        let revision = versions.filter(|revision| revision.era() == Era::Stateless).max()?;
        Some(identity(self.peer, revision, result, &result["_meta"]["io.modelcontextprotocol/serverInfo"]))
    }

    /// Judges the answer to `initialize`, and completes the handshake where it is right.
    fn judge_initialize(&self, asked: Revision, message: &Value) -> Result<ServerIdentity, OpenFailure> {
        let fixed = self.settings.revision;
        let Some(result) = message.get("result") else {
            if fixed.is_some() && message["error"]["code"] == UNSUPPORTED_REVISION {
                return Err(OpenFailure::NotSpoken { asked, speaks: supported_revisions(message) });
            }
            if message["error"] == not_offered("initialize") {
                let message = "the server only sends back what it is sent, so it is no MCP server";
                return Err(self.refusal(message.to_owned()));
            }
            let status = self.peer.lock().transcript.last_status().filter(|status| *status >= 400);
            let status = status.map(|status| format!(" with HTTP {status}")).unwrap_or_default();
            return Err(self.refusal(format!("the server refused `initialize`{status}: {}", message["error"])));
        };
        let version = result["protocolVersion"].as_str().unwrap_or_default();
        let Some(spoken) = Revision::parse(version) else {
            return Err(self.refusal(format!("the server answered `initialize` with the unknown revision `{version}`")));
        };
        if fixed.is_some_and(|asked| asked != spoken) {
            return Err(OpenFailure::NotSpoken { asked, speaks: spoken.to_string() });
        }
        self.peer.lock().headers.speak(spoken);
        self.peer.notify(&Owner::Session, "notifications/initialized", None);
        Ok(identity(self.peer, spoken, result, &result["serverInfo"]))
    }

    fn refusal(&self, message: String) -> OpenFailure {
        OpenFailure::Refused { message, stderr: self.peer.lock().transcript.stderr_tail(failure::STDERR_LINES) }
    }
}

/// The revisions that a refusal of the newer era names.
fn offered_revisions(message: &Value) -> impl Iterator<Item = &str> {
    let supported = message["error"]["data"]["supported"].as_array();
    supported.into_iter().flatten().filter_map(Value::as_str)
}

fn supported_revisions(message: &Value) -> String {
    let named: Vec<&str> = offered_revisions(message).collect();
    if named.is_empty() { "an older revision".to_owned() } else { named.join(" and ") }
}

fn names_newer_era(message: &Value) -> bool {
    let mut supported = offered_revisions(message).filter_map(Revision::parse);
    message["error"]["code"] == UNSUPPORTED_REVISION && supported.any(|revision| revision.era() == Era::Stateless)
}

/// A server that knows the newer era refuses the request (2026-07-28, error codes).
fn refuses_newer_request(message: &Value) -> bool {
    matches!(message["error"]["code"].as_i64(), Some(-32020 | -32021))
}

/// Statuses with which a server may refuse what it does not understand; others mean the same in both eras.
fn is_of_older(failure: &HttpFailure) -> bool {
    let is_silent = matches!(failure, HttpFailure::StreamEnded { .. });
    is_silent || matches!(failure.bare_status(), Some(400 | 404 | 405 | 406 | 415))
}
