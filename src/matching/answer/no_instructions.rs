//! `no_instructions`: no text of an answer instructs the model behind its user's back, apart from what repeats the request.

use serde_json::Value as Json;

use super::super::{Answer, mismatch::Mismatch, show};
use super::own_texts::{RepeatedTexts, first_in_texts};
use super::{AnswerCheck, AnswerMatcher};
use crate::injection::{self, Injection, TextOrigin};
use crate::source::{Span, grammar::Shape, grammar::key};

pub(crate) static MATCHER: AnswerMatcher = AnswerMatcher {
    key: key(
        "no_instructions",
        Shape::True,
        "No text of the answer, names of members included, instructs a model behind its user's back or hides text from \
         people. Quotations, texts about attacks and text that only repeats the request do not count.",
    )
    .cure("leave it out where such texts are allowed"),
    judges: |_| &[],
    build: |key, _, _| {
        let span = key.span;
        Some(AnswerCheck::one(move |answer| check(answer, span)))
    },
};

fn check(answer: &Answer<'_>, span: Span) -> Option<Mismatch> {
    let repeated = RepeatedTexts::of(answer);
    let (path, Injection { says, quote }) = first_in_texts(answer, |path, text| {
        let origin = origin(path);
        // Most texts have nothing of the kind, and only the others are worth cleaning.
        injection::find(text, origin)?;
        Some((path.to_owned(), injection::find(&repeated.removed_from(text), origin)?))
    })?;
    let message = format!("`{}` {says}", place(answer.message, &path));
    let found = Mismatch::new("no-instructions", span, message, format!("found {}", show::quote(&quote)));
    Some(found.with_path(path).with_expected("texts that instruct no model and hide nothing").with_actual(quote))
}

/// The lists of a server, by the member that holds their entries.
const LISTS: [&str; 4] = ["tools", "prompts", "resources", "resourceTemplates"];

/// Tells texts of a list or of the server's instructions from texts of results.
fn origin(path: &str) -> TextOrigin {
    let member = path.strip_prefix("result.").unwrap_or_default();
    let is_listed = LISTS.iter().any(|list| member.strip_prefix(list).is_some_and(|rest| rest.starts_with('[')));
    let is_of_server = ["instructions", "serverInfo"].iter().any(|name| member.starts_with(name));
    if is_listed || is_of_server { TextOrigin::Declared } else { TextOrigin::Answered }
}

/// A path with the name of its entry where it leads into a list: `tools[echo].description`.
fn place(message: &Json, path: &str) -> String {
    let named = || {
        let (list, rest) = path.strip_prefix("result.")?.split_once('[')?;
        let (index, rest) = rest.split_once(']')?;
        let index: usize = index.parse().ok()?;
        let name = LISTS.contains(&list).then(|| &message["result"][list][index]["name"])?;
        Some(format!("{list}[{}]{rest}", name.as_str()?))
    };
    named().unwrap_or_else(|| path.to_owned())
}
