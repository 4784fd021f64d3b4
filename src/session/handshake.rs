//! Connects to a server, and begins to speak the era that it speaks.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::call::era_meta;
use super::peer::{Connection, OutgoingRequest, RequestAnswer};
use super::{
    CallFailure, ClosedSession, Connector, NotOpened, OpenFailure, ServerIdentity, Session, SessionSettings,
    negotiation,
};
use crate::wire::{Era, Revision};

/// The owner of handshakes and listings in the transcript: no case.
pub(super) const NO_OWNER: &str = "";

/// The error of a server that does not speak the revision it was addressed in (2026-07-28, basic/versioning).
pub(super) const UNSUPPORTED_REVISION: i64 = -32022;

impl Session {
    /// Connects and shakes hands within the time for a start.
    ///
    /// Without a fixed revision the server is asked which era it speaks; one that ends the connection in whatever way
    /// because of the question is started again and gets the older handshake.
    pub async fn open(connect: &Connector<'_>, settings: SessionSettings) -> Result<Self, Box<NotOpened>> {
        let begun = Instant::now();
        let deadline = begun + settings.start_timeout;
        let peer = connect_peer(connect, &settings, &[]).await?;
        if !settings.performs_handshake {
            return Ok(without_handshake(peer, settings));
        }
        let opened = match settings.revision.or(settings.known) {
            Some(revision) => open_as(&peer, revision, &settings, deadline).await,
            None => match negotiation::negotiate(&peer, &settings, deadline).await {
                Err(OpenFailure::Handshake(failure)) if !failure.alive => {
                    let first = [peer.close(Duration::ZERO).await];
                    let peer = connect_peer(connect, &settings, &first).await?;
                    let opened = open_as(&peer, Revision::NEWEST_WITH_SESSION, &settings, deadline).await;
                    return finish(peer, opened, settings, begun, &first).await;
                }
                opened => opened,
            },
        };
        finish(peer, opened, settings, begun, &[]).await
    }
}

