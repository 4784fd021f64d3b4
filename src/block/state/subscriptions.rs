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
use super::verdict::names;
use super::{IsolationKind, StateSettings};
use crate::check::canary::Canaries;
use crate::check::visit::{ShownText, VisitRound};
use crate::event::{CheckResult, Exchange, Finding, Outcome, Reason, RequirementLevel, Severity};
use crate::plan::arguments::ConfigSource;
use crate::plan::{BoxFuture, Check, CheckContext, OpenServer};
use crate::session::{Session, SessionRequest};
use crate::source::{beginning, duration_text};
use crate::wire::{Direction, Era};

/// How many resources are subscribed to.
const MOST_RESOURCES: usize = 16;

/// How many tools are called in the search for one that changes a resource.
const MOST_WRITERS: usize = 16;

/// How long an update may take.
const UPDATE_TIMEOUT: Duration = Duration::from_millis(500);

/// How often the messages of a session are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How much of a message is shown, in characters.
const SHOWN: usize = 600;

const UPDATED: &str = "notifications/resources/updated";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// Changes a resource to which one session has subscribed.
#[derive(Debug)]
pub(crate) struct SubscriptionsCheck {
    pub(crate) settings: Arc<StateSettings>,
    /// Whether the server offers subscriptions.
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
    let is_writer = |caller: &&CanaryCaller| !caller.only_reads && !caller.is_shared;
    let writers: Vec<&CanaryCaller> = callers.called.iter().filter(is_writer).take(MOST_WRITERS).collect();
    if writers.is_empty() {
        return callers.without_writers(ConfigSource::of(context.suite));
    }
    let until = Instant::now() + settings.time;
    let first = match round(check, context, &writers, until).await {
        Ok(seen) => seen,
        Err(result) => return *result,
    };
    // What shows in new sessions, too, is no accident.
    match round_again(&first, check, context, &writers, until).await {
        Some(again) => again.result(check, &writers, true),
        None => first.result(check, &writers, false),
    }
}

/// The second round, if the first one saw an update in the wrong session and this one does, too.
async fn round_again(
    first: &SeenUpdates,
    check: &SubscriptionsCheck,
    context: &CheckContext<'_>,
    writers: &[&CanaryCaller],
    until: Instant,
) -> Option<SeenUpdates> {
    if first.foreign.is_none() || first.exit.is_some() {
        return None;
    }
    let again = round(check, context, writers, until).await.ok()?;
    again.foreign.is_some().then_some(again)
}

/// An update, where it came.
struct SeenUpdate {
    uri: String,
    frame: u32,
    text: String,
}

/// The messages in the sessions of one round.
#[derive(Default)]
struct SeenUpdates {
    /// How many resources were subscribed to.
    subscribed: usize,
    /// The call after which an update came to the session that had subscribed.
    witness: Option<ShownText>,
    /// Whether a session beside it was looked at.
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
    is_out_of_time: bool,
    /// Why a request got no answer, the first time.
    failure: Option<String>,
    protocol_revision: String,
    frames: Vec<u32>,
    exit: Option<Finding>,
}

