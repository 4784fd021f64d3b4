//! Places and sentences of what does not fit: where it is, what the schema demands there, and what came.

use std::fmt::Write as _;
use std::io;

use serde_json::Value;

use super::table::{MessageShape, TextForm};
use crate::source::shorten;

/// A place in a message, as the walk got there.
#[derive(Clone, Copy)]
pub(crate) struct Position<'a> {
    pub(crate) before: Option<&'a Position<'a>>,
    pub(crate) step: PlaceStep<'a>,
}

/// The last step to a place.
#[derive(Clone, Copy)]
pub(crate) enum PlaceStep<'a> {
    /// The part of the message at which the walk began, such as `result`; empty for the message itself.
    Start(&'static str),
    Member(&'a str),
    /// A member whose name the server chose.
    Entry(&'a str),
    Item(usize),
}

impl<'a> Position<'a> {
    /// One step further.
    pub(crate) fn then(&'a self, step: PlaceStep<'a>) -> Self {
        Self { before: Some(self), step }
    }

    /// The path as a message shows it.
    pub(crate) fn path(&self) -> String {
        let mut path = String::new();
        self.write(&mut path, &|path, step| match step {
            PlaceStep::Item(index) => drop(write!(path, "[{index}]")),
            PlaceStep::Start(name) | PlaceStep::Member(name) | PlaceStep::Entry(name) => push_name(path, name),
        });
        path
    }

    /// The path without what differs between values of one kind: indexes, and names that the server chose.
    pub(crate) fn kind(&self) -> String {
        let mut path = String::new();
        self.write(&mut path, &|path, step| match step {
            PlaceStep::Item(_) | PlaceStep::Entry(_) => path.push_str("[*]"),
            PlaceStep::Start(name) | PlaceStep::Member(name) => push_name(path, name),
        });
        path
    }

    fn write(&self, path: &mut String, push: &impl Fn(&mut String, PlaceStep<'_>)) {
        if let Some(before) = self.before {
            before.write(path, push);
        }
        push(path, self.step);
    }
}

fn push_name(path: &mut String, name: &str) {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'));
    if is_plain {
        if !path.is_empty() && !name.is_empty() {
            path.push('.');
        }
        path.push_str(name);
    } else {
        let _ = write!(path, "[{}]", Value::from(shorten(name, 40)));
    }
}

/// What a shape demands, as it completes "must be …".
pub(crate) fn demand(shape: &MessageShape) -> String {
    let range = |noun: &str, least: Option<f64>, most: Option<f64>| match (least, most) {
        (Some(least), Some(most)) => format!("{noun} from {least} to {most}"),
        (Some(least), None) => format!("{noun} of at least {least}"),
        (None, Some(most)) => format!("{noun} of at most {most}"),
        (None, None) => noun.to_owned(),
    };
    match shape {
        MessageShape::Any => "there".to_owned(),
        MessageShape::Null => "null".to_owned(),
        MessageShape::Boolean => "`true` or `false`".to_owned(),
        MessageShape::Number { is_whole: true, least, most } => range("an integer", *least, *most),
        MessageShape::Number { is_whole: false, least, most } => range("a number", *least, *most),
        MessageShape::Text(_) => "a string".to_owned(),
        MessageShape::Words(words) => any_of(words.iter().map(|word| format!("`{word}`")).collect()),
        MessageShape::List { .. } => "an array".to_owned(),
        MessageShape::Object | MessageShape::Map(_) | MessageShape::Defined(_) => "an object".to_owned(),
        MessageShape::OneOf(shapes) => any_of(shapes.iter().map(demand).collect()),
    }
}

/// The noun of a form.
pub(crate) fn form_noun(form: TextForm) -> &'static str {
    match form {
        TextForm::Base64 => "base64",
        TextForm::Uri => "a URI of RFC 3986, with a scheme",
        TextForm::UriTemplate => "a URI template of RFC 6570",
        TextForm::MediaType => "a media type",
        TextForm::Timestamp => "a date and time of ISO 8601",
    }
}

/// Several demands of which one has to hold.
pub(crate) fn any_of(mut demands: Vec<String>) -> String {
    let mut known = std::collections::BTreeSet::new();
    demands.retain(|demand| known.insert(demand.clone()));
    match demands.pop() {
        Some(last) if demands.is_empty() => last,
        Some(last) => format!("{} or {last}", demands.join(", ")),
        None => String::new(),
    }
}

/// A value as a message may quote it; of a large one, only the beginning is written at all.
pub(crate) fn quote(value: &Value) -> String {
    let mut beginning = Beginning(Vec::new());
    // It ends with an error where the value goes on.
    let _ = serde_json::to_writer(&mut beginning, value);
    format!("`{}`", shorten(&String::from_utf8_lossy(&beginning.0), SHOWN))
}

/// The number of characters of a value that a message shows.
const SHOWN: usize = 80;

struct Beginning(Vec<u8>);

impl io::Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A character has up to four bytes.
        let left = (SHOWN * 4 + 4).saturating_sub(self.0.len());
        self.0.extend(&bytes[..bytes.len().min(left)]);
        if left == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(bytes.len().min(left)) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_are_written_as_paths() {
        let start = Position { before: None, step: PlaceStep::Start("result") };
        let list = start.then(PlaceStep::Member("tools"));
        let item = list.then(PlaceStep::Item(3));
        let schema = item.then(PlaceStep::Member("inputSchema"));
        let entry = schema.then(PlaceStep::Entry("a b"));
        assert_eq!(entry.path(), r#"result.tools[3].inputSchema["a b"]"#);
        assert_eq!(entry.kind(), "result.tools[*].inputSchema[*]");
        let whole = Position { before: None, step: PlaceStep::Start("") };
        assert_eq!(whole.then(PlaceStep::Member("params")).path(), "params");
    }

    #[test]
    fn only_the_beginning_of_a_value_is_quoted() {
        assert_eq!(quote(&json!({"a": [1, null]})), r#"`{"a":[1,null]}`"#);
        assert!(quote(&json!("ä".repeat(1_000_000))).chars().count() < 100);
        assert!(quote(&json!(vec![0; 1_000_000])).chars().count() < 100);
    }
}
