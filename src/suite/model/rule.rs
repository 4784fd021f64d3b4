//! Rules of a specification, and what must be there before a test says anything.

use crate::source::grammar::Shape;
use crate::source::{Located, Node, choice, settings};
use crate::transport::TransportKind;
use crate::wire::Revision;

settings! {
    /// A rule of the specification that a test checks.
    pub struct Rule as "a rule", at span {
        /// The id, such as `B2`.
        pub id: String => required(),
        /// The page and the section of the specification, such as `basic/transports#stdio`.
        pub section: String => required(),
        /// The level; a broken `should` is only a warning.
        pub level: RuleLevel => default("must"),
        /// Why the rule is only advice, if the sentence has no SHOULD.
        pub advice: Option<String>,
        /// The revisions to which it applies; all by default.
        pub revisions: Vec<Revision>,
        /// The transport to which it applies; all by default.
        pub over: Option<Carrier>,
        /// The sentence that demands it, word for word; `…` stands for omitted words.
        pub quote: String => required(),
        /// The page of the sentence, if it differs from the page of `section`: `schema#tool`, or an address.
        pub source: Option<String>,
        /// Why it matters.
        pub why: String => required(),
        /// How a good server answers.
        pub good: String => required(),
        /// The behaviour of a server that breaks this rule, as [faults](fault-language.md) of the demo server;
        /// `mcprove serve faulty --rule` runs it.
        pub broken: Option<Node>,
        /// The same for each further variant that the test judges; the program's own tests run it.
        pub also_broken: Vec<(Located<String>, Node)>,
        /// The settings of the demo server and the suite that show it.
        pub reference: Option<Node> => shape(Shape::Map(&Shape::Any)),
    }
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

choice! {
    /// The level of a rule.
    pub enum RuleLevel {
        /// A server that breaks it is wrong.
        Must = "must",
        /// A server that breaks it should have a reason.
        Should = "should",
    }
}

choice! {
    /// A transport.
    pub enum Carrier {
        /// A pair of streams: a process, or memory.
        Stdio = "stdio",
        /// HTTP.
        Http = "http",
    }
}

impl Carrier {
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
