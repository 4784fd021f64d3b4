//! Does an answer satisfy an expectation?
//!
//! An [`Expectation`] is one item of an `expect:` list, compiled once; [`Expectation::evaluate`] looks at an [`Answer`]
//! and returns every [`Mismatch`].
//! There are two kinds of matchers, one file each: those of `value` look at one JSON value, those of `answer` at the
//! whole answer; the key tables of both make up the grammar [`EXPECTATION`].
//! Synchronous, and pure but for files, which are looked at through [`RunFiles`]; knows nothing about suites, sessions or reports. Start reading in [`Expectation`].

mod answer;
mod compare;
mod expectation;
mod files;
mod item;
mod mismatch;
mod path;
mod read;
mod reply;
mod sample;
mod show;
mod table;
#[cfg(test)]
mod tests;
mod unbreakable;
mod unknown;
mod value;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use crate::source::template::Names;
use crate::wire::{Catalog, ListKind};

#[cfg(feature = "cli")]
pub(crate) use self::answer::repeats_structured_content;
pub use self::answer::{MatcherScope, PROVIDED, breaks_own_schema, interpreter_message, judged_answer, stack_trace};
pub use self::expectation::Expectation;
pub use self::files::{FoundFile, RunFiles};
pub use self::item::{EXPECTATION, is_logic};
pub use self::mismatch::{Mismatch, MismatchKind, MismatchWeight};
pub use self::path::ValuePath;
pub use self::reply::words_of;
pub use self::sample::{Sample, Taken, text as snapshot_text};
pub use self::unbreakable::{GuaranteedValue, LONGEST_WAIT};
pub use self::unknown::{UnknownName, UnknownNameKind, unknown_name, unknown_tool};

/// The response to a step, with everything that an expectation may look at.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The method that was sent, such as `tools/call`.
    pub method: &'a str,
    /// The parameters that were sent.
    pub params: &'a Json,
    /// The whole response; for a list step the merger of all pages.
    pub message: &'a Json,
    /// The whole notifications that came while the request was pending.
    pub notifications: &'a [Arc<Json>],
    /// The time between request and response.
    pub elapsed: Duration,
    /// The server's catalog.
    pub catalog: &'a Catalog,
    /// Variables, captures and the values of the row.
    pub names: &'a Names,
    /// The files of the run; `None` where a recording takes the place of the server.
    pub files: Option<&'a dyn RunFiles>,
}

impl<'a> Answer<'a> {
    /// The tool that was called; `None` for every other method.
    fn tool(&self) -> Option<&'a str> {
        if self.method == "tools/call" { self.params["name"].as_str() } else { None }
    }

    /// The request, in the words of messages.
    fn describe_request(&self) -> String {
        self.tool().map_or_else(|| format!("`{}`", self.method), |tool| format!("the call of `{tool}`"))
    }

    /// The entries of one list: those of the answer where it is that list, else those of the catalog.
    fn list(&self, kind: ListKind) -> Vec<&'a Json> {
        if self.method == kind.method() {
            return self.message["result"][kind.member()].as_array().into_iter().flatten().collect();
        }
        match kind {
            ListKind::Tools => self.catalog.tools.iter().map(|tool| &tool.raw).collect(),
            ListKind::Resources => self.catalog.resources.iter().collect(),
            ListKind::ResourceTemplates => self.catalog.resource_templates.iter().collect(),
            ListKind::Prompts => self.catalog.prompts.iter().collect(),
        }
    }
}
