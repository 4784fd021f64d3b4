//! Faults with a name of their own: `type: lost_response` instead of the lines that make it.

use super::decode::{decode, decode_match};
use super::effect::FaultEffect;
use super::{FAULT, Fault};
use crate::source::grammar::{Key, Object, Shape, key, required};
use crate::source::{Diagnostic, Node, SourceFile, Sources, parse, parse_duration};

/// A type of faults: its name, what it does, and how it is written.
struct Preset {
    name: &'static str,
    doc: &'static str,
    yaml: &'static str,
}

const PRESETS: [Preset; PRESET_NAMES.len()] = [
    Preset {
        name: "latency",
        doc: "the answer comes later, by `added` (250 ms by default)",
        yaml: "answers: { delay: 250ms }",
    },
    Preset {
        name: "lost_request",
        doc: "the server does not hear of the request",
        yaml: "{ hears: nothing, answers: never }",
    },
    Preset {
        name: "lost_response",
        doc: "the server does its work, and its answer does not come",
        yaml: "answers: never",
    },
    Preset { name: "duplicate_request", doc: "the server hears of the request twice", yaml: "hears: twice" },
    Preset { name: "duplicate_response", doc: "the answer comes twice", yaml: "answers: duplicate" },
    Preset {
        name: "error",
        doc: "the server does its work, and its answer is a JSON-RPC error",
        yaml: "answers: { error: { code: -32603, message: injected error } }",
    },
    Preset {
        name: "failure",
        doc: "the server does its work, and its answer says `isError`",
        yaml: "answers: { failure: injected failure }",
    },
    Preset {
        name: "unavailable",
        doc: "the server does not hear of the request, and the answer is an error",
        yaml: "{ hears: nothing, answers: { error: { code: -32000, message: the tool is unavailable } } }",
    },
    Preset {
        name: "partial_result",
        doc: "half of the content is missing",
        yaml: "answers: { cut: [\"result.content[*].text\", result.structuredContent.*] }",
    },
    Preset {
        name: "schema_drift",
        doc: "structured content breaks its declared schema",
        yaml: "answers: { misshape: type }",
    },
    Preset { name: "garbage", doc: "bytes that are no text come instead of the answer", yaml: "answers: garbage" },
    Preset { name: "truncated", doc: "half of the answer comes, as a line", yaml: "answers: truncate" },
    Preset { name: "torn", doc: "half of the answer comes, and the server ends", yaml: "answers: torn" },
    Preset { name: "crash", doc: "the server ends instead of answering", yaml: "answers: end" },
];

const PRESET_NAMES: &[&str] = &[
    "latency",
    "lost_request",
    "lost_response",
    "duplicate_request",
    "duplicate_response",
    "error",
    "failure",
    "unavailable",
    "partial_result",
    "schema_drift",
    "garbage",
    "truncated",
    "torn",
    "crash",
];

/// A fault with a name, as suites list them.
pub static NAMED: Object = Object {
    name: "a named fault",
    doc: "One thing that goes wrong between the client and its server, by a type or in the [language of faults](fault-language.md).",
    keys: &[&[required("name", Shape::Text, "The name by which `inject` means it.")], KINDS, FAULT],
};

/// A fault where it is injected, without a name.
pub static UNNAMED: Object = Object {
    name: "an injected fault",
    doc: "A fault of one test, by a type or in the [language of faults](fault-language.md).",
    keys: &[KINDS, FAULT],
};

static KINDS: &[Key] = &[
    key("type", Shape::Choice(PRESET_NAMES), "A type of faults, instead of `hears`, `answers`, `before` and `after`."),
    key(
        "tools",
        Shape::Either(&[Shape::Text, Shape::List(&Shape::Text)]),
        "The tools whose calls it strikes; `*` stands for any letters.",
    ),
    key("added", Shape::Duration, "The delay that the type `latency` adds.").beside(&["type"]),
];

/// The types with what they do, as a table in Markdown.
pub fn types() -> String {
    let rows = PRESETS.iter().map(|preset| format!("| `{}` | {} | `{}` |\n", preset.name, preset.doc, preset.yaml));
    format!("| type | what happens | written out |\n| --- | --- | --- |\n{}", rows.collect::<String>())
}

/// Reads a fault of [`NAMED`] or [`UNNAMED`], whose shape was checked; what is wrong is added to `found`.
pub fn decode_named(name: &str, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Fault> {
    let written = ["hears", "answers", "before", "after"].iter().find_map(|key| node.get(key));
    let mut fault = match node.get("type") {
        Some(kind) => {
            if let Some(written) = written {
                let message = "a fault has a type, or says what happens, not both";
                found.push(
                    Diagnostic::error("two-ways", message, written.span).with_other(kind.span, "the type is here"),
                );
            }
            let preset = PRESETS.iter().find(|preset| Some(preset.name) == kind.text())?;
            let mut fault = preset.fault(name);
            if let Some(on) = node.get("on") {
                fault.on = decode_match(name, on, found);
            }
            fault
        }
        None if written.is_none() && node.get("on").is_none() => {
            found.push(
                Diagnostic::error("missing-key", "the fault changes nothing", node.span)
                    .with_help("add a `type`, or `answers`, `hears`, `before` or `after`".to_owned()),
            );
            return None;
        }
        None => decode(name, node, found)?,
    };
    fault.strike_only(node.get("tools"));
    fault.add_delay(node.get("added"), found);
    Some(fault)
}

impl Preset {
    fn fault(&self, name: &str) -> Fault {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("<type of faults>", self.yaml));
        let mut found = Vec::new();
        let node = parse(&sources, source).unwrap_or_else(|mistake| panic!("{}: {mistake:?}", self.name));
        let fault = decode(name, &node, &mut found).filter(|_| found.is_empty());
        let mut fault = fault.unwrap_or_else(|| panic!("{}: {found:?}", self.name));
        // Handshakes and lists are not what a suite is about.
        fault.on.message.methods = vec!["tools/call".to_owned()];
        fault
    }
}

impl Fault {
    /// Narrows the fault to calls of some tools.
    fn strike_only(&mut self, tools: Option<&Node>) {
        let Some(tools) = tools else { return };
        self.on.message.tools =
            super::path_reader::listed(Some(tools)).filter_map(Node::text).map(str::to_owned).collect();
    }

    fn add_delay(&mut self, added: Option<&Node>, found: &mut Vec<Diagnostic>) {
        let Some(added) = added else { return };
        let delay = self
            .answers
            .iter_mut()
            .find_map(|effect| if let FaultEffect::Delay(delay) = effect { Some(delay) } else { None });
        match (delay, added.text().and_then(parse_duration)) {
            (Some(delay), Some(by)) => *delay = by,
            (None, _) => {
                let message = "`added` is the delay of `type: latency`, and this type has none";
                found.push(Diagnostic::error("useless-key", message, added.span));
            }
            (Some(_), None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_a_fault() {
        for (preset, name) in PRESETS.iter().zip(PRESET_NAMES) {
            assert_eq!(preset.name, *name);
            assert_eq!(preset.fault(name).name(), *name);
        }
    }
}
