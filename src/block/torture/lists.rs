//! Lists with all their pages, walked by several clients at once: each walk gives what a walk alone gives.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tokio::task::JoinSet;

use super::clients::{Clients, too_slow};
use super::finding::{pass, result_with};
use super::reproduction::{ReproducedLoad, reproduction};
use super::{Torture, TortureCheck};
use crate::check::{CheckEnd, Confirmation, FaultSearch, SeenOnce};
use crate::event::{CheckResult, Finding, Reason};
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::session::{CallFailure, FailureReason, SessionReply};
use crate::wire::ListKind;

/// The number of further rounds that may show a difference again.
const MOST_REPETITIONS: usize = 3;

/// The number of walks under way at a time.
const MOST_WALKS: usize = 32;

/// The number of items that are named in a finding.
const NAMED: usize = 5;

/// Walks of all lists.
#[derive(Debug)]
pub(crate) struct ListsCheck {
    pub(crate) settings: Arc<Torture>,
}

impl Check for ListsCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move {
            let clients = match Clients::open(&context, &self.settings).await {
                Ok(clients) => clients,
                Err(end) => return end.into_result(),
            };
            let walks = ListWalks { context: &context, settings: &self.settings, clients: &clients };
            let result = walks.judge().await.unwrap_or_else(CheckEnd::into_result);
            clients.close(result).await
        })
    }
}

struct ListWalks<'a> {
    context: &'a CheckContext<'a>,
    settings: &'a Torture,
    clients: &'a Clients<'a>,
}

/// The items of a walk, each with how often it was given.
type WalkedItems = BTreeMap<String, usize>;

/// The end of a walk of a list.
enum ListWalk {
    Items(WalkedItems),
    /// A cursor was refused, or the list is.
    Refused,
    /// The list had no end, as this sentence says.
    Endless(String),
}

/// A walk that differs from one alone.
struct DifferentWalk {
    finding: Finding,
    /// The number of walks under way at a time.
    walks: usize,
}

