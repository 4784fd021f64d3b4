//! Rules of a specification, and what must be there before a test says anything.

use crate::source::{Located, Node, Span};
use crate::transport::TransportKind;
use crate::wire::Revision;

/// A rule of a specification that a test checks.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its id, unique in its rule book: `B2`.
    pub id: String,
    /// The page and section of the specification, such as `basic/transports#stdio`.
    pub section: String,
    /// Its level.
    pub level: RuleLevel,
    /// Why it is no more than advice, where the sentence has no SHOULD.
    pub advice: Option<String>,
    /// The revisions in which it holds, oldest first.
    pub revisions: Vec<Revision>,
    /// The transport that it is about; `None` for every one.
    pub over: Option<Carrier>,
    /// The sentence that demands it, word for word.
    pub quote: String,
    /// The page of the sentence, if it is not that of the section: another one, or an address.
    pub source: Option<String>,
    /// Why it matters.
    pub why: String,
    /// The answer of a correct server.
    pub good: String,
    /// Faults of the demo server that break this rule and no other.
    pub broken: Option<Node>,
    /// The same for each further variant that the test judges.
    pub also_broken: Vec<(String, Node)>,
    /// The settings that the demo server needs to show it.
    pub reference: Option<Node>,
    /// Its place in the suite.
    pub span: Span,
}

impl Rule {
    /// Returns true if a word names the rule: its id, or its id after the newest revision in which it holds, as in
    /// `2025-11-25/B2`.
    pub fn is_named(&self, word: &str) -> bool {
        let newest = self.revisions.last().map_or("", |revision| revision.as_str());
        let id = word.split_once('/').filter(|(revision, _)| *revision == newest).map_or(word, |(_, id)| id);
        id.eq_ignore_ascii_case(&self.id)
    }

    /// The address at which the sentence stands, in the newest revision in which the rule holds.
    pub fn link(&self) -> String {
        const SITE: &str = "https://modelcontextprotocol.io";
        let place = self.source.as_ref().unwrap_or(&self.section);
        if place.starts_with("https://") {
            return place.clone();
        }
        if place.starts_with('/') {
            return format!("{SITE}{place}");
        }
        let newest = self.revisions.last().map_or("draft", |revision| revision.as_str());
        format!("{SITE}/specification/{newest}/{place}")
    }
}

/// The level of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleLevel {
    /// A server that breaks it is wrong.
    Must,
    /// A server that breaks it should have a reason.
    Should,
}

/// A transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// A pair of streams: a process, or memory.
    Stdio,
    /// HTTP.
    Http,
}

impl Carrier {
    /// The word in a suite.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }

    /// The kind of transport that rules tell apart.
    pub fn of(transport: TransportKind) -> Self {
        if transport.is_over_http() { Self::Http } else { Self::Stdio }
    }
}

/// A need of a test, without which it is skipped.
#[derive(Debug, Clone)]
pub enum TestNeed {
    /// Somebody named what the test works on.
    Hint(String),
    /// The server declared it, a path in its capabilities.
    Capability(String),
    /// The server did not declare it.
    NoCapability(String),
    /// The server is spoken to over it.
    Over(Carrier),
    /// An expression holds.
    Assert {
        /// The expression.
        expression: Located<String>,
        /// Why the test is skipped where it does not hold.
        reason: String,
    },
}
