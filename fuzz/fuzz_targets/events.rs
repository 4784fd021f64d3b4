//! Recordings: any text is refused with a reason, or becomes every document that there is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcprove::report::{FORMATS, Report, read_events, render as document};
use mcprove::source::{Color, Diagnostic, SourceFile, Sources, Style, render};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new("events.ndjson", text));
    let recording = match read_events(id, &sources) {
        Ok(recording) => recording,
        Err(problems) => return show(&problems, &sources),
    };
    show(&recording.warnings, &sources);
    let report = Report::of(&recording.events);
    for format in FORMATS {
        for style in [Style::PLAIN, Style::new(Color::Always, 80)] {
            let document = (format.render)(&report, &style);
            if format.name == "json" {
                serde_json::from_str::<serde_json::Value>(&document).expect("the report is JSON");
            }
        }
    }
    again(&report);
});

/// A recording of the recording is the recording.
fn again(report: &Report) {
    let text = document("ndjson", report, &Style::PLAIN).unwrap_or_default();
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new("again.ndjson", text));
    let read = read_events(id, &sources).expect("what is written can be read");
    assert_eq!(read.events, report.events());
}

fn show(found: &[Diagnostic], sources: &Sources) {
    for diagnostic in found {
        assert!(!render(diagnostic, sources, Style::PLAIN).is_empty());
    }
}
