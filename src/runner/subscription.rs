//! A step that listens: it subscribes, collects what is announced while other steps run, and ends its subscription.
//!
//! Since 2026-07-28 a subscription is a request that stays open, and the server acknowledges the part of the filter that it
//! serves (basic/patterns/subscriptions). Before that, a client subscribes to each resource (server/resources), and changes
//! of lists are announced to every session, if the server declares that it does so. The scans of the session judge every
//! message; this module says what came, and what the server did not agree to.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::event::{Exchange, Finding, RequirementLevel};
use crate::session::{Notifications, ReceivedNotification, Session, SessionReply, SessionRequest, Subscription};
use crate::source::duration_text;
use crate::suite::NotificationFilter;
use crate::transport::Owner;
use crate::wire::Era;

const NOT_SUBSCRIBED: &str = "not-subscribed";

const UNSUBSCRIBE: &str = "resources/unsubscribe";

/// Somebody who wants to listen.
pub(crate) struct Listener<'a> {
    pub(crate) session: &'a Session,
    pub(crate) owner: &'a Owner,
    pub(crate) filter: NotificationFilter,
    /// The time until the server has agreed, and then for what is expected to come.
    pub(crate) limit: Duration,
}

/// What a server says to somebody who wants to listen.
pub(crate) enum Agreement<'a> {
    Listening(Box<Listening<'a>>),
    /// An error.
    Refusal(SessionReply),
}

/// A subscription that is open.
pub(crate) struct Listening<'a> {
    listener: Listener<'a>,
    /// The request that keeps it open; `None` up to 2025-11-25.
    subscription: Option<Subscription<'a>>,
    /// The resources that it is subscribed to up to 2025-11-25.
    watched: Watched<'a>,
    notifications: Notifications,
    /// The answer of the step, with the notifications so far.
    reply: SessionReply,
    /// Nothing more can come.
    is_over: bool,
}

/// Resources to which a session is subscribed up to 2025-11-25. What is left of them when nobody listens any more, as after
/// the time of a case, is unsubscribed without waiting, because other cases may use the session.
struct Watched<'a> {
    session: &'a Session,
    owner: &'a Owner,
    uris: VecDeque<String>,
}

impl Watched<'_> {
    /// Unsubscribes from all of them.
    async fn leave(mut self, listener: &Listener<'_>) -> Result<(), Finding> {
        while let Some(uri) = self.uris.pop_front() {
            listener.ask(UNSUBSCRIBE, &uri).await?;
        }
        Ok(())
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        for uri in &self.uris {
            self.session.ask_in_passing(self.owner, UNSUBSCRIBE, json!({ "uri": uri }));
        }
    }
}

impl<'a> From<Listening<'a>> for Agreement<'a> {
    fn from(listening: Listening<'a>) -> Self {
        Self::Listening(Box::new(listening))
    }
}

