//! The texts of an answer, and those that only repeat its request.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::super::Answer;

/// Shorter texts of a request are found everywhere by accident.
const LEAST_REPEATED: usize = 3;

/// Replaces text that repeats the request; no pattern matches it.
const REPEATED: &str = "\u{fffc}";

/// The texts of a request, in the forms in which an answer may repeat them, the longest first.
pub(crate) struct RepeatedTexts(Vec<String>);

impl RepeatedTexts {
    /// Those of the request that was answered.
    pub(crate) fn of(answer: &Answer<'_>) -> Self {
        let mut said = Vec::new();
        // The protocol adds `_meta` to every request; the suite did not write it.
        for (_, asked) in answer.params.as_object().into_iter().flatten().filter(|(name, _)| *name != "_meta") {
            first_text::<()>(asked, &mut String::new(), &mut |_, text| {
                said.push(text.to_owned());
                None
            });
        }
        let spelled = said.iter().map(|text| Json::from(text.as_str()).to_string());
        let mut said: Vec<String> =
            spelled.map(|text| text.trim_matches('"').to_owned()).chain(said.iter().cloned()).collect();
        said.retain(|text| text.chars().count() >= LEAST_REPEATED);
        said.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Self(said)
    }

    /// A text without those that it repeats.
    pub(crate) fn removed_from(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, said| text.replace(said.as_str(), REPEATED))
    }
}

/// The first value that a function finds in the texts of a result or error, which it gets with their paths.
pub(crate) fn first_in_texts<T>(answer: &Answer<'_>, mut look: impl FnMut(&str, &str) -> Option<T>) -> Option<T> {
    let parts = ["result", "error"].into_iter().filter_map(|member| Some((member, answer.message.get(member)?)));
    parts.into_iter().find_map(|(member, part)| first_text(part, &mut member.to_owned(), &mut look))
}

/// The same for the texts of a value, names of members included.
fn first_text<T>(value: &Json, path: &mut String, look: &mut dyn FnMut(&str, &str) -> Option<T>) -> Option<T> {
    let length = path.len();
    match value {
        Json::String(text) => look(path, text),
        Json::Array(items) => items.iter().enumerate().find_map(|(at, item)| {
            let _ = write!(path, "[{at}]");
            let found = first_text(item, path, look);
            path.truncate(length);
            found
        }),
        Json::Object(fields) => fields.iter().find_map(|(name, item)| {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
            let found = look(path, name).or_else(|| first_text(item, path, look));
            path.truncate(length);
            found
        }),
        Json::Null | Json::Bool(_) | Json::Number(_) => None,
    }
}
