//! The keys of a baseline: they check files, become their JSON Schema and decode themselves.

use serde_json::Value;

use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Located, settings};

/// A baseline file.
pub const BASELINE: Shape = <Vec<WrittenEntry>>::SHAPE;

settings! {
    /// A failure that is known and does not count.
    pub(crate) struct WrittenEntry as "a known failure" {
        /// The id of the case, or `file::name`; `*` stands for anything.
        pub(crate) case: Located<String> => required(),
        /// The code of the finding, such as `readable-error`; every finding if left out.
        pub(crate) check: Option<String>,
        /// Why it is known: an issue, a sentence.
        pub(crate) reason: Located<String> => required(),
        /// The last day on which it is excused, as `YYYY-MM-DD`.
        pub(crate) until: Option<Located<String>>,
    }
}

/// The JSON Schema of a baseline; for editors.
pub fn json_schema() -> Value {
    BASELINE.json_schema_file("baseline", "mcprove baseline of known failures")
}
