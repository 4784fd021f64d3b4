//! Subscriptions to resources: updates go to the session that subscribed, until it unsubscribes, and to no other one.
//!
//! One session subscribes to what it lists and calls the tools that may change data; over HTTP a session beside it has
//! subscribed to nothing. Nothing is judged before an update has come to the session that subscribed. A server that offers
//! no subscriptions has none to send updates for: there nobody subscribes.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::caller::{Callers, CanaryCaller};
use super::places::without_sessions;
use super::{IsolationKind, StateSettings};
use crate::check::canary::Canaries;
use crate::check::evidence::{finding_with_help, list_of_names};
use crate::check::visit::{ShownText, VisitRound};
use crate::check::{CheckEnd, CheckLimits, Confirmation};
use crate::event::{CheckResult, Finding, Outcome, Reason, RequirementLevel, Severity};
use crate::plan::arguments::ConfigSource;
use crate::plan::{BoxFuture, Check, CheckContext, OpenServer};
use crate::session::{Session, SessionRequest};
use crate::source::beginning;
use crate::wire::{Direction, Era, Frame};

/// The number of resources that are subscribed to.
const MOST_RESOURCES: usize = 16;

/// The number of tools that are called in the search for one that changes a resource.
const MOST_WRITERS: usize = 16;

/// The time that an update may take.
const UPDATE_TIMEOUT: Duration = Duration::from_millis(500);

/// The pause between two looks at the messages of a session.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The number of characters of a message that are shown.
const SHOWN: usize = 600;

const UPDATED: &str = "notifications/resources/updated";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// Changes a resource to which one session has subscribed.
#[derive(Debug)]
pub(crate) struct SubscriptionsCheck {
    pub(crate) settings: Arc<StateSettings>,
    /// The server offers subscriptions.
    pub(crate) offers_updates: bool,
}

impl Check for SubscriptionsCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

async fn run(check: &SubscriptionsCheck, context: &CheckContext<'_>) -> CheckResult {
    let settings = &*check.settings;
    let callers = Callers::of(context, settings);
    let writers: Vec<&CanaryCaller> = callers.writers().take(MOST_WRITERS).collect();
    if writers.is_empty() {
        return callers.end_without_writers(ConfigSource::of(context.suite)).into_result();
    }
    let limits = settings.limits();
    let first = match round(check, context, &writers, &limits).await {
        Ok(seen) => seen,
        Err(end) => return end.into_result(),
    };
    let names: Vec<&str> = writers.iter().map(|writer| writer.name.as_str()).collect();
    let is_promised = settings.promises(IsolationKind::Sessions);
    let facts =
        |confirmation| UpdateFacts { offers_updates: check.offers_updates, is_promised, confirmation, writers: &names };
    // A finding that new sessions confirm is no accident.
    let again = match &first.end {
        None if first.foreign.is_some() => round(check, context, &writers, &limits).await,
        Some(end) => Err(CheckEnd::failed(end.clone())),
        None => return first.result(&facts(Confirmation::of(0, 0))),
    };
    match again {
        Ok(again) if again.foreign.is_some() => again.result(&facts(Confirmation::of(1, 1))),
        again => first.result(&facts(Confirmation::of_try(again.map(|_| false)))),
    }
}

/// An update, where it came.
struct SeenUpdate {
    uri: String,
    frame: u32,
    text: String,
}

/// The facts with which updates are judged.
struct UpdateFacts<'a> {
    /// The server offers subscriptions.
    offers_updates: bool,
    /// The suite says that sessions are kept apart.
    is_promised: bool,
    /// The outcome of a second round, if the first one saw an update in the wrong session.
    confirmation: Confirmation,
    /// The tools that were called.
    writers: &'a [&'a str],
}

/// The messages in the sessions of one round.
#[derive(Default)]
struct SeenUpdates {
    /// The number of resources that were subscribed to.
    subscribed: usize,
    /// The call after which an update came to the session that had subscribed.
    witness: Option<ShownText>,
    /// A session beside it was looked at.
    has_other: bool,
    /// An update in the session beside it.
    foreign: Option<SeenUpdate>,
    /// A call that was served where the server offers no subscriptions.
    unsubscribed: Option<ShownText>,
    /// An update in the session that made it.
    unasked: Option<SeenUpdate>,
    /// An update after the end of the subscription.
    late: Option<SeenUpdate>,
    is_stateless: bool,
    /// The end of a round that ran out of time.
    spent: Option<CheckEnd>,
    /// The reason why a request got no answer, the first time.
    failure: Option<String>,
    protocol_revision: String,
    frames: Vec<u32>,
    /// The server ended, or answers nothing after one of the requests.
    end: Option<Finding>,
}