impl<'a> Listener<'a> {
    /// Subscribes, and waits until the server has agreed.
    pub(crate) async fn subscribe(self, exchange: &mut Exchange) -> Result<Agreement<'a>, Finding> {
        match self.session.server.revision.era() {
            Era::Session => self.subscribe_to_each(exchange).await,
            Era::Stateless => self.listen(exchange).await,
        }
    }

    /// Subscribes up to 2025-11-25.
    async fn subscribe_to_each(self, exchange: &mut Exchange) -> Result<Agreement<'a>, Finding> {
        let (begun, notifications) = (Instant::now(), self.session.notifications());
        let undeclared = undeclared(&self.filter, &self.session.server.capabilities);
        if !undeclared.is_empty() {
            let message = format!("the server does not declare {}", undeclared.join(" and "));
            return Err(not_subscribed(message, "declare it, or take it out of `listen`"));
        }
        let (mut frames, mut watched) = (None, self.watched());
        for uri in &self.filter.resources {
            let reply = self.ask("resources/subscribe", uri).await?;
            exchange.frame = reply.frame;
            if reply.message.get("error").is_some() {
                watched.leave(&self).await?;
                return Ok(Agreement::Refusal(reply));
            }
            watched.uris.push_back(uri.clone());
            frames = Some((frames.map_or(reply.frame, |(first, _)| first), reply.answer_frame));
        }
        let (frame, answer_frame) = frames.unwrap_or_default();
        exchange.frame = frame;
        let message = answer(&Value::Null, &self.filter.to_json());
        let params = self.filter.to_json();
        let elapsed = begun.elapsed();
        let reply = SessionReply { message, params, frame, answer_frame, elapsed, notifications: Vec::new() };
        Ok(Listening { listener: self, subscription: None, watched, notifications, reply, is_over: false }.into())
    }

    /// Subscribes since 2026-07-28.
    async fn listen(self, exchange: &mut Exchange) -> Result<Agreement<'a>, Finding> {
        let (begun, mut notifications) = (Instant::now(), self.session.notifications());
        let mut subscription = self.session.listen(self.owner, &self.filter.to_json());
        exchange.frame = subscription.frame;
        let deadline = begun + self.limit;
        let mut early = Vec::new();
        let acknowledgement = loop {
            let received = tokio::select! {
                biased;
                // First, so that a flood of notifications does not hold it up.
                () = sleep_until(deadline) => {
                    let message = format!("the subscription was not acknowledged within {}", duration_text(self.limit));
                    return Err(not_subscribed(message, ACKNOWLEDGE));
                }
                Some(received) = notifications.next() => received,
                ended = subscription.answer() => {
                    let reply = ended.map_err(|failure| Finding::from(&failure))?;
                    if reply.message.get("error").is_some() {
                        return Ok(Agreement::Refusal(reply));
                    }
                    let message = "the server ended the subscription without an acknowledgement".to_owned();
                    return Err(not_subscribed(message, ACKNOWLEDGE));
                }
            };
            if received.acknowledged().is_some() && received.subscription() == Some(&subscription.id) {
                break received;
            }
            // The scans say that it is too early.
            early.extend(self.wants(&received, Some(&subscription.id)).then_some(received.message));
        };
        let agreed = acknowledgement.acknowledged().unwrap_or(&Value::Null);
        let lacking = self.filter.beyond(&NotificationFilter::from_json(agreed));
        if !lacking.is_empty() {
            let message = format!("the server did not agree to announce {}", lacking.join(", "));
            let help = "serve what `subscriptions/listen` asks for, or take it out of `listen`";
            return Err(Finding { frame: Some(acknowledgement.frame), ..not_subscribed(message, help) });
        }
        let reply = SessionReply {
            message: answer(&subscription.id, agreed),
            params: subscription.params.clone(),
            frame: subscription.frame,
            answer_frame: acknowledgement.frame,
            elapsed: begun.elapsed(),
            notifications: early,
        };
        let (subscription, watched) = (Some(subscription), self.watched());
        Ok(Listening { listener: self, subscription, watched, notifications, reply, is_over: false }.into())
    }

    /// No resource so far.
    fn watched(&self) -> Watched<'a> {
        Watched { session: self.session, owner: self.owner, uris: VecDeque::new() }
    }

    async fn ask(&self, method: &str, uri: &str) -> Result<SessionReply, Finding> {
        let (params, timeout) = (Some(json!({ "uri": uri })), Some(self.limit));
        let request = SessionRequest { owner: self.owner, method, params, timeout, progress: false };
        self.session.request(request).await.map_err(|failure| Finding::from(&failure))
    }

    /// Returns true if a notification is part of the subscription with this id, which those up to 2025-11-25 do not have.
    fn wants(&self, received: &ReceivedNotification, id: Option<&Value>) -> bool {
        match (id, received.subscription()) {
            (Some(id), Some(named)) => named == id && received.acknowledged().is_none(),
            // Without an id it may belong to any subscription; the scans report that it has none.
            (Some(_) | None, _) => asks_for(&self.filter, &received.message),
        }
    }
}

