//! The contents of a registry: families, leaves and variants.

use serde::{Deserialize, Serialize};

use crate::fault::{ExchangeHistory, Fault, Match};
use crate::wire::Revision;

use super::builtin;
use super::start::Start;

/// One of the categories of faults.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Its name in reports, such as `TOOL`.
    pub id: String,
    /// Its subject.
    pub name: String,
    /// The frequency of its failures in practice, in fault threads.
    pub weight: f64,
    /// The key that a suite must have for the family to apply.
    pub needs: Option<Need>,
    /// Its faults.
    pub leaves: Vec<Leaf>,
}

/// One fault.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// Its name, `FAULT-<FAMILY>-<NAME>`.
    pub id: String,
    /// The fault in one sentence.
    pub meaning: String,
    /// The kinds of checks that exercise it; at least one.
    pub probes: Vec<String>,
    /// The suite that shows how to exercise it.
    pub example: Option<String>,
    /// Papers, advisories and the like.
    pub references: Vec<String>,
    /// The ways in which it shows.
    pub variants: Vec<Variant>,
    /// Variants of other leaves that show this one too; they are counted there.
    pub shared: Vec<String>,
}

/// One way in which a leaf shows in real servers.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Its name.
    pub id: String,
    /// The fault in one sentence.
    pub meaning: String,
    /// The severity of its variants.
    pub severity: Severity,
    /// The certainty of a verdict.
    pub holds: Holds,
    /// The revisions in which it can occur.
    pub revisions: Revisions,
    /// The transports over which it can occur; at least one.
    pub transports: Vec<Transport>,
    /// The way to bring it about.
    pub provoke: String,
    /// The difference to a healthy server.
    pub oracle: String,
    /// The means that an imitation needs.
    pub tier: Tier,
    /// The imitation of it; absent where there is none.
    pub imitation: Option<String>,
    /// Other leaves that it shows too.
    pub also: Vec<String>,
    /// Why nothing proves it, as a sentence without a final period; absent where something does.
    pub unplanted: Option<String>,
    /// The means that it takes and a recording does not have, as a sentence without a final period: its mutants prove
    /// something in front of a real server only, everywhere at once and by the cases that judge its leaf.
    pub live: Option<String>,
    /// Its imitations one by one; [`Variant::mutants`] reads them.
    pub mutants: Mutants,
}

/// The imitations of a variant.
#[derive(Debug, Clone, PartialEq)]
pub enum Mutants {
    /// Those that a file lists.
    Listed(Vec<Mutant>),
    /// Those of the built-in variant with the same id, which only a proof reads: they are most of the file.
    BuiltIn,
}

/// One imitation of a variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Mutant {
    /// Its name.
    pub id: String,
    /// Its effect in one sentence.
    pub meaning: String,
    /// The fault in the messages of a server; `None` in registries that only name it.
    pub fault: Option<Fault>,
    /// The change of the server's start instead; only a live server has one.
    pub start: Option<Start>,
    /// The sign that the recorded server has the fault already, so that the mutant would change nothing.
    pub shown_by: Option<Match>,
    /// The capabilities that the server must have.
    pub needs: Vec<Offer>,
    /// All tools, prompts and resources show it at once, since they share the faulty part.
    pub at_once: bool,
}

/// The protocol revisions in which a variant can occur.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revisions {
    /// All of them, the ones to come included.
    All,
    /// These.
    Only(Vec<Revision>),
}

/// An enum whose values are words in a registry.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum $name { $($(#[$value_doc])* #[serde(rename = $word)] $value,)+ }

        impl $name {
            /// The words, as a registry writes them.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word for this value.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$value => $word,)+ }
            }

            /// The value for a word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$value),)+ _ => None }
            }
        }
    };
}

