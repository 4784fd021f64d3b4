//! Mistakes as editors take them, and their corrections.

use std::path::Path;

use serde_json::{Value, json};

use super::text_at;
use crate::source::{Diagnostic, DiagnosticSeverity, Label, MistakeKind, SourceFile, Sources, Span};

/// What a column counts (Language Server Protocol 3.17, `PositionEncodingKind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PositionEncoding {
    Utf8,
    Utf16,
}

impl PositionEncoding {
    /// Bytes, where the editor offers that; UTF-16 is what all editors know.
    pub(super) fn chosen_from(offered: &Value) -> Self {
        let offers_bytes = offered.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "utf-8"));
        if offers_bytes { Self::Utf8 } else { Self::Utf16 }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
        }
    }

    fn length(self, text: &str) -> usize {
        match self {
            Self::Utf8 => text.len(),
            Self::Utf16 => text.encode_utf16().count(),
        }
    }

    fn position(self, file: &SourceFile, offset: usize) -> Value {
        let (line, _) = file.position(offset);
        let before = file.text.get(file.line_start(line)..offset).unwrap_or_default();
        json!({ "line": line - 1, "character": self.length(before) })
    }

    /// The range of a span within its first line: nobody wants a whole file underlined.
    fn range(self, sources: &Sources, span: Span) -> Value {
        let file = sources.file(span.source);
        let start = span.start as usize;
        let (line, _) = file.position(start);
        let end = (span.end as usize).min(file.line_start(line) + file.line(line).len());
        json!({ "start": self.position(file, start), "end": self.position(file, end.max(start)) })
    }
}

/// A mistake as `Diagnostic` of the protocol; `uri` gives the address of a path.
pub(super) fn told(
    mistake: &Diagnostic,
    sources: &Sources,
    encoding: PositionEncoding,
    uri: impl Fn(&Path) -> String,
) -> Value {
    let nowhere = json!({ "line": 0, "character": 0 });
    let range = mistake.label.as_ref().map(|label| encoding.range(sources, label.span));
    let words = [
        Some(mistake.message.as_str()),
        mistake.label.as_ref().map(|label| label.value.as_str()),
        mistake.help.as_deref(),
    ];
    let words: Vec<&str> = words.into_iter().flatten().filter(|text| !text.is_empty()).collect();
    let mut told = json!({
        "range": range.unwrap_or_else(|| json!({ "start": nowhere, "end": nowhere })),
        "severity": if mistake.severity == DiagnosticSeverity::Error { 1 } else { 2 },
        "code": mistake.code,
        "source": "mcprove",
        "message": words.join("\n"),
    });
    if let Some(Label { span, value }) = &mistake.other {
        let location = json!({
            "uri": uri(Path::new(&sources.file(span.source).name)),
            "range": encoding.range(sources, *span),
        });
        told["relatedInformation"] = json!([{ "location": location, "message": value }]);
    }
    if let (MistakeKind::UnknownKey(Some(meant)), Some(label)) = (&mistake.kind, &mistake.label) {
        // A key may be quoted.
        let quote = sources.text(label.span).chars().next().filter(|first| ['"', '\''].contains(first));
        let quote = quote.map(String::from).unwrap_or_default();
        told["data"] = json!({ "meant": format!("{quote}{meant}{quote}") });
    }
    told
}

/// The answer to `textDocument/codeAction`: a correction for each mistake at the cursor that has one.
pub(super) fn corrections(params: &Value) -> Vec<Value> {
    let uri = text_at(params, "/textDocument/uri").unwrap_or_default();
    let mistakes = params.pointer("/context/diagnostics").and_then(Value::as_array);
    let correction = |mistake: &Value| {
        let meant = text_at(mistake, "/data/meant")?;
        let edit = json!({ "range": mistake["range"], "newText": meant });
        Some(json!({
            "title": format!("Write {}", meant.trim_matches(['"', '\''])),
            "kind": "quickfix",
            "isPreferred": true,
            "diagnostics": [mistake],
            "edit": { "changes": { uri: [edit] } },
        }))
    };
    mistakes.into_iter().flatten().filter_map(correction).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_as_editors_do() {
        let file = SourceFile::new("s.yml", "a: 1\r\n\u{1f600}ä: x\n");
        let x = file.text.find('x').unwrap();
        for (encoding, offset, expected) in [
            (PositionEncoding::Utf16, 0, (0, 0)),
            (PositionEncoding::Utf16, 3, (0, 3)),
            (PositionEncoding::Utf16, x, (1, 5)),
            (PositionEncoding::Utf8, x, (1, 8)),
            (PositionEncoding::Utf16, file.text.len(), (2, 0)),
        ] {
            let (line, character) = expected;
            let expected = json!({ "line": line, "character": character });
            assert_eq!(encoding.position(&file, offset), expected, "{encoding:?} {offset}");
        }
        assert_eq!(PositionEncoding::chosen_from(&json!(["utf-32", "utf-8"])).name(), "utf-8");
        assert_eq!(PositionEncoding::chosen_from(&Value::Null).name(), "utf-16");
    }
}
