//! Answers that every cache may hand to anybody, since they say `cacheScope: public`: they must be the same for all users
//! (2026-07-28, server/utilities/caching, cache scope field).
//!
//! The first user writes something, so that there is data of its own. Then each user makes each request twice, in the order
//! one, other, other, one: what differs between two requests of one user says nothing of users, and what stays the same for
//! each and differs between them is somebody's own data.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::StateSettings;
use super::caller::Callers;
use super::search::Search;
use super::seen::Seen;
use super::user_sessions::{CheckedUser, UserSessions};
use crate::check::evidence::{exchange, finding_with_help, list_of_names};
use crate::check::{CheckEnd, CheckLimits, CheckRequest, CheckSession};
use crate::event::{CheckResult, Exchange, Finding, Outcome, Severity};
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::session::{FailureReason, SessionReply};
use crate::source::beginning_of_json;
use crate::wire::ListKind;

/// The most resources of a user that are read.
const MOST_RESOURCES: usize = 20;

/// The characters of an answer that are shown.
const SHOWN: usize = 300;

/// Makes requests as several users whose answers caches may share.
#[derive(Debug)]
pub(crate) struct SharedCachesCheck {
    pub(crate) settings: Arc<StateSettings>,
}

impl Check for SharedCachesCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(&self.settings, &context).await.unwrap_or_else(CheckEnd::into_result) })
    }
}

async fn run(settings: &StateSettings, context: &CheckContext<'_>) -> Result<CheckResult, CheckEnd> {
    let users = UserSessions::open(context).await?;
    let limits = settings.limits();
    let callers = Callers::of(context, settings);
    let mut search = Search::new(context, settings, &callers.called, Seen::default());
    if let (Ok(()), Some(writer)) = (&users.opened, users.users.first()) {
        search.write(&writer.session).await;
    }
    let seen = search.into_seen().await;
    let has_written = seen.written.iter().any(|sent| sent.shown.is_served && !callers.called[sent.tool].only_reads);
    let (users, opened) = users.checked(context, &limits);
    let mut compared = Compared { frames: seen.frames, ..Compared::default() };
    let end = match opened {
        Ok(()) => compared.compare_all(&users.users, &limits).await,
        Err(end) => Err(end),
    };
    let result = compared.conclude(end.err(), has_written, users.users.first().map_or("", |user| &user.name));
    Ok(users.close(result).await)
}

/// What was found so far.
#[derive(Default)]
struct Compared {
    /// The number of answers that are the same for all.
    same: usize,
    /// The requests whose answers differ for one user.
    unsteady: Vec<String>,
    /// The requests whose answers a cache must not share.
    leaks: Vec<(String, Finding)>,
    exchanges: Vec<Exchange>,
    frames: Vec<u32>,
}