impl Listening<'_> {
    /// The notifications so far, as part of the step's answer.
    pub(crate) fn reply(&self) -> &SessionReply {
        &self.reply
    }

    /// What the server acknowledged beyond what it was asked for, as a finding; `None` where it did not.
    pub(crate) fn excess(&self) -> Option<Finding> {
        let agreed = NotificationFilter::from_json(&self.reply.message["result"]["notifications"]);
        let excess = agreed.beyond(&self.listener.filter);
        let message = format!("the acknowledgement lists {}, which nobody asked for", excess.join(", "));
        let found = not_subscribed(message, "acknowledge the part of the filter that you serve, and nothing else");
        let frame = Some(self.reply.answer_frame);
        (!excess.is_empty()).then_some(Finding { level: RequirementLevel::Should, frame, ..found })
    }

    /// Waits for a notification until then; `false` where none comes.
    pub(crate) async fn next_until(&mut self, deadline: Instant) -> Result<bool, Finding> {
        while !self.is_over {
            let received = tokio::select! {
                biased;
                received = self.notifications.next() => received,
                // A server may end a subscription, and says so with an answer.
                ended = ended(self.subscription.as_mut()) => {
                    self.is_over = true;
                    return ended.map(|()| false);
                }
                () = sleep_until(deadline) => return Ok(false),
            };
            let Some(received) = received else {
                self.is_over = true;
                return match &mut self.subscription {
                    None => Ok(false),
                    // Its answer says how the server ended.
                    subscription => ended(subscription.as_mut()).await.map(|()| false),
                };
            };
            let id = self.subscription.as_ref().map(|subscription| &subscription.id);
            if self.listener.wants(&received, id) {
                self.reply.notifications.push(received.message);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends the subscription; returns the answer of the step.
    pub(crate) async fn end(self) -> Result<SessionReply, Finding> {
        self.watched.leave(&self.listener).await?;
        // A request that is dropped is cancelled.
        Ok(self.reply)
    }
}

/// Waits for the end of a subscription by the server; one without a request of its own has none.
async fn ended(subscription: Option<&mut Subscription<'_>>) -> Result<(), Finding> {
    match subscription {
        Some(subscription) => subscription.answer().await.map(drop).map_err(|failure| Finding::from(&failure)),
        None => pending().await,
    }
}

const ACKNOWLEDGE: &str = "send `notifications/subscriptions/acknowledged` with the id of the request in `_meta`, under \
                           `io.modelcontextprotocol/subscriptionId`, as soon as the request comes";

/// The finding about a refusal that the step does not expect.
pub(crate) fn refusal(reply: &SessionReply) -> Finding {
    let words = reply.message["error"]["message"].as_str().unwrap_or("(no message)");
    let help = "serve subscriptions to what `listen` names, or expect the refusal with `error: true`";
    let found = not_subscribed(format!("the server refused the subscription: {words}"), help);
    Finding { frame: Some(reply.answer_frame), ..found }
}

/// The cure for notifications that are not as expected after this time.
pub(crate) fn cure(limit: Duration) -> String {
    let help = "let the server announce the change on this subscription, or raise the `timeout` of the step";
    format!("{help}, which waited {}", duration_text(limit))
}

/// The answer of a step: what the server agreed to.
fn answer(id: &Value, agreed: &Value) -> Arc<Value> {
    Arc::new(json!({ "jsonrpc": "2.0", "id": id, "result": { "notifications": agreed } }))
}

/// The capabilities that a filter needs up to 2025-11-25 and a server does not declare.
fn undeclared(filter: &NotificationFilter, capabilities: &Value) -> Vec<String> {
    let lists = filter.lists.iter().filter(|list| capabilities[list.name()]["listChanged"] != true);
    let mut undeclared: Vec<String> = lists.map(|list| format!("`{}.listChanged`", list.name())).collect();
    if !filter.resources.is_empty() && capabilities["resources"]["subscribe"] != true {
        undeclared.push("`resources.subscribe`".to_owned());
    }
    undeclared
}

/// Returns true if a notification is among those that a filter asks for.
fn asks_for(filter: &NotificationFilter, notification: &Value) -> bool {
    let method = notification["method"].as_str().unwrap_or_default();
    let list = method.strip_prefix("notifications/").and_then(|rest| rest.strip_suffix("/list_changed"));
    if let Some(list) = list {
        return filter.lists.iter().any(|wanted| wanted.name() == list);
    }
    let uri = notification["params"]["uri"].as_str();
    method == "notifications/resources/updated" && uri.is_some_and(|uri| filter.has_update_of(uri))
}

fn not_subscribed(message: String, help: &str) -> Finding {
    Finding { help: Some(help.to_owned()), ..Finding::new(NOT_SUBSCRIBED, message) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::ChangingList;

    fn filter(lists: &[ChangingList], resources: &[&str]) -> NotificationFilter {
        NotificationFilter { lists: lists.to_vec(), resources: resources.iter().map(|&uri| uri.to_owned()).collect() }
    }

    #[test]
    fn a_subscription_brings_what_its_filter_asks_for() {
        let (tools, updates) = (filter(&[ChangingList::Tools], &[]), filter(&[], &["file:///a"]));
        for (method, uri, of_tools, of_updates) in [
            ("notifications/tools/list_changed", "", true, false),
            ("notifications/prompts/list_changed", "", false, false),
            ("notifications/resources/list_changed", "", false, false),
            ("notifications/resources/updated", "file:///a", false, true),
            ("notifications/resources/updated", "file:///b", false, false),
            ("notifications/resources/updated", "", false, false),
            ("notifications/progress", "", false, false),
            ("notifications/message", "", false, false),
            ("", "", false, false),
        ] {
            let came = json!({ "method": method, "params": { "uri": uri } });
            assert_eq!((asks_for(&tools, &came), asks_for(&updates, &came)), (of_tools, of_updates), "{came}");
        }
    }

    #[test]
    fn a_session_needs_the_capabilities_of_what_it_subscribes_to() {
        let all = filter(&[ChangingList::Tools, ChangingList::Resources], &["file:///a"]);
        for (capabilities, expected) in [
            (json!({ "tools": { "listChanged": true }, "resources": { "listChanged": true, "subscribe": true } }), ""),
            (json!({ "tools": {}, "resources": { "listChanged": true, "subscribe": true } }), "`tools.listChanged`"),
            (
                json!({ "tools": { "listChanged": true }, "resources": { "subscribe": false } }),
                "`resources.listChanged` `resources.subscribe`",
            ),
            (Value::Null, "`tools.listChanged` `resources.listChanged` `resources.subscribe`"),
        ] {
            assert_eq!(undeclared(&all, &capabilities).join(" "), expected, "{capabilities}");
        }
        assert!(undeclared(&filter(&[], &[]), &Value::Null).is_empty());
    }
}