words! {
    /// The severity of a variant where it occurs.
    Severity {
        /// Data is lost, leaked or wrong, or the server dies.
        Critical = "critical",
        /// Callers are misled or stopped.
        High = "high",
        /// Callers can work around it.
        Medium = "medium",
        /// Callers hardly notice.
        Low = "low",
    }
}

words! {
    /// The certainty with which a variant may be judged.
    Holds {
        /// The specification demands otherwise.
        Must = "must",
        /// The specification recommends otherwise.
        Should = "should",
        /// Experience says otherwise.
        Heuristic = "heuristic",
    }
}

words! {
    /// The means that an imitation of a variant needs.
    Tier {
        /// A change to single frames.
        Frames = "W",
        /// A change that remembers earlier frames.
        Memory = "S",
        /// Control over how the server starts and ends.
        Launch = "L",
        /// A companion, such as a canary file or a second server.
        Companion = "C",
        /// Nothing imitates it.
        Impossible = "N",
    }
}

words! {
    /// A transport.
    Transport {
        /// The standard streams of a child process.
        Stdio = "stdio",
        /// Streamable HTTP.
        Http = "http",
    }
}

words! {
    /// The key that a suite must have for a family to apply.
    Need {
        /// A model that works with the tools.
        Agents = "agents",
    }
}

words! {
    /// Something that a server may offer.
    Offer {
        /// A tool.
        Tools = "tools",
        /// Two tools.
        SeveralTools = "several_tools",
        /// A tool with an output schema.
        OutputSchema = "output_schema",
        /// A resource.
        Resources = "resources",
        /// A resource template.
        Templates = "templates",
        /// A prompt.
        Prompts = "prompts",
        /// Completion of arguments.
        Completions = "completions",
        /// A list that changes, by its declaration.
        ListChanges = "list_changes",
        /// A tool that writes, and whose repeated calls change nothing more, by its declaration.
        IdempotentTool = "idempotent_tool",
    }
}

impl Offer {
    /// A server offers it.
    pub fn is_met(self, known: &ExchangeHistory<'_>) -> bool {
        let catalog = known.catalog;
        match self {
            Self::Tools => !catalog.tools.is_empty(),
            Self::SeveralTools => catalog.tools.len() > 1,
            Self::OutputSchema => catalog.tools.iter().any(|tool| tool.output_schema().is_some()),
            Self::Resources => !catalog.resources.is_empty(),
            Self::Templates => !catalog.resource_templates.is_empty(),
            Self::Prompts => !catalog.prompts.is_empty(),
            Self::Completions => known.capabilities.get("completions").is_some(),
            Self::ListChanges => known
                .capabilities
                .as_object()
                .is_some_and(|capabilities| capabilities.values().any(|one| one["listChanged"] == true)),
            Self::IdempotentTool => catalog
                .tools
                .iter()
                .map(|tool| &tool.raw["annotations"])
                .any(|hints| hints["readOnlyHint"] != true && hints["idempotentHint"] == true),
        }
    }
}

impl Variant {
    /// Its imitations one by one.
    pub fn mutants(&self) -> &[Mutant] {
        match &self.mutants {
            Mutants::Listed(mutants) => mutants,
            Mutants::BuiltIn => builtin::mutants(&self.id),
        }
    }

    /// The variant can occur over a transport in a revision.
    ///
    /// An empty text stands for an unknown transport or revision, `auto` for a revision not yet agreed on. A transport
    /// without a word in registries, such as memory, can show every variant that is bound to none.
    pub fn holds_for(&self, transport: &str, revision: &str) -> bool {
        let unbound = self.transports.len() == Transport::WORDS.len();
        let carried = unbound || transport.is_empty() || self.transports.iter().any(|t| t.word() == transport);
        carried && self.revisions.contains(revision)
    }
}

impl Revisions {
    /// A revision is, or may turn out to be, among them.
    pub fn contains(&self, revision: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(listed) => ["", "auto"].contains(&revision) || listed.iter().any(|one| one.as_str() == revision),
        }
    }
}