async fn round(
    check: &SubscriptionsCheck,
    context: &CheckContext<'_>,
    writers: &[&CanaryCaller],
    limits: &CheckLimits,
) -> Result<SeenUpdates, CheckEnd> {
    let host = context.servers.open(OpenServer::FRESH).await.map_err(CheckEnd::unavailable)?;
    let mut round = VisitRound::new(context, limits.clone());
    let is_stateless = host.server.revision.era() == Era::Stateless;
    // Over HTTP, clients without session ids cannot be told apart before 2026-07-28.
    let alone = host
        .endpoint()
        .filter(|_| !is_stateless)
        .and_then(|endpoint| without_sessions(host.server.revision, endpoint.session_id().is_some()));
    if let Some(why) = alone {
        round.close(host).await;
        return Err(CheckEnd::not_applicable(why));
    }
    let other = if host.endpoint().is_some() { context.servers.open(OpenServer::of(&host)).await.ok() } else { None };
    let seen = SeenUpdates {
        protocol_revision: host.server.revision.to_string(),
        has_other: other.is_some(),
        is_stateless,
        ..SeenUpdates::default()
    };
    let mut study = SubscriptionStudy {
        settings: &check.settings,
        offers_updates: check.offers_updates,
        round,
        host: &host,
        other: other.as_ref(),
        canaries: Canaries::random(),
        seen,
    };
    study.look(writers).await;
    let SubscriptionStudy { mut round, mut seen, .. } = study;
    seen.spent = limits.end_if_over();
    seen.failure = round.failure().map(|found| found.message);
    for session in other.into_iter().chain([host]) {
        round.close(session).await;
    }
    seen.frames = round.take_frames();
    seen.end = round.exit();
    if seen.end.is_none() && seen.foreign.is_none() {
        seen.end = round.find_silence().await;
    }
    Ok(seen)
}

/// Two sessions of which one subscribes.
struct SubscriptionStudy<'a, 's> {
    settings: &'a StateSettings,
    offers_updates: bool,
    round: VisitRound<'a>,
    host: &'s Session,
    other: Option<&'s Session>,
    canaries: Canaries,
    seen: SeenUpdates,
}

impl SubscriptionStudy<'_, '_> {
    async fn look(&mut self, writers: &[&CanaryCaller]) {
        // A call may make the resource that a later one changes.
        for writer in writers {
            let arguments = writer.arguments_with_canary(&mut self.canaries);
            self.round.call(self.host, &writer.name, &arguments).await;
        }
        if !self.offers_updates {
            return self.wait_for_unasked(writers).await;
        }
        let uris = self.resources().await;
        if self.seen.is_stateless {
            self.listen(&uris, writers).await;
        } else {
            self.subscribe(&uris, writers).await;
        }
    }

    /// The resources that are listed, those that the calls made first.
    async fn resources(&mut self) -> Vec<String> {
        let listed = self.round.ask(self.host, "resources/list", Value::Null, None).await;
        let result = listed.map(|shown| shown.result()).unwrap_or_default();
        let resources = result["resources"].as_array().into_iter().flatten();
        let mut uris: Vec<String> = resources.filter_map(|item| item["uri"].as_str().map(str::to_owned)).collect();
        uris.retain(|uri| !self.settings.is_shared(uri));
        uris.sort_by_key(|uri| self.canaries.find(uri).is_empty());
        uris.truncate(MOST_RESOURCES);
        uris
    }

