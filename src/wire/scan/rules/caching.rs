//! How long a result may be kept, and by whom.

use serde_json::Value;

use super::super::look::MessageCheck;
use super::super::memory::{MAX_NAMES, SessionMemory};
use super::super::table::ScanRule;
use super::{AnsweredRequest, envelope, shown};
use crate::wire::Members;

/// The methods whose complete results can be cached.
const CACHEABLE: [&str; 6] =
    ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"];

/// Judges the hints of a complete result.
pub(super) fn judge(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, exchange: AnsweredRequest<'_>) {
    let AnsweredRequest { asked, result } = exchange;
    let method = asked.method;
    if !CACHEABLE.contains(&method) {
        return;
    }
    let (ttl, scope) = (result.member("ttlMs"), result.member("cacheScope"));
    let is_scope = scope.is_some_and(|scope| scope == "public" || scope == "private");
    look.require(ScanRule::NoCacheHints, ttl.is_some() && is_scope, || {
        let (ttl, scope) = (shown(ttl), shown(scope));
        format!("the answer to `{method}` must have `ttlMs` and a `cacheScope`, it has {ttl} and {scope}")
    });
    if let Some(ttl) = ttl {
        let is_right = envelope::is_whole(ttl) && ttl.as_f64().is_some_and(|ttl| ttl >= 0.0);
        look.require(ScanRule::BadTtl, is_right, || {
            format!("the `ttlMs` of the answer to `{method}` must be a whole number from 0 on, it is {ttl}")
        });
    }
    if let Some(scope) = scope.and_then(Value::as_str) {
        pages(look, memory, exchange, scope);
    }
}

fn pages(
    look: &mut MessageCheck<'_>,
    memory: &mut SessionMemory,
    AnsweredRequest { asked, result }: AnsweredRequest<'_>,
    scope: &str,
) {
    let method = asked.method;
    if let Some(cursor) = &asked.subject
        && let Some(before) = memory.pages.get(&(method, cursor.clone()))
    {
        look.require(ScanRule::CacheScopeChanges, **before == *scope, || {
            format!("the `cacheScope` of `{method}` goes from `{before}` to `{scope}` between its pages")
        });
    }
    if let Some(next) = result["nextCursor"].as_str().filter(|_| memory.pages.len() < MAX_NAMES) {
        memory.pages.insert((method, next.into()), scope.into());
    }
}