impl Compared {
    async fn compare_all(&mut self, users: &[CheckedUser<'_>], limits: &CheckLimits) -> Result<(), CheckEnd> {
        let [first, others @ ..] = users else { return Err(CheckEnd::inconclusive("there is no user")) };
        for request in requests(users).await? {
            for other in others {
                if limits.end_if_over().is_some() {
                    return Err(limits.out_of_time());
                }
                if self.compare(&request, [first, other]).await? == Sharing::Leak {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn compare(
        &mut self,
        request: &CacheableRequest,
        [owner, other]: [&CheckedUser<'_>; 2],
    ) -> Result<Sharing, CheckEnd> {
        let mut answers = Vec::new();
        for user in [owner, other, other, owner] {
            answers.push(CachedAnswer::of(&user.session, request).await?);
        }
        self.frames.extend(answers.iter().flat_map(|answer| answer.frames.iter().copied()));
        let [one, two, two_again, one_again] = &answers[..] else { return Ok(Sharing::NotPublic) };
        let sharing = judge([&one.message, &one_again.message], [&two.message, &two_again.message]);
        let title = request.title();
        match sharing {
            Sharing::NotPublic => {}
            Sharing::Same => self.same += 1,
            Sharing::Unsteady => self.unsteady.push(title),
            Sharing::Leak => {
                let users = [(owner.name.as_str(), one), (other.name.as_str(), two)];
                let shown = users.iter().filter_map(|(name, answer)| answer.exchange(&title, name));
                self.exchanges.extend(shown);
                self.leaks.push((title.clone(), leak(&title, users)));
            }
        }
        Ok(sharing)
    }

    /// The verdict; what was found stands, whatever ended the comparison.
    fn conclude(self, end: Option<CheckEnd>, has_written: bool, writer: &str) -> CheckResult {
        let Self { same, unsteady, leaks, exchanges, frames } = self;
        let result = match (one_finding(leaks), end) {
            (Some(found), _) => CheckResult::with_findings(Outcome::Failed, vec![found]),
            (None, Some(end)) => end.into_result(),
            (None, None) if same == 0 && unsteady.is_empty() => {
                CheckResult::not_applicable("no answer says `cacheScope: public`, so no cache may share any")
            }
            (None, None) if same == 0 => {
                let answers = list_of_names(&unsteady);
                CheckResult::inconclusive(format!("answers to {answers} change each time, so they cannot be compared"))
            }
            (None, None) if !has_written => CheckResult::not_given(format!(
                "no call of `{writer}` wrote anything, so all users may have the same data; let the run call a tool that \
                 writes, with `allow: [TOOL]`"
            )),
            (None, None) => CheckResult::new(Outcome::Passed),
        };
        CheckResult { exchanges, frames, ..result }
    }
}

/// The first leak, with the names of the requests that leak as well: they have one cause.
fn one_finding(leaks: Vec<(String, Finding)>) -> Option<Finding> {
    let mut leaks = leaks.into_iter();
    let (_, first) = leaks.next()?;
    let others: Vec<String> = leaks.map(|(title, _)| title).collect();
    Some(if others.is_empty() { first } else { first.with_evidence("also affected", list_of_names(&others)) })
}

/// An answer to one user; a refusal by HTTP is one, too.
struct CachedAnswer {
    message: Value,
    frames: Vec<u32>,
    reply: Option<SessionReply>,
}

impl CachedAnswer {
    async fn of(session: &CheckSession<'_>, request: &CacheableRequest) -> Result<Self, CheckEnd> {
        match session.send(request.made()).await {
            Ok(reply) => Ok(Self {
                message: (*reply.message).clone(),
                frames: vec![reply.frame, reply.answer_frame],
                reply: Some(reply),
            }),
            Err(failure) => match refusal(&failure.reason) {
                Some(error) => {
                    let message = json!({ "error": error });
                    Ok(Self { message, frames: failure.frame.into_iter().collect(), reply: None })
                }
                None => Err(session.end_of(failure)),
            },
        }
    }

    fn exchange(&self, title: &str, user: &str) -> Option<Exchange> {
        Some(exchange(&format!("{title} as {user}"), self.reply.as_ref()?))
    }
}

/// What a request was refused with, where nothing else went wrong; a server that is busy refuses nobody in particular.
pub(crate) fn refusal(reason: &FailureReason) -> Option<Value> {
    match reason {
        FailureReason::RefusedWhole(answer) => Some(answer["error"].clone()),
        FailureReason::Http(failure) => {
            let status = failure.bare_status().filter(|status| matches!(status, 401 | 403 | 404))?;
            Some(json!({ "code": status, "message": format!("HTTP {status}") }))
        }
        FailureReason::Timeout(_)
        | FailureReason::Exited(_)
        | FailureReason::Protocol(_)
        | FailureReason::NotRead(_) => None,
    }
}

/// A request whose answer may be cached.
struct CacheableRequest {
    method: &'static str,
    params: Value,
}

impl CacheableRequest {
    fn title(&self) -> String {
        let uri = self.params["uri"].as_str().map(|uri| format!(" {uri}")).unwrap_or_default();
        format!("{}{uri}", self.method)
    }

    fn made(&self) -> CheckRequest<'_> {
        CheckRequest::new(self.method, self.params.clone())
    }
}

/// The first pages of the lists that the server declares, the resources that it lists to any user, and what it says of
/// itself.
async fn requests(users: &[CheckedUser<'_>]) -> Result<Vec<CacheableRequest>, CheckEnd> {
    let (kinds, mut uris) = (ListKind::ALL.into_iter(), BTreeSet::new());
    let sessions = || users.iter().map(|user| &user.session);
    let offered: Vec<ListKind> = kinds.filter(|kind| sessions().any(|session| session.offers(*kind))).collect();
    for session in sessions().filter(|session| session.offers(ListKind::Resources)) {
        let reply = session.request(CheckRequest::new(ListKind::Resources.method(), Value::Null)).await?;
        let listed = reply.message["result"][ListKind::Resources.member()].as_array().into_iter().flatten();
        uris.extend(listed.filter_map(|resource| resource["uri"].as_str()).take(MOST_RESOURCES).map(str::to_owned));
    }
    let lists = offered.into_iter().map(|kind| CacheableRequest { method: kind.method(), params: Value::Null });
    let reads =
        uris.into_iter().map(|uri| CacheableRequest { method: "resources/read", params: json!({ "uri": uri }) });
    Ok(lists.chain(reads).collect())
}

/// What follows from the answers to two users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// No cache may share them.
    NotPublic,
    /// A cache that shares them gives everybody what the server would give.
    Same,
    /// They are not even the same for one user.
    Unsteady,
    /// A cache that shares them gives somebody what the server gave to another user.
    Leak,
}

/// Judges two answers to each of two users. An answer that is refused to the other one counts as another answer.
fn judge(one: [&Value; 2], two: [&Value; 2]) -> Sharing {
    let is_public = |answer: &Value| answer["result"]["cacheScope"] == "public";
    let [first, second] = [one, two].map(|answers| content(answers[0]));
    if !is_public(one[0]) && !is_public(two[0]) {
        return Sharing::NotPublic;
    }
    if first != content(one[1]) || second != content(two[1]) {
        return Sharing::Unsteady;
    }
    if first == second { Sharing::Same } else { Sharing::Leak }
}

/// What an answer says, without hints for caches and what is about this answer alone.
fn content(answer: &Value) -> Value {
    let Some(error) = answer.get("error") else {
        let mut result = answer["result"].clone();
        if let Some(members) = result.as_object_mut() {
            members.retain(|name, _| !["ttlMs", "cacheScope", "_meta"].contains(&name.as_str()));
        }
        return result;
    };
    error["code"].clone()
}

fn leak(title: &str, users: [(&str, &CachedAnswer); 2]) -> Finding {
    let [(owner, _), (other, _)] = users;
    let message = format!(
        "`{title}` says `cacheScope: public`, but `{owner}` and `{other}` get different answers: a cache may show one of them \
         what is for the other"
    );
    let help = "answer with `cacheScope: private` wherever the answer depends on who asks (2026-07-28, server/utilities/caching)";
    let found = finding_with_help("public-cache-leak", message, help);
    let found = Finding { severity: Some(Severity::High), path: Some(title.to_owned()), ..found };
    users.into_iter().fold(found, |found, (name, CachedAnswer { message, .. })| {
        let said = message.get("error").unwrap_or(&message["result"]);
        found.with_evidence(&format!("answer to `{name}`"), beginning_of_json(said, SHOWN))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn public_answers_are_the_same_for_all() {
        let answer = |scope: &str, text: &str| json!({ "result": { "contents": [{ "text": text }], "cacheScope": scope, "ttlMs": text.len() } });
        let refusal = |message: &str| json!({ "error": { "code": -32602, "message": message } });
        let public = |text: &str| answer("public", text);
        for (what, one, two, expected) in [
            ("equal", [public("a"), public("a")], [public("a"), public("a")], Sharing::Same),
            ("of each", [public("a"), public("a")], [public("b"), public("b")], Sharing::Leak),
            (
                "private, of each",
                [answer("private", "a"), answer("private", "a")],
                [answer("private", "b"), answer("private", "b")],
                Sharing::NotPublic,
            ),
            (
                "public for one",
                [public("a"), public("a")],
                [answer("private", "b"), answer("private", "b")],
                Sharing::Leak,
            ),
            ("refused to one", [public("a"), public("a")], [refusal("no"), refusal("not for you")], Sharing::Leak),
            ("refused to both", [refusal("no"), refusal("no")], [refusal("no"), refusal("no")], Sharing::NotPublic),
            ("a clock", [public("1"), public("3")], [public("2"), public("4")], Sharing::Unsteady),
            ("refused once", [public("a"), public("a")], [refusal("busy"), public("a")], Sharing::Unsteady),
            ("changed meanwhile", [public("a"), public("b")], [public("b"), public("b")], Sharing::Unsteady),
        ] {
            assert_eq!(judge([&one[0], &one[1]], [&two[0], &two[1]]), expected, "{what}");
        }
    }

    #[test]
    fn a_pass_needs_a_public_answer_and_data_of_a_user() {
        let some = || vec!["tools/list".to_owned()];
        let leaks = || vec![("tools/list".to_owned(), Finding::new("public-cache-leak", "they differ"))];
        let end = || Some(CheckEnd::inconclusive("the time is over"));
        for (what, same, unsteady, leaks, end, has_written, expected) in [
            ("all the same", 1, vec![], vec![], None, true, Outcome::Passed),
            ("one changes each time", 1, some(), vec![], None, true, Outcome::Passed),
            ("nobody wrote", 1, vec![], vec![], None, false, Outcome::Skipped),
            ("none is public", 0, vec![], vec![], None, true, Outcome::Skipped),
            ("all change each time", 0, some(), vec![], None, true, Outcome::Inconclusive),
            ("a leak", 1, some(), leaks(), None, true, Outcome::Failed),
            ("a leak, and nobody wrote", 0, vec![], leaks(), None, false, Outcome::Failed),
            ("a leak before the end", 0, vec![], leaks(), end(), true, Outcome::Failed),
            ("an end", 1, vec![], vec![], end(), true, Outcome::Inconclusive),
        ] {
            let compared = Compared { same, unsteady, leaks, ..Compared::default() };
            assert_eq!(compared.conclude(end, has_written, "ann").outcome, expected, "{what}");
        }
    }

    #[test]
    fn only_a_refusal_of_this_user_is_an_answer() {
        let whole = FailureReason::RefusedWhole(Arc::new(json!({ "error": { "code": -32600, "message": "no" } })));
        for (reason, expected) in [(whole, true), (FailureReason::Timeout(Duration::ZERO), false)] {
            assert_eq!(refusal(&reason).is_some(), expected, "{reason:?}");
        }
    }
}