    /// Calls tools while nobody has subscribed, and nobody could.
    async fn wait_for_unasked(&mut self, writers: &[&CanaryCaller]) {
        if let Some(other) = self.other {
            self.round.ask(other, "ping", Value::Null, None).await;
        }
        for writer in writers {
            let arguments = writer.arguments_with_canary(&mut self.canaries);
            let call = self.round.call(self.host, &writer.name, &arguments).await;
            self.seen.unsubscribed = self.seen.unsubscribed.take().or(call.filter(|call| call.is_served));
        }
        sleep(UPDATE_TIMEOUT).await;
        self.seen.foreign = self.other.and_then(|other| updates_in(other.frames(), 0, UPDATED).next());
        self.seen.unasked = updates_in(self.host.frames(), 0, UPDATED).next();
    }

    /// Subscriptions up to 2025-11-25.
    async fn subscribe(&mut self, uris: &[String], writers: &[&CanaryCaller]) {
        let mut subscribed = BTreeSet::new();
        for uri in uris {
            let answer = self.round.ask(self.host, "resources/subscribe", json!({"uri": uri}), None).await;
            if answer.is_some_and(|answer| answer.is_served) {
                subscribed.insert(uri.clone());
            }
        }
        self.seen.subscribed = subscribed.len();
        self.change(&subscribed, writers).await;
        if self.seen.witness.is_none() {
            return;
        }
        for uri in &subscribed {
            self.round.ask(self.host, "resources/unsubscribe", json!({"uri": uri}), None).await;
        }
        self.change_again(&subscribed).await;
    }

    /// Subscriptions since 2026-07-28, which last as long as their request.
    async fn listen(&mut self, uris: &[String], writers: &[&CanaryCaller]) {
        let (host, other, owner) = (self.host, self.other, self.round.context.owner);
        let timeout = Some(self.round.limits.remaining());
        let request = |notifications: Value| SessionRequest {
            owner,
            method: "subscriptions/listen",
            params: Some(json!({"notifications": notifications})),
            timeout,
            progress: false,
        };
        let own = host.request(request(json!({"resourceSubscriptions": uris})));
        // The other client listens to something else, so that an update could reach it.
        let beside = async {
            if let Some(other) = other {
                let _ = other.request(request(json!({"toolsListChanged": true, "promptsListChanged": true}))).await;
            }
            pending::<()>().await;
        };
        let subscribed: BTreeSet<String> = uris.iter().cloned().collect();
        let changing = async {
            if self.wait_for(|study| updates_in(study.host.frames(), 0, ACKNOWLEDGED).next().is_some()).await {
                self.seen.subscribed = subscribed.len();
                self.change(&subscribed, writers).await;
            }
        };
        // A subscription that is dropped is cancelled.
        tokio::select! {
            () = changing => {}
            _ = own => {}
            () = beside => {}
        }
        if self.seen.witness.is_some() {
            // A cancellation is not answered.
            sleep(UPDATE_TIMEOUT).await;
            self.change_again(&subscribed).await;
        }
    }

    /// Calls tools until an update comes to the session that subscribed, and looks for one in the other session.
    async fn change(&mut self, subscribed: &BTreeSet<String>, writers: &[&CanaryCaller]) {
        if subscribed.is_empty() {
            return;
        }
        for writer in writers {
            let mut calls = vec![writer.arguments_with_canary(&mut self.canaries), writer.arguments.base().clone()];
            calls.dedup();
            for arguments in calls {
                let mark = last_frame(self.host);
                let Some(call) = self.round.call(self.host, &writer.name, &arguments).await else { continue };
                if !self.wait_for(|study| study.update(study.host, mark, subscribed).is_some()).await {
                    continue;
                }
                self.seen.witness = Some(call);
                sleep(UPDATE_TIMEOUT).await;
                let is_private = |update: &SeenUpdate| !self.settings.is_shared(&update.uri);
                self.seen.foreign =
                    self.other.and_then(|other| updates_in(other.frames(), 0, UPDATED).find(is_private));
                return;
            }
        }
    }

    /// Makes the call once more that brought an update, after the end of the subscriptions.
    async fn change_again(&mut self, subscribed: &BTreeSet<String>) {
        let mark = last_frame(self.host);
        let Some(witness) = self.seen.witness.clone() else { return };
        self.round.repeat(self.host, &witness).await;
        sleep(UPDATE_TIMEOUT).await;
        self.seen.late = self.update(self.host, mark, subscribed);
    }

