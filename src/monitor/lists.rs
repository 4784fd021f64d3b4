//! The check with which every run of a target begins: it opens the session, keeps what the server offers, and looks at the
//! certificate of a server over HTTPS.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::Url;
use tokio::time::Instant;

use crate::doctor::read_certificate;
use crate::drift::{Recorded, RecordedIdentity};
use crate::event::{CheckResult, Outcome};
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::source::file::{WRITTEN, read_bytes};
use crate::suite::ServerKind;
use crate::transport::http::{TrustedRoots, certificate};

/// The name of the case that decides it.
pub const NAME: &str = "lists of the server";

/// The time after which a certificate is looked at again, on a connection of its own.
const CERTIFICATE_INTERVAL: Duration = Duration::from_secs(3600);

/// Keeps what the last run saw of a server.
#[derive(Debug, Clone, Default)]
pub struct OfferCheck(Arc<Mutex<SeenServer>>);

#[derive(Debug, Default)]
struct SeenServer {
    offered: Option<Recorded>,
    certificate: Option<SeenCertificate>,
}

/// A certificate, or that there was none to see.
#[derive(Debug, Clone, Copy)]
struct SeenCertificate {
    at: Instant,
    end_day: Option<i64>,
}

impl OfferCheck {
    /// The lists of the last run; `None` if the server could not be asked.
    pub fn take(&self) -> Option<Recorded> {
        self.0.lock().offered.take()
    }

    /// The day on which the server's certificate ends, in days since 1970, as it was seen last.
    pub fn certificate_end(&self) -> Option<i64> {
        self.0.lock().certificate?.end_day
    }

    async fn look_at_certificate(&self, context: CheckContext<'_>) {
        let is_due = self.0.lock().certificate.is_none_or(|seen| seen.at.elapsed() >= CERTIFICATE_INTERVAL);
        let Some((url, roots)) = secure_address(&context).filter(|_| is_due) else { return };
        let shown = certificate(&roots, &url).await;
        let end_day = shown.as_deref().and_then(read_certificate).map(|facts| facts.end_day());
        // One failed look says nothing of the certificate: the last one counts until the next.
        if end_day.is_some() {
            self.0.lock().certificate = Some(SeenCertificate { at: Instant::now(), end_day });
        }
    }
}

/// The address of a server over HTTPS that is not started here, and the authorities that are trusted.
fn secure_address(context: &CheckContext<'_>) -> Option<(Url, TrustedRoots)> {
    let server = context.suite.servers.get(context.server_name)?;
    let ServerKind::Url(http) = &server.kind else { return None };
    let url: Url = context.fill(&http.url)?.as_str()?.parse().ok()?;
    let roots = match &http.ca {
        None => TrustedRoots::System,
        Some(file) => {
            let file = server.folder.join(context.fill(file)?.as_str()?);
            TrustedRoots::Roots(read_bytes(&file, WRITTEN).ok()?)
        }
    };
    (url.scheme() == "https" && http.command.is_none()).then_some((url, roots))
}

impl Check for OfferCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move {
            let offered = context.server.map(|said| {
                let identity = RecordedIdentity::of(&said.result, said.revision.as_str());
                let offered = Recorded::without_calls(context.server_name, "", identity, context.catalog);
                offered.neutral(&|value| context.machine.neutral(value))
            });
            self.0.lock().offered = offered;
            self.look_at_certificate(context).await;
            CheckResult::new(Outcome::Passed)
        })
    }

    fn needs_lists(&self) -> bool {
        true
    }

    fn sends(&self) -> bool {
        false
    }
}
