//! The kind and severity of a finding, and the name by which it is recognised from run to run.

use super::{
    CaseResult, Code, Exchange, FailureClass, Finding, FindingKind, RequirementLevel, SessionJudged, Severity,
};
use crate::source::{FNV, fnv, hash_text};

/// The properties of a finding that do not change from run to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingIdentity {
    /// The name: the same finding on the same server has the same one in every run.
    pub id: String,
    /// The kind.
    pub kind: FindingKind,
    /// The tool that was called last, or the method where it was no call; empty where nothing was asked.
    pub tool: String,
    /// The detail that tells it from others of its kind at that tool.
    pub signature: String,
}

impl FindingIdentity {
    /// The identity without the id; it must not change while a finding is minimised.
    pub fn class(&self) -> String {
        let parts = [self.kind.as_str(), &self.tool, &self.signature];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

impl Finding {
    /// The kind of failure, as far as the finding itself says.
    pub fn kind(&self) -> FindingKind {
        if let Some(reproduction) = &self.reproduction {
            return reproduction.kind;
        }
        self.class.map_or_else(|| self.code.info().kind, FailureClass::kind)
    }

    /// The severity: its own, or else that of its kind.
    pub fn how_bad(&self) -> Severity {
        self.severity.unwrap_or_else(|| match self.level {
            RequirementLevel::Must => self.kind().severity(),
            RequirementLevel::Should => Severity::Low,
        })
    }

    /// The detail that tells a finding from others of its kind: how the server ended, or which rule it broke.
    pub fn signature(&self, kind: FindingKind) -> String {
        match kind {
            FindingKind::Crash => self.exit().unwrap_or_default().to_owned(),
            FindingKind::Hang | FindingKind::ConnectionLost | FindingKind::StateLeak => String::new(),
            // A scan of members finds the same rule broken at many places.
            FindingKind::ProtocolError if self.class == Some(FailureClass::ProtocolError) => {
                [self.code.to_string()].into_iter().chain(self.path.clone()).collect::<Vec<_>>().join(" ")
            }
            FindingKind::ProtocolError | FindingKind::SchemaViolation | FindingKind::PropertyFailure => {
                self.code.to_string()
            }
        }
    }
}

impl CaseResult {
    /// The identity of one of its findings.
    pub fn identity(&self, finding: &Finding) -> FindingIdentity {
        let kind = self.kind_of(finding);
        let tool = finding.reproduction.as_ref().and_then(|found| found.tool.clone());
        let asked =
            || self.exchange_of(finding).map(|exchange| exchange.tool.as_ref().unwrap_or(&exchange.title).clone());
        let tool = tool.or_else(asked).unwrap_or_default();
        let signature = finding.signature(kind);
        // Expectations of a suite are told apart by their case.
        let said_by = match kind {
            FindingKind::PropertyFailure | FindingKind::SchemaViolation => self.case.name.as_str(),
            FindingKind::Crash
            | FindingKind::Hang
            | FindingKind::ConnectionLost
            | FindingKind::ProtocolError
            | FindingKind::StateLeak => "",
        };
        let id = id([&self.case.suite, &self.case.server, kind.as_str(), &tool, &signature, said_by]);
        FindingIdentity { id, kind, tool, signature }
    }

    /// The exchange that shows a finding, or during which the frame came that does.
    pub fn exchange_of(&self, finding: &Finding) -> Option<&Exchange> {
        let named = finding.exchange.and_then(|index| self.exchanges.get(index));
        named.or_else(|| {
            let frame = finding.frame?;
            self.exchanges.iter().rev().find(|exchange| exchange.frame > 0 && exchange.frame <= frame)
        })
    }

    /// The kind of failure, as far as the case says.
    pub fn kind_of(&self, finding: &Finding) -> FindingKind {
        let kind = finding.kind();
        let is_probe = |name: &str| self.case.probes.iter().any(|probe| probe == name);
        match kind {
            FindingKind::PropertyFailure
                if finding.reproduction.is_some() || finding.code == Code::VALID_CALL_REFUSED =>
            {
                kind
            }
            FindingKind::PropertyFailure if self.case.rule.is_some() => FindingKind::ProtocolError,
            FindingKind::PropertyFailure if is_probe("output-schema") => FindingKind::SchemaViolation,
            FindingKind::PropertyFailure if is_probe("negative-path") && finding.code == Code::REFUSED => {
                FindingKind::SchemaViolation
            }
            FindingKind::Crash
            | FindingKind::Hang
            | FindingKind::ConnectionLost
            | FindingKind::ProtocolError
            | FindingKind::SchemaViolation
            | FindingKind::PropertyFailure
            | FindingKind::StateLeak => kind,
        }
    }

    /// The severity of the worst of its findings; `None` if nothing is wrong that is not known.
    pub fn how_bad(&self) -> Option<Severity> {
        self.findings.iter().filter(|finding| finding.baseline_reason.is_none()).map(Finding::how_bad).max()
    }
}

impl SessionJudged {
    /// The identity of one of its findings.
    pub fn identity(&self, finding: &Finding) -> FindingIdentity {
        let kind = finding.kind();
        let signature = finding.signature(kind);
        let id = id([&self.suite, &self.server, kind.as_str(), "", &signature, ""]);
        FindingIdentity { id, kind, tool: String::new(), signature }
    }
}

fn id(parts: [&str; 6]) -> String {
    // The length in front keeps a part from posing as the end of another.
    let hash = parts.iter().fold(FNV, |hash, part| fnv(fnv(hash, &(part.len() as u64).to_le_bytes()), part.as_bytes()));
    hash_text(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_weighs_what_it_says_or_what_its_kind_does() {
        let crash = Finding::failure(FailureClass::ProcessExited, "the server ended")
            .with_evidence(super::super::EXIT, "signal 11");
        assert_eq!((crash.kind(), crash.how_bad()), (FindingKind::Crash, Severity::High));
        assert_eq!(crash.signature(FindingKind::Crash), "signal 11");
        let advice = Finding { level: RequirementLevel::Should, ..Finding::new("slow", "it is slow") };
        assert_eq!((advice.kind(), advice.how_bad()), (FindingKind::PropertyFailure, Severity::Low));
        let told = Finding { severity: Some(Severity::Critical), ..Finding::new("schema", "it is wrong") };
        assert_eq!((told.kind(), told.how_bad()), (FindingKind::SchemaViolation, Severity::Critical));
        assert_eq!(Finding::new("forbidden-served", "it is served").kind(), FindingKind::SchemaViolation);
        assert_eq!(Finding::new(Code::NOT_ISOLATED, "it leaks").kind(), FindingKind::StateLeak);
    }

    #[test]
    fn ids_tell_apart_what_differs() {
        let parts = ["suite", "server", "crash", "add", "signal 11", ""];
        assert_eq!(id(parts), id(parts));
        assert_eq!(id(parts).len(), 16);
        assert_ne!(id(parts), id(["suites", "erver", "crash", "add", "signal 11", ""]));
    }
}
