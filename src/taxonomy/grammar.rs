//! The grammar of registry files as data: it checks files and becomes their JSON Schema.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::fault::{FAULT, MATCH};
use crate::source::grammar::{Object, Shape, key, required};

use super::model::{Holds, Need, Offer, Severity, Tier, Transport};
use super::start::START;

/// A registry file.
pub const REGISTRY: Shape = Shape::Object(&FILE);

/// The JSON Schema of a registry; for editors.
pub fn json_schema() -> Value {
    let mut definitions = BTreeMap::new();
    let root = REGISTRY.json_schema(&mut definitions);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mcprove registry of faults",
    });
    if let (Some(schema), Some(root)) = (schema.as_object_mut(), root.as_object()) {
        schema.extend(root.clone());
        schema.insert("$defs".to_owned(), json!(definitions));
    }
    schema
}

/// The protocol revisions that a variant may be bound to.
const REVISION: Shape = Shape::Choice(&["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]);

const TEXTS: Shape = Shape::List(&Shape::Text);

static FILE: Object = Object {
    name: "a registry",
    doc: "The faults that coverage counts.",
    keys: &[&[
        key("version", Shape::Text, "The version of the registry, such as `1.0.0`; it stands in every report."),
        required(
            "families",
            Shape::List(&Shape::Object(&FAMILY)),
            "The categories of faults, in the order of reports.",
        ),
        required("leaves", Shape::List(&Shape::Object(&LEAF)), "The faults; the id of each names its family."),
        key("probes", Shape::Map(&Shape::Text), "Probes of your own, each with its meaning."),
    ]],
};

static FAMILY: Object = Object {
    name: "a family",
    doc: "A category of faults.",
    keys: &[&[
        required("id", Shape::Text, "A name in capital letters, such as `TOOL`."),
        required("name", Shape::Text, "What it is about."),
        required("weight", Shape::Number, "How often it fails in practice, against the other families."),
        key("needs", Shape::Choice(Need::WORDS), "What a suite must have for the family to apply."),
    ]],
};

static LEAF: Object = Object {
    name: "a leaf",
    doc: "One fault.",
    keys: &[&[
        required("id", Shape::Text, "`FAULT-<FAMILY>-<NAME>`."),
        required("meaning", Shape::Text, "What goes wrong."),
        required("probes", TEXTS, "The kinds of checks that exercise it."),
        key("example", Shape::Text, "The suite that shows how to exercise it."),
        key("references", TEXTS, "Papers, advisories and the like."),
        required("variants", Shape::List(&Shape::Object(&VARIANT)), "The ways in which it shows."),
    ]],
};

static VARIANT: Object = Object {
    name: "a variant",
    doc: "One way in which a leaf shows.",
    keys: &[&[
        required("id", Shape::Text, "A name in capital letters."),
        required("meaning", Shape::Text, "What goes wrong."),
        required("severity", Shape::Choice(Severity::WORDS), "How bad it is."),
        required("holds", Shape::Choice(Holds::WORDS), "How firmly it may be judged."),
        key("revisions", Shape::Either(&[Shape::Choice(&["all"]), Shape::List(&REVISION)]), "Where it can occur."),
        key("transports", Shape::List(&Shape::Choice(Transport::WORDS)), "What it can occur over; both if left out."),
        required("provoke", Shape::Text, "How to bring it about."),
        required("oracle", Shape::Text, "How a healthy server differs."),
        required("tier", Shape::Choice(Tier::WORDS), "What it takes to imitate it."),
        key("imitation", Shape::Text, "How it is imitated."),
        key("unplanted", Shape::Text, "Why nothing proves it; its mutants, if any, show a part of it."),
        key(
            "live",
            Shape::Text,
            "What it takes and a recording does not have, such as two sessions at a time; with `--live`, its mutants are \
             tried everywhere at once, by the cases that judge its leaf.",
        ),
        key("also", TEXTS, "Other leaves that it shows too; it is counted once."),
        key("mutants", Shape::List(&Shape::Object(&MUTANT)), "Its imitations one by one."),
    ]],
};

static MUTANT: Object = Object {
    name: "a mutant",
    doc: "One imitation of a variant.",
    keys: &[
        &[required("id", Shape::Text, "Its name."), required("meaning", Shape::Text, "What it does.")],
        FAULT,
        &[
            key("start", Shape::Object(&START), "What it does to the start of a server, instead of `on` and `does`."),
            key("shown_by", MATCH, "What a healthy server shows that has the fault anyway."),
            key("needs", Shape::List(&Shape::Choice(Offer::WORDS)), "What the server must offer for it to make sense."),
            key(
                "at_once",
                Shape::True,
                "Strikes all tools, prompts and resources at once, since they share what the fault is in.",
            ),
        ],
    ],
};

#[cfg(test)]
mod tests {
    use crate::wire::Revision;

    use super::*;

    #[test]
    fn every_revision_may_be_named() {
        let Shape::Choice(words) = REVISION else { panic!("a revision is one of some words") };
        assert_eq!(words, Revision::ALL.map(Revision::as_str));
    }
}
