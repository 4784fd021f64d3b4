//! `app_page` and `app_origins`: pages of MCP Apps, as `resources/read` returns them.

use serde_json::Value as Json;

use super::super::{Answer, mismatch::Mismatch, reply::ResponseKind, show};
use super::{AnswerCheck, AnswerMatcher};
use crate::apps::{OutsideLoad, is_declared, outside_loads, page_of};
use crate::source::{Span, grammar::Shape, grammar::key};
use crate::wire::ListKind;

pub(crate) static PAGE: AnswerMatcher = AnswerMatcher {
    key: key(
        "app_page",
        Shape::True,
        "The resource that was read is a page of HTML, as the user interface of an MCP App is.",
    )
    .cure("leave it out for resources that are no pages"),
    judges: |_| &[],
    build: |key, _, _| {
        let span = key.span;
        Some(AnswerCheck::one(move |answer| read_page(answer, "app-page", span).err()))
    },
};

pub(crate) static ORIGINS: AnswerMatcher = AnswerMatcher {
    key: key(
        "app_origins",
        Shape::True,
        "The page that was read loads scripts, styles, media and frames by its tags only from origins that \
         `_meta.ui.csp` of its content or of its entry in the list of resources declares.",
    )
    .cure("leave it out where other origins do not matter"),
    judges: |_| &[],
    build: |key, _, _| {
        let span = key.span;
        Some(AnswerCheck::all(move |answer, found| match read_page(answer, "app-origins", span) {
            Ok((content, page)) => found.extend(undeclared(answer, content, &page, span)),
            Err(mismatch) => found.push(mismatch),
        }))
    },
};

/// The content that was read, and the page in it.
fn read_page<'a>(answer: &Answer<'a>, code: &'static str, span: Span) -> Result<(&'a Json, String), Mismatch> {
    let ResponseKind::Success(result) = ResponseKind::of(answer.message) else {
        let message = format!("{} was not answered with a page", answer.describe_request());
        return Err(Mismatch::new(code, span, message, "found no success"));
    };
    let contents = || result["contents"].as_array().into_iter().flatten();
    let own = contents().find(|content| content["uri"] == answer.params["uri"]);
    let Some(content) = own.or_else(|| contents().next()) else {
        let message = format!("{} was answered without contents", answer.describe_request());
        return Err(Mismatch::new(code, span, message, "found no contents").with_path("result.contents"));
    };
    let page = page_of(content).map_err(|why| {
        Mismatch::new(code, span, format!("the content is no page of HTML: {why}"), why)
            .with_path("result.contents")
            .with_actual(show::compact(content))
    })?;
    Ok((content, page))
}

/// A mismatch for each origin from which the page loads and that its server does not declare.
fn undeclared(answer: &Answer<'_>, content: &Json, page: &str, span: Span) -> Vec<Mismatch> {
    let listed = answer.list(ListKind::Resources).into_iter().filter(|entry| entry["uri"] == answer.params["uri"]);
    let declared: Vec<&Json> = listed.chain([content]).map(|holder| &holder["_meta"]["ui"]["csp"]).collect();
    let is_undeclared = |load: &OutsideLoad| !is_declared(load, &declared);
    let tell = |load: OutsideLoad| {
        let OutsideLoad { element, member, .. } = &load;
        let origin = load.origin();
        let shown = show::quote(&origin);
        let message = format!(
            "the page has `<{element}>` from {shown}, which `_meta.ui.csp.{member}` does not name, so hosts block it"
        );
        Mismatch::new("app-origins", span, message, format!("undeclared: {shown}"))
            .with_path(format!("_meta.ui.csp.{member}"))
            .with_expected(show::json_text(&origin))
    };
    outside_loads(page).into_iter().filter(is_undeclared).map(tell).collect()
}
