//! What a finding is, how bad it is, and the name under which it is known from run to run.

use super::{CaseResult, Exchange, FailureClass, Finding, Kind, Level, SessionJudged, Severity};
use crate::source::{FNV, fnv};

/// Codes of findings about what a schema declares, or forbids.
const OF_SCHEMAS: [&str; 5] =
    ["forbidden-served", "output-schema", "input-schema", "missing-structured-content", "schema"];

/// The code of a finding about cases that depend on one another.
pub const NOT_ISOLATED: &str = "not-isolated";

/// What stays the same about a finding, however often it is met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name: the same finding on the same server has the same one in every run.
    pub id: String,
    /// The kind.
    pub kind: Kind,
    /// The tool that was called last, or the method where it was no call; empty where nothing was asked.
    pub tool: String,
    /// What tells it from others of its kind at that tool.
    pub signature: String,
}

impl Identity {
    /// What must stay so that it is still the same finding.
    pub fn class(&self) -> String {
        let parts = [self.kind.as_str(), &self.tool, &self.signature];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

impl Finding {
    /// What the server did, as far as the finding itself says.
    pub fn kind(&self) -> Kind {
        if let Some(reproduction) = &self.reproduction {
            return reproduction.kind;
        }
        match self.class {
            Some(FailureClass::ProcessExited | FailureClass::ConnectionLost) => Kind::Crash,
            Some(FailureClass::Timeout) => Kind::Hang,
            Some(_) => Kind::ProtocolError,
            None if self.code == NOT_ISOLATED => Kind::StateLeak,
            None if OF_SCHEMAS.contains(&self.code.as_str()) => Kind::SchemaViolation,
            None => Kind::PropertyFailure,
        }
    }

    /// How bad it is: what it says itself, or else what its kind says.
    pub fn how_bad(&self) -> Severity {
        self.severity.unwrap_or_else(|| match self.level {
            Level::Must => self.kind().severity(),
            Level::Should => Severity::Low,
        })
    }

    /// What tells a finding of a kind from others: how the server ended, or which rule it broke.
    pub fn signature(&self, kind: Kind) -> String {
        match kind {
            Kind::Crash => {
                let exit = self.evidence.iter().find(|(name, _)| name == "exit").map(|(_, text)| text.clone());
                exit.unwrap_or_default()
            }
            Kind::Hang | Kind::StateLeak => String::new(),
            Kind::ProtocolError | Kind::SchemaViolation | Kind::PropertyFailure => self.code.clone(),
        }
    }
}

impl CaseResult {
    /// What stays the same about one of its findings.
    pub fn identity(&self, finding: &Finding) -> Identity {
        let kind = self.kind_of(finding);
        let tool = finding.reproduction.as_ref().and_then(|found| found.tool.clone());
        let asked =
            || self.exchange_of(finding).map(|exchange| exchange.tool.as_ref().unwrap_or(&exchange.title).clone());
        let tool = tool.or_else(asked).unwrap_or_default();
        let signature = finding.signature(kind);
        // What a suite says of answers is told apart by who says it.
        let said_by = match kind {
            Kind::PropertyFailure | Kind::SchemaViolation => self.case.name.as_str(),
            Kind::Crash | Kind::Hang | Kind::ProtocolError | Kind::StateLeak => "",
        };
        let id = id([&self.case.suite, &self.case.server, kind.as_str(), &tool, &signature, said_by]);
        Identity { id, kind, tool, signature }
    }

    /// The exchange that shows a finding, or during which the frame came that does.
    pub fn exchange_of(&self, finding: &Finding) -> Option<&Exchange> {
        let named = finding.exchange.and_then(|index| self.exchanges.get(index));
        named.or_else(|| {
            let frame = finding.frame?;
            self.exchanges.iter().rev().find(|exchange| exchange.frame > 0 && exchange.frame <= frame)
        })
    }

    /// What the server did, seen from the case that found it.
    pub fn kind_of(&self, finding: &Finding) -> Kind {
        let kind = finding.kind();
        let is_probe = |name: &str| self.case.probes.iter().any(|probe| probe == name);
        match kind {
            Kind::PropertyFailure if finding.reproduction.is_some() => kind,
            Kind::PropertyFailure if self.case.rule.is_some() => Kind::ProtocolError,
            Kind::PropertyFailure if is_probe("output-schema") => Kind::SchemaViolation,
            Kind::PropertyFailure if is_probe("negative-path") && finding.code == "refused" => Kind::SchemaViolation,
            Kind::Crash
            | Kind::Hang
            | Kind::ProtocolError
            | Kind::SchemaViolation
            | Kind::PropertyFailure
            | Kind::StateLeak => kind,
        }
    }

    /// How bad the worst of its findings is; `None` where nothing is wrong that is not known.
    pub fn how_bad(&self) -> Option<Severity> {
        self.findings.iter().filter(|finding| finding.baseline_reason.is_none()).map(Finding::how_bad).max()
    }
}

impl SessionJudged {
    /// What stays the same about one of its findings.
    pub fn identity(&self, finding: &Finding) -> Identity {
        let kind = finding.kind();
        let signature = finding.signature(kind);
        let id = id([&self.suite, &self.server, kind.as_str(), "", &signature, ""]);
        Identity { id, kind, tool: String::new(), signature }
    }
}

fn id(parts: [&str; 6]) -> String {
    // The length in front keeps a part from posing as the end of another.
    let hash = parts.iter().fold(FNV, |hash, part| fnv(fnv(hash, &(part.len() as u64).to_le_bytes()), part.as_bytes()));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_weighs_what_it_says_or_what_its_kind_does() {
        let crash =
            Finding::failure(FailureClass::ProcessExited, "the server ended").with_evidence("exit", "signal 11");
        assert_eq!((crash.kind(), crash.how_bad()), (Kind::Crash, Severity::High));
        assert_eq!(crash.signature(Kind::Crash), "signal 11");
        let advice = Finding { level: Level::Should, ..Finding::new("slow", "it is slow") };
        assert_eq!((advice.kind(), advice.how_bad()), (Kind::PropertyFailure, Severity::Low));
        let told = Finding { severity: Some(Severity::Critical), ..Finding::new("schema", "it is wrong") };
        assert_eq!((told.kind(), told.how_bad()), (Kind::SchemaViolation, Severity::Critical));
        assert_eq!(Finding::new("forbidden-served", "it is served").kind(), Kind::SchemaViolation);
        assert_eq!(Finding::new(NOT_ISOLATED, "it leaks").kind(), Kind::StateLeak);
    }

    #[test]
    fn ids_tell_apart_what_differs() {
        let parts = ["suite", "server", "crash", "add", "signal 11", ""];
        assert_eq!(id(parts), id(parts));
        assert_eq!(id(parts).len(), 16);
        assert_ne!(id(parts), id(["suites", "erver", "crash", "add", "signal 11", ""]));
    }
}