impl ListWalks<'_> {
    async fn judge(&self) -> Result<CheckResult, CheckEnd> {
        let (mut same, mut unclear) = (Vec::new(), Vec::new());
        for kind in ListKind::ALL {
            if !self.clients.offers(kind) {
                continue;
            }
            let Some(alone) = self.alone(kind).await? else { continue };
            let most = (self.clients.in_flight()).clamp(2, MOST_WALKS);
            let mut different = self.round(kind, &alone, most).await?;
            let is_stable = self.alone(kind).await?.is_some_and(|after| after == alone);
            if !is_stable {
                unclear.push(kind.method());
                continue;
            }
            let Some(mut found) = different.take() else {
                let items: usize = alone.first().map(|items| items.values().sum()).unwrap_or_default();
                same.push(format!("{most} walks of `{}` at a time, {items} items each", kind.method()));
                continue;
            };
            let mut search = FaultSearch::new(self.clients.limits(), MOST_REPETITIONS, most).down_to(2, 1);
            while let Some(walks) = search.next() {
                let again = self.round(kind, &alone, walks).await?;
                search.note(Ok(again.is_some()));
                found = again.unwrap_or(found);
            }
            let (confirmation, _) = search.finish();
            // A list that has changed meanwhile explains it.
            if self.alone(kind).await?.is_none_or(|after| after != alone) {
                unclear.push(kind.method());
                continue;
            }
            return Ok(self.result(found, confirmation));
        }
        Ok(result_without_difference(&same, &unclear))
    }

    /// The items of a walk alone in each session; `None` where there is none to compare with.
    async fn alone(&self, kind: ListKind) -> Result<Option<Vec<WalkedItems>>, CheckEnd> {
        let mut all = Vec::new();
        for session in 0..self.clients.sessions() {
            match judge_walk(self.clients.list(session, kind).await, kind)? {
                ListWalk::Items(items) => all.push(items),
                ListWalk::Refused | ListWalk::Endless(_) => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    /// So many walks at a time, in turn in every session; the first that differs.
    async fn round(
        &self,
        kind: ListKind,
        alone: &[WalkedItems],
        walks: usize,
    ) -> Result<Option<DifferentWalk>, CheckEnd> {
        let mut walking = JoinSet::new();
        for (_, session) in (0..walks).zip((0..self.clients.sessions()).cycle()) {
            let walk = self.clients.list_apart(session, kind);
            walking.spawn(async move { (session, walk.await) });
        }
        let (mut different, mut differing) = (None, 0);
        for (session, reply) in walking.join_all().await {
            // Nobody knows how many walks at a time it has time for.
            if matches!(&reply, Err(failure) if failure.is_timeout()) {
                return Err(too_slow("the lists"));
            }
            let finding = match judge_walk(reply, kind)? {
                ListWalk::Items(items) if items == alone[session] => continue,
                // It may refuse a cursor that another walk has made void.
                ListWalk::Refused => continue,
                ListWalk::Items(items) => differing_items(kind, &alone[session], &items),
                ListWalk::Endless(why) => Finding::new(CODE, message(kind)).with_evidence("walk", why),
            };
            differing += 1;
            different.get_or_insert(finding);
        }
        if self.clients.limits().is_over() {
            return Err(self.clients.limits().out_of_time());
        }
        Ok(different.map(|finding| DifferentWalk {
            finding: finding.with_evidence("walks", format!("{differing} of {walks} at a time differ")),
            walks,
        }))
    }

    fn result(&self, found: DifferentWalk, confirmation: Confirmation) -> CheckResult {
        let DifferentWalk { finding, walks } = found;
        let mut found =
            finding.with_evidence("control", "walks one after another give the same items, before and afterwards");
        found.help = Some(
            "keep the place of a walk in its cursor, or apart for each cursor, and not in a variable that walks share"
                .to_owned(),
        );
        let sessions = self.clients.sessions().min(walks);
        let load = ReproducedLoad { sessions, in_flight: walks.div_ceil(sessions), calls: walks };
        let replay = reproduction(self.context, self.settings, None, CODE, TortureCheck::Lists, load);
        found.reproduction = Some(Box::new(replay));
        result_with(confirmation.conclude(found, "with several walks at once", SeenOnce::Warns), Vec::new())
    }
}

/// The result where no list differs because of other walks: those that are the same, in words, and the methods of those that
/// change by themselves.
fn result_without_difference(same: &[String], unclear: &[&str]) -> CheckResult {
    match (same, unclear) {
        ([], []) => CheckResult::not_applicable("the server offers no list".to_owned()),
        ([], unclear) => {
            let names = unclear.join("`, `");
            CheckResult::inconclusive(format!("`{names}` changes by itself: two walks one after another differ"))
        }
        (same, _) => pass(Reason::Measured(same.join("; ")), Vec::new()),
    }
}

const CODE: &str = "list-differs-under-load";

fn message(kind: ListKind) -> String {
    format!("`{}` gives other items when several clients walk its pages at the same time", kind.method())
}

/// The result of a walk; `Err` where the server is gone or hangs.
fn judge_walk(reply: Result<SessionReply, CallFailure>, kind: ListKind) -> Result<ListWalk, CheckEnd> {
    match reply {
        Ok(reply) => Ok(match reply.message["result"][kind.member()].as_array() {
            Some(items) => {
                let mut counted = WalkedItems::new();
                for item in items {
                    *counted.entry(name_of(item)).or_default() += 1;
                }
                ListWalk::Items(counted)
            }
            None => ListWalk::Refused,
        }),
        Err(CallFailure { reason: FailureReason::Protocol(why), .. }) => Ok(ListWalk::Endless(why)),
        Err(failure) => match failure.reason {
            FailureReason::Timeout(_) | FailureReason::Exited(_) => Err(CheckEnd::Unanswered(Box::new(failure))),
            FailureReason::Protocol(_)
            | FailureReason::NotRead(_)
            | FailureReason::RefusedWhole(_)
            | FailureReason::Http(_) => Ok(ListWalk::Refused),
        },
    }
}

/// The key that tells an item from others of its list.
fn name_of(item: &Value) -> String {
    let name = ["uri", "uriTemplate", "name"].iter().find_map(|member| item[*member].as_str());
    name.map_or_else(|| item.to_string(), str::to_owned)
}

fn differing_items(kind: ListKind, alone: &WalkedItems, items: &WalkedItems) -> Finding {
    let listed = |names: Vec<&String>| {
        let more = names.len().saturating_sub(NAMED);
        let named: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
        named.join(", ") + &if more == 0 { String::new() } else { format!(" and {more} more") }
    };
    let count = |items: &WalkedItems, name: &String| items.get(name).copied().unwrap_or_default();
    let missing = alone.keys().filter(|name| count(items, name) < count(alone, name)).collect();
    let repeated = items.keys().filter(|name| count(items, name) > count(alone, name)).collect();
    Finding::new(CODE, message(kind))
        .with_evidence("missing", listed(missing))
        .with_evidence("too often", listed(repeated))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::check::failure_of_test;
    use crate::event::Outcome;
    use crate::transport::ServerExit;

    fn items(items: &[(&str, usize)]) -> WalkedItems {
        items.iter().map(|(name, times)| ((*name).to_owned(), *times)).collect()
    }

    #[test]
    fn a_walk_gives_items_a_refusal_or_no_end() {
        let walk = |message: Value| {
            let reply = SessionReply {
                message: Arc::new(message),
                params: Value::Null,
                frame: 1,
                answer_frame: 2,
                elapsed: std::time::Duration::ZERO,
                notifications: Vec::new(),
            };
            match judge_walk(Ok(reply), ListKind::Tools) {
                Ok(ListWalk::Items(items)) => Some(items),
                Ok(ListWalk::Refused) => None,
                Ok(ListWalk::Endless(_)) | Err(_) => panic!("an answer ends a walk"),
            }
        };
        for (message, expected) in [
            (
                json!({"result": {"tools": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}}),
                Some(items(&[("a", 2), ("b", 1)])),
            ),
            (json!({"result": {"tools": []}}), Some(items(&[]))),
            (json!({"error": {"code": -32602, "message": "unknown cursor"}}), None),
            (json!({"result": {}}), None),
        ] {
            assert_eq!(walk(message.clone()), expected, "{message}");
        }
    }

    #[test]
    fn only_silence_and_an_exit_end_the_case() {
        let end = |reason| judge_walk(Err(failure_of_test(reason)), ListKind::Tools);
        assert!(matches!(end(FailureReason::Protocol("no end".to_owned())), Ok(ListWalk::Endless(_))));
        assert!(matches!(end(FailureReason::RefusedWhole(Arc::default())), Ok(ListWalk::Refused)));
        assert!(end(FailureReason::Timeout(std::time::Duration::ZERO)).is_err());
        assert!(end(FailureReason::Exited(ServerExit::Unknown)).is_err());
    }

    #[test]
    fn items_are_told_apart_by_their_address_or_name() {
        for (item, expected) in [
            (json!({"uri": "a://1", "name": "one"}), "a://1"),
            (json!({"uriTemplate": "a://{id}", "name": "one"}), "a://{id}"),
            (json!({"name": "one"}), "one"),
            (json!({"title": "one"}), r#"{"title":"one"}"#),
            (json!(7), "7"),
        ] {
            assert_eq!(name_of(&item), expected);
        }
    }

    #[test]
    fn a_difference_names_what_is_missing_and_what_came_too_often() {
        let many: Vec<String> = (0..9).map(|number| format!("n{number}")).collect();
        let many: Vec<(&str, usize)> = many.iter().map(|name| (name.as_str(), 1)).collect();
        for (alone, walk, missing, repeated) in [
            (items(&[("a", 1), ("b", 1)]), items(&[("a", 1)]), "`b`", ""),
            (items(&[("a", 1)]), items(&[("a", 2)]), "", "`a`"),
            (items(&[("a", 1)]), items(&[("b", 1)]), "`a`", "`b`"),
            (items(&many), items(&[]), "`n0`, `n1`, `n2`, `n3`, `n4` and 4 more", ""),
        ] {
            let found = differing_items(ListKind::Tools, &alone, &walk);
            let shown =
                |name: &str| found.evidence.iter().find(|(own, _)| own == name).map_or("", |(_, text)| text.as_str());
            assert_eq!((shown("missing"), shown("too often")), (missing, repeated), "{walk:?}");
        }
    }

    #[test]
    fn a_list_that_changes_by_itself_shows_nothing() {
        let tools = || "32 walks of `tools/list` at a time, 9 items each".to_owned();
        for (same, unclear, outcome, says) in [
            (vec![], &[][..], Outcome::Skipped, "offers no list"),
            (vec![], &["tools/list"], Outcome::Inconclusive, "`tools/list` changes by itself"),
            (vec![], &["tools/list", "prompts/list"], Outcome::Inconclusive, "`tools/list`, `prompts/list` changes"),
            (vec![tools()], &[], Outcome::Passed, "32 walks of `tools/list`"),
            (vec![tools()], &["prompts/list"], Outcome::Passed, "32 walks of `tools/list`"),
        ] {
            let result = result_without_difference(&same, unclear);
            let reason = result.reason.as_ref().map(ToString::to_string).unwrap_or_default();
            assert!(result.outcome == outcome && reason.contains(says), "{same:?} {unclear:?}: {reason}");
        }
    }
}
