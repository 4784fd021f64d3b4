//! `latency`: how long the answer may take, and must take at least.

use super::super::{mismatch::Mismatch, read};
use super::{AnswerCheck, AnswerMatcher};
use crate::source::grammar::{Object, Shape, alternative, key};
use crate::source::{Diagnostic, Located, Node, duration_text, template::has_template};

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key("latency", Shape::Object(&LATENCY), "How long the answer takes."),
    judges: |node| if node.get("under").is_some() { &["TIMEOUT-SLOW"] } else { &[] },
    build,
};

static LATENCY: Object = Object {
    name: "a latency check",
    doc: "How long the answer takes, from the request to its response.",
    keys: &[&[
        alternative("under", Shape::Duration, "The answer takes less than this, such as `1s`.")
            .cure("write for example `latency: { under: 1s }`"),
        alternative("over", Shape::Duration, "The answer takes more than this, such as `100ms`."),
    ]],
};

fn build(_: &Located<String>, node: &Node, _: &mut Vec<Diagnostic>) -> Option<AnswerCheck> {
    if has_template(node) {
        return None;
    }
    let limit = |name: &str| match node.get(name) {
        None => Some(None),
        Some(node) => read::duration(node).map(|duration| Some((duration, node.span))),
    };
    let (under, over) = (limit("under")?, limit("over")?);
    Some(AnswerCheck::all(move |answer, found| {
        let under = under.filter(|(limit, _)| answer.elapsed >= *limit).map(|limit| (limit, "under"));
        let over = over.filter(|(limit, _)| answer.elapsed <= *limit).map(|limit| (limit, "over"));
        for ((limit, span), relation) in under.into_iter().chain(over) {
            let (took, limit) = (duration_text(answer.elapsed), duration_text(limit));
            let message = format!("the answer took {took}, not {relation} {limit}");
            let mismatch = Mismatch::new("latency", span, message, format!("took {took}"));
            found.push(mismatch.with_expected(format!("{relation} {limit}")).with_actual(took));
        }
    }))
}
