//! Turns YAML text into a tree of located nodes; the only file that knows the YAML crate.
//!
//! Repeated keys are kept and reported by [`super::shape`], so that one run names every mistake.
//! Only a mistake in the syntax itself stops at the first.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Location, Options, Spanned};

use super::{Diagnostic, Located, Node, SourceId, Sources, Span, Value};

/// How deep mappings and lists may nest; suites need about twelve.
const MAX_DEPTH: usize = 96;

/// Stack of the reading thread in bytes, reserved and hardly used: measured need at `MAX_DEPTH` is below a quarter.
const READER_STACK: usize = 32 << 20;

/// Reads a text of `sources` as one YAML document; an empty document is `Null`.
pub fn parse(sources: &Sources, source: SourceId) -> Result<Node, Diagnostic> {
    let text = &sources.file(source).text;
    // The reader recurses once per level, with frames too large for the stack of a small thread.
    let read = std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().stack_size(READER_STACK).spawn_scoped(scope, || read(text, source));
        reader.ok().and_then(|thread| thread.join().ok())
    });
    read.unwrap_or_else(|| Err(Diagnostic::without_place("yaml-syntax", "the YAML reader could not be started")))
}

fn read(text: &str, source: SourceId) -> Result<Node, Diagnostic> {
    match serde_saphyr::from_str_with_options::<Option<Spanned<Raw>>>(text, options()) {
        Ok(Some(root)) => Ok(located(root, source, offset(text.len()))),
        Ok(None) => Ok(Node { value: Value::Null, span: Span { source, start: 0, end: 0 } }),
        Err(error) => Err(syntax_error(&error, source, text)),
    }
}

fn options() -> Options {
    let mut options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
        emit_comments: false,
        budget: serde_saphyr::budget! {
            max_nodes: 2_000_000,
            max_events: 5_000_000,
            max_depth: MAX_DEPTH,
            enforce_alias_anchor_ratio: false,
        },
    };
    options.alias_limits.max_total_replayed_events = 200_000;
    options
}

fn syntax_error(error: &serde_saphyr::Error, source: SourceId, text: &str) -> Diagnostic {
    let start = error.location().map_or(0, |location| byte_position(&location, text));
    let end = text[start..].chars().next().map_or(start, |c| start + c.len_utf8());
    let span = Span { source, start: offset(start), end: offset(end) };
    let message = error.without_snippet().to_string();
    let first = message.lines().next().unwrap_or_default();
    let sentence = plain(first.split(" at line ").next().unwrap_or(first));
    Diagnostic::error("yaml-syntax", format!("the file is no valid YAML: {sentence}"), span)
}

/// The reader's sentence in words for users, where it speaks of its own insides.
fn plain(sentence: &str) -> &str {
    const SENTENCES: [(&str, &str); 5] = [
        ("multiple YAML documents", "a second document starts here"),
        ("alias replay limit", "its aliases unfold to more values than any suite needs"),
        ("recursion limit", "it nests deeper than any suite needs"),
        ("budget breached: Depth", "it nests deeper than any suite needs"),
        ("budget breached", "it is larger than any suite needs"),
    ];
    let known = SENTENCES.iter().find(|(start, _)| sentence.starts_with(start));
    known.map_or(sentence.trim_end_matches(['.', ':', ',']), |(_, plain)| plain)
}

