//! The sessions in which canaries are written, and those in which they are looked for, for each kind of isolation.

use std::collections::BTreeSet;

use super::foreign::UserSession;
use super::search::Search;
use crate::check::CheckEnd;
use crate::plan::{CheckContext, OpenServer, ServerChoice};
use crate::session::Session;
use crate::suite::ServerKind;
use crate::wire::{Era, Revision};

/// The reason for which sessions cannot be compared.
pub(crate) const SECOND_SESSION_REFUSED: &str = "the server refused a second session while one was open";

impl Search<'_> {
    /// Looks in a session beside the one that writes, and over HTTP in one that begins after the end of that; without
    /// session ids, a session is a client of its own.
    pub(crate) async fn in_sessions(&mut self, host: Session) -> Result<(), CheckEnd> {
        let servers = self.round.context.servers;
        let Some(endpoint) = host.endpoint() else { return self.in_processes(host).await };
        self.seen.is_stateless = host.server.revision.era() == Era::Stateless;
        self.seen.without_sessions = without_sessions(host.server.revision, endpoint.session_id().is_some());
        let (writer, other) = (servers.open(OpenServer::of(&host)).await, servers.open(OpenServer::of(&host)).await);
        let (Ok(writer), Ok(other)) = (writer, other) else {
            self.close(host).await;
            return Err(CheckEnd::inconclusive(SECOND_SESSION_REFUSED));
        };
        let ids = [&host, &writer, &other].map(|session| session.endpoint()?.session_id());
        self.seen.shared_id = shared_id(ids.into_iter().flatten());
        self.write(&writer).await;
        self.look(&other, "in another session").await;
        self.close(other).await;
        self.close(writer).await;
        if let Ok(later) = servers.open(OpenServer::of(&host)).await {
            self.look(&later, "in a session after its end").await;
            self.close(later).await;
        }
        self.close(host).await;
        Ok(())
    }

    /// The same where a process has one session.
    async fn in_processes(&mut self, host: Session) -> Result<(), CheckEnd> {
        let other = match self.round.context.servers.open(OpenServer::FRESH).await {
            Ok(other) => other,
            Err(found) => {
                self.close(host).await;
                return Err(CheckEnd::unavailable(found));
            }
        };
        self.write(&host).await;
        self.look(&other, "in another process").await;
        self.close(other).await;
        self.close(host).await;
        Ok(())
    }

    /// Looks in a server that is started after the end of the one that was written to.
    pub(crate) async fn in_runs(&mut self, first: Session) -> Result<(), CheckEnd> {
        self.write(&first).await;
        self.close(first).await;
        if self.round.exit().is_some() {
            return Ok(());
        }
        let opened = self.round.context.servers.open(OpenServer::FRESH).await;
        let next = opened.map_err(CheckEnd::unavailable)?;
        self.look(&next, "in the next run").await;
        self.close(next).await;
        Ok(())
    }

    /// Writes as the first user, and looks as every other one.
    pub(crate) async fn as_users(&mut self, host: Session) -> Result<(), CheckEnd> {
        let mut users = Vec::new();
        let opened = open_users(self.round.context, &host, &mut users).await;
        if let (Ok(()), [writer, others @ ..]) = (&opened, users.as_slice()) {
            self.write(&writer.session).await;
            for other in others {
                self.look(&other.session, &format!("to the user `{}`", other.name)).await;
                self.look_in_foreign_session(writer, other).await;
            }
        }
        for user in users {
            self.close(user.session).await;
        }
        self.close(host).await;
        opened
    }
}

/// Opens a session for each user of the server.
pub(crate) async fn open_users(
    context: &CheckContext<'_>,
    host: &Session,
    users: &mut Vec<UserSession>,
) -> Result<(), CheckEnd> {
    for name in user_names(context) {
        let opened = context
            .servers
            .open(OpenServer { server: ServerChoice::AsUser { session: host, user: &name }, ..OpenServer::FRESH })
            .await;
        let session = opened.map_err(|found| {
            CheckEnd::inconclusive(format!("the server does not serve the user `{name}`: {}", found.message))
        })?;
        let same = users.iter().find(|user| user.has_credentials_of(&session)).map(|user| user.name.clone());
        users.push(UserSession { name: name.clone(), session });
        if let Some(other) = same {
            let why = format!("the users `{other}` and `{name}` send the same headers, so they are one user");
            return Err(CheckEnd::inconclusive(why));
        }
    }
    Ok(())
}

/// The users that the suite names for the server.
pub(crate) fn user_names(context: &CheckContext<'_>) -> Vec<String> {
    match context.suite.servers.get(context.server_name).map(|server| &server.kind) {
        Some(ServerKind::Url(http)) => http.users.iter().map(|user| user.name.value.clone()).collect(),
        Some(ServerKind::Command(_) | ServerKind::Builtin(_)) | None => Vec::new(),
    }
}

/// The reason for which clients of a server over HTTP have no sessions that could be kept apart.
pub(crate) fn without_sessions(revision: Revision, has_session_id: bool) -> Option<String> {
    if revision.era() == Era::Stateless {
        Some(format!(
            "revision {revision} has no sessions over HTTP, so clients of one user share their data; if the server serves \
             older revisions, too, say for example `protocol: 2025-11-25`"
        ))
    } else if has_session_id {
        None
    } else {
        Some("the server gives no session ids over HTTP, so it cannot tell its clients apart".to_owned())
    }
}

/// The id that two of the sessions have which are open at the same time.
fn shared_id(mut ids: impl Iterator<Item = String>) -> Option<String> {
    let mut known = BTreeSet::new();
    ids.find(|id| !known.insert(id.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_kept_apart_where_something_tells_them_apart() {
        for (revision, has_session_id, says) in [
            (Revision::V2025_11_25, true, None),
            (Revision::V2025_11_25, false, Some("gives no session ids")),
            (Revision::V2026_07_28, false, Some("has no sessions over HTTP")),
            // The id is a header that nothing asks for any more.
            (Revision::V2026_07_28, true, Some("has no sessions over HTTP")),
        ] {
            let why = without_sessions(revision, has_session_id);
            assert!(
                why.as_deref().map(|why| says.is_some_and(|says| why.contains(says))) == says.map(|_| true),
                "{why:?}"
            );
        }
    }

    #[test]
    fn an_id_is_shared_if_two_open_sessions_have_it() {
        for (ids, expected) in [
            (&["a", "b", "c"][..], None),
            (&["a", "b", "a"], Some("a")),
            (&["a", "a", "a"], Some("a")),
            // A server may give an id to some sessions only.
            (&["a"], None),
            (&[], None),
        ] {
            assert_eq!(shared_id(ids.iter().map(ToString::to_string)).as_deref(), expected, "{ids:?}");
        }
    }
}