async fn round(
    check: &SubscriptionsCheck,
    context: &CheckContext<'_>,
    writers: &[&CanaryCaller],
    until: Instant,
) -> Result<SeenUpdates, Box<CheckResult>> {
    let host =
        context.servers.open(OpenServer::FRESH).await.map_err(|found| Box::new(CheckResult::unavailable(found)))?;
    let mut round = VisitRound::new(context, until.saturating_duration_since(Instant::now()));
    let is_stateless = host.server.revision.era() == Era::Stateless;
    // Over HTTP, clients without session ids cannot be told apart before 2026-07-28.
    let alone = host
        .endpoint()
        .filter(|_| !is_stateless)
        .and_then(|endpoint| without_sessions(host.server.revision, endpoint.session_id().is_some()));
    if let Some(why) = alone {
        round.close(host).await;
        return Err(Box::new(CheckResult::not_applicable(why)));
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
    seen.is_out_of_time = round.is_over();
    seen.failure = round.failed().map(|found| found.message);
    for session in other.into_iter().chain([host]) {
        round.close(session).await;
    }
    seen.frames = round.take_frames();
    seen.exit = round.exit();
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
            let arguments = self.arguments(writer);
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
            let arguments = self.arguments(writer);
            let call = self.round.call(self.host, &writer.name, &arguments).await;
            self.seen.unsubscribed = self.seen.unsubscribed.take().or(call.filter(|call| call.is_served));
        }
        sleep(UPDATE_TIMEOUT).await;
        self.seen.foreign = self.other.and_then(|other| received(other, 0, UPDATED).next());
        self.seen.unasked = received(self.host, 0, UPDATED).next();
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
        let timeout = Some(self.round.deadline.saturating_duration_since(Instant::now()));
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
            if self.wait_for(|study| received(study.host, 0, ACKNOWLEDGED).next().is_some()).await {
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
            let mut calls = vec![self.arguments(writer), writer.arguments.clone()];
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
                self.seen.foreign = self.other.and_then(|other| received(other, 0, UPDATED).find(is_private));
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

    fn arguments(&mut self, writer: &CanaryCaller) -> Value {
        let calls = writer.canary_calls(&mut self.canaries);
        calls.into_iter().next().map_or_else(|| writer.arguments.clone(), |call| call.arguments)
    }

    /// Waits for something that a session receives; `false` if it does not come.
    async fn wait_for(&self, has_come: impl Fn(&Self) -> bool) -> bool {
        let until = self.round.deadline.min(Instant::now() + UPDATE_TIMEOUT);
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
        received(session, after, UPDATED).find(|update| is_of_subscription(&update.uri))
    }
}

/// The notifications of a method that came in a session after a frame.
fn received(session: &Session, after: u32, method: &str) -> impl Iterator<Item = SeenUpdate> {
    let frames = session.frames().into_iter().filter(move |frame| frame.seq > after);
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
    fn result(self, check: &SubscriptionsCheck, writers: &[&CanaryCaller], is_confirmed: bool) -> CheckResult {
        let SubscriptionsCheck { settings, offers_updates } = check;
        let result = CheckResult {
            protocol_revision: self.protocol_revision.clone(),
            frames: self.frames.clone(),
            ..CheckResult::new(Outcome::Passed)
        };
        let exchanges: Vec<Exchange> =
            self.witness.iter().chain(&self.unsubscribed).map(|call| call.exchange.clone()).collect();
        let mut findings = Vec::new();
        findings.extend(self.foreign.as_ref().map(|update| self.foreign_update(settings, update, is_confirmed)));
        findings.extend(self.unasked.as_ref().map(|update| self.unasked_update(update)));
        findings.extend(self.late.as_ref().map(|update| self.late_update(update)));
        if !findings.is_empty() {
            let is_failure = findings.iter().any(|found| found.level == RequirementLevel::Must);
            let outcome = if is_failure { Outcome::Failed } else { Outcome::Warned };
            return CheckResult { outcome, findings, exchanges, ..result };
        }
        if let Some(exit) = self.exit {
            return CheckResult { outcome: Outcome::Failed, findings: vec![exit], ..result };
        }
        let because = |outcome: Outcome, reason: Reason| CheckResult { outcome, reason: Some(reason), ..result };
        if self.is_out_of_time {
            let limit = duration_text(settings.time);
            let why = format!("the time of {limit} ended before all tools were called; raise `time` or select `tools`");
            return because(Outcome::Inconclusive, Reason::NotEvaluated(why));
        }
        let failure = self.failure.map(|failure| format!(": {failure}")).unwrap_or_default();
        if let Some(call) = self.unsubscribed {
            let title = &call.exchange.title;
            let note = format!("the server offers no subscriptions, and sent no update: `{title}`");
            return because(Outcome::Passed, Reason::Measured(note));
        }
        if !offers_updates {
            let why = format!("no call was served that may change data{failure}");
            return because(Outcome::Inconclusive, Reason::NotEvaluated(why));
        }
        if self.subscribed == 0 {
            let why = format!("the server lists no resource to which it let a session subscribe{failure}");
            return because(Outcome::Inconclusive, Reason::NotEvaluated(why));
        }
        let Some(call) = self.witness else {
            let called: Vec<&str> = writers.iter().map(|writer| writer.name.as_str()).collect();
            let why = format!(
                "no update came to the session that had subscribed, so none could come to another one: no call of {} \
                 changes a resource that is listed",
                names(&called)
            );
            if failure.is_empty() {
                return because(Outcome::Skipped, Reason::NotApplicable(why));
            }
            return because(Outcome::Inconclusive, Reason::NotEvaluated(why + &failure));
        };
        let elsewhere = if self.has_other { ", to no other session," } else { "" };
        let title = &call.exchange.title;
        let note =
            format!("an update came to the session that subscribed{elsewhere} and none after its end: `{title}`");
        because(Outcome::Passed, Reason::Measured(note))
    }

    fn foreign_update(&self, settings: &StateSettings, update: &SeenUpdate, is_confirmed: bool) -> Finding {
        // Since 2026-07-28 the specification forbids it; before, a server may tell everybody by design.
        let is_certain = is_confirmed && (self.is_stateless || settings.promises(IsolationKind::Sessions));
        let message = format!("a session that subscribed to nothing was sent an update of `{}`", update.uri);
        let help = "send updates to the sessions that subscribed to the resource, not to all that are open";
        let help =
            if is_certain { help.to_owned() } else { format!("{help}; have this fail with `isolation: [sessions]`") };
        let reproduced =
            if is_confirmed { "once more, in new sessions" } else { "not in new sessions, so it is a warning" };
        Finding {
            level: if is_certain { RequirementLevel::Must } else { RequirementLevel::Should },
            severity: Some(if is_certain { Severity::High } else { Severity::Low }),
            exchange: self.has_call().then_some(0),
            frame: Some(update.frame),
            help: Some(help),
            ..Finding::new("foreign-update", message)
        }
        .with_evidence("received", update.text.clone())
        .with_evidence("reproduced", reproduced)
    }

    /// Up to 2025-11-25 the specification says only that updates should follow a subscription.
    fn unasked_update(&self, update: &SeenUpdate) -> Finding {
        let message = format!("an update of `{}` came, although the server offers no subscriptions", update.uri);
        let help = "declare `resources: { subscribe: true }`, and send updates to the sessions that subscribed";
        Finding {
            level: RequirementLevel::Should,
            severity: Some(Severity::Low),
            exchange: self.has_call().then_some(0),
            frame: Some(update.frame),
            help: Some(help.to_owned()),
            ..Finding::new("unasked-update", message)
        }
        .with_evidence("received", update.text.clone())
    }

    fn has_call(&self) -> bool {
        self.witness.is_some() || self.unsubscribed.is_some()
    }

    fn late_update(&self, update: &SeenUpdate) -> Finding {
        let message = format!("an update of `{}` came after the session had ended its subscription", update.uri);
        let help = "forget a subscription when it ends, before the request to end it is answered";
        Finding {
            level: RequirementLevel::Should,
            severity: Some(Severity::Low),
            exchange: self.witness.is_some().then_some(0),
            frame: Some(update.frame),
            help: Some(help.to_owned()),
            ..Finding::new("late-update", message)
        }
        .with_evidence("received", update.text.clone())
    }
}
