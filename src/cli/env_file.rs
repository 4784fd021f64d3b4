//! Files of environment variables, as `--env-file` names them.
//!
//! Written here and not taken from a library, since those quote a line that they cannot read, and lines hold secrets.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::console::Console;
use super::exit::Exit;
use crate::source::file::WRITTEN;

/// Adds the variables of files to the environment: what is set already stays, and a later file counts before an earlier
/// one.
pub(crate) fn add_variables(console: &mut Console, files: &[PathBuf]) -> Result<(), Exit> {
    let mut variables = BTreeMap::new();
    for path in files {
        let (sources, id) = console.read("file of variables", path, WRITTEN, None)?;
        let found = parse(&sources.file(id).text).map_err(|InvalidLine { line, reason }| {
            let message = format!("line {line} of the file of variables `{}` {reason}", path.display());
            console.fail(Exit::Usage, message, None)
        })?;
        variables.extend(found);
    }
    if !variables.is_empty() {
        variables.extend(console.environment.variables.iter().map(|(name, value)| (name.clone(), value.clone())));
        console.environment.variables = Arc::new(variables);
    }
    Ok(())
}

/// A line that is no variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct InvalidLine {
    /// Counted from one.
    line: usize,
    /// Continues a sentence that starts with the line, and quotes nothing of it.
    reason: &'static str,
}

/// Reads `NAME=value`, one a line; `export ` before it, quotes around the value and comments may be there.
///
/// Within double quotes `\n`, `\t`, `\"`, `\$` and `\\` stand for characters; within single quotes everything is itself.
/// Without quotes a value ends before a blank and `#`. Nothing is substituted, and no value is longer than its line.
fn parse(text: &str) -> Result<Vec<(String, String)>, InvalidLine> {
    let mut variables = Vec::new();
    for (line, written) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let written = written.trim();
        if written.is_empty() || written.starts_with('#') {
            continue;
        }
        variables.push(variable(written).map_err(|reason| InvalidLine { line: line + 1, reason })?);
    }
    Ok(variables)
}

fn variable(written: &str) -> Result<(String, String), &'static str> {
    let written = written.strip_prefix("export ").unwrap_or(written);
    let (name, value) = written.split_once('=').ok_or("has no `=`; write NAME=value")?;
    let name = name.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err("has a name that is not made of letters, digits and `_`");
    }
    Ok((name.to_owned(), value_of(value.trim())?))
}

fn value_of(written: &str) -> Result<String, &'static str> {
    let Some(quote @ ('"' | '\'')) = written.chars().next() else {
        let begins_comment = |(at, _): &(usize, &str)| written[..*at].ends_with(char::is_whitespace);
        let end = written.match_indices('#').find(begins_comment).map_or(written.len(), |(at, _)| at);
        return Ok(written[..end].trim_end().to_owned());
    };
    let (mut value, mut rest) = (String::new(), written[1..].chars());
    loop {
        match rest.next() {
            None => return Err("opens a quote and does not close it; a value has one line"),
            Some('\\') if quote == '"' => match rest.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(escaped @ ('"' | '$' | '\\')) => value.push(escaped),
                Some(other) => value.extend(['\\', other]),
                None => value.push('\\'),
            },
            Some(end) if end == quote => break,
            Some(other) => value.push(other),
        }
    }
    let after = rest.as_str().trim_start();
    if after.is_empty() || after.starts_with('#') { Ok(value) } else { Err("goes on after its closing quote") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_shells_and_containers_read_them() {
        for (line, name, value) in [
            ("TOKEN=abc", "TOKEN", "abc"),
            ("  export TOKEN = abc  ", "TOKEN", "abc"),
            ("EMPTY=", "EMPTY", ""),
            ("A=#abc", "A", "#abc"),
            ("A=one\t# two", "A", "one"),
            ("URL=http://h/?a=b#c", "URL", "http://h/?a=b#c"),
            ("A=one two # three", "A", "one two"),
            (r#"A="one # two\n\"$x\"" # three"#, "A", "one # two\n\"$x\""),
            (r"A='one\n$x'", "A", r"one\n$x"),
            (r#"A="\w""#, "A", r"\w"),
            ("\u{feff}A=1", "A", "1"),
        ] {
            assert_eq!(parse(line), Ok(vec![(name.to_owned(), value.to_owned())]), "{line}");
        }
        assert_eq!(parse("\n# A=1\r\n\r\n"), Ok(Vec::new()));
        assert_eq!(parse("A=1\r\nB=2\r\n").map(|found| found.len()), Ok(2));
    }

    #[test]
    fn a_line_that_is_no_variable_is_named_and_not_quoted() {
        for (text, line, reason) in [
            ("A=1\n\nsecret", 3, "has no `=`; write NAME=value"),
            ("=secret", 1, "has a name that is not made of letters, digits and `_`"),
            ("1A=secret", 1, "has a name that is not made of letters, digits and `_`"),
            ("A-B=secret", 1, "has a name that is not made of letters, digits and `_`"),
            ("A=\"secret", 1, "opens a quote and does not close it; a value has one line"),
            ("A='secret' secret", 1, "goes on after its closing quote"),
        ] {
            assert_eq!(parse(text), Err(InvalidLine { line, reason }), "{text}");
        }
    }
}