/// Syntax errors carry a line and a column, not always bytes.
fn byte_position(location: &Location, text: &str) -> usize {
    if let Some(at) = location.span().byte_offset() {
        let at = usize::try_from(at).unwrap_or(0).min(text.len());
        return (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    }
    let line = usize::try_from(location.line()).unwrap_or(1).max(1);
    let column = usize::try_from(location.column()).unwrap_or(1).max(1);
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    text[start..].char_indices().nth(column - 1).map_or(text.len(), |(at, _)| start + at)
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// What the YAML crate hands over, before places are resolved.
enum Raw {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

fn located(raw: Spanned<Raw>, source: SourceId, parent_end: u32) -> Node {
    let start = position(&raw.referenced).unwrap_or(parent_end);
    let scalar_end = start + extent(&raw.referenced);
    let value = match raw.value {
        Raw::Null => Value::Null,
        Raw::Bool(flag) => Value::Bool(flag),
        Raw::Number(number) => Value::Number(number),
        Raw::Text(text) => Value::Text(text),
        Raw::List(items) => Value::List(items.into_iter().map(|item| located(item, source, start)).collect()),
        Raw::Map(entries) => Value::Map(entries.into_iter().map(|entry| entry_node(entry, source)).collect()),
    };
    // The crate gives collections a place but no length; theirs ends with their last child.
    let end = match &value {
        Value::List(items) => items.last().map_or(scalar_end, |item| item.span.end),
        Value::Map(entries) => entries.last().map_or(scalar_end, |(key, node)| node.span.end.max(key.span.end)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => scalar_end,
    };
    Node { value, span: Span { source, start, end: end.max(start) } }
}

fn entry_node((key, value): (Spanned<String>, Spanned<Raw>), source: SourceId) -> (Located<String>, Node) {
    let start = position(&key.referenced).unwrap_or(0);
    let span = Span { source, start, end: start + extent(&key.referenced) };
    let mut node = located(value, source, span.end);
    // An absent value has no place of its own worth pointing at; the key has.
    if node.value == Value::Null && node.span.start == node.span.end {
        node.span = span;
    }
    (Located::new(key.value, span), node)
}

fn position(location: &Location) -> Option<u32> {
    location.span().byte_offset().and_then(|at| u32::try_from(at).ok())
}

fn extent(location: &Location) -> u32 {
    location.span().byte_len().and_then(|length| u32::try_from(length).ok()).unwrap_or(0)
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Raw, E> {
        Ok(Raw::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Raw, E> {
        Ok(Raw::Number(number.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Raw, E> {
        serde_json::Number::from_f64(number).map(Raw::Number).ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Raw, E> {
        Ok(Raw::Text(text))
    }

    fn visit_bytes<E: serde::de::Error>(self, _: &[u8]) -> Result<Raw, E> {
        Err(E::custom("binary values have no meaning in a suite"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = access.next_key::<Spanned<Raw>>()? {
            let text = match key.value {
                Raw::Text(text) => text,
                Raw::Number(number) => number.to_string(),
                Raw::Bool(flag) => flag.to_string(),
                Raw::Null => "null".to_owned(),
                Raw::List(_) | Raw::Map(_) => return Err(A::Error::custom("a key must be text")),
            };
            let key = Spanned::new(text, key.referenced, key.defined);
            entries.push((key, access.next_value()?));
        }
        Ok(Raw::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::super::SourceFile;
    use super::*;

    fn read(text: &str) -> (Sources, Result<Node, Diagnostic>) {
        let mut sources = Sources::default();
        let id = sources.add(SourceFile::new("t.yml", text));
        let node = parse(&sources, id);
        (sources, node)
    }

    #[test]
    fn nodes_know_their_place() {
        let (sources, node) = read("a: 1\nlist:\n  - x: \"é\"\n    y: [1, zwei]\nend: ~\n");
        let node = node.unwrap();
        let list = node.get("list").unwrap();
        assert_eq!(sources.text(list.items()[0].get("y").unwrap().items()[1].span), "zwei");
        assert_eq!(sources.text(list.items()[0].get("x").unwrap().span), "\"é\"");
        assert_eq!(sources.place(node.entries()[2].0.span), ("t.yml", 5, 1));
        assert_eq!(node.get("a").unwrap().to_json(), serde_json::json!(1));
    }

    #[test]
    fn types_are_kept_and_repeated_keys_too() {
        let (_, node) = read("{a: 007, b: yes, c: 1_000, d: 1e3, e: '1', a: 2, 5: x, f: .nan}");
        let node = node.unwrap();
        assert_eq!(node.entries().len(), 8);
        assert_eq!(
            node.to_json(),
            serde_json::json!({"a": 2, "b": "yes", "c": "1_000", "d": 1000.0, "e": "1", "5": "x", "f": ".nan"})
        );
    }

    #[test]
    fn aliases_work_and_bombs_end() {
        let (_, node) = read("a: &x {k: 1}\nb: *x\nc: {<<: *x, l: 2}\n");
        assert_eq!(node.unwrap().get("c").unwrap().to_json(), serde_json::json!({"k": 1, "l": 2}));
        let bomb = (1..30).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, n| {
            let line = vec![format!("*a{}", n - 1); 9].join(",");
            format!("{text}a{n}: &a{n} [{line}]\n")
        });
        assert_eq!(read(&bomb).1.unwrap_err().code, "yaml-syntax");
        assert_eq!(read(&"[".repeat(100_000)).1.unwrap_err().code, "yaml-syntax");
        assert_eq!(read(&"a: [".repeat(200)).1.unwrap_err().code, "yaml-syntax");
    }

    #[test]
    fn a_syntax_error_points() {
        let (sources, node) = read("a: 1\nb: [1, 2\nc: 3\n");
        let diagnostic = node.unwrap_err();
        assert_eq!(sources.place(diagnostic.label.unwrap().span).1, 3, "{}", diagnostic.message);
        assert_eq!(read("").1.unwrap().value, Value::Null);
    }
}