/// A session in which nothing was said yet.
fn without_handshake(peer: Connection, settings: SessionSettings) -> Session {
    let revision = settings.revision.or(settings.known).unwrap_or(Revision::NEWEST_WITH_SESSION);
    peer.lock().set_era(revision.era());
    if revision.era() == Era::Stateless {
        peer.lock().headers.speak(revision);
    }
    let server = ServerIdentity {
        revision,
        implementation: None,
        capabilities: Value::Null,
        result: Value::Null.into(),
        ready: Duration::ZERO,
        transport: peer.transport(),
    };
    Session { peer, settings, server, earlier: Vec::new(), starting: Mutex::default() }
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

async fn finish(
    peer: Connection,
    opened: Result<ServerIdentity, OpenFailure>,
    settings: SessionSettings,
    begun: Instant,
    earlier: &[ClosedSession],
) -> Result<Session, Box<NotOpened>> {
    match opened {
        Ok(identity) => {
            peer.lock().set_era(identity.revision.era());
            peer.lock().headers.speak(identity.revision);
            let server = ServerIdentity { ready: begun.elapsed(), ..identity };
            Ok(Session { peer, settings, server, earlier: earlier.to_vec(), starting: Mutex::default() })
        }
        Err(failure) => {
            let mut connections = earlier.to_vec();
            connections.push(peer.close(Duration::ZERO).await);
            Err(Box::new(NotOpened { failure, connections }))
        }
    }
}

async fn open_as(
    peer: &Connection,
    revision: Revision,
    settings: &SessionSettings,
    deadline: Instant,
) -> Result<ServerIdentity, OpenFailure> {
    match revision.era() {
        Era::Session => initialize(peer, revision, settings, deadline).await,
        Era::Stateless => {
            let answered = discover(peer, settings, deadline).await.map_err(OpenFailure::Handshake)?;
            identity_of_discovery(peer, &answered.message).ok_or_else(|| OpenFailure::NotSpoken {
                asked: revision,
                speaks: supported_revisions(&answered.message),
            })
        }
    }
}

pub(super) async fn discover(
    peer: &Connection,
    settings: &SessionSettings,
    deadline: Instant,
) -> Result<RequestAnswer, CallFailure> {
    let meta = era_meta(Revision::NEWEST.as_str(), &settings.answers.capabilities());
    let params = Some(json!({"_meta": meta}));
    peer.lock().set_era(Era::Session);
    let limit = settings.start_timeout;
    peer.exchange(OutgoingRequest {
        owner: NO_OWNER,
        method: "server/discover",
        params,
        deadline,
        limit,
        progress: false,
    })
    .await
}

pub(super) fn identity_of_discovery(peer: &Connection, message: &Value) -> Option<ServerIdentity> {
    let result = message.get("result")?;
    let versions = result["supportedVersions"].as_array()?;
    let revision = versions
        .iter()
        .filter_map(|version| Revision::parse(version.as_str()?))
        .filter(|revision| revision.era() == Era::Stateless)
        .max()?;
    Some(ServerIdentity {
        revision,
        implementation: implementation(&result["_meta"]["io.modelcontextprotocol/serverInfo"]),
        capabilities: result["capabilities"].clone(),
        result: result.clone().into(),
        ready: Duration::ZERO,
        transport: peer.transport(),
    })
}

/// The revisions that a refusal of the newer era names.
fn supported_revisions(message: &Value) -> String {
    let supported = &message["error"]["data"]["supported"];
    let named: Vec<&str> = supported.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if named.is_empty() { "an older revision".to_owned() } else { named.join(" and ") }
}

async fn initialize(
    peer: &Connection,
    revision: Revision,
    settings: &SessionSettings,
    deadline: Instant,
) -> Result<ServerIdentity, OpenFailure> {
    let answered = send_initialize(peer, revision, settings, deadline).await?;
    judge_initialize(peer, revision, settings, &answered.message)
}

pub(super) async fn send_initialize(
    peer: &Connection,
    revision: Revision,
    settings: &SessionSettings,
    deadline: Instant,
) -> Result<RequestAnswer, OpenFailure> {
    let params = Some(json!({
        "protocolVersion": revision.as_str(),
        "capabilities": settings.answers.capabilities(),
        "clientInfo": client_info(),
    }));
    let limit = settings.start_timeout;
    let outgoing = OutgoingRequest { owner: NO_OWNER, method: "initialize", params, deadline, limit, progress: false };
    peer.exchange(outgoing).await.map_err(OpenFailure::Handshake)
}

/// Judges the answer to `initialize`, and completes the handshake where it is right.
pub(super) fn judge_initialize(
    peer: &Connection,
    revision: Revision,
    settings: &SessionSettings,
    message: &Value,
) -> Result<ServerIdentity, OpenFailure> {
    let refused = |message: String| OpenFailure::Refused { message, stderr: peer.lock().transcript.stderr_tail(12) };
    let Some(result) = message.get("result") else {
        if settings.revision.is_some() && message["error"]["code"] == UNSUPPORTED_REVISION {
            return Err(OpenFailure::NotSpoken { asked: revision, speaks: supported_revisions(message) });
        }
        let status = peer.lock().transcript.last_status().filter(|status| *status >= 400);
        let status = status.map(|status| format!(" with HTTP {status}")).unwrap_or_default();
        return Err(refused(format!("the server refused `initialize`{status}: {}", message["error"])));
    };
    let version = result["protocolVersion"].as_str().unwrap_or_default();
    let Some(spoken) = Revision::parse(version) else {
        return Err(refused(format!("the server answered `initialize` with the unknown revision `{version}`")));
    };
    if settings.revision.is_some_and(|asked| asked != spoken) {
        return Err(OpenFailure::NotSpoken { asked: revision, speaks: spoken.to_string() });
    }
    peer.lock().headers.speak(spoken);
    peer.notify(NO_OWNER, "notifications/initialized", None);
    Ok(ServerIdentity {
        revision: spoken,
        implementation: implementation(&result["serverInfo"]),
        capabilities: result["capabilities"].clone(),
        result: result.clone().into(),
        ready: Duration::ZERO,
        transport: peer.transport(),
    })
}

/// How this client introduces itself.
pub(super) fn client_info() -> Value {
    json!({"name": "mcprove", "version": env!("CARGO_PKG_VERSION")})
}

fn implementation(info: &Value) -> Option<String> {
    let name = info["name"].as_str()?;
    Some(info["version"].as_str().map_or_else(|| name.to_owned(), |version| format!("{name} {version}")))
}
