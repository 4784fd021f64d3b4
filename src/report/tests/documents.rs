//! Every format of the rich recording.

use insta::assert_snapshot;
use serde_json::Value;

use crate::source::{Color, Style, is_hidden};

use super::super::{Failures, Report, View, ndjson, render, schema_of_event, schema_of_report, terminal};
use super::{check_generated, fixture, read, rich};

#[test]
fn the_recording_is_what_the_code_makes() {
    let text: String = fixture::events().iter().map(ndjson::line).collect();
    check_generated("tests/fixtures/rich.ndjson", &text);
    assert!(text.len() < 300_000, "{} bytes", text.len());
}

#[test]
fn a_recording_makes_the_same_documents_as_the_run() {
    let live = Report::of(&fixture::events());
    for format in super::super::FORMATS {
        assert_eq!((format.render)(&live, &Style::PLAIN), (format.render)(&rich(), &Style::PLAIN), "{}", format.name);
    }
}

#[test]
fn text_for_people() {
    for width in [80, 50] {
        let text = render("text", &rich(), &Style::new(Color::Never, width)).unwrap();
        assert_snapshot!(format!("text-{width}"), text);
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    let report = Report::of(fixture::events().iter().take(9));
    let plain = render("text", &report, &Style::new(Color::Never, 80)).unwrap();
    let colored = render("text", &report, &Style::new(Color::Always, 80)).unwrap();
    assert_eq!(anstream::adapter::strip_str(&colored).to_string(), plain);
    assert_snapshot!("text-color", colored.replace('\u{1b}', "␛"));
}

#[test]
fn what_was_seen_live_is_not_repeated() {
    let text =
        terminal::summary(&rich(), View { failures: Failures::SeenLive, ..View::WHOLE }, &Style::new(Color::Never, 80));
    assert_snapshot!("text-after-live", text);
}

#[test]
fn nothing_hidden_is_in_any_document() {
    for width in [40, 66, 120, 200] {
        for format in super::super::FORMATS {
            let text = (format.render)(&rich(), &Style::new(Color::Never, width));
            let hidden = text.chars().find(|c| *c != '\n' && is_hidden(*c));
            assert_eq!(hidden, None, "{}", format.name);
        }
    }
}

#[test]
fn xml_is_valid_and_complete() {
    let xml = render("junit", &rich(), &Style::PLAIN).unwrap();
    assert_snapshot!("junit", xml);
    let mut reader = quick_xml::Reader::from_str(&xml);
    let mut cases = 0;
    loop {
        let event = reader.read_event().unwrap();
        if let quick_xml::events::Event::Start(tag) | quick_xml::events::Event::Empty(tag) = &event {
            cases += usize::from(tag.name().as_ref() == b"testcase");
            assert!(tag.attributes().all(|attribute| attribute.is_ok()));
        }
        if event == quick_xml::events::Event::Eof {
            break;
        }
    }
    assert_eq!(cases, rich().totals().cases() + 1, "every case and one session");
    assert!(xml.chars().all(|c| matches!(c, '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)));
}

/// The attributes and children of each element in `junit-10.xsd`, the schema of Jenkins' xUnit plugin:
/// <https://github.com/jenkinsci/xunit-plugin> under `types/model/xsd`. Times have three decimals.
const XUNIT: &[(&str, &[&str], &[&str])] = &[
    ("testsuites", &["name", "time", "tests", "failures", "errors"], &["testsuite"]),
    (
        "testsuite",
        &["name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname", "id", "package", "file"],
        &["testsuite", "properties", "testcase", "system-out", "system-err"],
    ),
    ("properties", &[], &["property"]),
    ("property", &["name", "value"], &[]),
    (
        "testcase",
        &["name", "time", "classname", "group"],
        &[
            "skipped",
            "error",
            "failure",
            "rerunFailure",
            "rerunError",
            "flakyFailure",
            "flakyError",
            "system-out",
            "system-err",
        ],
    ),
    ("failure", &["type", "message"], &[]),
    ("error", &["type", "message"], &[]),
    ("skipped", &["type", "message"], &[]),
    ("rerunFailure", &["type", "message"], &["stackTrace", "system-out", "system-err"]),
    ("rerunError", &["type", "message"], &["stackTrace", "system-out", "system-err"]),
    ("flakyFailure", &["type", "message"], &["stackTrace", "system-out", "system-err"]),
    ("flakyError", &["type", "message"], &["stackTrace", "system-out", "system-err"]),
    ("system-out", &[], &[]),
    ("system-err", &[], &[]),
];

#[test]
fn strict_xml_follows_the_schema_of_jenkins() {
    use quick_xml::events::Event;
    let xml = render("xunit", &rich(), &Style::PLAIN).unwrap();
    let mut reader = quick_xml::Reader::from_str(&xml);
    let (mut open, mut cases): (Vec<String>, usize) = (Vec::new(), 0);
    loop {
        let event = reader.read_event().unwrap();
        match &event {
            Event::Start(tag) | Event::Empty(tag) => {
                let name = String::from_utf8(tag.name().as_ref().to_vec()).unwrap();
                let known = |name: &str| XUNIT.iter().find(|(known, _, _)| *known == name).unwrap();
                let (_, attributes, _) = known(&name);
                if let Some(parent) = open.last() {
                    assert!(known(parent).2.contains(&name.as_str()), "`{name}` in `{parent}`");
                }
                for attribute in tag.attributes().map(Result::unwrap) {
                    let key = std::str::from_utf8(attribute.key.as_ref()).unwrap();
                    assert!(attributes.contains(&key), "`{key}` of `{name}`");
                    let decimals = attribute.value.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
                    assert!(key != "time" || decimals == 3, "{attribute:?}");
                }
                cases += usize::from(name == "testcase");
                if matches!(event, Event::Start(_)) {
                    open.push(name);
                }
            }
            Event::End(_) => drop(open.pop()),
            Event::Eof => break,
            Event::Text(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_)
            | Event::GeneralRef(_) => {}
        }
    }
    assert_eq!(cases, rich().totals().cases() + 1, "every case and one session");
}

#[test]
fn json_follows_its_schema() {
    check_generated("schema/report.schema.json", &pretty(&schema_of_report()));
    check_generated("schema/events.schema.json", &pretty(&schema_of_event()));
    let mut document: Value = serde_json::from_str(&render("json", &rich(), &Style::PLAIN).unwrap()).unwrap();
    assert_valid(&schema_of_report(), &document);
    for event in fixture::events() {
        assert_valid(&schema_of_event(), &serde_json::from_str(&ndjson::line(&event)).unwrap());
    }
    // The other cases are in the snapshots of the other formats.
    for suite in document["suites"].as_array_mut().unwrap() {
        suite["cases"].as_array_mut().unwrap().truncate(1);
    }
    insta::assert_json_snapshot!("json", document);
}

#[test]
fn recordings_are_read_strictly() {
    let whole: String = fixture::events().iter().map(ndjson::line).collect();
    assert_eq!(read(&whole).unwrap().warnings, []);
    let cut = read(&whole[..whole.len() - 30]).unwrap();
    let codes: Vec<&str> = cut.warnings.iter().map(|warning| warning.code).collect();
    assert_eq!(codes, ["recording-cut", "recording-unfinished"]);
    assert_eq!(cut.events.len(), fixture::events().len() - 1);

    let first = whole.lines().next().unwrap();
    let second = whole.lines().nth(1).unwrap();
    let bad = [
        String::new(),
        "{\"a\": 1}\n".to_owned(),
        first.replace("\"format\":1", "\"format\":2") + "\n{\"event-of-the-future\":{}}\n",
        format!("{first}\nnot JSON\n{{\"unheard-of\":1}}\n{}\n\n{first}\n", second.replace("340000", "\"soon\"")),
        format!("{first}\n{}\n{second}\n", &second[..second.len() - 9]),
    ];
    let told: Vec<String> = bad.iter().map(|text| read(text).unwrap_err()).collect();
    assert_snapshot!("bad-recordings", told.join("\n———\n"));
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

fn assert_valid(schema: &Value, document: &Value) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let problems: Vec<String> = validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?}");
}
