//! The codes of findings, and the one table of what follows from them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::{FailureClass, FindingKind};

/// The table in Markdown, as `docs/reference/errors.md` shows it: codes, kind, meaning, what to check.
const TABLE: &str = include_str!("codes.md");

/// The word in place of a kind for findings about the suite or its baseline, which no server has to answer for.
const OF_SUITE: &str = "suite";

/// The stable name of a finding: that of a matcher, a scan, a lint or a failure class, or one of the table.
///
/// Its text is for people and documents. What a code means is asked of it, so that no code compares names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Code(Cow<'static, str>);

/// The properties of a code, from its row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeInfo {
    /// The kind of a finding that says no other one.
    pub kind: FindingKind,
    /// The suite or its baseline is wrong, and not a server.
    pub is_of_suite: bool,
    /// It is about security, whatever its case judges.
    pub is_of_security: bool,
    /// The meaning, in Markdown, as part of a sentence.
    pub meaning: &'static str,
}

impl Code {
    /// Cases depend on one another.
    pub const NOT_ISOLATED: Self = Self::new("not-isolated");
    /// The server does not speak the revision that is asked for, or the setup does not apply to it.
    pub const NOT_SPOKEN: Self = Self::new("not-spoken");
    /// A text reached a session or run that it does not belong to.
    pub const STATE_LEAK: Self = Self::new("state-leak");
    /// The store of a server, or the files of a test, cannot be copied.
    pub const BAD_STORE: Self = Self::new("bad-store");
    /// Another server accepted a text of a server that is not trusted.
    pub const UNTRUSTED_TEXT: Self = Self::new("untrusted-text");
    /// A tool has the name of another server's tool.
    pub const SHADOWED_TOOL: Self = Self::new("shadowed-tool");
    /// A text tells how to use another server's tool.
    pub const STEERED_TOOL: Self = Self::new("steered-tool");
    /// A server or its authorization server breaks a rule of OAuth.
    pub const OAUTH_RULE: Self = Self::new("oauth-rule");
    /// A call failed that must succeed, or the other way round.
    pub const IS_ERROR: Self = Self::new("is-error");
    /// A call that must be refused was served.
    pub const REFUSED: Self = Self::new("refused");
    /// A failure is answered as if it were none.
    pub const ERROR_AS_SUCCESS: Self = Self::new("error-as-success");
    /// A refusal has structured content that the tool's output schema forbids.
    pub const ERROR_CONTENT: Self = Self::new("error-content");
    /// A tool refused arguments that somebody gave, or a call that takes none.
    pub const VALID_CALL_REFUSED: Self = Self::new("valid-call-refused");
    /// A tool is listed, and its calls are answered as if there were no such tool.
    pub const TOOL_DENIED: Self = Self::new("tool-denied");
    /// A tool serves calls that its schema forbids.
    pub const NOT_VALIDATED: Self = Self::new("input-not-validated");

    /// The code of that name.
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// The name, to be shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its row; codes of matchers and lints, which have none, are failures of properties.
    pub fn info(&self) -> CodeInfo {
        static ROWS: LazyLock<BTreeMap<&str, CodeInfo>> = LazyLock::new(|| rows().collect());
        const OTHER: CodeInfo =
            CodeInfo { kind: FindingKind::PropertyFailure, is_of_suite: false, is_of_security: false, meaning: "" };
        ROWS.get(self.as_str()).copied().unwrap_or(OTHER)
    }
}

impl From<&'static str> for Code {
    fn from(name: &'static str) -> Self {
        Self::new(name)
    }
}

impl From<FailureClass> for Code {
    fn from(class: FailureClass) -> Self {
        Self(Cow::Owned(class.as_str().replace('_', "-")))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl JsonSchema for Code {
    fn schema_name() -> Cow<'static, str> {
        "Code".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// The table of codes for the documentation.
pub fn manual() -> String {
    TABLE.to_owned()
}

/// Every code of the table, each with its row.
fn rows() -> impl Iterator<Item = (&'static str, CodeInfo)> {
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [codes, kinds, meaning, _] = *cells else { return None };
        let named = |kind: &FindingKind| kinds.split(", ").any(|word| word == kind.as_str());
        let info = CodeInfo {
            kind: FindingKind::ALL.into_iter().find(named).unwrap_or(FindingKind::PropertyFailure),
            is_of_suite: kinds == OF_SUITE,
            is_of_security: kinds.ends_with(", security"),
            meaning,
        };
        Some(codes.split('`').skip(1).step_by(2).map(move |code| (code, info)))
    };
    TABLE.lines().skip(2).filter_map(row).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_says_what_follows_from_it() {
        for (code, kind, is_of_suite, is_of_security) in [
            ("process-exited", FindingKind::Crash, false, false),
            ("timeout", FindingKind::Hang, false, false),
            ("forbidden-served", FindingKind::SchemaViolation, false, false),
            ("state-leak", FindingKind::StateLeak, false, false),
            ("untrusted-text", FindingKind::PropertyFailure, false, true),
            ("stale-entry", FindingKind::PropertyFailure, true, false),
            ("equals", FindingKind::PropertyFailure, false, false),
        ] {
            let info = Code::new(code).info();
            assert_eq!(
                (info.kind, info.is_of_suite, info.is_of_security),
                (kind, is_of_suite, is_of_security),
                "{code}"
            );
        }
    }

    #[test]
    fn every_row_is_read_and_no_code_has_two() {
        let lines = TABLE.lines().skip(2).count();
        let codes: Vec<(&str, CodeInfo)> = rows().collect();
        let mut meanings: Vec<&str> = codes.iter().map(|(_, info)| info.meaning).collect();
        meanings.dedup();
        assert_eq!(meanings.len(), lines, "a row has another number of cells");
        let known: BTreeMap<&str, CodeInfo> = codes.iter().copied().collect();
        assert_eq!(known.len(), codes.len(), "a code has two rows");
    }
}
