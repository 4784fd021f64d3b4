//! Finds out which era a server speaks, and begins to speak it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::call::era_meta;
use super::failure::Failure;
use super::peer::{Answered, Outgoing, Peer};
use super::{CallFailure, Connector, OpenFailure, ServerIdentity, Session, Settings};
use crate::wire::{Era, Revision};

/// The owner of handshakes and listings in the transcript.
pub(super) const NOBODY: &str = "";

/// How long the question for the newer era may go unanswered before the older handshake is tried.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

impl Session {
    /// Connects and shakes hands within the time for a start.
    ///
    /// Without a fixed revision `server/discover` is asked first, and anything but an answer of the newer era leads
    /// to `initialize` (basic/versioning, 2026-07-28); a server that ends the connection in whatever way because
    /// of the question is started again.
    pub async fn open(connect: &Connector<'_>, settings: Settings) -> Result<Self, OpenFailure> {
        let begun = Instant::now();
        let deadline = begun + settings.start_timeout;
        let peer = connected(connect, &settings).await?;
        let opened = match settings.revision.or(settings.known) {
            Some(revision) => open_as(&peer, revision, &settings, deadline).await,
            None => match probe(&peer, &settings, deadline).await {
                Ok(Some(identity)) => Ok(identity),
                Ok(None) => open_as(&peer, Revision::NEWEST_WITH_SESSION, &settings, deadline).await,
                Err(failure) if !failure.alive => {
                    drop(peer.close().await);
                    let peer = connected(connect, &settings).await?;
                    let opened = open_as(&peer, Revision::NEWEST_WITH_SESSION, &settings, deadline).await;
                    return finish(peer, opened, settings, begun).await;
                }
                Err(failure) => Err(OpenFailure::Handshake(failure)),
            },
        };
        finish(peer, opened, settings, begun).await
    }
}

async fn connected(connect: &Connector<'_>, settings: &Settings) -> Result<Peer, OpenFailure> {
    let link = connect().await.map_err(OpenFailure::Connect)?;
    Ok(Peer::new(link, settings.answers.clone()))
}

async fn finish(
    peer: Peer,
    opened: Result<ServerIdentity, OpenFailure>,
    settings: Settings,
    begun: Instant,
) -> Result<Session, OpenFailure> {
    match opened {
        Ok(identity) => {
            peer.lock().set_era(identity.revision.era());
            let server = ServerIdentity { ready: begun.elapsed(), ..identity };
            Ok(Session { peer, settings, server })
        }
        Err(failure) => {
            peer.close().await;
            Err(with_limit(failure, settings.start_timeout))
        }
    }
}

/// A start that timed out names the limit that the user set, not what was left of it.
fn with_limit(mut failure: OpenFailure, limit: Duration) -> OpenFailure {
    if let OpenFailure::Handshake(CallFailure { failure: Failure::Timeout(after), .. }) = &mut failure {
        *after = limit;
    }
    failure
}

async fn open_as(
    peer: &Peer,
    revision: Revision,
    settings: &Settings,
    deadline: Instant,
) -> Result<ServerIdentity, OpenFailure> {
    match revision.era() {
        Era::Session => initialize(peer, revision, settings, deadline).await,
        Era::Stateless => {
            let answered = discover(peer, settings, deadline).await.map_err(OpenFailure::Handshake)?;
            identity_of_discovery(peer, &answered.message)
                .ok_or_else(|| OpenFailure::NotSpoken { asked: revision, speaks: spoken_words(&answered.message) })
        }
    }
}

/// Asks for the newer era; `None` means that the older one is to be tried.
async fn probe(peer: &Peer, settings: &Settings, deadline: Instant) -> Result<Option<ServerIdentity>, CallFailure> {
    let soon = deadline.min(Instant::now() + PROBE_TIMEOUT.min(settings.start_timeout / 2));
    match discover(peer, settings, soon).await {
        Ok(answered) => Ok(identity_of_discovery(peer, &answered.message)),
        Err(CallFailure { failure: Failure::Timeout(_) | Failure::Protocol(_), alive: true, .. }) => Ok(None),
        Err(failure) => Err(failure),
    }
}

async fn discover(peer: &Peer, settings: &Settings, deadline: Instant) -> Result<Answered, CallFailure> {
    let meta = era_meta(Revision::NEWEST.as_str(), &settings.answers.capabilities());
    let params = Some(json!({"_meta": meta}));
    peer.lock().set_era(Era::Session);
    peer.exchange(Outgoing { owner: NOBODY, method: "server/discover", params, deadline, progress: false }).await
}

fn identity_of_discovery(peer: &Peer, message: &Value) -> Option<ServerIdentity> {
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
        ready: Duration::ZERO,
        transport: peer.transport,
    })
}

/// What a server that refused the newer era speaks, as far as its refusal tells.
fn spoken_words(message: &Value) -> String {
    let supported = &message["error"]["data"]["supported"];
    let named: Vec<&str> = supported.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if named.is_empty() { "an older revision".to_owned() } else { named.join(" and ") }
}

async fn initialize(
    peer: &Peer,
    revision: Revision,
    settings: &Settings,
    deadline: Instant,
) -> Result<ServerIdentity, OpenFailure> {
    let params = Some(json!({
        "protocolVersion": revision.as_str(),
        "capabilities": settings.answers.capabilities(),
        "clientInfo": client_info(),
    }));
    let outgoing = Outgoing { owner: NOBODY, method: "initialize", params, deadline, progress: false };
    let answered = peer.exchange(outgoing).await.map_err(OpenFailure::Handshake)?;
    let refused = |message: String| OpenFailure::Refused { message, stderr: peer.lock().transcript.stderr_tail(12) };
    let Some(result) = answered.message.get("result") else {
        if settings.revision.is_some() && answered.message["error"]["code"] == -32022 {
            return Err(OpenFailure::NotSpoken { asked: revision, speaks: spoken_words(&answered.message) });
        }
        return Err(refused(format!("the server refused `initialize`: {}", answered.message["error"])));
    };
    let version = result["protocolVersion"].as_str().unwrap_or_default();
    let Some(spoken) = Revision::parse(version) else {
        return Err(refused(format!("the server answered `initialize` with the unknown revision `{version}`")));
    };
    if settings.revision.is_some_and(|asked| asked != spoken) {
        return Err(OpenFailure::NotSpoken { asked: revision, speaks: spoken.to_string() });
    }
    peer.notify(NOBODY, "notifications/initialized", None);
    Ok(ServerIdentity {
        revision: spoken,
        implementation: implementation(&result["serverInfo"]),
        capabilities: result["capabilities"].clone(),
        ready: Duration::ZERO,
        transport: peer.transport,
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
