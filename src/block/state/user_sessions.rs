//! A fresh server with a session of each user that the suite names.

use super::foreign::UserSession;
use super::places::open_users;
use crate::check::{CheckEnd, CheckLimits, CheckSession, with_exit};
use crate::event::CheckResult;
use crate::plan::{CheckContext, OpenServer};
use crate::session::Session;

/// The server, and its users as far as they could log in.
pub(crate) struct UserSessions {
    host: Session,
    pub(crate) users: Vec<UserSession>,
    /// Why there are no further ones.
    pub(crate) opened: Result<(), CheckEnd>,
}

/// The sessions of the users in which a check makes its requests.
pub(crate) struct CheckedUsers<'a> {
    host: CheckSession<'a>,
    pub(crate) users: Vec<CheckedUser<'a>>,
}

/// The session of a user.
pub(crate) struct CheckedUser<'a> {
    pub(crate) name: String,
    pub(crate) session: CheckSession<'a>,
}

impl UserSessions {
    pub(crate) async fn open(context: &CheckContext<'_>) -> Result<Self, CheckEnd> {
        let host = context.servers.open(OpenServer::FRESH).await.map_err(CheckEnd::unavailable)?;
        let mut users = Vec::new();
        let opened = open_users(context, &host, &mut users).await;
        Ok(Self { host, users, opened })
    }

    /// The same sessions with the limits of a check, and whether every user has one.
    pub(crate) fn checked<'a>(
        self,
        context: &'a CheckContext<'a>,
        limits: &CheckLimits,
    ) -> (CheckedUsers<'a>, Result<(), CheckEnd>) {
        let checked = |session| CheckSession::of(session, context, limits.clone());
        let users = self.users.into_iter();
        let users = users.map(|user| CheckedUser { name: user.name, session: checked(user.session) }).collect();
        (CheckedUsers { host: checked(self.host), users }, self.opened)
    }
}

impl CheckedUsers<'_> {
    /// Closes all sessions; a server that ended counts as well.
    pub(crate) async fn close(self, result: CheckResult) -> CheckResult {
        let revision = self.host.session().server.revision.to_string();
        let mut exit = None;
        for user in self.users {
            exit = exit.or(user.session.close().await);
        }
        exit = self.host.close().await.or(exit);
        CheckResult { protocol_revision: revision, ..with_exit(result, exit) }
    }
}
