//! `notifications`: what came while the request was pending, how often and what it was like.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::super::value::{
    self, ELEMENT_KEYS, LOGIC_KEYS, NAMES, NAMES_WITHOUT_ELEMENTS, NEEDED_LOGIC_KEYS, NEEDED_SIMPLE_KEYS, PathChecks,
    RANGE, Range, SIMPLE_KEYS, at,
};
use super::super::{Answer, mismatch::Mismatch, read, show};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::grammar::{Key, Need, Object, Shape, key};
use crate::source::{Diagnostic, Located, Node, Span};

/// The number of notifications that are reported one by one.
const REPORTED: usize = 3;

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "notifications",
        Shape::Object(&NOTIFICATIONS),
        "The notifications received before the answer, or while a `listen` step was open; without `count`, at least one is required.",
    ),
    judges: |node| match node.get("method").and_then(Node::text) {
        Some(
            "notifications/progress"
            | "notifications/resources/updated"
            | "notifications/resources/list_changed"
            | "notifications/tools/list_changed"
            | "notifications/prompts/list_changed",
        ) => &["PROTO-NOTIFICATION-CONTRACT"],
        _ => &[],
    },
    build,
};

static NOTIFICATIONS: Object = Object {
    name: "a notifications check",
    doc: "Notifications that a step received; matchers beside `method` must hold for each of them.",
    keys: &[
        &[
            key("method", Shape::Text, "Only notifications of this method count, such as `notifications/progress`."),
            key("count", RANGE, "The number received: exact, or `min` and `max`."),
            key("each", Shape::Object(&NOTIFICATION), "Matchers that every notification must satisfy."),
            key("some", Shape::Object(&NOTIFICATION), "Matchers that at least one notification must satisfy."),
        ],
        &AT_OF_ALL,
        &SIMPLE_KEYS,
        &LOGIC_KEYS,
    ],
};

static NOTIFICATION: Object = Object {
    name: "a notification check",
    doc: "Matchers of one notification; `at` starts at the notification, as in `params.progress`.",
    keys: &[&AT, &NEEDED_SIMPLE_KEYS, &ELEMENT_KEYS, &NEEDED_LOGIC_KEYS],
};

static AT_OF_ALL: [Key; 1] = at(Need::Optional, &NAMES_WITHOUT_ELEMENTS);

static AT: [Key; 1] = at(Need::Optional, &NAMES);

struct Notifications {
    method: Option<String>,
    count: Option<Located<Range>>,
    each: Vec<PathChecks>,
    some: Option<Located<PathChecks>>,
    span: Span,
}

fn build(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<AnswerCheck> {
    let find = |name: &str| node.entries().iter().find(|(key, _)| key.value == name);
    let mut is_complete = true;
    let mut target = |node: &Node, found: &mut Vec<Diagnostic>| {
        let target = PathChecks::build(node, found);
        is_complete &= target.is_some();
        target
    };
    let mut each = Vec::new();
    let own = own_checks(node);
    if !own.entries().is_empty() {
        each.extend(target(&own, found));
    }
    if let Some((_, node)) = find("each") {
        each.extend(target(node, found));
    }
    let some = find("some").map(|(key, node)| target(node, found).map(|it| Located::new(it, key.span)));
    let count = match find("count") {
        None => None,
        Some((key, count)) => Some(Located::new(Range::build(key, count, found)?, read::mark(key, count))),
    };
    let method = node.get("method").and_then(Node::text).map(str::to_owned);
    let check = Notifications { method, count, each, some: some.flatten(), span: key.span };
    is_complete.then(|| AnswerCheck::all(move |answer, found| check.check(answer, found)))
}

/// The part of the mapping that holds for each notification.
fn own_checks(node: &Node) -> Node {
    let is_own = |name: &str| name == "at" || !matches!(name, "each" | "some") && value::find(name).is_some();
    let own = node.entries().iter().filter(|(key, _)| is_own(&key.value)).cloned().collect();
    Node { value: crate::source::Value::Map(own), span: node.span }
}

impl Notifications {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        let all = || answer.notifications.iter().map(|notification| &**notification);
        let wanted: Vec<(usize, &Json)> = all().enumerate().filter(|(_, it)| self.wants(it)).collect();
        let range = self.count.as_ref().map_or(Range::SOME, |count| count.value);
        if !range.has(wanted.len()) {
            found.push(self.count_mismatch(wanted.len(), range, all()));
        }
        self.check_each(&wanted, found);
        let Some(some) = self.some.as_ref().filter(|_| !wanted.is_empty()) else { return };
        let mut first = None;
        for (at, notification) in &wanted {
            let mut mismatches = Vec::new();
            some.value.check(notification, Some(&place(*at)), &mut mismatches);
            match mismatches.into_iter().next() {
                None => return,
                Some(mismatch) => first = first.or(Some(mismatch.message)),
            }
        }
        let message = format!("none of the {} matches", show::count(wanted.len(), "notification"));
        found.push(Mismatch::new("notifications", some.span, message, first.unwrap_or_default()));
    }

    fn wants(&self, notification: &Json) -> bool {
        self.method.as_ref().is_none_or(|method| notification["method"] == method.as_str())
    }

    fn check_each(&self, wanted: &[(usize, &Json)], found: &mut Vec<Mismatch>) {
        for target in &self.each {
            let mut failed = 0;
            for (at, notification) in wanted {
                let before = found.len();
                target.check(notification, Some(&place(*at)), found);
                failed += usize::from(found.len() > before);
                if failed == REPORTED {
                    break;
                }
            }
        }
    }

    fn count_mismatch<'a>(&self, number: usize, range: Range, all: impl Iterator<Item = &'a Json>) -> Mismatch {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for notification in all {
            *seen.entry(notification["method"].as_str().unwrap_or("(no method)")).or_default() += 1;
        }
        let seen: Vec<String> = seen.iter().map(|(method, times)| format!("{times} × `{method}`")).collect();
        let came = if seen.is_empty() { "none at all".to_owned() } else { seen.join(", ") };
        let kind = self.method.as_ref().map(|method| format!(" `{method}`")).unwrap_or_default();
        let count = if number == 0 { "no notification".to_owned() } else { show::count(number, "notification") };
        let message = format!("{count}{kind} arrived, expected {range}");
        Mismatch::new(
            "notifications",
            self.count.as_ref().map_or(self.span, |count| count.span),
            message,
            format!("received: {came}"),
        )
        .with_expected(range.to_string())
        .with_actual(came)
    }
}

fn place(at: usize) -> String {
    format!("notifications[{at}]")
}
