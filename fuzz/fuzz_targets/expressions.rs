//! Templates, expressions, paths and filters: any text is understood or refused with a sentence.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mcprove::matching::ValuePath;
use mcprove::plan::Filter;
use mcprove::source::template::{Names, check_expression, check_text, evaluate, fill_text, holds};
use mcprove::source::{SourceFile, Sources, Span, Style, render};
use serde_json::{Value, json};

static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let names = json!({
        "tool": { "name": "get_user", "annotations": { "readOnlyHint": true }, "inputSchema": { "required": ["id"] } },
        "result": { "content": [{ "type": "text", "text": "é\u{202e}" }], "structuredContent": { "id": "u1", "n": 2 } },
        "a.b": [1, 2.5, -3, null, false], "id": "nope", "env": {}
    });
    names.as_object().expect("the names are an object").clone()
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new("text", text));
    let span = Span { source: id, start: 0, end: u32::try_from(text.len()).unwrap_or(u32::MAX) };
    let known = NAMES.keys().cloned().collect();
    let mut found = Vec::new();
    check_text(text, span, &known, &mut found);
    check_expression(text, span, &known, &mut found);
    let _ = (fill_text(text, &NAMES), evaluate(text, &NAMES), holds(text, &NAMES));
    if let Ok(path) = ValuePath::parse(text) {
        assert_eq!(path.as_str(), text.trim());
        let value = Value::Object(NAMES.clone());
        let _ = (path.find(&value).map(drop), path.find(&Value::Null).map(drop));
    }
    found.extend(Filter::parse(text, &mut sources).err());
    for diagnostic in &found {
        assert!(!render(diagnostic, &sources, Style::PLAIN).is_empty());
    }
});
