//! JSON that loses nothing and that a terminal and the log of a CI service can show: what is hidden, and what such a log
//! would take for a command, is written as `\u` escapes.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use crate::source;

/// The layout of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// On one line.
    Line,
    /// Indented.
    Indented,
}

/// Writes a value; a parser reads back exactly what was in it.
pub(crate) fn write(value: &impl Serialize, layout: Layout) -> String {
    let mut bytes = Vec::new();
    let written = match layout {
        Layout::Line => value.serialize(&mut Serializer::with_formatter(&mut bytes, Escaping(CompactFormatter))),
        Layout::Indented => {
            value.serialize(&mut Serializer::with_formatter(&mut bytes, Escaping(PrettyFormatter::new())))
        }
    };
    debug_assert!(written.is_ok(), "memory does not refuse, and every key is text: {written:?}");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Lets another formatter lay out and escapes what it would write as it is.
struct Escaping<F>(F);

impl<F: Formatter> Formatter for Escaping<F> {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut plain = 0;
        let mut brackets = source::command_brackets(fragment).peekable();
        let mut is_escaped =
            |(at, c): &(usize, char)| source::is_hidden(*c) || brackets.next_if(|bracket| bracket == at).is_some();
        for (at, c) in fragment.char_indices().filter(|found| is_escaped(found)) {
            writer.write_all(&fragment.as_bytes()[plain..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            plain = at + c.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[plain..])
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn nothing_hidden_is_written_and_nothing_is_lost() {
        let value = json!({"k\u{202e}": ["\u{1b}[31m\u{9b}\0\u{feff}\u{ffff}\u{e0041}é\"\\\n", 1, {}, []]});
        for layout in [Layout::Line, Layout::Indented] {
            let text = write(&value, layout);
            assert!(!text.chars().any(|c| c != '\n' && source::is_hidden(c)), "{text:?}");
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
        let commands = json!({"##[a": "::error::x ##[group]y\n##[error]z ##vso[task.x] ##teamcity[y]"});
        let text = write(&commands, Layout::Indented);
        assert!(
            source::command_brackets(&text).next().is_none()
                && !text.lines().any(|line| line.trim_start().starts_with("::")),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), commands);
        assert_eq!(write(&json!({"a": [1, "b"]}), Layout::Line), r#"{"a":[1,"b"]}"#);
    }
}
