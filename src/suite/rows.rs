//! Rows of data-driven tests, inline or from a CSV or JSON file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value as Json;

use super::files::{Files, why_unreadable};
use super::model::Row;
use crate::redact::{MASK, Redactor, holds_a_secret};
use crate::source::template::{Names, text_of};
use crate::source::{Diagnostic, Node, SourceFile, Sources, Span, Value};
use crate::wire::exceeded_limit;

/// The number of rows that a test may have, and all tests of a suite together: each becomes a case.
pub(crate) const MOST_ROWS: usize = 50_000;

const JSON_HELP: &str = "the path is relative to this file; a JSON file is a list of objects, such as `[{\"id\": 1}]`";
const CSV_HELP: &str =
    "the path is relative to this file; the first line of a CSV file names the columns, every further line is a row";
const TOO_MANY_ROWS: &str = "a suite has at most 50,000 rows";

pub(crate) fn too_many_rows(place: Span) -> Diagnostic {
    let help = "every row becomes a case; split the rows into several suites, or generate values with `properties`";
    Diagnostic::error("bad-rows", TOO_MANY_ROWS, place).with_help(help.to_owned())
}

/// The rows of a test; paths are relative to `folder`, and a file of rows is one of the sources of the suite.
pub(crate) fn load(
    node: &Node,
    folder: &Path,
    files: &dyn Files,
    sources: &mut Sources,
    found: &mut Vec<Diagnostic>,
) -> Vec<Row> {
    let rows = match &node.value {
        Value::Text(path) => {
            let file = folder.join(path);
            let is_json = file.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
            let unusable = |reason: String| format!("`{path}` cannot be used: {reason}");
            let read = files.read(&file).map_err(|error| why_unreadable(&error));
            let rows = read.and_then(|text| {
                let rows = if is_json { from_json(&text) } else { from_csv(&text) }?;
                add_once(&file, text, sources);
                Ok(rows)
            });
            match rows {
                Ok(rows) => rows,
                Err(reason) => {
                    let reason = unusable(reason);
                    found.push(if is_json {
                        Diagnostic::error("bad-rows", reason, node.span).with_help(JSON_HELP.to_owned())
                    } else {
                        Diagnostic::error("bad-csv", reason, node.span).with_help(CSV_HELP.to_owned())
                    });
                    return Vec::new();
                }
            }
        }
        Value::List(items) => {
            if let Some(beyond) = items.get(MOST_ROWS) {
                found.push(too_many_rows(beyond.span));
                return Vec::new();
            }
            report_uneven(items, found);
            items.iter().filter_map(|item| item.to_json().as_object().cloned()).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Map(_) => Vec::new(),
    };
    if rows.is_empty() && node.text().is_some() {
        found.push(Diagnostic::error("empty-list", "there are no rows, so the test would never run", node.span));
    }
    name_rows(rows)
}

/// Adds a file that several tests may read.
fn add_once(path: &Path, text: String, sources: &mut Sources) {
    let name = path.display().to_string();
    if !sources.names().any(|known| known == name) {
        sources.add(SourceFile::new(name, text));
    }
}

/// Every row must have the names of the first: a slip would leave a template without its value.
fn report_uneven(items: &[Node], found: &mut Vec<Diagnostic>) {
    let Some(first) = items.first() else { return };
    for item in &items[1..] {
        for (key, _) in first.entries().iter().filter(|(key, _)| key.value != "name" && item.get(&key.value).is_none())
        {
            found.push(
                Diagnostic::error("uneven-row", format!("the row has no `{}`", key.value), item.span)
                    .with_other(key.span, "the first row has it here"),
            );
        }
        for (key, _) in item.entries().iter().filter(|(key, _)| key.value != "name" && first.get(&key.value).is_none())
        {
            found.push(
                Diagnostic::error("uneven-row", format!("only this row has `{}`", key.value), key.span)
                    .with_other(first.span, "the first row has no such name"),
            );
        }
    }
}

/// A list of objects, all with the names of the first.
fn from_json(text: &str) -> Result<Vec<Names>, String> {
    let text = text.trim_start_matches('\u{feff}');
    if let Some(beyond) = exceeded_limit(text.as_bytes()) {
        return Err(format!("it {beyond}"));
    }
    let value: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let Json::Array(items) = value else { return Err("it holds no list of objects".to_owned()) };
    if items.len() > MOST_ROWS {
        return Err(TOO_MANY_ROWS.to_owned());
    }
    let rows: Option<Vec<Names>> = items.into_iter().map(|item| item.as_object().cloned()).collect();
    let rows = rows.ok_or_else(|| "its list holds something else than objects".to_owned())?;
    let names = |row: &Names| row.keys().filter(|name| *name != "name").cloned().collect::<BTreeSet<String>>();
    let uneven = rows.iter().position(|row| names(row) != names(&rows[0]));
    match uneven {
        Some(at) => Err(format!("row {} has other names than the first", at + 1)),
        None => Ok(rows),
    }
}

fn from_csv(text: &str) -> Result<Vec<Names>, String> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::Headers).from_reader(text.as_bytes());
    let headers: Vec<String> = reader.headers().map_err(|error| error.to_string())?.iter().map(str::to_owned).collect();
    let mut seen = BTreeSet::new();
    if let Some(twice) = headers.iter().find(|header| !seen.insert(header.as_str())) {
        return Err(format!("the column `{twice}` is there twice"));
    }
    reader
        .records()
        .enumerate()
        .map(|(count, record)| {
            if count == MOST_ROWS {
                return Err(TOO_MANY_ROWS.to_owned());
            }
            let record = record.map_err(|error| csv_sentence(&error))?;
            let start = record.position().map_or(0, |position| usize::try_from(position.byte()).unwrap_or(usize::MAX));
            let quoted = quote_marks(text.get(start..).unwrap_or_default());
            let cells = record.iter().zip(quoted.into_iter().chain(std::iter::repeat(false)));
            let values = cells.map(|(cell, quoted)| if quoted { Json::from(cell) } else { parse_cell(cell) });
            Ok(headers.iter().cloned().zip(values).collect())
        })
        .collect()
}

