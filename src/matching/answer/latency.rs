//! `latency`: how long the answer may take, and must take at least.

use std::time::Duration;

use super::super::{Answer, mismatch::Mismatch, read};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::grammar::{Object, Shape, key};
use crate::source::{Diagnostic, Located, Node, Span, duration_text, template::has_template};

pub(super) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key("latency", Shape::Object(&LATENCY), "How long the answer takes."),
    judges: |node| if node.get("under").is_some() { &["TIMEOUT-SLOW"] } else { &[] },
    build,
};

static LATENCY: Object = Object {
    name: "a latency check",
    doc: "How long the answer takes, from the request to its response.",
    keys: &[&[
        key("under", Shape::Duration, "The answer takes less than this, such as `1s`."),
        key("over", Shape::Duration, "The answer takes more than this, such as `100ms`."),
    ]],
};

#[derive(Debug)]
struct Latency {
    under: Option<(Duration, Span)>,
    over: Option<(Duration, Span)>,
}

fn build(key: &Located<String>, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Box<dyn AnswerCheck>> {
    if node.entries().is_empty() {
        read::nothing_expected(key, "write `latency: { under: 1s }`", found);
        return None;
    }
    if has_template(node) {
        return None;
    }
    let limit = |name: &str| match node.get(name) {
        None => Some(None),
        Some(node) => read::duration(node).map(|duration| Some((duration, node.span))),
    };
    Some(Box::new(Latency { under: limit("under")?, over: limit("over")? }))
}

impl AnswerCheck for Latency {
    fn check(&self, answer: &Answer<'_>, found: &mut Vec<Mismatch>) {
        let took = duration_text(answer.elapsed);
        let mut push = |limit: Duration, span: Span, relation: &str| {
            let limit = duration_text(limit);
            found.push(
                Mismatch::new(
                    "latency",
                    span,
                    format!("the answer took {took}, not {relation} {limit}"),
                    format!("took {took}"),
                )
                .with_expected(format!("{relation} {limit}"))
                .with_actual(took.clone()),
            );
        };
        if let Some((limit, span)) = self.under.filter(|(limit, _)| answer.elapsed >= *limit) {
            push(limit, span, "under");
        }
        if let Some((limit, span)) = self.over.filter(|(limit, _)| answer.elapsed <= *limit) {
            push(limit, span, "over");
        }
    }
}
