//! The JSON Schema of suite files, for editors.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::grammar::SUITE_SHAPE;

/// The JSON Schema (2020-12) of a suite file, made from the grammar that checks it.
pub fn json_schema() -> Value {
    let mut definitions = BTreeMap::new();
    let root = SUITE_SHAPE.json_schema(&mut definitions);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mcprove suite",
        "$ref": root["$ref"],
        "$defs": definitions,
    })
}