    /// Waits for something that a session receives; `false` if it does not come.
    async fn wait_for(&self, has_come: impl Fn(&Self) -> bool) -> bool {
        let until = self.round.limits.deadline().min(Instant::now() + UPDATE_TIMEOUT);
        while !has_come(self) {
            if Instant::now() >= until {
                return false;
            }
            sleep(POLL_INTERVAL).await;
        }
        true
    }

    /// An update of a resource of the subscription that came in a session after a frame, or one that names a canary.
    fn update(&self, session: &Session, after: u32, subscribed: &BTreeSet<String>) -> Option<SeenUpdate> {
        let is_of_subscription = |uri: &str| subscribed.contains(uri) || !self.canaries.find(uri).is_empty();
        updates_in(session.frames(), after, UPDATED).find(|update| is_of_subscription(&update.uri))
    }
}

/// The notifications of a method among the frames of a session, after one of them.
fn updates_in(frames: Vec<Frame>, after: u32, method: &str) -> impl Iterator<Item = SeenUpdate> {
    let frames = frames.into_iter().filter(move |frame| frame.seq > after);
    let received = frames.filter(|frame| frame.direction == Direction::Received);
    received.filter_map(move |frame| {
        let message = frame.json().ok().filter(|message| message["method"] == method)?;
        let uri = message["params"]["uri"].as_str().unwrap_or_default().to_owned();
        Some(SeenUpdate { uri, frame: frame.seq, text: beginning(&frame.text(), SHOWN) })
    })
}

fn last_frame(session: &Session) -> u32 {
    session.frames().last().map_or(0, |frame| frame.seq)
}

impl SeenUpdates {
    fn result(self, facts: &UpdateFacts<'_>) -> CheckResult {
        let (protocol_revision, frames) = (self.protocol_revision.clone(), self.frames.clone());
        let mut findings = Vec::new();
        findings.extend(self.foreign.as_ref().map(|update| self.foreign_update(update, facts)));
        findings.extend(self.unasked.as_ref().map(|update| self.unasked_update(update)));
        findings.extend(self.late.as_ref().map(|update| self.late_update(update)));
        let result = match &self.end {
            _ if !findings.is_empty() => {
                let calls = self.witness.iter().chain(&self.unsubscribed).map(|call| call.exchange.clone());
                CheckResult { exchanges: calls.collect(), ..CheckEnd::Failed(findings).into_result() }
            }
            Some(end) => CheckEnd::failed(end.clone()).into_result(),
            None => match self.judge_without_findings(facts) {
                Ok(note) => CheckResult::because(Outcome::Passed, Reason::Measured(note)),
                Err(end) => end.into_result(),
            },
        };
        CheckResult { protocol_revision, frames, ..result }
    }

    fn judge_without_findings(&self, facts: &UpdateFacts<'_>) -> Result<String, CheckEnd> {
        if let Some(spent) = &self.spent {
            return Err(spent.clone());
        }
        let failure = self.failure.as_ref().map(|failure| format!(": {failure}")).unwrap_or_default();
        if let Some(call) = &self.unsubscribed {
            let title = &call.exchange.title;
            return Ok(format!("the server offers no subscriptions, and sent no update: `{title}`"));
        }
        if !facts.offers_updates {
            return Err(CheckEnd::inconclusive(format!("no call was served that may change data{failure}")));
        }
        if self.subscribed == 0 {
            let why = format!("the server lists no resource to which it let a session subscribe{failure}");
            return Err(CheckEnd::inconclusive(why));
        }
        let Some(call) = &self.witness else {
            let why = format!(
                "no update came to the session that had subscribed, so none could come to another one: no call of {} \
                 changes a resource that is listed",
                list_of_names(facts.writers)
            );
            let is_answered = failure.is_empty();
            return Err(if is_answered {
                CheckEnd::not_applicable(why)
            } else {
                CheckEnd::inconclusive(why + &failure)
            });
        };
        let elsewhere = if self.has_other { ", to no other session," } else { "" };
        let title = &call.exchange.title;
        Ok(format!("an update came to the session that subscribed{elsewhere} and none after its end: `{title}`"))
    }

