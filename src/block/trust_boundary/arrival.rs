//! A marker in a message, in whatever form it arrives.

use serde_json::Value;

use crate::redact::Redactor;
use crate::source::beginning;

/// How many characters are shown on both sides of a marker.
const AROUND: usize = 30;

/// The place and the form in which a marker arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MarkerArrival {
    /// The path of the text that has it.
    pub(crate) path: String,
    /// The form, as the end of "the marker arrived".
    pub(crate) form: &'static str,
    /// The text around it.
    pub(crate) quote: String,
}

/// Looks for one marker.
pub(crate) struct MarkerSearch {
    marker: String,
    /// Knows the forms of a value: in base64, in hexadecimal digits, escaped for JSON, HTML and addresses.
    forms: Redactor,
}

impl MarkerSearch {
    pub(crate) fn new(marker: &str) -> Self {
        Self { marker: marker.to_owned(), forms: Redactor::new([marker.to_owned()]) }
    }

    /// The first text of a value, names of members included, that has the whole marker; a part of it is none.
    pub(crate) fn find(&self, value: &Value, path: &str) -> Option<MarkerArrival> {
        match value {
            Value::String(text) => self.find_in_text(text, path),
            Value::Array(items) => {
                items.iter().enumerate().find_map(|(at, item)| self.find(item, &format!("{path}[{at}]")))
            }
            Value::Object(members) => members.iter().find_map(|(name, member)| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                self.find_in_text(name, &path).or_else(|| self.find(member, &path))
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }

    fn find_in_text(&self, text: &str, path: &str) -> Option<MarkerArrival> {
        let arrival = |form, quote| Some(MarkerArrival { path: path.to_owned(), form, quote });
        if let Some(at) = text.find(&self.marker) {
            return arrival("in clear", self.around(text, at));
        }
        if self.forms.is_in(text) { arrival("in another encoding", beginning(text, 2 * AROUND)) } else { None }
    }

    fn around(&self, text: &str, at: usize) -> String {
        let before: Vec<char> = text[..at].chars().rev().take(AROUND).collect();
        let after = text[at + self.marker.len()..].chars().take(AROUND);
        before.into_iter().rev().chain(self.marker.chars()).chain(after).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_whole_marker_arrives_in_any_form() {
        let marker = "kw00c0ffeeq001";
        let escaped = "%6B%77%30%30%63%30%66%66%65%65%71%30%30%31".to_owned();
        for (text, form) in [
            (format!("&lt;b&gt;{marker}"), Some("in clear")),
            (format!("{{\"page\": \"\\\"{marker}\\\"\"}}"), Some("in clear")),
            (escaped, Some("in another encoding")),
            // `<p>kw00c0ffeeq001</p>`
            ("data:text/html;base64,PHA+a3cwMGMwZmZlZXEwMDE8L3A+".to_owned(), Some("in another encoding")),
            (marker[..13].to_owned(), None),
            (format!("a {} page", &marker[4..]), None),
            ("nothing of the kind, 100%".to_owned(), None),
        ] {
            let found = MarkerSearch::new(marker).find(&json!({"arguments": {"name": text}}), "");
            assert_eq!(found.as_ref().map(|found| found.form), form, "{text}");
            assert!(found.is_none_or(|found| found.path == "arguments.name"));
        }
    }
}
