//! The keys of a baseline: they check files and become their JSON Schema.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::source::grammar::{Object, Shape, key, required};

/// A baseline file.
pub const BASELINE: Shape = Shape::List(&Shape::Object(&ENTRY));

static ENTRY: Object = Object {
    name: "a known failure",
    doc: "A failure that is known and does not count.",
    keys: &[&[
        required("case", Shape::Text, "The id of the case, or `file::name`; `*` stands for anything."),
        key("check", Shape::Text, "The code of the finding, such as `readable-error`; every finding if left out."),
        required("reason", Shape::Text, "Why it is known: an issue, a sentence."),
        key("until", Shape::Text, "The last day on which it is excused, as `YYYY-MM-DD`."),
    ]],
};

/// The JSON Schema of a baseline; for editors.
pub fn json_schema() -> Value {
    let mut definitions = BTreeMap::new();
    let root = BASELINE.json_schema(&mut definitions);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mcprove baseline of known failures",
    });
    if let (Some(schema), Some(root)) = (schema.as_object_mut(), root.as_object()) {
        schema.extend(root.clone());
        schema.insert("$defs".to_owned(), json!(definitions));
    }
    schema
}
