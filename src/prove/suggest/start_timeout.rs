//! A server that is slow to start, or never does: only a time that the suite itself sets turns that red.

use std::time::Duration;

use serde_json::json;

use super::Survivor;
use super::answer::ExchangeAnswer;
use super::test::SuggestedTest;
use crate::fault::ReplyContent;
use crate::source::duration_text;
use crate::transport::Owner;

/// Times in seconds that a start may be given; the first is what most servers need many times over.
const LIMITS: [u64; 6] = [10, 5, 3, 20, 30, 60];

/// The setting of a suite for the time of a start; `None` where the change is no delay of a handshake.
pub(crate) fn suggest(survivor: &Survivor<'_>) -> Option<SuggestedTest> {
    let exchange = survivor.exchange;
    let is_handshake = matches!(exchange.method(), Some("initialize" | "server/discover"));
    if exchange.owner != Owner::Session || !is_handshake {
        return None;
    }
    if survivor.changed.iter().any(|reply| matches!(reply.content, ReplyContent::Ended(_))) {
        return None;
    }
    let was = ExchangeAnswer::of(&exchange.sent, &exchange.replies)?;
    let is = ExchangeAnswer::of(&exchange.sent, survivor.changed);
    let fits = |limit: &u64| {
        let limit = Duration::from_secs(*limit);
        was.elapsed * 4 <= limit && is.as_ref().is_none_or(|is| limit < is.elapsed)
    };
    let limit = LIMITS.into_iter().find(fits)?;
    let could = match is {
        Some(is) => format!("the server could need {} to start", duration_text(is.elapsed)),
        None => "the server could never come up".to_owned(),
    };
    Some(SuggestedTest {
        could,
        value: json!({"run_options": {"start_timeout": format!("{limit}s")}}),
        notes: Vec::new(),
        lasts: true,
    })
}
