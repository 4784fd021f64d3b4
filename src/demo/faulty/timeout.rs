//! Faults of time.

use std::future::pending;
use std::time::Duration;

use rmcp::model::ClientRequest;
use tokio::time::sleep;

use super::Entry;
use super::hooks::{Hooks, SOUND};

/// How long a search takes where searches are slow.
const SEARCH: Duration = Duration::from_secs(2);

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        variant: "TIMEOUT-HANG",
        wrong: "never answers `search_users`",
        hooks: Hooks {
            call: Some(|call| {
                Box::pin(async move { if call.is_of("search_users") { pending().await } else { call.proceed().await } })
            }),
            ..SOUND
        },
    },
    Entry {
        variant: "TIMEOUT-STARTUP-HANG",
        wrong: "never answers `initialize` and `server/discover`",
        hooks: Hooks {
            request: Some(|request| {
                Box::pin(async move {
                    let opens = matches!(
                        request.asked,
                        ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_)
                    );
                    if opens { pending().await } else { request.proceed().await }
                })
            }),
            ..SOUND
        },
    },
    Entry {
        variant: "TIMEOUT-NO-SHUTDOWN",
        wrong: "stays when its input has ended",
        hooks: Hooks { ends_with_input: false, ..SOUND },
    },
    Entry {
        variant: "TIMEOUT-SLOW",
        wrong: "takes two seconds for `search_users`",
        hooks: Hooks {
            call: Some(|call| {
                Box::pin(async move {
                    if call.is_of("search_users") {
                        sleep(SEARCH).await;
                    }
                    call.proceed().await
                })
            }),
            ..SOUND
        },
    },
    Entry {
        variant: "TIMEOUT-BLOCKED-LOOP",
        wrong: "works on one request at a time, so that everything waits for an export",
        hooks: Hooks {
            request: Some(|request| {
                Box::pin(async move {
                    let _turn = request.memory.turn.lock().await;
                    request.proceed().await
                })
            }),
            ..SOUND
        },
    },
];