    fn foreign_update(&self, update: &SeenUpdate, facts: &UpdateFacts<'_>) -> Finding {
        // Since 2026-07-28 the specification forbids it; before, a server may tell everybody by design.
        let is_must = self.is_stateless || facts.is_promised;
        let is_certain = is_must && facts.confirmation.is_seen_again();
        let message = format!("a session that subscribed to nothing was sent an update of `{}`", update.uri);
        let help = "send updates to the sessions that subscribed to the resource, not to all that are open";
        let help =
            if is_certain { help.to_owned() } else { format!("{help}; have this fail with `isolation: [sessions]`") };
        let found = self.update_finding("foreign-update", message, help, update);
        let level = if is_must { RequirementLevel::Must } else { RequirementLevel::Should };
        let severity = if is_certain { Some(Severity::High) } else { found.severity };
        facts.confirmation.weigh(Finding { level, severity, ..found }, "in new sessions")
    }

    fn update_finding(
        &self,
        code: &'static str,
        message: String,
        help: impl Into<String>,
        update: &SeenUpdate,
    ) -> Finding {
        Finding {
            level: RequirementLevel::Should,
            severity: Some(Severity::Low),
            exchange: (self.witness.is_some() || self.unsubscribed.is_some()).then_some(0),
            frame: Some(update.frame),
            ..finding_with_help(code, message, help)
        }
        .with_evidence("received", update.text.clone())
    }

    /// Up to 2025-11-25 the specification says only that updates should follow a subscription.
    fn unasked_update(&self, update: &SeenUpdate) -> Finding {
        let message = format!("an update of `{}` came, although the server offers no subscriptions", update.uri);
        let help = "declare `resources: { subscribe: true }`, and send updates to the sessions that subscribed";
        self.update_finding("unasked-update", message, help, update)
    }

    fn late_update(&self, update: &SeenUpdate) -> Finding {
        let message = format!("an update of `{}` came after the session had ended its subscription", update.uri);
        let help = "forget a subscription when it ends, before the request to end it is answered";
        self.update_finding("late-update", message, help, update)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::frames;
    use crate::wire::Channel;

    fn update() -> Option<SeenUpdate> {
        Some(SeenUpdate { uri: "users://u1".to_owned(), frame: 7, text: "{}".to_owned() })
    }

    fn call() -> Option<ShownText> {
        Some(ShownText::of_test("add", "{}", true))
    }

    fn subscribed() -> SeenUpdates {
        SeenUpdates { subscribed: 1, witness: call(), has_other: true, ..SeenUpdates::default() }
    }

    fn facts(is_promised: bool, is_confirmed: bool) -> UpdateFacts<'static> {
        let confirmation = Confirmation::of_try(Ok(is_confirmed));
        UpdateFacts { offers_updates: true, is_promised, confirmation, writers: &["add"] }
    }

    #[test]
    fn an_update_in_another_session_fails_where_no_server_could_mean_it() {
        for (is_stateless, is_promised, is_confirmed, outcome) in [
            (true, false, true, Outcome::Failed),
            (false, true, true, Outcome::Failed),
            (false, false, true, Outcome::Warned),
            (true, true, false, Outcome::Warned),
        ] {
            let seen = SeenUpdates { foreign: update(), is_stateless, ..subscribed() };
            let result = seen.result(&facts(is_promised, is_confirmed));
            assert_eq!(result.outcome, outcome, "{is_stateless} {is_promised} {is_confirmed}");
            assert_eq!((result.exchanges.len(), result.findings[0].code.as_str()), (1, "foreign-update"));
        }
    }

    #[test]
    fn late_and_unasked_updates_are_warnings() {
        for (seen, code) in [
            (SeenUpdates { late: update(), ..subscribed() }, "late-update"),
            (SeenUpdates { unasked: update(), unsubscribed: call(), ..SeenUpdates::default() }, "unasked-update"),
        ] {
            let result = seen.result(&facts(true, true));
            assert_eq!((result.outcome, result.findings[0].code.as_str()), (Outcome::Warned, code));
        }
    }

