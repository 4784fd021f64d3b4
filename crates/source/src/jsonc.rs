//! Turns JSON with comments and trailing commas, as editors write it, into a tree of located nodes; the only file that
//! knows the JSONC crate.
//!
//! Repeated keys are kept, as in YAML, so that [`super::grammar`] can report them.

use jsonc_parser::ast;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{Diagnostic, Located, Node, SourceId, Sources, Span, Value};

/// The depth of objects and lists; configurations of clients need about six.
const MAX_DEPTH: usize = 96;

/// Comments and trailing commas, and nothing else that JSON lacks.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads a text of `sources` as one JSON document with comments; an empty document is `Null`.
///
/// # Errors
///
/// Fails with the first mistake in the syntax.
pub fn parse_jsonc(sources: &Sources, source: SourceId) -> Result<Node, Diagnostic> {
    let text = &sources.file(source).text;
    let bare = text.trim_start_matches('\u{feff}');
    let reader = JsoncReader { source, text, skipped: text.len() - bare.len() };
    let read = parse_to_ast(bare, &CollectOptions::default(), &OPTIONS).map_err(|error| reader.syntax(&error))?;
    match read.value {
        Some(value) => reader.node(value, 0),
        None => Ok(Node { value: Value::Null, span: Span { source, start: 0, end: 0 } }),
    }
}

struct JsoncReader<'t> {
    source: SourceId,
    text: &'t str,
    /// The bytes before the first one that is parsed.
    skipped: usize,
}

impl JsoncReader<'_> {
    fn node(&self, value: ast::Value<'_>, depth: usize) -> Result<Node, Diagnostic> {
        let span = self.span(match &value {
            ast::Value::StringLit(text) => text.range,
            ast::Value::NumberLit(number) => number.range,
            ast::Value::BooleanLit(flag) => flag.range,
            ast::Value::Object(object) => object.range,
            ast::Value::Array(array) => array.range,
            ast::Value::NullKeyword(null) => null.range,
        });
        if depth > MAX_DEPTH {
            return Err(self.mistake("it is nested too deeply", span));
        }
        let value = match value {
            ast::Value::StringLit(text) => Value::Text(text.value.into_owned()),
            ast::Value::NumberLit(number) => match number.value.parse() {
                Ok(number) => Value::Number(number),
                Err(_) => return Err(self.mistake("a number is too large", span)),
            },
            ast::Value::BooleanLit(flag) => Value::Bool(flag.value),
            ast::Value::NullKeyword(_) => Value::Null,
            ast::Value::Array(array) => {
                let items = array.elements.into_iter().map(|item| self.node(item, depth + 1));
                Value::List(items.collect::<Result<_, _>>()?)
            }
            ast::Value::Object(object) => {
                let entries = object.properties.into_iter().map(|property| {
                    let range = match &property.name {
                        ast::ObjectPropName::String(name) => name.range,
                        ast::ObjectPropName::Word(name) => name.range,
                    };
                    let name = Located::new(property.name.into_string(), self.span(range));
                    Ok((name, self.node(property.value, depth + 1)?))
                });
                Value::Map(entries.collect::<Result<_, _>>()?)
            }
        };
        Ok(Node { value, span })
    }

    fn span(&self, range: jsonc_parser::common::Range) -> Span {
        let offset = |at: usize| u32::try_from(at + self.skipped).unwrap_or(u32::MAX);
        Span { source: self.source, start: offset(range.start), end: offset(range.end) }
    }

    fn syntax(&self, error: &ParseError) -> Diagnostic {
        let span = self.span(error.range());
        let sentence = error.kind().to_string();
        let mut letters = sentence.chars();
        let sentence: String = letters.next().iter().flat_map(|first| first.to_lowercase()).chain(letters).collect();
        self.mistake(&sentence, span).with_help(cure(error.kind()).map(str::to_owned))
    }

    /// A mistake at the beginning of a range, since what is never closed reaches to the end of the file.
    fn mistake(&self, sentence: &str, span: Span) -> Diagnostic {
        let from = span.start as usize;
        let one = self.text.get(from..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let first = Span { end: span.start + u32::try_from(one).unwrap_or(0), ..span };
        Diagnostic::error("json-syntax", format!("the file is not valid JSON: {sentence}"), first)
    }
}

/// The hint for a mistake in the syntax.
fn cure(kind: &ParseErrorKind) -> Option<&'static str> {
    if matches!(kind, ParseErrorKind::ExpectedComma) {
        return Some("write a `,` between two entries");
    }
    if matches!(kind, ParseErrorKind::UnterminatedObject | ParseErrorKind::UnterminatedArray) {
        return Some("this bracket is never closed; check the brackets inside it, too");
    }
    let is_word = matches!(kind, ParseErrorKind::UnexpectedWord | ParseErrorKind::ExpectedStringObjectProperty);
    is_word.then_some("write names and texts in double quotes")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::SourceFile;
    use super::*;

    fn read(text: &str) -> Result<Node, String> {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("mcp.json", text));
        parse_jsonc(&sources, source).map_err(|mistake| {
            let (_, line, column) = sources.place(mistake.label.as_ref().unwrap().span);
            format!("{line}:{column}: {}", mistake.message)
        })
    }

    #[test]
    fn comments_and_trailing_commas_are_read() {
        for (text, expected) in [
            ("{\"a\": [1, 2.5, -3e2]}", json!({"a": [1, 2.5, -300.0]})),
            ("// why\n{\n\t\"a\": 1, /* b */ \"c\": {},\n}", json!({"a": 1, "c": {}})),
            ("\u{feff}{\"a\": [true, null, \"\\ud83d\\ude00\\/\",]}", json!({"a": [true, null, "😀/"]})),
            ("", json!(null)),
            (" // nothing\n", json!(null)),
        ] {
            assert_eq!(read(text).map(|node| node.to_json()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn mistakes_have_a_place() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        for (text, expected) in [
            ("{\n  \"a\": 1\n  \"b\": 2\n}", "2:9: the file is not valid JSON: expected comma"),
            ("{\n  \"a\": {\n", "2:8: the file is not valid JSON: unterminated object"),
            ("{a: 1}", "1:2: the file is not valid JSON: expected string for object property"),
            ("{'a': 1}", "1:2: the file is not valid JSON: single-quoted strings are not allowed"),
            ("{} {}", "1:4: the file is not valid JSON: text cannot contain more than one JSON value"),
            (&deep, "1:98: the file is not valid JSON: it is nested too deeply"),
        ] {
            assert_eq!(read(text), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn names_and_values_know_their_places() {
        let node = read("\u{feff}{\n  \"é\": \"x\"\n}").unwrap();
        let (name, value) = &node.entries()[0];
        assert_eq!((name.span.start, name.span.end, value.span.start, value.span.end), (7, 11, 13, 16));
    }
}
