//! The webhook of a monitor: its address, which is a secret, and its messages, which hold up nothing.

use std::sync::Arc;

use clap::Args;
use parking_lot::Mutex;
use reqwest::{Client, Url};
use tokio::sync::mpsc::Receiver;

use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::monitor::ledger::{Ledger, TargetName};
use crate::monitor::state::StatusChange;
use crate::monitor::webhook::{WebhookFormat, body, deliver};
use crate::transport::http::{TrustedRoots, bare_client};

/// Where changes of states are sent.
#[derive(Debug, Args)]
pub(crate) struct WebhookArgs {
    /// The address to which changes of states are sent; it appears in no output.
    #[arg(long, value_name = "URL", conflicts_with = "webhook_env")]
    webhook: Option<String>,
    /// The environment variable that holds this address.
    #[arg(long, value_name = "NAME")]
    webhook_env: Option<String>,
    /// The form of the messages; `slack` suits Slack, Mattermost and what imitates them.
    #[arg(long, value_name = "FORMAT", default_value = "json", value_parser = ["json", "slack"])]
    webhook_format: String,
}

/// A message that waits to be sent.
#[derive(Debug)]
pub(crate) struct WebhookMessage {
    pub(crate) target: TargetName,
    pub(crate) change: StatusChange,
    /// When it happened, in RFC 3339.
    pub(crate) at: String,
}

/// A receiver of messages.
pub(crate) struct Webhook {
    client: Client,
    url: Url,
    format: WebhookFormat,
}

impl WebhookArgs {
    /// The receiver, if there is one; an error does not show the address.
    pub(crate) fn read(&self, console: &Console) -> Result<Option<Webhook>, Exit> {
        let (from, text) = match (&self.webhook, &self.webhook_env) {
            (Some(url), _) => ("`--webhook`".to_owned(), url.as_str()),
            (None, Some(name)) => {
                let Some(url) = console.environment.get(name) else {
                    let message = format!("the variable `{name}` of `--webhook-env` is not set");
                    return Err(console.fail(Exit::Usage, message, Some("set it to the address of the webhook")));
                };
                (format!("the variable `{name}`"), url)
            }
            (None, None) => return Ok(None),
        };
        let url = text.parse().ok().filter(|url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let help = Some("write an address such as `https://hooks.example.org/services/T/B/x`");
        let url = url.ok_or_else(|| console.fail(Exit::Usage, format!("{from} holds no address"), help))?;
        let client = bare_client(&TrustedRoots::System, url.scheme());
        let client = client.map_err(|error| console.fail(Exit::Environment, error, None))?;
        let format = WebhookFormat::parse(&self.webhook_format).unwrap_or(WebhookFormat::Json);
        Ok(Some(Webhook { client, url, format }))
    }
}

impl Webhook {
    /// Sends messages in order until there will be no other.
    pub(crate) async fn deliver_all(
        self,
        mut waiting: Receiver<WebhookMessage>,
        ledger: Arc<Mutex<Ledger>>,
        console: Console,
    ) {
        while let Some(WebhookMessage { target, change, at }) = waiting.recv().await {
            let sent = deliver(&self.client, &self.url, &body(self.format, &target, &change, &at)).await;
            ledger.lock().webhooks.add(sent.is_ok());
            if let Err(why) = sent {
                console.note(&format!("warning: the webhook was not told that a target is {}: {why}", change.to));
            }
        }
    }
}