    #[test]
    fn nothing_follows_before_an_update_has_come() {
        let silent = || SeenUpdates { witness: None, ..subscribed() };
        let late = || Some("no answer".to_owned());
        let spent = || Some(CheckLimits::new(Duration::from_secs(60), "").out_of_time());
        for (seen, outcome, says) in [
            (subscribed(), Outcome::Passed, "to no other session, and none after its end"),
            (SeenUpdates { unsubscribed: call(), ..SeenUpdates::default() }, Outcome::Passed, "sent no update"),
            (SeenUpdates { spent: spent(), ..subscribed() }, Outcome::Inconclusive, "the time of 1 min 0 s ended"),
            (SeenUpdates::default(), Outcome::Inconclusive, "lists no resource"),
            (silent(), Outcome::Skipped, "no call of `add` changes a resource"),
            (SeenUpdates { failure: late(), ..silent() }, Outcome::Inconclusive, "that is listed: no answer"),
            (SeenUpdates { end: Some(Finding::new("exit", "it ended")), ..subscribed() }, Outcome::Failed, "None"),
        ] {
            let result = seen.result(&facts(true, false));
            let reason = format!("{:?}", result.reason);
            assert!(result.outcome == outcome && reason.contains(says), "{says}: {:?} {reason}", result.outcome);
        }
        let facts = UpdateFacts { offers_updates: false, ..facts(true, false) };
        assert_eq!(SeenUpdates::default().result(&facts).outcome, Outcome::Inconclusive);
    }

    #[test]
    fn only_notifications_that_come_after_a_call_are_its_updates() {
        use Direction::{Received, Sent};
        let update =
            |uri: &str| format!(r#"{{"method": "notifications/resources/updated", "params": {{"uri": "{uri}"}}}}"#);
        for (comes, frame, expected) in [
            ("an update", (Received, Channel::Protocol, update("users://u1")), Some("users://u1")),
            // It still went to a session that subscribed to nothing.
            ("an update of no resource", (Received, Channel::Protocol, update("")), Some("")),
            ("a message of this program", (Sent, Channel::Protocol, update("users://u1")), None),
            ("a change of a list", (Received, Channel::Protocol, update("a").replace("updated", "list_changed")), None),
            ("a line of a log", (Received, Channel::Stderr, "updated users://u1".to_owned()), None),
            ("no JSON", (Received, Channel::Protocol, "{".to_owned()), None),
        ] {
            let (direction, channel, line) = &frame;
            let frames = frames(&[(*direction, *channel, &update("before")), (*direction, *channel, line)]);
            let seen = updates_in(frames, 1, UPDATED).map(|update| update.uri).collect::<Vec<_>>();
            assert_eq!(seen, Vec::from_iter(expected), "{comes}");
        }
    }

    #[test]
    fn every_wrong_update_is_a_finding_of_its_own() {
        let all = SeenUpdates { foreign: update(), late: update(), ..subscribed() };
        let exited = || Some(Finding::new("exit", "it ended"));
        for (sees, seen, codes) in [
            ("updates elsewhere and too late", all, &["foreign-update", "late-update"][..]),
            // The update is the cause to look at; the server is reported by its own case.
            (
                "an update elsewhere, then an exit",
                SeenUpdates { foreign: update(), end: exited(), ..subscribed() },
                &["foreign-update"],
            ),
            ("an exit", SeenUpdates { end: exited(), ..subscribed() }, &["exit"]),
        ] {
            let result = seen.result(&facts(true, true));
            let found: Vec<&str> = result.findings.iter().map(|found| found.code.as_str()).collect();
            assert_eq!(found, codes, "{sees}");
        }
    }

    #[test]
    fn a_server_without_subscriptions_is_judged_by_its_calls() {
        let facts = || UpdateFacts { offers_updates: false, ..facts(true, true) };
        let called = || SeenUpdates { unsubscribed: call(), has_other: true, ..SeenUpdates::default() };
        let silent = || SeenUpdates { failure: Some("no answer".to_owned()), ..SeenUpdates::default() };
        for (server, seen, outcome) in [
            ("sends nothing", called(), Outcome::Passed),
            ("tells the session that called", SeenUpdates { unasked: update(), ..called() }, Outcome::Warned),
            ("tells all sessions", SeenUpdates { foreign: update(), ..called() }, Outcome::Failed),
            ("serves no call", SeenUpdates::default(), Outcome::Inconclusive),
            ("answers no call", silent(), Outcome::Inconclusive),
        ] {
            assert_eq!(seen.result(&facts()).outcome, outcome, "it {server}");
        }
    }
}