/// Which cells of the record at the beginning of a text stand in quotes; the reader does not tell.
fn quote_marks(text: &str) -> Vec<bool> {
    let mut rest = text.trim_start_matches(['\r', '\n']);
    let mut quoted = Vec::new();
    loop {
        quoted.push(rest.starts_with('"'));
        if let Some(mut inside) = rest.strip_prefix('"') {
            // Two quotes are one that belongs to the text.
            loop {
                let end = inside.find('"').map_or(inside.len(), |at| at + 1);
                inside = &inside[end..];
                match inside.strip_prefix('"') {
                    Some(more) => inside = more,
                    None => break,
                }
            }
            rest = inside;
        }
        let end = rest.find([',', '\r', '\n']).unwrap_or(rest.len());
        match rest[end..].strip_prefix(',') {
            Some(more) => rest = more,
            None => return quoted,
        }
    }
}

/// The text of a CSV file of rows with other cells in the place of secret ones: `replaced` gives them by the name of their
/// column and their value. `None` for a text that is no such file.
pub(crate) fn mask_csv(text: &str, replaced: &dyn Fn(&str, &str) -> Option<String>) -> Option<String> {
    let bare = text.trim_start_matches('\u{feff}');
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(bare.as_bytes());
    let (mut headers, mut masked, mut is_masked) = (Vec::new(), String::new(), false);
    for record in reader.records() {
        let record = record.ok()?;
        let start = usize::try_from(record.position()?.byte()).ok()?;
        let quoted = quote_marks(bare.get(start..)?);
        let is_first = headers.is_empty();
        if is_first {
            headers = record.iter().map(|header| header.trim().to_owned()).collect();
        }
        let cells = record.iter().zip(&headers).zip(quoted).map(|((cell, header), quoted)| {
            let replaced = if is_first { None } else { replaced(header, cell) };
            is_masked |= replaced.is_some();
            let is_quoted = quoted || replaced.is_some();
            let cell = replaced.unwrap_or_else(|| cell.to_owned());
            if is_quoted { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
        });
        masked += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    Some(if is_masked { masked } else { text.to_owned() })
}

fn csv_sentence(error: &csv::Error) -> String {
    let csv::ErrorKind::UnequalLengths { pos, expected_len, len } = error.kind() else { return error.to_string() };
    let line = pos.as_ref().map_or_else(String::new, |pos| format!("line {}: ", pos.line()));
    format!("{line}the row has {len} values, the header names {expected_len}")
}

/// A CSV value without quotes keeps a type where it reads exactly as that type is written.
fn parse_cell(text: &str) -> Json {
    match serde_json::from_str::<Json>(text) {
        Ok(value @ (Json::Bool(_) | Json::Number(_))) if json_text(&value) == text => value,
        _ => text.into(),
    }
}

fn json_text(value: &Json) -> String {
    value.to_string()
}

/// Names rows by what they call themselves or by their values; equal names are numbered.
fn name_rows(rows: Vec<Names>) -> Vec<Row> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    rows.into_iter()
        .map(|values| {
            let name = values.get("name").and_then(Json::as_str).map_or_else(|| value_name(&values), str::to_owned);
            let times = seen.entry(name.clone()).and_modify(|times| *times += 1).or_insert(1);
            let name = if *times > 1 { format!("{name}#{times}") } else { name };
            Row { name, values }
        })
        .collect()
}

fn value_name(values: &Names) -> String {
    let redactor = Redactor::default();
    let shown = |key: &str, value: &Json| {
        let text = text_of(value);
        // A name is shown everywhere.
        let shown = if holds_a_secret(key, &text) { MASK.to_owned() } else { redactor.text(&text) };
        shown.chars().take(40).collect::<String>()
    };
    values.iter().map(|(key, value)| format!("{key}={}", shown(key, value))).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn csv_values_keep_only_certain_types() {
        for (text, value) in [
            ("1", json!(1)),
            ("007", json!("007")),
            ("true", json!(true)),
            ("", json!("")),
            ("1.50", json!("1.50")),
            ("null", json!("null")),
        ] {
            assert_eq!(parse_cell(text), value, "{text}");
        }
    }

    #[test]
    fn rows_are_not_without_number() {
        let csv = |count: usize| format!("id\n{}", "1\n".repeat(count)).leak() as &'static str;
        let json = |count: usize| format!("[{}]", vec!["{}"; count].join(",")).leak() as &'static str;
        let read_csv = |text| from_csv(text).map(|rows| rows.len());
        let read_json = |text| from_json(text).map(|rows| rows.len());
        for read in [read_csv(csv(MOST_ROWS)), read_json(json(MOST_ROWS))] {
            assert_eq!(read, Ok(MOST_ROWS));
        }
        for read in [read_csv(csv(MOST_ROWS + 1)), read_json(json(MOST_ROWS + 1))] {
            assert_eq!(read.unwrap_err(), TOO_MANY_ROWS);
        }
        assert!(read_json(json(4 << 20)).unwrap_err().contains("96 MiB"));
    }

    #[test]
    fn json_rows_keep_their_types_and_have_the_same_names() {
        let rows = from_json(r#"[{"id": 1, "of": {"a": [null]}}, {"of": "x", "id": "2", "name": "big"}]"#).unwrap();
        assert_eq!((rows.len(), &rows[0]["of"], &rows[1]["id"]), (2, &json!({"a": [null]}), &json!("2")));
        for (text, reason) in [
            ("{", "EOF while parsing an object at line 1 column 1"),
            ("{}", "it holds no list of objects"),
            ("[1]", "its list holds something else than objects"),
            (r#"[{"id": 1}, {"ids": 2}]"#, "row 2 has other names than the first"),
        ] {
            assert_eq!(from_json(text).unwrap_err(), reason, "{text}");
        }
    }

    #[test]
    fn quoted_csv_values_are_text() {
        let check = |text: &'static str, expected: Json| {
            let rows = from_csv(text).unwrap();
            assert_eq!(Json::from(rows.into_iter().map(Json::Object).collect::<Vec<_>>()), expected, "{text:?}");
        };
        check("a,b\n1,\"1\"\n\"true\",true\n", json!([{"a": 1, "b": "1"}, {"a": "true", "b": true}]));
        check(
            "\u{feff}\"a\",b\r\n\r\n\"x,\"\"1\n\",2\r\n3,\"4\"",
            json!([{"a": "x,\"1\n", "b": 2}, {"a": 3, "b": "4"}]),
        );
        check("a,b\n\"\",\"\"\"\"\n5,\n", json!([{"a": "", "b": "\""}, {"a": 5, "b": ""}]));
    }

    #[test]
    fn secret_cells_are_masked_and_others_keep_their_types() {
        for (text, expected) in [
            ("id,pin\n1,\"2\"\n", Some("id,pin\n1,\"2\"\n")),
            ("id,password\n1,ab\n\"2\",\"c,\"\"d\"\n", Some("id,password\n1,\"***\"\n\"2\",\"***\"\n")),
            ("id,password\n1\n", None),
            ("", Some("")),
        ] {
            let masked = mask_csv(text, &|header, _| (header == "password").then(|| "***".to_owned()));
            assert_eq!(masked.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn rows_are_named_by_value_and_never_twice() {
        let row = |value: Json| value.as_object().cloned().unwrap();
        let names: Vec<String> = name_rows(vec![
            row(json!({"id": 1, "x": "a"})),
            row(json!({"id": 1, "x": "a"})),
            row(json!({"name": "big"})),
            row(json!({"user": "ann", "password": "sesame-street-9"})),
            row(json!({"login": {"user": "ann", "password": "sesame-street-9"}})),
        ])
        .into_iter()
        .map(|row| row.name)
        .collect();
        assert_eq!(
            names,
            [
                "id=1,x=a",
                "id=1,x=a#2",
                "big",
                "user=ann,password=[redacted]",
                "login={\"user\":\"ann\",\"password\":\"[redacted]\"}"
            ]
        );
    }
}
