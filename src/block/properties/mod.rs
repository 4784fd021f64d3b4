//! `properties:`, what must hold for all calls: tests whose steps run in rounds with generated values.
//!
//! Reading them is here. A property is a test once it is read: `plan` prepares its rounds, and `runner` runs them.

mod keys;
mod read;

use std::sync::Arc;

use super::Kind;
use crate::plan::CaseSource;
use crate::source::Node;
use crate::source::grammar::{Shape, key};
use crate::suite::BlockReader;

pub(crate) static KIND: Kind = Kind {
    key: key(
        "properties",
        Shape::List(&Shape::Object(&keys::PROPERTY)),
        "Properties that hold for all inputs: tests whose steps run in rounds with generated values.",
    ),
    probes: &[],
    example: "properties: [{ name: words come back, generate: { word: { type: string } }, … }]",
    decode,
    decode_in_test: None,
};

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    for item in node.items() {
        if let Some(test) = read::property(item, reader.mistakes()) {
            reader.add_test(test, item);
        }
    }
    None
}
