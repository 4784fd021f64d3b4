//! Messages about changes of states: their bodies, and their delivery.

use std::time::Duration;

use reqwest::{Client, Url};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::ledger::TargetName;
use super::state::StatusChange;
use super::status::TargetStatus;
use crate::source::{choice, duration_text, shorten, visible_line};

/// The version of our own form.
const FORMAT: u32 = 1;

/// The time for one attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// The waits before further attempts.
const WAITS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(20)];

/// The longest explanation, in characters: servers write it.
const LONGEST_DETAIL: usize = 500;

choice! {
    /// The form of a message.
    pub enum WebhookFormat {
        /// All facts as JSON.
        Json = "json",
        /// A text that Slack, Mattermost and what imitates them show.
        Slack = "slack",
    }
}

/// The body of a message; `at` is the time in RFC 3339.
pub fn body(format: WebhookFormat, target: &TargetName, change: &StatusChange, at: &str) -> Value {
    let detail = shorten(&visible_line(&change.detail), LONGEST_DETAIL);
    match format {
        WebhookFormat::Json => json!({
            "format": FORMAT,
            "at": at,
            "target": { "suite": target.suite, "server": target.server, "revision": target.revision },
            "from": change.from.map(TargetStatus::as_str),
            "to": change.to.as_str(),
            "is_up": change.to.is_serving(),
            "detail": detail,
            "lasted_seconds": change.lasted,
        }),
        WebhookFormat::Slack => json!({ "text": slack_text(target, change, &detail) }),
    }
}

fn slack_text(target: &TargetName, change: &StatusChange, detail: &str) -> String {
    let mark = match change.to {
        TargetStatus::Up => ":white_check_mark:",
        TargetStatus::Drift => ":warning:",
        TargetStatus::Failed
        | TargetStatus::ProtocolError
        | TargetStatus::Timeout
        | TargetStatus::AuthRequired
        | TargetStatus::TlsError
        | TargetStatus::ConnectionRefused => ":red_circle:",
    };
    let name = escape(&visible_line(&format!("{} ({}, {})", target.server, target.suite, target.revision)));
    let before = match (change.from, change.lasted) {
        (Some(from), Some(lasted)) => format!(" after {} of {from}", duration_text(Duration::from_secs(lasted))),
        _ => String::new(),
    };
    let why = if detail.is_empty() { String::new() } else { format!("\n{}", escape(detail)) };
    format!("{mark} *{name}* is {}{before}{why}", change.to)
}

/// A text that Slack shows as it is, without mentions and links.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Sends a message, again if that fails; the error says why the last attempt failed, without the address.
pub async fn deliver(client: &Client, url: &Url, body: &Value) -> Result<(), String> {
    let text = body.to_string();
    let mut waits = WAITS.into_iter();
    loop {
        let request = client.post(url.clone()).header("content-type", "application/json").body(text.clone());
        let failure = match request.timeout(ATTEMPT_TIMEOUT).send().await {
            Ok(response) if response.status().is_success() => return Ok(()),
            // The receiver understood and refuses: it would refuse again.
            Ok(response) if response.status().is_client_error() && response.status().as_u16() != 429 => {
                return Err(format!("the receiver answered {}", response.status()));
            }
            Ok(response) => format!("the receiver answered {}", response.status()),
            Err(error) if error.is_timeout() => "the receiver did not answer in time".to_owned(),
            Err(error) if error.is_connect() => "no connection to the receiver".to_owned(),
            Err(_) => "the connection to the receiver broke".to_owned(),
        };
        match waits.next() {
            Some(wait) => sleep(wait).await,
            None => return Err(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> TargetName {
        TargetName { suite: "shop.yml".into(), server: "<prod>".into(), revision: "auto".into() }
    }

    fn change(from: Option<TargetStatus>, to: TargetStatus, detail: &str) -> StatusChange {
        StatusChange { from, to, detail: detail.to_owned(), lasted: from.map(|_| 90) }
    }

    #[test]
    fn bodies() {
        let down = change(Some(TargetStatus::Up), TargetStatus::ConnectionRefused, "nothing listens\nat <!here>");
        let json = body(WebhookFormat::Json, &target(), &down, "2026-11-30T00:00:00Z");
        let expected = json!({
            "format": 1,
            "at": "2026-11-30T00:00:00Z",
            "target": { "suite": "shop.yml", "server": "<prod>", "revision": "auto" },
            "from": "up",
            "to": "connection_refused",
            "is_up": false,
            "detail": "nothing listens\\u{a}at <!here>",
            "lasted_seconds": 90,
        });
        assert_eq!(json, expected);
        for (change, expected) in [
            (
                down,
                ":red_circle: *&lt;prod&gt; (shop.yml, auto)* is connection_refused after 1 min 30 s of up\nnothing listens\\u{a}at &lt;!here&gt;",
            ),
            (
                change(Some(TargetStatus::Timeout), TargetStatus::Up, ""),
                ":white_check_mark: *&lt;prod&gt; (shop.yml, auto)* is up after 1 min 30 s of timeout",
            ),
            (
                change(None, TargetStatus::Drift, "the tool `a` was removed"),
                ":warning: *&lt;prod&gt; (shop.yml, auto)* is drift\nthe tool `a` was removed",
            ),
        ] {
            assert_eq!(body(WebhookFormat::Slack, &target(), &change, "")["text"], expected);
        }
    }

    #[test]
    fn an_explanation_is_cut() {
        let long = change(None, TargetStatus::Failed, &"x".repeat(9000));
        assert!(body(WebhookFormat::Slack, &target(), &long, "").to_string().len() < 1000);
    }
}
